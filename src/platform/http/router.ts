/** Finds the route of a path in a tree of segments, so that the cost does not depend on the number of routes. */

export interface RouterEntry<Route> {
  /** Such as `/v1/accounts/{account_id}`. */
  path: string
  methods: readonly string[]
  route: Route
}

export interface RouterMatch<Route> {
  /** Undefined when the path exists but does not support the method. */
  route: Route | undefined
  /** The routes of this path, by method. */
  routesByMethod: ReadonlyMap<string, Route>
  /** The path parameters by name (`account_id`). */
  parameters: Record<string, string>
}

interface Node<Route> {
  children: Map<string, Node<Route>>
  parameter?: { name: string; node: Node<Route> }
  routesByMethod: Map<string, Route>
}

/**
 * @param entries in any order; a literal segment wins over a parameter
 * @param decode converts the raw segment of a parameter; undefined means that the path does not match. It may throw.
 * @returns a function that returns undefined for an unknown path
 */
export function createRouter<Route>(
  entries: readonly RouterEntry<Route>[],
  decode: (segment: string, name: string) => string | undefined,
): (method: string, path: string) => RouterMatch<Route> | undefined {
  const createNode = (): Node<Route> => ({ children: new Map(), routesByMethod: new Map() })
  const root = createNode()
  for (const { path, methods, route } of entries) {
    let node = root
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith('{')) {
        node.parameter ??= { name: segment.slice(1, -1), node: createNode() }
        node = node.parameter.node
      } else {
        const child = node.children.get(segment) ?? createNode()
        node.children.set(segment, child)
        node = child
      }
    }
    for (const method of methods) node.routesByMethod.set(method, route)
  }

  return (method, path) => {
    const parameters: Record<string, string> = {}
    let node = root
    for (const segment of path.split('/').slice(1)) {
      const child = node.children.get(segment)
      if (child) {
        node = child
        continue
      }
      const value = node.parameter && segment !== '' ? decode(segment, node.parameter.name) : undefined
      if (!node.parameter || value === undefined) return undefined
      parameters[node.parameter.name] = value
      node = node.parameter.node
    }
    const { routesByMethod } = node
    return routesByMethod.size === 0 ? undefined : { route: routesByMethod.get(method), routesByMethod, parameters }
  }
}
