/**
 * Personal tokens (docs/contract.md#personal-tokens): JWTs with which scripts of a user act for the user. The database
 * has a row for each token but does not store the JWT. Until it expires, a token is valid while its row, its user and
 * its issuer are active and the key that signed it exists.
 */
import { ApiError, insufficientScope, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput, requireFuture } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import { coversScope, isPlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { type PersonalToken, type Prisma, type User } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  deletedUserStatuses,
  type InUser,
  newestFirst,
  requireUser,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import {
  createRules,
  type PersonalTokenFilter,
  type PersonalTokenStatus,
  revokeRules,
  type TokenPath,
} from './personal-token.js'
import { signPersonalToken } from './personal-token-jwt.js'
import { checkRestrictions, lockTokenOwner, resolveTokenScopes } from './personal-token-owner.js'
import { requireNoWiderReach } from './restrictions.js'

/** A personal token with the status of its user, from which `tokenStatus` computes the status of the token. */
export type TokenWithUser = PersonalToken & { user: Pick<User, 'status'> }

const withUser = { user: { select: { status: true } } } as const

/** Returns the status of a token that is neither revoked nor expired. */
const statusFromUser = ({ status }: Pick<User, 'status'>): PersonalTokenStatus =>
  status === 'active' || status === 'blocked' ? status : 'suspended'

/** Returns the current status (docs/contract.md#key-operations-and-status-transitions). */
export function tokenStatus(context: Context, token: TokenWithUser): PersonalTokenStatus {
  if (token.status === 'revoked') return 'revoked'
  return token.expiresAt <= context.now() ? 'expired' : statusFromUser(token.user)
}

/** Returns the Prisma filter that excludes tokens which were revoked or expired more than `revokedKeyRetention` ago. */
export function whereTokenReadable(context: Context): Prisma.PersonalTokenWhereInput {
  const from = context.now() - limits.revokedKeyRetention
  return { expiresAt: { gt: from }, OR: [{ status: 'active' }, { statusAt: { gt: from } }] }
}

/** Lists the tokens of a user, newest first. The cursor is a token id. */
export async function listPersonalTokens(
  context: Context,
  path: InUser,
  filter: PersonalTokenFilter,
): Promise<Page<TokenWithUser>> {
  const { accountId, issuerId, userId } = path
  const limit = checkPageLimit(filter)
  const rows = await context.db.personalToken.findMany({
    where: {
      AND: [
        { userId, issuerId, accountId, user: { is: whereUserNotDeleted } },
        whereTokenReadable(context),
        whereTokenStatus(context, filter.status),
        whereOlderThanCursor('tok', filter.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
    include: withUser,
  })
  if (rows.length === 0) await requireUser(context, path)
  return toPage(rows, limit)
}

const whereUserNotDeleted = {
  status: { notIn: deletedUserStatuses },
  ...whereIssuerNotDeleted,
} satisfies Prisma.UserWhereInput

/** Returns the Prisma filter for tokens with a status, as `tokenStatus` computes it. */
function whereTokenStatus(
  context: Context,
  status: PersonalTokenStatus | null | undefined,
): Prisma.PersonalTokenWhereInput {
  const now = context.now()
  if (status === undefined || status === null) return {}
  if (status === 'revoked') return { status }
  if (status === 'expired') return { status: 'active', expiresAt: { lte: now } }
  const user = status === 'suspended' ? { notIn: ['active', 'blocked'] } : status
  return { status: 'active', expiresAt: { gt: now }, user: { is: { status: user } } }
}

const findPersonalToken = (context: Context, { accountId, tokenId }: TokenPath): Promise<TokenWithUser | null> =>
  context.db.personalToken.findFirst({
    where: {
      AND: [{ id: tokenId, accountId }, whereTokenReadable(context), { user: { is: whereIssuerNotDeleted } }],
    },
    include: withUser,
  })

/** @throws not_found */
export async function getPersonalToken(context: Context, path: TokenPath): Promise<TokenWithUser> {
  const token = await findPersonalToken(context, path)
  if (!token) throw notFound('personal token')
  return token
}

export interface PersonalTokenWithJwt extends TokenWithUser {
  /** The token in plain text, which is not stored. */
  tokenPlain: string
}

/**
 * Creates a token. A lifetime of more than 21 days is shortened to 21 days. The default is 21 days, or the expiry of
 * the caller's own key or token if that is earlier.
 * @throws invalid_request, insufficient_scope or forbidden if the token would have more authority than the caller,
 *   not_found, too_many_requests if the user has `limits.maxPersonalTokensPerUser` active tokens
 */
export async function createPersonalToken(
  context: Context,
  path: InUser,
  input: unknown,
): Promise<PersonalTokenWithJwt> {
  const { type: _, restrictions, metadata, ...values } = checkInput(createRules, input)
  return transaction(context, async (tx) => {
    const owner = await lockTokenOwner(tx, path)
    const scopes = resolveTokenScopes(tx, path, owner, restrictions)
    await checkRestrictions(tx, path, owner, restrictions)
    const now = tx.now()
    const latestExpiry = Math.min(
      now + limits.maxPersonalTokenLifetime,
      context.actor.expiresAt ?? Number.POSITIVE_INFINITY,
    )
    requireFuture(now, 'expiresAt', values.expiresAt)
    const expiresAt = Math.min(values.expiresAt ?? latestExpiry, now + limits.maxPersonalTokenLifetime)
    const issuerId = owner.console ? null : path.issuerId
    requireNoWiderReach(context, { restrictions, expiresAt, issuerId, orgId: null })
    const active = { userId: path.userId, status: 'active', expiresAt: { gt: now } }
    if ((await tx.db.personalToken.count({ where: active })) >= limits.maxPersonalTokensPerUser) {
      throw new ApiError(
        'too_many_requests',
        `A user can have at most ${limits.maxPersonalTokensPerUser} active personal tokens. Revoke one first.`,
      )
    }
    const row = await tx.db.personalToken.create({
      data: {
        ...newRow('tok', now),
        accountId: path.accountId,
        issuerId: path.issuerId,
        userId: path.userId,
        ...values,
        restrictions: restrictions as Prisma.InputJsonObject,
        scopes,
        audience: values.audience ?? context.config.baseUrl,
        expiresAt,
        metadata: metadata as Prisma.InputJsonObject,
        status: 'active',
      },
    })
    const data = { name: row.name, audience: row.audience, scopes }
    await recordEvent(tx, 'personal_token.created', { ...tokenEventSubject(row), data })
    return { ...row, user: owner, tokenPlain: await signPersonalToken(tx, row) }
  })
}

/**
 * Revokes a token permanently. If the token is already revoked, returns it unchanged.
 * @throws invalid_request, not_found, insufficient_scope if the token has a scope that the caller lacks
 */
export async function revokePersonalToken(context: Context, path: TokenPath, input: unknown): Promise<TokenWithUser> {
  const { by, reason } = checkInput(revokeRules, input ?? {})
  const token = await getPersonalToken(context, path)
  if (token.status === 'revoked') return token
  try {
    return await revoke(context, path, undefined, by, reason)
  } catch (error) {
    // Another request may have revoked the token in parallel.
    const now = error instanceof ApiError && error.code === 'not_found' ? await findPersonalToken(context, path) : null
    if (now?.status === 'revoked') return now
    throw error
  }
}

/**
 * Revokes a token permanently.
 * @throws not_found, also if the token is already revoked; precondition_failed, insufficient_scope if the token has a
 *   scope that the caller lacks
 */
export async function deletePersonalToken(context: Context, path: TokenPath, ifMatch?: string | null): Promise<void> {
  await revoke(context, path, ifMatch, undefined, undefined)
}

function revoke(
  context: Context,
  path: TokenPath,
  ifMatch: string | null | undefined,
  by: string | null | undefined,
  reason: string | null | undefined,
): Promise<TokenWithUser> {
  return updateWithOptimisticLock<TokenWithUser, Prisma.PersonalTokenUncheckedUpdateManyInput>(context, {
    resourceName: 'personal token',
    table: 'personal_tokens',
    ifMatch,
    read: (tx) => findPersonalToken(tx, path),
    computeChanges: (token) => {
      if (token.status === 'revoked') throw notFound('personal token')
      requireCoveredToken(context, token)
      return {
        status: 'revoked',
        statusAt: context.now(),
        statusBy: by ?? context.actor.id,
        statusReason: reason ?? null,
      }
    },
    write: async (tx, version, data) => {
      const where = { id: path.tokenId, updatedAt: version }
      const { count } = await tx.db.personalToken.updateMany({ where, data })
      return count === 1 ? findPersonalToken(tx, path) : null
    },
    afterWrite: (tx, _, token) => recordEvent(tx, 'personal_token.revoked', tokenEventSubject(token)),
  })
}

/** Refuses a token with platform scopes that the caller lacks, unless it is a token of the calling user. */
function requireCoveredToken({ actor }: Context, token: PersonalToken): void {
  if (actor.userId === token.userId) return
  const missing = token.scopes.find((scope) => isPlatformScope(scope) && !coversScope(actor.scopes, scope))
  if (missing) {
    throw insufficientScope(
      missing,
      `This token has the scope ${missing}, which you do not have, so you cannot revoke it.`,
    )
  }
}

/** Revokes all tokens of a user. Call it in the transaction that deletes the user. */
export async function revokeTokensOfUser(context: Context, { id: userId }: { id: string }): Promise<void> {
  await revokeAll(context, { userId, status: 'active' }, 'The user was deleted.')
}

/**
 * Revokes all tokens that have not expired of an issuer whose signing keys were removed, because these tokens can no
 * longer be verified.
 * @returns the number of revoked tokens
 */
export async function revokeTokensOfIssuer(context: Context, issuerId: string): Promise<number> {
  let revoked = 0
  await runInBatches(context, limits.personalTokenRevocationBatchSize, () =>
    transaction(context, async (tx) => {
      const active = { issuerId, status: 'active', expiresAt: { gt: tx.now() } }
      const rows = await tx.db.personalToken.findMany({
        where: active,
        select: { id: true },
        take: limits.personalTokenRevocationBatchSize,
      })
      const where = { ...active, id: { in: rows.map(({ id }) => id) } }
      revoked += await revokeAll(tx, where, 'The signing keys of the issuer were replaced.')
      return rows.length
    }),
  )
  return revoked
}

async function revokeAll(
  context: Context,
  where: Prisma.PersonalTokenWhereInput,
  statusReason: string,
): Promise<number> {
  const now = context.now()
  const data = { status: 'revoked', statusAt: now, statusBy: context.actor.id, statusReason, updatedAt: now }
  const rows = await context.db.personalToken.updateManyAndReturn({ where, data })
  for (const token of rows) await recordEvent(context, 'personal_token.revoked', tokenEventSubject(token))
  return rows.length
}

const tokenEventSubject = ({ accountId, issuerId, userId, id }: PersonalToken) => ({
  accountId,
  issuerId,
  userId,
  target: { type: 'personal_token', id },
})
