/**
 * Pending enrollments of verifiers (docs/contract.md#verifier-operations): a TOTP secret or a WebAuthn challenge that
 * the user must confirm within minutes. One DELETE consumes an enrollment, so that it is used at most once
 * (docs/contract.md#single-use-values).
 */
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { type Enrollment, type Prisma } from '../../platform/postgres/database.js'
import { externalCall } from '../../platform/postgres/transaction.js'
import type { InUser } from '../resource-path.js'

export type EnrollmentKind = 'totp' | 'passkey'

/**
 * Creates a pending enrollment.
 * @param lifetime time until the enrollment expires, in milliseconds
 */
export async function createEnrollment(
  context: Context,
  { accountId, issuerId, userId }: InUser,
  kind: EnrollmentKind,
  lifetime: number,
  columns: Pick<
    Prisma.EnrollmentUncheckedCreateInput,
    'name' | 'description' | 'metadata' | 'encryptedSecret' | 'data'
  >,
): Promise<Enrollment> {
  const now = context.now()
  const path = { accountId, issuerId, userId }
  const row = { id: newId('enr', now), ...path, kind, expiresAt: now + lifetime, createdAt: now }
  return context.db.enrollment.create({ data: { ...row, ...columns } })
}

const columns = `id, name, description, metadata, encrypted_secret AS "encryptedSecret", data, expires_at AS "expiresAt"`
type Row = Pick<Enrollment, 'id' | 'name' | 'description' | 'metadata' | 'encryptedSecret' | 'data'>

const attemptText = `
  UPDATE enrollments SET attempts = attempts + 1
  WHERE id = $1 AND account_id = $2 AND issuer_id = $3 AND user_id = $4 AND kind = $5 AND expires_at > $6
    AND attempts < ${limits.maxEnrollmentAttempts}
  RETURNING ${columns}`

const consumeText = `
  DELETE FROM enrollments
  WHERE id = $1 AND account_id = $2 AND issuer_id = $3 AND user_id = $4 AND kind = $5 AND expires_at > $6
  RETURNING ${columns}`

/**
 * Counts an attempt to complete an enrollment. The statement runs outside of the caller's transaction, so that a
 * rollback does not undo the count.
 * @returns the enrollment; undefined if it is unknown, expired, of another user, or has no attempts left
 */
export const recordEnrollmentAttempt = (context: Context, path: InUser, kind: EnrollmentKind, id: string) =>
  runEnrollmentStatement(context, 'enrollment-attempt', attemptText, path, kind, id)

/**
 * Consumes an enrollment. The DELETE runs outside of the caller's transaction, so that a wrong response to a challenge
 * consumes the challenge too.
 * @returns the enrollment; undefined if it is unknown, expired, consumed or of another user
 */
export const consumeEnrollment = (context: Context, path: InUser, kind: EnrollmentKind, id: string) =>
  runEnrollmentStatement(context, 'enrollment-consume', consumeText, path, kind, id)

async function runEnrollmentStatement(
  context: Context,
  statement: string,
  text: string,
  { accountId, issuerId, userId }: InUser,
  kind: EnrollmentKind,
  id: string,
): Promise<Row | undefined> {
  const values = [id, accountId, issuerId, userId, kind, context.now()]
  const [row] = await externalCall(context, `${statement} ${id}`, () =>
    context.database.query<Row & Record<string, unknown>>(statement, text, values),
  )
  return row
}

/**
 * Deletes a completed enrollment in the caller's transaction.
 * @returns false if the enrollment has been deleted already
 */
export async function deleteEnrollment(context: Context, id: string): Promise<boolean> {
  const { count } = await context.db.enrollment.deleteMany({ where: { id } })
  return count === 1
}

/** Deletes expired enrollments. Periodic job. */
export async function purgeEnrollments(context: Context): Promise<void> {
  await deleteInBatches(context, 'enrollments', 'expires_at < $1::bigint', context.now())
}
