/** Reads sessions with their current status (docs/contract.md#session-fields). */
import { notFound } from '../../kernel/errors.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Session, sql } from '../../platform/postgres/database.js'
import { deletedUserStatuses, type InUser, requireUser, whereBelowCursor } from '../resource-path.js'
import type { SessionFilter, SessionPath, SessionStatus } from './session.js'

/** A session with its current status instead of the stored one. */
export type SessionWithCurrentStatus = Omit<Session, 'status'> & { status: SessionStatus }

/** SQL equivalent of `currentSessionStatus`. `now` is a parameter with Unix milliseconds. */
const currentStatusSql = (now: string): string => `
  CASE WHEN s.status = 'revoked' THEN 'revoked' WHEN s.expires_at <= ${now} THEN 'expired'
    WHEN s.status = 'suspended' THEN 'suspended' WHEN s.idle_expires_at <= ${now} THEN 'inactive' ELSE 'active' END`

const columns = (now: string): string => `
  s.id, s.account_id AS "accountId", s.issuer_id AS "issuerId", s.user_id AS "userId", s.client_id AS "clientId",
  s.org_id AS "orgId", s.browser_uid AS "browserUid", s.grant_id AS "grantId", ${currentStatusSql(now)} AS status, s.device,
  s.auth_time AS "authTime", s.acr, coalesce(s.amr, '{}') AS amr, coalesce(s.access_token_jti, '{}') AS "accessTokenJti",
  coalesce(s.refresh_token_jti, '{}') AS "refreshTokenJti", s.last_activity_at AS "lastActivityAt", s.expires_at AS "expiresAt",
  s.idle_expires_at AS "idleExpiresAt", s.revoked_at AS "revokedAt", s.revocation_reason AS "revocationReason",
  s.suspended_at AS "suspendedAt", s.suspension_reason AS "suspensionReason", s.reason_details AS "reasonDetails",
  s.created_at AS "createdAt", s.updated_at AS "updatedAt"`

/** SQL: the id as lists sort it. The collation keeps the planner from using the primary key (docs/decisions/0012). */
const idSql = 's.id COLLATE "C"'

/** The statuses that the partial index `sessions_of_user_by_status` contains, because they are stored and rare. */
const indexedStatuses: readonly SessionStatus[] = ['revoked', 'suspended']

const listText = (extraCondition: string): string => `
  SELECT ${columns('$4::bigint')}
  FROM sessions s
  JOIN users u ON u.id = s.user_id AND u.issuer_id = s.issuer_id AND u.status <> ALL($5::text[])
  JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  WHERE s.account_id = $1 AND s.issuer_id = $2 AND s.user_id = $3 ${extraCondition}
    AND ($6::text IS NULL OR ${currentStatusSql('$4::bigint')} = $6::text) AND ($7::text IS NULL OR ${idSql} < $7::text)
  ORDER BY ${idSql} DESC LIMIT $8::int`

/**
 * Lists the sessions of a user, newest first. The filter applies to the current status.
 * @throws not_found for the user
 */
export async function listSessions(
  context: Context,
  path: InUser,
  filter: SessionFilter,
): Promise<Page<SessionWithCurrentStatus>> {
  const { accountId, issuerId, userId } = path
  const limit = checkPageLimit(filter)
  const cursor = whereBelowCursor('ses', filter.cursor).id?.lt ?? null
  const values = [
    accountId,
    issuerId,
    userId,
    context.now(),
    deletedUserStatuses,
    filter.status ?? null,
    cursor,
    limit + 1,
  ]
  const extraCondition = indexedStatuses.find((state) => state === filter.status)
  const text = listText(extraCondition ? `AND s.status = '${extraCondition}'` : '')
  const rows = await sql<SessionWithCurrentStatus>(context.db, text, ...values)
  if (rows.length === 0) await requireUser(context, path)
  return toPage(rows, limit)
}

const getText = `
  SELECT ${columns('$4::bigint')}
  FROM sessions s JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  WHERE s.id = $1 AND s.account_id = $2 AND s.issuer_id = $3`

/** @throws not_found */
export const getSession = (context: Context, path: SessionPath): Promise<SessionWithCurrentStatus> =>
  requireSessionRow(context, path, getText)

/** Like `getSession`, but locks the row of the session until the transaction ends. */
export const lockSession = (context: Context, path: SessionPath): Promise<SessionWithCurrentStatus> =>
  requireSessionRow(context, path, `${getText} FOR UPDATE OF s`)

async function requireSessionRow(context: Context, path: SessionPath, text: string): Promise<SessionWithCurrentStatus> {
  const { accountId, issuerId, sessionId } = path
  const [session] = await sql<SessionWithCurrentStatus>(context.db, text, sessionId, accountId, issuerId, context.now())
  if (!session) throw notFound('session')
  return session
}

const ofUsersText = `
  SELECT found.* FROM users u
  CROSS JOIN LATERAL (
    SELECT ${columns('$2::bigint')} FROM sessions s WHERE s.issuer_id = u.issuer_id AND s.user_id = u.id
    ORDER BY ${idSql} DESC LIMIT $3::int
  ) found
  WHERE u.id = ANY($1::text[])`

/** Returns the first page of sessions of several users in one statement. */
export async function sessionsOf(
  context: Context,
  userIds: readonly string[],
  limit: number,
): Promise<Page<SessionWithCurrentStatus>[]> {
  const rows = await sql<SessionWithCurrentStatus>(context.db, ofUsersText, [...userIds], context.now(), limit + 1)
  const newest = (a: SessionWithCurrentStatus, b: SessionWithCurrentStatus) => (a.id < b.id ? 1 : -1)
  return userIds.map((id) => toPage(rows.filter(({ userId }) => userId === id).sort(newest), limit))
}

/** Returns the key of a session for `relatedSessions`. */
export const relatedSessionKey = ({ accountId, issuerId, sessionId }: SessionPath): string =>
  [accountId, issuerId, sessionId].join(' ')

const relatedText = `
  SELECT ${columns('$2::bigint')}
  FROM sessions s JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  WHERE s.id = ANY($1::text[])`

/**
 * Loads sessions in one statement; null for an unknown session and for a session of another issuer.
 * @param keys results of `relatedSessionKey`
 */
export async function relatedSessions(
  context: Context,
  keys: readonly string[],
): Promise<(SessionWithCurrentStatus | null)[]> {
  const ids = keys.map((key) => key.split(' ')[2])
  const rows = await sql<SessionWithCurrentStatus>(context.db, relatedText, ids, context.now())
  const byKey = new Map(rows.map((row) => [relatedSessionKey({ ...row, sessionId: row.id }), row]))
  return keys.map((key) => byKey.get(key) ?? null)
}
