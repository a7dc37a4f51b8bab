/**
 * The adapter of oidc-provider: stores codes, refresh tokens, grants, browser sessions and interactions in the table
 * `idp_artifacts`, by issuer.
 */
import Provider, { type Adapter, type AdapterPayload } from 'oidc-provider'
import { limits } from '../../kernel/limits.js'
import { toUnixSeconds } from '../../kernel/time.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { recordEvent } from '../../resources/events/record-event.js'
import type { RevocationReason } from '../../resources/sessions/session.js'
import { endSessions } from '../../resources/sessions/sessions.js'
import { accountColumnsSql } from '../account/account-row.js'
import { withClientActor } from '../client/client.js'
import { isClientIdUrl } from '../client/metadata-documents/client-id-url.js'
import { JWT_PLACEHOLDER } from '../endpoints/live-token.js'
import type { OpenIdClient } from '../provider-types.js'
import { type RequestContext, requestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'
import type { ArtifactRow } from './artifact-row.js'
import type { Artifact } from './unit-of-work.js'

/**
 * Returns whether the ids of a kind are bearer secrets (codes, refresh tokens, cookies), of which only hashes are
 * stored. A grant id is not a secret, because no endpoint accepts a grant id.
 */
const isSecret = (kind: string): boolean => kind !== 'Grant'

const artifactKey = (kind: string, id: string): Artifact => ({ kind, id: isSecret(kind) ? sha256(id) : id })

/** Returns the public id of a refresh token, which identifies the token without revealing it. */
export function refreshTokenId(value: string): string {
  const hash = sha256(`refresh token ${value}`)
  // The format of all ids: 26 characters after the prefix, beginning with a digit from 0 to 7.
  return `tok_${Number.parseInt(hash[0]!, 16) % 8}${hash.slice(1, 26)}`
}

/**
 * Kinds that belong to a grant and end with its session. An interaction references a grant too, but does not belong to
 * it.
 */
const grantBoundKinds = new Set(['AuthorizationCode', 'RefreshToken'])

/**
 * Returns how many seconds longer an artifact is stored than it is valid. A pushed authorization request is stored until
 * the sign-in ends, so that it is consumed then even if its `request_uri` has expired.
 */
const extraLifetime = (kind: string): number =>
  kind === 'PushedAuthorizationRequest' ? limits.interactionLifetimeSeconds : 0

/**
 * Reads a grant, code or refresh token, which is valid only while its session is active or inactive. For revocation
 * ($5), the query also finds artifacts of a suspended session, because they would become valid again with the session.
 * It also returns the grant and the active user of a code or refresh token, the version of the client and the status of
 * the issuer (`CheckedClient`).
 */
const grantArtifactQuery: BatchQuery = {
  name: 'idp-find',
  types: ['text', 'text', 'text', 'bigint', 'boolean'],
  text: `
  SELECT a.payload, a.consumed_at AS "consumedAt", g.id AS "grantId", g.payload AS "grant",
    CASE WHEN u.id IS NOT NULL THEN (SELECT to_json(account) FROM (SELECT ${accountColumnsSql('true')}) account) END AS "tokenUser",
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

/** Reads a browser session or an interaction, which need no joins with grants and sessions. */
const browserArtifactQuery: BatchQuery = {
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

async function readArtifact(request: RequestContext, kind: string, id: string): Promise<ArtifactRow | undefined> {
  const { context, runtime } = request
  // At the authorization endpoint, a pushed request must still be valid.
  const extraSeconds = Provider.ctx?.oidc.route === 'authorization' ? extraLifetime(kind) : 0
  const validAt = context.now() + extraSeconds * 1000
  const values = [runtime.issuer.id, kind, artifactKey(kind, id).id, validAt]
  const [row] = await (kind === 'Grant' || grantBoundKinds.has(kind)
    ? context.database.queryCoalesced<ArtifactRow & Record<string, unknown>>(grantArtifactQuery, [
        ...values,
        clientRevokingToken() !== undefined,
      ])
    : context.database.queryCoalesced<ArtifactRow & Record<string, unknown>>(browserArtifactQuery, values))
  if (row && row.clientId !== null) {
    request.checkedClient = { id: row.clientId, version: row.clientVersion, issuerStatus: row.issuerStatus }
  }
  return row
}

/** The kind and the form field of the artifact that each grant type redeems. */
const redeemableArtifacts: ReadonlyMap<string | undefined, readonly [kind: string, field: string]> = new Map([
  ['authorization_code', ['AuthorizationCode', 'code']],
  ['refresh_token', ['RefreshToken', 'refresh_token']],
])

/**
 * Starts the query for the redeemed artifact before oidc-provider reads the client. The query also returns the version
 * of the client, so that `readClient` needs no query for a cached client.
 */
export function prefetchRedeemedArtifact(request: RequestContext, form: Form): void {
  // The metadata document of the client may have to be fetched, which can take seconds. The artifact must be read after
  // that, because it may be consumed or revoked during the fetch.
  if (isClientIdUrl(formField(form, 'client_id') ?? '')) return
  const [kind, name] = redeemableArtifacts.get(formField(form, 'grant_type')) ?? []
  const id = name && formField(form, name)
  if (!kind || !id) return
  // A failure is handled where the result is awaited. If the result is never awaited, the failure is ignored.
  loadRedeemedArtifact(request, kind, id).catch(() => {})
}

/**
 * Returns the redeemed artifact from the database. All calls of a request, and oidc-provider's own lookup, share one
 * query.
 */
export function loadRedeemedArtifact(
  request: RequestContext,
  kind: string,
  id: string,
): Promise<ArtifactRow | undefined> {
  if (request.prefetched?.kind !== kind || request.prefetched.id !== id) {
    request.prefetched = { kind, id, result: readArtifact(request, kind, id) }
  }
  return request.prefetched.result
}

/**
 * Creates oidc-provider's adapter for one kind of artifact. Reads query the database immediately. Writes are collected
 * in the UnitOfWork of the request.
 */
export function createAdapter(kind: string): Adapter {
  return {
    async upsert(id, { jti: _, ...payload }, expiresIn) {
      const { context, unitOfWork } = requestContext()
      // oidc-provider puts the value of the session cookie into the interaction. The value is a secret that is not
      // needed, so it is not stored.
      if (payload.session) delete payload.session.cookie
      unitOfWork.save(artifactKey(kind, id), {
        uid: payload.uid ?? null,
        grant_id: kind === 'Grant' ? id : grantBoundKinds.has(kind) ? (payload.grantId ?? null) : null,
        payload,
        expires_at: expiresIn === undefined ? null : context.now() + (expiresIn + extraLifetime(kind)) * 1000,
      })
    },

    async find(id) {
      // oidc-provider looks up the placeholder of a JWT as every kind of token. Only `AccessToken.find`, which does not
      // use the adapter, finds it.
      if (id === JWT_PLACEHOLDER) return undefined
      const request = requestContext()
      const { unitOfWork, prefetched } = request
      const artifact = artifactKey(kind, id)
      const pendingPayload = unitOfWork.pendingPayload(artifact)
      if (pendingPayload !== undefined) return pendingPayload === null ? undefined : { ...pendingPayload, jti: id }
      const loadedPayload = kind === 'Grant' ? unitOfWork.loadedPayload(artifact) : undefined
      if (loadedPayload) return { ...loadedPayload, jti: id }
      const row = await (prefetched?.kind === kind && prefetched.id === id
        ? prefetched.result
        : readArtifact(request, kind, id))
      if (!row) return undefined
      unitOfWork.recordLoaded(artifact, row.payload)
      if (row.tokenUser) request.tokenUser = row.tokenUser
      if (row.grantId && row.grant) unitOfWork.recordLoaded(artifactKey('Grant', row.grantId), row.grant)
      return {
        ...row.payload,
        jti: id,
        ...(row.consumedAt === null ? {} : { consumed: Math.floor(row.consumedAt / 1000) }),
      }
    },

    async findByUid(uid) {
      const { context, runtime } = requestContext()
      const values = [runtime.issuer.id, kind, uid, context.now()]
      const [row] = await context.database.query<{ payload: AdapterPayload }>('idp-find-uid', findByUidText, values)
      return row?.payload
    },

    async findByUserCode() {
      return undefined
    },

    async consume(id) {
      requestContext().unitOfWork.consume(artifactKey(kind, id))
    },

    async destroy(id) {
      const request = requestContext()
      const { unitOfWork } = request
      const artifact = artifactKey(kind, id)
      const client = kind === 'RefreshToken' ? clientRevokingToken() : undefined
      if (client) recordRefreshTokenRevoked(request, client, id, unitOfWork.loadedPayload(artifact))
      unitOfWork.delete(artifact)
    },

    /**
     * Called when oidc-provider detects reuse of a code or refresh token, or revokes a refresh token. Ends the session
     * of the grant, and with it all tokens of the grant, immediately: after a reuse, the request fails and its unit of
     * work is discarded. oidc-provider calls this method once for each kind of token, but one call is enough.
     */
    async revokeByGrantId(grantId) {
      if (kind !== 'AccessToken') return
      await revokeTokenFamily(requestContext(), grantId, clientRevokingToken() ? 'other' : 'token_compromised')
    },
  }
}

/** Returns the client of a revocation request; undefined for other requests. */
function clientRevokingToken(): OpenIdClient | undefined {
  const { route, client } = Provider.ctx?.oidc ?? {}
  return route === 'revocation' ? client : undefined
}

/**
 * Records that a client revoked a refresh token (docs/contract.md#event-records). The session of the token ends too,
 * which is another event.
 */
function recordRefreshTokenRevoked(
  request: RequestContext,
  client: OpenIdClient,
  value: string,
  token: AdapterPayload | undefined,
): void {
  const { context, runtime, unitOfWork } = request
  const { id: issuerId, accountId } = runtime.issuer
  const { accountId: userId = null, clientId = null, sid: sessionId = null } = token ?? {}
  const target = { type: 'token', id: refreshTokenId(value) }
  const data = { token_type: 'refresh_token', revoked_at: toUnixSeconds(context.now()) }
  unitOfWork.addChange((tx) =>
    recordEvent(withClientActor(request, tx, client), 'token.revoked', {
      accountId,
      issuerId,
      userId,
      clientId,
      sessionId,
      target,
      data,
    }),
  )
}

/**
 * Revokes all tokens of one authorization by ending its session (docs/contract.md#reuse-of-codes-and-refresh-tokens).
 */
export async function revokeTokenFamily(
  request: RequestContext,
  grantId: string,
  reason: RevocationReason,
): Promise<void> {
  const { context, runtime } = request
  const { id: issuerId, accountId } = runtime.issuer
  // If a client revokes its token, the client is the actor. If reuse was detected, the actor is unknown.
  const client = clientRevokingToken()
  const actorContext = client ? withClientActor(request, context, client) : context
  await endSessions(actorContext, { accountId, issuerId }, { grantId }, { reason, endBrowserSession: false })
}
