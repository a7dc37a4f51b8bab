/** Every address of the IdP below `/{issuer_id}` (spec 4.17): one row each. What is not here is 404. */

export type RouteName =
  | 'metadata'
  | 'keys'
  | 'authorize'
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

export interface Route {
  readonly name: RouteName
  /** As metrics and logs name it. */
  readonly template: string
  readonly pattern: RegExp
  readonly methods: readonly string[]
  /** People look at the answers: errors are pages, not JSON. */
  readonly pages: boolean
  /** The library answers; else we do. */
  readonly library: boolean
}

const route = (
  name: RouteName,
  template: string,
  methods: string[],
  traits: { pages?: true; library?: true } = {},
): Route => ({
  name,
  template,
  pattern: new RegExp(
    `^${template
      .replaceAll('.', '\\.')
      .replace('{uid}', '([A-Za-z0-9_-]{10,64})')
      .replace('{method_id}', '(am_[0-9a-hjkmnp-tv-z]{26})')}$`,
  ),
  methods,
  pages: traits.pages ?? false,
  library: traits.library ?? false,
})

export const routes: readonly Route[] = [
  route('metadata', '/.well-known/openid-configuration', ['GET', 'HEAD', 'OPTIONS']),
  route('metadata', '/.well-known/oauth-authorization-server', ['GET', 'HEAD', 'OPTIONS']),
  route('keys', '/jwks.json', ['GET', 'HEAD', 'OPTIONS']),
  route('authorize', '/authorize', ['GET'], { pages: true, library: true }),
  route('resume', '/authorize/{uid}', ['GET'], { pages: true, library: true }),
  route('interaction', '/interaction/{uid}', ['GET', 'POST'], { pages: true }),
  route('agent_challenge', '/agents/challenge', ['POST']),
  route('callback', '/callback/{method_id}', ['GET', 'POST'], { pages: true }),
  route('invitation', '/invitation', ['GET'], { pages: true }),
  route('recovery', '/recovery', ['GET'], { pages: true }),
  route('token', '/token', ['POST', 'OPTIONS'], { library: true }),
  route('introspect', '/introspect', ['POST', 'OPTIONS'], { library: true }),
  route('revoke', '/revoke', ['POST', 'OPTIONS'], { library: true }),
  route('userinfo', '/userinfo', ['GET', 'POST', 'OPTIONS'], { library: true }),
  route('logout', '/logout', ['GET', 'POST'], { pages: true }),
  route('logout_confirm', '/logout/confirm', ['POST'], { pages: true }),
  route('session', '/session', ['GET', 'POST', 'OPTIONS']),
  route('check_session_page', '/check-session.html', ['GET', 'HEAD']),
  route('check_session', '/check-session', ['POST']),
]

export interface Match {
  issuerId: string
  route: Route
  /** The part of the path that the route names, if it names one. */
  uid: string | undefined
}

const issuer = /^\/(iss_[0-9a-hjkmnp-tv-z]{26})(\/.*)$/
// RFC 8414 section 3.1 puts the well-known part before the issuer's path.
const inserted = /^(\/\.well-known\/(?:openid-configuration|oauth-authorization-server))(\/.*)$/

/**
 * Which issuer and route a path names.
 * @param prefix the path of IDP_URL, empty for most
 */
export function matchPath(path: string, prefix: string): Match | undefined {
  const wellKnown = inserted.exec(path)
  const own = wellKnown ? `${wellKnown[2]}${wellKnown[1]}` : path
  // A proxy may have taken the prefix off already.
  const found = issuer.exec(own.startsWith(`${prefix}/`) ? own.slice(prefix.length) : own)
  if (!found) return undefined
  for (const candidate of routes) {
    const match = candidate.pattern.exec(found[2]!)
    if (match) return { issuerId: found[1]!, route: candidate, uid: match[1] }
  }
  return undefined
}
