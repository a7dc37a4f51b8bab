/** Statuses of API keys, stored and computed (docs/contract.md#key-operations-and-status-transitions). */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import type { ApiKey, Prisma } from '../../platform/postgres/database.js'
import type { ApiKeyStatus } from './api-key.js'

/**
 * Returns the current status of a key. `expired` is computed from `expires_at`, and `suspended` from the owner.
 * @param suspended whether the organization that owns the key is suspended
 */
export function currentKeyStatus(context: Context, key: ApiKey, suspended: boolean): ApiKeyStatus {
  if (key.status !== 'active') return key.status as ApiKeyStatus
  if (key.expiresAt !== null && key.expiresAt <= context.now()) return 'expired'
  return suspended ? 'suspended' : 'active'
}

/** Returns the Prisma filter that excludes keys which were revoked more than `revokedKeyRetention` ago. */
export const whereKeyReadable = (context: Context): Prisma.ApiKeyWhereInput => ({
  OR: [{ status: { not: 'revoked' } }, { statusAt: { gt: context.now() - limits.revokedKeyRetention } }],
})

/** Returns the Prisma filter for keys of one owner with a status, as `currentKeyStatus` computes it. */
export function whereKeyStatus(
  context: Context,
  status: string | null | undefined,
  suspended: boolean,
): Prisma.ApiKeyWhereInput {
  const now = context.now()
  if (status === undefined || status === null) return {}
  if (status === 'expired') return { status: 'active', expiresAt: { lte: now } }
  if (status === 'blocked' || status === 'revoked') return { status }
  const whereInForce = { status: 'active', OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] }
  return (status === 'suspended') === suspended ? whereInForce : { id: { in: [] } }
}
