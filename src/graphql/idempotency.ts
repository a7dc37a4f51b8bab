/**
 * Idempotency-Key (docs/contract.md#idempotency-key). A request takes a lease of its key (platform/jobs/lease.ts)
 * before the work, and stores the response in the transaction of the change. After a crash, either the change and the
 * response are stored or neither of them, except for work that commits its own transactions (`commitsItself`). If the
 * response is not stored, the key can be used again when the lease expires. Some responses are never stored
 * (`ResponseStorage` in src/resources/graphql-types.ts).
 */
import { createHmac } from 'node:crypto'
import { canonicalJson } from '../kernel/canonical-json.js'
import type { Actor } from '../kernel/context.js'
import { ApiError, conflict, invalidField } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Context } from '../platform/context.js'
import { leaseSql, newLeaseOwner } from '../platform/jobs/lease.js'
import { transaction } from '../platform/postgres/transaction.js'
import type { ResponseStorage } from '../resources/graphql-types.js'

/** A response that can be stored and replayed. */
export interface StoredResponse {
  status: number
  body: string
  etag: string | null
  replayed?: boolean
  /** Headers that only the first response has, because they are not stored. */
  headers?: Record<string, string>
}

/** The key and the fingerprints of a request. */
export interface IdempotencyKeyUse {
  accountId: string
  key: string
  /** From `fingerprintsOf`. Two requests that have a fingerprint in common count as the same request. */
  fingerprints: readonly string[]
}

export interface IdempotentCall extends IdempotencyKeyUse {
  /** Even with `never`, a key is rejected if it was used for another request. */
  responseStorage: ResponseStorage
  /**
   * True if the work commits its own transactions, because its external effects cannot be rolled back. Such work must
   * detect repetitions itself, because a crash can occur between its commit and the storage of the response.
   */
  commitsItself: boolean
}

/**
 * Checks the length of a key and returns the key.
 * @param field the GraphQL argument or the header that contains the key, for the error
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
 * Returns the fingerprints of a request: for each key in SECRET_KEY, the HMAC-SHA256 of the parts, joined by line
 * feeds. A plain hash would not protect passwords in the body. The first fingerprint is stored; the others match
 * requests that were stored before a rotation of SECRET_KEY.
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
 * Runs `work` once per key and stores its response if it succeeds; later calls return the stored response. With the
 * storage `never`, each call runs `work`. If `work` throws, the key is released. `work` must validate the input,
 * because the key is checked before the input.
 * @throws conflict with Retry-After while the first call is running; conflict if `work` took longer than the lease and
 *   another call has taken over the key; invalid_request with status 422 if the key was
 *   used for another request
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
  const leaseOwner = newLeaseOwner()
  const storedResponse = await acquireLease(context, call, leaseOwner)
  if (storedResponse) return storedResponse
  try {
    if (call.commitsItself) {
      const response = await work(context)
      await storeResponse(context, call, leaseOwner, response).catch((failure) =>
        context.log.warn({ err: failure }, 'storing a response for its Idempotency-Key failed'),
      )
      return response
    }
    return await transaction(context, async (tx) => {
      const response = await work(tx)
      await storeResponse(tx, call, leaseOwner, response)
      return response
    })
  } catch (error) {
    await context.database
      .query('idempotency-release', releaseText, [call.accountId, call.key, leaseOwner])
      .catch((failure) =>
        context.log.warn(
          { err: failure },
          'releasing an Idempotency-Key failed; it stays leased until the lease expires',
        ),
      )
    throw error
  }
}

/** The lease of an Idempotency-Key. The column `status` is null until the response is stored. */
const keyLease = leaseSql({ owner: 'lease_id', duration: limits.idempotencyLeaseDuration, alias: 'request' })

const leaseText = `
  INSERT INTO idempotent_requests AS request (account_id, key, fingerprint, lease_id, lease_expires_at, expires_at)
  VALUES ($1, $2, $3, $4, ${keyLease.end('$6')}, $5)
  ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = $3, ${keyLease.take('$4', '$6')}, expires_at = $5,
    status = NULL, etag = NULL, body = NULL, encrypted_response = NULL
  WHERE request.expires_at <= $6::bigint OR (request.status IS NULL AND ${keyLease.isFree('$6')})
  RETURNING key`
const storeText = `
  UPDATE idempotent_requests AS request
  SET status = $4::int, etag = $5, body = $6, encrypted_response = $7, lease_expires_at = NULL
  WHERE account_id = $1 AND key = $2 AND status IS NULL AND ${keyLease.isMine('$3')} RETURNING key`
const releaseText = `
  DELETE FROM idempotent_requests AS request
  WHERE account_id = $1 AND key = $2 AND status IS NULL AND ${keyLease.isMine('$3')}`

interface IdempotentRequestRow extends Record<string, unknown> {
  fingerprint: string
  status: number | null
  body: string
  encryptedResponse: string | null
  etag: string | null
}

const readText = `
  SELECT fingerprint, status, body, encrypted_response AS "encryptedResponse", etag FROM idempotent_requests AS request
  WHERE account_id = $1 AND key = $2 AND expires_at > $3::bigint AND (status IS NOT NULL OR ${keyLease.isTaken('$3')})`

/**
 * Returns the row of a key; undefined if the key has neither a stored response nor a valid lease.
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
  leaseOwner: string,
): Promise<StoredResponse | undefined> {
  const now = context.now()
  const { accountId, key, fingerprints } = call
  const values = [accountId, key, fingerprints[0], leaseOwner, now + limits.idempotencyKeyLifetime, now]
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

/**
 * Stores the response.
 * @throws conflict if another request has taken over the lease; in a transaction, this also rolls back the change
 */
async function storeResponse(
  context: Context,
  { accountId, key, responseStorage }: IdempotentCall,
  leaseOwner: string,
  { status, etag, body }: StoredResponse,
): Promise<void> {
  const stored = Buffer.byteLength(body) > limits.maxReplayedBodyBytes ? '' : body
  const bodies = responseStorage === 'encrypted' ? ['', context.encryptor.encrypt(stored)] : [stored, null]
  const values = [accountId, key, leaseOwner, status, etag, ...bodies]
  const rows = await context.query('idempotency-store', storeText, values)
  if (rows.length === 0)
    throw conflict('This request took too long, and a repeated request has taken over its Idempotency-Key.')
}
