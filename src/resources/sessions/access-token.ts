/**
 * Verifies access tokens of this deployment, for every endpoint that accepts one: Core API, userinfo, introspection,
 * session check (docs/contract.md#liveness-of-access-tokens). The claims describe the state when the token was signed.
 * With each use of the token, one statement checks the current state of the session, the principal and the issuer.
 */
import { createHash, createPublicKey, type KeyObject } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { isSignatureValid, parseJws } from '../../platform/crypto/jws.js'
import type { DatabaseHandle } from '../../platform/postgres/database.js'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { parseIssuerUrl, servesHostSql } from '../issuer-url.js'
import type { Restrictions } from '../keys/restrictions.js'

/** Claims of an access token (RFC 9068). Times in Unix seconds. */
export interface AccessTokenClaims {
  iss: string
  sub: string
  aud: string | string[]
  exp: number
  iat: number
  nbf: number
  jti: string
  client_id: string
  scope?: string
  sid?: string
  auth_time?: number
  acr?: string
  org_id?: string
  /** The thumbprint of the key to which the token is bound (RFC 9449 section 6.1); absent for a bearer token. */
  cnf?: { jkt?: string }
  [claim: string]: unknown
}

/**
 * Additional columns to read in the same statement, with joins on the issuer `i`, the active user `u`, the client `c`
 * and the active agent `ag`.
 */
export interface ExtraColumns {
  /** Name of the prepared statement. */
  name: string
  columns: string
  joins: string
}
const noExtraColumns: ExtraColumns = { name: 'access-token-state', columns: '', joins: '' }

/** A valid access token with facts about its client, user, session and personal token from the database. */
export interface ActiveToken {
  claims: AccessTokenClaims
  accountId: string
  issuerId: string
  /**
   * Status of the client: `active` or `deleted`, because user tokens of a deleted client stay valid until they expire
   * (docs/contract.md#request-bodies). Null if there is no row of the client: for agents, personal tokens and clients
   * with a metadata document.
   */
  clientStatus: string | null
  /** Username of the user; null for a token of a client or agent. */
  username: string | null
  /** Grant of the session; null for a token without a session. */
  grantId: string | null
  /** The active personal token, with `expires_at` in Unix milliseconds; null for other access tokens. */
  personalToken: { name: string; restrictions: Restrictions; expires_at: number } | null
}

interface Caches {
  /** Public keys by `kid`. */
  keys: LRUCache<string, { issuerId: string; alg: string; key: KeyObject }>
  /**
   * Tokens with a verified signature, by SHA-256 of the token, because verifying a signature is the most expensive
   * step.
   */
  verifiedTokens: LRUCache<string, VerifiedToken>
}

interface VerifiedToken {
  claims: AccessTokenClaims
  issuerId: string
  /** The custom domain in `iss`, or null. */
  host: string | null
  kid: string
}

const cachesByTools = new WeakMap<DatabaseHandle, Caches>()

/**
 * Verifies an access token of this deployment.
 * @param extra additional columns of the result
 * @returns null for everything that is not a valid access token: other JWTs, other issuers, expired or revoked tokens
 * @throws ApiError unavailable if the database is unavailable
 */
export async function verifyAccessToken<Extra extends object = object>(
  context: Context,
  token: string,
  extra: ExtraColumns = noExtraColumns,
): Promise<(ActiveToken & Extra) | null> {
  const verifiedToken = await verifyUnexpired(context, token)
  if (!verifiedToken) return null
  const { claims, issuerId } = verifiedToken
  const row = await queryTokenState<Extra>(context, verifiedToken, extra)
  return row ? { claims, issuerId, ...row } : null
}

/**
 * Verifies an access token without checking its current state. For revocation: a token of a suspended session can be
 * revoked too; otherwise it would be valid again when the session is reactivated.
 */
export async function verifyUnexpiredAccessToken(
  context: Context,
  token: string,
): Promise<Pick<ActiveToken, 'claims' | 'issuerId'> | null> {
  return verifyUnexpired(context, token)
}

