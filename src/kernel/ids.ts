import { randomBytes } from 'node:crypto'

/** Prefixes of identifiers (decisions part 0). The word in front tells a reader what the id names. */
export type IdPrefix =
  | 'acc'
  | 'iss'
  | 'am'
  | 'cli'
  | 'usr'
  | 'vrf'
  | 'enr'
  | 'org'
  | 'grp'
  | 'mem'
  | 'inv'
  | 'agt'
  | 'ses'
  | 'tok'
  | 'ak'
  | 'key'
  | 'evt'
  | 'whk'
  | 'dlv'
  | 'note'
  | 'dom'
  | 'pm'
  | 'led'
  | 'top'
  | 'mail'
  | 'req'
  | 'job'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/** The 48 bits of time are the first of 128 in 26 digits of 5: two zeros stand before them. */
const TIME_DIGITS = 10
const shape = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

let lastTime = 0
let counter = 0

/**
 * A new identifier: the prefix, `_`, and a UUIDv7 (RFC 9562) as 26 characters of lower-case Crockford base32.
 * Ids of one process rise strictly, also within a millisecond: order by id is order by time.
 * @param now Unix milliseconds; the row's `created_at` is to be the same moment.
 */
export function newId(prefix: IdPrefix, now: number): string {
  const random = randomBytes(10)
  if (now > lastTime) {
    lastTime = now
    counter = random.readUInt16BE(0) & 0x07ff
  } else if (++counter > 0x0fff) {
    lastTime += 1
    counter = 0
  }
  let bits = BigInt(lastTime) << 80n
  bits |= 0x7n << 76n
  bits |= BigInt(counter) << 64n
  bits |= 0b10n << 62n
  bits |= random.readBigUInt64BE(2) & 0x3fff_ffff_ffff_ffffn
  let text = ''
  for (let shift = 125n; shift >= 0n; shift -= 5n) text += alphabet[Number((bits >> shift) & 31n)]
  return `${prefix}_${text}`
}

/** The moment in an identifier, in Unix milliseconds. */
export function timeOf(id: string): number {
  const digits = id.slice(id.indexOf('_') + 1).slice(0, TIME_DIGITS)
  return [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

/**
 * The id and times of a new row. Its `created_at` is the moment in its id, which lists rely on: another request may have
 * taken an id since `now` was read, and ids never go back.
 * @param now Unix milliseconds
 */
export function newRow(prefix: IdPrefix, now: number): { id: string; createdAt: number; updatedAt: number } {
  const id = newId(prefix, now)
  const createdAt = timeOf(id)
  return { id, createdAt, updatedAt: createdAt }
}

/** Does this text have the form of an identifier with this prefix? Says nothing about whether the thing exists. */
export function isId(prefix: IdPrefix, text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(`${prefix}_`) && shape.test(text.slice(prefix.length + 1))
}
