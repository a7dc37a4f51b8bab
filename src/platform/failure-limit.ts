/**
 * Limits failed authentications before a secret is compared (security rule 34, docs/decisions/0065). Only failures take a
 * token, so a success costs no round trip, and what others fail with takes nothing from it.
 */
import type { LimitName } from '../config.js'
import type { RateLimiter, Verdict } from './rate-limit.js'

/** A limit and the key of the bucket in it. */
export type Bucket = readonly [limit: LimitName, key: string]

export type Outcome =
  | { readonly state: 'succeeded' }
  /** The verdict is of the bucket with the least left; undefined while limits are off. */
  | { readonly state: 'failed'; readonly verdict: Verdict | undefined }
  /** Nothing was tried, or its failure was one too many. Whether it would have succeeded stays unknown to the caller. */
  | { readonly state: 'refused'; readonly verdict: Verdict }

/**
 * Tries a credential while all of the buckets have a token left, and takes one from each when it fails.
 * @param buckets the widest first: a narrower one is not touched when it is empty
 * @param succeeds compares; synchronous, so that nothing happens between the decision and the comparison
 */
export type Attempt = (buckets: readonly Bucket[], succeeds: () => boolean) => Promise<Outcome>

type Limiter = Pick<RateLimiter, 'spend' | 'peek'>

/**
 * A process knows what is left of a bucket once it has taken from it. Before, it compares once: with P processes, a
 * bucket of N failures allows N + P - 1 comparisons, of which N are answered.
 */
export function failureLimit({ spend, peek }: Limiter): Attempt {
  /** Failures that are being counted, by bucket: other attempts wait for them, so that a burst is no way around. */
  const counting = new Map<string, Promise<unknown>>()

  async function count(buckets: readonly Bucket[]): Promise<Outcome> {
    let least: Verdict | undefined
    for (const bucket of buckets) {
      const verdict = await spend(...bucket)
      if (verdict && !verdict.allowed) return { state: 'refused', verdict }
      if (verdict && (!least || verdict.remaining < least.remaining)) least = verdict
    }
    return { state: 'failed', verdict: least }
  }

  return async (buckets, succeeds) => {
    const names = buckets.map(([limit, key]) => `${limit}:${key}`)
    for (;;) {
      const busy = names.map((name) => counting.get(name)).find((one) => one !== undefined)
      if (!busy) break
      await busy
    }
    for (const bucket of buckets) {
      const verdict = peek(...bucket)
      if (verdict) return { state: 'refused', verdict }
    }
    if (succeeds()) return { state: 'succeeded' }
    const counted = count(buckets)
    const done = counted.then(
      () => undefined,
      () => undefined,
    )
    for (const name of names) counting.set(name, done)
    try {
      return await counted
    } finally {
      for (const name of names) counting.delete(name)
    }
  }
}
