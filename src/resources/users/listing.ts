/**
 * Lists and searches users (docs/contract.md#user-endpoints). Without a search, each page is one index range scan that
 * starts at the cursor, so the cost of a page does not depend on its position in the list.
 */
import { snakeCase } from '../../kernel/field-names.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { sql, type User as UserRow } from '../../platform/postgres/database.js'
import { propertiesOf } from '../declaration.js'
import { type InIssuer, type InUser, requireIssuer, whereBelowCursor } from '../resource-path.js'
import type { ApprovalFilter } from './approval.js'
import { User, type UserFilter } from './user.js'
import { usernameKeyOf } from './usernames.js'

/** A user with the hashed username instead of the username. */
export type ListedUser = Omit<UserRow, 'usernameKey' | 'usernameHash' | 'purgeAt'>

/** SQL expressions of the fields that are not simply columns. */
const expressions: Record<string, string> = { username: 'u.username_hash', scopes: `coalesce(u.scopes, '{}')` }
const columns = propertiesOf(User)
  .map(({ name }) => `${expressions[name] ?? `u.${snakeCase(name)}`} AS "${name}"`)
  .join(', ')

/**
 * SQL: the id with the collation by which lists are sorted. Only the indexes for lists have this collation. Without it
 * PostgreSQL would use the primary key and read the newer users of all other issuers.
 */
const idSql = 'id COLLATE "C"'
/** SQL condition: the issuer is not deleted. It does not depend on the row, so it is evaluated once per statement. */
const issuerExistsSql = `EXISTS (SELECT 1 FROM issuers WHERE id = $2 AND account_id = $1 AND status <> 'deleted')`
/** SQL condition: the user `u` is not deleted. It repeats the WHERE of partial indexes, so that they can be used. */
export const notDeletedSql = `u.status NOT IN ('deleted', 'pending_deletion')`

const pageText = (condition: string): string => `
  SELECT ${columns} FROM users u
  WHERE u.account_id = $1 AND u.issuer_id = $2 AND u.${idSql} < $3 AND ${condition} AND ${issuerExistsSql}
  ORDER BY u.${idSql} DESC LIMIT $4`

const listText = pageText(notDeletedSql)
const byStatusText = pageText('u.status = $5')

/** Users pending approval, oldest first. */
const pendingApprovalText = `
  SELECT ${columns} FROM users u
  WHERE u.account_id = $1 AND u.issuer_id = $2 AND u.${idSql} > $3 AND u.status = $5 AND ${issuerExistsSql}
  ORDER BY u.${idSql} LIMIT $4`

const profileCondition = (key: string): string =>
  `profile->>'${key}' IS NOT NULL AND lower(profile->>'${key}') LIKE lower($6)`
/**
 * SQL conditions of a search, of which a found user meets at least one. Each has its own index (migration
 * users_search). $5 and $6 are the result of `searchPatterns`.
 */
export const searchConditions = [
  'username_key LIKE $5',
  ...['name', 'given_name', 'family_name', 'email'].map(profileCondition),
]

/** Finds the first users that meet one condition. Users beyond the page limit cannot be on the page. */
const searchBranch = (condition: string, comparison: string, order: string): string => `(
  SELECT id FROM users u
  WHERE account_id = $1 AND issuer_id = $2 AND ${idSql} ${comparison} $3 AND ${notDeletedSql} AND ($7::text IS NULL OR status = $7)
    AND ${condition}
  ORDER BY ${idSql} ${order} LIMIT $4)`

const searchText = (comparison: '<' | '>', order: 'DESC' | 'ASC') => `
  WITH found AS (${searchConditions.map((condition) => searchBranch(condition, comparison, order)).join(' UNION ')})
  SELECT ${columns} FROM users u
  WHERE u.id IN (SELECT id FROM found ORDER BY ${idSql} ${order} LIMIT $4) AND ${issuerExistsSql}
  ORDER BY u.${idSql} ${order}`
const searchNewestText = searchText('<', 'DESC')
const searchOldestText = searchText('>', 'ASC')

const ofIssuersText = `
  SELECT newest.* FROM unnest($1::text[]) AS i(id) CROSS JOIN LATERAL (
    SELECT ${columns} FROM users u WHERE u.issuer_id = i.id AND ${notDeletedSql} ORDER BY u.${idSql} DESC LIMIT $2) AS newest`

