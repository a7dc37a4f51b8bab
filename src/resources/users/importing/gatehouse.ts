/** The format of `gatehouse users export`: one user per line, with the field names of the REST API. */
import type { User, Verifier } from '../../../platform/postgres/database.js'
import type { ImportRecord } from './record.js'
import { isJsonObject, type JsonObject, nonEmptyString, objectsOf, omitUndefined } from './values.js'

const FORMAT = 'gatehouse.user'

export const isGatehouse = (line: JsonObject): boolean => line['format'] === FORMAT

/** Converts a line of the export to an import record without checking its values. `checkRecord` validates them. */
export function fromGatehouse(line: JsonObject): ImportRecord {
  const verifiers = objectsOf(line['verifiers'])
  const password = verifiers.find(({ type }) => type === 'password')
  const totp = verifiers.find(({ type }) => type === 'totp')
  const type = nonEmptyString(line['username_type']) ?? 'email'
  const value = <T>(name: string): T | undefined => (line[name] ?? undefined) as T | undefined
  return omitUndefined({
    externalId: nonEmptyString(line['id']) ?? '',
    names: { [type]: line['username'] } as ImportRecord['names'],
    emailVerified: value<boolean>('email_verified'),
    profile: value<JsonObject>('profile'),
    security: value<JsonObject>('security'),
    compliance: value<JsonObject>('compliance'),
    preferences: value<JsonObject>('preferences'),
    customFields: value<JsonObject>('custom_fields'),
    metadata: value<JsonObject>('metadata'),
    scopes: value<string[]>('scopes'),
    region: value<string>('region'),
    status: value<ImportRecord['status'] & string>('status'),
    statusReason: value<string>('status_reason'),
    signupReason: value<string>('signup_reason'),
    triggeredRule: value<string>('triggered_rule'),
    passwordHash: password?.['hash'] as string | undefined,
    passwordSetAt: (password?.['secret_set_at'] ?? undefined) as number | undefined,
    mustChange: password?.['must_change'] as boolean | undefined,
    totpSecret: totp?.['secret'] as string | undefined,
    createdAt: value<number>('created_at'),
    unsupported: verifiers.some((verifier) => verifier['type'] === 'passkey')
      ? ['the passkey works only at the host where it was registered']
      : undefined,
  })
}

/**
 * Returns the line of a user in the export.
 * @param decrypt decrypts a stored secret; if undefined, the line contains no credentials
 */
export function toGatehouse(
  user: User & { verifiers: Verifier[] },
  decrypt: ((ciphertext: string) => string) | undefined,
): JsonObject {
  const custom = isJsonObject(user.customFields) ? user.customFields : {}
  return {
    format: FORMAT,
    id: user.id,
    username_type: user.usernameType,
    username: user.username,
    email_verified: user.emailVerified,
    status: user.status,
    status_reason: user.statusReason,
    profile: user.profile,
    security: user.security,
    compliance: user.compliance,
    preferences: user.preferences,
    custom_fields: custom,
    metadata: user.metadata,
    scopes: user.scopes,
    region: user.region,
    signup_reason: user.signupReason,
    triggered_rule: user.triggeredRule,
    created_at: Number(user.createdAt),
    ...(decrypt && { verifiers: user.verifiers.flatMap((verifier) => exportCredentials(verifier, decrypt)) }),
  }
}

function exportCredentials(verifier: Verifier, decrypt: (ciphertext: string) => string): JsonObject[] {
  const { type, hash, encryptedSecret, mustChange, secretSetAt } = verifier
  if (type === 'password' && hash) {
    const secret_set_at = secretSetAt === null ? null : Number(secretSetAt)
    return [{ type, hash, must_change: mustChange, secret_set_at }]
  }
  if (type === 'totp' && encryptedSecret) return [{ type, secret: decrypt(encryptedSecret) }]
  // A passkey works only at the host where it was registered, so only its type is exported. Other types are left out.
  return type === 'passkey' ? [{ type }] : []
}
