/**
 * Reads users of Logto from rows of Logto's table `users` as JSON (snake case), from responses of the Management API
 * (camel case), or from a file for the user migration of Logto (camel case, `passwordDigest` and `passwordAlgorithm`).
 */
import { isDigest } from '../../../platform/crypto/password-hashes.js'
import { encodeDigest, encodePbkdf2 } from './hash-encoding.js'
import type { ImportRecord } from './record.js'
import {
  type JsonObject,
  nonEmptyString,
  objectOrEmpty,
  objectsOf,
  omitUndefined,
  parseNestedJson,
  timestampOf,
} from './values.js'

/** Returns the value of a field by its name in the API or by the name of its column. */
const camelOrSnake = (line: JsonObject, camel: string): unknown =>
  line[camel] ?? line[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]

/** Returns whether a record has the form of a Logto user. */
export const isLogto = (line: JsonObject): boolean =>
  ['primaryEmail', 'primaryPhone', 'passwordEncrypted', 'passwordDigest', 'isSuspended'].some(
    (name) => camelOrSnake(line, name) !== undefined,
  )

/** Converts a Logto user to an import record. */
export function fromLogto(line: JsonObject): ImportRecord {
  const unsupported: string[] = []
  const profile = objectOrEmpty(camelOrSnake(line, 'profile'))
  const email = nonEmptyString(camelOrSnake(line, 'primaryEmail'))
  const phone = nonEmptyString(camelOrSnake(line, 'primaryPhone'))
  const suspended = camelOrSnake(line, 'isSuspended') === true
  return omitUndefined({
    externalId: nonEmptyString(line['id']) ?? email ?? nonEmptyString(line['username']) ?? phone ?? '',
    names: omitUndefined({
      email,
      // Logto stores phone numbers without the plus sign.
      phone: phone && (phone.startsWith('+') ? phone : `+${phone}`),
      unique: nonEmptyString(line['username']),
    }),
    // In Logto a user's primary email was verified with a code or set by an administrator.
    emailVerified: email !== undefined,
    profile: omitUndefined({
      name: nonEmptyString(line['name']),
      picture: nonEmptyString(line['avatar']),
      given_name: nonEmptyString(profile['givenName']),
      family_name: nonEmptyString(profile['familyName']),
      nickname: nonEmptyString(profile['nickname']),
      locale: nonEmptyString(profile['locale']),
    }),
    metadata: objectOrEmpty(camelOrSnake(line, 'customData')),
    status: suspended ? ('suspended' as const) : undefined,
    statusReason: suspended ? 'Suspended in Logto.' : undefined,
    passwordHash: passwordHashOf(line, unsupported),
    totpSecret: totpSecretOf(line, unsupported),
    createdAt: timestampOf(camelOrSnake(line, 'createdAt')),
    unsupported,
  })
}

function passwordHashOf(line: JsonObject, unsupported: string[]): string | undefined {
  const value =
    nonEmptyString(camelOrSnake(line, 'passwordEncrypted')) ?? nonEmptyString(camelOrSnake(line, 'passwordDigest'))
  if (value === undefined) return undefined
  const method =
    nonEmptyString(camelOrSnake(line, 'passwordEncryptionMethod')) ??
    nonEmptyString(camelOrSnake(line, 'passwordAlgorithm')) ??
    ''
  const encoded = encodeHash(method.toLowerCase(), value)
  if (encoded === undefined) unsupported.push(`the password hash (${method || 'no algorithm'}) is not supported`)
  return encoded
}

function encodeHash(method: string, value: string): string | undefined {
  if (method.startsWith('argon2') || method === 'bcrypt') return value
  if (isDigest(method)) return encodeDigest(method, Buffer.from(value, 'hex'))
  return method === 'legacy' ? encodeLegacyHash(value) : undefined
}

/**
 * Encodes a hash of the method `Legacy`: a JSON text in one of two forms, in which `@` is the place of the password.
 * - `["sha256", ["salt", "@"], "hex"]`: the digest of the joined arguments, with `@` as the first or last argument
 * - `["pbkdf2", ["salt", "iterations", "length", "digest", "@"], "hex"]`
 * Returns undefined for other texts.
 */
function encodeLegacyHash(value: string): string | undefined {
  let expression: unknown
  try {
    expression = JSON.parse(value)
  } catch {
    return undefined
  }
  const [algorithm, words, hex] = Array.isArray(expression) ? expression : []
  if (typeof algorithm !== 'string' || typeof hex !== 'string' || !Array.isArray(words)) return undefined
  const hash = Buffer.from(hex, 'hex')
  const args = words.map(String)
  if (algorithm === 'pbkdf2') {
    const [salt = '', iterations, , digest = ''] = args
    return args.length === 5 && args[4] === '@'
      ? encodePbkdf2(digest, Number(iterations), Buffer.from(salt), hash)
      : undefined
  }
  const index = args.indexOf('@')
  if (!isDigest(algorithm) || index < 0 || args.lastIndexOf('@') !== index) return undefined
  if (index > 0 && index < args.length - 1) return undefined
  const position = index === 0 ? 'suffix' : 'prefix'
  return encodeDigest(algorithm, hash, { value: Buffer.from(args.filter((word) => word !== '@').join('')), position })
}

function totpSecretOf(line: JsonObject, unsupported: string[]): string | undefined {
  const verifications = camelOrSnake(line, 'mfaVerifications')
  const factors = objectsOf(
    typeof verifications === 'string'
      ? Object.values(parseNestedJson(`{"factors": ${verifications}}`))[0]
      : verifications,
  )
  let secret: string | undefined
  for (const factor of factors) {
    const type = nonEmptyString(factor['type'])
    if (type === 'Totp' && nonEmptyString(factor['key']) && secret === undefined)
      secret = String(factor['key']).toUpperCase()
    else if (type !== 'BackupCode') unsupported.push(`the second factor ${type} is not supported`)
  }
  return secret
}
