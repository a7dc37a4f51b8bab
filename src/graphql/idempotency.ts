/**
 * Idempotency-Key (spec 4.1, decisions D20). A key is leased before the work and answered in the same transaction as
 * the change, so that a crash at any instruction leaves either both or neither, and the lease frees the key.
 */
import { createHmac, randomUUID } from 'node:crypto'
import { canonicalJson } from '../kernel/canonical.js'
import type { Actor } from '../kernel/context.js'
import { ApiError, conflict, invalidField } from '../kernel/errors.js'
import { DAY, MINUTE } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { transaction } from '../platform/database.js'

const LEASE = MINUTE
const LIFETIME = DAY
/** Larger answers are replayed with an empty body. */
const MAX_BODY_BYTES = 512 * 1024

/** What is kept and given again. */
export interface Answer {
  status: number
  body: string
  etag: string | null
  replayed?: boolean
  /** Of this answer alone: they are not kept. */
  headers?: Record<string, string>
}

/**
 * How an answer is kept: as it is; encrypted, because it holds a secret that a repetition is to have again; or not at
 * all (spec 4.1 rule 7).
 */
export type Keeping = 'plain' | 'encrypted' | 'never'

/** What a request says of itself in the table of keys. */
export interface KeyUse {
  accountId: string
  key: string
  /** Of what makes two requests the same; see fingerprintsOf. */
  fingerprints: readonly string[]
}

export interface IdempotentCall extends KeyUse {
  /** Of a request that is never kept the key is refused all the same if it was used for another one. */
  keeping: Keeping
  /**
   * The work commits in transactions of its own, because what it does outside cannot be undone with one. Such work
   * must know its own repetitions: a crash may come between it and the keeping of its answer.
   */
  commitsItself: boolean
}

/**
 * @param field what the caller knows the key by: an argument, or a header
 * @throws invalid_request unless 1 to 256 characters
 */
export function checkKey(field: 'idempotencyKey' | 'Idempotency-Key', key: string): string {
  if (key.length < 1) throw invalidField(field, 'too_small', 'must have 1 to 256 characters.')
  if (key.length > 256) throw invalidField(field, 'too_big', 'must have 1 to 256 characters.')
  return key
}

/**
 * The fingerprint of a request: its parts joined by line feeds, by HMAC-SHA256. Bodies hold passwords, so what the
 * database keeps of them is worth nothing without a key from outside. The first entry is kept; the others are what
 * older keys of this deployment make of the same request, so that one from before a rotation is still known again.
 */
export const fingerprintsOf = ({ sealer }: Context, ...parts: string[]): string[] =>
  sealer.deriveEach('idempotency').map((key) => createHmac('sha256', key).update(parts.join('\n')).digest('hex'))

/**
 * What a caller may do, as a part of a fingerprint: an answer is then replayed to callers with the same authority only.
 * @param actor as `authorize` answered it
 */
export const authorityPart = ({ scopes, issuerId, orgId, issuerIds, orgIds, operator }: Actor): string =>
  canonicalJson([[...scopes].sort(), issuerId, orgId, issuerIds, orgIds, operator])

/**
 * Runs `work` once for a key. The first call runs it, with its answer kept if it succeeds; later ones get that answer.
 * `work` throws to fail, which frees the key; so it is `work` that checks the input, after the key.
 * @throws conflict with Retry-After while the first call runs, 422 when the key was used for another request
 */
export async function idempotent(
  context: Context,
  call: IdempotentCall,
  work: (context: Context) => Promise<Answer>,
): Promise<Answer> {
  if (call.keeping === 'never') {
    await refuseReuse(context, call)
    return work(context)
  }
  const leaseId = randomUUID()
  const kept = await lease(context, call, leaseId)
  if (kept) return kept
  try {
    if (call.commitsItself) {
      const answer = await work(context)
      await keep(context, call, leaseId, answer).catch((failure) =>
        context.log.warn({ err: failure }, 'an answer could not be kept for its Idempotency-Key'),
      )
      return answer
    }
    return await transaction(context, async (inside) => {
      const answer = await work(inside)
      await keep(inside, call, leaseId, answer)
      return answer
    })
  } catch (error) {
    await context.tools
      .query(
        'idempotency-free',
        'DELETE FROM idempotent_requests WHERE account_id = $1 AND key = $2 AND lease_id = $3 AND status IS NULL',
        [call.accountId, call.key, leaseId],
      )
      .catch((failure) => context.log.warn({ err: failure }, 'an idempotency key stays leased until its time is over'))
    throw error
  }
}

const leaseText = `
  INSERT INTO idempotent_requests AS kept (account_id, key, fingerprint, lease_id, lease_until, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6)
  ON CONFLICT (account_id, key) DO UPDATE SET fingerprint = $3, lease_id = $4, lease_until = $5, expires_at = $6,
    status = NULL, etag = NULL, body = NULL, sealed = NULL
  WHERE kept.expires_at <= $7 OR (kept.status IS NULL AND kept.lease_until <= $7)
  RETURNING key`

interface Row extends Record<string, unknown> {
  fingerprint: string
  status: number | null
  body: string
  sealed: string | null
  etag: string | null
}

const readText = `
  SELECT fingerprint, status, body, sealed, etag FROM idempotent_requests
  WHERE account_id = $1 AND key = $2 AND expires_at > $3 AND (status IS NOT NULL OR lease_until > $3)`

/**
 * What is known of a key in use.
 * @throws 422 when it was used for another request
 */
export async function refuseReuse(
  context: Context,
  { accountId, key, fingerprints }: KeyUse,
): Promise<Row | undefined> {
  const [row] = await context.tools.query<Row>('idempotency-read', readText, [accountId, key, context.now()])
  if (row && !fingerprints.includes(row.fingerprint)) {
    throw new ApiError('invalid_request', 'This Idempotency-Key was used for a different request.', { status: 422 })
  }
  return row
}

/** Takes the lease, or answers what was kept. */
async function lease(context: Context, call: IdempotentCall, leaseId: string): Promise<Answer | undefined> {
  const now = context.now()
  const { accountId, key, fingerprints } = call
  const values = [accountId, key, fingerprints[0], leaseId, now + LEASE, now + LIFETIME, now]
  const [taken] = await context.tools.query('idempotency-lease', leaseText, values)
  if (taken) return undefined
  const row = await refuseReuse(context, call)
  if (row?.status) {
    const body = row.sealed === null ? row.body : context.sealer.open(row.sealed)
    return { status: row.status, body, etag: row.etag, replayed: true }
  }
  throw new ApiError('conflict', 'The first request with this Idempotency-Key is still in progress.', {
    headers: { 'Retry-After': '5' },
  })
}

/** Keeps the answer if the lease is still ours; if not, the change must not stand either. */
async function keep(
  context: Context,
  { accountId, key, keeping }: IdempotentCall,
  leaseId: string,
  answer: Answer,
): Promise<void> {
  const body = Buffer.byteLength(answer.body) > MAX_BODY_BYTES ? '' : answer.body
  const { count } = await context.db.idempotentRequest.updateMany({
    where: { accountId, key, leaseId, status: null },
    data: {
      status: answer.status,
      etag: answer.etag,
      ...(keeping === 'encrypted' ? { body: '', sealed: context.sealer.seal(body) } : { body }),
      leaseUntil: null,
    },
  })
  if (count !== 1) throw conflict('This request took too long and its Idempotency-Key was taken over by a repetition.')
}
