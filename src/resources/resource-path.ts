/**
 * Checks that the account, issuer, organization or user in a resource path exists. An id of another tenant leads to the
 * same 404 as an unknown id (docs/contract.md#tenant-isolation). Also builds the filters for pages of lists.
 */
import { notFound } from '../kernel/errors.js'
import { type IdPrefix, idTimestamp, isId } from '../kernel/ids.js'
import { invalidCursor } from '../kernel/pagination.js'
import type { Context } from '../platform/context.js'
import type { Account, Issuer, Organization, User } from '../platform/postgres/database.js'

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

/** Statuses of users for which the APIs answer 404 (docs/contract.md#states-and-transitions). */
export const deletedUserStatuses = ['deleted', 'pending_deletion']

/** Prisma filter: the issuer of the row is not deleted. */
export const whereIssuerNotDeleted = { issuer: { is: { status: { not: 'deleted' } } } }

/** @throws not_found */
export async function requireAccount(context: Context, { accountId }: InAccount): Promise<Account> {
  const account = await context.db.account.findUnique({ where: { id: accountId } })
  if (!account) throw notFound('account')
  return account
}

/** @throws not_found, also for a deleted issuer */
export async function requireIssuer(context: Context, { accountId, issuerId }: InIssuer): Promise<Issuer> {
  const issuer = await context.db.issuer.findFirst({
    where: { id: issuerId, accountId, status: { not: 'deleted' } },
  })
  if (!issuer) throw notFound('issuer')
  return issuer
}

/** @throws not_found, also if the issuer is deleted */
export async function requireOrganization(
  context: Context,
  { accountId, issuerId, orgId }: InOrganization,
): Promise<Organization> {
  const organization = await context.db.organization.findFirst({
    where: { id: orgId, accountId, issuerId, ...whereIssuerNotDeleted },
  })
  if (!organization) throw notFound('organization')
  return organization
}

/**
 * Like `requireOrganization`, but locks the row of the organization until the transaction ends, so that concurrent
 * requests cannot exceed limits (docs/contract.md#limits-under-parallel-requests) and no row is added to an
 * organization that is being deleted. Call it in a transaction.
 * @throws not_found
 */
export async function lockOrganization(context: Context, path: InOrganization): Promise<Organization> {
  await context.db.$queryRawUnsafe('SELECT id FROM organizations WHERE id = $1 FOR UPDATE', path.orgId)
  return requireOrganization(context, path)
}

/** @throws not_found, also if the user is deleted, its deletion is pending, or the issuer is deleted */
export async function requireUser(context: Context, { accountId, issuerId, userId }: InUser): Promise<User> {
  const user = await context.db.user.findFirst({
    where: { id: userId, accountId, issuerId, status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted },
  })
  if (!user) throw notFound('user')
  return user
}

/**
 * The order of lists that can be long. If they were ordered by id alone, the planner would use the primary key and read
 * the newer rows of all other tenants (docs/decisions/0021).
 */
export const newestFirst: { createdAt?: 'desc'; id?: 'desc' }[] = [{ createdAt: 'desc' }, { id: 'desc' }]

/**
 * Returns the Prisma filter of a page in the order `newestFirst`. The time in an id equals the `created_at` of its row
 * (`newRow`), so the condition on `createdAt` excludes no row, but it makes the filter a range of the index. Without a
 * cursor, the filter has no condition.
 * @param cursor id of the last row of the previous page; null and undefined for the first page
 * @throws invalid_request if the cursor is not an id with this prefix
 */
export function whereOlderThanCursor(
  prefix: IdPrefix,
  cursor: string | null | undefined,
): { id?: { lt: string }; createdAt?: { lte: number } } {
  const { id } = whereBelowCursor(prefix, cursor)
  return id ? { id, createdAt: { lte: idTimestamp(id.lt) } } : {}
}

/**
 * Returns the Prisma filter of a page in descending order of ids; without a cursor, it has no condition.
 * @param cursor id of the last row of the previous page; null and undefined for the first page
 * @throws invalid_request if the cursor is not an id with this prefix
 */
export function whereBelowCursor(prefix: IdPrefix, cursor: string | null | undefined): { id?: { lt: string } } {
  if (cursor === undefined || cursor === null) return {}
  if (!isId(prefix, cursor)) throw invalidCursor()
  return { id: { lt: cursor } }
}
