/** Verifiers of users (spec 2.7, 4.6, decisions D13): what a person proves itself with. Answers never hold a hash. */
import { z } from 'zod'
import { conflict, invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import {
  type Issuer,
  isDuplicate,
  type Prisma,
  transaction,
  type User,
  type Verifier,
} from '../../platform/database.js'
import { hashPassword } from '../../platform/secrets.js'
import type { EventType } from '../events/catalogue.js'
import { changesBetween, emit } from '../events/events.js'
import { after, type InIssuer, ofLivingIssuer } from '../place.js'
import { revise } from '../revise.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { checkPassword, passwordPolicyOf } from './password-policy.js'

export const verifierTypes = ['password', 'temporary_password'] as const
export type VerifierType = (typeof verifierTypes)[number]

/** A temporary password lives this long at most (decisions D13). */
export const TEMPORARY_LIFE = 7 * DAY

export interface VerifiersPlace extends InIssuer {
  userId: string
}

export interface VerifierPlace extends VerifiersPlace {
  verifierId: string
}

const name = z.string('must be a string or null.').max(200, 'must have at most 200 characters.').nullable()
const password = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(1024, 'must have at most 1,024 characters.')

const createRules = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('password'),
      name,
      description: rules.description.optional(),
      metadata: rules.metadata.optional(),
      password,
      mustChange: rules.boolean.optional(),
      expiresAt: rules.moment.nullable().optional(),
    }),
    z.strictObject({
      type: z.literal('temporary_password'),
      name,
      description: rules.description.optional(),
      metadata: rules.metadata.optional(),
      password,
      expiresAt: rules.moment,
      createdBy: rules.text(200).nullable().optional(),
    }),
  ],
  `must be one of ${verifierTypes.join(', ')}.`,
)

const updateRules = z.strictObject({
  name: name.optional(),
  description: rules.description.optional(),
  metadata: rules.metadata.optional(),
  password: password.optional(),
  mustChange: rules.boolean.optional(),
  expiresAt: rules.moment.nullable().optional(),
})

const gone = ['deleted', 'pending_deletion']

/** The user of this place, with the issuer whose policy counts. @throws not_found */
async function requireUser(context: Context, place: VerifiersPlace): Promise<User & { issuer: Issuer }> {
  const { accountId, issuerId, userId } = place
  const user = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: gone }, ...ofLivingIssuer },
    include: { issuer: true },
  })
  if (!user) throw notFound('user')
  return user
}

