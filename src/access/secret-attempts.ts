/**
 * Limits wrong secrets of clients, agents and API keys before they are compared
 * (docs/contract.md#failed-client-authentication).
 */
import { networkOf } from '../kernel/network.js'
import type { Context } from '../platform/context.js'
import { sha256 } from '../platform/crypto/secrets.js'
import { requireWithinRateLimit } from '../platform/http/consume-rate-limit.js'
import type { BucketRef } from '../platform/http/rate-limiter.js'

/**
 * The server that receives the secret. Each counts separately, so that wrong client secrets do not lock out an
 * administrator.
 */
type CredentialServer = 'core' | 'idp'

/**
 * Returns the buckets of an attempt: the caller's network, and the network with the credential ID. Other networks have
 * separate buckets, so failures from elsewhere do not lock out the owner of a credential. Unknown IDs have buckets too,
 * so that responses do not reveal which IDs exist.
 */
function failureBuckets({ request }: Context, server: CredentialServer, id: string): BucketRef[] {
  const network = networkOf(request.ip)
  const credentialKey = id.length <= 80 ? id : sha256(id)
  return [
    ['auth_failures_ip', `${server} ${network}`],
    ['auth_failures', `${server} ${network} ${credentialKey}`],
  ]
}

/**
 * Compares a secret, unless there were too many failures before.
 * @param id the ID that the caller presents; for a client, with its issuer
 * @param compare compares the secret; must be synchronous
 * @returns whether the secret matches, and on failure the RateLimit headers for the response
 * @throws ApiError too_many_requests, also when this failure exceeds the limit
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
 * Throws if `verifySecretRateLimited` would refuse the attempt, as far as this process knows, without a comparison.
 * @throws ApiError too_many_requests
 */
export function checkFailureLimit(context: Context, server: CredentialServer, id: string): void {
  for (const bucket of failureBuckets(context, server, id))
    requireWithinRateLimit(context, context.rateLimiter.peek(...bucket), tooManyFailures)
}

const tooManyFailures = (seconds: number): string =>
  `Too many failed authentication attempts from this IP address. Try again in ${seconds} seconds.`
