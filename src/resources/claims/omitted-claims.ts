/** Events about custom claims that were too large for a token (docs/contract.md#custom-claims). */
import { LRUCache } from 'lru-cache'
import { limits } from '../../kernel/limits.js'
import { MINUTE } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sha256 } from '../../platform/crypto/secrets.js'
import type { DatabaseHandle } from '../../platform/postgres/database.js'
import { isFirstInMinute } from '../clients/denials.js'
import { recordEvent } from '../events/record-event.js'
import type { OmittedClaim } from './custom-claims.js'

/** The token or userinfo response that lacks the claim. */
export interface OmissionSubject {
  readonly accountId: string
  readonly issuerId: string
  readonly clientId: string
  readonly userId: string
  readonly sessionId: string | null
}

/** When this process last recorded an omission, by client and claim, so that most omissions cost no statement. */
const recordedByDatabase = new WeakMap<DatabaseHandle, LRUCache<string, number>>()

/**
 * Returns whether this process has not recorded the omission in the last minute, and remembers it. `recordOmittedClaim`
 * then decides for all processes.
 */
export function isOmissionDue(context: Context, { clientId }: OmissionSubject, { name }: OmittedClaim): boolean {
  let recorded = recordedByDatabase.get(context.database)
  if (!recorded) {
    recorded = new LRUCache<string, number>({ max: limits.maxRememberedOmittedClaims })
    recordedByDatabase.set(context.database, recorded)
  }
  const key = `${clientId} ${name}`
  const now = context.now()
  if (now - (recorded.get(key) ?? -MINUTE) < MINUTE) return false
  recorded.set(key, now)
  return true
}

/** Records in the current transaction that a claim was too large, at most once per client, claim and minute. */
export async function recordOmittedClaim(
  tx: Context,
  { clientId, ...subject }: OmissionSubject,
  { name, place }: OmittedClaim,
): Promise<void> {
  if (!(await isFirstInMinute(tx, `omitted:${sha256(`${clientId} ${name}`)}`))) return
  const target = { type: 'client', id: clientId }
  await recordEvent(tx, 'token.claim_omitted', { ...subject, clientId, target, data: { claim: name, place } })
}
