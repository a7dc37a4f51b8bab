/** Users (spec 2.6, 4.6, section 3): identities of an issuer. */
import { z } from 'zod'
import { canonicalJson } from '../../kernel/canonical.js'
import { conflict, invalidField } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { mergeMetadata } from '../../kernel/merge.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type Prisma, transaction, type User } from '../../platform/database.js'
import { mayGrant, requireAuthorityOfUser, requireScope } from '../authority.js'
import { refuseConsoleOwner } from '../console-place.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { revokeTokensOfUser } from '../keys/personal-tokens.js'
import { goneUser, type InIssuer, type InUser, ofLivingIssuer, requireIssuer, requireUser } from '../place.js'
import { revise } from '../revise.js'
import { endSessionsOfUser, endSignIns } from '../sessions/sessions.js'
import { profileRules } from './profile.js'
import { addressOf, checkUsername, type UsernameType, usernameColumns, usernameTypes } from './usernames.js'

export const userStatuses = [
  'active',
  'suspended',
  'blocked',
  'disabled',
  'deleted',
  'pending_approval',
  'pending_deletion',
] as const
export type UserStatus = (typeof userStatuses)[number]
export const writableUserStatuses = ['active', 'suspended', 'blocked'] as const

/** How an account came to be. The first proof of a mailbox depends on it (decision 0062). */
export type UserOrigin = 'sign_up' | 'invitation' | 'import' | 'administrator'

/** How long a deletion can still be undone by hand before the data goes (decisions D22). */
export const PURGE_AFTER = DAY

const status = z.enum(writableUserStatuses, `must be one of ${writableUserStatuses.join(', ')}.`)
const objects = {
  profile: profileRules.optional(),
  security: rules.object.optional(),
  compliance: rules.object.optional(),
  preferences: rules.object.optional(),
  customFields: rules.object.optional(),
}

const createRules = z.strictObject({
  usernameType: z.enum(usernameTypes, `must be one of ${usernameTypes.join(', ')}.`),
  username: rules.text(254),
  ...objects,
  scopes: rules.scopes.optional(),
  metadata: rules.metadata.optional(),
  requiresApproval: rules.boolean.optional(),
  signupReason: rules.text().nullable().optional(),
  triggeredRule: rules.text().nullable().optional(),
  emailVerified: rules.boolean.optional(),
  status: status.optional(),
  region: rules.text(64).nullable().optional(),
})

const updateRules = z.strictObject({
  status: status.optional(),
  statusAt: rules.moment.optional(),
  statusReason: rules.text().nullable().optional(),
  statusBy: rules.text(200).optional(),
  usernameType: z.enum(usernameTypes, `must be one of ${usernameTypes.join(', ')}.`).optional(),
  username: rules.text(254).optional(),
  ...objects,
  scopes: rules.scopes.optional(),
  approval: rules.object.optional(),
  metadata: rules.metadata.optional(),
  emailVerified: rules.boolean.optional(),
})

/** What it takes to change a credential of a user beside the authority of that user (decisions D30). */
const CREDENTIALS = 'issuers.users.verifiers:write'

/** The row if it lives, for changes of it. */
const find = (context: Context, { accountId, issuerId, userId }: InUser) =>
  context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: goneUser }, ...ofLivingIssuer },
  })

/** @throws not_found also while a deletion is pending (spec section 3) */
export const getUser = requireUser

/**
 * Makes a user. With `requires_approval` it waits in pending_approval (decisions D28).
 * @param known.id where it had to be known before there is a user: passkeys hold it
 * @param known.origin how the account comes to be; an administrator creates it unless stated otherwise
 * @param known.emailProved the person has proved to read the mail of the address
 * @throws invalid_request, insufficient_scope, not_found, conflict for a taken username
 */
export async function createUser(
  context: Context,
  place: InIssuer,
  input: unknown,
  known: { id?: string | undefined; origin?: UserOrigin; emailProved?: boolean } = {},
): Promise<User> {
  const values = check(createRules, input)
  checkUsername(values.usernameType, values.username)
  mayGrant(context, values.scopes ?? [])
  if (values.emailVerified) requireScope(context, CREDENTIALS)
  const emailVerified = known.emailProved === true || values.emailVerified === true
  if (values.requiresApproval && values.status !== undefined) {
    throw invalidField(
      'status',
      'contradiction',
      'goes not together with requires_approval, which starts in pending_approval.',
    )
  }
  return withTakenUsername(() =>
    transaction(context, async (inside) => {
      const issuer = await requireIssuer(inside, place)
      const now = inside.now()
      const user = await inside.db.user.create({
        data: {
          id: known.id ?? newId('usr', now),
          accountId: place.accountId,
          issuerId: place.issuerId,
          ...usernameColumns(inside, issuer, values.usernameType, values.username),
          ...jsonColumns(values),
          scopes: values.scopes ?? [],
          requiresApproval: values.requiresApproval ?? false,
          signupReason: values.signupReason ?? null,
          triggeredRule: values.triggeredRule ?? null,
          emailVerified,
          emailEverVerified: emailVerified,
          origin: known.origin ?? 'administrator',
          status: values.requiresApproval ? 'pending_approval' : (values.status ?? 'active'),
          statusAt: now,
          region: values.region ?? null,
          createdAt: now,
          updatedAt: now,
        },
      })
      await emit(inside, 'user.created', { ...aboutUser(user), data: { status: user.status } })
      return user
    }),
  )
}

/**
 * PATCH: metadata merged, other objects replaced. Suspending or blocking ends all sessions (spec section 3). A new
 * username, mail address or `email_verified` is a credential: it asks for the authority of the user (decisions D30), and so
 * does letting the user sign in again.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict for a taken username
 */
