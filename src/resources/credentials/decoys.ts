/**
 * Refusals that take the same time in an issuer with imported passwords (security rule 21). A hash of another product
 * may take ten times as long as ours, or no time at all, which would tell who has one. So each refusal there checks one
 * hash of ours and one of theirs; where the user does not have one of them, a decoy stands in, whose result is nobody's.
 */
import type { Context } from '../../platform/context.js'
import { costOf } from '../../platform/password-hashes.js'
import { isOurHash, sha256, verifyPassword } from '../../platform/secrets.js'
import type { InIssuer } from '../place.js'

/** How long it is believed which kinds an issuer has (milliseconds), and of how many issuers. */
const BELIEVED = 60_000
const MOST_ISSUERS = 1000

/** The index verifiers_foreign_hash has its condition in these words. */
const foreignText = `
  SELECT hash FROM verifiers
  WHERE issuer_id = $1 AND hash IS NOT NULL AND hash NOT LIKE '$argon2id$v=19$m=19456,t=2,p=1$%' LIMIT 100`

const known = new Map<string, { at: number; decoys: Promise<string[]> }>()

/**
 * Does what was not done yet of the two: a hash of ours and one of another product, if the issuer has any.
 * @param checked hashes that were checked already; when there are none, a dummy of ours was
 */
export async function spendOtherKind(
  context: Context,
  { issuerId }: InIssuer,
  usernameKey: string,
  checked: readonly string[],
  password: string,
): Promise<void> {
  if (checked.some((hash) => !isOurHash(hash))) {
    if (!checked.some(isOurHash)) await verifyPassword(null, password)
    return
  }
  const decoys = await decoysOf(context, issuerId)
  // One name gets one kind each time, as if that user had it.
  const choice = Number.parseInt(sha256(`${issuerId} ${usernameKey}`).slice(0, 8), 16) % (decoys.length || 1)
  const decoy = decoys[choice]
  if (decoy !== undefined) await verifyPassword(decoy, password)
}

/** One hash of each cost that imported passwords of this issuer have. */
function decoysOf(context: Context, issuerId: string): Promise<string[]> {
  const now = context.now()
  const entry = known.get(issuerId)
  if (entry && now - entry.at < BELIEVED) return entry.decoys
  const decoys = context.tools
    .query<{ hash: string }>('foreign-hashes', foreignText, [issuerId])
    .then((rows) => [...new Map(rows.map(({ hash }) => [costOf(hash), hash])).values()])
  known.delete(issuerId)
  known.set(issuerId, { at: now, decoys })
  decoys.catch(() => known.delete(issuerId))
  if (known.size > MOST_ISSUERS) known.delete(known.keys().next().value!)
  return decoys
}
