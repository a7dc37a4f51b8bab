/** Batch queries of API keys and personal tokens for DataLoaders. */
import { limits } from '../../kernel/limits.js'
import { type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type ApiKey, sql } from '../../platform/postgres/database.js'
import { newestFirst } from '../resource-path.js'
import { type TokenWithUser, whereTokenReadable } from './personal-tokens.js'
import { whereKeyReadable } from './statuses.js'

/** Returns for each organization whether it is suspended. */
export async function areOrganizationsSuspended(context: Context, orgIds: readonly string[]): Promise<boolean[]> {
  const where = { id: { in: [...orgIds] }, status: 'suspended' }
  const rows = await context.db.organization.findMany({ where, select: { id: true } })
  return orgIds.map((id) => rows.some((row) => row.id === id))
}

const newestKeyIdsText = `
  SELECT newest.* FROM unnest($1::text[]) AS o(id) CROSS JOIN LATERAL (
    SELECT k.id FROM api_keys k WHERE k.org_id = o.id AND (k.status <> 'revoked' OR k.status_at > $3::bigint)
    ORDER BY k.created_at DESC, k.id DESC LIMIT $2::int) AS newest`

/** Returns the newest keys of several organizations. Reads the ids from the index first, and then the rows. */
export async function apiKeysOfOrganizations(
  context: Context,
  orgIds: readonly string[],
  limit: number,
): Promise<Page<ApiKey>[]> {
  const newest = await sql<{ id: string }>(
    context.db,
    newestKeyIdsText,
    [...orgIds],
    limit + 1,
    context.now() - limits.revokedKeyRetention,
  )
  const where = { id: { in: newest.map((row) => row.id) } }
  const rows = await context.db.apiKey.findMany({ where, orderBy: newestFirst })
  return orgIds.map((id) =>
    toPage(
      rows.filter((row) => row.orgId === id),
      limit,
    ),
  )
}

/** Returns the newest keys of several accounts, without the keys of organizations. */
export async function apiKeysOfAccounts(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<ApiKey>[]> {
  const where = { AND: [{ orgId: null }, whereKeyReadable(context)] }
  const rows = await context.db.account.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...accountIds] } },
    select: { id: true, apiKeys: { where, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.apiKeys]))
  return accountIds.map((id) => toPage(byId.get(id) ?? [], limit))
}

/** Returns the newest personal tokens of several users. */
export async function tokensOfUsers(
  context: Context,
  userIds: readonly string[],
  limit: number,
): Promise<Page<TokenWithUser>[]> {
  const where = whereTokenReadable(context)
  const rows = await context.db.user.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...userIds] } },
    select: { id: true, status: true, personalTokens: { where, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.personalTokens.map((token) => ({ ...token, user: row }))]))
  return userIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