/** Checks `exp` and `nbf` without leeway (RFC 9068 section 4, docs/contract.md#request-bodies). */
async function verifyUnexpired(context: Context, token: string): Promise<VerifiedToken | null> {
  const verifiedToken = await verifySignature(context, token)
  const now = context.now()
  return verifiedToken && now < verifiedToken.claims.exp * 1000 && now >= verifiedToken.claims.nbf * 1000
    ? verifiedToken
    : null
}

/** Checks the form, type, issuer and signature (RFC 9068 section 4). */
async function verifySignature(context: Context, token: string): Promise<VerifiedToken | null> {
  if (token.length > limits.maxAccessTokenLength) return null
  const { keys, verifiedTokens } = cachesFor(context.database)
  const hash = createHash('sha256').update(token).digest('base64')
  const known = verifiedTokens.get(hash)
  if (known) return known

  // 1. The token is a JWT whose header has a key id and the type of an access token, not of an ID token or logout
  // token.
  const jws = parseJws(token)
  if (!jws || !isAccessTokenType(jws.header['typ'])) return null
  const { claims } = jws
  const { kid } = jws.header
  if (typeof kid !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(kid)) return null

  // 2. The claims are complete and the issuer belongs to this deployment.
  if (!hasRequiredClaims(claims)) return null
  const parsedIssuer = parseIssuerUrl(context.config, claims.iss)
  if (!parsedIssuer) return null
  const { issuerId, host } = parsedIssuer

  // 3. The key belongs to that issuer.
  let entry = keys.get(kid)
  if (!entry) {
    const [row] = await context.database.query<{ issuer_id: string; alg: string; public_jwk: object }>(
      'access-token-key',
      'SELECT issuer_id, alg, public_jwk FROM signing_keys WHERE kid = $1::uuid',
      [kid],
    )
    if (!row) return null
    entry = {
      issuerId: row.issuer_id,
      alg: row.alg,
      key: createPublicKey({ key: { ...row.public_jwk }, format: 'jwk' }),
    }
    keys.set(kid, entry)
  }
  if (entry.issuerId !== issuerId) return null

  // 4. The signature is valid.
  if (!isSignatureValid(jws, entry.alg, entry.key)) return null
  const verifiedToken = { claims, issuerId, host, kid }
  verifiedTokens.set(hash, verifiedToken)
  return verifiedToken
}

const tokenStateTypes = ['text', 'text', 'text', 'text', 'text', 'text', 'bigint', 'text', 'boolean', 'text'] as const
/**
 * Selects no row if a token is no longer valid, although it has not expired: because it is in the revocation list, its
 * session is suspended, revoked, expired or inactive, its user, client or agent is not active, its issuer is not
 * active, or its signing key was removed.
 * - Tokens of a disabled client are invalid. User tokens of a deleted client are valid.
 * - A client with a metadata document has no row. Its tokens are valid while the issuer allows such clients.
 * - A token whose `client_id` equals its `jti` is a personal token. The row of the personal token must be active.
 * - A token that was issued at a custom domain is valid at every address of the issuer while the domain is assigned to
 *   the issuer.
 * - An exchanged token has the session of its subject token. The client of this session must not be disabled either.
 * - A token with `org_id` is invalid while the organization or the membership is suspended, and after the organization
 *   was deleted. If the member was removed, the token is valid until the next refresh (docs/contract.md#members).
 */
