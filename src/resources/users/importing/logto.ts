/**
 * Users of Logto: rows of its table `users` as JSON (snake case), of its Management API, or of a file made for its own
 * user migration (camel case, `passwordDigest` and `passwordAlgorithm`).
 */
import { isDigest } from '../../../platform/password-hashes.js'
import { digestForm, pbkdf2Form } from './hash-forms.js'
import type { ImportedUser } from './record.js'
import { given, type Json, list, moment, object, parsed, text } from './values.js'

/** A value under its name in the API or in the database. */
const either = (line: Json, camel: string): unknown =>
  line[camel] ?? line[camel.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]

/** Is this one of Logto's users? */
export const isLogto = (line: Json): boolean =>
  ['primaryEmail', 'primaryPhone', 'passwordEncrypted', 'passwordDigest', 'isSuspended'].some(
    (name) => either(line, name) !== undefined,
  )

export function fromLogto(line: Json): ImportedUser {
  const unsupported: string[] = []
  const profile = object(either(line, 'profile'))
  const email = text(either(line, 'primaryEmail'))
  const phone = text(either(line, 'primaryPhone'))
  const suspended = either(line, 'isSuspended') === true
  return given({
    externalId: text(line['id']) ?? email ?? text(line['username']) ?? phone ?? '',
    names: given({
      email,
      // Logto keeps numbers without the plus.
      phone: phone && (phone.startsWith('+') ? phone : `+${phone}`),
      unique: text(line['username']),
    }),
    // An address becomes the primary one by a code that was sent to it, or by an administrator's word.
    emailVerified: email !== undefined,
    profile: given({
      name: text(line['name']),
      picture: text(line['avatar']),
      given_name: text(profile['givenName']),
      family_name: text(profile['familyName']),
      nickname: text(profile['nickname']),
      locale: text(profile['locale']),
    }),
    metadata: object(either(line, 'customData')),
    status: suspended ? ('suspended' as const) : undefined,
    statusReason: suspended ? 'Suspended in Logto.' : undefined,
    passwordHash: passwordOf(line, unsupported),
    totpSecret: totpOf(line, unsupported),
    createdAt: moment(either(line, 'createdAt')),
    unsupported,
  })
}

function passwordOf(line: Json, unsupported: string[]): string | undefined {
  const value = text(either(line, 'passwordEncrypted')) ?? text(either(line, 'passwordDigest'))
  if (value === undefined) return undefined
  const method = text(either(line, 'passwordEncryptionMethod')) ?? text(either(line, 'passwordAlgorithm')) ?? ''
  const form = formOf(method.toLowerCase(), value)
  if (form === undefined)
    unsupported.push(`its password hash (${method || 'no algorithm named'}) is of a kind that is not taken`)
  return form
}

function formOf(method: string, value: string): string | undefined {
  if (method.startsWith('argon2') || method === 'bcrypt') return value
  if (isDigest(method)) return digestForm(method, Buffer.from(value, 'hex'))
  return method === 'legacy' ? legacyForm(value) : undefined
}

/**
 * `["sha256", ["salt", "@"], "hex"]`: the arguments joined and hashed, `@` being the password; and
 * `["pbkdf2", ["salt", "iterations", "length", "digest", "@"], "hex"]`.
 */
function legacyForm(value: string): string | undefined {
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
      ? pbkdf2Form(digest, Number(iterations), Buffer.from(salt), hash)
      : undefined
  }
  const at = args.indexOf('@')
  if (!isDigest(algorithm) || at < 0 || args.lastIndexOf('@') !== at) return undefined
  if (at > 0 && at < args.length - 1) return undefined
  const position = at === 0 ? 'suffix' : 'prefix'
  return digestForm(algorithm, hash, { value: Buffer.from(args.filter((word) => word !== '@').join('')), position })
}

function totpOf(line: Json, unsupported: string[]): string | undefined {
  const kept = either(line, 'mfaVerifications')
  const factors = list(typeof kept === 'string' ? Object.values(parsed(`{"factors": ${kept}}`))[0] : kept)
  let secret: string | undefined
  for (const factor of factors) {
    const type = text(factor['type'])
    if (type === 'Totp' && text(factor['key']) && secret === undefined) secret = String(factor['key']).toUpperCase()
    else if (type !== 'BackupCode') unsupported.push(`its second factor ${type} cannot be moved`)
  }
  return secret
}
