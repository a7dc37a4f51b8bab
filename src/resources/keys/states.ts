/** The states of API keys (spec 2.11, section 3, decisions D22): what is stored, and what is read off the clock. */
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { ApiKey, Prisma } from '../../platform/database.js'

/** How long revoked keys can still be read (spec section 8). */
export const REVOKED_RETENTION = 31 * DAY

export const apiKeyStatuses = ['active', 'blocked', 'revoked', 'expired', 'suspended'] as const
export type ApiKeyStatus = (typeof apiKeyStatuses)[number]

/** The status as of now: `expired` is computed from the clock (decisions D22). */
export function keyStatus(context: Context, key: ApiKey): ApiKeyStatus {
  if (key.status === 'active' && key.expiresAt !== null && key.expiresAt <= context.now()) return 'expired'
  return key.status as ApiKeyStatus
}

/** Revoked keys can be read for 31 days (spec section 8). */
export const stillKept = (context: Context): Prisma.ApiKeyWhereInput => ({
  OR: [{ status: { not: 'revoked' } }, { statusAt: { gt: context.now() - REVOKED_RETENTION } }],
})

/** The WHERE of one status. */
export function statusFilter(context: Context, status: string | null | undefined): Prisma.ApiKeyWhereInput {
  const now = context.now()
  if (status === undefined || status === null) return {}
  if (status === 'active') return { status, OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] }
  if (status === 'expired') return { status: 'active', expiresAt: { lte: now } }
  return { status }
}
