/** Durations in milliseconds. */
export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Tells the time in Unix milliseconds. Every room asks its context for it, so that tests can move it. */
export type Clock = () => number

let latest = 0

/**
 * The machine's clock: the one place where the product reads it. It never goes back, also when the machine's does: ids
 * and times of creation of one process rise together.
 */
export const systemClock: Clock = () => {
  latest = Math.max(latest, Date.now())
  return latest
}

/** The largest moment the interface takes, in Unix milliseconds: the end of the year 9999. */
export const LAST_MOMENT = 253_402_300_799_999

/** Unix seconds of a moment in milliseconds, as JWT claims want them (RFC 7519 NumericDate). */
export const seconds = (milliseconds: number | bigint): number => Math.floor(Number(milliseconds) / 1000)
