/**
 * `gatehouse admin recover`: restores an administrator's access from the command line of the server
 * (docs/decisions/0053-administrator-recovery.md).
 */

import { ALL_SCOPES } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { sql } from '../platform/postgres/database.js'
import { transaction } from '../platform/postgres/transaction.js'
import { authoritySql, createMissingAdministratorOrganizations } from '../resources/accounts/administrators.js'
import type { ConsolePath } from '../resources/console-path.js'
import { createRecoveryLink, type RecoveryLink } from '../resources/credentials/recovery.js'
import { emailAddressSql } from '../resources/email-address.js'
import { recordEvent } from '../resources/events/record-event.js'
import { invalidateSignIns } from '../resources/sessions/sessions.js'
import { usernameKeyOf } from '../resources/users/usernames.js'
import { createUser, userEventSubject } from '../resources/users/users.js'
import { ensureConsole, lockDeployment, type Repair } from './console-issuer.js'

/** The options of a recovery. */
export interface RecoveryRequest {
  /**
   * The username or email address of a user of the console issuer. Without an operator, the username of the new owner,
   * who is created if there is no such user.
   */
  email: string
  /** True to reactivate a user who is suspended, blocked or disabled, or whose deletion is pending. */
  reactivate: boolean
}

export interface RecoveredAdministrator extends RecoveryLink {
  userId: string
  username: string
  /** True if there was no operator and no user with this username, so that this user was created. */
  created: boolean
  /** True if there was no operator, so that this user became the owner of the system account. */
  becameOwner: boolean
  /** The status before the reactivation; undefined if the user was active. */
  reactivatedFrom: string | undefined
  repaired: Repair[]
}

interface Candidate {
  id: string
  accountId: string
  issuerId: string
  username: string
  status: string
  /** True when the username matches, false when only the email address matches. */
  matchesUsername: boolean
  /** True if the user owns an account or is a member of an administrator organization. */
  isAdministrator: boolean
}

const isAdministratorSql = `(EXISTS (SELECT 1 FROM accounts a WHERE a.owner_user_id = u.id) OR EXISTS (
    SELECT 1 FROM organization_members m JOIN accounts a ON a.admin_org_id = m.org_id WHERE m.user_id = u.id))`

const candidatesSql = `
  SELECT u.id, u.account_id AS "accountId", u.issuer_id AS "issuerId", u.username, u.status, u.username_key = $2 AS "matchesUsername",
    ${isAdministratorSql} AS "isAdministrator"
  FROM users u WHERE u.issuer_id = $1 AND u.status <> 'deleted' AND (u.username_key = $2 OR lower(${emailAddressSql}) = $2)
  ORDER BY "matchesUsername" DESC, u.id`

// Operators are here users of the console issuer with all scopes on the system account. Operators who are not active
// count, because an administrator can restore them. Operators whose deletion is pending do not count.
const operatorsSql = `
  SELECT u.username, u.status FROM users u, accounts a
  WHERE a.system AND u.issuer_id = $1 AND u.status NOT IN ('deleted', 'pending_deletion')
    AND '${ALL_SCOPES}' = ANY(${authoritySql('u.id')})
  ORDER BY u.status <> 'active', u.id LIMIT 10`

/** The statuses that `--reactivate` can change. A user with a pending approval must be approved instead. */
const reactivatableStatuses = ['suspended', 'blocked', 'disabled', 'pending_deletion']

/**
 * Repairs the console issuer and creates a recovery link for an administrator. If there is no operator, the user with
 * this username becomes the owner of the system account, and is created if necessary.
 * @throws Error with instructions if the user is not an administrator, or is not active and cannot be or was not
 *   requested to be reactivated, or if several users have the email address and neither the username nor the role of
 *   administrator selects one; invalid_request if a user with this username cannot be created
 */
