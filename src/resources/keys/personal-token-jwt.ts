/** The JWT of a personal token (spec 2.12, 5.3). */
import { DAY, seconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { PersonalToken } from '../../platform/database.js'
import { signJwt } from '../../platform/jwt.js'
import { currentKey } from '../issuer-keys.js'
import { issuerUrl } from '../issuer-url.js'

/** No token's `exp` lies further from its issuance (milliseconds; spec 5.3 and section 8). */
export const MAX_LIFE = 21 * DAY

/**
 * An access token by RFC 9068, signed with the issuer's current key. No client asked for it, so `client_id` is the
 * token's own id: no client may introspect it, and none of them being disabled ends it.
 */
export async function jwtOf(context: Context, token: PersonalToken): Promise<string> {
  const iat = seconds(token.createdAt)
  const claims = {
    iss: issuerUrl(context.config, token.issuerId),
    sub: token.userId,
    aud: token.audience,
    exp: Math.min(Math.ceil(Number(token.expiresAt) / 1000), iat + MAX_LIFE / 1000),
    iat,
    nbf: iat,
    jti: token.id,
    client_id: token.id,
    ...(token.scopes.length > 0 && { scope: token.scopes.join(' ') }),
  }
  return signJwt(await currentKey(context, token.issuerId, 'ES256'), 'at+jwt', claims)
}
