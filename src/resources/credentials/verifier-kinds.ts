/** The verifier kinds that can be created with a POST, by `type`. */
import { z } from 'zod'
import { backupCodes } from './backup-codes.js'
import { passkey } from './passkey.js'
import { password, temporaryPassword } from './password.js'
import { totpEnrollment } from './totp.js'

export const verifierKinds = {
  password,
  temporary_password: temporaryPassword,
  passkey,
  totp_enrollment: totpEnrollment,
  backup_codes: backupCodes,
} as const

/** All types of verifiers. Completing an enrollment creates a `totp`; a sign-in creates an `oauth`. */
export const verifierTypes = [
  'password',
  'temporary_password',
  'passkey',
  'totp_enrollment',
  'totp',
  'backup_codes',
  'oauth',
] as const
export type VerifierType = (typeof verifierTypes)[number]

/** Fields that a PATCH can change besides name, description and metadata. */
export const changeableFields: Partial<Record<VerifierType, readonly string[]>> = {
  password: ['password', 'mustChange', 'expiresAt'],
  temporary_password: ['mustChange'],
}

export const createRules = z.discriminatedUnion(
  'type',
  [password.rules, temporaryPassword.rules, passkey.rules, totpEnrollment.rules, backupCodes.rules],
  `must be one of ${Object.keys(verifierKinds).join(', ')}.`,
)
