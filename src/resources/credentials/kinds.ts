/** Every kind of verifier that a POST can make: one row each, by the `type` of its body. */
import { z } from 'zod'
import { backupCodes } from './backup-codes.js'
import { passkey } from './passkey.js'
import { password, temporaryPassword } from './password.js'
import { totpEnrollment } from './totp.js'

export const kinds = {
  password,
  temporary_password: temporaryPassword,
  passkey,
  totp_enrollment: totpEnrollment,
  backup_codes: backupCodes,
} as const

/** What the `type` of an answer can be: a totp is made by completing its enrolment, an oauth by signing in. */
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

/** Fields that a PATCH may change besides name, description and metadata. */
export const changeable: Partial<Record<VerifierType, readonly string[]>> = {
  password: ['password', 'mustChange', 'expiresAt'],
  temporary_password: ['mustChange'],
}

export const createRules = z.discriminatedUnion(
  'type',
  [password.rules, temporaryPassword.rules, passkey.rules, totpEnrollment.rules, backupCodes.rules],
  `must be one of ${Object.keys(kinds).join(', ')}.`,
)
