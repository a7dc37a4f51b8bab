/**
 * Refuses authentication attempts after too many failed ones, before the secret is compared
 * (docs/contract.md#failed-client-authentication, docs/decisions/0051). Only a failed attempt takes a token from its
 * buckets, so a successful attempt needs no round trip to the bucket store.
 */
import type { AttemptOutcome, BucketRef, RateLimitDecision, RateLimiter, TryCredential } from './rate-limiter.js'

type Limiter = Pick<RateLimiter, 'consume' | 'peek'>

/**
 * Creates the function that limits failed attempts. A process knows how many tokens a bucket has left only after it has
 * taken one. With P processes, a bucket of N tokens therefore allows up to N + P - 1 comparisons of wrong secrets; the
 * callers of all but N of them receive the rate limit error instead of the result.
 */
export function createFailureLimiter({ consume, peek }: Limiter): TryCredential {
  /**
   * Failures that are being counted, by bucket. Concurrent attempts wait until the failure is counted, so that a burst
   * of attempts cannot exceed the limit.
   */
  const pendingFailures = new Map<string, Promise<unknown>>()

  async function recordFailure(buckets: readonly BucketRef[]): Promise<AttemptOutcome> {
    let tightest: RateLimitDecision | undefined
    for (const bucket of buckets) {
      const decision = await consume(...bucket)
      if (decision && !decision.allowed) return { state: 'refused', decision }
      if (decision && (!tightest || decision.remaining < tightest.remaining)) tightest = decision
    }
    return { state: 'failed', decision: tightest }
  }

  return async (buckets, verify) => {
    const names = buckets.map(([limit, key]) => `${limit}:${key}`)
    for (;;) {
      const pendingFailure = names.map((name) => pendingFailures.get(name)).find((failure) => failure !== undefined)
      if (!pendingFailure) break
      await pendingFailure
    }
    for (const bucket of buckets) {
      const decision = peek(...bucket)
      if (decision) return { state: 'refused', decision }
    }
    if (verify()) return { state: 'succeeded' }
    const outcome = recordFailure(buckets)
    const done = outcome.then(
      () => undefined,
      () => undefined,
    )
    for (const name of names) pendingFailures.set(name, done)
    try {
      return await outcome
    } finally {
      for (const name of names) pendingFailures.delete(name)
    }
  }
}
