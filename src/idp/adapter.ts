/** Where the library keeps codes, refresh tokens, grants, browser sessions and interactions: one table, by issuer. */
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { seconds } from '../kernel/time.js'
import { sha256 } from '../platform/secrets.js'
import type { Question } from '../platform/together.js'
import { emit } from '../resources/events/events.js'
import { endSessions, type RevocationReason } from '../resources/sessions/sessions.js'
import { type AccountRow, accountSql } from './account.js'
import { asClient } from './client.js'
import { isAddress } from './documents/address.js'
import { JWT_STAND_IN } from './endpoints/live-token.js'
import type { OpenIdClient } from './library.js'
import { type Form, field } from './request.js'
import { scope } from './scope.js'
import type { Artifact } from './writes.js'

/**
 * Ids of these kinds are bearer secrets (a code, a token, a cookie), so only their hashes are stored. A grant's id is
 * none: nothing is answered for showing one.
 */
const isSecret = (kind: string): boolean => kind !== 'Grant'

const stored = (kind: string, id: string): Artifact => ({ kind, id: isSecret(kind) ? sha256(id) : id })

/** The public id of a refresh token: says which one it is without being a way to it. */
export function refreshTokenId(value: string): string {
  const hash = sha256(`refresh token ${value}`)
  // The form of every id: 26 characters, the first one below 8.
  return `tok_${Number.parseInt(hash[0]!, 16) % 8}${hash.slice(1, 26)}`
}

/** Kinds that live and die with a grant and its session. An interaction mentions a grant too, but is not its own. */
const ofGrant = new Set(['AuthorizationCode', 'RefreshToken'])

/**
 * A grant, a code or a refresh token is good only while the session is that it belongs to. To be revoked ($5) it is there
 * all the same while that is suspended, for it would come back with it. What speaks of a client brings along how that and
 * the issuer stand.
 */
const artifactById: Question = {
  name: 'idp-find',
  types: ['text', 'text', 'text', 'bigint', 'boolean'],
  text: `
  SELECT a.payload, a.consumed_at AS "consumedAt", g.id AS "grantId", g.payload AS "grant",
    CASE WHEN u.id IS NOT NULL THEN (SELECT to_json(account) FROM (SELECT ${accountSql('true')}) account) END AS redeemer,
    c.id AS "clientId", c.updated_at::text AS "clientVersion", i.status AS "issuerStatus"
  FROM idp_artifacts a
  JOIN issuers i ON i.id = a.issuer_id
  LEFT JOIN clients c ON c.issuer_id = a.issuer_id AND c.id = a.payload->>'clientId'
  LEFT JOIN sessions s ON s.issuer_id = a.issuer_id AND s.grant_id = a.grant_id
  LEFT JOIN idp_artifacts g ON a.kind <> 'Grant' AND g.issuer_id = a.issuer_id AND g.kind = 'Grant' AND g.id = a.grant_id
    AND (g.expires_at IS NULL OR g.expires_at > $4)
  LEFT JOIN users u ON a.kind IN ('AuthorizationCode', 'RefreshToken') AND u.issuer_id = a.issuer_id AND u.id = s.user_id
    AND u.status = 'active'
  WHERE a.issuer_id = $1 AND a.kind = $2 AND a.id = $3 AND (a.expires_at IS NULL OR a.expires_at > $4)
    AND (a.grant_id IS NULL OR ((s.status = 'active' OR $5 AND s.status = 'suspended') AND s.expires_at > $4))`,
}

/** The same of what belongs to a browser, not to a grant: most of the above would be asked for nothing. */
const artifactOfBrowser: Question = {
  name: 'idp-find-browser',
  types: ['text', 'text', 'text', 'bigint'],
  text: `
  SELECT a.payload, a.consumed_at AS "consumedAt", c.id AS "clientId", c.updated_at::text AS "clientVersion",
    i.status AS "issuerStatus"
  FROM idp_artifacts a
  JOIN issuers i ON i.id = a.issuer_id
  LEFT JOIN clients c ON c.issuer_id = a.issuer_id AND c.id = a.payload#>>'{params,client_id}'
  WHERE a.issuer_id = $1 AND a.kind = $2 AND a.id = $3 AND (a.expires_at IS NULL OR a.expires_at > $4)`,
}

const findByUidText = `
  SELECT id, payload FROM idp_artifacts
  WHERE issuer_id = $1 AND kind = $2 AND uid = $3 AND (expires_at IS NULL OR expires_at > $4)`

export interface Found {
  payload: AdapterPayload
  consumedAt: number | null
  /** Of a code or refresh token: the library asks for its grant next. */
  grantId?: string | null
  grant?: AdapterPayload | null
  /** Of the same: their user, for whom it asks after that. */
  redeemer?: AccountRow | null
  /** The registered client that it speaks of. */
  clientId: string | null
  clientVersion: string
  issuerStatus: string
}

async function read(kind: string, id: string): Promise<Found | undefined> {
  const current = scope()
  const { context, runtime } = current
  const values = [runtime.issuer.id, kind, stored(kind, id).id, context.now()]
  const [row] = await (kind === 'Grant' || ofGrant.has(kind)
    ? context.tools.ask<Found & Record<string, unknown>>(artifactById, [...values, revokingClient() !== undefined])
    : context.tools.ask<Found & Record<string, unknown>>(artifactOfBrowser, values))
  if (row && row.clientId !== null) {
    current.client = { id: row.clientId, version: row.clientVersion, issuerStatus: row.issuerStatus }
  }
  return row
}

