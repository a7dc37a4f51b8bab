/**
 * Credentials of users, called verifiers (docs/contract.md#credentials, docs/contract.md#verifier-operations).
 * verifier-kinds.ts lists the kinds. The API never returns hashes, and returns a secret only in the response to the
 * request that creates it.
 */
import { z } from 'zod'
import { conflict, invalidFields, notFound } from '../../kernel/errors.js'
import { checkInput, fieldSchemas } from '../../kernel/input.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, type Verifier } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfUser } from '../authority.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { deletedUserStatuses, type InUser, whereBelowCursor, whereIssuerNotDeleted } from '../resource-path.js'
import { endSessionsOfUser } from '../sessions/sessions.js'
import { newPasswordColumns } from './password.js'
import { updateRules, type VerifierPath, type VerifierType } from './verifier.js'
import {
  type CreatedVerifier,
  lockVerifierOwner,
  recordVerifierEvent,
  requireVerifierOwner,
  type VerifierKind,
} from './verifier-kind.js'
import { changeableFields, createRules, verifierKinds } from './verifier-kinds.js'
import { recordVerifierRemoval } from './verifier-removal.js'

/** Lists the verifiers of a user, newest first. @throws invalid_request, not_found */
export async function listVerifiers(context: Context, path: InUser, request: PageRequest): Promise<Page<Verifier>> {
  const { accountId, issuerId, userId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.verifier.findMany({
    where: {
      AND: [
        {
          accountId,
          issuerId,
          userId,
          user: { is: { status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted } },
        },
        whereBelowCursor('vrf', request.cursor),
      ],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireVerifierOwner(context, path)
  return toPage(rows, limit)
}

const findVerifier = (context: Context, { accountId, issuerId, userId, verifierId }: VerifierPath) =>
  context.db.verifier.findFirst({
    where: {
      id: verifierId,
      accountId,
      issuerId,
      userId,
      user: { is: { status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted } },
    },
  })

/** @throws not_found */
export async function getVerifier(context: Context, path: VerifierPath): Promise<Verifier> {
  const verifier = await findVerifier(context, path)
  if (!verifier) throw notFound('verifier')
  return verifier
}

/**
 * Creates a verifier or a pending enrollment (`totp_enrollment`).
 * @throws invalid_request, insufficient_scope, not_found, conflict for a second password, for an enrollment of a second
 *   TOTP verifier, or for a passkey whose credential ID the issuer already has
 */
export async function createVerifier(context: Context, path: InUser, input: unknown): Promise<CreatedVerifier> {
  const values = checkInput(createRules, input)
  const owner = await requireVerifierOwner(context, path)
  await requireAuthorityOfUser(context, owner)
  const insert = await (verifierKinds[values.type] as unknown as VerifierKind).prepare(context, owner, values)
  try {
    return await transaction(context, async (tx) => {
      await lockVerifierOwner(tx, owner)
      return insert(tx)
    })
  } catch (error) {
    if (isDuplicate(error))
      throw conflict(`This user already has a verifier of the type ${values.type}. Change that one instead.`)
    throw error
  }
}

/**
 * Updates a verifier. A new password ends the user's sessions (reason `password_changed`).
 * @throws invalid_request, insufficient_scope, not_found
 */
export async function updateVerifier(context: Context, path: VerifierPath, input: unknown): Promise<Verifier> {
  const values = checkInput(updateRules, input)
  const { password, ...columns } = values
  const verifier = await getVerifier(context, path)
  requireChangeableFields(verifier, values)
  if (verifier.type === 'temporary_password')
    checkInput(z.object({ name: fieldSchemas.name.optional() }), { name: values.name })
  if (password !== undefined || values.mustChange !== undefined || values.expiresAt !== undefined)
    await requireAuthorityOfUser(context, { id: verifier.userId, issuerId: verifier.issuerId })
  const secret = password === undefined ? {} : await preparePasswordChange(context, path, verifier, password)
  return updateWithOptimisticLock<Verifier, Prisma.VerifierUncheckedUpdateManyInput>(context, {
    resourceName: 'verifier',
    table: 'verifiers',
    ifMatch: undefined,
    read: (tx) => findVerifier(tx, path),
    computeChanges: () => ({ ...secret, ...columns }),
    write: async (tx, version, data) =>
      (await tx.db.verifier.updateManyAndReturn({ where: { id: path.verifierId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, row) => {
      await recordVerifierEvent(tx, 'user.verifier.updated', row, before)
      const { accountId, issuerId, userId: id } = row
      if (password !== undefined) await endSessionsOfUser(tx, { accountId, issuerId, id }, 'password_changed')
    },
  })
}

async function preparePasswordChange(context: Context, path: InUser, verifier: Verifier, password: string) {
  const owner = await requireVerifierOwner(context, path)
  return newPasswordColumns(context, owner, verifier, password)
}

/** @throws invalid_request with one detail for each field that cannot be changed for this type of verifier */
function requireChangeableFields({ type }: Verifier, values: object): void {
  const allowed = ['name', 'description', 'metadata', ...(changeableFields[type as VerifierType] ?? [])]
  const rejected = Object.keys(values).filter((field) => !allowed.includes(field))
  const message = `cannot be changed for a verifier of the type ${type}. Delete the verifier and create another one.`
  if (rejected.length > 0) throw invalidFields(rejected.map((field) => ({ field, code: 'not_allowed', message })))
}

/**
 * Deletes a verifier. Requires the authority of the user, because after the deletion of a second factor the first
 * factor can be sufficient to sign in (docs/contract.md#authority-for-changes).
 * @throws insufficient_scope, not_found
 */
export async function deleteVerifier(context: Context, path: VerifierPath): Promise<void> {
  await transaction(context, async (tx) => {
    const verifier = await getVerifier(tx, path)
    const owner = { id: verifier.userId, issuerId: verifier.issuerId }
    // Without the lock, a concurrent change that removes the same verifier would record a second event and email.
    await lockVerifierOwner(tx, owner)
    await requireAuthorityOfUser(tx, owner)
    const { count } = await tx.db.verifier.deleteMany({ where: { id: verifier.id } })
    if (count === 0) throw notFound('verifier')
    await recordVerifierRemoval(tx, [verifier], 'deleted')
  })
}

/** Loads the newest verifiers of several users in one query. @returns a page per user, in the order of `userIds` */
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
  return userIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
