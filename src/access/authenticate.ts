/**
 * Who is asking? An Authorization header becomes an actor (spec 5.1, decisions D5, D6): Basic with an API key, Bearer
 * with an access token of one of our issuers whose audience is this deployment.
 */
import { type Actor, unauthenticated } from '../kernel/context.js'
import { ApiError } from '../kernel/errors.js'
import { isId } from '../kernel/ids.js'
import { ALL, covers, intersection } from '../kernel/scopes.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { authoritySql } from '../resources/accounts/administrators.js'
import { allowsAddress, type Restrictions } from '../resources/keys/restrictions.js'
import { fits, type StoredSecret } from '../resources/keys/rotating-secret.js'
import { type Facts, verifyAccessToken } from '../resources/sessions/access-token.js'
import { trySecret } from './guesses.js'

/** The WWW-Authenticate value of a 401 (decisions D2, RFC 9728). */
export const challenges = (baseUrl: string, bearerError?: string): string =>
  `Basic realm="gatehouse", Bearer realm="gatehouse"${bearerError ? `, error="${bearerError}"` : ''}, resource_metadata="${baseUrl}/.well-known/oauth-protected-resource"`

function unauthorized(context: Context, description: string, bearerError?: string): ApiError {
  return new ApiError('unauthorized', description, {
    headers: { 'WWW-Authenticate': challenges(context.config.baseUrl, bearerError) },
  })
}

/**
 * Reads an Authorization header.
 * @returns the actor; the unauthenticated one without a header
 * @throws unauthorized for anything that is not a credential in force, too_many_requests after too many wrong secrets
 */
export async function authenticate(context: Context, header: string | undefined): Promise<Actor> {
  if (header === undefined) return unauthenticated
  const [, scheme, value] = /^([a-z]+) +([^\s]+)$/i.exec(header.trim()) ?? []
  if (scheme?.toLowerCase() === 'basic') return byApiKey(context, value!)
  if (scheme?.toLowerCase() === 'bearer') return byToken(context, value!)
  throw unauthorized(context, 'The Authorization header must hold Basic key_id:secret or Bearer and an access token.')
}

interface KeyRow {
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
  /** The account stands; an organization's key needs its organization active and its issuer alive. */
  owner_active: boolean
}

const keyText = `
  SELECT k.id, k.name, k.account_id, k.issuer_id, k.org_id, k.restrictions, k.secrets, k.status, k.expires_at, a.system,
    k.org_id IS NULL OR (o.status = 'active' AND i.status <> 'deleted') AS owner_active
  FROM api_keys k JOIN accounts a ON a.id = k.account_id
  LEFT JOIN organizations o ON o.id = k.org_id LEFT JOIN issuers i ON i.id = o.issuer_id WHERE k.id = $1`

/** RFC 7617: base64, split at the first colon; no form decoding (decisions D5). */
async function byApiKey(context: Context, value: string): Promise<Actor> {
  const [, id = '', secret = ''] = /^([^:]*):(.*)$/s.exec(Buffer.from(value, 'base64').toString('utf8')) ?? []
  const refused = () => unauthorized(context, 'The API key is unknown, wrong or no longer in force.')
  if (!/^ak_[0-9a-z]{26}$/.test(id)) throw refused()
  const [key] = await context.tools.query<KeyRow>('api-key', keyText, [id])
  const now = context.now()
  // The secret is compared even when the key is not in force, so that both take the same time.
  const { fits: good } = await trySecret(context, 'core', id, () => fits(key?.secrets ?? [], secret, now))
  const inForce = key?.status === 'active' && key.owner_active && (key.expires_at === null || key.expires_at > now)
  if (!key || !good || !inForce) throw refused()
  if (!allowsAddress(key.restrictions, context.request.ip)) {
    throw new ApiError('forbidden', 'This API key may not be used from this address.')
  }
  const scopes = key.restrictions.scopes ?? [ALL]
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
    // An organization's key acts for the organization, also where that is one of the system account.
    operator: key.system && key.org_id === null && covers(scopes, 'accounts:manage'),
  }
}

interface Principal {
  name: string | null
  scopes: string[]
  console: boolean
  /** The token was issued to the console itself. */
  throughConsole: boolean
  /** Of a user of the console issuer: its authority on the system account. */
  systemScopes: string[]
}

/** Who a token stands for: a user, or a client or an agent that is its own client; asked for together with its liveness. */
const principal: Facts = {
  name: 'access-token-principal',
  columns: `
    CASE WHEN ag.id IS NOT NULL THEN ag.name WHEN u.id IS NULL THEN c.name ELSE u.profile->>'name' END AS name,
    CASE WHEN ag.id IS NOT NULL THEN ag.scopes WHEN u.id IS NULL THEN ARRAY(SELECT jsonb_array_elements_text(coalesce(c.settings->'scopes', '[]')))
      ELSE coalesce(u.scopes, '{}') END AS scopes,
    u.id IS NOT NULL AND d.name IS NOT NULL AS console,
    coalesce(u.id IS NOT NULL AND d.value->>'client_id' = c.id, false) AS "throughConsole",
    coalesce(${authoritySql('u.id')}, '{}') AS "systemScopes"`,
  joins: `
    LEFT JOIN deployment d ON d.name = 'console' AND d.value->>'issuer_id' = i.id
    LEFT JOIN accounts a ON a.system AND d.name IS NOT NULL AND u.id IS NOT NULL`,
}

/** RFC 6750 and decisions D6: authority comes from our tables, cut down by the token's scope; never from the token alone. */
async function byToken(context: Context, token: string): Promise<Actor> {
  const refused = () =>
    unauthorized(context, 'The access token is unknown, expired, revoked or not meant for this API.', 'invalid_token')
  const verified = await verifyAccessToken<Principal>(context, token, principal)
  if (!verified) throw refused()
  const { claims, accountId, issuerId, personalToken } = verified
  if (![claims.aud].flat().includes(context.config.baseUrl)) throw refused()
  const type = claims.sub !== claims.client_id ? 'user' : isId('agt', claims.sub) ? 'agent' : 'client'
  const restrictions: Restrictions = personalToken?.restrictions ?? {}
  if (!allowsAddress(restrictions, context.request.ip)) {
    throw new ApiError('forbidden', 'This personal token may not be used from this address.')
  }
  const asked = (claims.scope ?? '').split(' ').filter(Boolean)
  // What a user of the console may do differs by account, and the guard asks for it with each; a principal of an
  // ordinary issuer has what it was granted.
  const scopes = verified.console ? asked : intersection(verified.scopes, asked)
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
    signedInAt: verified.throughConsole ? (claims.auth_time ?? 0) * SECOND : null,
    operator: verified.console && covers(intersection(verified.systemScopes, asked), 'accounts:manage'),
  }
}
