/**
 * One-time codes of an authenticator app (TOTP, RFC 6238; docs/contract.md#verifier-operations): SHA-1, 6 digits, time
 * steps of 30 seconds, a tolerance of one time step. The user completes an enrollment by entering a code. The code of a
 * time step is accepted only once.
 */
import { Secret, TOTP } from 'otpauth'
import { z } from 'zod'
import { conflict, invalidField, notFound } from '../../kernel/errors.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { sql, type Verifier } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfUser } from '../authority.js'
import type { InUser } from '../resource-path.js'
import { createEnrollment, deleteEnrollment, recordEnrollmentAttempt } from './enrollments.js'
import { completeRules } from './new-verifier.js'
import { nameRule } from './verifier.js'
import {
  defineVerifierKind,
  descriptionFields,
  insertVerifier,
  lockVerifierOwner,
  requireVerifierOwner,
} from './verifier-kind.js'

const PERIOD = 30 * SECOND
const SECRET_BYTES = 20

const totpExistsError = () => conflict('This user already has a TOTP verifier. Delete it first.')

export const totpEnrollment = defineVerifierKind({
  rules: z.strictObject({
    type: z.literal('totp_enrollment'),
    name: nameRule.optional(),
    ...descriptionFields,
    // The label of the provisioning URI is `issuer:username`, so the issuer name must not contain a colon.
    issuerName: z
      .string('must be a string.')
      .trim()
      .min(1, 'must not be empty.')
      .max(100, 'must have at most 100 characters.')
      .regex(/^[^:\p{Cc}]*$/u, 'must not have colons or control characters.')
      .meta({ pattern: String.raw`^[^:\u0000-\u001f\u007f-\u009f]*$` }),
  }),
  async prepare(context, owner, values) {
    const { accountId, issuerId, id: userId } = owner
    const secret = new Secret({ size: SECRET_BYTES }).base32
    return async (tx) => {
      if (await tx.db.verifier.findFirst({ where: { userId, type: 'totp' } })) throw totpExistsError()
      const path = { accountId, issuerId, userId }
      const enrollment = await createEnrollment(tx, path, 'totp', limits.totpEnrollmentLifetime, {
        name: values.name ?? null,
        description: values.description ?? null,
        metadata: { ...values.metadata } as object,
        encryptedSecret: context.encryptor.encrypt(secret),
      })
      return {
        ...enrollment,
        type: 'totp_enrollment',
        mustChange: false,
        lastUsedAt: null,
        createdBy: tx.actor.id,
        updatedAt: enrollment.createdAt,
        credentialId: null,
        enrollmentId: enrollment.id,
        secret,
        provisioningUri: provisioningUri(values.issuerName, owner.username, secret),
      }
    }
  },
})

/** Returns the `otpauth:` URI for the QR code that the user scans with the authenticator app. */
function provisioningUri(issuerName: string, username: string, secret: string): string {
  const issuer = encodeURIComponent(issuerName)
  const label = `${issuer}:${encodeURIComponent(username)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${issuer}&algorithm=SHA1&digits=6&period=30`
}

/**
 * Completes an enrollment with a code, which proves that the authenticator app has the secret. The code cannot be used
 * again at a sign-in.
 * @throws invalid_request for a wrong code, insufficient_scope, not_found for an unknown user and for an enrollment
 *   that is unknown, expired or has no attempts left, conflict if the user already has a TOTP verifier
 */
export async function completeEnrollment(context: Context, path: InUser, input: unknown): Promise<Verifier> {
  const values = checkInput(completeRules, input)
  await requireAuthorityOfUser(context, await requireVerifierOwner(context, path))
  const saveTotp = await verifyEnrollmentCode(context, path, values)
  return transaction(context, saveTotp)
}

/**
 * Checks the code of an enrollment. The attempt is counted even if the caller's transaction is rolled back.
 * @returns a function that creates the verifier; call it in a transaction. It throws not_found if the enrollment was
 *   completed concurrently, and conflict if the user already has a TOTP verifier.
 * @throws invalid_request for a wrong code, not_found for an unknown user and for an enrollment that is unknown,
 *   expired or has no attempts left
 */
export async function verifyEnrollmentCode(
  context: Context,
  path: InUser,
  { enrollmentId, code }: { enrollmentId: string; code: string },
): Promise<(tx: Context) => Promise<Verifier>> {
  const owner = await requireVerifierOwner(context, path)
  const enrollment = await recordEnrollmentAttempt(context, path, 'totp', enrollmentId)
  if (!enrollment?.encryptedSecret) throw notFound('enrollment')
  const step = matchingTimeStep(context, enrollment.encryptedSecret, code)
  if (step === undefined)
    throw invalidField('code', 'wrong_code', 'is wrong or expired. Enter the code that the app shows now.')
  const { name, encryptedSecret } = enrollment
  const fields = { description: enrollment.description, metadata: enrollment.metadata as object }
  return async (tx) => {
    await lockVerifierOwner(tx, owner)
    if (!(await deleteEnrollment(tx, enrollment.id))) throw notFound('enrollment')
    try {
      return await insertVerifier(tx, owner, fields, { type: 'totp', name, encryptedSecret, lastUsedTimeStep: step })
    } catch (error) {
      if (isDuplicate(error)) throw totpExistsError()
      throw error
    }
  }
}

/**
 * Returns the number of the time step to which a code belongs (the current, previous or next one); undefined for a
 * wrong code.
 */
function matchingTimeStep(context: Context, encryptedSecret: string, code: string): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const secret = Secret.fromBase32(context.encryptor.decrypt(encryptedSecret))
  const now = context.now()
  const delta = new TOTP({ secret }).validate({ token, timestamp: now, window: 1 })
  return delta === null ? undefined : Math.floor(now / PERIOD) + delta
}

const consumeText = `
  UPDATE verifiers SET last_used_time_step = $2::bigint, last_used_at = $3::bigint, updated_at = $3::bigint
  WHERE id = $1 AND (last_used_time_step IS NULL OR last_used_time_step < $2::bigint) RETURNING id`

/**
 * Checks and consumes a code of the user's TOTP verifier. Codes of the same time step and of earlier time steps are
 * refused afterwards, also in concurrent requests. Call it in the transaction of the sign-in step.
 * @returns the verifier's ID; undefined for a wrong or used code, or if the user has no TOTP verifier
 */
export async function consumeTotpCode(
  context: Context,
  { issuerId, userId }: { issuerId: string; userId: string },
  code: string,
): Promise<string | undefined> {
  const verifier = await context.db.verifier.findFirst({
    where: { issuerId, userId, type: 'totp' },
    select: { id: true, encryptedSecret: true },
  })
  if (!verifier?.encryptedSecret) return undefined
  const step = matchingTimeStep(context, verifier.encryptedSecret, code)
  if (step === undefined) return undefined
  const [used] = await sql<{ id: string }>(context.db, consumeText, verifier.id, step, context.now())
  return used?.id
}
