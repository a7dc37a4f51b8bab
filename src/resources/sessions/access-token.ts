/**
 * Is this access token of ours good now? The one answer for every endpoint that takes one (security rules 11, 12): the
 * Core API, userinfo, introspection, the session endpoint. A JWT says only what was true when it was signed; whether
 * its session, its user and its issuer still stand is asked with every use, in one statement.
 */
import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Context } from '../../platform/context.js'
import type { Tools } from '../../platform/database.js'
import type { Question } from '../../platform/together.js'
import { readIssuerUrl, servesHost } from '../issuer-url.js'
import type { Restrictions } from '../keys/restrictions.js'

/** Claims of an access token (RFC 9068, spec 5.3). Times in Unix seconds. */
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
  [claim: string]: unknown
}

/**
 * What else a caller wants to know of the token's principal, in the same statement: columns and joins on the issuer `i`,
 * the user `u` (active), the client `c` and the agent `ag` (active).
 */
export interface Facts {
  /** Of the prepared statement. */
  name: string
  columns: string
  joins: string
}
const noFacts: Facts = { name: 'access-token-live', columns: '', joins: '' }

/** A token that is good now, with what its database rows say. */
export interface LiveToken {
  claims: AccessTokenClaims
  accountId: string
  issuerId: string
  /** `active` or `deleted`; a deleted client's user tokens stay good until they expire (spec section 3). */
  clientStatus: string | null
  /** Of a user's token. */
  username: string | null
  grantId: string | null
  /** Of a personal token, whose row must be active. `expires_at` in milliseconds. */
  personalToken: { name: string; restrictions: Restrictions; expires_at: number } | null
}

interface Caches {
  keys: LRUCache<string, { issuerId: string; alg: string; key: KeyObject }>
  /** Signatures found good, by hash of the token: checking one takes longer than all the rest. */
  verdicts: LRUCache<string, Signed>
}

interface Signed {
  claims: AccessTokenClaims
  issuerId: string
  /** The custom domain under whose name it was issued, if any. */
  host: string | null
  kid: string
}

const cachesOf = new WeakMap<Tools, Caches>()
const MAX_LENGTH = 16_384

/**
 * Checks an access token of this deployment.
 * @param facts columns that the answer holds as well
 * @returns null for whatever is not a live access token of ours: other kinds of JWT, foreign, expired, revoked ones
 * @throws ApiError unavailable when the database is away
 */
export async function verifyAccessToken<More extends object = object>(
  context: Context,
  token: string,
  facts: Facts = noFacts,
): Promise<(LiveToken & More) | null> {
  const signed = await verifyUnexpired(context, token)
  if (!signed) return null
  const { claims, issuerId } = signed
  const row = await livenessOf<More>(context, signed, facts)
  return row ? { claims, issuerId, ...row } : null
}

/**
 * Reads an access token of ours that has not expired, whether or not it is good now: to revoke it. One that sleeps with
 * its session must not wake with it.
 */
export async function readAccessToken(
  context: Context,
  token: string,
): Promise<Pick<LiveToken, 'claims' | 'issuerId'> | null> {
  return verifyUnexpired(context, token)
}

/** RFC 9068 section 4: not after exp, not before nbf; no leeway (decisions D29). */
async function verifyUnexpired(context: Context, token: string): Promise<Signed | null> {
  const signed = await verifySignature(context, token)
  const now = context.now()
  return signed && now < signed.claims.exp * 1000 && now >= signed.claims.nbf * 1000 ? signed : null
}

