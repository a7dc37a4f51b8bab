/**
 * Converts an Authorization header into an actor (docs/contract.md#core-api-authentication): Basic with an API key, or
 * Bearer or DPoP with an access token that an issuer of this deployment issued for the audience BASE_URL.
 */
import type { IncomingMessage } from 'node:http'
import { type Actor, unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { isId } from '../kernel/ids.js'
import type { RateLimitName } from '../kernel/limits.js'
import { ALL_SCOPES, coversScope, intersectScopes } from '../kernel/scopes.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { requireWithinRateLimit } from '../platform/http/consume-rate-limit.js'
import { authoritySql } from '../resources/accounts/administrators.js'
import { isAddressAllowed, type Restrictions } from '../resources/keys/restrictions.js'
import { matchesSecret, type StoredSecret } from '../resources/keys/rotating-secret.js'
import { type ExtraColumns, verifyAccessToken } from '../resources/sessions/access-token.js'
import {
  dpopChallenge,
  PossessionError,
  type PresentedToken,
  proofHeaderOf,
  requirePossession,
} from '../resources/sessions/proof-of-possession.js'
import { verifySecretRateLimited } from './secret-attempts.js'

/** The error of an access token, with the scheme of its challenge. */
interface AccessTokenError {
  scheme: PresentedToken['scheme']
  /** The error code of RFC 6750 or RFC 9449. */
  code: string
}

/**
 * Returns the WWW-Authenticate header of a 401 response (docs/contract.md#errors, RFC 9728): the supported schemes, or
 * the scheme of the access token that was refused.
 * @param error omitted if the request had no access token
 */
export function wwwAuthenticateHeader(baseUrl: string, error?: AccessTokenError): string {
  const metadata = `resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`
  if (error?.scheme === 'DPoP') return `${dpopChallenge('gatehouse', error)}, ${metadata}`
  const bearer = `Basic realm="gatehouse", Bearer realm="gatehouse"${error ? `, error="${error.code}"` : ''}, ${metadata}`
  return error ? bearer : `${bearer}, ${dpopChallenge('gatehouse')}`
}

function unauthorized(context: Context, description: string, error?: AccessTokenError): ApiError {
  return new ApiError('unauthorized', description, {
    headers: { 'WWW-Authenticate': wwwAuthenticateHeader(context.config.baseUrl, error) },
  })
}

/** The parts of a request that authenticate its sender. */
export interface Credentials {
  /** The Authorization header; undefined without one. */
  readonly authorization: string | undefined
  readonly method: string
  /** The path of the request, without the query. */
  readonly path: string
  /** The header `DPoP`; undefined without one. */
  readonly proof: string | undefined
  /** Set for a stream whose request was authenticated before: its proof was accepted and is not checked again. */
  readonly isProofAccepted?: true
  /** The rate limit of the request, so that a caller above the limit cannot store proofs. */
  readonly limit?: RateLimitName
}

/** Returns the credentials of a request. */
export const credentialsOf = (request: IncomingMessage): Credentials => ({
  authorization: request.headers.authorization || undefined,
  method: request.method ?? '',
  path: (request.url ?? '').split('?')[0]!,
  proof: proofHeaderOf(request),
})

/**
 * Authenticates the sender of a request.
 * @returns the actor; `unauthenticated` without an Authorization header
 * @throws unauthorized for an invalid credential, too_many_requests after too many wrong secrets, forbidden if the
 *   credential is not allowed from this IP address
 */
export async function authenticate(context: Context, credentials: Credentials): Promise<Actor> {
  if (credentials.authorization === undefined) return unauthenticated
  const [, name = '', value] = /^([a-z]+) +([^\s]+)$/i.exec(credentials.authorization.trim()) ?? []
  switch (name.toLowerCase()) {
    case 'basic':
      return authenticateApiKey(context, value!)
    case 'bearer':
      return authenticateAccessToken(context, credentials, 'Bearer', value!)
    case 'dpop':
      return authenticateAccessToken(context, credentials, 'DPoP', value!)
    default:
      throw unauthorized(
        context,
        'The Authorization header must be Basic with base64 of key_id:secret, or Bearer or DPoP with an access token.',
      )
  }
}

interface ApiKeyRow {
  id: string
  name: string
  account_id: string
  issuer_id: string | null
  org_id: string | null
  restrictions: Restrictions
  secrets: StoredSecret[]
  status: string
  expires_at: number | null
  system: boolean
  /** For an organization's key: the organization is active and its issuer is not deleted. True for other keys. */
  owner_active: boolean
}

const apiKeySql = `
  SELECT k.id, k.name, k.account_id, k.issuer_id, k.org_id, k.restrictions, k.secrets, k.status, k.expires_at, a.system,
    k.org_id IS NULL OR (o.status = 'active' AND i.status <> 'deleted') AS owner_active
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  LEFT JOIN organizations o ON o.id = k.org_id LEFT JOIN issuers i ON i.id = o.issuer_id WHERE k.id = $1`

/**
 * Authenticates an API key: the base64 of `key_id:secret`, split at the first colon (RFC 7617). Unlike the credentials
 * of OAuth clients, the two parts are not form-urlencoded (docs/contract.md#api-key-credentials).
 */
async function authenticateApiKey(context: Context, value: string): Promise<Actor> {
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? []
  const invalidKeyError = () => unauthorized(context, 'The API key is unknown, wrong or not active.')
  if (!/^ak_[0-9a-z]{26}$/.test(id)) throw invalidKeyError()
  const [key] = await context.database.query<ApiKeyRow>('api-key', apiKeySql, [id])
  const now = context.now()
  // Compares the secret even if the key is unknown or not active, so that the response time does not reveal which IDs
  // exist.
  const { matches: isMatch } = await verifySecretRateLimited(context, 'core', id, () =>
    matchesSecret(key?.secrets ?? [], secret, now),
  )
  const isActive = key?.status === 'active' && key.owner_active && (key.expires_at === null || key.expires_at > now)
  if (!key || !isMatch || !isActive) throw invalidKeyError()
  if (!isAddressAllowed(key.restrictions, context.request.ip)) {
    throw new ApiError('forbidden', 'This API key cannot be used from this IP address.')
  }
  const scopes = key.restrictions.scopes ?? [ALL_SCOPES]
  return {
    type: 'api_key',
    authType: 'api_key',
    id: key.id,
    name: key.name,
    userId: null,
    accountId: key.account_id,
    issuerId: key.issuer_id,
    orgId: key.org_id,
    scopes,
    issuerIds: key.restrictions.issuer_ids ?? null,
    orgIds: key.restrictions.org_ids ?? null,
    ipAllowlist: key.restrictions.ip_allowlist ?? null,
    expiresAt: key.expires_at,
    signedInAt: null,
    // A key of an organization has no operator authority, even if the organization belongs to the system account.
    operator: key.system && key.org_id === null && coversScope(scopes, 'accounts:manage'),
  }
}

interface Principal {
  name: string | null
  scopes: string[]
  /** True for a user of the console issuer. */
  console: boolean
  /** True if the token was issued to the client of the console. */
  issuedToConsole: boolean
  /** For a user of the console issuer: the scopes on the system account. Empty for other principals. */
  systemScopes: string[]
}

/** Extra columns of the token query: the fields of `Principal` for the user, client or agent of the token. */
const principalQuery: ExtraColumns = {
  name: 'access-token-principal',
  columns: `
    CASE WHEN ag.id IS NOT NULL THEN ag.name WHEN u.id IS NULL THEN c.name ELSE u.profile->>'name' END AS name,
    CASE WHEN ag.id IS NOT NULL THEN ag.scopes WHEN u.id IS NULL THEN ARRAY(SELECT jsonb_array_elements_text(coalesce(c.settings->'scopes', '[]')))
      ELSE coalesce(u.scopes, '{}') END AS scopes,
    u.id IS NOT NULL AND d.name IS NOT NULL AS console,
    coalesce(u.id IS NOT NULL AND d.value->>'client_id' = c.id, false) AS "issuedToConsole",
    coalesce(${authoritySql('u.id')}, '{}') AS "systemScopes"`,
  joins: `
    LEFT JOIN deployment d ON d.name = 'console' AND d.value->>'issuer_id' = i.id
    LEFT JOIN accounts a ON a.system AND d.name IS NOT NULL AND u.id IS NOT NULL`,
}

/**
 * Authenticates an access token (RFC 6750, RFC 9449 section 7, docs/contract.md#access-tokens-at-the-core-api). The
 * scopes of the actor are the scopes that the principal has in the database, limited by the `scope` claim of the token.
 * For a user of the console issuer they are the `scope` claim, and `authorize` limits them.
 */
async function authenticateAccessToken(
  context: Context,
  { method, path, proof, isProofAccepted, limit }: Credentials,
  scheme: PresentedToken['scheme'],
  token: string,
): Promise<Actor> {
  const invalidTokenError = () =>
    unauthorized(context, 'The access token is invalid, expired, revoked or not meant for this API.', {
      scheme,
      code: 'invalid_token',
    })
  const verified = await verifyAccessToken<Principal>(context, token, principalQuery)
  if (!verified) throw invalidTokenError()
  const { claims, accountId, issuerId, personalToken } = verified
  if (![claims.aud].flat().includes(context.config.baseUrl)) throw invalidTokenError()
  if (!isProofAccepted) {
    if (proof !== undefined && limit !== undefined)
      requireWithinRateLimit(context, context.rateLimiter.peek(limit, personalToken ? claims.jti : claims.sub))
    const url = `${context.config.baseUrl}${path}`
    await requirePossession(context, verified, { token, scheme, proof, method, url }).catch((error: unknown) => {
      if (!(error instanceof PossessionError)) throw error
      const description = `${error.message[0]!.toUpperCase()}${error.message.slice(1)}.`
      throw unauthorized(context, description, { scheme: 'DPoP', code: error.code })
    })
  }
  const type = claims.sub !== claims.client_id ? 'user' : isId('agt', claims.sub) ? 'agent' : 'client'
  const restrictions: Restrictions = personalToken?.restrictions ?? {}
  if (!isAddressAllowed(restrictions, context.request.ip)) {
    throw new ApiError('forbidden', 'This personal token cannot be used from this IP address.')
  }
  const requestedScopes = (claims.scope ?? '').split(' ').filter(Boolean)
  // The scopes of a user of the console issuer differ by account. `authorize` reads them for the account of each
  // request and limits them by the `scope` claim, which is passed on here.
  const scopes = verified.console ? requestedScopes : intersectScopes(verified.scopes, requestedScopes)
  return {
    ...(personalToken
      ? { type: 'personal_token', authType: 'token', id: claims.jti, name: personalToken.name }
      : { type, authType: type === 'user' ? 'user' : 'client', id: claims.sub, name: verified.name }),
    userId: type === 'user' ? claims.sub : null,
    accountId,
    issuerId: verified.console ? null : issuerId,
    orgId: null,
    scopes,
    issuerIds: restrictions.issuer_ids ?? null,
    orgIds: restrictions.org_ids ?? null,
    ipAllowlist: restrictions.ip_allowlist ?? null,
    expiresAt: personalToken?.expires_at ?? null,
    signedInAt: verified.issuedToConsole ? (claims.auth_time ?? 0) * SECOND : null,
    operator:
      verified.console && coversScope(intersectScopes(verified.systemScopes, requestedScopes), 'accounts:manage'),
  }
}
