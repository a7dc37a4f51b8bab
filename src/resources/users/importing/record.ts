/** The form to which the users of all products are converted before they are imported, and its rules. */
import { z } from 'zod'
import { ApiError } from '../../../kernel/errors.js'
import { checkInput, fieldSchemas } from '../../../kernel/input.js'
import { limits } from '../../../kernel/limits.js'
import { isPlatformScope } from '../../../kernel/scopes.js'
import { passwordHashError } from '../../../platform/crypto/password-hashes.js'
import { profileRules } from '../profile.js'
import { UsernameType } from '../user.js'
import { checkUsername, isEmail } from '../usernames.js'

/** A user of another product or another Gatehouse deployment. */
export interface ImportRecord {
  /** The id in the other product. */
  externalId: string
  /** The identifiers of the user by type. `ImportChoices.login` selects the one that becomes the username. */
  names: Partial<Record<UsernameType, string>>
  emailVerified?: boolean
  /** Claims of the user, such as `name` and `picture` (OpenID Connect Core section 5.1). */
  profile?: Record<string, unknown>
  security?: Record<string, unknown>
  compliance?: Record<string, unknown>
  preferences?: Record<string, unknown>
  customFields?: Record<string, unknown>
  metadata?: Record<string, unknown>
  scopes?: string[]
  region?: string | null
  status?: 'active' | 'suspended' | 'blocked' | 'pending_approval'
  statusReason?: string | null
  signupReason?: string | null
  triggeredRule?: string | null
  /** The password hash in a format of platform/crypto/password-hashes.ts. */
  passwordHash?: string
  /** When the password was set (Unix milliseconds). */
  passwordSetAt?: number
  /** Whether the user must change the password at the next sign-in. */
  mustChange?: boolean
  /** The secret of an authenticator app in base32, for codes with SHA-1, 6 digits and 30 seconds. */
  totpSecret?: string
  /** When the other product created the user (Unix milliseconds). */
  createdAt?: number
  /** Why credentials cannot be imported, each as a clause such as `the second factor sms is not supported`. */
  unsupported?: string[]
}

/** Thrown for a record that cannot be imported. `reason` is a stable code; `fix` says how to correct the record. */
export class RecordError extends Error {
  constructor(
    readonly reason: string,
    message: string,
    readonly fix: string,
  ) {
    super(message)
  }
}

const optionalObject = fieldSchemas.object.optional()
const recordRules = z.strictObject({
  externalId: fieldSchemas.text(limits.maxImportedExternalIdLength).min(1, 'must not be empty.'),
  names: z.partialRecord(z.enum(UsernameType), fieldSchemas.text(limits.maxUsernameLength)),
  emailVerified: fieldSchemas.boolean.optional(),
  profile: profileRules.optional(),
  security: optionalObject,
  compliance: optionalObject,
  preferences: optionalObject,
  customFields: optionalObject,
  metadata: fieldSchemas.metadata.optional(),
  scopes: fieldSchemas.scopes.optional(),
  region: fieldSchemas.text(64).nullable().optional(),
  status: z.enum(['active', 'suspended', 'blocked', 'pending_approval']).optional(),
  statusReason: fieldSchemas.text().nullable().optional(),
  signupReason: fieldSchemas.text().nullable().optional(),
  triggeredRule: fieldSchemas.text().nullable().optional(),
  passwordHash: fieldSchemas.text(limits.maxImportedPasswordHashLength).optional(),
  passwordSetAt: fieldSchemas.timestamp.optional(),
  mustChange: fieldSchemas.boolean.optional(),
  totpSecret: fieldSchemas.text(limits.maxImportedTotpSecretLength).optional(),
  createdAt: fieldSchemas.timestamp.optional(),
  unsupported: z.array(z.string()).optional(),
})

export interface ImportChoices {
  /**
   * Types of identifiers by preference. The first one that a user has becomes the username. A user without any of them
   * gets another identifier as the username.
   */
  login: readonly UsernameType[]
  /** Whether users are imported without their unsupported credentials. If not, such users are refused. */
  dropUnsupported: boolean
}

/** A valid record with the selected username. */
export interface CheckedRecord extends ImportRecord {
  usernameType: UsernameType
  username: string
}

/**
 * Checks a record and selects its username. The other identifiers of the user are added to the profile, except an email
 * address in an invalid form.
 * @throws RecordError
 */
export function checkRecord(record: ImportRecord, { login, dropUnsupported }: ImportChoices): CheckedRecord {
  checkShape(record)
  const usernameType = [...login, ...Object.values(UsernameType)].find((type) => record.names[type]?.trim())
  if (!usernameType) {
    throw new RecordError(
      'no_username',
      'The record has no email address, username or phone number.',
      'Add an email address, a username or a phone number.',
    )
  }
  const username = record.names[usernameType]!.trim()
  withRecordError(
    'invalid_username',
    'Correct the username, or choose another identifier type (`login`; `--login` on the command line).',
    () => checkUsername(usernameType, username),
  )
  const platformScope = record.scopes?.find(isPlatformScope)
  if (platformScope !== undefined) {
    const fix = 'Remove the scope. An administrator can add it to the user after the import.'
    throw new RecordError(
      'platform_scope',
      `The record has the platform scope ${platformScope}, which an import cannot grant.`,
      fix,
    )
  }
  const unsupported = [...(record.unsupported ?? [])]
  const hashProblem = record.passwordHash === undefined ? undefined : passwordHashError(record.passwordHash)
  if (hashProblem !== undefined) unsupported.push(`the password hash ${hashProblem}`)
  if (record.totpSecret !== undefined && !/^[A-Z2-7]{16,}$/.test(record.totpSecret))
    unsupported.push('the TOTP secret is not base32 (upper case, without padding) of at least 80 bits')
  if (unsupported.length > 0 && !dropUnsupported) {
    const fix =
      'Correct the record, or import such users without these credentials (`dropUnsupported`; `--drop-unsupported` on the command line).'
    throw new RecordError(
      'unsupported_credential',
      `Some credentials cannot be imported: ${unsupported.join('; ')}.`,
      fix,
    )
  }
  const { passwordHash, totpSecret, ...rest } = record
  const isTotpSupported = totpSecret !== undefined && /^[A-Z2-7]{16,}$/.test(totpSecret)
  return {
    ...rest,
    ...(passwordHash !== undefined && hashProblem === undefined && { passwordHash }),
    ...(isTotpSupported && { totpSecret }),
    profile: profileOf(record, usernameType),
    emailVerified: record.emailVerified ?? false,
    usernameType,
    username,
  }
}

function checkShape(record: ImportRecord): void {
  withRecordError('invalid_record', 'Correct the field in the file.', () => checkInput(recordRules, record))
}

function withRecordError(reason: string, fix: string, runCheck: () => void): void {
  try {
    runCheck()
  } catch (error) {
    if (error instanceof ApiError) throw new RecordError(reason, error.message, fix)
    throw error
  }
}

/**
 * Returns the profile, with the email address, phone number and username of the record that do not become the username.
 * An email address in an invalid form is left out.
 */
function profileOf({ profile, names }: ImportRecord, usernameType: UsernameType): Record<string, unknown> {
  const { email, phone, unique } = names
  return {
    ...profile,
    ...(email && usernameType !== 'email' && isEmail(email) && { email }),
    ...(phone && usernameType !== 'phone' && { phone_number: phone }),
    ...(unique && usernameType !== 'unique' && { preferred_username: unique }),
  }
}
