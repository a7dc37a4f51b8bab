/** What every source of an import is read into, whatever product wrote it, and the rules that it must keep. */
import { z } from 'zod'
import { ApiError } from '../../../kernel/errors.js'
import { check, rules } from '../../../kernel/input.js'
import { isPlatformScope } from '../../../kernel/scopes.js'
import { hashFault } from '../../../platform/password-hashes.js'
import { profileRules } from '../profile.js'
import { checkUsername, isEmail, type UsernameType, usernameTypes } from '../usernames.js'

/** A user of another product, or of another Gatehouse. */
export interface ImportedUser {
  /** Its id there. */
  externalId: string
  /** Names that it may sign in with, by kind; which of them counts is the caller's choice. */
  names: Partial<Record<UsernameType, string>>
  emailVerified?: boolean
  /** OpenID Connect claims. */
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
  /** In a form of platform/password-hashes. */
  passwordHash?: string
  /** Unix milliseconds. */
  passwordSetAt?: number
  mustChange?: boolean
  /** Base32; SHA-1, 6 digits, 30 seconds. */
  totpSecret?: string
  /** Unix milliseconds. */
  createdAt?: number
  /** Credentials that cannot be taken, each as a clause: `the passkey "Phone" …`. */
  unsupported?: string[]
}

/** A record that is not imported: why, and what its owner can do about it. */
export class Refused extends Error {
  constructor(
    readonly reason: string,
    message: string,
    readonly fix: string,
  ) {
    super(message)
  }
}

const object = rules.object.optional()
const recordRules = z.strictObject({
  externalId: rules.text(255).min(1, 'must not be empty.'),
  names: z.partialRecord(z.enum(usernameTypes), rules.text(254)),
  emailVerified: rules.boolean.optional(),
  profile: profileRules.optional(),
  security: object,
  compliance: object,
  preferences: object,
  customFields: object,
  metadata: rules.metadata.optional(),
  scopes: rules.scopes.optional(),
  region: rules.text(64).nullable().optional(),
  status: z.enum(['active', 'suspended', 'blocked', 'pending_approval']).optional(),
  statusReason: rules.text().nullable().optional(),
  signupReason: rules.text().nullable().optional(),
  triggeredRule: rules.text().nullable().optional(),
  passwordHash: rules.text(4000).optional(),
  passwordSetAt: rules.moment.optional(),
  mustChange: rules.boolean.optional(),
  totpSecret: rules.text(512).optional(),
  createdAt: rules.moment.optional(),
  unsupported: z.array(z.string()).optional(),
})

export interface Choice {
  /** Which names to sign in with, the first one that a user has. */
  login: readonly UsernameType[]
  /** Take users whose password or second factor cannot be taken, without it. */
  dropUnsupported: boolean
}

/** A record that has passed, with the name that it signs in with. */
export interface Checked extends ImportedUser {
  usernameType: UsernameType
  username: string
}

/**
 * Checks a record and chooses its username. What it could not sign in with goes into the profile.
 * @throws Refused
 */
export function checkRecord(record: ImportedUser, { login, dropUnsupported }: Choice): Checked {
  checkShape(record)
  const usernameType = [...login, ...usernameTypes].find((type) => record.names[type]?.trim())
  if (!usernameType) {
    throw new Refused('no_username', 'It has no email address, username or phone number.', 'Give it one of them.')
  }
  const username = record.names[usernameType]!.trim()
  orRefused('invalid_username', 'Correct it, or choose another name to sign in with (--login).', () =>
    checkUsername(usernameType, username),
  )
  const platform = record.scopes?.find(isPlatformScope)
  if (platform !== undefined) {
    const fix = 'Remove the scope; an administrator can give it afterwards.'
    throw new Refused('platform_scope', `It has the platform scope ${platform}, which no import gives.`, fix)
  }
  const unsupported = [...(record.unsupported ?? [])]
  const fault = record.passwordHash === undefined ? undefined : hashFault(record.passwordHash)
  if (fault !== undefined) unsupported.push(`its password hash ${fault}`)
  if (record.totpSecret !== undefined && !/^[A-Z2-7]{16,}$/.test(record.totpSecret))
    unsupported.push('its TOTP secret is not base32 of at least 80 bits')
  if (unsupported.length > 0 && !dropUnsupported) {
    const fix = 'Correct it, or take such users without these credentials (--drop-unsupported).'
    throw new Refused('unsupported_credential', `It cannot be taken as it is: ${unsupported.join('; ')}.`, fix)
  }
  const { passwordHash, totpSecret, ...rest } = record
  const keepsTotp = totpSecret !== undefined && /^[A-Z2-7]{16,}$/.test(totpSecret)
  return {
    ...rest,
    ...(passwordHash !== undefined && fault === undefined && { passwordHash }),
    ...(keepsTotp && { totpSecret }),
    profile: profileOf(record, usernameType),
    emailVerified: record.emailVerified ?? false,
    usernameType,
    username,
  }
}

function checkShape(record: ImportedUser): void {
  orRefused('invalid_record', 'Correct the field.', () => check(recordRules, record))
}

function orRefused(reason: string, fix: string, work: () => void): void {
  try {
    work()
  } catch (error) {
    if (error instanceof ApiError) throw new Refused(reason, error.message, fix)
    throw error
  }
}

/** The claims, with the address and number that are not the username (decisions D26: what mail and tokens read). */
function profileOf({ profile, names }: ImportedUser, usernameType: UsernameType): Record<string, unknown> {
  const { email, phone, unique } = names
  return {
    ...profile,
    ...(email && usernameType !== 'email' && isEmail(email) && { email }),
    ...(phone && usernameType !== 'phone' && { phone_number: phone }),
    ...(unique && usernameType !== 'unique' && { preferred_username: unique }),
  }
}
