/**
 * One-time codes of an authenticator app (RFC 6238, decisions D13): begun with a secret, completed with a code of it.
 * SHA-1, 6 digits, 30 seconds, one step of grace on either side; a time step counts once.
 */
import { Secret, TOTP } from 'otpauth'
import { z } from 'zod'
import { conflict, invalidField, notFound } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import { MINUTE, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, sql, transaction, type Verifier } from '../../platform/database.js'
import { requireAuthorityOfUser } from '../authority.js'
import { beginEnrollment, endEnrollment, tryEnrollment } from './enrollments.js'
import { described, insertVerifier, kindOf, lockOwner, name, requireOwner, type VerifiersPlace } from './kind.js'

const PERIOD = 30 * SECOND
const SECRET_BYTES = 20
/** How long an enrolment can be completed. */
const ENROLLMENT_LIFE = 10 * MINUTE

const hasOne = () => conflict('This user has a totp already; remove that one first.')

export const totpEnrollment = kindOf({
  rules: z.strictObject({
    type: z.literal('totp_enrollment'),
    name: name.optional(),
    ...described,
    // It stands before the colon of the label and in the app's list.
    issuerName: z
      .string('must be a string.')
      .trim()
      .min(1, 'must not be empty.')
      .max(100, 'must have at most 100 characters.')
      .regex(/^[^:\p{Cc}]*$/u, 'must not have colons or control characters.'),
  }),
  async prepare(context, owner, values) {
    const { accountId, issuerId, id: userId } = owner
    const secret = new Secret({ size: SECRET_BYTES }).base32
    return async (inside) => {
      if (await inside.db.verifier.findFirst({ where: { userId, type: 'totp' } })) throw hasOne()
      const place = { accountId, issuerId, userId }
      const enrollment = await beginEnrollment(inside, place, 'totp', ENROLLMENT_LIFE, {
        name: values.name ?? null,
        description: values.description ?? null,
        metadata: { ...values.metadata } as object,
        sealed: context.sealer.seal(secret),
      })
      return {
        ...enrollment,
        type: 'totp_enrollment',
        mustChange: false,
        lastUsedAt: null,
        createdBy: inside.actor.id,
        updatedAt: enrollment.createdAt,
        credentialId: null,
        enrollmentId: enrollment.id,
        secret,
        provisioningUri: provisioningUri(values.issuerName, owner.username, secret),
      }
    }
  },
})

/** As authenticator apps read it (Key URI format). */
function provisioningUri(issuerName: string, username: string, secret: string): string {
  const issuer = encodeURIComponent(issuerName)
  const label = `${issuer}:${encodeURIComponent(username)}`
  return `otpauth://totp/${label}?secret=${secret}&issuer=${issuer}&algorithm=SHA1&digits=6&period=30`
}

const completeRules = z.strictObject({ enrollmentId: rules.text(64), code: rules.text(32) })

/**
 * Completes an enrolment: the code proves that the app has the secret. The step of that code is used up with it.
 * @throws invalid_request for a wrong code, insufficient_scope, not_found for an enrolment that is unknown, expired or tried five times,
 *   conflict when the user has a totp
 */
export async function completeEnrollment(context: Context, place: VerifiersPlace, input: unknown): Promise<Verifier> {
  const values = check(completeRules, input)
  await requireAuthorityOfUser(context, await requireOwner(context, place))
  const keep = await proveEnrollment(context, place, values)
  return transaction(context, keep)
}

/**
 * Checks the code of an enrolment. Counts the try at once, whatever becomes of the rest.
 * @returns what makes the totp, to be called in a transaction
 * @throws as completeEnrollment, and so does the result
 */
export async function proveEnrollment(
  context: Context,
  place: VerifiersPlace,
  { enrollmentId, code }: { enrollmentId: string; code: string },
): Promise<(inside: Context) => Promise<Verifier>> {
  const owner = await requireOwner(context, place)
  const enrollment = await tryEnrollment(context, place, 'totp', enrollmentId)
  if (!enrollment?.sealed) throw notFound('enrollment')
  const step = stepOf(context, enrollment.sealed, code)
  if (step === undefined) throw invalidField('code', 'wrong_code', 'is not the code of this moment.')
  const { name, sealed } = enrollment
  const given = { description: enrollment.description, metadata: enrollment.metadata as object }
  return async (inside) => {
    await lockOwner(inside, owner)
    if (!(await endEnrollment(inside, enrollment.id))) throw notFound('enrollment')
    try {
      return await insertVerifier(inside, owner, given, { type: 'totp', name, sealed, usedStep: step })
    } catch (error) {
      if (isDuplicate(error)) throw hasOne()
      throw error
    }
  }
}

/** The time step whose code this is, at most one away from now. */
function stepOf(context: Context, sealed: string, code: string): number | undefined {
  const token = code.replace(/\s/g, '')
  if (!/^\d{6}$/.test(token)) return undefined
  const secret = Secret.fromBase32(context.sealer.open(sealed))
  const now = context.now()
  const delta = new TOTP({ secret }).validate({ token, timestamp: now, window: 1 })
  return delta === null ? undefined : Math.floor(now / PERIOD) + delta
}

const useText = `
  UPDATE verifiers SET used_step = $2::bigint, last_used_at = $3::bigint, updated_at = $3::bigint
  WHERE id = $1 AND (used_step IS NULL OR used_step < $2::bigint) RETURNING id`

/**
 * Is this the code of the user's totp now? Uses up its time step: no code of that step or an earlier one is good again,
 * also of 20 sent at the same moment. Call it in the transaction of the step.
 * @returns the verifier's id, or undefined
 */
export async function verifyTotp(
  context: Context,
  { issuerId, userId }: { issuerId: string; userId: string },
  code: string,
): Promise<string | undefined> {
  const verifier = await context.db.verifier.findFirst({
    where: { issuerId, userId, type: 'totp' },
    select: { id: true, sealed: true },
  })
  if (!verifier?.sealed) return undefined
  const step = stepOf(context, verifier.sealed, code)
  if (step === undefined) return undefined
  const [used] = await sql<{ id: string }>(context.db, useText, verifier.id, step, context.now())
  return used?.id
}
