/** `Cache-Control` of the published key set (docs/contract.md#signing-key-publication). */
import { unavailable } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { toUnixSeconds } from '../../kernel/time.js'

const cacheControl = (maxAge: number): string =>
  `public, max-age=${maxAge}, s-maxage=${maxAge}, stale-if-error=${toUnixSeconds(limits.jwksStaleIfError)}`

/** `Cache-Control` of a key set that the database has just confirmed. */
export const KEY_SET_CACHE_CONTROL = cacheControl(toUnixSeconds(limits.jwksMaxAge))

/**
 * Returns `Cache-Control` of a key set that is served from memory. Since the database
 * confirmed the key set, another process may have published a key, which signs `limits.signingKeyPublicationPeriod`
 * later at the earliest. Caches must not serve the key set, which lacks that key, after that.
 * @param age milliseconds since the database last confirmed the key set
 * @throws ApiError unavailable if a key that is missing from the key set may sign already
 */
export function keySetCacheControl(age: number): string {
  const freshFor = Math.min(limits.jwksMaxAge, limits.signingKeyPublicationPeriod - limits.jwksStaleIfError - age)
  if (freshFor <= 0) throw unavailable()
  return freshFor === limits.jwksMaxAge ? KEY_SET_CACHE_CONTROL : cacheControl(toUnixSeconds(freshFor))
}
