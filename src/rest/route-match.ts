/** The router of `/v1`. */
import { badRequest } from '../kernel/errors.js'
import { createRouter, type RouterMatch } from '../platform/http/router.js'
import { type Route, routes } from './routes.js'

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

const match = createRouter(
  routes.map((route) => ({ path: route.path, methods: [route.method], route })),
  decodeSegment,
)

/**
 * Finds the route of a request; HEAD is served as GET.
 * @returns undefined for an unknown path
 * @throws invalid_request for a path with invalid percent-encoding or characters
 */
export const matchRoute = (method: string, path: string): RouterMatch<Route> | undefined =>
  match(method === 'HEAD' ? 'GET' : method, path)
