import { randomFillSync } from 'node:crypto'

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
  const random = tenRandomBytes()
  if (now > lastTime) {
    lastTime = now
    counter = random.readUInt16BE(0) & 0x07ff
  } else if (++counter > 0x0fff) {
    lastTime += 1
    counter = 0
  }
  bytes.writeUIntBE(lastTime, 0, 6)
  bytes.writeUInt16BE(0x7000 | counter, 6)
  random.copy(bytes, 8, 2)
  bytes[8] = 0x80 | (bytes[8]! & 0x3f)
  return `${prefix}_${base32(bytes)}`
}

/**
 * Forgets the last identifier, so that the next ones are of their own moment again: for a process that lives through
 * several clocks one after the other, as one that runs test files does.
 */
export function forgetLastId(): void {
  lastTime = 0
  counter = 0
}

/** Asking for random bytes costs more than the bytes do, so they are fetched for 400 ids at once. */
const random = Buffer.alloc(4000)
let spent = random.length

function tenRandomBytes(): Buffer {
  if (spent === random.length) {
    randomFillSync(random)
    spent = 0
  }
  spent += 10
  return random.subarray(spent - 10, spent)
}

/** 16 bytes, filled anew for each id. */
const bytes = Buffer.alloc(16)

/** 128 bits as 26 characters of five bits, two zeros in front. */
function base32(from: Buffer): string {
  let text = ''
  let bits = 0
  let held = 2
  for (const byte of from) {
    bits = ((bits << 8) | byte) & 0xfff
    for (held += 8; held >= 5; ) {
      held -= 5
      text += alphabet[(bits >> held) & 31]
    }
  }
  return text
}

/** The moment in an identifier, in Unix milliseconds. */
export function timeOf(id: string): number {
  const digits = id.slice(id.indexOf('_') + 1).slice(0, TIME_DIGITS)
  return [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

/** The last moment that an identifier can hold: 48 bits. */
const LAST_TIME = 2 ** 48 - 1

/** What no identifier of this moment or a later one sorts before. @param time Unix milliseconds; any number will do */
export function firstIdOf(prefix: IdPrefix, time: number): string {
  let left = Math.min(Math.max(0, Math.ceil(time)), LAST_TIME)
  let text = ''
  for (let digit = 0; digit < TIME_DIGITS; digit++) {
    text = alphabet[left % 32] + text
    left = Math.floor(left / 32)
  }
  return `${prefix}_${text}${'0'.repeat(26 - TIME_DIGITS)}`
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
