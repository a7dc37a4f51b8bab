/**
 * Sessions (docs/contract.md#sessions): a session is the sign-in of a user at one client. Its id is the claim `sid` of
 * its tokens, and its access tokens are valid only while the session is active. The statement that ends a session also
 * deletes its refresh tokens.
 */
import type { Context } from '../../platform/context.js'
import { type Session, sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import type { InIssuer } from '../resource-path.js'
import { enqueueBackchannelLogouts } from './backchannel-logout.js'
import type { RevocationReason, SessionStatus } from './session.js'

type SessionExpiryFields = Pick<Session, 'status' | 'expiresAt' | 'idleExpiresAt'>

/**
 * Returns the current status of a session. `expired` and `inactive` are computed from the times of the session; the
 * other statuses are stored. Access tokens are valid only while the session is active. A refresh or a single sign-on
 * makes an inactive session active again.
 * @param now Unix milliseconds
 */
export function currentSessionStatus(
  { status, expiresAt, idleExpiresAt }: SessionExpiryFields,
  now: number,
): SessionStatus {
  if (status === 'revoked') return 'revoked'
  if (Number(expiresAt) <= now) return 'expired'
  if (status === 'suspended') return 'suspended'
  return idleExpiresAt !== null && Number(idleExpiresAt) <= now ? 'inactive' : 'active'
}

/** Facts about a device that its requests contain. */
export interface Device {
  user_agent: string | null
  ip_address: string | null
  fingerprint: string | null
}

export interface NewSession extends InIssuer {
  id: string
  userId: string
  clientId: string
  orgId: string | null
  /** The `uid` of the browser session. */
  browserUid: string
  grantId: string
  /** The custom domain of the sign-in; null or undefined for the host of IDP_URL. */
  host?: string | null
  device: Device
  /** Time of the authentication (Unix seconds). */
  authTime: number
  /**
   * Exact time of the authentication (Unix milliseconds), compared with `proofs_valid_after` of the user; undefined if
   * unknown.
   */
  since?: number | undefined
  acr: string | null
  amr: readonly string[]
  /** Unix milliseconds. */
  expiresAt: number
  /** Unix milliseconds; null without an idle timeout. */
  idleExpiresAt: number | null
}

const createText = `
  INSERT INTO sessions (id, account_id, issuer_id, user_id, client_id, org_id, browser_uid, grant_id, host, status, device,
    auth_time, acr, amr, access_token_jti, refresh_token_jti, last_activity_at, expires_at, idle_expires_at, created_at,
    updated_at)
  SELECT s.id, "accountId", "issuerId", "userId", "clientId", "orgId", "browserUid", "grantId", host, 'active', device,
    "authTime", acr, amr, '{}', '{}', now, "expiresAt", "idleExpiresAt", now, now
  FROM jsonb_to_record($1::jsonb) AS s(id text, "accountId" text, "issuerId" text, "userId" text, "clientId" text,
    "orgId" text, "browserUid" text, "grantId" text, host text, device jsonb, "authTime" int, acr text, amr text[],
    "expiresAt" bigint, "idleExpiresAt" bigint, now bigint, since bigint)
  JOIN users u ON u.issuer_id = "issuerId" AND u.id = "userId"
  WHERE u.status = 'active' AND coalesce(u.proofs_valid_after < coalesce(since, ("authTime" + 1) * 1000::bigint), true)
  FOR SHARE OF u
  RETURNING 1`

/**
 * Creates a session and its event. Call it in the transaction that issues the tokens or codes of the session.
 * @returns false, without creating a session, if the user is not active or if all sign-ins of the user were invalidated
 *   after this sign-in
 */
export async function createSession(context: Context, session: NewSession): Promise<boolean> {
  const row = { ...session, now: context.now() }
  const [created] = await context.query('session-create', createText, [JSON.stringify(row)])
  if (!created) return false
  const { accountId, issuerId, userId, clientId, orgId, id, amr } = session
  await recordEvent(context, 'session.created', {
    accountId,
    issuerId,
    orgId,
    userId,
    clientId,
    sessionId: id,
    target: { type: 'session', id },
    data: { amr: [...amr] },
  })
  return true
}

/** Selects sessions of one issuer. */
export type SessionSelector =
  | { sessionId: string }
  | { userId: string }
  | { browserUid: string }
  /** The sessions of one grant, to which the family of a code or refresh token belongs. */
  | { grantId: string }

const selectorColumns = { sessionId: 'id', userId: 'user_id', browserUid: 'browser_uid', grantId: 'grant_id' } as const

interface EndedSessionRow {
  id: string
  userId: string
  clientId: string
  orgId: string | null
  /** Whether the client has a `backchannel_logout_uri`. */
  notify: boolean
}

const endText = (column: string): string => `
  WITH ended AS (
    UPDATE sessions SET status = 'revoked', revoked_at = $3::bigint, revocation_reason = $4::text,
      reason_details = $5::text, updated_at = greatest($3::bigint, updated_at + 1)
    WHERE issuer_id = $1::text AND ${column} = $2::text AND status <> 'revoked' AND expires_at > $3::bigint
    RETURNING id, user_id, client_id, org_id, grant_id, browser_uid, access_token_jti, expires_at
  ), artifacts AS (
    DELETE FROM idp_artifacts USING ended
    WHERE idp_artifacts.issuer_id = $1::text AND idp_artifacts.grant_id = ended.grant_id
  ), browsers AS (
    DELETE FROM idp_artifacts
    WHERE $6::boolean AND issuer_id = $1::text AND kind = 'Session'
      AND uid ${column === selectorColumns.browserUid ? '= $2::text' : 'IN (SELECT browser_uid FROM ended)'}
  ), denied AS (
    INSERT INTO revoked_tokens (issuer_id, jti, expires_at)
    SELECT $1::text, jti, ended.expires_at FROM ended, unnest(ended.access_token_jti) AS jti
    ON CONFLICT (issuer_id, jti) DO NOTHING
  )
  SELECT id, user_id AS "userId", client_id AS "clientId", org_id AS "orgId",
    EXISTS (SELECT 1 FROM clients c WHERE c.issuer_id = $1::text AND c.id = ended.client_id
      AND c.settings->'openid'->>'backchannel_logout_uri' IS NOT NULL) AS notify
  FROM ended`

/**
 * Locks the browser sessions before `endText` runs. If a parallel authorization request holds this lock, the statement
 * waits until that request has committed its new session, so that `endText` sees the session. The lock needs a separate
 * statement, because a statement does not see rows that were committed after it started. For browser sessions that are
 * not stored yet, `createSession` checks `proofs_valid_after`.
 */
const lockBrowserSessionsText = (column: string): string => `
  SELECT 1 FROM idp_artifacts WHERE issuer_id = $1 AND kind = 'Session' AND ${
    column === selectorColumns.browserUid
      ? 'uid = $2'
      : `uid IN (SELECT browser_uid FROM sessions WHERE issuer_id = $1 AND ${column} = $2)`
  } ORDER BY id FOR UPDATE`

const endSignInsText = `
  UPDATE users SET proofs_valid_after = greatest(proofs_valid_after, $3) WHERE issuer_id = $1 AND id = $2 AND status = 'active'`

/**
 * Sets `proofs_valid_after` of a user to the current time, which invalidates all earlier sign-ins. Ending sessions does
 * not reach two kinds of sign-ins: those in progress, and those of browsers whose sessions have ended.
 */
export async function invalidateSignIns(
  context: Context,
  { issuerId, id }: { issuerId: string; id: string },
): Promise<void> {
  await context.query('user-invalidate-sign-ins', endSignInsText, [issuerId, id, context.now()])
}

const endTexts = Object.fromEntries(
  Object.values(selectorColumns).map((column) => [column, endText(column)]),
) as Record<(typeof selectorColumns)[keyof typeof selectorColumns], string>

export interface SessionTermination {
  reason: RevocationReason
  details?: string | null
  /** Also ends the browser session; otherwise single sign-on would create new tokens without a sign-in. */
  endBrowserSession: boolean
}

/**
 * Ends the selected sessions that have not ended yet. One statement changes the rows of the sessions, deletes their
 * codes, refresh tokens and grants, and adds their known access tokens to the revocation list. The same transaction
 * records an event for each session and queues the back-channel logouts. Ending all sessions of a user also invalidates
 * all sign-ins of the user (`invalidateSignIns`).
 * @returns the sessions that this call ended
 */
export async function endSessions(
  context: Context,
  { accountId, issuerId }: InIssuer,
  selector: SessionSelector,
  { reason, details = null, endBrowserSession }: SessionTermination,
): Promise<EndedSessionRow[]> {
  const [[key, value]] = Object.entries(selector) as [[keyof typeof selectorColumns, string]]
  return transaction(context, async (tx) => {
    const column = selectorColumns[key]
    const text = endTexts[column]
    if (endBrowserSession)
      await tx.query(`session-lock-browsers-${column}`, lockBrowserSessionsText(column), [issuerId, value])
    if ('userId' in selector) await invalidateSignIns(tx, { issuerId, id: value })
    const ended = await sql<EndedSessionRow>(tx.db, text, issuerId, value, tx.now(), reason, details, endBrowserSession)
    for (const { id, userId, clientId, orgId } of ended) {
      await recordEvent(tx, 'session.terminated', {
        accountId,
        issuerId,
        orgId,
        userId,
        clientId,
        sessionId: id,
        target: { type: 'session', id },
        data: { reason },
      })
    }
    const clientsToNotify = ended.filter(({ notify }) => notify)
    await enqueueBackchannelLogouts(
      tx,
      clientsToNotify.map(({ id }) => ({ issuerId, sessionId: id })),
    )
    return ended
  })
}

/** Ends every session of a user, at all clients and in all browsers. */
export async function endSessionsOfUser(
  context: Context,
  user: { accountId: string; issuerId: string; id: string },
  reason: RevocationReason,
): Promise<void> {
  await endSessions(context, user, { userId: user.id }, { reason, endBrowserSession: true })
}
