/**
 * OpenID Connect Back-Channel Logout 1.0 (decisions D23): the end of a session tells its client, if that wants to be
 * told. The job is made in the transaction of `session.terminated`; the token is made when it goes out.
 */
import { newId } from '../../kernel/ids.js'
import { SECOND, seconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { signJwt } from '../../platform/jwt.js'
import { OutboundError } from '../../platform/outbound.js'
import { enqueue, type Task } from '../../platform/queue.js'
import { currentKey } from '../issuer-keys.js'
import { issuerUrl, servesHost } from '../issuer-url.js'

const TASK = 'backchannel_logout'
/** How long a client has to answer, and a token to get there (milliseconds, seconds). */
const TIMEOUT = 5 * SECOND
const TOKEN_LIFE = 120
const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A session that has ended. */
export interface Farewell {
  issuerId: string
  sessionId: string
}

/** Promises the notices; a session whose client wants none costs nothing. Call it in the transaction that ends them. */
export async function promiseLogouts(context: Context, ended: readonly Farewell[]): Promise<void> {
  // Tries of the same notice carry the same id, so that a client can tell them from another one (section 2.6).
  const notices = ended.map(({ issuerId, sessionId }) => ({ issuerId, sessionId, jti: newId('tok', context.now()) }))
  await enqueue(context, TASK, notices)
}

interface Facts {
  clientId: string
  userId: string
  host: string | null
  uri: string
  alg: string
}

/** The client as it is now: what it has unset meanwhile, or whoever was deleted with it, needs no notice. */
const factsText = `
  SELECT s.client_id AS "clientId", s.user_id AS "userId", c.settings->'openid'->>'backchannel_logout_uri' AS uri,
    CASE WHEN ${servesHost('s.host')} THEN s.host END AS host,
    coalesce(c.settings->'openid'->>'response_signature_alg', 'ES256') AS alg
  FROM sessions s
  JOIN issuers i ON i.id = s.issuer_id AND i.status <> 'deleted'
  JOIN clients c ON c.issuer_id = s.issuer_id AND c.id = s.client_id AND c.status <> 'deleted'
  WHERE s.issuer_id = $1 AND s.id = $2 AND c.settings->'openid'->>'backchannel_logout_uri' IS NOT NULL`

/** Up to three tries: at once, after 5 seconds, after another 30. */
export const backchannelLogout: Task = {
  name: TASK,
  attempts: 3,
  delay: (failed) => (failed === 1 ? 5 : 30) * SECOND,
  lease: 4 * TIMEOUT,
  parallel: 20,

  async run(context, payload, { number, last }) {
    const { issuerId, sessionId, jti } = payload as Farewell & { jti: string }
    const [facts] = await context.tools.query<Facts & Record<string, unknown>>('logout-facts', factsText, [
      issuerId,
      sessionId,
    ])
    if (!facts) return 'done'
    const key = await currentKey(context, issuerId, facts.alg)
    const token = signJwt(key, 'logout+jwt', logoutClaims(context, { issuerId, sessionId, jti, ...facts }))
    const about = { task: TASK, session: sessionId, client: facts.clientId, attempt: number, last }
    try {
      const { status } = await context.outbound.send({
        method: 'POST',
        url: facts.uri,
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'cache-control': 'no-store' },
        body: new URLSearchParams({ logout_token: token }).toString(),
        timeout: TIMEOUT,
        maxBody: 0,
      })
      // Section 2.8; redirects are none of it.
      if (status >= 200 && status < 300) return 'done'
      context.log.warn({ ...about, status }, 'a client did not accept a logout notice')
    } catch (error) {
      if (!(error instanceof OutboundError)) throw error
      context.log.warn({ ...about, fault: error.fault }, 'a client could not be told of a logout')
    }
    return 'failed'
  },
}

/** Section 2.4, with the claims of decisions D23. No nonce, for an ID token has one. */
function logoutClaims(
  { config, now }: Context,
  { issuerId, sessionId, jti, clientId, userId, host }: Facts & Farewell & { jti: string },
): object {
  const iat = seconds(now())
  return {
    iss: issuerUrl(config, issuerId, host),
    sub: userId,
    aud: clientId,
    iat,
    exp: iat + TOKEN_LIFE,
    jti,
    events: { [EVENT]: {} },
    sid: sessionId,
  }
}
