/**
 * Idempotency-Key (docs/contract.md#idempotency-key). A request leases its key before the work, and stores the response
 * in the same transaction as the change. After a crash either both are stored or neither, and the key is free when the
 * lease expires.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { canonicalJson } from '../kernel/canonical-json.js'
import type { Actor } from '../kernel/context.js'
import { ApiError, conflict, invalidField } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Context } from '../platform/context.js'
import { transaction } from '../platform/postgres/transaction.js'

/** A response that can be stored and replayed. */
export interface StoredResponse {
  status: number
  body: string
  etag: string | null
  replayed?: boolean
  /** Headers of the first response only; they are not stored. */
  headers?: Record<string, string>
}

/**
 * How a response is stored: as plain text; encrypted, because it contains a secret and must be replayed; or never
 * (docs/contract.md#idempotency-key).
 */
export type ResponseStorage = 'plain' | 'encrypted' | 'never'

/** The key and the fingerprints of a request. */
export interface IdempotencyKeyUse {
  accountId: string
  key: string
  /** Two requests with a common fingerprint are the same; see `fingerprintsOf`. */
  fingerprints: readonly string[]
}

export interface IdempotentCall extends IdempotencyKeyUse {
  /** With 'never', the key is still rejected if it was used for another request. */
  responseStorage: ResponseStorage
  /**
   * The work uses its own transactions because its external effects cannot be rolled back. It must detect repetitions
   * itself: a crash can occur before its response is stored.
   */
  commitsItself: boolean
}

/**
 * @param field the name of the key for the caller: a GraphQL argument or a header
 * @throws invalid_request unless the key has 1 to 256 characters
 */
export function checkIdempotencyKey(field: 'idempotencyKey' | 'Idempotency-Key', key: string): string {
  if (key.length < 1)
    throw invalidField(field, 'too_small', `must have 1 to ${limits.maxIdempotencyKeyLength} characters.`)
  if (key.length > limits.maxIdempotencyKeyLength)
    throw invalidField(field, 'too_big', `must have 1 to ${limits.maxIdempotencyKeyLength} characters.`)
  return key
}

/**
 * Returns the fingerprints of a request: the HMAC-SHA256 of its parts, joined by line feeds, with each key of the
 * deployment. An HMAC is used because bodies contain passwords. The first fingerprint is stored; the others match
 * requests that were stored before a key rotation.
 */
export const fingerprintsOf = ({ encryptor }: Context, ...parts: string[]): string[] =>
  encryptor.deriveKeys('idempotency').map((key) => createHmac('sha256', key).update(parts.join('\n')).digest('hex'))

/**
 * Returns the caller's permissions as a part of a fingerprint, so that a response is replayed only to callers with the
 * same permissions.
 * @param actor the actor that `authorize` returned
 */
export const authorityFingerprint = ({ scopes, issuerId, orgId, issuerIds, orgIds, operator }: Actor): string =>
  canonicalJson([[...scopes].sort(), issuerId, orgId, issuerIds, orgIds, operator])

/**
 * Runs `work` once per key and stores its response if it succeeds; later calls return that response. If `work` throws,
 * the key is released. `work` must validate the input, because the key is checked first.
 * @throws conflict with Retry-After while the first call is running, 422 when the key was used for another request
 */
export async function runIdempotently(
  context: Context,
  call: IdempotentCall,
  work: (context: Context) => Promise<StoredResponse>,
): Promise<StoredResponse> {
  if (call.responseStorage === 'never') {
    await requireSameRequest(context, call)
    return work(context)
  }
  const leaseId = randomUUID()
  const storedResponse = await acquireLease(context, call, leaseId)
  if (storedResponse) return storedResponse
  try {
    if (call.commitsItself) {
      const response = await work(context)
      await storeResponse(context, call, leaseId, response).catch((failure) =>
        context.log.warn({ err: failure }, 'storing a response for its Idempotency-Key failed'),
      )
      return response
    }
    return await transaction(context, async (tx) => {
      const response = await work(tx)
      await storeResponse(tx, call, leaseId, response)
      return response
    })
  } catch (error) {
    await context.database
      .query(
        'idempotency-free',
        'DELETE FROM idempotent_requests WHERE account_id = $1 AND key = $2 AND lease_id = $3 AND status IS NULL',
        [call.accountId, call.key, leaseId],
      )
      .catch((failure) =>
        context.log.warn(
          { err: failure },
          'releasing an Idempotency-Key failed; it stays leased until the lease expires',
        ),
      )
    throw error
  }
}

