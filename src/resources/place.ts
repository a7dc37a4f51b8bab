/** Does the account, issuer or organization in a path exist and live? A foreign id gets the same 404 as an unknown one. */
import { notFound } from '../kernel/errors.js'
import { type IdPrefix, isId, timeOf } from '../kernel/ids.js'
import { unknownCursor } from '../kernel/page.js'
import type { Context } from '../platform/context.js'
import type { Account, Issuer, Organization, User } from '../platform/database.js'

export interface InAccount {
  accountId: string
}

export interface InIssuer extends InAccount {
  issuerId: string
}

export interface InOrganization extends InIssuer {
  orgId: string
}

export interface InUser extends InIssuer {
  userId: string
}

/** States in which the interface knows a user no more (spec section 3). */
export const goneUser = ['deleted', 'pending_deletion']

/** For relation filters: the row's issuer has not been deleted. */
export const ofLivingIssuer = { issuer: { is: { status: { not: 'deleted' } } } }

/** @throws not_found */
export async function requireAccount(context: Context, { accountId }: InAccount): Promise<Account> {
  const account = await context.db.account.findUnique({ where: { id: accountId } })
  if (!account) throw notFound('account')
  return account
}

/** @throws not_found for deleted ones too (spec section 3) */
export async function requireIssuer(context: Context, { accountId, issuerId }: InIssuer): Promise<Issuer> {
  const issuer = await context.db.issuer.findFirst({
    where: { id: issuerId, accountId, status: { not: 'deleted' } },
  })
  if (!issuer) throw notFound('issuer')
  return issuer
}

/** @throws not_found; organizations of a deleted issuer are gone with it */
export async function requireOrganization(
  context: Context,
  { accountId, issuerId, orgId }: InOrganization,
): Promise<Organization> {
  const organization = await context.db.organization.findFirst({
    where: { id: orgId, accountId, issuerId, ...ofLivingIssuer },
  })
  if (!organization) throw notFound('organization')
  return organization
}

/**
 * The same with the row locked until the transaction ends: for limits (security rule 5), and so that nothing is added
 * to an organization that is being deleted. Call it in a transaction.
 * @throws not_found
 */
export async function lockOrganization(context: Context, place: InOrganization): Promise<Organization> {
  await context.db.$queryRawUnsafe('SELECT id FROM organizations WHERE id = $1 FOR UPDATE', place.orgId)
  return requireOrganization(context, place)
}

/** @throws not_found also while a deletion is pending (spec section 3) */
export async function requireUser(context: Context, { accountId, issuerId, userId }: InUser): Promise<User> {
  const user = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: goneUser }, ...ofLivingIssuer },
  })
  if (!user) throw notFound('user')
  return user
}

/**
 * The order of lists that may be long. By the id alone the planner would take the primary key, whatever indexes there
 * are, and walk through the newer rows of all other tenants (docs/decisions/0021).
 */
export const newestFirst: { createdAt?: 'desc'; id?: 'desc' }[] = [{ createdAt: 'desc' }, { id: 'desc' }]

/**
 * The WHERE that goes with `newestFirst`: a range of its index. The moment in an id is the row's `created_at`
 * (`newRow`), so it says no more than the id does, but to the index.
 * @throws invalid_request for a cursor that is no id of this kind
 */
export function older(
  prefix: IdPrefix,
  cursor: string | null | undefined,
): { id?: { lt: string }; createdAt?: { lte: number } } {
  const { id } = after(prefix, cursor)
  return id ? { id, createdAt: { lte: timeOf(id.lt) } } : {}
}

/**
 * The WHERE of a keyset page of a list that is short for each parent, in the order of ids, newest first: rows whose id is smaller than the cursor. Time order is id order.
 * @throws invalid_request for a cursor that is no id of this kind
 */
export function after(prefix: IdPrefix, cursor: string | null | undefined): { id?: { lt: string } } {
  if (cursor === undefined || cursor === null) return {}
  if (!isId(prefix, cursor)) throw unknownCursor()
  return { id: { lt: cursor } }
}
