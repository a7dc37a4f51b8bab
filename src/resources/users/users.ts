/** Users of an issuer (docs/contract.md#users, docs/contract.md#user-endpoints). */
import { canonicalJson } from '../../kernel/canonical-json.js'
import { conflict, invalidField } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { checkInput, checkMergedMetadata } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, type User } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfUser, requireGrantableScopes, requireScope } from '../authority.js'
import { requireNotConsoleOwner } from '../console-path.js'
import type { UpdateValues } from '../declaration.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { revokeTokensOfUser } from '../keys/personal-tokens.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  deletedUserStatuses,
  type InIssuer,
  type InUser,
  requireIssuer,
  requireUser,
  whereIssuerNotDeleted,
} from '../resource-path.js'
import { endSessionsOfUser, invalidateSignIns } from '../sessions/sessions.js'
import { createRules, type User as UserFields, type UsernameType, updateRules, writableUserStatuses } from './user.js'
import { checkUsername, rawEmailOf, usernameColumns } from './usernames.js'

/**
 * How a user was created. The origin determines what the first verification of the user's email address removes
 * (decision 0048).
 */
export type UserOrigin = 'sign_up' | 'invitation' | 'import' | 'administrator'

/**
 * Scope for changing a credential of a user. To change an existing user, the caller also needs every platform scope
 * that the user has (`requireAuthorityOfUser`).
 */
const CREDENTIALS_WRITE_SCOPE = 'issuers.users.verifiers:write'

const findUser = (context: Context, { accountId, issuerId, userId }: InUser) =>
  context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted },
  })

/** Returns a user. @throws not_found, also while the deletion of the user is pending */
export const getUser = requireUser

/**
 * Creates a user. With `requires_approval` the status is `pending_approval`.
 * @param options.id the id of the user, if it was generated earlier because a passkey contains it
 * @param options.origin `administrator` by default
 * @param options.isEmailVerified whether the user has verified the email address during the sign-up
 * @throws invalid_request, insufficient_scope, not_found, conflict for a username that another user has
 */
export async function createUser(
  context: Context,
  path: InIssuer,
  input: unknown,
  options: { id?: string | undefined; origin?: UserOrigin; isEmailVerified?: boolean } = {},
): Promise<User> {
  const values = checkInput(createRules, input)
  checkUsername(values.usernameType, values.username)
  requireGrantableScopes(context, values.scopes)
  if (values.emailVerified) requireScope(context, CREDENTIALS_WRITE_SCOPE)
  const emailVerified = options.isEmailVerified === true || values.emailVerified
  if (values.requiresApproval && values.status !== undefined) {
    throw invalidField(
      'status',
      'contradiction',
      'cannot be combined with requires_approval, which sets the status pending_approval.',
    )
  }
  return withUsernameConflict(() =>
    transaction(context, async (tx) => {
      const issuer = await requireIssuer(tx, path)
      const now = tx.now()
      const user = await tx.db.user.create({
        data: {
          id: options.id ?? newId('usr', now),
          accountId: path.accountId,
          issuerId: path.issuerId,
          ...values,
          ...usernameColumns(tx, issuer, values.usernameType, values.username),
          emailVerified,
          emailEverVerified: emailVerified,
          origin: options.origin ?? 'administrator',
          status: values.requiresApproval ? 'pending_approval' : (values.status ?? 'active'),
          statusAt: now,
          createdAt: now,
          updatedAt: now,
        },
      })
      await recordEvent(tx, 'user.created', { ...userEventSubject(user), data: { status: user.status } })
      return user
    }),
  )
}

/**
 * Updates a user: metadata is merged, other objects are replaced. Suspending or blocking a user ends all of the user's
 * sessions. Changing the username, the email address or `email_verified`, and making the user active again, require the
 * authority of the user (docs/contract.md#authority-for-changes). Changing `email_verified`, and changing the username
 * or the email address of a user who can sign in, also require the scope `issuers.users.verifiers:write`.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict for a username that another
 *   user has, and for suspending or blocking the owner of the system account
 */
