/** Tokens: for whom, for how long, with which claims (spec 5.3, RFC 9068, RFC 8707, decisions D16). */
import type { Configuration, ResourceServer } from 'oidc-provider'
import { errors } from 'oidc-provider'
import { seconds } from '../kernel/time.js'
import { isResourceUri } from '../kernel/uri.js'
import { MAX_TOKEN_AGE, tokenAge } from '../resources/clients/settings.js'
import { DEFAULT_LIFETIME } from '../resources/sessions/sessions.js'
import { claimsOfScope, type UserAccount } from './account.js'
import { rowOf } from './client.js'
import { documentAllowances } from './documents/index.js'
import { type AccessToken, type OpenIdClient, type OpenIdContext, param } from './library.js'
import { scope } from './scope.js'

/** Scopes that every client may ask for (spec 5.3). */
export const openidScopes = ['openid', ...Object.keys(claimsOfScope)]

/**
 * The library wants an absolute URI for whatever a token is meant for; an audience that is none (a client id, by
 * default the client's own) travels inside it as this URN.
 */
const AUDIENCE = 'urn:gatehouse:audience:'

/** The resource to assume where none is asked for: the requested audience, else the client itself. */
export function defaultResource(
  ctx: OpenIdContext,
  client: OpenIdClient,
  granted: readonly string[] | undefined,
): string {
  // At the token endpoint: of several granted ones, the first.
  const [first] = granted ?? []
  if (first !== undefined) return first
  return AUDIENCE + encodeURIComponent(param(ctx, 'audience') ?? client.clientId)
}

/**
 * Of several resources in one request for tokens each must have been granted, though the token is for the first alone.
 * @throws InvalidTarget (RFC 8707 section 2.2)
 */
export function refuseUngranted(
  ctx: OpenIdContext,
  source: { resource?: string | string[] | undefined } | undefined,
): void {
  const asked = [ctx.oidc.params?.['resource'] ?? []].flat()
  const granted = [source?.resource ?? []].flat()
  if (!asked.every((resource) => granted.includes(String(resource)))) throw new errors.InvalidTarget()
}

/**
 * What a token for this resource looks like.
 * @throws InvalidTarget for an audience or resource that the client is not allowed (spec 5.2 rule 5, RFC 8707 section 2)
 */
export function resourceServer(client: OpenIdClient, indicator: string): ResourceServer {
  const { kind, settings, document } = rowOf(client)
  const { allowed_audiences = [], allowed_resources = [] } = settings.openid ?? {}
  // Nobody has registered a client with a metadata document: what it may have is the issuer's to say, and not in its row.
  const { resources, scopes } = document
    ? documentAllowances(scope().runtime.issuer.settings)
    : { resources: allowed_resources, scopes: settings.scopes ?? [] }
  const audience = indicator.startsWith(AUDIENCE) ? decoded(indicator.slice(AUDIENCE.length)) : undefined
  // An agent has no list of resources (spec 2.10): what its token may do there, its scopes say.
  const allowed =
    audience === undefined
      ? kind === 'agent'
        ? isResourceUri(indicator)
        : resources.includes(indicator)
      : audience === client.clientId || allowed_audiences.includes(audience)
  if (!allowed) throw new errors.InvalidTarget('the client may not get tokens for this audience or resource')
  return signedTokens(client, {
    audience: audience ?? indicator,
    scope: [...openidScopes, ...scopes].join(' '),
    lifetime: tokenAge({ settings }, 'default_access_token_age'),
  })
}

/** JWTs in the client's algorithm. @param lifetime in seconds */
export function signedTokens(
  client: OpenIdClient,
  { audience, scope: scopes, lifetime }: { audience: string; scope: string; lifetime: number },
): ResourceServer {
  const alg = rowOf(client).settings.openid?.response_signature_alg ?? 'ES256'
  return {
    audience,
    scope: scopes,
    accessTokenFormat: 'jwt',
    accessTokenTTL: clamped(lifetime),
    jwt: { sign: { alg } },
  }
}

/** What nobody can ask for stands for what cannot be decoded: the URN may come from outside as a resource. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return ''
  }
}

/** No token outlives 21 days (spec section 8), whatever a stored setting says. In seconds. */
const clamped = (age: number): number => Math.max(1, Math.min(age, MAX_TOKEN_AGE))

/** Nor its session: seconds left of it, never less than one, for the library wants a positive number. */
function withinSession(ctx: OpenIdContext, age: number): number {
  const account = ctx.oidc.account as UserAccount | undefined
  if (account?.sessionExpiresAt == null) return clamped(age)
  return Math.max(1, Math.min(clamped(age), Math.floor((account.sessionExpiresAt - scope().context.now()) / 1000)))
}

/** How long a session may last, in seconds (decisions D26). */
export const sessionLifetime = (): number =>
  scope().runtime.issuer.settings.sessions?.absolute_lifetime ?? DEFAULT_LIFETIME

/** How long a person may take to sign in, in seconds. */
export const INTERACTION_LIFETIME = 1800

/** Lifetimes by kind, in seconds. */
export const lifetimes: NonNullable<Configuration['ttl']> = {
  AccessToken: (ctx, token) => withinSession(ctx, token.resourceServer?.accessTokenTTL ?? 1800),
  ClientCredentials: (_, token) => clamped(token.resourceServer?.accessTokenTTL ?? 1800),
  AuthorizationCode: 60,
  RefreshToken: (ctx, _, client) => withinSession(ctx, tokenAge(rowOf(client), 'default_refresh_token_age')),
  IdToken: (_, __, client) => clamped(tokenAge(rowOf(client), 'default_id_token_age')),
  Interaction: INTERACTION_LIFETIME,
  Grant: () => sessionLifetime(),
  Session: (_, session) => {
    const loginTs = session.loginTs ?? seconds(scope().context.now())
    return Math.max(1, loginTs + sessionLifetime() - seconds(scope().context.now()))
  },
}

const moreClaims = new WeakMap<object, Record<string, unknown>>()

/** Claims that a grant gives to a token besides those that all of them have. Call it before the token is saved. */
export const addClaims = (token: object, claims: Record<string, unknown>): void => void moreClaims.set(token, claims)

/**
 * The claims of an access token, exactly those of spec 5.3. The session learns the token's id with the same write that
 * gives the token out.
 */
export function shapeAccessToken(
  ctx: OpenIdContext,
  token: AccessToken,
  jwt: { payload: Record<string, unknown> },
): void {
  const { context, writes } = scope()
  const { iss, sub, aud, jti, client_id, scope: scopes } = jwt.payload
  // What a session's own client redeems; a token made out of another one belongs to its session, but is no use of it.
  const source = ctx.oidc.entities.AuthorizationCode ?? ctx.oidc.entities.RefreshToken
  const iat = seconds(context.now())
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
    ...moreClaims.get(token),
  }
  if (token.sid !== undefined && source !== undefined) writes.touch(context, token.sid, { access: String(jti) })
}
