/**
 * Audiences, lifetimes and claims of tokens (RFC 9068, RFC 8707, docs/contract.md#tokens-and-claims,
 * docs/contract.md#token-lifetimes).
 */
import type { Configuration, ResourceServer } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { limits } from '../../kernel/limits.js'
import { toUnixSeconds } from '../../kernel/time.js'
import { isResourceUri } from '../../kernel/uri.js'
import { tokenAge } from '../../resources/clients/settings.js'
import { type UserAccount } from '../account/account.js'
import { claimsByScope } from '../account/claims-by-scope.js'
import { clientRowOf } from '../client/client.js'
import { allowancesOf } from '../client/unmanaged-clients.js'
import { type AccessToken, type OpenIdClient, type OpenIdContext, textParameter } from '../provider-types.js'
import { type RequestContext, withRequest } from '../request-context.js'

/** Scopes that every client can request (docs/contract.md#tokens-and-claims). */
export const openidScopes = ['openid', ...Object.keys(claimsByScope)]

/** The scope with which clients ask for a refresh token. Clients with the refresh token grant can request it. */
export const OFFLINE_ACCESS = 'offline_access'

/**
 * Prefix of a URN that contains an audience. oidc-provider requires the resource of a token to be an absolute URI,
 * which an audience such as a client id is not.
 */
const AUDIENCE_URN_PREFIX = 'urn:gatehouse:audience:'

/**
 * oidc-provider's `defaultResource`: selects the resource of the access token.
 * @param granted several requested or granted resources at the token endpoint, of which the first is selected
 * @returns without `granted`, a URN with the requested audience or the client id
 */
export function defaultResource(
  ctx: OpenIdContext,
  client: OpenIdClient,
  granted: readonly string[] | undefined,
): string {
  const [first] = granted ?? []
  if (first !== undefined) return first
  return AUDIENCE_URN_PREFIX + encodeURIComponent(textParameter(ctx, 'audience') ?? client.clientId)
}

/**
 * Checks that every resource of a token request was granted. oidc-provider checks only the first resource, for which it
 * issues the access token.
 * @param source the redeemed code or refresh token
 * @throws InvalidTarget (RFC 8707 section 2.2)
 */
export function requireGrantedResources(
  ctx: OpenIdContext,
  source: { resource?: string | string[] | undefined } | undefined,
): void {
  const requested = [ctx.oidc.params?.['resource'] ?? []].flat()
  const granted = [source?.resource ?? []].flat()
  if (!requested.every((resource) => granted.includes(String(resource)))) throw new errors.InvalidTarget()
}

/**
 * Returns the settings of access tokens for a resource or audience.
 * @param indicator a resource URI, or a URN with an audience
 * @throws InvalidTarget if the client may not request the resource or audience
 *   (docs/contract.md#grant-and-client-rules rule 5, RFC 8707 section 2)
 */
export function resourceServerFor(request: RequestContext, client: OpenIdClient, indicator: string): ResourceServer {
  const row = clientRowOf(client)
  const { kind, settings } = row
  const { allowed_audiences = [] } = settings.openid ?? {}
  const { resources, scopes } = allowancesOf(request, row)
  const audience = indicator.startsWith(AUDIENCE_URN_PREFIX)
    ? decodeAudience(indicator.slice(AUDIENCE_URN_PREFIX.length))
    : undefined
  // An agent has no list of allowed resources (docs/contract.md#agents), so it can request any resource URI. Only the
  // scopes of the agent limit its tokens.
  const allowed =
    audience === undefined
      ? kind === 'agent'
        ? isResourceUri(indicator)
        : resources.includes(indicator)
      : audience === client.clientId || allowed_audiences.includes(audience)
  if (!allowed) {
    throw new errors.InvalidTarget(
      'audience or resource is invalid or not allowed for this client; add it to allowed_audiences or allowed_resources',
    )
  }
  return jwtResourceServer(client, {
    audience: audience ?? indicator,
    scope: [...openidScopes, ...(client.grantTypeAllowed('refresh_token') ? [OFFLINE_ACCESS] : []), ...scopes].join(
      ' ',
    ),
    lifetime: tokenAge({ settings }, 'default_access_token_age'),
  })
}

/**
 * Returns the settings of a JWT access token, which is signed with the client's signature algorithm.
 * @param lifetime in seconds
 */
