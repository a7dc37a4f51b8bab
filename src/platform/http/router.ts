/** Finds the route of a path in a tree of path segments, so that the cost does not depend on the number of routes. */

export interface RouterEntry<Route> {
  /** The path with its parameters in braces, such as `/v1/accounts/{account_id}`. */
  path: string
  methods: readonly string[]
  route: Route
}

export interface RouterMatch<Route> {
  /** The route of the path and method; undefined when the path exists but does not support the method. */
  route: Route | undefined
  /** The routes of this path, by method. */
  routesByMethod: ReadonlyMap<string, Route>
  /** The values of the path parameters by name, such as `account_id`. */
  parameters: Record<string, string>
}

interface Node<Route> {
  children: Map<string, Node<Route>>
  parameter?: { name: string; node: Node<Route> }
  routesByMethod: Map<string, Route>
}

/**
 * Creates the function that finds the route of a method and path. It returns undefined for an unknown path.
 * @param entries the routes in any order. If a literal segment and a parameter both match, the literal segment is used.
 * @param decode converts the raw path segment of a parameter to its value, or returns undefined when the path does not
 *   match. The errors that it throws are errors of the request.
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