export async function updateUser(
  context: Context,
  place: InUser,
  input: unknown,
  ifMatch?: string | null,
): Promise<User> {
  const values = check(updateRules, input)
  return withTakenUsername(() =>
    reviseUser(context, place, 'user.updated', ifMatch, async (user, inside) => {
      mayGrant(inside, values.scopes ?? [], user.scopes)
      const {
        usernameType,
        username,
        metadata,
        profile,
        security,
        compliance,
        preferences,
        customFields,
        approval,
        emailVerified,
        ...plain
      } = values
      const renamed = usernameType !== undefined || username !== undefined
      const nextType = usernameType ?? (user.usernameType as UsernameType)
      const nextName = (username ?? user.username).trim()
      if (renamed) checkUsername(nextType, nextName)
      const nextProfile = (profile ?? user.profile) as Prisma.JsonValue
      const nextAddress = addressOf({ usernameType: nextType, username: nextName, profile: nextProfile })
      // Any other text: mail servers take addresses in more forms than are taken for one here.
      const readdressed = canonicalJson(nextAddress ?? null) !== canonicalJson(addressOf(user) ?? null)
      const verifiedNow = emailVerified !== undefined && emailVerified !== user.emailVerified
      const credential = readdressed || verifiedNow || nextType !== user.usernameType || nextName !== user.username
      const returns = values.status === 'active' && user.status !== 'active'
      if (credential || returns) await requireAuthorityOfUser(inside, user)
      if (credential && (verifiedNow || (await canSignIn(inside, user)))) requireScope(inside, CREDENTIALS)
      return {
        ...plain,
        ...statusColumns(inside, user, values),
        ...jsonColumns({ profile, security, compliance, preferences, customFields, approval }),
        // A proof that the user reads the mail of one address is none for another one.
        ...(readdressed && { emailVerified: false }),
        ...(emailVerified !== undefined && { emailVerified }),
        ...(renamed && usernameColumns(inside, await requireIssuer(inside, place), nextType, nextName)),
        ...(metadata && { metadata: mergedMetadata(user.metadata, metadata) }),
      }
    }),
  )
}

/**
 * Asynchronous deletion (spec section 3): the user vanishes and its sessions end at once, its data goes after a day.
 * Repeating it answers the same.
 */
export async function deleteUser(context: Context, place: InUser, ifMatch?: string | null): Promise<void> {
  const { accountId, issuerId, userId } = place
  const pending = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: 'pending_deletion', ...ofLivingIssuer },
    select: { id: true },
  })
  if (pending) return
  await reviseUser(context, place, 'user.deleted', ifMatch, () => {
    const now = context.now()
    return { status: 'pending_deletion', statusAt: now, statusBy: context.actor.id, purgeAt: now + PURGE_AFTER }
  })
}

function reviseUser(
  context: Context,
  place: InUser,
  type: EventType,
  ifMatch: string | null | undefined,
  change: (
    user: User,
    context: Context,
  ) => Prisma.UserUncheckedUpdateManyInput | Promise<Prisma.UserUncheckedUpdateManyInput>,
): Promise<User> {
  return revise<User, Prisma.UserUncheckedUpdateManyInput>(context, {
    what: 'user',
    table: 'users',
    ifMatch,
    read: (now) => find(now, place),
    async change(user, now) {
      const changes = await change(user, now)
      const verified = user.emailVerified || changes.emailVerified === true
      return verified ? { ...changes, emailEverVerified: true } : changes
    },
    write: async (now, version, data) =>
      (await now.db.user.updateManyAndReturn({ where: { id: place.userId, updatedAt: version }, data }))[0],
    also: async (inside, before, user) => {
      await emit(inside, type, { ...aboutUser(user), changes: changesBetween('user', before, user) })
      if (type === 'user.deleted') await revokeTokensOfUser(inside, user)
      if (before.status === user.status) return
      if (type === 'user.updated') {
        const changes = { status: { old: before.status, new: user.status } }
        await emit(inside, 'user.status.changed', { ...aboutUser(user), changes })
      }
      if (user.status === 'active') return endSignIns(inside, user)
      await refuseConsoleOwner(inside, user.id)
      await endSessionsOfUser(inside, user, 'admin_action')
    },
  })
}

export const aboutUser = ({ accountId, issuerId, id }: { accountId: string; issuerId: string; id: string }) => ({
  accountId,
  issuerId,
  userId: id,
  target: { type: 'user', id },
})

/** Which moves of the status a PATCH may make: approval and deletion have operations of their own. */
function statusColumns(context: Context, user: User, values: z.infer<typeof updateRules>) {
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

/** Has the user a verifier, or a proved mailbox, which signs in without one? */
async function canSignIn(context: Context, { id, issuerId, emailVerified }: User): Promise<boolean> {
  return emailVerified || (await context.db.verifier.count({ where: { userId: id, issuerId } })) > 0
}

/** Only the given objects, as Prisma wants them. */
function jsonColumns(values: { [name: string]: unknown }): Record<string, Prisma.InputJsonObject> {
  const names = ['profile', 'security', 'compliance', 'preferences', 'customFields', 'metadata', 'approval']
  const given = names.filter((name) => values[name] !== undefined)
  return Object.fromEntries(given.map((name) => [name, values[name] as Prisma.InputJsonObject]))
}

function mergedMetadata(before: unknown, patch: Record<string, unknown>): Prisma.InputJsonObject {
  return check(rules.metadata, mergeMetadata(before, patch), ['metadata']) as Prisma.InputJsonObject
}

async function withTakenUsername<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (isDuplicate(error)) throw conflict('This username is taken in this issuer.')
    throw error
  }
}