/** Steps 1 to 4 of RFC 9068 section 4: form, type, issuer, signature. */
async function verifySignature(context: Context, token: string): Promise<Signed | null> {
  if (token.length > MAX_LENGTH) return null
  const { keys, verdicts } = cachesFor(context.tools)
  const hash = createHash('sha256').update(token).digest('base64')
  const known = verdicts.get(hash)
  if (known) return known

  // 1. Three parts, the first of which names an access token (not an ID token or a logout token) and a key.
  const [head, body, signature, ...rest] = token.split('.')
  if (!head || !body || !signature || rest.length > 0) return null
  const header = decoded(head)
  const claims = decoded(body)
  if (!header || !claims || !isAccessTokenType(header['typ']) || header['crit'] !== undefined) return null
  const { alg, kid } = header
  if (typeof kid !== 'string' || !/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(kid)) return null

  // 2. Claims of the right form, from an issuer of this deployment.
  if (!hasClaims(claims)) return null
  const name = readIssuerUrl(context.config, claims.iss)
  if (!name) return null
  const { issuerId, host } = name

  // 3. The key is that issuer's, and its algorithm is the key's own, whatever the header says.
  let entry = keys.get(kid)
  if (!entry) {
    const [row] = await context.tools.query<{ issuer_id: string; alg: string; public_jwk: object }>(
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
  if (entry.issuerId !== issuerId || entry.alg !== alg) return null

  // 4. The signature.
  const data = Buffer.from(`${head}.${body}`)
  const bytes = Buffer.from(signature, 'base64url')
  // A second spelling of the same bytes would be a second name for the same token.
  if (bytes.toString('base64url') !== signature) return null
  const digest = alg === 'EdDSA' ? null : 'sha256'
  const key = { key: entry.key, ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {}) }
  if (!verify(digest, data, key, bytes)) return null
  const signed = { claims, issuerId, host, kid }
  verdicts.set(hash, signed)
  return signed
}

/**
 * Everything that can end a token before its time: the revocation list, its session (suspended, revoked, expired,
 * idle), its principal (a user, a client, an agent), its issuer, its key. A disabled client's tokens are dead; a deleted
 * one's user tokens are not. A client that is a metadata document has no row; its tokens are good while the issuer takes
 * such clients. A token that is its own client is a personal token, and its row must be active. A token issued under a
 * custom domain is good at every address of the issuer, for as long as the domain is the issuer's. An exchanged token has
 * the session of the token that it came from, whose client must not be disabled either. A token for a selected
 * organization is dead while that or the user's membership of it is suspended, and when it is deleted (spec section 3:
 * at once, without a grace period); of a member who was removed it lasts until the next refresh (decisions D11).
 */
const livenessTypes = ['text', 'text', 'text', 'text', 'text', 'text', 'bigint', 'text', 'boolean', 'text'] as const
const livenessText = ({ columns, joins }: Facts): string => `
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
    AND ($8::text IS NULL OR ${servesHost('$8::text')})
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

const questions = new Map<string, Question>()

function livenessQuestion(facts: Facts): Question {
  let question = questions.get(facts.name)
  if (!question) {
    question = { name: facts.name, types: livenessTypes, text: livenessText(facts) }
    questions.set(facts.name, question)
  }
  return question
}

async function livenessOf<More>(context: Context, { issuerId, host, kid, claims }: Signed, facts: Facts) {
  const { jti, client_id, sub, sid = null, org_id = null } = claims
  const exchanged = claims['act'] !== undefined
  type Row = Omit<LiveToken, 'claims' | 'issuerId'> & More & Record<string, unknown>
  const values = [issuerId, kid, jti, client_id, sub, sid, context.now(), host, exchanged, org_id]
  const [row] = await context.tools.ask<Row>(livenessQuestion(facts), values)
  return row
}

function cachesFor(tools: Tools): Caches {
  let caches = cachesOf.get(tools)
  if (!caches) {
    caches = { keys: new LRUCache({ max: 10_000 }), verdicts: new LRUCache({ max: 20_000 }) }
    cachesOf.set(tools, caches)
  }
  return caches
}

function decoded(part: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** RFC 9068 2.1: `at+jwt`, with or without `application/`, in any case. */
const isAccessTokenType = (typ: unknown): boolean => typeof typ === 'string' && /^(application\/)?at\+jwt$/i.test(typ)

function hasClaims(claims: Record<string, unknown>): claims is AccessTokenClaims {
  const { iss, sub, aud, exp, iat, nbf, jti, client_id, sid } = claims
  const texts = [iss, sub, jti, client_id, ...(sid === undefined ? [] : [sid])]
  const audience = Array.isArray(aud) ? aud : [aud]
  return (
    [...texts, ...audience].every((text) => typeof text === 'string') && [exp, iat, nbf].every(Number.isSafeInteger)
  )
}
