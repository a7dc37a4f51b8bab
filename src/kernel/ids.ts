import { randomFillSync } from 'node:crypto'

/** The prefixes of identifiers, one per resource type (docs/contract.md#identifiers). */
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
  | 'iat'
  | 'dom'
  | 'pm'
  | 'led'
  | 'top'
  | 'mail'
  | 'req'
  | 'job'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
/**
 * The number of digits that contain the timestamp: two leading zero bits and 48 bits of time are 10 digits of 5 bits.
 */
const TIME_DIGITS = 10
const idPattern = /^[0-7][0-9a-hjkmnp-tv-z]{25}$/

let lastTime = 0
let counter = 0

/**
 * Creates an identifier: the prefix, `_`, and a UUIDv7 (RFC 9562) as 26 characters of lowercase Crockford base32. Each
 * ID of a process is greater than the previous ID with the same prefix, even within a millisecond, so these IDs sort by
 * the time of creation. If `now` is not after the time of the previous ID, the ID contains that time, or a later one.
 * Use `newRow` for a row with `created_at`.
 * @param now Unix milliseconds
 */
export function newId(prefix: IdPrefix, now: number): string {
  const random = nextRandomBytes()
  if (now > lastTime) {
    lastTime = now
    counter = random.readUInt16BE(0) & 0x07ff
  } else if (++counter > 0x0fff) {
    lastTime += 1
    counter = 0
  }
  idBytes.writeUIntBE(lastTime, 0, 6)
  idBytes.writeUInt16BE(0x7000 | counter, 6)
  random.copy(idBytes, 8, 2)
  idBytes[8] = 0x80 | (idBytes[8]! & 0x3f)
  return `${prefix}_${base32(idBytes)}`
}

/** Forgets the time of the last ID, so that a test can use a clock with earlier times in the same process. */
export function resetIdGenerator(): void {
  lastTime = 0
  counter = 0
}

/** Random bytes for 400 IDs. One call of `randomFillSync` for all of them is faster than a call for each ID. */
const randomPool = Buffer.alloc(4000)
let usedBytes = randomPool.length

function nextRandomBytes(): Buffer {
  if (usedBytes === randomPool.length) {
    randomFillSync(randomPool)
    usedBytes = 0
  }
  usedBytes += 10
  return randomPool.subarray(usedBytes - 10, usedBytes)
}

/** A buffer of 16 bytes, reused for each ID. */
const idBytes = Buffer.alloc(16)

/** Encodes 128 bits as 26 characters of 5 bits, with two leading zero bits. */
function base32(from: Buffer): string {
  let text = ''
  let bits = 0
  let pendingBits = 2
  for (const byte of from) {
    bits = ((bits << 8) | byte) & 0xfff
    for (pendingBits += 8; pendingBits >= 5; ) {
      pendingBits -= 5
      text += alphabet[(bits >> pendingBits) & 31]
    }
  }
  return text
}

/** Returns the timestamp of an identifier in Unix milliseconds. */
export function idTimestamp(id: string): number {
  const digits = id.slice(id.indexOf('_') + 1).slice(0, TIME_DIGITS)
  return [...digits].reduce((time, digit) => time * 32 + alphabet.indexOf(digit), 0)
}

/** The largest timestamp of an identifier: 48 bits. */
const MAX_ID_TIMESTAMP = 2 ** 48 - 1

/**
 * Returns a lower bound of all identifiers that were created at or after a time.
 * @param time Unix milliseconds; values out of range are clamped
 */
export function lowestIdAt(prefix: IdPrefix, time: number): string {
  let remaining = Math.min(Math.max(0, Math.ceil(time)), MAX_ID_TIMESTAMP)
  let text = ''
  for (let digit = 0; digit < TIME_DIGITS; digit++) {
    text = alphabet[remaining % 32] + text
    remaining = Math.floor(remaining / 32)
  }
  return `${prefix}_${text}${'0'.repeat(26 - TIME_DIGITS)}`
}

/**
 * Creates the ID and the times of a new row. `createdAt` is the timestamp in the ID, because lists that are sorted by
 * ID are sorted by creation time too. That timestamp may be later than `now`, see `newId`.
 * @param now Unix milliseconds
 */
export function newRow(prefix: IdPrefix, now: number): { id: string; createdAt: number; updatedAt: number } {
  const id = newId(prefix, now)
  const createdAt = idTimestamp(id)
  return { id, createdAt, updatedAt: createdAt }
}

/** Returns true when the text has the format of an identifier with this prefix. */
export function isId(prefix: IdPrefix, text: unknown): text is string {
  return typeof text === 'string' && text.startsWith(`${prefix}_`) && idPattern.test(text.slice(prefix.length + 1))
}
