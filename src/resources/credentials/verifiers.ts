/**
 * Verifiers of users (spec 2.7, 4.6, decisions D13): what a person proves itself with. What is particular to a kind
 * stands in its own file, see kinds.ts. Answers never hold a hash or a secret, but for what is shown once.
 */
import { z } from 'zod'
import { conflict, invalid, notFound } from '../../kernel/errors.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { isDuplicate, type Prisma, transaction, type Verifier } from '../../platform/database.js'
import { requireAuthorityOfUser } from '../authority.js'
import { after, goneUser, ofLivingIssuer } from '../place.js'
import { revise } from '../revise.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import type { VerifierPlace, VerifiersPlace } from './kind.js'
import { type Kind, lockOwner, type NewVerifier, name, requireOwner, toldVerifier } from './kind.js'
import { changeable, createRules, kinds, type VerifierType } from './kinds.js'
import { newSecret, passwordRule } from './password.js'
import { recordRemoval } from './removal.js'

const updateRules = z.strictObject({
  name: name.optional(),
  description: rules.description.optional(),
  metadata: rules.metadata.optional(),
  password: passwordRule.optional(),
  mustChange: rules.boolean.optional(),
  expiresAt: rules.moment.nullable().optional(),
})

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
        { accountId, issuerId, userId, user: { is: { status: { notIn: goneUser }, ...ofLivingIssuer } } },
        after('vrf', request.cursor),
      ],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireOwner(context, place)
  return pageOf(rows, limit)
}

const find = (context: Context, { accountId, issuerId, userId, verifierId }: VerifierPlace) =>
  context.db.verifier.findFirst({
    where: {
      id: verifierId,
      accountId,
      issuerId,
      userId,
      user: { is: { status: { notIn: goneUser }, ...ofLivingIssuer } },
    },
  })

/** @throws not_found */
export async function getVerifier(context: Context, place: VerifierPlace): Promise<Verifier> {
  const verifier = await find(context, place)
  if (!verifier) throw notFound('verifier')
  return verifier
}

/**
 * Gives a user a verifier, or begins one (totp_enrollment).
 * @throws invalid_request, insufficient_scope, not_found, conflict for a second password or totp or a known passkey
 */
export async function createVerifier(context: Context, place: VerifiersPlace, input: unknown): Promise<NewVerifier> {
  const values = check(createRules, input)
  const owner = await requireOwner(context, place)
  await requireAuthorityOfUser(context, owner)
  const make = await (kinds[values.type] as unknown as Kind).prepare(context, owner, values)
  try {
    return await transaction(context, async (inside) => {
      await lockOwner(inside, owner)
      return make(inside)
    })
  } catch (error) {
    if (isDuplicate(error)) throw conflict(`This user has a ${values.type} already; change that one.`)
    throw error
  }
}

/**
 * PATCH. A new password ends the user's sessions (reason `password_changed`).
 * @throws invalid_request, insufficient_scope, not_found
 */
export async function updateVerifier(context: Context, place: VerifierPlace, input: unknown): Promise<Verifier> {
  const { password, metadata, ...values } = check(updateRules, input)
  const verifier = await getVerifier(context, place)
  refuseUnchangeable(verifier, { ...values, ...(password !== undefined && { password }) })
  if (verifier.type === 'temporary_password') check(z.object({ name: rules.name.optional() }), { name: values.name })
  if (password !== undefined || values.mustChange !== undefined || values.expiresAt !== undefined)
    await requireAuthorityOfUser(context, { id: verifier.userId, issuerId: verifier.issuerId })
  const secret = password === undefined ? {} : await changedPassword(context, place, verifier, password)
  return revise<Verifier, Prisma.VerifierUncheckedUpdateManyInput>(context, {
    what: 'verifier',
    table: 'verifiers',
    ifMatch: undefined,
    read: (now) => find(now, place),
    change: () => ({ ...secret, ...values, ...(metadata && { metadata: metadata as Prisma.InputJsonObject }) }),
    write: async (now, version, data) =>
      (await now.db.verifier.updateManyAndReturn({ where: { id: place.verifierId, updatedAt: version }, data }))[0],
    also: async (inside, before, row) => {
      await toldVerifier(inside, 'user.verifier.updated', row, before)
      const { accountId, issuerId, userId: id } = row
      if (password !== undefined) await endSessionsOfUser(inside, { accountId, issuerId, id }, 'password_changed')
    },
  })
}

async function changedPassword(context: Context, place: VerifiersPlace, verifier: Verifier, password: string) {
  const owner = await requireOwner(context, place)
  return newSecret(context, owner, verifier, password)
}

/** @throws invalid_request naming the fields that this kind does not have or does not let go of */
function refuseUnchangeable({ type }: Verifier, values: object): void {
  const free = ['name', 'description', 'metadata', ...(changeable[type as VerifierType] ?? [])]
  const refused = Object.keys(values).filter((field) => !free.includes(field))
  const message = `cannot be changed on a ${type}; delete it and make another.`
  if (refused.length > 0) throw invalid(refused.map((field) => ({ field, code: 'not_allowed', message })))
}

/**
 * Without a second factor the first one is enough, so a removal asks for the authority of the user (decisions D30).
 * @throws insufficient_scope, not_found
 */
export async function deleteVerifier(context: Context, place: VerifierPlace): Promise<void> {
  await transaction(context, async (inside) => {
    const verifier = await getVerifier(inside, place)
    await requireAuthorityOfUser(inside, { id: verifier.userId, issuerId: verifier.issuerId })
    const { count } = await inside.db.verifier.deleteMany({ where: { id: verifier.id } })
    if (count === 0) throw notFound('verifier')
    await recordRemoval(inside, [verifier], 'deleted')
  })
}

/** The first page of verifiers of several users, in one query. */
export async function verifiersOf(
  context: Context,
  userIds: readonly string[],
  limit: number,
): Promise<Page<Verifier>[]> {
  const rows = await context.db.user.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...userIds] } },
    select: { id: true, verifiers: { orderBy: { id: 'desc' }, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.verifiers]))
  return userIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
