/** The JWT of a personal token (docs/contract.md#personal-tokens). */
import { limits } from '../../kernel/limits.js'
import { toUnixSeconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { signJwt } from '../../platform/crypto/jws.js'
import type { PersonalToken } from '../../platform/postgres/database.js'
import { currentSigningKey } from '../issuer-keys.js'
import { issuerUrl } from '../issuer-url.js'

/**
 * Signs the JWT of a personal token, an access token (RFC 9068), with the current ES256 key of the issuer. `client_id`
 * is the id of the token itself, because no client requests personal tokens. Therefore no client can introspect the
 * token, and disabling a client does not end it.
 */
export async function signPersonalToken(context: Context, token: PersonalToken): Promise<string> {
  const iat = toUnixSeconds(token.createdAt)
  const claims = {
    iss: issuerUrl(context.config, token.issuerId),
    sub: token.userId,
    aud: token.audience,
    exp: Math.min(Math.ceil(Number(token.expiresAt) / 1000), iat + limits.maxPersonalTokenLifetime / 1000),
    iat,
    nbf: iat,
    jti: token.id,
    client_id: token.id,
    ...(token.scopes.length > 0 && { scope: token.scopes.join(' ') }),
  }
  return signJwt(await currentSigningKey(context, token.issuerId, 'ES256'), 'at+jwt', claims)
}
