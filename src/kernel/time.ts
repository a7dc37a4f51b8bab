/** Durations in milliseconds. */
export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** Tells the time in Unix milliseconds. Every room asks its context for it, so that tests can move it. */
export type Clock = () => number

/** The machine's clock: the one place where the product reads it. */
export const systemClock: Clock = () => Date.now()

/** The largest moment the interface takes, in Unix milliseconds: the end of the year 9999. */
export const LAST_MOMENT = 253_402_300_799_999

/** Unix seconds of a moment in milliseconds, as JWT claims want them (RFC 7519 NumericDate). */
export const seconds = (milliseconds: number | bigint): number => Math.floor(Number(milliseconds) / 1000)
