/**
 * Users of Auth0: lines of its export with password hashes (support makes it: `passwordHash`, `_id.$oid`), of its user
 * export, and files in the schema of its bulk import (`custom_password_hash`, `mfa_factors`).
 */
import { isDigest } from '../../../platform/password-hashes.js'
import { digestForm, hmacForm, ldapForm, type Salt, scryptForm } from './hash-forms.js'
import type { ImportedUser } from './record.js'
import { given, type Json, list, moment, object, text } from './values.js'

/** Is this line one of Auth0's? */
export const isAuth0 = (line: Json): boolean =>
  'custom_password_hash' in line ||
  'passwordHash' in line ||
  'password_hash' in line ||
  'mfa_factors' in line ||
  (typeof line['user_id'] === 'string' && ('identities' in line || 'email' in line || 'username' in line)) ||
  '$oid' in object(line['_id'])

export function fromAuth0(line: Json): ImportedUser {
  const email = text(line['email'])
  const oid = text(object(line['_id'])['$oid'])
  const unsupported: string[] = []
  const hash = passwordOf(line, unsupported)
  const totp = factorsOf(line, unsupported)
  const metadata = given({
    app_metadata: line['app_metadata'] ?? undefined,
    user_metadata: line['user_metadata'] ?? undefined,
  })
  const createdAt = moment(line['created_at'])
  return given({
    externalId: text(line['user_id']) ?? (oid ? `auth0|${oid}` : (email ?? text(line['username']) ?? '')),
    names: given({ email, unique: text(line['username']), phone: text(line['phone_number']) }),
    emailVerified: line['email_verified'] === true,
    profile: given({
      name: text(line['name']),
      given_name: text(line['given_name']),
      family_name: text(line['family_name']),
      nickname: text(line['nickname']),
      picture: text(line['picture']),
      locale: text(line['locale']),
      phone_number_verified: line['phone_verified'] === true ? true : undefined,
    }),
    metadata,
    status: line['blocked'] === true ? ('blocked' as const) : undefined,
    statusReason: line['blocked'] === true ? 'Blocked in Auth0.' : undefined,
    passwordHash: hash,
    passwordSetAt: moment(line['password_set_date']),
    totpSecret: totp,
    createdAt,
    unsupported,
  })
}

function passwordOf(line: Json, unsupported: string[]): string | undefined {
  const plain = text(line['passwordHash']) ?? text(line['password_hash'])
  if (plain !== undefined) return plain
  const custom = line['custom_password_hash']
  if (custom === undefined || custom === null) return undefined
  const form = customForm(object(custom))
  if (form === undefined) {
    const { algorithm } = object(custom)
    unsupported.push(`its custom_password_hash (${String(algorithm)}) is incomplete or of a kind that is not taken`)
  }
  return form
}

const bytesOf = (value: unknown): Buffer | undefined => {
  const { value: data, encoding = 'utf8' } = object(value) as { value?: unknown; encoding?: unknown }
  if (typeof data !== 'string') return undefined
  return ['hex', 'base64', 'utf8'].includes(String(encoding))
    ? Buffer.from(data, encoding as BufferEncoding)
    : undefined
}

/** The documented algorithms but for md4, which today's OpenSSL does not have, and the crypt scheme of ldap. */
function customForm(custom: Json): string | undefined {
  const algorithm = text(custom['algorithm']) ?? ''
  const { value, digest: hmacDigest } = object(custom['hash'])
  const hash = bytesOf(custom['hash'])
  if (typeof value !== 'string' || hash === undefined) return undefined
  const encoding = passwordEncoding(object(custom['password'])['encoding'])
  if (encoding === undefined) return undefined
  const typed = encoding === 'utf8' ? undefined : encoding
  if (algorithm === 'argon2' || algorithm === 'bcrypt') return typed ? undefined : value
  if (algorithm === 'pbkdf2') return typed ? undefined : value
  if (algorithm === 'ldap') return ldapForm(value)
  const salt = bytesOf(custom['salt'])
  if (algorithm === 'scrypt') {
    const [n, r, p] = ['cost', 'blockSize', 'parallelization'].map((name) => Number(custom[name]))
    const length = Number(custom['keylen'])
    return typed || !salt || hash.length !== length ? undefined : scryptForm(n!, r!, p!, salt, hash)
  }
  if (algorithm === 'hmac') {
    const key = bytesOf(object(custom['hash'])['key'])
    const name = String(hmacDigest)
    return key && isDigest(name) ? hmacForm(name, key, hash, typed) : undefined
  }
  if (!isDigest(algorithm)) return undefined
  const position = object(custom['salt'])['position'] === 'suffix' ? 'suffix' : 'prefix'
  const placed: Salt | undefined = salt && { value: salt, position }
  return digestForm(algorithm, hash, placed, typed)
}

function passwordEncoding(name: unknown): 'utf8' | 'utf16le' | 'latin1' | undefined {
  if (name === undefined || name === 'utf8' || name === 'ascii') return 'utf8'
  if (name === 'utf16le' || name === 'ucs2') return 'utf16le'
  return name === 'latin1' || name === 'binary' ? 'latin1' : undefined
}

function factorsOf(line: Json, unsupported: string[]): string | undefined {
  let secret: string | undefined
  for (const factor of list(line['mfa_factors'])) {
    const totp = text(object(factor['totp'])['secret'])
    if (totp && secret === undefined) secret = totp.replace(/[\s=]/g, '').toUpperCase()
    else unsupported.push(`its second factor ${Object.keys(factor).join(', ')} has no counterpart here`)
  }
  return secret
}
