/**
 * The routes of the IdP below `/{issuer_id}` (docs/contract.md#openid-connect-endpoints). The issuer metadata also has
 * a path that begins with `/.well-known/` (`matchPath`). Any other path is 404 (not found).
 */

import { createRouter } from '../platform/http/router.js'

export type RouteName =
  | 'metadata'
  | 'keys'
  | 'authorize'
  | 'par'
  | 'resume'
  | 'interaction'
  | 'agent_challenge'
  | 'callback'
  | 'invitation'
  | 'recovery'
  | 'token'
  | 'introspect'
  | 'revoke'
  | 'userinfo'
  | 'logout'
  | 'logout_confirm'
  | 'session'
  | 'check_session_page'
  | 'check_session'
  | 'registration'
  | 'client_configuration'

export interface Route {
  readonly name: RouteName
  /** The path below `/{issuer_id}` with placeholders, as in metrics and traces. */
  readonly template: string
  readonly methods: readonly string[]
  /** Browsers open this route, so most errors are HTML pages instead of JSON (`errorFormatFor`). */
  readonly browserFacing: boolean
  /** oidc-provider serves this route; other routes are endpoints of Gatehouse. */
  readonly servedByLibrary: boolean
}

const route = (
  name: RouteName,
  template: string,
  methods: string[],
  options: { browserFacing?: true; servedByLibrary?: true } = {},
): Route => ({
  name,
  template,
  methods,
  browserFacing: options.browserFacing ?? false,
  servedByLibrary: options.servedByLibrary ?? false,
})

export const routes: readonly Route[] = [
  route('metadata', '/.well-known/openid-configuration', ['GET', 'HEAD', 'OPTIONS']),
  route('metadata', '/.well-known/oauth-authorization-server', ['GET', 'HEAD', 'OPTIONS']),
  route('keys', '/jwks.json', ['GET', 'HEAD', 'OPTIONS']),
  route('authorize', '/authorize', ['GET', 'POST'], { browserFacing: true, servedByLibrary: true }),
  route('par', '/par', ['POST', 'OPTIONS'], { servedByLibrary: true }),
  route('resume', '/authorize/{uid}', ['GET'], { browserFacing: true, servedByLibrary: true }),
  route('interaction', '/interaction/{uid}', ['GET', 'POST'], { browserFacing: true }),
  route('agent_challenge', '/agents/challenge', ['POST']),
  route('callback', '/callback/{method_id}', ['GET', 'POST'], { browserFacing: true }),
  route('invitation', '/invitation', ['GET'], { browserFacing: true }),
  route('recovery', '/recovery', ['GET'], { browserFacing: true }),
  route('token', '/token', ['POST', 'OPTIONS'], { servedByLibrary: true }),
  route('introspect', '/introspect', ['POST', 'OPTIONS'], { servedByLibrary: true }),
  route('revoke', '/revoke', ['POST', 'OPTIONS'], { servedByLibrary: true }),
  route('userinfo', '/userinfo', ['GET', 'POST', 'OPTIONS'], { servedByLibrary: true }),
  route('logout', '/logout', ['GET', 'POST'], { browserFacing: true }),
  route('logout_confirm', '/logout/confirm', ['POST'], { browserFacing: true }),
  route('session', '/session', ['GET', 'POST', 'OPTIONS']),
  route('check_session_page', '/check-session.html', ['GET', 'HEAD']),
  route('check_session', '/check-session', ['POST']),
  route('registration', '/register', ['POST', 'OPTIONS']),
  route('client_configuration', '/register/{client_id}', ['GET', 'PUT', 'DELETE', 'OPTIONS']),
]

export interface Match {
  issuerId: string
  route: Route
  /** The value of the placeholder in `route.template`; undefined if the template has none. */
  pathParameter: string | undefined
}

/** The format of each placeholder's value. A path with another value matches no route. */
const parameterPatterns: Record<string, RegExp> = {
  uid: /^[A-Za-z0-9_-]{10,64}$/,
  method_id: /^am_[0-9a-hjkmnp-tv-z]{26}$/,
  client_id: /^cli_[0-9a-hjkmnp-tv-z]{26}$/,
}
const matchBelowIssuer = createRouter(
  routes.map((row) => ({ path: row.template, methods: row.methods, route: row })),
  (segment, name) => (parameterPatterns[name]?.test(segment) ? segment : undefined),
)

const issuerPath = /^\/(iss_[0-9a-hjkmnp-tv-z]{26})(\/.*)$/
// RFC 8414 section 3.1: `/.well-known/…` is inserted between the host and the path of the issuer.
const insertedWellKnownPath = /^(\/\.well-known\/(?:openid-configuration|oauth-authorization-server))(\/.*)$/

/**
 * Finds the issuer and route of a path.
 * @param prefix path of IDP_URL, without a trailing slash; usually empty
 * @returns undefined if no route matches
 */
export function matchPath(path: string, prefix: string): Match | undefined {
  const wellKnown = insertedWellKnownPath.exec(path)
  const normalizedPath = wellKnown ? `${wellKnown[2]}${wellKnown[1]}` : path
  // A path without the prefix is accepted too, because a reverse proxy may have removed the prefix.
  const issuerMatch = issuerPath.exec(
    normalizedPath.startsWith(`${prefix}/`) ? normalizedPath.slice(prefix.length) : normalizedPath,
  )
  if (!issuerMatch) return undefined
  const match = matchBelowIssuer('', issuerMatch[2]!)
  const [route] = match?.routesByMethod.values() ?? []
  if (!match || !route) return undefined
  return { issuerId: issuerMatch[1]!, route, pathParameter: Object.values(match.parameters)[0] }
}

const issuerPagePath = /^\/(iss_[0-9a-hjkmnp-tv-z]{26})(\/.*)?$/

/**
 * Finds the issuer of a path that is no route.
 * @param prefix path of IDP_URL, without a trailing slash; usually empty
 * @returns undefined if the path does not begin with an issuer id; `isRoot`: the path is `/{issuer_id}` or `/{issuer_id}/`
 */
export function matchIssuerPage(path: string, prefix: string): { issuerId: string; isRoot: boolean } | undefined {
  const match = issuerPagePath.exec(path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path)
  return match ? { issuerId: match[1]!, isRoot: [undefined, '/'].includes(match[2]) } : undefined
}