export async function updateUser(
  context: Context,
  path: InUser,
  input: unknown,
  ifMatch?: string | null,
): Promise<User> {
  const values = checkInput(updateRules, input)
  return withUsernameConflict(() =>
    updateUserWithLock(context, path, 'user.updated', ifMatch, async (user, tx) => {
      requireGrantableScopes(tx, values.scopes ?? [], user.scopes)
      const { usernameType, username, profile, metadata, emailVerified } = values
      const usernameChanged = usernameType !== undefined || username !== undefined
      const nextType = usernameType ?? (user.usernameType as UsernameType)
      const nextUsername = (username ?? user.username).trim()
      if (usernameChanged) checkUsername(nextType, nextUsername)
      const nextProfile = (profile ?? user.profile) as Prisma.JsonValue
      const nextEmail = rawEmailOf({ usernameType: nextType, username: nextUsername, profile: nextProfile })
      // Compares addresses without checking their form, because mail servers accept addresses that `isEmail` rejects.
      const emailChanged = canonicalJson(nextEmail ?? null) !== canonicalJson(rawEmailOf(user) ?? null)
      const emailVerifiedChanged = emailVerified !== undefined && emailVerified !== user.emailVerified
      const credentialChanged =
        emailChanged || emailVerifiedChanged || nextType !== user.usernameType || nextUsername !== user.username
      const reactivated = values.status === 'active' && user.status !== 'active'
      if (credentialChanged || reactivated) await requireAuthorityOfUser(tx, user)
      if (credentialChanged && (emailVerifiedChanged || (await canSignIn(tx, user))))
        requireScope(tx, CREDENTIALS_WRITE_SCOPE)
      return {
        ...values,
        ...statusColumns(tx, user, values),
        // The new address has not been verified.
        ...(emailChanged && { emailVerified: emailVerified ?? false }),
        ...(usernameChanged && usernameColumns(tx, await requireIssuer(tx, path), nextType, nextUsername)),
        ...(metadata && { metadata: checkMergedMetadata(user.metadata, metadata) as Prisma.InputJsonObject }),
      }
    }),
  )
}

/**
 * Deletes a user (docs/contract.md#states-and-transitions): sessions and tokens end immediately, and the data is purged
 * after `limits.deletedUserPurgeDelay`. Does nothing if the deletion is pending already.
 * @throws not_found, precondition_failed, conflict for the owner of the system account
 */
export async function deleteUser(context: Context, path: InUser, ifMatch?: string | null): Promise<void> {
  const { accountId, issuerId, userId } = path
  const pending = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: 'pending_deletion', ...whereIssuerNotDeleted },
    select: { id: true },
  })
  if (pending) return
  await updateUserWithLock(context, path, 'user.deleted', ifMatch, () => {
    const now = context.now()
    return {
      status: 'pending_deletion',
      statusAt: now,
      statusBy: context.actor.id,
      purgeAt: now + limits.deletedUserPurgeDelay,
    }
  })
}

function updateUserWithLock(
  context: Context,
  path: InUser,
  type: EventType,
  ifMatch: string | null | undefined,
  computeChanges: (
    user: User,
    context: Context,
  ) => Prisma.UserUncheckedUpdateManyInput | Promise<Prisma.UserUncheckedUpdateManyInput>,
): Promise<User> {
  return updateWithOptimisticLock<User, Prisma.UserUncheckedUpdateManyInput>(context, {
    resourceName: 'user',
    table: 'users',
    ifMatch,
    read: (tx) => findUser(tx, path),
    async computeChanges(user, now) {
      const changes = await computeChanges(user, now)
      const everVerified = user.emailVerified || changes.emailVerified === true
      return everVerified ? { ...changes, emailEverVerified: true } : changes
    },
    write: async (tx, version, data) =>
      (await tx.db.user.updateManyAndReturn({ where: { id: path.userId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, user) => {
      await recordEvent(tx, type, { ...userEventSubject(user), changes: changesBetween('user', before, user) })
      if (type === 'user.deleted') await revokeTokensOfUser(tx, user)
      if (before.status === user.status) return
      if (type === 'user.updated') {
        const changes = { status: { old: before.status, new: user.status } }
        await recordEvent(tx, 'user.status.changed', { ...userEventSubject(user), changes })
      }
      if (user.status === 'active') return invalidateSignIns(tx, user)
      await requireNotConsoleOwner(tx, user.id)
      await endSessionsOfUser(tx, user, 'admin_action')
    },
  })
}

export const userEventSubject = ({ accountId, issuerId, id }: { accountId: string; issuerId: string; id: string }) => ({
  accountId,
  issuerId,
  userId: id,
  target: { type: 'user', id },
})

/**
 * Returns the status columns of a change by `updateUser`. Approving, rejecting and deleting a user are other
 * operations.
 * @throws invalid_request if the current status cannot be changed by `updateUser`
 */
function statusColumns(context: Context, user: User, values: UpdateValues<UserFields>) {
  if (values.status === undefined || values.status === user.status) return {}
  if (!(writableUserStatuses as readonly string[]).includes(user.status)) {
    throw invalidField('status', 'invalid_transition', `cannot be changed while the user is ${user.status}.`)
  }
  return {
    statusAt: values.statusAt ?? context.now(),
    statusBy: values.statusBy ?? context.actor.id,
    statusReason: values.statusReason ?? null,
  }
}

/** Returns whether the user has a verifier, or a verified email address, which can allow a sign-in by email. */
async function canSignIn(context: Context, { id, issuerId, emailVerified }: User): Promise<boolean> {
  return emailVerified || (await context.db.verifier.count({ where: { userId: id, issuerId } })) > 0
}

async function withUsernameConflict<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isDuplicate(error)) throw conflict('Another user of this issuer has this username.')
    throw error
  }
}
