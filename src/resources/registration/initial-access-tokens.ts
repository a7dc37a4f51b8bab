/**
 * Initial access tokens (RFC 7591 section 3, docs/contract.md#initial-access-tokens). A token is a bearer secret, so
 * only its SHA-256 is stored.
 */
import { ApiError, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import { type InitialAccessToken, sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableScopes } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { recordEvent } from '../events/record-event.js'
import { dynamicRegistrationPolicyOf, issuerSettingsOf } from '../issuers/settings.js'
import { purgeRows } from '../purge.js'
import { type InIssuer, requireIssuer, whereBelowCursor, whereIssuerNotDeleted } from '../resource-path.js'
import { createRules, type InitialAccessTokenPath, type InitialAccessTokenStatus } from './initial-access-token.js'

export interface InitialAccessTokenWithSecret extends InitialAccessToken {
  /** The token in plain text, which is not stored. */
  tokenPlain: string
}

/** Returns whether clients can register with the token now. */
export function initialAccessTokenStatus(context: Context, token: InitialAccessToken): InitialAccessTokenStatus {
  if (token.revokedAt !== null) return 'revoked'
  if (token.uses >= token.maxUses) return 'used'
  return token.expiresAt <= context.now() ? 'expired' : 'active'
}

/** Lists the initial access tokens of an issuer, newest first. @throws invalid_request, not_found for the issuer */
export async function listInitialAccessTokens(
  context: Context,
  path: InIssuer,
  request: PageRequest,
): Promise<Page<InitialAccessToken>> {
  const { accountId, issuerId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.initialAccessToken.findMany({
    where: { AND: [{ accountId, issuerId, ...whereIssuerNotDeleted }, whereBelowCursor('iat', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, path)
  return toPage(rows, limit)
}

/**
 * Creates an initial access token. Registered clients can get the scopes that the issuer allows, without a user too, so
 * the caller must have the platform scopes among them. Scopes that the issuer allows later are not for this token.
 * @throws invalid_request, insufficient_scope, not_found, too_many_requests if the issuer has
 *   `limits.maxInitialAccessTokensPerIssuer` active tokens
 */
export async function createInitialAccessToken(
  context: Context,
  path: InIssuer,
  input: unknown,
): Promise<InitialAccessTokenWithSecret> {
  const { name, maxUses, expiresIn } = checkInput(createRules, input)
  const tokenPlain = randomSecret()
  return transaction(context, async (tx) => {
    const issuer = await lockIssuer(tx, path)
    const { allowedScopes } = dynamicRegistrationPolicyOf(issuerSettingsOf(issuer))
    requireGrantableScopes(tx, allowedScopes)
    const now = tx.now()
    const { issuerId, accountId } = path
    const where = {
      issuerId,
      revokedAt: null,
      expiresAt: { gt: now },
      uses: { lt: tx.db.initialAccessToken.fields.maxUses },
    }
    if ((await tx.db.initialAccessToken.count({ where })) >= limits.maxInitialAccessTokensPerIssuer) {
      throw new ApiError(
        'too_many_requests',
        `An issuer can have at most ${limits.maxInitialAccessTokensPerIssuer} active initial access tokens. Revoke one first.`,
      )
    }
    const row = newRow('iat', now)
    const expiresAt = row.createdAt + expiresIn * SECOND
    const token = await tx.db.initialAccessToken.create({
      data: {
        ...row,
        accountId,
        issuerId,
        name,
        maxUses,
        expiresAt,
        hash: sha256(tokenPlain),
        allowedScopes: [...allowedScopes],
        createdBy: tx.actor.id,
      },
    })
    await recordTokenEvent(tx, 'initial_access_token.created', token)
    return { ...token, tokenPlain }
  })
}

/** Revokes an initial access token. Clients that registered with it stay. A repeated request changes nothing. */
export async function revokeInitialAccessToken(
  context: Context,
  path: InitialAccessTokenPath,
): Promise<InitialAccessToken> {
  const { accountId, issuerId, initialAccessTokenId: id } = path
  return transaction(context, async (tx) => {
    const now = tx.now()
    const where = { id, accountId, issuerId, ...whereIssuerNotDeleted }
    const [revoked] = await tx.db.initialAccessToken.updateManyAndReturn({
      where: { ...where, revokedAt: null },
      data: { revokedAt: now, updatedAt: now },
    })
    if (revoked) await recordTokenEvent(tx, 'initial_access_token.revoked', revoked)
    const token = revoked ?? (await tx.db.initialAccessToken.findFirst({ where }))
    if (!token) throw notFound('initial access token')
    return token
  })
}

/** Returns the token with this text if clients can register with it at the issuer now. */
export async function findActiveInitialAccessToken(
  context: Context,
  { issuerId }: InIssuer,
  text: string,
): Promise<InitialAccessToken | undefined> {
  const token = await context.db.initialAccessToken.findFirst({ where: { issuerId, hash: sha256(text) } })
  return token && initialAccessTokenStatus(context, token) === 'active' ? token : undefined
}

/**
 * Counts a use of a token. Of concurrent uses, in any process, no more succeed than the token allows. Call it in the
 * transaction of the registration, so that a failed registration is not counted.
 * @returns false if the token is used up, expired or revoked
 */
export async function countInitialAccessTokenUse(tx: Context, id: string): Promise<boolean> {
  const text = `
    UPDATE initial_access_tokens SET uses = uses + 1, last_used_at = $2::bigint, updated_at = $2::bigint
    WHERE id = $1 AND uses < max_uses AND revoked_at IS NULL AND expires_at > $2::bigint RETURNING id`
  return (await sql(tx.db, text, id, tx.now())).length > 0
}

/**
 * Locks the row of the issuer until the transaction ends, so that concurrent requests cannot exceed limits
 * (docs/contract.md#limits-under-parallel-requests).
 * @throws not_found
 */
export async function lockIssuer(tx: Context, path: InIssuer) {
  await sql(tx.db, 'SELECT id FROM issuers WHERE id = $1 FOR NO KEY UPDATE', path.issuerId)
  return requireIssuer(tx, path)
}

const recordTokenEvent = (
  context: Context,
  type: EventType,
  { accountId, issuerId, id, ...token }: InitialAccessToken,
) =>
  recordEvent(context, type, {
    accountId,
    issuerId,
    target: { type: 'initial_access_token', id },
    data: { name: token.name, max_uses: token.maxUses, uses: token.uses, expires_at: Number(token.expiresAt) },
  })

/** Deletes initial access tokens `initialAccessTokenRetention` after their expiry or revocation. */
export async function purgeInitialAccessTokens(context: Context): Promise<void> {
  const before = context.now() - limits.initialAccessTokenRetention
  await purgeRows(context, 'initial_access_tokens', 'least(t.expires_at, t.revoked_at) <= $1::bigint', before)
}
