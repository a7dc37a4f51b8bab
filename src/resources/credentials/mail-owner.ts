/** Whose mailbox is it? Codes and links go to the address of a user, never to one that the sender chose. */
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { goneUser } from '../place.js'
import { endSessionsOfUser, endSignIns } from '../sessions/sessions.js'
import { toldVerifier } from './kind.js'
import type { SignInUser } from './sign-in.js'

interface Row {
  id: string
  accountId: string
  username: string
  status: string
  email: string | null
}

const text = `
  SELECT id, account_id AS "accountId", username, status,
    CASE WHEN username_type = 'email' THEN username ELSE profile->>'email' END AS email
  FROM users WHERE issuer_id = $1 AND username_key = $2 AND status <> ALL($3)`

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

const addressText = `
  SELECT CASE WHEN username_type = 'email' THEN username ELSE profile->>'email' END AS email,
    email_verified AS confirmed,
    EXISTS (SELECT 1 FROM verifiers v WHERE v.user_id = u.id AND v.issuer_id = u.issuer_id
      AND v.type IN ('passkey', 'totp') AND v.created_by IS DISTINCT FROM u.id) AS guarded
  FROM users u WHERE id = $1 AND issuer_id = $2 FOR UPDATE`

interface Mailbox {
  email: string | null
  /** Somebody has shown that they read its mail, while it was this user's. */
  confirmed: boolean
  /** Others gave the user a second factor, so mail alone lets nobody in. */
  guarded: boolean
}

/** Where mail reaches this user now; locks the user's row. Undefined for one who is gone. */
export async function mailboxOf(
  context: Context,
  { id, issuerId }: Pick<SignInUser, 'id' | 'issuerId'>,
): Promise<Mailbox | undefined> {
  const [row] = await sql<Mailbox>(context.db, addressText, id, issuerId)
  return row
}

const confirmText = `
  UPDATE users SET email_verified = true, updated_at = greatest($3::bigint, updated_at + 1)
  WHERE id = $1 AND issuer_id = $2 AND NOT email_verified RETURNING id`

/** Whoever is signed in reads the mail of their address, too. Call it in the transaction of the step, as that user. */
export async function confirmEmail(context: Context, { id, issuerId, accountId }: SignInUser): Promise<void> {
  const [confirmed] = await sql(context.db, confirmText, id, issuerId, context.now())
  if (!confirmed) return
  const changes = { email_verified: { old: false, new: true } }
  const target = { type: 'user', id }
  await emit(context, 'user.updated', { accountId, issuerId, userId: id, target, changes })
}

/**
 * Somebody has come by mail alone. Where nobody had shown before that they read it, whoever made the account may be
 * somebody else, who waits for its owner: what they gave themselves goes, second factors too, and so do their sessions
 * and sign-ins half-way. What others gave the user stays. A second factor that others gave is in the way of mail, so
 * nothing is decided here where there is one.
 * @returns whether a password went
 */
export async function arriveByMail(
  context: Context,
  user: SignInUser,
  { confirmed, guarded }: Mailbox,
): Promise<boolean> {
  if (confirmed || guarded) return false
  const { id, issuerId } = user
  const own = await context.db.verifier.findMany({ where: { userId: id, issuerId, createdBy: id } })
  await context.db.verifier.deleteMany({ where: { id: { in: own.map((verifier) => verifier.id) }, issuerId } })
  await context.db.enrollment.deleteMany({ where: { userId: id, issuerId } })
  for (const verifier of own) await toldVerifier(context, 'user.verifier.deleted', verifier)
  if (own.length > 0) {
    await endSessionsOfUser(context, user, 'security_event')
    await endSignIns(context, user, true)
  }
  await confirmEmail(context, user)
  return own.some(({ type }) => type === 'password')
}
