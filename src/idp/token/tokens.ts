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
import { claimsByScope, type UserAccount } from '../account/account.js'
import { clientRowOf } from '../client/client.js'
import { metadataDocumentAllowances } from '../client/metadata-documents/index.js'
import { type AccessToken, type OpenIdClient, type OpenIdContext, textParameter } from '../provider-types.js'
import { type RequestContext, withRequest } from '../request-context.js'

/** Scopes that every client can request (docs/contract.md#tokens-and-claims). */
export const openidScopes = ['openid', ...Object.keys(claimsByScope)]

/**
 * oidc-provider requires an absolute URI as the resource of a token. An audience that is not one, such as a client id,
 * is passed to it in this URN.
 */
const AUDIENCE_URN_PREFIX = 'urn:gatehouse:audience:'

/** Returns the default resource of a request: the requested audience, otherwise the client id. */
export function defaultResource(
  ctx: OpenIdContext,
  client: OpenIdClient,
  granted: readonly string[] | undefined,
): string {
  // At the token endpoint: the first granted resource.
  const [first] = granted ?? []
  if (first !== undefined) return first
  return AUDIENCE_URN_PREFIX + encodeURIComponent(textParameter(ctx, 'audience') ?? client.clientId)
}

/**
 * Checks that every requested resource was granted. The token is issued for the first one only.
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
 * Returns the token settings for a resource or audience.
 * @throws InvalidTarget if the client may not request it (docs/contract.md#grant-and-client-rules rule 5, RFC 8707
 * section 2)
 */
export function resourceServerFor(
  { runtime }: RequestContext,
  client: OpenIdClient,
  indicator: string,
): ResourceServer {
  const { kind, settings, document } = clientRowOf(client)
  const { allowed_audiences = [], allowed_resources = [] } = settings.openid ?? {}
  // A client with a metadata document has no settings of its own: the issuer's settings define its resources and
  // scopes.
  const { resources, scopes } = document
    ? metadataDocumentAllowances(runtime.issuer.settings)
    : { resources: allowed_resources, scopes: settings.scopes ?? [] }
  const audience = indicator.startsWith(AUDIENCE_URN_PREFIX)
    ? decodeAudience(indicator.slice(AUDIENCE_URN_PREFIX.length))
    : undefined
  // An agent has no list of resources (docs/contract.md#agents); its scopes limit its tokens.
  const allowed =
    audience === undefined
      ? kind === 'agent'
        ? isResourceUri(indicator)
        : resources.includes(indicator)
      : audience === client.clientId || allowed_audiences.includes(audience)
  if (!allowed) throw new errors.InvalidTarget('the client is not allowed to request this audience or resource')
  return jwtResourceServer(client, {
    audience: audience ?? indicator,
    scope: [...openidScopes, ...scopes].join(' '),
    lifetime: tokenAge({ settings }, 'default_access_token_age'),
  })
}

/**
 * Settings of a JWT access token with the client's signature algorithm.
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
 * Returns '' for text that cannot be decoded, which is never an allowed audience: the caller can send the URN as a
 * resource.
 */
function decodeAudience(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** Limits a lifetime to 1 second to 21 days (docs/contract.md#limits), whatever a stored setting says. */
const clampLifetime = (age: number): number => Math.max(1, Math.min(age, limits.maxTokenLifetimeSeconds))

/**
 * Limits a lifetime to the rest of the session, in seconds. At least 1, because oidc-provider needs a positive number.
 */
function clampToSession({ context }: RequestContext, ctx: OpenIdContext, lifetime: number): number {
  const account = ctx.oidc.account as UserAccount | undefined
  if (account?.sessionExpiresAt == null) return clampLifetime(lifetime)
  return Math.max(1, Math.min(clampLifetime(lifetime), Math.floor((account.sessionExpiresAt - context.now()) / 1000)))
}

/** Maximum lifetime of a session in seconds (docs/contract.md#issuer-settings). */
export const sessionLifetime = ({ runtime }: RequestContext): number =>
  runtime.issuer.settings.sessions?.absolute_lifetime ?? limits.defaultSessionLifetimeSeconds

/** Lifetimes by artifact kind, in seconds. */
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

/** Adds claims to a token beyond the standard ones. Must be called before the token is saved. */
export const addExtraClaims = (token: object, claims: Record<string, unknown>): void =>
  void extraClaims.set(token, claims)

/**
 * Sets the claims of an access token (docs/contract.md#tokens-and-claims), and records its `jti` on the session in the
 * same commit.
 */
export function setAccessTokenClaims(
  { context, unitOfWork }: RequestContext,
  ctx: OpenIdContext,
  token: AccessToken,
  jwt: { payload: Record<string, unknown> },
): void {
  const { iss, sub, aud, jti, client_id, scope: scopes } = jwt.payload
  // Only a code or refresh token of the session's own client counts as session activity; a token exchange does not.
  const source = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken
  const iat = toUnixSeconds(context.now())
  jwt.payload = {
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
    ...(source === undefined ? {} : (ctx.oidc.account as UserAccount | undefined)?.membershipClaims),
    ...extraClaims.get(token),
  }
  if (token.sid !== undefined && source !== undefined)
    unitOfWork.updateSession(context, token.sid, { access: String(jti) })
}
