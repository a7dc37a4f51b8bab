/**
 * Dummy hashes that give all refusals of an issuer with imported passwords the same time
 * (docs/contract.md#equal-answers-and-lockout). An imported hash may cost ten times as much as a current one, or almost
 * nothing, so the response time would show which users have one. So each refusal verifies one current and one imported
 * hash; if the user does not have one of them, a dummy hash is used, whose result is ignored.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { hashCost } from '../../platform/crypto/password-hashes.js'
import { isCurrentHash, sha256, verifyPassword } from '../../platform/crypto/secrets.js'
import type { InIssuer } from '../resource-path.js'

/** Must repeat the condition of the index verifiers_foreign_hash literally. */
const importedHashesText = `
  SELECT hash FROM verifiers
  WHERE issuer_id = $1 AND hash IS NOT NULL AND hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%' LIMIT 100`

const cache = new Map<string, { at: number; dummyHashes: Promise<string[]> }>()

/**
 * Verifies the hashes that a refusal still lacks: one current hash, and one imported hash if the issuer has any.
 * @param checkedHashes hashes that have been verified; if empty, a current dummy hash has been verified
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
  // The same username always gets the same dummy hash, as if the hash belonged to that user.
  const dummyIndex = Number.parseInt(sha256(`${issuerId} ${usernameKey}`).slice(0, 8), 16) % (dummyHashes.length || 1)
  const dummyHash = dummyHashes[dummyIndex]
  if (dummyHash !== undefined) await verifyPassword(dummyHash, password)
}

/** Returns one hash for each cost that imported passwords of this issuer have. */
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