export async function recoverAdministrator(
  context: Context,
  request: RecoveryRequest,
): Promise<RecoveredAdministrator> {
  const recovered = await transaction(context, async (tx) => {
    await lockDeployment(tx)
    const { path, repaired } = await ensureConsole(tx)
    const operators = await sql<{ username: string; status: string }>(tx.db, operatorsSql, path.issuer_id)
    const hasNoOperator = operators.length === 0
    const candidate = await findCandidate(tx, path, request.email)
    // Users can set any email address in their profile, so only the username can select the new owner.
    const existingUser = hasNoOperator && !candidate?.matchesUsername ? undefined : candidate
    if (!hasNoOperator && !existingUser?.isAdministrator)
      throw new Error(notAdministratorMessage(request.email, operators))
    const user = existingUser ?? (await createOwnerUser(tx, path, request.email))
    const reactivatedFrom = await reactivateUser(tx, user, request.reactivate)
    const becameOwner = hasNoOperator && (await setSystemAccountOwner(tx, path, user.id))
    const link = await createRecoveryLink(tx, { ...user, status: 'active' })
    const { id: userId, username } = user
    return { ...link, userId, username, created: !existingUser, becameOwner, reactivatedFrom, repaired }
  })
  await createMissingAdministratorOrganizations(context)
  return recovered
}

async function findCandidate(tx: Context, { issuer_id }: ConsolePath, email: string): Promise<Candidate | undefined> {
  const candidates = await sql<Candidate>(tx.db, candidatesSql, issuer_id, usernameKeyOf(email))
  if (candidates.length < 2 || candidates[0]!.matchesUsername) return candidates[0]
  const administrators = candidates.filter(({ isAdministrator }) => isAdministrator)
  if (administrators.length === 1) return administrators[0]
  const names = candidates.map(({ username }) => username).join(', ')
  throw new Error(`Several users of the console have the email address ${email}. Use the username instead: ${names}.`)
}

function notAdministratorMessage(email: string, operators: readonly { username: string; status: string }[]): string {
  const known = operators.map(({ username, status }) => (status === 'active' ? username : `${username} (${status})`))
  return [
    `No administrator has the username or email address ${email}. Administrators of this deployment: ${known.join(', ')}.`,
    'Run the command with one of these; they can add other administrators in the console.',
  ].join(' ')
}

async function createOwnerUser(tx: Context, path: ConsolePath, email: string): Promise<Candidate> {
  const issuerPath = { accountId: path.account_id, issuerId: path.issuer_id }
  const { id, username, status } = await createUser(tx, issuerPath, { usernameType: 'email', username: email })
  return { ...issuerPath, id, username, status, matchesUsername: true, isAdministrator: false }
}

/** Reactivates a user who is not active. @returns the previous status; undefined if the user was active */
async function reactivateUser(tx: Context, user: Candidate, mayReactivate: boolean): Promise<string | undefined> {
  const { id, username, status } = user
  if (status === 'active') return undefined
  if (!reactivatableStatuses.includes(status))
    throw new Error(`${username} is ${status} and cannot be recovered. Approve the user first.`)
  if (!mayReactivate) {
    throw new Error(`${username} is ${status} and cannot sign in. Add --reactivate to reactivate the user.`)
  }
  const now = tx.now()
  const columns = { status: 'active', statusAt: now, statusReason: null, statusBy: null, purgeAt: null, updatedAt: now }
  await tx.db.user.update({ where: { id }, data: columns })
  const changes = { status: { old: status, new: 'active' } }
  await recordEvent(tx, 'user.status.changed', { ...userEventSubject(user), changes })
  // Sessions and sign-in proofs from before the suspension must not become valid again.
  await invalidateSignIns(tx, user)
  return status
}

/**
 * Makes the user the owner of the system account, and deletes the setup link.
 * @returns false, without a change, if the user is the owner already
 */
async function setSystemAccountOwner(tx: Context, { account_id: id }: ConsolePath, userId: string): Promise<boolean> {
  const { ownerUserId: previousOwnerId } = await tx.db.account.findUniqueOrThrow({
    where: { id },
    select: { ownerUserId: true },
  })
  if (previousOwnerId === userId) return false
  await tx.db.account.update({ where: { id }, data: { ownerUserId: userId, updatedAt: tx.now() } })
  const changes = { owner_user_id: { old: previousOwnerId, new: userId } }
  await recordEvent(tx, 'account.updated', { accountId: id, target: { type: 'account', id }, changes })
  await tx.db.deployment.deleteMany({ where: { name: 'setup' } })
  return true
}
