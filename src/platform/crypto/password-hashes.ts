/**
 * The supported formats of password hashes: Argon2id, and the formats of hashes that were imported from other products.
 * The first sign-in of a user with the password replaces an imported hash. Import and verification both limit the cost
 * parameters, because a sign-in with an expensive imported hash could take minutes and gigabytes.
 *
 * Hashes are stored in PHC format, bcrypt hashes in their own format. Two formats are not part of PHC:
 * `$digest-sha256$s=prefix$<salt>$<hash>` (a salted digest) and `$hmac-sha256$$<key>$<hash>`.
 */
import { createHash, createHmac, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import argon2 from 'argon2'
import bcrypt from 'bcrypt'
import { limits } from '../../kernel/limits.js'

interface HashFormat {
  name: string
  pattern: RegExp
  /**
   * Returns why the cost parameters are rejected, as the predicate of a sentence; undefined when they are accepted.
   * `parts` are the groups of `pattern`.
   */
  parameterError?(parts: readonly string[]): string | undefined
  verify(password: string, parts: readonly string[], whole: string): Promise<boolean>
}

const digests = ['md5', 'sha1', 'sha224', 'sha256', 'sha384', 'sha512'] as const
export type Digest = (typeof digests)[number]
const digestBytes: Readonly<Record<Digest, number>> = {
  md5: 16,
  sha1: 20,
  sha224: 28,
  sha256: 32,
  sha384: 48,
  sha512: 64,
}
/** Returns true when hashes of the formats digest and hmac can use this algorithm. */
export const isDigest = (name: string): name is Digest => (digests as readonly string[]).includes(name)

const base64 = '([A-Za-z0-9+/]{0,1400})'
const bytes = (text: string): Buffer => Buffer.from(text, 'base64')
const equalBytes = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

const derivePbkdf2 = promisify(pbkdf2)
const deriveScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt)

const passwordEncodings = { utf8: 'utf8', utf16le: 'utf16le', latin1: 'latin1' } as const
type PasswordEncoding = keyof typeof passwordEncodings

