/**
 * Reads users of Keycloak (UserRepresentation) from a realm export or from lines of JSON. Their `credentials` contain
 * hashes as JSON texts (`secretData`, `credentialData`); exports of versions before 8 contain them as plain fields.
 */
import { Secret } from 'otpauth'
import { encodeArgon2, encodePbkdf2 } from './hash-encoding.js'
import { type ImportRecord, RecordError } from './record.js'
import {
  type JsonObject,
  nonEmptyString,
  objectOrEmpty,
  objectsOf,
  omitUndefined,
  parseNestedJson,
  timestampOf,
} from './values.js'

/** Returns whether a record has the form of a Keycloak user. */
export const isKeycloak = (line: JsonObject): boolean =>
  'createdTimestamp' in line || 'requiredActions' in line || ('enabled' in line && 'username' in line)

/** Converts a Keycloak user to an import record. @throws RecordError for the service account of a client */
export function fromKeycloak(line: JsonObject): ImportRecord {
  if (nonEmptyString(line['serviceAccountClientId'])) {
    const fix = 'Create a machine-to-machine client instead, if the service still needs one.'
    throw new RecordError('service_account', 'The record is the service account of a client, not a person.', fix)
  }
  const unsupported: string[] = []
  const imported = credentialsOf(objectsOf(line['credentials']), unsupported)
  const attributes = unwrapAttributes(objectOrEmpty(line['attributes']))
  const username = nonEmptyString(line['username'])
  const email = nonEmptyString(line['email'])
  const actions = Array.isArray(line['requiredActions']) ? line['requiredActions'] : []
  const name = [nonEmptyString(line['firstName']), nonEmptyString(line['lastName'])].filter(Boolean).join(' ')
  const disabled = line['enabled'] === false
  return omitUndefined({
    externalId: nonEmptyString(line['id']) ?? username ?? '',
    // In a realm that uses email addresses as usernames, the username is the email address.
    names: omitUndefined({
      email: email ?? (username?.includes('@') ? username : undefined),
      unique: username?.includes('@') ? undefined : username,
      phone: nonEmptyString(attributes['phoneNumber']) ?? nonEmptyString(attributes['phone_number']),
    }),
    emailVerified: line['emailVerified'] === true,
    profile: omitUndefined({
      name: nonEmptyString(name),
      given_name: nonEmptyString(line['firstName']),
      family_name: nonEmptyString(line['lastName']),
      locale: nonEmptyString(attributes['locale']),
      picture: nonEmptyString(attributes['picture']),
    }),
    metadata: attributes,
    status: disabled ? ('blocked' as const) : undefined,
    statusReason: disabled ? 'Disabled in Keycloak.' : undefined,
    ...imported,
    mustChange: imported.mustChange || actions.includes('UPDATE_PASSWORD'),
    createdAt: timestampOf(line['createdTimestamp']),
    unsupported,
  })
}

/** Replaces attributes with one value, which Keycloak stores as lists, by that value. */
const unwrapAttributes = (attributes: JsonObject): JsonObject =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      Array.isArray(value) && value.length === 1 ? value[0] : value,
    ]),
  )

type ImportedCredentials = Pick<ImportRecord, 'passwordHash' | 'passwordSetAt' | 'totpSecret'> & { mustChange: boolean }

function credentialsOf(credentials: readonly JsonObject[], unsupported: string[]): ImportedCredentials {
  const imported: ImportedCredentials = { mustChange: false }
  for (const credential of credentials) {
    const type = nonEmptyString(credential['type']) ?? 'password'
    if (type === 'password' && imported.passwordHash === undefined) {
      const hash = passwordHashOf(credential)
      if (hash === undefined)
        unsupported.push('the password is not hashed, or is hashed with an algorithm that is not supported')
      else
        Object.assign(
          imported,
          omitUndefined({ passwordHash: hash, passwordSetAt: timestampOf(credential['createdDate']) }),
        )
      imported.mustChange = credential['temporary'] === true
    } else if ((type === 'otp' || type === 'totp') && imported.totpSecret === undefined) {
      const secret = totpSecretOf(credential)
      if (secret === undefined)
        unsupported.push('the one-time codes have no secret or are not TOTP with SHA-1, 6 digits and 30 seconds')
      else imported.totpSecret = secret
    } else if (type !== 'recovery-authn-codes') {
      // Recovery codes are left out without an error, because they only replace another factor and users can create new
      // ones.
      unsupported.push(`the ${type} credential is not supported, or is a second one of this type`)
    }
  }
  return imported
}

const pbkdf2Digests: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha1': 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
}

function passwordHashOf(credential: JsonObject): string | undefined {
  const secret = parseNestedJson(credential['secretData'])
  const data = parseNestedJson(credential['credentialData'])
  const value = nonEmptyString(secret['value']) ?? nonEmptyString(credential['hashedSaltedValue'])
  const saltText = nonEmptyString(secret['salt']) ?? nonEmptyString(credential['salt']) ?? ''
  const algorithm = nonEmptyString(data['algorithm']) ?? nonEmptyString(credential['algorithm']) ?? 'pbkdf2'
  const iterations = Number(data['hashIterations'] ?? credential['hashIterations'] ?? 0)
  if (value === undefined) return undefined
  // Keycloak extensions for bcrypt store the hash in the format of bcrypt.
  if (algorithm === 'bcrypt') return value
  const [salt, hash] = [Buffer.from(saltText, 'base64'), Buffer.from(value, 'base64')]
  const digest = pbkdf2Digests[algorithm]
  if (digest) return encodePbkdf2(digest, iterations, salt, hash)
  if (algorithm !== 'argon2') return undefined
  const parameters = objectOrEmpty(data['additionalParameters'])
  const first = (name: string): string | undefined => {
    const list = parameters[name]
    return Array.isArray(list) ? nonEmptyString(String(list[0])) : undefined
  }
  const version = first('version') === '1.0' ? 16 : 19
  const cost = {
    version,
    memory: Number(first('memory')),
    passes: iterations,
    parallelism: Number(first('parallelism') ?? 1),
  }
  return encodeArgon2(first('type') ?? 'id', cost, salt, hash)
}

/**
 * Returns the TOTP secret in base32; undefined if it is missing or if the codes are not TOTP with SHA-1, 6 digits and
 * 30 seconds. Keycloak uses the characters of the secret as the key, unless `secretEncoding` is BASE32.
 */
function totpSecretOf(credential: JsonObject): string | undefined {
  const data = parseNestedJson(credential['credentialData'])
  const value = nonEmptyString(parseNestedJson(credential['secretData'])['value'])
  const { subType = 'totp', digits = 6, period = 30, algorithm = 'HmacSHA1', secretEncoding } = data
  if (value === undefined || subType !== 'totp' || digits !== 6 || period !== 30 || algorithm !== 'HmacSHA1')
    return undefined
  return secretEncoding === 'BASE32' ? value.replace(/=+$/, '').toUpperCase() : Secret.fromUTF8(value).base32
}
