/**
 * Verifiers in the making (decisions D13): a TOTP secret or a WebAuthn challenge was given out and is answered within
 * minutes, once. Each way to consume a row is one statement (security rule 1).
 */
import { newId } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { type Enrollment, outside, type Prisma } from '../../platform/database.js'
import { sweep } from '../../platform/sweep.js'
import type { VerifiersPlace } from './kind.js'

export type EnrollmentKind = 'totp' | 'passkey'

/** Codes that may be tried on one enrolment. */
export const MAX_TRIES = 5

/**
 * Begins an enrolment.
 * @param life milliseconds
 */
export async function beginEnrollment(
  context: Context,
  { accountId, issuerId, userId }: VerifiersPlace,
  kind: EnrollmentKind,
  life: number,
  columns: Pick<Prisma.EnrollmentUncheckedCreateInput, 'name' | 'description' | 'metadata' | 'sealed' | 'data'>,
): Promise<Enrollment> {
  const now = context.now()
  const place = { accountId, issuerId, userId }
  const row = { id: newId('enr', now), ...place, kind, expiresAt: now + life, createdAt: now }
  return context.db.enrollment.create({ data: { ...row, ...columns } })
}

const columns = `id, name, description, metadata, sealed, data, expires_at AS "expiresAt"`
type Row = Pick<Enrollment, 'id' | 'name' | 'description' | 'metadata' | 'sealed' | 'data'>

const tryText = `
  UPDATE enrollments SET tries = tries + 1
  WHERE id = $1 AND account_id = $2 AND issuer_id = $3 AND user_id = $4 AND kind = $5 AND expires_at > $6
    AND tries < ${MAX_TRIES}
  RETURNING ${columns}`

const takeText = `
  DELETE FROM enrollments
  WHERE id = $1 AND account_id = $2 AND issuer_id = $3 AND user_id = $4 AND kind = $5 AND expires_at > $6
  RETURNING ${columns}`

/**
 * Counts a try, outside of any transaction, so that a refusal does not undo the count.
 * @returns undefined when the enrolment is unknown, of somebody else, expired or tried too often
 */
export const tryEnrollment = (context: Context, place: VerifiersPlace, kind: EnrollmentKind, id: string) =>
  one(context, 'enrollment-try', tryText, place, kind, id)

/** Consumes an enrolment whatever its answer is worth, outside of any transaction. @returns as tryEnrollment */
export const takeEnrollment = (context: Context, place: VerifiersPlace, kind: EnrollmentKind, id: string) =>
  one(context, 'enrollment-take', takeText, place, kind, id)

async function one(
  context: Context,
  statement: string,
  text: string,
  { accountId, issuerId, userId }: VerifiersPlace,
  kind: EnrollmentKind,
  id: string,
): Promise<Row | undefined> {
  const values = [id, accountId, issuerId, userId, kind, context.now()]
  const [row] = await outside(context, `${statement} ${id}`, () =>
    context.tools.query<Row & Record<string, unknown>>(statement, text, values),
  )
  return row
}

/** Ends an enrolment with the transaction that completes it. @returns false when another one has ended it */
export async function endEnrollment(context: Context, id: string): Promise<boolean> {
  const { count } = await context.db.enrollment.deleteMany({ where: { id } })
  return count === 1
}

/** Removes what nobody completed in time. A periodic job. */
export async function purgeEnrollments(context: Context): Promise<void> {
  await sweep(context, 'enrollments', 'expires_at < $1::bigint', context.now())
}
