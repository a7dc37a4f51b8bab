/** The published key set (spec 5.3), and how long caches may keep it. */
import { unavailable } from '../../kernel/errors.js'
import { seconds } from '../../kernel/time.js'
import { JWKS_MAX_AGE, JWKS_STALE_IF_ERROR, PUBLISHED_BEFORE_SIGNING } from '../../resources/issuers/key-schedule.js'

const caching = (maxAge: number): string =>
  `public, max-age=${maxAge}, s-maxage=${maxAge}, stale-if-error=${seconds(JWKS_STALE_IF_ERROR)}`

/** `Cache-Control` of a key set that the database has just confirmed. */
export const KEY_SET_CACHING = caching(seconds(JWKS_MAX_AGE))

/**
 * `Cache-Control` of a key set that is served from memory while the database does not answer. Another process may have
 * published a key since, which signs `PUBLISHED_BEFORE_SIGNING` later: no cache may keep this key set for longer.
 * @param age milliseconds since the database last confirmed it
 * @throws ApiError unavailable when a key that it lacks may sign already
 */
export function keySetCaching(age: number): string {
  const freshFor = Math.min(JWKS_MAX_AGE, PUBLISHED_BEFORE_SIGNING - JWKS_STALE_IF_ERROR - age)
  if (freshFor <= 0) throw unavailable()
  return freshFor === JWKS_MAX_AGE ? KEY_SET_CACHING : caching(seconds(freshFor))
}