/** Newest first. */
export async function listVerifiers(
  context: Context,
  place: VerifiersPlace,
  request: PageRequest,
): Promise<Page<Verifier>> {
  const { accountId, issuerId, userId } = place
  const limit = limitOf(request)
  const rows = await context.db.verifier.findMany({
    where: {
      AND: [
        { accountId, issuerId, userId, user: { is: { status: { notIn: gone }, ...ofLivingIssuer } } },
        after('vrf', request.cursor),
      ],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireUser(context, place)
  return pageOf(rows, limit)
}

const find = (context: Context, { accountId, issuerId, userId, verifierId }: VerifierPlace) =>
  context.db.verifier.findFirst({
    where: {
      id: verifierId,
      accountId,
      issuerId,
      userId,
      user: { is: { status: { notIn: gone }, ...ofLivingIssuer } },
    },
  })

/** @throws not_found */
export async function getVerifier(context: Context, place: VerifierPlace): Promise<Verifier> {
  const verifier = await find(context, place)
  if (!verifier) throw notFound('verifier')
  return verifier
}

/**
 * Gives a user a verifier. The password is checked against the issuer's policy and hashed before the transaction.
 * @throws invalid_request, not_found, conflict for a second password
 */
export async function createVerifier(context: Context, place: VerifiersPlace, input: unknown): Promise<Verifier> {
  const values = check(createRules, input)
  const user = await requireUser(context, place)
  const now = context.now()
  if (values.type === 'temporary_password' && (values.expiresAt <= now || values.expiresAt > now + TEMPORARY_LIFE)) {
    throw invalidField('expiresAt', 'out_of_range', 'must lie in the future, at most 7 days from now.')
  }
  await checkPassword(passwordPolicyOf(user.issuer), values.password, user)
  const hash = await hashPassword(values.password)
  return transaction(context, async (inside) => {
    try {
      const verifier = await inside.db.verifier.create({
        data: {
          id: newId('vrf', now),
          accountId: place.accountId,
          issuerId: place.issuerId,
          userId: place.userId,
          type: values.type,
          name: values.name,
          description: values.description ?? null,
          metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
          hash,
          secretSetAt: now,
          mustChange: values.type === 'temporary_password' || (values.mustChange ?? false),
          expiresAt: values.expiresAt ?? null,
          createdBy: (values.type === 'temporary_password' ? values.createdBy : null) ?? context.actor.id,
          createdAt: now,
          updatedAt: now,
        },
      })
      await told(inside, 'user.verifier.created', verifier)
      return verifier
    } catch (error) {
      if (isDuplicate(error)) throw conflict(`This user has a ${values.type} already; change that one.`)
      throw error
    }
  })
}

/**
 * PATCH. A new password ends the user's sessions (reason `password_changed`).
 * @throws invalid_request, not_found
 */
export async function updateVerifier(context: Context, place: VerifierPlace, input: unknown): Promise<Verifier> {
  const { password: newPassword, metadata, ...values } = check(updateRules, input)
  const verifier = await getVerifier(context, place)
  if (newPassword !== undefined && verifier.type !== 'password') {
    throw invalidField(
      'password',
      'not_allowed',
      `cannot be changed on a ${verifier.type}; delete it and make another.`,
    )
  }
  if (verifier.type === 'temporary_password' && 'expiresAt' in values) {
    throw invalidField(
      'expiresAt',
      'not_allowed',
      'cannot be changed on a temporary password; delete it and make another.',
    )
  }
  const secret = newPassword === undefined ? {} : await newSecret(context, place, verifier, newPassword)
  return revise<Verifier, Prisma.VerifierUncheckedUpdateManyInput>(context, {
    what: 'verifier',
    table: 'verifiers',
    ifMatch: undefined,
    read: (now) => find(now, place),
    change: () => ({ ...secret, ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }),
    write: async (now, version, data) =>
      (await now.db.verifier.updateManyAndReturn({ where: { id: place.verifierId, updatedAt: version }, data }))[0],
    also: async (inside, before, row) => {
      await told(inside, 'user.verifier.updated', row, before)
      if (newPassword !== undefined) await endSessionsOfUser(inside, aboutOwner(row), 'password_changed')
    },
  })
}

/** @throws not_found */
export async function deleteVerifier(context: Context, place: VerifierPlace): Promise<void> {
  await transaction(context, async (inside) => {
    const verifier = await getVerifier(inside, place)
    const { count } = await inside.db.verifier.deleteMany({ where: { id: verifier.id } })
    if (count === 0) throw notFound('verifier')
    await told(inside, 'user.verifier.deleted', verifier)
  })
}

/** The columns of a newly set password, after the policy has agreed. */
export async function newSecret(context: Context, place: VerifiersPlace, verifier: Verifier, password: string) {
  const user = await requireUser(context, place)
  const policy = passwordPolicyOf(user.issuer)
  const previousHashes = [...(verifier.hash ? [verifier.hash] : []), ...verifier.previousHashes].slice(
    0,
    policy.history,
  )
  await checkPassword(policy, password, { ...user, previousHashes })
  return { hash: await hashPassword(password), previousHashes, secretSetAt: context.now(), mustChange: false }
}

const aboutOwner = ({ accountId, issuerId, userId }: Verifier) => ({ accountId, issuerId, id: userId })

async function told(context: Context, type: EventType, verifier: Verifier, before?: Verifier): Promise<void> {
  const { accountId, issuerId, userId, id } = verifier
  await emit(context, type, {
    accountId,
    issuerId,
    userId,
    target: { type: 'verifier', id },
    data: { type: verifier.type },
    changes: before ? changesBetween(before, verifier) : {},
  })
}
