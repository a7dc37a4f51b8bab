/** The states of API keys (spec 2.11, section 3, decisions D22): what is stored, and what is read off the clock. */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { ApiKey, Prisma } from '../../platform/database.js'

/** How long revoked keys, and revoked or expired personal tokens, can still be read (spec section 8). */
export const RETENTION = 31 * DAY

export const apiKeyStatuses = ['active', 'blocked', 'revoked', 'expired', 'suspended'] as const
export type ApiKeyStatus = (typeof apiKeyStatuses)[number]

/**
 * The status as of now: `expired` is read off the clock, `suspended` off the owner, and restored with it (decisions D22).
 * @param suspended is the organization whose key it is suspended?
 */
export function keyStatus(context: Context, key: ApiKey, suspended: boolean): ApiKeyStatus {
  if (key.status !== 'active') return key.status as ApiKeyStatus
  if (key.expiresAt !== null && key.expiresAt <= context.now()) return 'expired'
  return suspended ? 'suspended' : 'active'
}

/** Revoked keys can be read for 31 days (spec section 8). */
export const stillKept = (context: Context): Prisma.ApiKeyWhereInput => ({
  OR: [{ status: { not: 'revoked' } }, { statusAt: { gt: context.now() - RETENTION } }],
})

/** The WHERE of one status, of keys whose owner is suspended or not. */
export function statusFilter(
  context: Context,
  status: string | null | undefined,
  suspended: boolean,
): Prisma.ApiKeyWhereInput {
  const now = context.now()
  if (status === undefined || status === null) return {}
  if (status === 'expired') return { status: 'active', expiresAt: { lte: now } }
  if (status === 'blocked' || status === 'revoked') return { status }
  const inForce = { status: 'active', OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] }
  return (status === 'suspended') === suspended ? inForce : { id: { in: [] } }
}
