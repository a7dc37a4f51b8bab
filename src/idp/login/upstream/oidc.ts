import {
  ClientSecretBasic,
  ClientSecretPost,
  type Configuration,
  discovery,
  fetchUserInfo,
  type UserInfoResponse,
} from 'openid-client'
import { unsafeInputError } from '../../../kernel/safe-json.js'
import { isEmail } from '../../../resources/users/usernames.js'
import { discoveryOptions } from './configuration.js'
import type { UpstreamMethod, UpstreamProvider } from './provider.js'
import { upstreamFailed } from './upstream-error.js'
import { parseUpstreamUser } from './upstream-user.js'

/** An OpenID provider: configured by discovery, with a verified ID token. */
export const oidc: UpstreamProvider = {
  usesIdToken: true,
  scopes: ({ settings }) => settings.scopes ?? ['openid', 'email', 'profile'],

  async createConfiguration(request, { settings, secret }) {
    const server = new URL(settings.issuer_url!)
    // How the client secret is sent is known only after discovery, so `auth` is replaced then.
    let auth = ClientSecretBasic(secret)
    const config = await discovery(
      server,
      settings.client_id,
      undefined,
      (...parameters) => auth(...parameters),
      discoveryOptions(request),
    )
    auth = usesClientSecretPost(config, settings) ? ClientSecretPost(secret) : auth
    return config
  },

  supportsPkce(config) {
    const { code_challenge_methods_supported: methods } = config.serverMetadata()
    return methods === undefined || methods.includes('S256')
  },

  extraParameters(loginTransaction, username) {
    const prompt = loginTransaction.param('prompt')?.split(' ') ?? []
    const requestedPrompt = prompt.find((one) => one === 'login' || one === 'select_account')
    return {
      // A user who must sign in again or choose an account at the issuer must also do so at the provider. A request
      // with `max_age` also has this effect: `auth_time` is the time of this sign-in, which would be wrong for an older
      // session at the provider.
      ...(requestedPrompt || loginTransaction.param('max_age') !== undefined
        ? { prompt: requestedPrompt ?? 'login' }
        : {}),
      ...(isEmail(username) ? { login_hint: username } : {}),
    }
  },

  async fetchUser(config, tokens) {
    const claims = tokens.claims()
    if (!claims || unsafeInputError(claims)) throw upstreamFailed('bad_answer')
    if (typeof claims.sub !== 'string') throw upstreamFailed('no_subject')
    const needsUserInfo = claims['email'] === undefined && config.serverMetadata().userinfo_endpoint !== undefined
    const userInfo: Partial<UserInfoResponse> = needsUserInfo
      ? await fetchUserInfo(config, tokens.access_token, claims.sub)
      : {}
    if (unsafeInputError(userInfo)) throw upstreamFailed('bad_answer')
    // `email_verified` is read from the source of `email`: the ID token or userinfo.
    const { email, email_verified } = needsUserInfo ? userInfo : claims
    return parseUpstreamUser(claims.iss, claims.sub, { ...userInfo, ...claims, email, email_verified })
  },
}

/**
 * Checks whether the client secret is sent in the form: by the setting of the method; without it, only if the
 * provider's metadata lists `client_secret_post` but not `client_secret_basic`.
 */
function usesClientSecretPost(config: Configuration, settings: UpstreamMethod['settings']): boolean {
  if (settings.token_endpoint_auth_method) return settings.token_endpoint_auth_method === 'client_secret_post'
  const { token_endpoint_auth_methods_supported: methods } = config.serverMetadata()
  return methods?.includes('client_secret_basic') === false && methods.includes('client_secret_post')
}
