/**
 * Limits the number of wrong secrets of clients, agents and API keys. While a limit is exceeded, secrets are refused
 * without a comparison (docs/contract.md#failed-client-authentication).
 */
import { networkOf } from '../kernel/network.js'
import type { Context } from '../platform/context.js'
import { sha256 } from '../platform/crypto/secrets.js'
import { requireWithinRateLimit } from '../platform/http/consume-rate-limit.js'
import type { BucketRef } from '../platform/http/rate-limiter.js'

/**
 * The server that receives the secret. The failures at each server are counted separately, so that wrong client secrets
 * at the IdP do not lock out an administrator at the Core API.
 */
type CredentialServer = 'core' | 'idp'

/**
 * Returns the buckets of an attempt: one for the caller's network, and one for the network and the credential ID. Each
 * network has its own buckets, so that failures from other networks do not lock out the owner of a credential. Unknown
 * IDs have buckets like existing ones, so that responses do not reveal which IDs exist.
 */
function failureBuckets({ request }: Context, server: CredentialServer, id: string): BucketRef[] {
  const network = networkOf(request.ip)
  const credentialKey = /^[\x20-\x7e]{0,80}$/.test(id) ? id : sha256(id)
  return [
    ['auth_failures_ip', `${server} ${network}`],
    ['auth_failures', `${server} ${network} ${credentialKey}`],
  ]
}

/**
 * Compares a secret, unless too many comparisons have failed.
 * @param id the ID that the caller presents; for a client, with its issuer
 * @param compare compares the secret; must be synchronous, so that no other attempt runs between the check of the limit
 *   and the comparison
 * @returns whether the secret matches, and on failure the RateLimit headers for the response (none while rate limits
 *   are off)
 * @throws ApiError too_many_requests if a limit is exceeded
 */
export async function verifySecretRateLimited(
  context: Context,
  server: CredentialServer,
  id: string,
  compare: () => boolean,
): Promise<{ matches: boolean; headers: Record<string, string> }> {
  const outcome = await context.rateLimiter.tryCredential(failureBuckets(context, server, id), compare)
  if (outcome.state === 'succeeded') return { matches: true, headers: {} }
  return { matches: false, headers: requireWithinRateLimit(context, outcome.decision, tooManyFailures) }
}

/**
 * Throws if this process knows that `verifySecretRateLimited` would refuse the attempt. Neither compares a secret nor
 * counts an attempt.
 * @throws ApiError too_many_requests
 */
export function checkFailureLimit(context: Context, server: CredentialServer, id: string): void {
  for (const bucket of failureBuckets(context, server, id))
    requireWithinRateLimit(context, context.rateLimiter.peek(...bucket), tooManyFailures)
}

const tooManyFailures = (seconds: number): string =>
  `Too many failed authentication attempts from your network. Try again in ${seconds} seconds.`
