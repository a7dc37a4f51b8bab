/** What is asked for many keys or organizations at once, for DataLoader. */
import { type Page, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type ApiKey, sql } from '../../platform/database.js'
import { newestFirst } from '../place.js'
import { readable, type TokenOfUser } from './personal-tokens.js'
import { RETENTION, stillKept } from './states.js'

/** Which of these organizations are suspended. */
export async function suspensionsOf(context: Context, orgIds: readonly string[]): Promise<boolean[]> {
  const where = { id: { in: [...orgIds] }, status: 'suspended' }
  const rows = await context.db.organization.findMany({ where, select: { id: true } })
  return orgIds.map((id) => rows.some((row) => row.id === id))
}

const ofOrganizationsText = `
  SELECT newest.* FROM unnest($1::text[]) AS o(id) CROSS JOIN LATERAL (
    SELECT k.id FROM api_keys k WHERE k.org_id = o.id AND (k.status <> 'revoked' OR k.status_at > $3::bigint)
    ORDER BY k.created_at DESC, k.id DESC LIMIT $2::int) AS newest`

/** The newest keys of several organizations: their ids by the index, then the rows. */
export async function apiKeysOf(context: Context, orgIds: readonly string[], limit: number): Promise<Page<ApiKey>[]> {
  const newest = await sql<{ id: string }>(
    context.db,
    ofOrganizationsText,
    [...orgIds],
    limit + 1,
    context.now() - RETENTION,
  )
  const where = { id: { in: newest.map((row) => row.id) } }
  const rows = await context.db.apiKey.findMany({ where, orderBy: newestFirst })
  return orgIds.map((id) =>
    pageOf(
      rows.filter((row) => row.orgId === id),
      limit,
    ),
  )
}

/** The newest keys of several accounts, without those of organizations. */
export async function apiKeysOfAccounts(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<ApiKey>[]> {
  const where = { AND: [{ orgId: null }, stillKept(context)] }
  const rows = await context.db.account.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...accountIds] } },
    select: { id: true, apiKeys: { where, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.apiKeys]))
  return accountIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}

/** The newest personal tokens of several users. */
export async function tokensOf(
  context: Context,
  userIds: readonly string[],
  limit: number,
): Promise<Page<TokenOfUser>[]> {
  const where = readable(context)
  const rows = await context.db.user.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...userIds] } },
    select: { id: true, status: true, personalTokens: { where, orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.personalTokens.map((token) => ({ ...token, user: row }))]))
  return userIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
