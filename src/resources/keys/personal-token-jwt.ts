/** The JWT of a personal token (spec 2.12, 5.3). */
import { DAY, seconds } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type PersonalToken, sql } from '../../platform/database.js'
import { signJwt } from '../../platform/jwt.js'
import { issuerUrl } from '../issuer-url.js'

/** No token's `exp` lies further from its issuance (milliseconds; spec 5.3 and section 8). */
export const MAX_LIFE = 21 * DAY

const keyText = `
  SELECT kid::text, alg, private_jwk FROM signing_keys WHERE issuer_id = $1 AND alg = 'ES256'
  ORDER BY created_at DESC, kid LIMIT 1`

/**
 * An access token by RFC 9068, signed with the issuer's current key. No client asked for it, so `client_id` is the
 * token's own id: no client may introspect it, and none of them being disabled ends it.
 */
export async function jwtOf({ db, config, sealer }: Context, token: PersonalToken): Promise<string> {
  const [key] = await sql<{ kid: string; alg: string; private_jwk: string }>(db, keyText, token.issuerId)
  if (!key) throw new Error(`The issuer ${token.issuerId} has no key to sign with.`)
  const iat = seconds(token.createdAt)
  const claims = {
    iss: issuerUrl(config, token.issuerId),
    sub: token.userId,
    aud: token.audience,
    exp: Math.min(Math.ceil(Number(token.expiresAt) / 1000), iat + MAX_LIFE / 1000),
    iat,
    nbf: iat,
    jti: token.id,
    client_id: token.id,
    ...(token.scopes.length > 0 && { scope: token.scopes.join(' ') }),
  }
  return signJwt({ kid: key.kid, alg: key.alg, jwk: JSON.parse(sealer.open(key.private_jwk)) }, 'at+jwt', claims)
}
