/**
 * Sessions (spec 2.13, decisions D17): a signed-in user at one client. The id is the `sid` of its tokens, so the state
 * of the row is the state of every token. Ending a session ends its refresh tokens with it, in the same statement.
 */
import type { Context } from '../../platform/context.js'
import { type Session, sql, transaction } from '../../platform/database.js'
import { emit } from '../events/events.js'
import type { InIssuer } from '../place.js'
import { promiseLogouts } from './backchannel-logout.js'

/** In seconds; an issuer's `settings.sessions.absolute_lifetime` overrides it. As long as any token may live. */
export const DEFAULT_LIFETIME = 1_814_400

export type SessionState = 'active' | 'inactive' | 'suspended' | 'revoked' | 'expired'

export const revocationReasons = [
  'user_logout',
  'admin_action',
  'security_event',
  'password_changed',
  'inactivity',
  'token_compromised',
  'other',
] as const
export type RevocationReason = (typeof revocationReasons)[number]

type Clocks = Pick<Session, 'status' | 'expiresAt' | 'idleExpiresAt'>

/**
 * The state of a session now: `expired` and `inactive` are read off the clocks, the rest is stored. Only an active
 * session's tokens are good; an inactive one comes back by a refresh or a return through single sign-on.
 * @param now Unix milliseconds
 */
export function stateOf({ status, expiresAt, idleExpiresAt }: Clocks, now: number): SessionState {
  if (status === 'revoked') return 'revoked'
  if (Number(expiresAt) <= now) return 'expired'
  if (status === 'suspended') return 'suspended'
  return idleExpiresAt !== null && Number(idleExpiresAt) <= now ? 'inactive' : 'active'
}

/** What a device looks like from here. */
export interface Device {
  user_agent: string | null
  ip_address: string | null
  fingerprint: string | null
}

/** What a new session is made of. Times in milliseconds, `authTime` in seconds. */
export interface NewSession extends InIssuer {
  id: string
  userId: string
  clientId: string
  orgId: string | null
  browserUid: string
  grantId: string
  /** The custom domain that it is begun under; none: the IdP's own address. */
  host?: string | null
  device: Device
  authTime: number
  /** From when on the end of all sign-ins of the user ends this one; after the second of `authTime` if not given. */
  since?: number | undefined
  acr: string | null
  amr: readonly string[]
  expiresAt: number
  idleExpiresAt: number | null
}

const beginText = `
  INSERT INTO sessions (id, account_id, issuer_id, user_id, client_id, org_id, browser_uid, grant_id, host, status, device,
    auth_time, acr, amr, access_token_jti, refresh_token_jti, last_activity_at, expires_at, idle_expires_at, created_at,
    updated_at)
  SELECT s.id, "accountId", "issuerId", "userId", "clientId", "orgId", "browserUid", "grantId", host, 'active', device,
    "authTime", acr, amr, '{}', '{}', now, "expiresAt", "idleExpiresAt", now, now
  FROM jsonb_to_record($1::jsonb) AS s(id text, "accountId" text, "issuerId" text, "userId" text, "clientId" text,
    "orgId" text, "browserUid" text, "grantId" text, host text, device jsonb, "authTime" int, acr text, amr text[],
    "expiresAt" bigint, "idleExpiresAt" bigint, now bigint, since bigint)
  JOIN users u ON u.issuer_id = "issuerId" AND u.id = "userId"
  WHERE u.status = 'active' AND coalesce(u.owned_since < coalesce(since, ("authTime" + 1) * 1000::bigint), true)
  FOR SHARE OF u
  RETURNING 1`

/**
 * Begins a session. Call it in the transaction that gives out what was signed in for.
 * @returns false, and begins none, where all sign-ins of the user were ended while this one was on its way
 */
