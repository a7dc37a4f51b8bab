/** Sign in with Apple: OpenID Connect with a JWT as the client secret, and the response mode `form_post`. */
import { createPrivateKey } from 'node:crypto'
import { limits } from '../../../kernel/limits.js'
import { isObject } from '../../../kernel/merge-patch.js'
import { parseJson, unsafeInputError } from '../../../kernel/safe-json.js'
import { toUnixSeconds } from '../../../kernel/time.js'
import { signJwt } from '../../../platform/crypto/jws.js'
import { createStaticConfiguration } from './configuration.js'
import type { UpstreamProvider } from './provider.js'
import { upstreamFailed } from './upstream-error.js'
import { parseUpstreamUser } from './upstream-user.js'

export const apple: UpstreamProvider = {
  usesIdToken: true,
  scopes: ({ settings }) => settings.scopes ?? ['name', 'email'],

  async createConfiguration(request, { settings, secret }) {
    const { now } = request.context
    const issuer = settings.issuer_url ?? 'https://appleid.apple.com'
    const { client_id, team_id, key_id } = settings
    const jwk = createPrivateKey(secret).export({ format: 'jwk' })
    const clientSecret = (): string => {
      const iat = toUnixSeconds(now())
      const claims = {
        iss: team_id,
        iat,
        exp: iat + limits.appleClientSecretLifetimeSeconds,
        aud: issuer,
        sub: client_id,
      }
      return signJwt({ kid: key_id!, alg: 'ES256', jwk: { ...jwk } }, 'JWT', claims)
    }
    return createStaticConfiguration(
      request,
      {
        issuer,
        authorization_endpoint: `${issuer}/auth/authorize`,
        token_endpoint: `${issuer}/auth/token`,
        jwks_uri: `${issuer}/auth/keys`,
        id_token_signing_alg_values_supported: ['RS256'],
      },
      client_id,
      (_, __, body) => {
        body.set('client_id', client_id)
        body.set('client_secret', clientSecret())
      },
    )
  },

  // Apple does not document PKCE. The nonce binds the response to the request.
  supportsPkce: () => false,
  extraParameters: () => ({ response_mode: 'form_post' }),

  async fetchUser(_, tokens, __, { user }) {
    const claims = tokens.claims()
    if (!claims || unsafeInputError(claims)) throw upstreamFailed('bad_answer')
    return parseUpstreamUser(claims.iss, claims.sub, {
      ...readNames(user),
      ...pickClaims(claims, 'email', 'email_verified'),
    })
  },
}

const pickClaims = (claims: Record<string, unknown>, ...names: string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, claims[name]]))

/**
 * Reads the name of the user, which Apple sends only at the first sign-in, in an unsigned form field. The name is not
 * verified, like a name that the user enters.
 */
function readNames(user: string | undefined): Record<string, unknown> {
  if (user === undefined) return {}
  try {
    const value = parseJson(user)
    const name = isObject(value) && isObject(value['name']) ? value['name'] : {}
    const { firstName: given_name, lastName: family_name } = name
    const parts = [given_name, family_name].filter((part) => typeof part === 'string' && part !== '')
    return { given_name, family_name, name: parts.join(' ') }
  } catch {
    return {}
  }
}