const tokenStateText = ({ columns, joins }: ExtraColumns): string => `
  SELECT i.account_id AS "accountId", c.status AS "clientStatus", u.username, s.grant_id AS "grantId",
    CASE WHEN p.id IS NOT NULL THEN jsonb_build_object('name', p.name, 'restrictions', p.restrictions,
      'expires_at', p.expires_at) END AS "personalToken"${columns && `, ${columns}`}
  FROM issuers i
  JOIN signing_keys k ON k.issuer_id = i.id AND k.kid = $2::uuid
  LEFT JOIN clients c ON c.issuer_id = i.id AND c.id = $4
  LEFT JOIN agents ag ON $5 = $4 AND ag.issuer_id = i.id AND ag.id = $4 AND ag.status = 'active'
  LEFT JOIN users u ON u.issuer_id = i.id AND u.id = $5 AND u.status = 'active'
  LEFT JOIN sessions s ON s.issuer_id = i.id AND s.id = $6 AND s.user_id = $5 AND (s.client_id = $4 OR $9)
    AND s.status = 'active' AND s.expires_at > $7 AND (s.idle_expires_at IS NULL OR s.idle_expires_at > $7)
  LEFT JOIN personal_tokens p ON $3 = $4 AND p.issuer_id = i.id AND p.id = $3 AND p.user_id = $5
    AND p.status = 'active' AND p.expires_at > $7
  ${joins}
  WHERE i.id = $1 AND i.status = 'active'
    AND ($8::text IS NULL OR ${servesHostSql('$8::text')})
    AND NOT EXISTS (SELECT 1 FROM revoked_tokens r WHERE r.issuer_id = $1 AND r.jti = $3)
    AND ($6::text IS NULL OR s.id IS NOT NULL)
    AND CASE WHEN $3 = $4 THEN p.id IS NOT NULL AND u.id IS NOT NULL
      WHEN $5 = $4 THEN c.status = 'active' OR ag.id IS NOT NULL
      ELSE u.id IS NOT NULL AND CASE WHEN c.id IS NOT NULL THEN c.status <> 'disabled'
        ELSE $4 ~ '^https?://' AND i.settings #> '{security,openid_policy,client_id_metadata_document,enabled}' = 'true' END
      END
    AND NOT ($9 AND EXISTS (
      SELECT 1 FROM clients o WHERE o.issuer_id = i.id AND o.id = s.client_id AND o.status = 'disabled'))
    AND ($10::text IS NULL OR (SELECT o.status = 'active' AND m.status IS DISTINCT FROM 'suspended'
      FROM organizations o LEFT JOIN organization_members m ON m.org_id = o.id AND m.user_id = $5
      WHERE o.issuer_id = i.id AND o.id = $10))`

const tokenStateQueries = new Map<string, BatchQuery>()

function tokenStateQueryFor(extra: ExtraColumns): BatchQuery {
  let tokenStateQuery = tokenStateQueries.get(extra.name)
  if (!tokenStateQuery) {
    tokenStateQuery = { name: extra.name, types: tokenStateTypes, text: tokenStateText(extra) }
    tokenStateQueries.set(extra.name, tokenStateQuery)
  }
  return tokenStateQuery
}

async function queryTokenState<Extra>(
  context: Context,
  { issuerId, host, kid, claims }: VerifiedToken,
  extra: ExtraColumns,
) {
  const { jti, client_id, sub, sid = null, org_id = null } = claims
  const exchanged = claims['act'] !== undefined
  type Row = Omit<ActiveToken, 'claims' | 'issuerId'> & Extra & Record<string, unknown>
  const values = [issuerId, kid, jti, client_id, sub, sid, context.now(), host, exchanged, org_id]
  const [row] = await context.database.queryCoalesced<Row>(tokenStateQueryFor(extra), values)
  return row
}

function cachesFor(tools: DatabaseHandle): Caches {
  let caches = cachesByTools.get(tools)
  if (!caches) {
    caches = {
      keys: new LRUCache({ max: limits.maxCachedVerificationKeys }),
      verifiedTokens: new LRUCache({ max: limits.maxCachedVerifiedTokens }),
    }
    cachesByTools.set(tools, caches)
  }
  return caches
}

/** RFC 9068 section 2.1: `at+jwt`, with or without `application/`, in upper or lower case. */
const isAccessTokenType = (typ: unknown): boolean => typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ)

function hasRequiredClaims(claims: Record<string, unknown>): claims is AccessTokenClaims {
  const { iss, sub, aud, exp, iat, nbf, jti, client_id, sid } = claims
  const texts = [iss, sub, jti, client_id, ...(sid === undefined ? [] : [sid])]
  const audience = Array.isArray(aud) ? aud : [aud]
  return (
    [...texts, ...audience].every((text) => typeof text === 'string') && [exp, iat, nbf].every(Number.isSafeInteger)
  )
}
