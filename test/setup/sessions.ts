import { newId } from '../../src/kernel/ids.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { createSession as createSessionRow, type NewSession } from '../../src/resources/sessions/sessions.js'
import type { Tenant } from './actors.js'
import type { TestApp } from './start-app.js'

/**
 * Creates a session of an active user without a sign-in, and returns its id. `lives` and `idle` are the milliseconds
 * until `expiresAt` and `idleExpiresAt`; without `idle` the session has no idle timeout.
 */
export async function createSession(
  app: TestApp,
  { accountId, issuerId }: Pick<Tenant, 'accountId' | 'issuerId'>,
  userId: string,
  {
    lives: lifetimeMs = 3_600_000,
    idle: idleTimeoutMs,
    ...more
  }: Partial<NewSession> & { lives?: number; idle?: number } = {},
): Promise<string> {
  const now = app.clock.now()
  const id = newId('ses', now)
  const created = await createSessionRow(systemContext(app.gatehouse), {
    id,
    accountId,
    issuerId,
    userId,
    clientId: newId('cli', now),
    orgId: null,
    browserUid: `browser of ${id}`,
    grantId: `grant of ${id}`,
    device: { user_agent: 'Test/1', ip_address: '192.0.2.7', fingerprint: null },
    authTime: Math.floor(now / 1000),
    acr: 'urn:svc:method:password',
    amr: ['pwd'],
    expiresAt: now + lifetimeMs,
    idleExpiresAt: idleTimeoutMs === undefined ? null : now + idleTimeoutMs,
    ...more,
  })
  if (!created) throw new Error(`Cannot create a session: the user ${userId} is not active or does not exist.`)
  return id
}
