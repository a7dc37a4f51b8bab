/**
 * Kinds of password hashes that may stand in the database: our own, and those that other products made, until their
 * owner signs in for the first time. What each costs is bounded here, when a hash comes in and when it is checked, so
 * that no file that somebody imports can make a sign-in take minutes or gigabytes.
 *
 * All are written in PHC form; what PHC has no name for is named here:
 * `$digest-sha256$s=prefix$<salt>$<hash>` (a plain digest), `$hmac-sha256$$<key>$<hash>`.
 */
import { createHash, createHmac, pbkdf2, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import argon2 from 'argon2'
import bcrypt from 'bcrypt'

interface Kind {
  name: string
  form: RegExp
  /** What is wrong with the parameters, for whoever imports it; nothing when they are fine. */
  fault?(parts: readonly string[]): string | undefined
  fits(password: string, parts: readonly string[], whole: string): Promise<boolean>
}

/** 128 MiB, and as much work as OWASP's costliest advice asks for, four times over. */
const MAX_ARGON2_KIB = 131_072
const MAX_ARGON2_WORK = 524_288
const MAX_BCRYPT_COST = 14
const MAX_PBKDF2_ITERATIONS = 2_000_000
/** N times r times p; of memory that is 128 MiB. */
const MAX_SCRYPT_WORK = 2 ** 20

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
/** Is this a digest that plain and keyed hashes may be of? */
export const isDigest = (name: string): name is Digest => (digests as readonly string[]).includes(name)

const base64 = '([A-Za-z0-9+/]{0,1400})'
const bytes = (text: string): Buffer => Buffer.from(text, 'base64')
const same = (one: Buffer, other: Buffer): boolean => one.length === other.length && timingSafeEqual(one, other)

const derivePbkdf2 = promisify(pbkdf2)
const deriveScrypt = promisify<string, Buffer, number, object, Buffer>(scrypt)

const encodings = { utf8: 'utf8', utf16le: 'utf16le', latin1: 'latin1' } as const
type Encoding = keyof typeof encodings

const kinds: readonly Kind[] = [
  {
    name: 'argon2',
    form: /^\$argon2(id|i|d)\$v=(?:16|19)\$m=(\d{1,9}),t=(\d{1,9}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,171}$/,
    fault([, memory, passes, lanes]) {
      if (Number(memory) > MAX_ARGON2_KIB) return `asks for more than ${MAX_ARGON2_KIB} KiB of memory`
      if (Number(memory) * Number(passes) > MAX_ARGON2_WORK) return 'asks for too many passes over its memory'
      if (Number(lanes) < 1 || Number(lanes) > 16) return 'must have 1 to 16 lanes'
      return Number(memory) < 8 * Number(lanes) || Number(passes) < 1
        ? 'has parameters that Argon2 does not allow'
        : undefined
    },
    fits: (password, _, whole) => argon2.verify(whole, password),
  },
  {
    name: 'bcrypt',
    form: /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/,
    fault: ([cost]) =>
      Number(cost) < 4 || Number(cost) > MAX_BCRYPT_COST ? `has a cost that is not 4 to ${MAX_BCRYPT_COST}` : undefined,
    fits: (password, _, whole) => bcrypt.compare(password, whole.replace(/^\$2y/, '$2b')),
  },
  {
    name: 'pbkdf2',
    form: new RegExp(`^\\$pbkdf2-(sha1|sha256|sha384|sha512)\\$i=(\\d{1,9})(?:,l=\\d{1,4})?\\$${base64}\\$${base64}$`),
    fault([, iterations, , hash = '']) {
      if (Number(iterations) < 1 || Number(iterations) > MAX_PBKDF2_ITERATIONS)
        return `has iterations that are not 1 to ${MAX_PBKDF2_ITERATIONS}`
      return bytes(hash).length < 16 ? 'has less than 16 bytes' : undefined
    },
    async fits(password, [digest, iterations, salt = '', hash = '']) {
      // A longer key costs its owner as many times the work, and a guesser no more than this.
      const expected = bytes(hash).subarray(0, digestBytes[digest as Digest])
      const key = await derivePbkdf2(password, bytes(salt), Number(iterations), expected.length, digest!)
      return same(key, expected)
    },
  },
  {
    name: 'scrypt',
    form: new RegExp(`^\\$scrypt\\$ln=(\\d{1,2}),r=(\\d{1,4}),p=(\\d{1,4})\\$${base64}\\$${base64}$`),
    fault([ln, r, p, , hash = '']) {
      const work = 2 ** Number(ln) * Number(r) * Number(p)
      if (Number(ln) < 1 || work < 1 || work > MAX_SCRYPT_WORK) return 'has N·r·p that is not 1 to 2^20'
      const { length } = bytes(hash)
      return length < 16 || length > 256 ? 'must have 16 to 256 bytes' : undefined
    },
    async fits(password, [ln, r, p, salt = '', hash = '']) {
      const expected = bytes(hash)
      const cost = { N: 2 ** Number(ln), r: Number(r), p: Number(p), maxmem: 160 * 2 ** 20 }
      return same(await deriveScrypt(password, bytes(salt), expected.length, cost), expected)
    },
  },
  {
    name: 'digest',
    form: new RegExp(
      `^\\$digest-(${digests.join('|')})\\$s=(prefix|suffix)(?:,e=(utf16le|latin1))?\\$${base64}\\$${base64}$`,
    ),
    fault: ([digest, , , , hash = '']) => lengthFault(digest as Digest, hash),
    async fits(password, [digest, place, encoding, salt = '', hash = '']) {
      const typed = Buffer.from(password, (encoding ?? 'utf8') as Encoding)
      const parts = place === 'prefix' ? [bytes(salt), typed] : [typed, bytes(salt)]
      return same(createHash(digest!).update(Buffer.concat(parts)).digest(), bytes(hash))
    },
  },
  {
    name: 'hmac',
    form: new RegExp(`^\\$hmac-(${digests.join('|')})\\$(?:e=(utf16le|latin1))?\\$${base64}\\$${base64}$`),
    fault: ([digest, , , hash = '']) => lengthFault(digest as Digest, hash),
    async fits(password, [digest, encoding, key = '', hash = '']) {
      const typed = Buffer.from(password, (encoding ?? 'utf8') as Encoding)
      return same(createHmac(digest!, bytes(key)).update(typed).digest(), bytes(hash))
    },
  },
]

const lengthFault = (digest: Digest, hash: string): string | undefined =>
  bytes(hash).length === digestBytes[digest] ? undefined : `is not as long as a ${digest} is`

function read(hash: string): { kind: Kind; parts: string[] } | undefined {
  for (const kind of kinds) {
    const parts = kind.form.exec(hash)?.slice(1)
    if (parts) return { kind, parts }
  }
  return undefined
}

/** The kind of a hash: argon2, bcrypt, pbkdf2, scrypt, digest, hmac; undefined for none of them. */
export const kindOfHash = (hash: string): string | undefined => read(hash)?.kind.name

/** Kinds that guessers are quick with: whoever gets the database finds the simple passwords. */
export const isWeakKind = (kind: string): boolean => kind === 'digest' || kind === 'hmac'

/** Why this hash cannot be kept, as the end of a sentence that begins with the hash; undefined when it can. */
export function hashFault(hash: string): string | undefined {
  const found = read(hash)
  return found ? found.kind.fault?.(found.parts) : 'is of a kind that Gatehouse does not know'
}

/** What hashes of equal cost have in common: kind and parameters, without salt and hash. */
export function costOf(hash: string): string {
  if (hash.startsWith('$2')) return hash.slice(0, 7)
  return hash.split('$').slice(0, -2).join('$')
}

/** Does the password, as it was typed, fit a hash of any kind? False too for what is no hash or would cost too much. */
export async function fitsHash(hash: string, password: string): Promise<boolean> {
  const found = read(hash)
  if (!found || found.kind.fault?.(found.parts) !== undefined) return false
  return found.kind.fits(password, found.parts, hash)
}
