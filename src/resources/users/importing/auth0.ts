/**
 * Reads users of Auth0 from lines of an export with password hashes by Auth0 support (`passwordHash`, `_id.$oid`), from
 * lines of a user export, and from files for the bulk import of Auth0 (`custom_password_hash`, `mfa_factors`).
 */
import { isDigest } from '../../../platform/crypto/password-hashes.js'
import { encodeDigest, encodeHmac, encodeLdap, encodeScrypt, type Salt } from './hash-encoding.js'
import type { ImportRecord } from './record.js'
import { type JsonObject, nonEmptyString, objectOrEmpty, objectsOf, omitUndefined, timestampOf } from './values.js'

/** Returns whether a record has the form of an Auth0 user. */
export const isAuth0 = (line: JsonObject): boolean =>
  'custom_password_hash' in line ||
  'passwordHash' in line ||
  'password_hash' in line ||
  'mfa_factors' in line ||
  (typeof line['user_id'] === 'string' && ('identities' in line || 'email' in line || 'username' in line)) ||
  '$oid' in objectOrEmpty(line['_id'])

/** Converts an Auth0 user to an import record. */
export function fromAuth0(line: JsonObject): ImportRecord {
  const email = nonEmptyString(line['email'])
  const oid = nonEmptyString(objectOrEmpty(line['_id'])['$oid'])
  const unsupported: string[] = []
  const hash = passwordHashOf(line, unsupported)
  const totp = totpSecretOf(line, unsupported)
  const metadata = omitUndefined({
    app_metadata: line['app_metadata'] ?? undefined,
    user_metadata: line['user_metadata'] ?? undefined,
  })
  const createdAt = timestampOf(line['created_at'])
  return omitUndefined({
    externalId:
      nonEmptyString(line['user_id']) ?? (oid ? `auth0|${oid}` : (email ?? nonEmptyString(line['username']) ?? '')),
    names: omitUndefined({
      email,
      unique: nonEmptyString(line['username']),
      phone: nonEmptyString(line['phone_number']),
    }),
    emailVerified: line['email_verified'] === true,
    profile: omitUndefined({
      name: nonEmptyString(line['name']),
      given_name: nonEmptyString(line['given_name']),
      family_name: nonEmptyString(line['family_name']),
      nickname: nonEmptyString(line['nickname']),
      picture: nonEmptyString(line['picture']),
      locale: nonEmptyString(line['locale']),
      phone_number_verified: line['phone_verified'] === true ? true : undefined,
    }),
    metadata,
    status: line['blocked'] === true ? ('blocked' as const) : undefined,
    statusReason: line['blocked'] === true ? 'Blocked in Auth0.' : undefined,
    passwordHash: hash,
    passwordSetAt: timestampOf(line['password_set_date']),
    totpSecret: totp,
    createdAt,
    unsupported,
  })
}

function passwordHashOf(line: JsonObject, unsupported: string[]): string | undefined {
  const plain = nonEmptyString(line['passwordHash']) ?? nonEmptyString(line['password_hash'])
  if (plain !== undefined) return plain
  const custom = line['custom_password_hash']
  if (custom === undefined || custom === null) return undefined
  const encoded = encodeCustomHash(objectOrEmpty(custom))
  if (encoded === undefined) {
    const { algorithm } = objectOrEmpty(custom)
    unsupported.push(`the custom_password_hash (${String(algorithm)}) is incomplete or not supported`)
  }
  return encoded
}

const bytesOf = (value: unknown): Buffer | undefined => {
  const { value: data, encoding = 'utf8' } = objectOrEmpty(value) as { value?: unknown; encoding?: unknown }
  if (typeof data !== 'string') return undefined
  return ['hex', 'base64', 'utf8'].includes(String(encoding))
    ? Buffer.from(data, encoding as BufferEncoding)
    : undefined
}

/**
 * Encodes a `custom_password_hash`. Returns undefined if it is incomplete or not supported: md4 (which OpenSSL 3 does
 * not have) and other unknown algorithms, schemes of ldap that `encodeLdap` rejects, HMACs with a digest that
 * `isDigest` rejects, and unsupported encodings.
 */
function encodeCustomHash(custom: JsonObject): string | undefined {
  const algorithm = nonEmptyString(custom['algorithm']) ?? ''
  const { value, digest: hmacDigest } = objectOrEmpty(custom['hash'])
  const hash = bytesOf(custom['hash'])
  if (typeof value !== 'string' || hash === undefined) return undefined
  const encoding = passwordEncoding(objectOrEmpty(custom['password'])['encoding'])
  if (encoding === undefined) return undefined
  const passwordCharset = encoding === 'utf8' ? undefined : encoding
  if (algorithm === 'argon2' || algorithm === 'bcrypt') return passwordCharset ? undefined : value
  if (algorithm === 'pbkdf2') return passwordCharset ? undefined : value
  if (algorithm === 'ldap') return encodeLdap(value)
  const salt = bytesOf(custom['salt'])
  if (algorithm === 'scrypt') {
    const [n, r, p] = ['cost', 'blockSize', 'parallelization'].map((name) => Number(custom[name]))
    const length = Number(custom['keylen'])
    return passwordCharset || !salt || hash.length !== length ? undefined : encodeScrypt(n!, r!, p!, salt, hash)
  }
  if (algorithm === 'hmac') {
    const key = bytesOf(objectOrEmpty(custom['hash'])['key'])
    const name = String(hmacDigest)
    return key && isDigest(name) ? encodeHmac(name, key, hash, passwordCharset) : undefined
  }
  if (!isDigest(algorithm)) return undefined
  const position = objectOrEmpty(custom['salt'])['position'] === 'suffix' ? 'suffix' : 'prefix'
  const saltWithPosition: Salt | undefined = salt && { value: salt, position }
  return encodeDigest(algorithm, hash, saltWithPosition, passwordCharset)
}

function passwordEncoding(name: unknown): 'utf8' | 'utf16le' | 'latin1' | undefined {
  if (name === undefined || name === 'utf8' || name === 'ascii') return 'utf8'
  if (name === 'utf16le' || name === 'ucs2') return 'utf16le'
  return name === 'latin1' || name === 'binary' ? 'latin1' : undefined
}

function totpSecretOf(line: JsonObject, unsupported: string[]): string | undefined {
  let secret: string | undefined
  for (const factor of objectsOf(line['mfa_factors'])) {
    const totp = nonEmptyString(objectOrEmpty(factor['totp'])['secret'])
    if (totp && secret === undefined) secret = totp.replace(/[\s=]/g, '').toUpperCase()
    else unsupported.push(`the second factor ${Object.keys(factor).join(', ')} is not supported`)
  }
  return secret
}
