/**
 * Dummy hashes, so that refusals of a password take about the same time (docs/contract.md#equal-answers-and-lockout).
 * Verifying an imported hash can take ten times as long as verifying an Argon2id hash with the current parameters, or
 * almost no time, so the response time would show which users have an imported hash. Therefore each refusal verifies
 * one current hash and, if the issuer has imported hashes, one imported hash. A dummy hash replaces a hash that the
 * user does not have. The result of its verification is ignored.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { hashCost } from '../../platform/crypto/password-hashes.js'
import { isCurrentHash, sha256, verifyPassword } from '../../platform/crypto/secrets.js'
import type { InIssuer } from '../resource-path.js'

/** Repeats the WHERE of the partial index verifiers_foreign_hash, so that PostgreSQL can use the index. */
const importedHashesText = `
  SELECT hash FROM verifiers
  WHERE issuer_id = $1 AND hash IS NOT NULL AND hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%' LIMIT 100`

const cache = new Map<string, { at: number; dummyHashes: Promise<string[]> }>()

/**
 * Verifies dummy hashes until a refusal has verified one current hash and, if the issuer has any, one imported hash.
 * @param usernameKey the normalized username
 * @param checkedHashes the hashes of the user that the caller has verified. If the user has none, pass an empty array
 *   after verifying a current dummy hash with `verifyPassword(null, password)`.
 */
export async function verifyDummyHash(
  context: Context,
  { issuerId }: InIssuer,
  usernameKey: string,
  checkedHashes: readonly string[],
  password: string,
): Promise<void> {
  if (checkedHashes.some((hash) => !isCurrentHash(hash))) {
    if (!checkedHashes.some(isCurrentHash)) await verifyPassword(null, password)
    return
  }
  const dummyHashes = await dummyHashesOf(context, issuerId)
  // The index is the same for all attempts with a username while the list is the same, so that they take equal time.
  const dummyIndex = Number.parseInt(sha256(`${issuerId} ${usernameKey}`).slice(0, 8), 16) % (dummyHashes.length || 1)
  const dummyHash = dummyHashes[dummyIndex]
  if (dummyHash !== undefined) await verifyPassword(dummyHash, password)
}

/** Returns one imported hash of this issuer for each cost (`hashCost`) among up to 100 imported hashes. */
function dummyHashesOf(context: Context, issuerId: string): Promise<string[]> {
  const now = context.now()
  const entry = cache.get(issuerId)
  if (entry && now - entry.at < limits.dummyHashCacheLifetime) return entry.dummyHashes
  const dummyHashes = context.database
    .query<{ hash: string }>('imported-password-hashes', importedHashesText, [issuerId])
    .then((rows) => [...new Map(rows.map(({ hash }) => [hashCost(hash), hash])).values()])
  cache.delete(issuerId)
  cache.set(issuerId, { at: now, dummyHashes })
  dummyHashes.catch(() => cache.delete(issuerId))
  if (cache.size > limits.maxCachedDummyHashIssuers) cache.delete(cache.keys().next().value!)
  return dummyHashes
}
