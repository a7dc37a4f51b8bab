/**
 * Lists of users (spec 4.6) and the search among them (decisions part 0). Each is one statement that walks an index
 * from the cursor on, so that a page costs the same in the middle of a million users as at the beginning.
 */
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { sql, type User } from '../../platform/database.js'
import { after, type InIssuer, requireIssuer } from '../place.js'
import { usernameKeyOf } from './usernames.js'

export interface UserFilter {
  status?: string | null
  search?: string | null
}

/** A user with the hash in place of its name. */
export type ListedUser = Omit<User, 'usernameKey' | 'usernameHash' | 'purgeAt'>

const columns = `
  u.id, u.account_id AS "accountId", u.issuer_id AS "issuerId", u.username_type AS "usernameType",
  u.username_hash AS username, u.profile, u.security, u.compliance, u.preferences, u.custom_fields AS "customFields",
  coalesce(u.scopes, '{}') AS scopes, u.metadata, u.requires_approval AS "requiresApproval",
  u.signup_reason AS "signupReason", u.triggered_rule AS "triggeredRule", u.email_verified AS "emailVerified",
  u.status, u.status_at AS "statusAt", u.status_reason AS "statusReason", u.status_by AS "statusBy", u.approval,
  u.region, u.created_at AS "createdAt", u.updated_at AS "updatedAt"`

/**
 * Ids as lists order them. The collation keeps the planner off the primary key, which it would walk through the newer
 * users of all other issuers: only the indexes of lists have it.
 */
const id = 'id COLLATE "C"'
/** Asked once per statement, not per row. */
const issuerLives = `EXISTS (SELECT 1 FROM issuers WHERE id = $2 AND account_id = $1 AND status <> 'deleted')`
/** As the partial indexes say it; in other words the planner would not know them again. */
export const live = `u.status NOT IN ('deleted', 'pending_deletion')`

const page = (condition: string): string => `
  SELECT ${columns} FROM users u
  WHERE u.account_id = $1 AND u.issuer_id = $2 AND u.${id} < $3 AND ${condition} AND ${issuerLives}
  ORDER BY u.${id} DESC LIMIT $4`

const liveText = page(live)
const byStatusText = page('u.status = $5')

/** Who waits for approval, the oldest first. */
const waitingText = `
  SELECT ${columns} FROM users u
  WHERE u.account_id = $1 AND u.issuer_id = $2 AND u.${id} > $3 AND u.status = $5 AND ${issuerLives}
  ORDER BY u.${id} LIMIT $4`

/** Where a search looks, each with an index of its own (see the migration users_search); $5 and $6 are `beginnings`. */
const inProfile = (key: string): string => `profile->>'${key}' IS NOT NULL AND lower(profile->>'${key}') LIKE lower($6)`
export const places = ['username_key LIKE $5', ...['name', 'given_name', 'family_name', 'email'].map(inProfile)]

/** Of each place the page's worth is enough: what is left out is older than what another place has found. */
const branch = (place: string, behind: string, order: string): string => `(
  SELECT id FROM users u
  WHERE account_id = $1 AND issuer_id = $2 AND ${id} ${behind} $3 AND ${live} AND ($7::text IS NULL OR status = $7)
    AND ${place}
  ORDER BY ${id} ${order} LIMIT $4)`

const searchText = (behind: '<' | '>', order: 'DESC' | 'ASC') => `
  WITH found AS (${places.map((place) => branch(place, behind, order)).join(' UNION ')})
  SELECT ${columns} FROM users u
  WHERE u.id IN (SELECT id FROM found ORDER BY ${id} ${order} LIMIT $4) AND ${issuerLives}
  ORDER BY u.${id} ${order}`
const newestFound = searchText('<', 'DESC')
const oldestFound = searchText('>', 'ASC')

const ofIssuersText = `
  SELECT newest.* FROM unnest($1::text[]) AS i(id) CROSS JOIN LATERAL (
    SELECT ${columns} FROM users u WHERE u.issuer_id = i.id AND ${live} ORDER BY u.${id} DESC LIMIT $2) AS newest`

/** Sorts behind every id of a user. */
const END = `usr_${'z'.repeat(27)}`

/** Newest first, with hashed usernames. Without a status, all that are not deleted or being deleted. */
export async function listUsers(
  context: Context,
  place: InIssuer,
  filter: UserFilter,
  request: PageRequest,
): Promise<Page<ListedUser>> {
  const limit = limitOf(request)
  const from = after('usr', request.cursor).id?.lt ?? END
  const values = [place.accountId, place.issuerId, from, limit + 1]
  const rows = await (filter.search
    ? search(context, newestFound, values, filter.search, filter.status)
    : list(context, values, filter))
  if (rows.length === 0) await requireIssuer(context, place)
  return pageOf(rows, limit)
}

/** Users who wait for approval (spec 4.11), the oldest signup first; the cursor is a user id. */
export async function listWaitingUsers(
  context: Context,
  place: InIssuer,
  request: PageRequest & { search?: string | null },
): Promise<Page<ListedUser>> {
  const limit = limitOf(request)
  const from = after('usr', request.cursor).id?.lt ?? ''
  const values = [place.accountId, place.issuerId, from, limit + 1]
  const rows = await (request.search
    ? search(context, oldestFound, values, request.search, 'pending_approval')
    : context.query<Row>('users-waiting', waitingText, [...values, 'pending_approval']))
  if (rows.length === 0) await requireIssuer(context, place)
  return pageOf(rows, limit)
}

/** The newest users of several issuers, with hashed usernames. */
export async function usersOfIssuers(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<ListedUser>[]> {
  const rows = await context.query<Row>('users-of-issuers', ofIssuersText, [issuerIds, limit + 1])
  const newest = (a: Row, b: Row) => (a.id < b.id ? 1 : -1)
  return issuerIds.map((issuer) => pageOf(rows.filter(({ issuerId }) => issuerId === issuer).sort(newest), limit))
}

type Row = ListedUser & Record<string, unknown>

const list = (context: Context, values: unknown[], { status }: UserFilter): Promise<Row[]> =>
  status
    ? context.query<Row>('users-by-status', byStatusText, [...values, status])
    : context.query<Row>('users', liveText, values)

/**
 * By the beginning of a username, a name or an email address, in any case. Planned anew each time: how many users begin
 * like that decides which index is the better one.
 */
function search(
  context: Context,
  statement: string,
  values: unknown[],
  text: string,
  status: string | null | undefined,
): Promise<Row[]> {
  return sql<Row>(context.db, statement, ...values, ...beginnings(text), status ?? null)
}

/** What `places` compare with. */
export const beginnings = (text: string): [string, string] => [beginning(usernameKeyOf(text)), beginning(text)]

/** A pattern of LIKE in which the text stands for itself. */
const beginning = (text: string): string => `${text.replace(/[\\%_]/g, '\\$&')}%`
