/** `gatehouse admin recover`: whoever runs commands on the server gives an administrator access again (decision 0067). */
import { ensureConsole, lockDeployment, type Repair } from './console-issuer.js'
import { ALL } from './kernel/scopes.js'
import type { Context } from './platform/context.js'
import { sql, transaction } from './platform/database.js'
import { authoritySql, giveMissingAdministrators } from './resources/accounts/administrators.js'
import type { ConsolePlace } from './resources/console-place.js'
import { createRecoveryLink, type RecoveryLink } from './resources/credentials/recovery.js'
import { emit } from './resources/events/events.js'
import { addressSql } from './resources/mail-address.js'
import { endSignIns } from './resources/sessions/sessions.js'
import { usernameKeyOf } from './resources/users/usernames.js'
import { aboutUser, createUser } from './resources/users/users.js'

/** Whom to recover. */
export interface RecoveryRequest {
  /** The username or the email address of a user of the console issuer. */
  email: string
  /** Lift a suspension, a block or a pending deletion. */
  reactivate: boolean
}

export interface RecoveredAdministrator extends RecoveryLink {
  userId: string
  username: string
  /** There was no administrator left, so this user was created. */
  created: boolean
  /** There was no administrator left, so this user owns the system account now. */
  madeOwner: boolean
  /** The status that the user had before it was reactivated. */
  reactivatedFrom: string | undefined
  repaired: Repair[]
}

interface Candidate {
  id: string
  accountId: string
  issuerId: string
  username: string
  status: string
  /** The username is what was given; else it is the email address. */
  named: boolean
  /** Owns an account or belongs to the administrators of one. */
  administers: boolean
}

const administersSql = `(EXISTS (SELECT 1 FROM accounts a WHERE a.owner_user_id = u.id) OR EXISTS (
    SELECT 1 FROM organization_members m JOIN accounts a ON a.admin_org_id = m.org_id WHERE m.user_id = u.id))`

const candidatesText = `
  SELECT u.id, u.account_id AS "accountId", u.issuer_id AS "issuerId", u.username, u.status, u.username_key = $2 AS named,
    ${administersSql} AS administers
  FROM users u WHERE u.issuer_id = $1 AND u.status <> 'deleted' AND (u.username_key = $2 OR lower(${addressSql}) = $2)
  ORDER BY named DESC, u.id`

// Whatever their status: who is suspended can be reactivated. One whose deletion is pending is as good as gone.
const operatorsText = `
  SELECT u.username, u.status FROM users u, accounts a
  WHERE a.system AND u.issuer_id = $1 AND u.status NOT IN ('deleted', 'pending_deletion')
    AND '${ALL}' = ANY(${authoritySql('u.id')})
  ORDER BY u.status <> 'active', u.id LIMIT 10`

/** What `--reactivate` lifts. Approval has an operation of its own. */
const reactivatable = ['suspended', 'blocked', 'disabled', 'pending_deletion']

/**
 * Repairs the console issuer, and creates the recovery link of one administrator. If no administrator of the system
 * account is left, the user of this email becomes one, and is created if need be.
 * @throws Error that says what to do, for a user who is no administrator, is ambiguous, or is not active
 */
export async function recoverAdministrator(
  context: Context,
  request: RecoveryRequest,
): Promise<RecoveredAdministrator> {
  const recovered = await transaction(context, async (inside) => {
    await lockDeployment(inside)
    const { place, repaired } = await ensureConsole(inside)
    const operators = await sql<{ username: string; status: string }>(inside.db, operatorsText, place.issuer_id)
    const lacksOperator = operators.length === 0
    const known = await find(inside, place, request.email)
    // A user can write any address into a profile, so the new owner is found by username only.
    const found = lacksOperator && !known?.named ? undefined : known
    if (!lacksOperator && !found?.administers) throw new Error(notAdministrator(request.email, operators))
    const user = found ?? (await create(inside, place, request.email))
    const reactivatedFrom = await activate(inside, user, request.reactivate)
    const madeOwner = lacksOperator && (await makeOwner(inside, place, user.id))
    const link = await createRecoveryLink(inside, { ...user, status: 'active' })
    const { id: userId, username } = user
    return { ...link, userId, username, created: !found, madeOwner, reactivatedFrom, repaired }
  })
  await giveMissingAdministrators(context)
  return recovered
}

/** @throws Error when several users have this address */
async function find(inside: Context, { issuer_id }: ConsolePlace, email: string): Promise<Candidate | undefined> {
  const all = await sql<Candidate>(inside.db, candidatesText, issuer_id, usernameKeyOf(email))
  if (all.length < 2 || all[0]!.named) return all[0]
  const administrators = all.filter(({ administers }) => administers)
  if (administrators.length === 1) return administrators[0]
  const names = all.map(({ username }) => username).join(', ')
  throw new Error(`Several users of the console have the address ${email}. Give the username of one instead: ${names}.`)
}

function notAdministrator(email: string, operators: readonly { username: string; status: string }[]): string {
  const known = operators.map(({ username, status }) => (status === 'active' ? username : `${username} (${status})`))
  return [
    `No administrator has the username or address ${email}. Administrators of this deployment: ${known.join(', ')}.`,
    'Run the command with one of these; they can make further people administrators in the console.',
  ].join(' ')
}

async function create(inside: Context, place: ConsolePlace, email: string): Promise<Candidate> {
  const at = { accountId: place.account_id, issuerId: place.issuer_id }
  const { id, username, status } = await createUser(inside, at, { usernameType: 'email', username: email })
  return { ...at, id, username, status, named: true, administers: false }
}

/** @returns the status before, if it was another one */
async function activate(inside: Context, user: Candidate, reactivate: boolean): Promise<string | undefined> {
  const { id, username, status } = user
  if (status === 'active') return undefined
  if (!reactivatable.includes(status))
    throw new Error(`${username} is ${status} and cannot be recovered. Approve the user first.`)
  if (!reactivate) {
    throw new Error(
      `${username} is ${status}, so a link would not work. Add --reactivate to make the user active again.`,
    )
  }
  const now = inside.now()
  const columns = { status: 'active', statusAt: now, statusReason: null, statusBy: null, purgeAt: null, updatedAt: now }
  await inside.db.user.update({ where: { id }, data: columns })
  const changes = { status: { old: status, new: 'active' } }
  await emit(inside, 'user.status.changed', { ...aboutUser(user), changes })
  // What was proved before the suspension does not count again.
  await endSignIns(inside, user)
  return status
}

/** @returns false for the user who owns it already */
async function makeOwner(inside: Context, { account_id: id }: ConsolePlace, userId: string): Promise<boolean> {
  const { ownerUserId: old } = await inside.db.account.findUniqueOrThrow({
    where: { id },
    select: { ownerUserId: true },
  })
  if (old === userId) return false
  await inside.db.account.update({ where: { id }, data: { ownerUserId: userId, updatedAt: inside.now() } })
  const changes = { owner_user_id: { old, new: userId } }
  await emit(inside, 'account.updated', { accountId: id, target: { type: 'account', id }, changes })
  await inside.db.deployment.deleteMany({ where: { name: 'setup' } })
  return true
}
