/** Whose mailbox is it? Codes and links go to the address of a user, never to one that the sender chose. */
import type { Context } from '../../platform/context.js'
import { goneUser } from '../place.js'
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
  const [row] = await context.tools.query<Row & Record<string, unknown>>('mail-owner', text, values)
  if (!row) return undefined
  const { email, ...user } = row
  return { user: { ...user, issuerId }, email }
}

/**
 * The address has been proved to be the user's: whoever reads its mail has just shown it. Call it in the transaction of
 * the step.
 */
export async function confirmEmail(context: Context, { id, issuerId }: SignInUser, email: string): Promise<boolean> {
  const rows = await context.db.$queryRawUnsafe<object[]>(
    `UPDATE users SET email_verified = true, updated_at = greatest($4::bigint, updated_at + 1)
     WHERE id = $1 AND issuer_id = $2 AND NOT email_verified
       AND CASE WHEN username_type = 'email' THEN username ELSE profile->>'email' END = $3 RETURNING id`,
    id,
    issuerId,
    email,
    context.now(),
  )
  return rows.length > 0
}
