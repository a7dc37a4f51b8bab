/** Users as `gatehouse users export` writes them, one per line. Names are those of the REST contract. */
import type { User, Verifier } from '../../../platform/database.js'
import type { ImportedUser } from './record.js'
import { given, isJson, type Json, list, text } from './values.js'

const FORMAT = 'gatehouse.user'

export const isOwn = (line: Json): boolean => line['format'] === FORMAT

/** The values as they stand: what is wrong with them, the rules of the record say. */
export function fromOwn(line: Json): ImportedUser {
  const verifiers = list(line['verifiers'])
  const password = verifiers.find(({ type }) => type === 'password')
  const totp = verifiers.find(({ type }) => type === 'totp')
  const type = text(line['username_type']) ?? 'email'
  const value = <T>(name: string): T | undefined => (line[name] ?? undefined) as T | undefined
  return given({
    externalId: text(line['id']) ?? '',
    names: { [type]: line['username'] } as ImportedUser['names'],
    emailVerified: value<boolean>('email_verified'),
    profile: value<Json>('profile'),
    security: value<Json>('security'),
    compliance: value<Json>('compliance'),
    preferences: value<Json>('preferences'),
    customFields: value<Json>('custom_fields'),
    metadata: value<Json>('metadata'),
    scopes: value<string[]>('scopes'),
    region: value<string>('region'),
    status: value<ImportedUser['status'] & string>('status'),
    statusReason: value<string>('status_reason'),
    signupReason: value<string>('signup_reason'),
    triggeredRule: value<string>('triggered_rule'),
    passwordHash: password?.['hash'] as string | undefined,
    passwordSetAt: (password?.['secret_set_at'] ?? undefined) as number | undefined,
    mustChange: password?.['must_change'] as boolean | undefined,
    totpSecret: totp?.['secret'] as string | undefined,
    createdAt: value<number>('created_at'),
    unsupported: verifiers.some((verifier) => verifier['type'] === 'passkey')
      ? ['its passkey belongs to the address where it was made']
      : undefined,
  })
}

/**
 * A line of the export.
 * @param open reads a sealed secret; without it no secret and no hash comes along
 */
export function toOwn(user: User & { verifiers: Verifier[] }, open: ((sealed: string) => string) | undefined): Json {
  const custom = isJson(user.customFields) ? user.customFields : {}
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
    ...(open && { verifiers: user.verifiers.flatMap((verifier) => secretsOf(verifier, open)) }),
  }
}

function secretsOf(verifier: Verifier, open: (sealed: string) => string): Json[] {
  const { type, hash, sealed, mustChange, secretSetAt } = verifier
  if (type === 'password' && hash) {
    const secret_set_at = secretSetAt === null ? null : Number(secretSetAt)
    return [{ type, hash, must_change: mustChange, secret_set_at }]
  }
  if (type === 'totp' && sealed) return [{ type, secret: open(sealed) }]
  // Bound to the address where it was made: only that there is one.
  return type === 'passkey' ? [{ type }] : []
}
