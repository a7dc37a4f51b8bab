/**
 * The email address to which a user's codes and links are sent, and what changes when the user verifies it
 * (decision 0048).
 */
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { emailAddressSql } from '../email-address.js'
import { recordEvent } from '../events/record-event.js'
import { deletedUserStatuses } from '../resource-path.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import type { SignInUser } from './sign-in.js'
import { recordVerifierRemoval } from './verifier-removal.js'

interface Row {
  id: string
  accountId: string
  username: string
  status: string
  email: string | null
}

/** SQL condition: the user `u` signed up without an invitation and has never had a verified email address. */
export const unclaimedAccountSql = `(u.origin = 'sign_up' AND NOT u.email_verified AND NOT u.email_ever_verified)`

const findUserText = `
  SELECT id, account_id AS "accountId", username, status, ${emailAddressSql} AS email
  FROM users u WHERE issuer_id = $1 AND username_key = $2 AND status <> ALL($3)`

/**
 * Finds a user by username, with the user's email address.
 * @param usernameKey the normalized username
 * @returns undefined if the user does not exist or is deleted; `email` is null for a user without an address
 */
export async function findUserWithEmail(
  context: Context,
  issuerId: string,
  usernameKey: string,
): Promise<{ user: SignInUser; email: string | null } | undefined> {
  const values = [issuerId, usernameKey, deletedUserStatuses]
  const [row] = await context.query<Row & Record<string, unknown>>('user-with-email', findUserText, values)
  if (!row) return undefined
  const { email, ...user } = row
  return { user: { ...user, issuerId }, email }
}

const mailboxText = `
  SELECT ${emailAddressSql} AS email, ${unclaimedAccountSql} AS unclaimed,
    EXISTS (SELECT 1 FROM verifiers v WHERE v.user_id = u.id AND v.issuer_id = u.issuer_id
      AND v.type = 'password' AND v.created_by = u.id) AS "ownPassword"
  FROM users u WHERE id = $1 AND issuer_id = $2 FOR UPDATE`

interface Mailbox {
  email: string | null
  /** Whether the user signed up without an invitation and has never had a verified email address. */
  unclaimed: boolean
  /** Whether the user has a password and created that verifier (`created_by`). */
  ownPassword: boolean
}

/** Reads the mailbox of a user and locks the user's row. Returns undefined if the user does not exist. */
export async function lockMailbox(
  context: Context,
  { id, issuerId }: Pick<SignInUser, 'id' | 'issuerId'>,
): Promise<Mailbox | undefined> {
  const [row] = await sql<Mailbox>(context.db, mailboxText, id, issuerId)
  return row
}

const markVerifiedText = `
  UPDATE users SET email_verified = true, email_ever_verified = true, updated_at = greatest($3::bigint, updated_at + 1)
  WHERE id = $1 AND issuer_id = $2 AND NOT email_verified RETURNING id`

/**
 * Marks the user's email address as verified. Call it in the transaction of the sign-in step, with the user as the
 * actor.
 */
export async function markEmailVerified(context: Context, { id, issuerId, accountId }: SignInUser): Promise<void> {
  const [confirmed] = await sql(context.db, markVerifiedText, id, issuerId, context.now())
  if (!confirmed) return
  const changes = { email_verified: { old: false, new: true } }
  const target = { type: 'user', id }
  await recordEvent(context, 'user.updated', { accountId, issuerId, userId: id, target, changes })
}

/**
 * Completes a sign-in by email: marks the email address as verified. An account that sign-up created and whose address
 * was never verified may have been created by an attacker who waits until the owner of the address uses it. Therefore
 * the verifiers that the user of such an account created are removed, its pending enrollments are deleted, and its
 * sessions and unfinished sign-ins end.
 * Verifiers that an administrator created for the user are kept. Call it in the transaction of the sign-in step, with
 * the user as the actor, after the second factor has been checked and a new password has been saved.
 * @param keepsPassword whether the password is kept, because it was set or used in this sign-in
 */
export async function claimAccountByEmail(context: Context, user: SignInUser, keepsPassword: boolean): Promise<void> {
  const { id, issuerId } = user
  const mailbox = await lockMailbox(context, user)
  if (mailbox?.unclaimed) {
    const verifiers = await context.db.verifier.findMany({
      where: { userId: id, issuerId, createdBy: id, ...(keepsPassword && { type: { not: 'password' } }) },
      orderBy: { id: 'asc' },
    })
    await context.db.verifier.deleteMany({ where: { id: { in: verifiers.map((verifier) => verifier.id) }, issuerId } })
    await context.db.enrollment.deleteMany({ where: { userId: id, issuerId } })
    await recordVerifierRemoval(context, verifiers, 'mailbox_proved')
    await endSessionsOfUser(context, user, 'security_event')
  }
  await markEmailVerified(context, user)
}
