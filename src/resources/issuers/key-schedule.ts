/**
 * When a signing key signs (decision D32, docs/decisions/0060). Each key has the moment from which it may sign in its
 * row, so every process reaches the same answer from the same rows and its own clock, without a message. Pure
 * functions; times in milliseconds.
 */
import { DAY, MINUTE, SECOND } from '../../kernel/time.js'
import { type KeyTimes, type SigningAlgorithm, signingKeyAt } from '../issuer-keys.js'

/** Lifetime of the key set in caches: `max-age` and `s-maxage` (spec 5.3). */
export const JWKS_MAX_AGE = 3600 * SECOND
/** How long caches may serve an expired key set while the origin fails: `stale-if-error` (spec 5.3). */
export const JWKS_STALE_IF_ERROR = 120 * SECOND
/** A key is in the published key set at least this long before its first signature: `max-age` and ten minutes. */
export const PUBLISHED_BEFORE_SIGNING = JWKS_MAX_AGE + 10 * MINUTE
/** Covers clocks that differ between processes and the time between making a row and its commit. */
const TOLERANCE = MINUTE
/** From publication to the earliest first signature. */
export const KEY_LEAD = PUBLISHED_BEFORE_SIGNING + TOLERANCE
/** Keys stay published this long after they stopped signing: longer than any token lives (spec section 8). */
export const KEY_RETENTION = 45 * DAY

/** The first moment of rotation after this one: 01:00 UTC of the last day of a month (spec 5.3). */
export function rotationAfter(moment: number): number {
  const date = new Date(moment)
  // Day 0 of a month is the last day of the month before.
  const ofMonth = (ahead: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + ahead, 0, 1)
  return ofMonth(0) > moment ? ofMonth(0) : ofMonth(1)
}

/** The month whose moment of rotation is the last one until this moment, as `2026-11`. */
export function periodOf(moment: number): string {
  const date = new Date(rotationAfter(moment))
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 0)).toISOString().slice(0, 7)
}

/** When a key that is published now becomes the signing key: at the rotation after the one before it began to sign. */
export const nextSignsFrom = (previous: number, now: number): number =>
  Math.max(now + KEY_LEAD, rotationAfter(previous))

/** The published keys of an algorithm that have not signed yet, in the order in which they will. */
export function upcomingKeys<Key extends KeyTimes>(keys: readonly Key[], alg: string, now: number): Key[] {
  const ofAlg = keys.filter((key) => key.alg === alg)
  const signing = signingKeyAt(ofAlg, alg, now)
  return signing ? ofAlg.slice(ofAlg.indexOf(signing) + 1) : []
}

/** What a rotation changes of the keys of one algorithm. */
export interface RotationPlan<Key> {
  /** A published key that is to sign earlier than planned. */
  promote?: { key: Key; signsFrom: number }
  /** From when on a key that is published now is to sign. */
  publish?: number
}

/**
 * The monthly rotation. The next key becomes the signing key by the clock alone; what remains is to publish one after
 * it, whenever that has not happened yet: late, too, and then that key signs late.
 */
export function planMonthly<Key extends KeyTimes>(
  keys: readonly Key[],
  alg: SigningAlgorithm,
  now: number,
): RotationPlan<Key> {
  if (upcomingKeys(keys, alg, now).length > 0) return {}
  return { publish: nextSignsFrom(signingKeyAt(keys, alg, now)?.signsFrom ?? now, now) }
}

/**
 * A rotation on request: the next key signs as soon as it has been published for long enough, and another one is
 * published after it. Nothing changes while an earlier request is still waiting for that.
 */
export function planRequested<Key extends KeyTimes>(
  keys: readonly Key[],
  alg: SigningAlgorithm,
  now: number,
): RotationPlan<Key> {
  const [next, ...later] = upcomingKeys(keys, alg, now)
  if (!next) return { publish: now + KEY_LEAD }
  const signsFrom = Math.min(next.signsFrom, Math.max(now, next.createdAt + KEY_LEAD))
  return {
    ...(signsFrom < next.signsFrom && { promote: { key: next, signsFrom } }),
    ...(later.length === 0 && { publish: nextSignsFrom(signsFrom, now) }),
  }
}

/** `current` signs, `next` will, `retired` has. */
export type KeyState = 'next' | 'current' | 'retired'

/**
 * The state of each key of one issuer at this moment.
 * @param keys in the order of `signsFrom`
 * @returns in the same order; `leavesAt` of a retired key is when its retention ends
 */
export function statesOf<Key extends KeyTimes>(
  keys: readonly Key[],
  now: number,
): (Key & { state: KeyState; leavesAt: number | null })[] {
  return keys.map((key, index) => {
    if (key === signingKeyAt(keys, key.alg, now)) return { ...key, state: 'current', leavesAt: null }
    if (upcomingKeys(keys, key.alg, now).includes(key)) return { ...key, state: 'next', leavesAt: null }
    const successor = keys.slice(index + 1).find(({ alg }) => alg === key.alg)!
    return { ...key, state: 'retired', leavesAt: successor.signsFrom + KEY_RETENTION }
  })
}
