/** An authenticator app (RFC 6238), implemented without the TOTP code of src/. */
import { createHmac } from 'node:crypto'

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/**
 * Returns the code of six digits that an authenticator app shows.
 * @param secret in base32
 * @param now Unix milliseconds
 * @param step number of time steps of 30 seconds to add to `now`; may be negative
 */
export function totpCode(secret: string, now: number, step = 0): string {
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('')
  const key = Buffer.from(bits.match(/.{8}/g)!.map((byte) => Number.parseInt(byte, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(now / 30_000) + step))
  const hash = createHmac('sha1', key).update(counter).digest()
  const at = hash.at(-1)! & 15
  return String((hash.readUInt32BE(at) & 0x7fff_ffff) % 1_000_000).padStart(6, '0')
}