/** Sorts after every user id. */
const LAST_ID = `usr_${'z'.repeat(27)}`

/**
 * Lists users with hashed usernames, newest first. Users with the status `deleted` or `pending_deletion` are listed
 * only if `filter.status` selects them and there is no search.
 * @throws invalid_request, not_found for the issuer
 */
export async function listUsers(context: Context, path: InIssuer, filter: UserFilter): Promise<Page<ListedUser>> {
  const limit = checkPageLimit(filter)
  const from = whereBelowCursor('usr', filter.cursor).id?.lt ?? LAST_ID
  const values = [path.accountId, path.issuerId, from, limit + 1]
  const rows = await (filter.search
    ? searchUsers(context, searchNewestText, values, filter.search, filter.status)
    : queryUsers(context, values, filter))
  if (rows.length === 0) await requireIssuer(context, path)
  return toPage(rows, limit)
}

/**
 * Lists users pending approval (docs/contract.md#approval-endpoints), oldest first. The cursor is a user id.
 * @throws invalid_request, not_found for the issuer
 */
export async function listUsersPendingApproval(
  context: Context,
  path: InIssuer,
  filter: ApprovalFilter,
): Promise<Page<ListedUser>> {
  const limit = checkPageLimit(filter)
  const from = whereBelowCursor('usr', filter.cursor).id?.lt ?? ''
  const values = [path.accountId, path.issuerId, from, limit + 1]
  const rows = await (filter.search
    ? searchUsers(context, searchOldestText, values, filter.search, 'pending_approval')
    : context.query<ListedUserRow>('users-pending-approval', pendingApprovalText, [...values, 'pending_approval']))
  if (rows.length === 0) await requireIssuer(context, path)
  return toPage(rows, limit)
}

/** Loads the newest users of several issuers in one query, with hashed usernames. */
export async function usersOfIssuers(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<ListedUser>[]> {
  const rows = await context.query<ListedUserRow>('users-of-issuers', ofIssuersText, [issuerIds, limit + 1])
  const newest = (a: ListedUserRow, b: ListedUserRow) => (a.id < b.id ? 1 : -1)
  return issuerIds.map((issuer) => toPage(rows.filter(({ issuerId }) => issuerId === issuer).sort(newest), limit))
}

/** Returns the key of a user for `relatedUsers`. */
export const relatedUserKey = ({ accountId, issuerId, userId }: InUser): string =>
  [accountId, issuerId, userId].join(' ')

const relatedText = `
  SELECT ${columns} FROM users u JOIN issuers i ON i.id = u.issuer_id AND i.status <> 'deleted'
  WHERE u.id = ANY($1::text[]) AND ${notDeletedSql}`

/**
 * Loads users in one query, with hashed usernames; null for a deleted user and for a user of another issuer.
 * @param keys results of `relatedUserKey`
 */
export async function relatedUsers(context: Context, keys: readonly string[]): Promise<(ListedUser | null)[]> {
  const ids = keys.map((key) => key.split(' ')[2])
  const rows = await context.query<ListedUserRow>('users-related', relatedText, [ids])
  const byKey = new Map(rows.map((row) => [relatedUserKey({ ...row, userId: row.id }), row]))
  return keys.map((key) => byKey.get(key) ?? null)
}

type ListedUserRow = ListedUser & Record<string, unknown>

const queryUsers = (context: Context, values: unknown[], { status }: UserFilter): Promise<ListedUserRow[]> =>
  status
    ? context.query<ListedUserRow>('users-by-status', byStatusText, [...values, status])
    : context.query<ListedUserRow>('users', listText, values)

/**
 * Searches by a prefix of the username, or of a name or the email address in the profile, ignoring case. The statement
 * is not prepared, because the best plan depends on the number of users with the prefix.
 */
function searchUsers(
  context: Context,
  statement: string,
  values: unknown[],
  text: string,
  status: string | null | undefined,
): Promise<ListedUserRow[]> {
  return sql<ListedUserRow>(context.db, statement, ...values, ...searchPatterns(text), status ?? null)
}

/** Returns the LIKE patterns for `searchConditions`: for the normalized username, and for the fields of the profile. */
export const searchPatterns = (text: string): [string, string] => [
  prefixPattern(usernameKeyOf(text)),
  prefixPattern(text),
]

const prefixPattern = (text: string): string => `${text.replace(/[\\%_]/g, '\\$&')}%`
