/**
 * OpenID Connect Back-Channel Logout 1.0 (docs/contract.md#back-channel-logout), to which the section numbers in this
 * file refer. A job is queued in the transaction that ends a session. The logout token is created when the job runs.
 */
import { newId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import { SECOND, toUnixSeconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { signJwt } from '../../platform/crypto/jws.js'
import { enqueue, type Task } from '../../platform/jobs/queue.js'
import { OutboundError } from '../../platform/outbound/outbound.js'
import { currentSigningKey } from '../issuer-keys.js'
import { issuerUrl, servesHostSql } from '../issuer-url.js'

const TASK = 'backchannel_logout'
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A session that has ended. */
export interface EndedSession {
  issuerId: string
  sessionId: string
}

/** Queues a logout request for each session. Call it in the transaction that ends the sessions. */
export async function enqueueBackchannelLogouts(context: Context, ended: readonly EndedSession[]): Promise<void> {
  // Repeated requests have the same `jti`, so that the client can detect them (section 2.6).
  const payloads = ended.map(({ issuerId, sessionId }) => ({ issuerId, sessionId, jti: newId('tok', context.now()) }))
  await enqueue(context, TASK, payloads)
}

interface LogoutTarget {
  clientId: string
  userId: string
  host: string | null
  uri: string
  alg: string
}

/**
 * Selects the client as it is when the job runs. Selects no row if the logout URI was removed, or if the client or the
 * issuer was deleted.
 */
const targetText = `
  SELECT s.client_id AS "clientId", s.user_id AS "userId", c.settings->'openid'->>'backchannel_logout_uri' AS uri,
    CASE WHEN ${servesHostSql('s.host')} THEN s.host END AS host,
    coalesce(c.settings->'openid'->>'response_signature_alg', 'ES256') AS alg
  FROM sessions s
  JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  JOIN clients c ON c.issuer_id = s.issuer_id AND c.id = s.client_id AND c.status <> 'deleted'
  WHERE s.issuer_id = $1 AND s.id = $2 AND c.settings->'openid'->>'backchannel_logout_uri' IS NOT NULL`

/** Up to three attempts: immediately, after 5 seconds, and after another 30 seconds. */
export const backchannelLogout: Task = {
  name: TASK,
  maxAttempts: limits.maxBackchannelLogoutAttempts,
  retryDelay: (failed) => (failed === 1 ? 5 : 30) * SECOND,
  leaseDuration: 4 * limits.backchannelLogoutTimeout,
  concurrency: limits.maxConcurrentBackchannelLogouts,

  async run(context, payload, { number, isLast }) {
    const { issuerId, sessionId, jti } = payload as EndedSession & { jti: string }
    const [target] = await context.database.query<LogoutTarget & Record<string, unknown>>(
      'backchannel-logout-target',
      targetText,
      [issuerId, sessionId],
    )
    if (!target) return 'done'
    const key = await currentSigningKey(context, issuerId, target.alg)
    const token = signJwt(key, 'logout+jwt', logoutClaims(context, { issuerId, sessionId, jti, ...target }))
    const logFields = { task: TASK, session: sessionId, client: target.clientId, attempt: number, last: isLast }
    try {
      const { status } = await context.outbound.send({
        method: 'POST',
        url: target.uri,
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'cache-control': 'no-store' },
        body: new URLSearchParams({ logout_token: token }).toString(),
        timeout: limits.backchannelLogoutTimeout,
        maxBody: 0,
      })
      // Section 2.8: only a 2xx response is a success. Redirects are not followed.
      if (status >= 200 && status < 300) return 'done'
      context.log.warn({ ...logFields, status }, 'back-channel logout rejected by the client')
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      context.log.warn({ ...logFields, error: error.reason }, 'back-channel logout request failed')
    }
    return 'failed'
  },
}

/** Returns the claims of a logout token (section 2.4). A logout token must not have a nonce. */
function logoutClaims(
  { config, now }: Context,
  { issuerId, sessionId, jti, clientId, userId, host }: LogoutTarget & EndedSession & { jti: string },
): object {
  const iat = toUnixSeconds(now())
  return {
    iss: issuerUrl(config, issuerId, host),
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + limits.logoutTokenLifetimeSeconds,
    jti,
    events: { [EVENT]: {} },
    sid: sessionId,
  }
}
