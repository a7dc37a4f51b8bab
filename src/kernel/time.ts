/** Durations in milliseconds. */
export const SECOND = 1000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/**
 * Returns the current time in Unix milliseconds. Modules use the clock of their context, so that tests can control the
 * time.
 */
export type Clock = () => number

/** The system clock. No other code reads it directly. */
export const systemClock: Clock = () => Date.now()

/** Converts Unix milliseconds to Unix seconds, as in JWT claims (NumericDate, RFC 7519). */
export const toUnixSeconds = (milliseconds: number | bigint): number => Math.floor(Number(milliseconds) / 1000)
