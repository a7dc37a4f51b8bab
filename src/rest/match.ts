/** Finds the row of the route table for a path; by segments, so that the cost does not grow with the table. */
import { badRequest } from '../kernel/errors.js'
import { type Route, routes } from './routes.js'

interface Node {
  children: Map<string, Node>
  parameter?: { name: string; node: Node }
  routes: Map<string, Route>
}

const node = (): Node => ({ children: new Map(), routes: new Map() })

const root = node()
for (const route of routes) {
  let at = root
  for (const segment of route.path.split('/').slice(1)) {
    if (segment.startsWith('{')) {
      at.parameter ??= { name: segment.slice(1, -1), node: node() }
      at = at.parameter.node
    } else {
      const next = at.children.get(segment) ?? node()
      at.children.set(segment, next)
      at = next
    }
  }
  at.routes.set(route.method, route)
}

export interface Match {
  /** Undefined: the path exists, the method does not. */
  route: Route | undefined
  allowed: string[]
  /** Values by name as the path spells it (`account_id`). */
  parameters: Record<string, string>
}

/**
 * @returns undefined for a path that is not in the table
 * @throws invalid_request for a path that is not well encoded
 */
export function match(method: string, path: string): Match | undefined {
  const parameters: Record<string, string> = {}
  let at = root
  for (const segment of path.split('/').slice(1)) {
    const child = at.children.get(segment)
    if (child) {
      at = child
    } else if (at.parameter && segment !== '') {
      parameters[at.parameter.name] = decoded(segment)
      at = at.parameter.node
    } else {
      return undefined
    }
  }
  if (at.routes.size === 0) return undefined
  return { route: at.routes.get(method === 'HEAD' ? 'GET' : method), allowed: [...at.routes.keys()], parameters }
}

function decoded(segment: string): string {
  let text: string
  try {
    text = decodeURIComponent(segment)
  } catch {
    throw badRequest('The path is not well encoded.')
  }
  if (text.includes('\0') || !text.isWellFormed()) throw badRequest('The path holds characters that no id has.')
  return text
}