const leaseText = `
  INSERT INTO idempotent_requests AS existing (account_id, key, fingerprint, lease_id, lease_expires_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = $3, lease_id = $4, lease_expires_at = $5, expires_at = $6,
    status = NULL, etag = NULL, body = NULL, encrypted_response = NULL
  WHERE existing.expires_at <= $7 OR (existing.status IS NULL AND existing.lease_expires_at <= $7)
  RETURNING key`

interface IdempotentRequestRow extends Record<string, unknown> {
  fingerprint: string
  status: number | null
  body: string
  encryptedResponse: string | null
  etag: string | null
}

const readText = `
  SELECT fingerprint, status, body, encrypted_response AS "encryptedResponse", etag FROM idempotent_requests
  WHERE account_id = $1 AND key = $2 AND expires_at > $3 AND (status IS NOT NULL OR lease_expires_at > $3)`

/**
 * Returns the row of a key, or undefined for an unused key.
 * @throws invalid_request with status 422 when the key was used for another request
 */
export async function requireSameRequest(
  context: Context,
  { accountId, key, fingerprints }: IdempotencyKeyUse,
): Promise<IdempotentRequestRow | undefined> {
  const [row] = await context.database.query<IdempotentRequestRow>('idempotency-read', readText, [
    accountId,
    key,
    context.now(),
  ])
  if (row && !fingerprints.includes(row.fingerprint)) {
    throw new ApiError('invalid_request', 'This Idempotency-Key was used for a different request. Use a new key.', {
      status: 422,
    })
  }
  return row
}

/** Acquires the lease of the key, or returns the stored response. */
async function acquireLease(
  context: Context,
  call: IdempotentCall,
  leaseId: string,
): Promise<StoredResponse | undefined> {
  const now = context.now()
  const { accountId, key, fingerprints } = call
  const values = [
    accountId,
    key,
    fingerprints[0],
    leaseId,
    now + limits.idempotencyLeaseDuration,
    now + limits.idempotencyKeyLifetime,
    now,
  ]
  const [acquired] = await context.database.query('idempotency-lease', leaseText, values)
  if (acquired) return undefined
  const row = await requireSameRequest(context, call)
  if (row?.status) {
    const body = row.encryptedResponse === null ? row.body : context.encryptor.decrypt(row.encryptedResponse)
    return { status: row.status, body, etag: row.etag, replayed: true }
  }
  throw new ApiError('conflict', 'The first request with this Idempotency-Key is still in progress.', {
    headers: { 'Retry-After': '5' },
  })
}

/** Stores the response. @throws conflict when the lease was lost, which also rolls back the change */
async function storeResponse(
  context: Context,
  { accountId, key, responseStorage }: IdempotentCall,
  leaseId: string,
  response: StoredResponse,
): Promise<void> {
  const body = Buffer.byteLength(response.body) > limits.maxReplayedBodyBytes ? '' : response.body
  const { count } = await context.db.idempotentRequest.updateMany({
    where: { accountId, key, leaseId, status: null },
    data: {
      status: response.status,
      etag: response.etag,
      ...(responseStorage === 'encrypted'
        ? { body: '', encryptedResponse: context.encryptor.encrypt(body) }
        : { body }),
      leaseExpiresAt: null,
    },
  })
  if (count !== 1)
    throw conflict('This request took too long, and a repeated request has taken over its Idempotency-Key.')
}
