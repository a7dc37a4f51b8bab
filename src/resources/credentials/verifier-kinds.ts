/** The kinds of verifiers that callers of the API can create, and what they can change. */
import { z } from 'zod'
import { backupCodes } from './backup-codes.js'
import { passkey } from './passkey.js'
import { password, temporaryPassword } from './password.js'
import { totpEnrollment } from './totp.js'
import type { VerifierType } from './verifier.js'

/**
 * The kinds that `createVerifier` can create, by their `type`. It does not create the types `totp` (from an enrollment
 * or an import) and `oauth` (from a sign-in at a provider).
 */
export const verifierKinds = {
  password,
  temporary_password: temporaryPassword,
  passkey,
  totp_enrollment: totpEnrollment,
  backup_codes: backupCodes,
} as const

/** Fields that `updateVerifier` can change in addition to `name`, `description` and `metadata`. */
export const changeableFields: Partial<Record<VerifierType, readonly string[]>> = {
  password: ['password', 'mustChange', 'expiresAt'],
  temporary_password: ['mustChange'],
}

/** Input rules of `createVerifier`. */
export const createRules = z.discriminatedUnion(
  'type',
  [password.rules, temporaryPassword.rules, passkey.rules, totpEnrollment.rules, backupCodes.rules],
  `must be one of ${Object.keys(verifierKinds).join(', ')}.`,
)
