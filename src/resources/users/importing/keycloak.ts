/**
 * Users of Keycloak: of a realm export (one file with the realm, or files of users), or lines of its UserRepresentation.
 * Hashes stand in `credentials` as JSON within JSON (`secretData`, `credentialData`); before version 8 as plain fields.
 */
import { Secret } from 'otpauth'
import { argon2Form, pbkdf2Form } from './hash-forms.js'
import { type ImportedUser, Refused } from './record.js'
import { given, type Json, list, moment, object, parsed, text } from './values.js'

/** Is this one of Keycloak's users? */
export const isKeycloak = (line: Json): boolean =>
  'createdTimestamp' in line || 'requiredActions' in line || ('enabled' in line && 'username' in line)

export function fromKeycloak(line: Json): ImportedUser {
  if (text(line['serviceAccountClientId'])) {
    const fix = 'Nothing to do: make a machine-to-machine client in its place.'
    throw new Refused('service_account', 'It is the service account of a client, not a person.', fix)
  }
  const unsupported: string[] = []
  const kept = credentialsOf(list(line['credentials']), unsupported)
  const attributes = plainAttributes(object(line['attributes']))
  const username = text(line['username'])
  const email = text(line['email'])
  const actions = Array.isArray(line['requiredActions']) ? line['requiredActions'] : []
  const name = [text(line['firstName']), text(line['lastName'])].filter(Boolean).join(' ')
  const disabled = line['enabled'] === false
  return given({
    externalId: text(line['id']) ?? username ?? '',
    // A realm where people sign in with their address repeats it as the username.
    names: given({
      email: email ?? (username?.includes('@') ? username : undefined),
      unique: username?.includes('@') ? undefined : username,
      phone: text(attributes['phoneNumber']) ?? text(attributes['phone_number']),
    }),
    emailVerified: line['emailVerified'] === true,
    profile: given({
      name: text(name),
      given_name: text(line['firstName']),
      family_name: text(line['lastName']),
      locale: text(attributes['locale']),
      picture: text(attributes['picture']),
    }),
    metadata: attributes,
    status: disabled ? ('blocked' as const) : undefined,
    statusReason: disabled ? 'Disabled in Keycloak.' : undefined,
    ...kept,
    mustChange: kept.mustChange || actions.includes('UPDATE_PASSWORD'),
    createdAt: moment(line['createdTimestamp']),
    unsupported,
  })
}

/** Keycloak has lists only; those of one value are meant as that value. */
const plainAttributes = (attributes: Json): Json =>
  Object.fromEntries(
    Object.entries(attributes).map(([key, value]) => [
      key,
      Array.isArray(value) && value.length === 1 ? value[0] : value,
    ]),
  )

type Kept = Pick<ImportedUser, 'passwordHash' | 'passwordSetAt' | 'totpSecret'> & { mustChange: boolean }

function credentialsOf(credentials: readonly Json[], unsupported: string[]): Kept {
  const kept: Kept = { mustChange: false }
  for (const credential of credentials) {
    const type = text(credential['type']) ?? 'password'
    if (type === 'password' && kept.passwordHash === undefined) {
      const hash = passwordOf(credential)
      if (hash === undefined) unsupported.push('its password is not hashed, or by an algorithm that is not taken')
      else Object.assign(kept, given({ passwordHash: hash, passwordSetAt: moment(credential['createdDate']) }))
      kept.mustChange = credential['temporary'] === true
    } else if ((type === 'otp' || type === 'totp') && kept.totpSecret === undefined) {
      const secret = totpOf(credential)
      if (secret === undefined)
        unsupported.push('its one-time codes are not time-based with SHA-1, 6 digits, 30 seconds')
      else kept.totpSecret = secret
    } else if (type !== 'recovery-authn-codes') {
      // Recovery codes only stand in for another factor, and are made anew.
      unsupported.push(`its ${type} credential cannot be moved, or there is one of the kind already`)
    }
  }
  return kept
}

const pbkdf2Digests: Readonly<Record<string, string>> = {
  pbkdf2: 'sha1',
  'pbkdf2-sha1': 'sha1',
  'pbkdf2-sha256': 'sha256',
  'pbkdf2-sha512': 'sha512',
}

function passwordOf(credential: Json): string | undefined {
  const secret = parsed(credential['secretData'])
  const data = parsed(credential['credentialData'])
  const value = text(secret['value']) ?? text(credential['hashedSaltedValue'])
  const saltText = text(secret['salt']) ?? text(credential['salt']) ?? ''
  const algorithm = text(data['algorithm']) ?? text(credential['algorithm']) ?? 'pbkdf2'
  const iterations = Number(data['hashIterations'] ?? credential['hashIterations'] ?? 0)
  if (value === undefined) return undefined
  // Extensions that hash with bcrypt keep its own notation.
  if (algorithm === 'bcrypt') return value
  const [salt, hash] = [Buffer.from(saltText, 'base64'), Buffer.from(value, 'base64')]
  const digest = pbkdf2Digests[algorithm]
  if (digest) return pbkdf2Form(digest, iterations, salt, hash)
  if (algorithm !== 'argon2') return undefined
  const parameters = object(data['additionalParameters'])
  const first = (name: string): string | undefined => {
    const list = parameters[name]
    return Array.isArray(list) ? text(String(list[0])) : undefined
  }
  const version = first('version') === '1.0' ? 16 : 19
  const cost = {
    version,
    memory: Number(first('memory')),
    passes: iterations,
    lanes: Number(first('parallelism') ?? 1),
  }
  return argon2Form(first('type') ?? 'id', cost, salt, hash)
}

/** Keycloak hashes the characters of the secret itself, unless it says that they are base32. */
function totpOf(credential: Json): string | undefined {
  const data = parsed(credential['credentialData'])
  const value = text(parsed(credential['secretData'])['value'])
  const { subType = 'totp', digits = 6, period = 30, algorithm = 'HmacSHA1', secretEncoding } = data
  if (value === undefined || subType !== 'totp' || digits !== 6 || period !== 30 || algorithm !== 'HmacSHA1')
    return undefined
  return secretEncoding === 'BASE32' ? value.replace(/=+$/, '').toUpperCase() : Secret.fromUTF8(value).base32
}
