/** Sign in with Apple: OpenID Connect with a client secret that is a JWT, and an answer that comes as a form. */
import { createPrivateKey } from 'node:crypto'
import { gateFault, parseJson } from '../../../kernel/gate.js'
import { isObject } from '../../../kernel/merge.js'
import { seconds } from '../../../kernel/time.js'
import { signJwt } from '../../../platform/jwt.js'
import { scope } from '../../scope.js'
import { fixedProvider } from './connection.js'
import { personOf } from './person.js'
import { failed, type Upstream } from './provider.js'

/** How long a client secret is good (seconds); Apple takes up to six months. */
const SECRET_LIFE = 300

export const apple: Upstream = {
  idToken: true,
  scopes: ({ settings }) => settings.scopes ?? ['name', 'email'],

  async connect({ settings, secret }) {
    const { now } = scope().context
    const issuer = settings.issuer_url ?? 'https://appleid.apple.com'
    const { client_id, team_id, key_id } = settings
    const jwk = createPrivateKey(secret).export({ format: 'jwk' })
    const clientSecret = (): string => {
      const iat = seconds(now())
      const claims = { iss: team_id, iat, exp: iat + SECRET_LIFE, aud: issuer, sub: client_id }
      return signJwt({ kid: key_id!, alg: 'ES256', jwk: { ...jwk } }, 'JWT', claims)
    }
    return fixedProvider(
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

  // Apple documents none; the nonce binds the answer.
  pkce: () => false,
  parameters: () => ({ response_mode: 'form_post' }),

  async person(_, tokens, __, { user }) {
    const claims = tokens.claims()
    if (!claims || gateFault(claims)) throw failed('bad_answer')
    return personOf(claims.iss, claims.sub, { ...namesIn(user), ...pick(claims, 'email', 'email_verified') })
  },
}

const pick = (claims: Record<string, unknown>, ...names: string[]): Record<string, unknown> =>
  Object.fromEntries(names.map((name) => [name, claims[name]]))

/** The name comes with the first sign-in only, unsigned: good enough for a name that people could type as well. */
function namesIn(user: string | undefined): Record<string, unknown> {
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
