/** Finds the route of a path in a tree of path segments, so that the cost does not depend on the number of routes. */
import { badRequest } from '../kernel/errors.js'
import { type Route, routes } from './routes.js'

interface Node {
  children: Map<string, Node>
  parameter?: { name: string; node: Node }
  routes: Map<string, Route>
}

const createNode = (): Node => ({ children: new Map(), routes: new Map() })

const root = createNode()
for (const route of routes) {
  let current = root
  for (const segment of route.path.split('/').slice(1)) {
    if (segment.startsWith('{')) {
      current.parameter ??= { name: segment.slice(1, -1), node: createNode() }
      current = current.parameter.node
    } else {
      const next = current.children.get(segment) ?? createNode()
      current.children.set(segment, next)
      current = next
    }
  }
  current.routes.set(route.method, route)
}

export interface RouteMatch {
  /** Undefined when the path exists but does not support the method. */
  route: Route | undefined
  allowedMethods: string[]
  /** The path parameters by name (`account_id`). */
  parameters: Record<string, string>
}

/**
 * @returns undefined for an unknown path
 * @throws invalid_request for a path with invalid percent-encoding or characters
 */
export function matchRoute(method: string, path: string): RouteMatch | undefined {
  const parameters: Record<string, string> = {}
  let current = root
  for (const segment of path.split('/').slice(1)) {
    const child = current.children.get(segment)
    if (child) {
      current = child
    } else if (current.parameter && segment !== '') {
      parameters[current.parameter.name] = decodeSegment(segment)
      current = current.parameter.node
    } else {
      return undefined
    }
  }
  if (current.routes.size === 0) return undefined
  return {
    route: current.routes.get(method === 'HEAD' ? 'GET' : method),
    allowedMethods: [...current.routes.keys()],
    parameters,
  }
}

function decodeSegment(segment: string): string {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw badRequest('The path has invalid percent-encoding.')
  }
  if (text.includes('\0') || !text.isWellFormed())
    throw badRequest('The path contains a NUL character or a lone surrogate.')
  return text
}
