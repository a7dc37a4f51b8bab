import {
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  discovery,
  fetchUserInfo,
  type UserInfoResponse,
} from 'openid-client'
import { gateFault } from '../../../kernel/gate.js'
import { isEmail } from '../../../resources/users/usernames.js'
import { discoveryOptions } from './connection.js'
import { personOf } from './person.js'
import { failed, type OpenMethod, type Upstream } from './provider.js'

/** Any OpenID provider: found by discovery, believed by its signed ID token. */
export const oidc: Upstream = {
  idToken: true,
  scopes: ({ settings }) => settings.scopes ?? ['openid', 'email', 'profile'],

  async connect({ settings, secret }) {
    const server = new URL(settings.issuer_url!)
    // Which way the secret goes is known once discovery has answered.
    let auth = ClientSecretBasic(secret)
    const config = await discovery(
      server,
      settings.client_id,
      undefined,
      (...request) => auth(...request),
      discoveryOptions(),
    )
    auth = sendsInForm(config, settings) ? ClientSecretPost(secret) : auth
    return config
  },

  pkce(config) {
    const { code_challenge_methods_supported: methods } = config.serverMetadata()
    return methods === undefined || methods.includes('S256')
  },

  parameters(journey, username) {
    const prompt = journey.param('prompt')?.split(' ') ?? []
    const asked = prompt.find((one) => one === 'login' || one === 'select_account')
    return {
      // Who must prove anew who they are must do so there.
      ...(asked || journey.param('max_age') !== undefined ? { prompt: asked ?? 'login' } : {}),
      ...(isEmail(username) ? { login_hint: username } : {}),
    }
  },

  async person(config, tokens) {
    const claims = tokens.claims()
    if (!claims || gateFault(claims)) throw failed('bad_answer')
    if (typeof claims.sub !== 'string') throw failed('no_subject')
    const asked = claims['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
    const more: Partial<UserInfoResponse> = asked ? await fetchUserInfo(config, tokens.access_token, claims.sub) : {}
    if (gateFault(more)) throw failed('bad_answer')
    // Whether an address is confirmed counts from where the address is.
    const { email, email_verified } = asked ? more : claims
    return personOf(claims.iss, claims.sub, { ...more, ...claims, email, email_verified })
  },
}

/** HTTP Basic is what every provider must take, unless it says that it does not. */
function sendsInForm(config: Configuration, settings: OpenMethod['settings']): boolean {
  if (settings.token_endpoint_auth_method) return settings.token_endpoint_auth_method === 'client_secret_post'
  const { token_endpoint_auth_methods_supported: methods } = config.serverMetadata()
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
}
