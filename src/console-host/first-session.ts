/**
 * The console session of whoever has just made the first administrator: they have proved who they are a second ago, so
 * nobody asks them again. A session of the console's client as any other, listed and ended like one; but without a
 * refresh token: when its access token ends, the ordinary sign-in follows.
 */
import type { Context as KoaContext } from 'koa'
import { newId } from '../kernel/ids.js'
import { ALL } from '../kernel/scopes.js'
import { HOUR, seconds } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { transaction } from '../platform/database.js'
import { signJwt } from '../platform/jwt.js'
import { randomSecret } from '../platform/secrets.js'
import { consolePlace } from '../resources/console-place.js'
import { currentKey } from '../resources/issuer-keys.js'
import { issuerUrl } from '../resources/issuer-url.js'
import { beginSession } from '../resources/sessions/sessions.js'
import { cookiesOf } from './cookies.js'
import { openSession } from './sessions.js'

/** Long enough for the first issuer and application (milliseconds). */
const LIFE = HOUR

/**
 * Signs the new administrator in to the console, in the browser that this answer goes to.
 * @param amr how they will sign in: what they have just set up and shown to have (RFC 8176)
 */
export async function beginFirstSession(
  context: Context,
  ctx: KoaContext,
  userId: string,
  amr: readonly string[],
): Promise<void> {
  const { config, request } = context
  const place = await consolePlace(context)
  if (!place) throw new Error('There is no console issuer.')
  const at = { accountId: place.account_id, issuerId: place.issuer_id }
  const now = context.now()
  const sid = newId('ses', now)
  const jti = newId('tok', now)
  const signingKey = await currentKey(context, place.issuer_id, 'ES256')
  const iat = seconds(now)
  const claims = {
    iss: issuerUrl(config, place.issuer_id),
    sub: userId,
    exp: iat + seconds(LIFE),
    iat,
    auth_time: iat,
    sid,
  }
  const access = {
    ...claims,
    aud: config.baseUrl,
    nbf: iat,
    jti,
    client_id: place.client_id,
    scope: `openid ${ALL}`,
  }
  const secret = await transaction(context, async (inside) => {
    await beginSession(inside, {
      ...at,
      id: sid,
      userId,
      clientId: place.client_id,
      orgId: null,
      // No sign-in at the issuer and no grant stand behind it: names that nothing else has.
      browserUid: randomSecret(),
      grantId: randomSecret(),
      device: { user_agent: request.userAgent, ip_address: request.ip, fingerprint: null },
      authTime: iat,
      acr: null,
      amr,
      expiresAt: now + LIFE,
      idleExpiresAt: null,
    })
    return openSession(inside, {
      access: signJwt(signingKey, 'at+jwt', access),
      refresh: '',
      id: signJwt(signingKey, 'JWT', { ...claims, aud: place.client_id, amr }),
    })
  })
  cookiesOf(ctx, config.baseUrl).write('session', secret)
}
