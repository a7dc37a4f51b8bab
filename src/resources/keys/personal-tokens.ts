/**
 * Personal tokens (spec 2.12, 4.9, decisions D6, D8, D22): JWTs by which a user's scripts act for the user. Only the
 * row is kept; the token is good while the row is active and its user is.
 */
import { z } from 'zod'
import { ApiError, insufficientScope, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, mustLieAhead, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import { covers, isPlatformScope } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { type PersonalToken, type Prisma, transaction, type User } from '../../platform/database.js'
import { inPortions } from '../../platform/sweep.js'
import { emit } from '../events/events.js'
import { goneUser, type InAccount, newestFirst, ofLivingIssuer, older, requireUser } from '../place.js'
import { revise } from '../revise.js'
import { jwtOf, MAX_LIFE } from './personal-token-jwt.js'
import { checkRestrictions, grantedScopes, lockOwner, type OfUser } from './personal-token-owner.js'
import { mustReachNoFurther, restrictionRules } from './restrictions.js'
import { RETENTION } from './states.js'

/** Active tokens per user (spec section 8). */
export const MAX_TOKENS = 50

export const personalTokenStatuses = ['active', 'blocked', 'revoked', 'expired', 'suspended'] as const
export type PersonalTokenStatus = (typeof personalTokenStatuses)[number]

/** Which token of which account. */
export interface TokenPlace extends InAccount {
  tokenId: string
}

/** With the state of its user, which is its own. */
export type TokenOfUser = PersonalToken & { user: Pick<User, 'status'> }

const createRules = z.strictObject({
  type: z.literal('personal_token', 'must be personal_token.'),
  name: rules.name,
  description: rules.description.optional(),
  tags: rules.tags.optional(),
  restrictions: restrictionRules,
  expiresAt: rules.moment.nullable().optional(),
  metadata: rules.metadata.optional(),
  audience: z
    .string('must be a string.')
    .regex(/^[\x21-\x7e]{1,512}$/, 'must have 1 to 512 printable ASCII characters without spaces.')
    .optional(),
})

const actionRules = z.strictObject({
  by: rules.text(200).nullable().optional(),
  reason: rules.text(1000).nullable().optional(),
})

const withUser = { user: { select: { status: true } } } as const

/** What a token is while it is neither revoked nor expired: as good as its user. */
const stateOfUser = ({ status }: Pick<User, 'status'>): PersonalTokenStatus =>
  status === 'active' || status === 'blocked' ? status : 'suspended'

/** The status as of now (decisions D22). */
export function tokenStatus(context: Context, token: TokenOfUser): PersonalTokenStatus {
  if (token.status === 'revoked') return 'revoked'
  return token.expiresAt <= context.now() ? 'expired' : stateOfUser(token.user)
}

/** Rows that can still be read: not those that were revoked or ran out 31 days ago. */
export function readable(context: Context): Prisma.PersonalTokenWhereInput {
  const from = context.now() - RETENTION
  return { expiresAt: { gt: from }, OR: [{ status: 'active' }, { statusAt: { gt: from } }] }
}

/** Tokens of a user, newest first; the cursor is a token id. */
export async function listPersonalTokens(
  context: Context,
  place: OfUser,
  filter: { status?: PersonalTokenStatus | null },
  request: PageRequest,
): Promise<Page<TokenOfUser>> {
  const { accountId, issuerId, userId } = place
  const limit = limitOf(request)
  const rows = await context.db.personalToken.findMany({
    where: {
      AND: [
        { userId, issuerId, accountId, user: { is: knownUser } },
        readable(context),
        ofStatus(context, filter.status),
        older('tok', request.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
    include: withUser,
  })
  if (rows.length === 0) await requireUser(context, place)
  return pageOf(rows, limit)
}

const knownUser = {
  status: { notIn: goneUser },
  ...ofLivingIssuer,
} satisfies Prisma.UserWhereInput

/** The same as `tokenStatus`, as a condition. */
function ofStatus(context: Context, status: PersonalTokenStatus | null | undefined): Prisma.PersonalTokenWhereInput {
  const now = context.now()
  if (status === undefined || status === null) return {}
  if (status === 'revoked') return { status }
  if (status === 'expired') return { status: 'active', expiresAt: { lte: now } }
  const user = status === 'suspended' ? { notIn: ['active', 'blocked'] } : status
  return { status: 'active', expiresAt: { gt: now }, user: { is: { status: user } } }
}

const find = (context: Context, { accountId, tokenId }: TokenPlace): Promise<TokenOfUser | null> =>
  context.db.personalToken.findFirst({
    where: {
      AND: [{ id: tokenId, accountId }, readable(context), { user: { is: ofLivingIssuer } }],
    },
    include: withUser,
  })

/** @throws not_found */
export async function getPersonalToken(context: Context, place: TokenPlace): Promise<TokenOfUser> {
  const token = await find(context, place)
  if (!token) throw notFound('personal token')
  return token
}

export interface PersonalTokenWithJwt {
  token: TokenOfUser
  /** Shown once. */
  jwt: string
}

/**
 * Makes a token; the JWT is in the answer and nowhere else. It lives 21 days at most: a later `expires_at` is brought
 * forward, and so is none. Nor does it outlive the key or token that makes it.
 * @throws invalid_request, insufficient_scope when it would be stronger than the caller, forbidden, not_found,
 * too_many_requests when the user has 50 active ones
 */
export async function createPersonalToken(
  context: Context,
  place: OfUser,
  input: unknown,
): Promise<PersonalTokenWithJwt> {
  const { type: _, restrictions, metadata = {}, ...values } = check(createRules, input)
  return transaction(context, async (inside) => {
    const owner = await lockOwner(inside, place)
    const scopes = grantedScopes(inside, place, owner, restrictions)
    await checkRestrictions(inside, place, owner, restrictions)
    const now = inside.now()
    const longest = Math.min(now + MAX_LIFE, context.actor.expiresAt ?? Number.POSITIVE_INFINITY)
    mustLieAhead(now, 'expiresAt', values.expiresAt)
    const expiresAt = Math.min(values.expiresAt ?? longest, now + MAX_LIFE)
    const issuerId = owner.console ? null : place.issuerId
    mustReachNoFurther(context, { restrictions, expiresAt, issuerId, orgId: null })
    const active = { userId: place.userId, status: 'active', expiresAt: { gt: now } }
    if ((await inside.db.personalToken.count({ where: active })) >= MAX_TOKENS) {
      throw new ApiError('too_many_requests', `A user has at most ${MAX_TOKENS} active tokens; revoke one first.`)
    }
    const row = await inside.db.personalToken.create({
      data: {
        ...newRow('tok', now),
        accountId: place.accountId,
        issuerId: place.issuerId,
        userId: place.userId,
        name: values.name,
        description: values.description ?? null,
        tags: values.tags ?? [],
        restrictions: restrictions as Prisma.InputJsonObject,
        scopes,
        audience: values.audience ?? context.config.baseUrl,
        expiresAt,
        metadata: metadata as Prisma.InputJsonObject,
        status: 'active',
      },
    })
    const data = { name: row.name, audience: row.audience, scopes }
    await emit(inside, 'personal_token.created', { ...aboutToken(row), data })
    return { token: { ...row, user: owner }, jwt: await jwtOf(inside, row) }
  })
}

/** Permanent. Repeating it changes nothing and answers the token as it is (decisions D22). */
export async function revokePersonalToken(context: Context, place: TokenPlace, input: unknown): Promise<TokenOfUser> {
  const { by, reason } = check(actionRules, input ?? {})
  const token = await getPersonalToken(context, place)
  if (token.status === 'revoked') return token
  try {
    return await revoke(context, place, undefined, by, reason)
  } catch (error) {
    // Somebody else was quicker.
    const now = error instanceof ApiError && error.code === 'not_found' ? await find(context, place) : null
    if (now?.status === 'revoked') return now
    throw error
  }
}

/** DELETE: revokes at once; a second one is 404. */
export async function deletePersonalToken(context: Context, place: TokenPlace, ifMatch?: string | null): Promise<void> {
  await revoke(context, place, ifMatch, undefined, undefined)
}

function revoke(
  context: Context,
  place: TokenPlace,
  ifMatch: string | null | undefined,
  by: string | null | undefined,
  reason: string | null | undefined,
): Promise<TokenOfUser> {
  return revise<TokenOfUser, Prisma.PersonalTokenUncheckedUpdateManyInput>(context, {
    what: 'personal token',
    table: 'personal_tokens',
    ifMatch,
    read: (now) => find(now, place),
    change: (token) => {
      if (token.status === 'revoked') throw notFound('personal token')
      mustCover(context, token)
      return {
        status: 'revoked',
        statusAt: context.now(),
        statusBy: by ?? context.actor.id,
        statusReason: reason ?? null,
      }
    },
    write: async (now, version, data) => {
      const where = { id: place.tokenId, updatedAt: version }
      const { count } = await now.db.personalToken.updateMany({ where, data })
      return count === 1 ? find(now, place) : null
    },
    also: (inside, _, token) => emit(inside, 'personal_token.revoked', aboutToken(token)),
  })
}

/** A caller may end only tokens whose authority its own covers (decisions D22); its own ones always. */
function mustCover({ actor }: Context, token: PersonalToken): void {
  if (actor.userId === token.userId) return
  const lacking = token.scopes.find((scope) => isPlatformScope(scope) && !covers(actor.scopes, scope))
  if (lacking) {
    throw insufficientScope(lacking, `This token may do more than you (${lacking}), so you cannot end it.`)
  }
}

/** All tokens of a user that is being deleted, in the transaction that deletes it (spec section 3). */
export async function revokeTokensOfUser(context: Context, { id: userId }: { id: string }): Promise<void> {
  await revokeAll(context, { userId, status: 'active' }, 'The user was deleted.')
}

/** Rows of one transaction. */
const BATCH = 500

/**
 * All tokens of an issuer whose signing keys were removed: nobody can verify them any more.
 * @returns how many
 */
export async function revokeTokensOfIssuer(context: Context, issuerId: string): Promise<number> {
  let revoked = 0
  await inPortions(context, BATCH, () =>
    transaction(context, async (inside) => {
      const active = { issuerId, status: 'active', expiresAt: { gt: inside.now() } }
      const rows = await inside.db.personalToken.findMany({ where: active, select: { id: true }, take: BATCH })
      const where = { ...active, id: { in: rows.map(({ id }) => id) } }
      revoked += await revokeAll(inside, where, 'The signing keys of the issuer were replaced.')
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
  for (const token of rows) await emit(context, 'personal_token.revoked', aboutToken(token))
  return rows.length
}

const aboutToken = ({ accountId, issuerId, userId, id }: PersonalToken) => ({
  accountId,
  issuerId,
  userId,
  target: { type: 'personal_token', id },
})