const hashFormats: readonly HashFormat[] = [
  {
    name: 'argon2',
    pattern:
      /^\$argon2(id|i|d)\$v=(?:16|19)\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,171}$/,
    parameterError([, memory, passes, parallelism]) {
      if (Number(memory) > limits.maxImportedArgon2Memory)
        return `uses more than ${limits.maxImportedArgon2Memory} KiB of memory`
      if (Number(memory) * Number(passes) > limits.maxImportedArgon2Work)
        return 'uses too many iterations for its memory size'
      if (Number(parallelism) < 1 || Number(parallelism) > 16) return 'must have a parallelism of 1 to 16'
      return Number(memory) < 8 * Number(parallelism) || Number(passes) < 1
        ? 'has parameters that Argon2 does not allow'
        : undefined
    },
    verify: (password, _, whole) => argon2.verify(whole, password),
  },
  {
    name: 'bcrypt',
    pattern: /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/,
    parameterError: ([cost]) =>
      Number(cost) < 4 || Number(cost) > limits.maxImportedBcryptCost
        ? `must have a cost of 4 to ${limits.maxImportedBcryptCost}`
        : undefined,
    verify: (password, _, whole) => bcrypt.compare(password, whole.replace(/^\$2y/, '$2b')),
  },
  {
    name: 'pbkdf2',
    pattern: new RegExp(
      `^\\$pbkdf2-(sha1|sha256|sha384|sha512)\\$i=(\\d{1,9})(?:,l=\\d{1,4})?\\$${base64}\\$${base64}$`,
    ),
    parameterError([, iterations, , hash = '']) {
      if (Number(iterations) < 1 || Number(iterations) > limits.maxImportedPbkdf2Iterations)
        return `must have 1 to ${limits.maxImportedPbkdf2Iterations} iterations`
      return bytes(hash).length < 16 ? 'must have at least 16 bytes' : undefined
    },
    async verify(password, [digest, iterations, salt = '', hash = '']) {
      // PBKDF2 derives each block of the key independently. Comparing more than the first block would slow down
      // sign-ins, but not an attacker, who can compare the first block only.
      const expected = bytes(hash).subarray(0, digestBytes[digest as Digest])
      const key = await derivePbkdf2(password, bytes(salt), Number(iterations), expected.length, digest!)
      return equalBytes(key, expected)
    },
  },
  {
    name: 'scrypt',
    pattern: new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,4}),p=(\\d{1,4})\\$${base64}\\$${base64}$`),
    parameterError([ln, r, p, , hash = '']) {
      const work = 2 ** Number(ln) * Number(r) * Number(p)
      if (Number(ln) < 1 || work < 1 || work > limits.maxImportedScryptWork)
        return 'must have N of at least 2 and N·r·p of 1 to 2^20'
      const { length } = bytes(hash)
      return length < 16 || length > 256 ? 'must have 16 to 256 bytes' : undefined
    },
    async verify(password, [ln, r, p, salt = '', hash = '']) {
      const expected = bytes(hash)
      const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: 160 * 2 ** 20 }
      return equalBytes(await deriveScrypt(password, bytes(salt), expected.length, cost), expected)
    },
  },
  {
    name: 'digest',
    pattern: new RegExp(
      `^\\$digest-(${digests.join('|')})\\$s=(prefix|suffix)(?:,e=(utf16le|latin1))?\\$${base64}\\$${base64}$`,
    ),
    parameterError: ([digest, , , , hash = '']) => digestLengthError(digest as Digest, hash),
    async verify(password, [digest, place, encoding, salt = '', hash = '']) {
      const typed = Buffer.from(password, (encoding ?? 'utf8') as PasswordEncoding)
      const parts = place === 'prefix' ? [bytes(salt), typed] : [typed, bytes(salt)]
      return equalBytes(createHash(digest!).update(Buffer.concat(parts)).digest(), bytes(hash))
    },
  },
  {
    name: 'hmac',
    pattern: new RegExp(`^\\$hmac-(${digests.join('|')})\\$(?:e=(utf16le|latin1))?\\$${base64}\\$${base64}$`),
    parameterError: ([digest, , , hash = '']) => digestLengthError(digest as Digest, hash),
    async verify(password, [digest, encoding, key = '', hash = '']) {
      const typed = Buffer.from(password, (encoding ?? 'utf8') as PasswordEncoding)
      return equalBytes(createHmac(digest!, bytes(key)).update(typed).digest(), bytes(hash))
    },
  },
]

const digestLengthError = (digest: Digest, hash: string): string | undefined =>
  bytes(hash).length === digestBytes[digest] ? undefined : `must have the length of a ${digest} digest`

function parseHash(hash: string): { format: HashFormat; parts: string[] } | undefined {
  for (const kind of hashFormats) {
    const parts = kind.pattern.exec(hash)?.slice(1)
    if (parts) return { format: kind, parts }
  }
  return undefined
}

/**
 * Returns the format of a hash (argon2, bcrypt, pbkdf2, scrypt, digest or hmac), or undefined for an unknown format.
 */
export const hashFormatOf = (hash: string): string | undefined => parseHash(hash)?.format.name

/**
 * Returns true for formats without a work factor. An attacker who has such a hash can try many passwords per second.
 */
export const isWeakHashFormat = (kind: string): boolean => kind === 'digest' || kind === 'hmac'

/**
 * Returns why a hash cannot be imported, as the predicate of a sentence such as "The hash has an unknown format";
 * undefined when the hash can be imported.
 */
export function passwordHashError(hash: string): string | undefined {
  const found = parseHash(hash)
  return found ? found.format.parameterError?.(found.parts) : 'has an unknown format'
}

/**
 * Returns the part of a stored hash that determines its cost: the format and the parameters, without salt and digest.
 */
export function hashCost(hash: string): string {
  if (hash.startsWith('$2')) return hash.slice(0, 7)
  return hash.split('$').slice(0, -2).join('$')
}

/**
 * Verifies a password against a hash of any supported format. Does not normalize the password.
 * @returns false for a wrong password, for a hash in an unknown format and for a hash that is too expensive
 */
export async function matchesPasswordHash(hash: string, password: string): Promise<boolean> {
  const parsed = parseHash(hash)
  if (!parsed || parsed.format.parameterError?.(parsed.parts) !== undefined) return false
  return parsed.format.verify(password, parsed.parts, hash)
}
