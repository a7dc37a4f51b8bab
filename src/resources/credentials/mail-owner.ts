/** The mailbox of a user: where codes and links go, and what a proof of it changes (decision 0062). */
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { addressSql } from '../mail-address.js'
import { goneUser } from '../place.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { recordRemoval } from './removal.js'
import type { SignInUser } from './sign-in.js'

interface Row {
  id: string
  accountId: string
  username: string
  status: string
  email: string | null
}

/** True where the user `u` created the account and no address of it has ever been confirmed. */
export const unclaimedSql = `(u.origin = 'sign_up' AND NOT u.email_verified AND NOT u.email_ever_verified)`

const text = `
  SELECT id, account_id AS "accountId", username, status, ${addressSql} AS email
  FROM users u WHERE issuer_id = $1 AND username_key = $2 AND status <> ALL($3)`

/**
 * The user with this username, and where mail reaches them.
 * @param usernameKey the username as it is compared
 * @returns undefined where there is no such user; email null for one without an address
 */
export async function findForMail(
  context: Context,
  issuerId: string,
  usernameKey: string,
): Promise<{ user: SignInUser; email: string | null } | undefined> {
  const values = [issuerId, usernameKey, goneUser]
  const [row] = await context.query<Row & Record<string, unknown>>('mail-owner', text, values)
  if (!row) return undefined
  const { email, ...user } = row
  return { user: { ...user, issuerId }, email }
}

const mailboxText = `
  SELECT ${addressSql} AS email, ${unclaimedSql} AS unclaimed,
    EXISTS (SELECT 1 FROM verifiers v WHERE v.user_id = u.id AND v.issuer_id = u.issuer_id
      AND v.type = 'password' AND v.created_by = u.id) AS "ownPassword"
  FROM users u WHERE id = $1 AND issuer_id = $2 FOR UPDATE`

interface Mailbox {
  email: string | null
  /** The account is self-made, and no address of it has ever been confirmed. */
  unclaimed: boolean
  /** The account has a password that its maker chose. */
  ownPassword: boolean
}

/** The mailbox of this user now; locks the user's row. Undefined for a user who has been deleted. */
export async function mailboxOf(
  context: Context,
  { id, issuerId }: Pick<SignInUser, 'id' | 'issuerId'>,
): Promise<Mailbox | undefined> {
  const [row] = await sql<Mailbox>(context.db, mailboxText, id, issuerId)
  return row
}

const confirmText = `
  UPDATE users SET email_verified = true, email_ever_verified = true, updated_at = greatest($3::bigint, updated_at + 1)
  WHERE id = $1 AND issuer_id = $2 AND NOT email_verified RETURNING id`

/** Confirms the address of the signed-in user. Call it in the transaction of the step, as that user. */
export async function confirmEmail(context: Context, { id, issuerId, accountId }: SignInUser): Promise<void> {
  const [confirmed] = await sql(context.db, confirmText, id, issuerId, context.now())
  if (!confirmed) return
  const changes = { email_verified: { old: false, new: true } }
  const target = { type: 'user', id }
  await emit(context, 'user.updated', { accountId, issuerId, userId: id, target, changes })
}

/**
 * Completes a sign-in by mail: confirms the address. The maker of an unclaimed account may be another person, who waits
 * for the owner of the address; so the verifiers that the account gave itself are removed with it, and its sessions and
 * unfinished sign-ins end. Verifiers that others gave the user stay. Call it in the transaction of the step, as that
 * user, once no second factor is owed and the new password, if there is one, is saved.
 * @param withNewPassword the password of the account was set in this sign-in and stays
 */
export async function claimMailbox(context: Context, user: SignInUser, withNewPassword: boolean): Promise<void> {
  const { id, issuerId } = user
  const mailbox = await mailboxOf(context, user)
  if (mailbox?.unclaimed) {
    const verifiers = await context.db.verifier.findMany({
      where: { userId: id, issuerId, createdBy: id, ...(withNewPassword && { type: { not: 'password' } }) },
      orderBy: { id: 'asc' },
    })
    await context.db.verifier.deleteMany({ where: { id: { in: verifiers.map((verifier) => verifier.id) }, issuerId } })
    await context.db.enrollment.deleteMany({ where: { userId: id, issuerId } })
    await recordRemoval(context, verifiers, 'mailbox_proved')
    await endSessionsOfUser(context, user, 'security_event')
  }
  await confirmEmail(context, user)
}
