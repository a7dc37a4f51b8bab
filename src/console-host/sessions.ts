/**
 * Console sessions. The tokens of a session are stored encrypted in the database; the browser has a random secret in a
 * cookie that scripts cannot read. Sessions are rows, so that all processes share them and a restart does not end them.
 */
import { decodeJwt } from 'jose'
import { ApiError } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { SECOND } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { randomSecret, sha256 } from '../platform/crypto/secrets.js'
import { leaseSql } from '../platform/jobs/lease.js'
import type { ConsoleSession } from '../platform/postgres/database.js'
import { sql } from '../platform/postgres/database.js'
import { type TokenClient, TokenRequestRefusedError, type TokenSet } from './token-client.js'

/**
 * Stores the tokens of a sign-in as a new console session.
 * @returns the secret for the cookie
 */
export async function createConsoleSession(context: Context, tokens: TokenSet): Promise<string> {
  const secret = randomSecret()
  const { sub, sid } = decodeJwt(tokens.access)
  const now = context.now()
  await context.db.consoleSession.create({
    data: {
      id: sha256(secret),
      userId: sub ?? '',
      sid: String(sid ?? ''),
      ...encryptTokens(context, tokens),
      createdAt: now,
      expiresAt: now + limits.consoleSessionLifetime,
    },
  })
  return secret
}

/** Finds a session by the secret in its cookie. @returns null if there is no session or the session has expired */
export async function findSession(context: Context, secret: string | undefined): Promise<ConsoleSession | null> {
  if (secret === undefined) return null
  return context.db.consoleSession.findFirst({ where: { id: sha256(secret), expiresAt: { gt: context.now() } } })
}

/** Deletes a session. @returns the tokens of the session, for the logout at the issuer; undefined if there was none */
export async function deleteConsoleSession(context: Context, id: string): Promise<TokenSet | undefined> {
  const [row] = await sql<{ tokens: string }>(
    context.db,
    'DELETE FROM console_sessions WHERE id = $1 RETURNING tokens',
    id,
  )
  return row && decryptTokens(context, row.tokens)
}

/**
 * Deletes the console sessions whose tokens belong to a session at the console issuer (OpenID Connect Back-Channel
 * Logout 1.0).
 * @param sid the ID of the session at the issuer
 */
export async function deleteConsoleSessionsBySid(context: Context, sid: string): Promise<void> {
  await context.db.consoleSession.deleteMany({ where: { sid } })
}

/** Periodic job: deletes expired console sessions. */
export async function purgeConsoleSessions(context: Context): Promise<void> {
  await context.db.consoleSession.deleteMany({ where: { expiresAt: { lt: context.now() } } })
}

const renewalLease = leaseSql({
  expiresAt: 'renewal_lease_expires_at',
  duration: limits.consoleTokenRenewalLease,
})
/** Requires the version, because another request may have renewed the tokens since the session was read. */
const claimRenewalText = `
  UPDATE console_sessions SET ${renewalLease.renew('$3')}
  WHERE id = $1 AND version = $2 AND (renewal_lease_expires_at IS NULL OR ${renewalLease.isFree('$3')}) RETURNING id`

/**
 * Returns a valid access token of a session, and requests a new one if the stored one is about to expire. A refresh
 * token can be used only once. Therefore the first request takes a lease and refreshes the tokens. Concurrent requests,
 * in any process, use the old access token while it is valid, and then wait for the new one.
 * @returns undefined when the session has ended
 * @throws unavailable if there is no new token in time and the old one has expired or is too close to its expiry
 */
export async function currentAccessToken(
  context: Context,
  tokens: TokenClient,
  found: ConsoleSession,
): Promise<string | undefined> {
  let session = found
  for (let waited = 0; waited <= limits.consoleTokenRenewalLease; waited += limits.consoleTokenRenewalPollInterval) {
    const remaining = Number(session.accessExpiresAt) - context.now()
    if (remaining > limits.consoleTokenRenewalLead) return decryptTokens(context, session.tokens).access
    if (await claimRenewal(context, session)) return renewTokens(context, tokens, session)
    if (remaining > limits.minConsoleTokenLifetime) return decryptTokens(context, session.tokens).access
    await new Promise((done) => setTimeout(done, limits.consoleTokenRenewalPollInterval))
    const current = await context.db.consoleSession.findUnique({ where: { id: session.id } })
    if (!current) return undefined
    session = current
  }
  throw issuerUnavailableError()
}

async function claimRenewal(context: Context, { id, version }: ConsoleSession): Promise<boolean> {
  return (await sql(context.db, claimRenewalText, id, version, context.now())).length > 0
}

async function renewTokens(
  context: Context,
  tokens: TokenClient,
  session: ConsoleSession,
): Promise<string | undefined> {
  const old = decryptTokens(context, session.tokens)
  try {
    const fresh = await tokens.refresh(context, old)
    await context.db.consoleSession.updateMany({
      where: { id: session.id },
      data: {
        ...encryptTokens(context, fresh),
        version: { increment: 1 },
        renewalLeaseExpiresAt: null,
        expiresAt: context.now() + limits.consoleSessionLifetime,
      },
    })
    return fresh.access
  } catch (error) {
    if (error instanceof TokenRequestRefusedError) {
      await deleteConsoleSession(context, session.id)
      return undefined
    }
    await context.db.consoleSession.updateMany({ where: { id: session.id }, data: { renewalLeaseExpiresAt: null } })
    if (Number(session.accessExpiresAt) - context.now() > limits.minConsoleTokenLifetime) return old.access
    throw issuerUnavailableError()
  }
}

const issuerUnavailableError = () =>
  new ApiError(
    'unavailable',
    'The console cannot get a new access token from its issuer. Try again in a few seconds.',
    {
      headers: { 'Retry-After': '5' },
    },
  )

const encryptTokens = (context: Context, tokens: TokenSet) => ({
  tokens: context.encryptor.encrypt(JSON.stringify(tokens)),
  accessExpiresAt: (decodeJwt(tokens.access).exp ?? 0) * SECOND,
})

const decryptTokens = (context: Context, encrypted: string): TokenSet =>
  JSON.parse(context.encryptor.decrypt(encrypted)) as TokenSet
