/**
 * Signs the first administrator in to the console right after setup, without a sign-in at the issuer. The session
 * belongs to the client of the console and can be listed and revoked like every session, but it has no refresh token:
 * when its access token is about to expire, the session ends and the administrator signs in at the issuer.
 */
import type { Context as KoaContext } from 'koa'
import { newId } from '../kernel/ids.js'
import { limits } from '../kernel/limits.js'
import { ALL_SCOPES } from '../kernel/scopes.js'
import { toUnixSeconds } from '../kernel/time.js'
import type { Context } from '../platform/context.js'
import { signJwt } from '../platform/crypto/jws.js'
import { randomSecret } from '../platform/crypto/secrets.js'
import { transaction } from '../platform/postgres/transaction.js'
import { consolePath } from '../resources/console-path.js'
import { currentSigningKey } from '../resources/issuer-keys.js'
import { issuerUrl } from '../resources/issuer-url.js'
import { createSession } from '../resources/sessions/sessions.js'
import { cookiesOf } from './cookies.js'
import { createConsoleSession } from './sessions.js'

/**
 * Creates a console session for the new administrator and sets its cookie in the response.
 * @param amr the authentication methods that the administrator has just set up (RFC 8176)
 */
export async function createFirstSession(
  context: Context,
  ctx: KoaContext,
  userId: string,
  amr: readonly string[],
): Promise<void> {
  const { config, request } = context
  const path = await consolePath(context)
  if (!path) throw new Error('This deployment has no console issuer. Restart Gatehouse to create it.')
  const issuerPath = { accountId: path.account_id, issuerId: path.issuer_id }
  const now = context.now()
  const sid = newId('ses', now)
  const jti = newId('tok', now)
  const signingKey = await currentSigningKey(context, path.issuer_id, 'ES256')
  const iat = toUnixSeconds(now)
  const claims = {
    iss: issuerUrl(config, path.issuer_id),
    sub: userId,
    exp: iat + toUnixSeconds(limits.firstConsoleSessionLifetime),
    iat,
    auth_time: iat,
    sid,
  }
  const access = {
    ...claims,
    aud: config.baseUrl,
    nbf: iat,
    jti,
    client_id: path.client_id,
    scope: `openid ${ALL_SCOPES}`,
  }
  const secret = await transaction(context, async (tx) => {
    await createSession(tx, {
      ...issuerPath,
      id: sid,
      userId,
      clientId: path.client_id,
      orgId: null,
      // There is no browser session at the issuer and no grant, so `browserUid` and `grantId` are random.
      browserUid: randomSecret(),
      grantId: randomSecret(),
      device: { user_agent: request.userAgent, ip_address: request.ip, fingerprint: null },
      authTime: iat,
      acr: null,
      amr,
      expiresAt: now + limits.firstConsoleSessionLifetime,
      idleExpiresAt: null,
    })
    return createConsoleSession(tx, {
      access: signJwt(signingKey, 'at+jwt', access),
      refresh: '',
      id: signJwt(signingKey, 'JWT', { ...claims, aud: path.client_id, amr }),
    })
  })
  cookiesOf(ctx, config.baseUrl).write('session', secret)
}