/** What a form redeems: the kind, and the field that holds it. */
const redeemed: ReadonlyMap<string | undefined, readonly [kind: string, field: string]> = new Map([
  ['authorization_code', ['AuthorizationCode', 'code']],
  ['refresh_token', ['RefreshToken', 'refresh_token']],
])

/**
 * Begins to read what a form redeems before the library has looked at who sent it, which the answer tells of too: one
 * statement in place of two.
 */
export function foresee(form: Form): void {
  // A metadata document may take seconds to come; what it redeems is to be as it stands then.
  if (isAddress(field(form, 'client_id') ?? '')) return
  const [kind, name] = redeemed.get(field(form, 'grant_type')) ?? []
  const id = name && field(form, name)
  if (!kind || !id) return
  // Whoever waits for it hears of a failure; nobody may.
  redeemedBy(kind, id).catch(() => {})
}

/** What a request redeems, as the database has it. Read once, for the library too when it comes to look. */
export function redeemedBy(kind: string, id: string): Promise<Found | undefined> {
  const current = scope()
  if (current.foreseen?.kind !== kind || current.foreseen.id !== id) {
    current.foreseen = { kind, id, answer: read(kind, id) }
  }
  return current.foreseen.answer
}

/** The library's adapter of one kind. Reads go to the database at once, writes to the request's `Writes`. */
export function adapterFor(kind: string): Adapter {
  return {
    async upsert(id, { jti: _, ...payload }, expiresIn) {
      const { context, writes } = scope()
      // The cookie's value stands in the interaction by the library's making; nothing reads it.
      if (payload.session) delete payload.session.cookie
      writes.put(stored(kind, id), {
        uid: payload.uid ?? null,
        grant_id: kind === 'Grant' ? id : ofGrant.has(kind) ? (payload.grantId ?? null) : null,
        payload,
        expires_at: expiresIn === undefined ? null : context.now() + expiresIn * 1000,
      })
    },

    async find(id) {
      // The library asks for every kind of token by what stands for a JWT; only access tokens know it.
      if (id === JWT_STAND_IN) return undefined
      const current = scope()
      const { writes, foreseen } = current
      const artifact = stored(kind, id)
      const own = writes.peek(artifact)
      if (own !== undefined) return own === null ? undefined : { ...own, jti: id }
      const known = kind === 'Grant' ? writes.recall(artifact) : undefined
      if (known) return { ...known, jti: id }
      const row = await (foreseen?.kind === kind && foreseen.id === id ? foreseen.answer : read(kind, id))
      if (!row) return undefined
      writes.remember(artifact, row.payload)
      if (row.redeemer) current.redeemer = row.redeemer
      if (row.grantId && row.grant) writes.remember(stored('Grant', row.grantId), row.grant)
      return {
        ...row.payload,
        jti: id,
        ...(row.consumedAt === null ? {} : { consumed: Math.floor(row.consumedAt / 1000) }),
      }
    },

    async findByUid(uid) {
      const { context, runtime } = scope()
      const values = [runtime.issuer.id, kind, uid, context.now()]
      const [row] = await context.tools.query<{ payload: AdapterPayload }>('idp-find-uid', findByUidText, values)
      return row?.payload
    },

    async findByUserCode() {
      return undefined
    },

    async consume(id) {
      scope().writes.consume(stored(kind, id))
    },

    async destroy(id) {
      const { writes } = scope()
      const artifact = stored(kind, id)
      const client = kind === 'RefreshToken' ? revokingClient() : undefined
      if (client) tellRevoked(client, id, writes.recall(artifact))
      writes.destroy(artifact)
    },

    /**
     * The library found a code or refresh token that was used before, or revokes a refresh token. Everything of a grant
     * ends with its session, at once: reuse is answered even though the request itself fails. The library calls this
     * for each kind; once is enough.
     */
    async revokeByGrantId(grantId) {
      if (kind !== 'AccessToken') return
      await endFamily(grantId, revokingClient() ? 'other' : 'token_compromised')
    },
  }
}

/** The client that is revoking a token with this request, if that is what the request does. */
function revokingClient(): OpenIdClient | undefined {
  const { route, client } = Provider.ctx?.oidc ?? {}
  return route === 'revocation' ? client : undefined
}

/** A client revokes a refresh token: the trail names it, next to the session that ends with it (decisions D3). */
function tellRevoked(client: OpenIdClient, value: string, token: AdapterPayload | undefined): void {
  const { context, runtime, writes } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  const { accountId: userId = null, clientId = null, sid: sessionId = null } = token ?? {}
  const target = { type: 'token', id: refreshTokenId(value) }
  const data = { token_type: 'refresh_token', revoked_at: seconds(context.now()) }
  writes.change((inside) =>
    emit(asClient(inside, client), 'token.revoked', { accountId, issuerId, userId, clientId, sessionId, target, data }),
  )
}

/** Ends all that came from one authorization (security rule 2). */
export async function endFamily(grantId: string, reason: RevocationReason): Promise<void> {
  const { context, runtime } = scope()
  const { id: issuerId, accountId } = runtime.issuer
  // Reuse is nobody's that we know of.
  const client = revokingClient()
  const acting = client ? asClient(context, client) : context
  await endSessions(acting, { accountId, issuerId }, { grantId }, { reason, browserToo: false })
}
