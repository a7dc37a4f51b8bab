/** Wrong secrets of clients, agents and API keys, limited before they are compared (security rule 34). */
import { ApiError } from '../kernel/errors.js'
import { networkOf } from '../kernel/network.js'
import type { Context } from '../platform/context.js'
import type { Bucket, Outcome } from '../platform/failure-limit.js'
import { rateLimitHeaders, type Verdict } from '../platform/rate-limit.js'
import { sha256 } from '../platform/secrets.js'

/** Where the secret is shown: the two servers count apart, or a wrong client secret would stop an administrator. */
type Server = 'core' | 'idp'

/**
 * The caller's address alone, and with the credential it names. Another address has buckets of its own, so that failures
 * from elsewhere never stop the owner of a credential. An id that does not exist has them as well, and so cannot be
 * told from one that does.
 */
function bucketsOf({ request }: Context, server: Server, id: string): Bucket[] {
  const network = networkOf(request.ip)
  const named = id.length <= 80 ? id : sha256(id)
  return [
    ['auth_failures_ip', `${server} ${network}`],
    ['auth_failures', `${server} ${network} ${named}`],
  ]
}

/**
 * Compares a secret, unless too many wrong ones came before.
 * @param id what the secret is said to belong to; for a client with its issuer
 * @param fits compares, without waiting for anything
 * @returns whether it fits; else the rate limit's headers for the answer
 * @throws ApiError too_many_requests, also when the comparison failed as one too many
 */
export async function trySecret(
  context: Context,
  server: Server,
  id: string,
  fits: () => boolean,
): Promise<{ fits: boolean; headers: Record<string, string> }> {
  const outcome: Outcome = await context.rateLimiter.attempt(bucketsOf(context, server, id), fits)
  if (outcome.state === 'refused') throw tooManyGuesses(context, outcome.verdict)
  if (outcome.state === 'succeeded') return { fits: true, headers: {} }
  return { fits: false, headers: outcome.verdict ? rateLimitHeaders(outcome.verdict) : {} }
}

/**
 * Refuses what `trySecret` would refuse, as far as this process knows, without a comparison.
 * @throws ApiError too_many_requests
 */
export function refuseGuessing(context: Context, server: Server, id: string): void {
  for (const bucket of bucketsOf(context, server, id)) {
    const verdict = context.rateLimiter.peek(...bucket)
    if (verdict) throw tooManyGuesses(context, verdict)
  }
}

function tooManyGuesses(context: Context, verdict: Verdict): ApiError {
  context.metrics.refusals.inc({ limit: verdict.limit })
  const description = `Too many failed authentications from this address; try again in ${verdict.reset} seconds.`
  return new ApiError('too_many_requests', description, { headers: rateLimitHeaders(verdict) })
}
