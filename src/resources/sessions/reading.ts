/** Reading sessions (spec 4.10, decisions D17): one statement each, with the state as of now. */
import { notFound } from '../../kernel/errors.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Session, sql } from '../../platform/database.js'
import { after, goneUser, type InIssuer, type InUser, requireUser } from '../place.js'
import type { SessionState } from './sessions.js'

export const sessionStates = ['inactive', 'active', 'expired', 'revoked', 'suspended'] as const

export interface SessionPlace extends InIssuer {
  sessionId: string
}

/** A session with its state as of now in place of the stored one. */
export type StatedSession = Omit<Session, 'status'> & { status: SessionState }

/** What `stateOf` says, in SQL; `now` names a parameter with Unix milliseconds. */
const stateText = (now: string): string => `
  CASE WHEN s.status = 'revoked' THEN 'revoked' WHEN s.expires_at <= ${now} THEN 'expired'
    WHEN s.status = 'suspended' THEN 'suspended' WHEN s.idle_expires_at <= ${now} THEN 'inactive' ELSE 'active' END`

const columns = (now: string): string => `
  s.id, s.account_id AS "accountId", s.issuer_id AS "issuerId", s.user_id AS "userId", s.client_id AS "clientId",
  s.org_id AS "orgId", s.browser_uid AS "browserUid", s.grant_id AS "grantId", ${stateText(now)} AS status, s.device,
  s.auth_time AS "authTime", s.acr, coalesce(s.amr, '{}') AS amr, coalesce(s.access_token_jti, '{}') AS "accessTokenJti",
  coalesce(s.refresh_token_jti, '{}') AS "refreshTokenJti", s.last_activity_at AS "lastActivityAt", s.expires_at AS "expiresAt",
  s.idle_expires_at AS "idleExpiresAt", s.revoked_at AS "revokedAt", s.revocation_reason AS "revocationReason",
  s.suspended_at AS "suspendedAt", s.suspension_reason AS "suspensionReason", s.reason_details AS "reasonDetails",
  s.created_at AS "createdAt", s.updated_at AS "updatedAt"`

/** As lists order them: the collation keeps the planner off the primary key (docs/decisions/0012). */
const id = 's.id COLLATE "C"'

/** States that a row says by itself, for which it has an index: few are in one of them, but they are looked for. */
const kept: readonly SessionState[] = ['revoked', 'suspended']

const listText = (also: string): string => `
  SELECT ${columns('$4::bigint')}
  FROM sessions s
  JOIN users u ON u.id = s.user_id AND u.issuer_id = s.issuer_id AND u.status <> ALL($5::text[])
  JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  WHERE s.account_id = $1 AND s.issuer_id = $2 AND s.user_id = $3 ${also}
    AND ($6::text IS NULL OR ${stateText('$4::bigint')} = $6::text) AND ($7::text IS NULL OR ${id} < $7::text)
  ORDER BY ${id} DESC LIMIT $8::int`

/** Sessions of a user, newest first, by their state as of now. @throws not_found for the user */
export async function listSessions(
  context: Context,
  place: InUser,
  filter: { status?: SessionState | null },
  request: PageRequest,
): Promise<Page<StatedSession>> {
  const { accountId, issuerId, userId } = place
  const limit = limitOf(request)
  const cursor = after('ses', request.cursor).id?.lt ?? null
  const values = [accountId, issuerId, userId, context.now(), goneUser, filter.status ?? null, cursor, limit + 1]
  const also = kept.find((state) => state === filter.status)
  const text = listText(also ? `AND s.status = '${also}'` : '')
  const rows = await sql<StatedSession>(context.db, text, ...values)
  if (rows.length === 0) await requireUser(context, place)
  return pageOf(rows, limit)
}

const getText = `
  SELECT ${columns('$4::bigint')}
  FROM sessions s JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  WHERE s.id = $1 AND s.account_id = $2 AND s.issuer_id = $3`

/** @throws not_found */
export const getSession = (context: Context, place: SessionPlace): Promise<StatedSession> =>
  read(context, place, getText)

/** The same, locked until the transaction ends. */
export const lockSession = (context: Context, place: SessionPlace): Promise<StatedSession> =>
  read(context, place, `${getText} FOR UPDATE OF s`)

async function read(context: Context, place: SessionPlace, text: string): Promise<StatedSession> {
  const { accountId, issuerId, sessionId } = place
  const [session] = await sql<StatedSession>(context.db, text, sessionId, accountId, issuerId, context.now())
  if (!session) throw notFound('session')
  return session
}

const ofUsersText = `
  SELECT found.* FROM users u
  CROSS JOIN LATERAL (
    SELECT ${columns('$2::bigint')} FROM sessions s WHERE s.issuer_id = u.issuer_id AND s.user_id = u.id
    ORDER BY ${id} DESC LIMIT $3::int
  ) found
  WHERE u.id = ANY($1::text[])`

/** The first page of sessions of several users, in one statement. */
export async function sessionsOf(
  context: Context,
  userIds: readonly string[],
  limit: number,
): Promise<Page<StatedSession>[]> {
  const rows = await sql<StatedSession>(context.db, ofUsersText, [...userIds], context.now(), limit + 1)
  const newest = (a: StatedSession, b: StatedSession) => (a.id < b.id ? 1 : -1)
  return userIds.map((id) => pageOf(rows.filter(({ userId }) => userId === id).sort(newest), limit))
}