export async function beginSession(context: Context, session: NewSession): Promise<boolean> {
  const row = { ...session, now: context.now() }
  const [begun] = await context.query('session-begin', beginText, [JSON.stringify(row)])
  if (!begun) return false
  const { accountId, issuerId, userId, clientId, orgId, id, amr } = session
  await emit(context, 'session.created', {
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

/** Which sessions are meant, always within one issuer. */
export type Which =
  | { sessionId: string }
  | { userId: string }
  | { browserUid: string }
  /** All that came from one authorization: the family of a code or refresh token. */
  | { grantId: string }

const columns = { sessionId: 'id', userId: 'user_id', browserUid: 'browser_uid', grantId: 'grant_id' } as const

interface Ended {
  id: string
  userId: string
  clientId: string
  orgId: string | null
  /** Its client wants to be told by the back channel. */
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
      AND uid ${column === columns.browserUid ? '= $2::text' : 'IN (SELECT browser_uid FROM ended)'}
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
 * Comes first, in a statement of its own, so that the next one sees what others had under way: whoever answers an
 * authorization request holds the browser's sign-in, if that is stored already, and has begun a session when they let go
 * of it. See `beginSession` for those that are not.
 */
const browsersText = (column: string): string => `
  SELECT 1 FROM idp_artifacts WHERE issuer_id = $1 AND kind = 'Session' AND ${
    column === columns.browserUid
      ? 'uid = $2'
      : `uid IN (SELECT browser_uid FROM sessions WHERE issuer_id = $1 AND ${column} = $2)`
  } ORDER BY id FOR UPDATE`

const userText = `
  UPDATE users SET owned_since = greatest(owned_since, $3) WHERE issuer_id = $1 AND id = $2 AND status = 'active'`

/**
 * Ends what a user proved before now and has no session to show for: sign-ins half-way, and those of browsers whose
 * session has ended. They are known by when they took place.
 */
export async function endSignIns(context: Context, { issuerId, id }: { issuerId: string; id: string }): Promise<void> {
  await context.query('user-signed-out', userText, [issuerId, id, context.now()])
}

const endTexts = Object.fromEntries(Object.values(columns).map((column) => [column, endText(column)])) as Record<
  (typeof columns)[keyof typeof columns],
  string
>

export interface Ending {
  reason: RevocationReason
  details?: string | null
  /** Ends the browser's sign-in too, or single sign-on would silently make new tokens (security rule 13). */
  browserToo: boolean
}

/**
 * Ends sessions that still live, in one statement: the rows, their codes, refresh tokens and grants, and the access
 * tokens that they know of, which join the revocation list. Each gets its event in the same transaction, and its
 * client the promise of a back-channel notice. With all sessions of a user go all sign-ins, those half-way too, see
 * `endSignIns`.
 * @returns the sessions that were ended now
 */
export async function endSessions(
  context: Context,
  { accountId, issuerId }: InIssuer,
  which: Which,
  { reason, details = null, browserToo }: Ending,
): Promise<Ended[]> {
  const [[key, value]] = Object.entries(which) as [[keyof typeof columns, string]]
  return transaction(context, async (inside) => {
    const column = columns[key]
    const text = endTexts[column]
    if (browserToo) await inside.query(`session-browsers-${column}`, browsersText(column), [issuerId, value])
    if ('userId' in which) await endSignIns(inside, { issuerId, id: value })
    const ended = await sql<Ended>(inside.db, text, issuerId, value, inside.now(), reason, details, browserToo)
    for (const { id, userId, clientId, orgId } of ended) {
      await emit(inside, 'session.terminated', {
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
    const told = ended.filter(({ notify }) => notify)
    await promiseLogouts(
      inside,
      told.map(({ id }) => ({ issuerId, sessionId: id })),
    )
    return ended
  })
}

/** Ends every session of a user, wherever it is signed in. */
export async function endSessionsOfUser(
  context: Context,
  user: { accountId: string; issuerId: string; id: string },
  reason: RevocationReason,
): Promise<void> {
  await endSessions(context, user, { userId: user.id }, { reason, browserToo: true })
}
