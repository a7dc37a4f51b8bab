/** Builds the stored forms of platform/password-hashes out of what other products keep in separate fields. */
import { type Digest, isDigest } from '../../../platform/password-hashes.js'

const phc = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

/** @param digest as Node names it: sha256 */
export const pbkdf2Form = (digest: string, iterations: number, salt: Buffer, hash: Buffer): string =>
  `$pbkdf2-${digest}$i=${iterations}$${phc(salt)}$${phc(hash)}`

/** @param n N itself; what is no power of two gives a form that nothing knows */
export function scryptForm(n: number, r: number, p: number, salt: Buffer, hash: Buffer): string {
  const ln = Math.log2(n)
  return `$scrypt$ln=${Number.isInteger(ln) ? ln : 'none'},r=${r},p=${p}$${phc(salt)}$${phc(hash)}`
}

export const argon2Form = (
  type: string,
  { version = 19, memory, passes, lanes }: { version?: number; memory: number; passes: number; lanes: number },
  salt: Buffer,
  hash: Buffer,
): string => `$argon2${type}$v=${version}$m=${memory},t=${passes},p=${lanes}$${phc(salt)}$${phc(hash)}`

export interface Salt {
  value: Buffer
  position: 'prefix' | 'suffix'
}

/** @param encoding of the password: utf8 unless said */
export const digestForm = (digest: Digest, hash: Buffer, salt?: Salt, encoding?: 'utf16le' | 'latin1'): string =>
  `$digest-${digest}$s=${salt?.position ?? 'prefix'}${encoding ? `,e=${encoding}` : ''}$${phc(salt?.value ?? Buffer.alloc(0))}$${phc(hash)}`

export const hmacForm = (digest: Digest, key: Buffer, hash: Buffer, encoding?: 'utf16le' | 'latin1'): string =>
  `$hmac-${digest}$${encoding ? `e=${encoding}` : ''}$${phc(key)}$${phc(hash)}`

/** Of RFC 2307: `{SSHA}` and base64 of hash and salt. Undefined for schemes that are none of these. */
export function ldapForm(value: string): string | undefined {
  const [, scheme = '', body = ''] = /^\{(\w+)\}([A-Za-z0-9+/=]+)$/.exec(value) ?? []
  const [, salted, family = '', size = ''] = /^(s?)(md5|sha)(256|384|512)?$/i.exec(scheme) ?? []
  const digest = /md5/i.test(family) ? 'md5' : `sha${size || '1'}`
  if (!family || !isDigest(digest)) return undefined
  const bytes = Buffer.from(body, 'base64')
  const length = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 }[digest]
  if (!salted) return digestForm(digest, bytes)
  return digestForm(digest, bytes.subarray(0, length), { value: bytes.subarray(length), position: 'suffix' })
}
