/**
 * Who is signed in to the console. Tokens stay here, sealed; a browser has a random secret in a cookie that no script
 * can read. Rows and not memory, so that every process knows every session and a restart ends none.
 */
import { decodeJwt } from 'jose'
import { ApiError } from '../kernel/errors.js'
import { DAY, MINUTE, SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import type { ConsoleSession } from '../platform/database.js'
import { sql } from '../platform/database.js'
import { randomSecret, sha256 } from '../platform/secrets.js'
import { TokenRefusal, type TokenSet, type Tokens } from './tokens.js'

/** How long a console session lasts after its last renewal, as refresh tokens do by default (milliseconds). */
const SESSION_LIFE = 7 * DAY
/** Tokens are renewed this long before they end; a token that ends sooner than `LAST_CALL` is not used any more. */
const RENEW_BEFORE = MINUTE
const LAST_CALL = 5 * SECOND
/** How long somebody may be busy renewing before another one tries. */
const LEASE = 10 * SECOND
const POLL = 50

/**
 * Keeps the tokens of a sign-in.
 * @returns the secret for the cookie
 */
export async function openSession(context: Context, tokens: TokenSet): Promise<string> {
  const secret = randomSecret()
  const { sub, sid } = decodeJwt(tokens.access)
  const now = context.now()
  await context.db.consoleSession.create({
    data: {
      id: sha256(secret),
      userId: sub ?? '',
      sid: String(sid ?? ''),
      ...stored(context, tokens),
      createdAt: now,
      expiresAt: now + SESSION_LIFE,
    },
  })
  return secret
}

/** The session of a cookie's secret, if it stands. */
export async function findSession(context: Context, secret: string | undefined): Promise<ConsoleSession | null> {
  if (secret === undefined) return null
  return context.db.consoleSession.findFirst({ where: { id: sha256(secret), expiresAt: { gt: context.now() } } })
}

/** Ends a session. @returns its tokens, for the end at the issuer */
export async function closeSession(context: Context, id: string): Promise<TokenSet | undefined> {
  const [row] = await sql<{ tokens: string }>(
    context.db,
    'DELETE FROM console_sessions WHERE id = $1 RETURNING tokens',
    id,
  )
  return row && opened(context, row.tokens)
}

/** Ends what hangs on a session of the console issuer (OpenID Connect Back-Channel Logout 1.0). */
export async function closeSessionsOf(context: Context, sid: string): Promise<void> {
  await context.db.consoleSession.deleteMany({ where: { sid } })
}

/** A periodic job: sessions that nobody came back to. */
export async function purgeConsoleSessions(context: Context): Promise<void> {
  await context.db.consoleSession.deleteMany({ where: { expiresAt: { lt: context.now() } } })
}

/**
 * An access token that is good for the next request. A refresh token works once, so whoever is first renews and the
 * others, in whichever process, go on with the old token or wait for the new one.
 * @returns undefined when the session has ended
 * @throws unavailable when the issuer cannot be reached and the old token is no longer good
 */
export async function accessToken(
  context: Context,
  tokens: Tokens,
  found: ConsoleSession,
): Promise<string | undefined> {
  let session = found
  for (let waited = 0; waited <= LEASE; waited += POLL) {
    const left = Number(session.accessExpiresAt) - context.now()
    if (left > RENEW_BEFORE) return opened(context, session.tokens).access
    if (await claimRenewal(context, session)) return renew(context, tokens, session)
    if (left > LAST_CALL) return opened(context, session.tokens).access
    await new Promise((done) => setTimeout(done, POLL))
    const now = await context.db.consoleSession.findUnique({ where: { id: session.id } })
    if (!now) return undefined
    session = now
  }
  throw notReachable()
}

async function claimRenewal(context: Context, { id, version }: ConsoleSession): Promise<boolean> {
  const now = context.now()
  const claimed = await sql(
    context.db,
    `UPDATE console_sessions SET renewing_until = $3
     WHERE id = $1 AND version = $2 AND (renewing_until IS NULL OR renewing_until < $4) RETURNING id`,
    id,
    version,
    now + LEASE,
    now,
  )
  return claimed.length > 0
}

async function renew(context: Context, tokens: Tokens, session: ConsoleSession): Promise<string | undefined> {
  const old = opened(context, session.tokens)
  try {
    const fresh = await tokens.refresh(context, old)
    await context.db.consoleSession.updateMany({
      where: { id: session.id },
      data: {
        ...stored(context, fresh),
        version: { increment: 1 },
        renewingUntil: null,
        expiresAt: context.now() + SESSION_LIFE,
      },
    })
    return fresh.access
  } catch (error) {
    if (error instanceof TokenRefusal) {
      await closeSession(context, session.id)
      return undefined
    }
    await context.db.consoleSession.updateMany({ where: { id: session.id }, data: { renewingUntil: null } })
    if (Number(session.accessExpiresAt) - context.now() > LAST_CALL) return old.access
    throw notReachable()
  }
}

const notReachable = () =>
  new ApiError('unavailable', 'The console cannot reach its issuer just now; try again in a moment.', {
    headers: { 'Retry-After': '5' },
  })

const stored = (context: Context, tokens: TokenSet) => ({
  tokens: context.sealer.seal(JSON.stringify(tokens)),
  accessExpiresAt: (decodeJwt(tokens.access).exp ?? 0) * SECOND,
})

const opened = (context: Context, sealed: string): TokenSet => JSON.parse(context.sealer.open(sealed)) as TokenSet
