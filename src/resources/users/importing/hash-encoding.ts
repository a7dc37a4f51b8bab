/** Encodes hashes of other products in the formats of platform/crypto/password-hashes.ts. */
import { type Digest, isDigest } from '../../../platform/crypto/password-hashes.js'

const phcBase64 = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

/** Encodes a PBKDF2 hash. @param digest the name of the digest in Node.js, such as sha256 */
export const encodePbkdf2 = (digest: string, iterations: number, salt: Buffer, hash: Buffer): string =>
  `$pbkdf2-${digest}$i=${iterations}$${phcBase64(salt)}$${phcBase64(hash)}`

/**
 * Encodes a scrypt hash.
 * @param n the cost N. If it is not a power of two, `passwordHashError` rejects the result.
 */
export function encodeScrypt(n: number, r: number, p: number, salt: Buffer, hash: Buffer): string {
  const ln = Math.log2(n)
  return `$scrypt$ln=${Number.isInteger(ln) ? ln : 'none'},r=${r},p=${p}$${phcBase64(salt)}$${phcBase64(hash)}`
}

/** Encodes an Argon2 hash. `type` is `id`, `i` or `d`; `memory` is in KiB. */
export const encodeArgon2 = (
  type: string,
  {
    version = 19,
    memory,
    passes,
    parallelism,
  }: { version?: number; memory: number; passes: number; parallelism: number },
  salt: Buffer,
  hash: Buffer,
): string =>
  `$argon2${type}$v=${version}$m=${memory},t=${passes},p=${parallelism}$${phcBase64(salt)}$${phcBase64(hash)}`

export interface Salt {
  value: Buffer
  position: 'prefix' | 'suffix'
}

/** Encodes a digest of a password and a salt. @param encoding character encoding of the password; UTF-8 by default */
export const encodeDigest = (digest: Digest, hash: Buffer, salt?: Salt, encoding?: 'utf16le' | 'latin1'): string =>
  `$digest-${digest}$s=${salt?.position ?? 'prefix'}${encoding ? `,e=${encoding}` : ''}$${phcBase64(salt?.value ?? Buffer.alloc(0))}$${phcBase64(hash)}`

/** Encodes an HMAC of a password. @param encoding character encoding of the password; UTF-8 by default */
export const encodeHmac = (digest: Digest, key: Buffer, hash: Buffer, encoding?: 'utf16le' | 'latin1'): string =>
  `$hmac-${digest}$${encoding ? `e=${encoding}` : ''}$${phcBase64(key)}$${phcBase64(hash)}`

/**
 * Encodes an RFC 2307 hash: a scheme such as `{SSHA}`, followed by the base64 of the hash and the salt. Returns
 * undefined for schemes other than MD5 and SHA (SHA-1 and SHA-2), with or without a salt, and for other texts.
 */
export function encodeLdap(value: string): string | undefined {
  const [, scheme = '', body = ''] = /^\{(\w+)\}([A-Za-z0-9+/=]+)$/.exec(value) ?? []
  const [, salted, family = '', size = ''] = /^(s?)(md5|sha)(256|384|512)?$/i.exec(scheme) ?? []
  const digest = /md5/i.test(family) ? 'md5' : `sha${size || '1'}`
  if (!family || !isDigest(digest)) return undefined
  const bytes = Buffer.from(body, 'base64')
  const length = { md5: 16, sha1: 20, sha224: 28, sha256: 32, sha384: 48, sha512: 64 }[digest]
  if (!salted) return encodeDigest(digest, bytes)
  return encodeDigest(digest, bytes.subarray(0, length), { value: bytes.subarray(length), position: 'suffix' })
}