export function jwtResourceServer(
  client: OpenIdClient,
  { audience, scope: scopes, lifetime }: { audience: string; scope: string; lifetime: number },
): ResourceServer {
  const alg = clientRowOf(client).settings.openid?.response_signature_alg ?? 'ES256'
  return {
    audience,
    scope: scopes,
    accessTokenFormat: 'jwt',
    accessTokenTTL: clampLifetime(lifetime),
    jwt: { sign: { alg } },
  }
}

/**
 * Decodes the audience of a URN. Returns '', which is never an allowed audience, for invalid encodings: a caller can
 * send any such URN as `resource`.
 */
function decodeAudience(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** Returns a lifetime in seconds, at least 1 second and at most 21 days (docs/contract.md#limits). */
const clampLifetime = (age: number): number => Math.max(1, Math.min(age, limits.maxTokenLifetimeSeconds))

/**
 * Limits a lifetime in seconds to the remaining time of the session. Returns at least 1, because oidc-provider requires
 * a positive number.
 */
function clampToSession({ context }: RequestContext, ctx: OpenIdContext, lifetime: number): number {
  const account = ctx.oidc.account as UserAccount | undefined
  if (account?.sessionExpiresAt == null) return clampLifetime(lifetime)
  return Math.max(1, Math.min(clampLifetime(lifetime), Math.floor((account.sessionExpiresAt - context.now()) / 1000)))
}

/** Maximum lifetime of a session in seconds (docs/contract.md#issuer-settings). */
export const sessionLifetime = ({ runtime }: RequestContext): number =>
  runtime.issuer.settings.sessions?.absolute_lifetime ?? limits.defaultSessionLifetimeSeconds

/** Lifetimes of tokens and artifacts in seconds. */
export const tokenLifetimes: NonNullable<Configuration['ttl']> = {
  AccessToken: withRequest((request, ctx, token) =>
    clampToSession(request, ctx, token.resourceServer?.accessTokenTTL ?? limits.defaultAccessTokenLifetimeSeconds),
  ),
  ClientCredentials: (_, token) =>
    clampLifetime(token.resourceServer?.accessTokenTTL ?? limits.defaultAccessTokenLifetimeSeconds),
  AuthorizationCode: limits.authorizationCodeLifetimeSeconds,
  RefreshToken: withRequest((request, ctx, _, client) =>
    clampToSession(request, ctx, tokenAge(clientRowOf(client), 'default_refresh_token_age')),
  ),
  IdToken: (_, __, client) => clampLifetime(tokenAge(clientRowOf(client), 'default_id_token_age')),
  Interaction: limits.interactionLifetimeSeconds,
  Grant: withRequest(sessionLifetime),
  Session: withRequest((request, _, session) => {
    const now = toUnixSeconds(request.context.now())
    return Math.max(1, (session.loginTs ?? now) + sessionLifetime(request) - now)
  }),
}

const extraClaims = new WeakMap<object, Record<string, unknown>>()

/** Adds claims to an access token, in addition to those of every token. Must be called before the token is saved. */
export const addExtraClaims = (token: object, claims: Record<string, unknown>): void =>
  void extraClaims.set(token, claims)

/**
 * Sets the claims of an access token (docs/contract.md#tokens-and-claims). If a code or refresh token is redeemed, also
 * saves the `jti` of the access token in the session. Custom claims come first, so that none can replace another claim.
 */
export async function setAccessTokenClaims(
  { context, unitOfWork }: RequestContext,
  ctx: OpenIdContext,
  token: AccessToken,
  jwt: { payload: Record<string, unknown> },
): Promise<void> {
  const { iss, sub, aud, jti, client_id, scope: scopes, cnf } = jwt.payload
  // Undefined for the client credentials grant and for a token exchange, which does not count as activity of the
  // session.
  const source = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken
  const account = source && (ctx.oidc.account as UserAccount | undefined)
  const iat = toUnixSeconds(context.now())
  jwt.payload = {
    ...(await account?.customClaims('access_token')),
    iss,
    sub,
    aud,
    exp: iat + token.expiration,
    iat,
    nbf: iat,
    jti,
    client_id,
    ...(token.sid === undefined ? {} : { sid: token.sid }),
    ...(scopes === undefined ? {} : { scope: scopes }),
    ...(source?.authTime === undefined ? {} : { auth_time: source.authTime }),
    ...(source?.acr === undefined ? {} : { acr: source.acr }),
    ...account?.membershipClaims,
    ...extraClaims.get(token),
    // After the other claims, so that none of them replaces the key (RFC 9449 section 6.1).
    ...(cnf === undefined ? {} : { cnf }),
  }
  if (token.sid !== undefined && source !== undefined)
    unitOfWork.updateSession(context, token.sid, { access: String(jti) })
}
