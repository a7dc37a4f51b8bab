/**
 * Schedule of signing keys (docs/contract.md#signing-key-publication, docs/decisions/0047). The row of each key
 * contains the time from which the key signs, so all processes select the same key by their clock, without
 * coordination. The functions have no side effects. Times are Unix milliseconds.
 */
import { limits } from '../../kernel/limits.js'
import { type SigningAlgorithm, type SigningSchedule, signingKeyAt } from '../issuer-keys.js'

/**
 * Returns the first rotation time after `moment`: 01:00 UTC on the last day of a month (docs/contract.md#signing-keys).
 */
export function nextRotationAfter(moment: number): number {
  const date = new Date(moment)
  // Day 0 of a month is the last day of the previous month.
  const rotationOfMonth = (ahead: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1 + ahead, 0, 1)
  return rotationOfMonth(0) > moment ? rotationOfMonth(0) : rotationOfMonth(1)
}

/** Returns the month of the latest rotation time that is not after `moment`, such as `2026-11`. */
export function periodOf(moment: number): string {
  const date = new Date(nextRotationAfter(moment))
  return new Date(Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 0)).toISOString().slice(0, 7)
}

/**
 * Returns when a key that is published now starts to sign: at the first rotation time after its predecessor started to
 * sign, but not before `limits.signingKeyPublicationLead` has passed.
 * @param previous when the predecessor started to sign
 */
export const nextSignsFrom = (previous: number, now: number): number =>
  Math.max(now + limits.signingKeyPublicationLead, nextRotationAfter(previous))

/** Returns the keys of an algorithm that will sign after the current one, in the order in which they will sign. */
export function upcomingKeys<Key extends SigningSchedule>(keys: readonly Key[], alg: string, now: number): Key[] {
  const ofAlg = keys.filter((key) => key.alg === alg)
  const signing = signingKeyAt(ofAlg, alg, now)
  return signing ? ofAlg.slice(ofAlg.indexOf(signing) + 1) : []
}

/** What a rotation changes in the keys of one algorithm. */
export interface RotationPlan<Key> {
  /** The published key that will sign earlier than scheduled, and its new start time. Absent for no change. */
  promote?: { key: Key; signsFrom: number }
  /** Start time of a new key to publish now. Absent if no key is to be published. */
  publish?: number
}

/**
 * Plans the monthly rotation. The next key becomes the signing key at its start time without a change in the database,
 * so the plan only publishes another next key if there is none. If the job runs late, that key is published late and
 * may start to sign late.
 */
export function planMonthlyRotation<Key extends SigningSchedule>(
  keys: readonly Key[],
  alg: SigningAlgorithm,
  now: number,
): RotationPlan<Key> {
  if (upcomingKeys(keys, alg, now).length > 0) return {}
  return { publish: nextSignsFrom(signingKeyAt(keys, alg, now)?.signsFrom ?? now, now) }
}

/**
 * Plans a requested rotation: the next key signs as soon as it has been published for
 * `limits.signingKeyPublicationLead`, and its successor is published. Without a next key, one is published that signs
 * after this time. Changes nothing while an earlier request that promoted a next key is pending.
 */
export function planRequestedRotation<Key extends SigningSchedule>(
  keys: readonly Key[],
  alg: SigningAlgorithm,
  now: number,
): RotationPlan<Key> {
  const [next, ...later] = upcomingKeys(keys, alg, now)
  if (!next) return { publish: now + limits.signingKeyPublicationLead }
  const signsFrom = Math.min(next.signsFrom, Math.max(now, next.createdAt + limits.signingKeyPublicationLead))
  return {
    ...(signsFrom < next.signsFrom && { promote: { key: next, signsFrom } }),
    ...(later.length === 0 && { publish: nextSignsFrom(signsFrom, now) }),
  }
}

/** `next` will sign, `current` signs, `retired` no longer signs. */
export type KeyState = 'next' | 'current' | 'retired'

/**
 * Returns the keys of an issuer with their states.
 * @param keys in the order of `signsFrom`
 * @returns the keys in the order of `keys`; `removedAt` is the end of the retention period of a retired key, and null
 *   for other keys
 */
export function keyStatesOf<Key extends SigningSchedule>(
  keys: readonly Key[],
  now: number,
): (Key & { state: KeyState; removedAt: number | null })[] {
  return keys.map((key, index) => {
    if (key === signingKeyAt(keys, key.alg, now)) return { ...key, state: 'current', removedAt: null }
    if (upcomingKeys(keys, key.alg, now).includes(key)) return { ...key, state: 'next', removedAt: null }
    const successor = keys.slice(index + 1).find(({ alg }) => alg === key.alg)!
    return { ...key, state: 'retired', removedAt: successor.signsFrom + limits.signingKeyRetention }
  })
}
