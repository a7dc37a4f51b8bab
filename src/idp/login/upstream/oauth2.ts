/** Any OAuth 2.0 provider with a userinfo endpoint: a preset, or endpoints from the settings. */
import { ClientSecretBasic, ClientSecretPost, customFetch } from 'openid-client'
import { isObject } from '../../../kernel/merge-patch.js'
import { type OAuth2Provider, presetOf, providerDefaults } from '../../../resources/issuers/oauth2-presets.js'
import { createStaticConfiguration, readObjectResource } from './configuration.js'
import type { UpstreamMethod, UpstreamProvider } from './provider.js'
import { parseUpstreamUser } from './upstream-user.js'

function providerOf({ settings }: UpstreamMethod): OAuth2Provider {
  return { ...providerDefaults, ...presetOf(settings.provider), ...settings } as OAuth2Provider
}

export const oauth2: UpstreamProvider = {
  usesIdToken: false,
  scopes: (method) => providerOf(method).scopes,

  async createConfiguration(request, method) {
    const { token_endpoint, authorization_endpoint, ...provider } = providerOf(method)
    const usesClientSecretPost = provider.token_endpoint_auth_method === 'client_secret_post'
    const auth = usesClientSecretPost ? ClientSecretPost(method.secret) : ClientSecretBasic(method.secret)
    const server = { issuer: new URL(token_endpoint).origin, authorization_endpoint, token_endpoint }
    const config = createStaticConfiguration(request, server, method.settings.client_id, auth)
    // Removes an ID token from the response, because `oauth2` has no settings to verify ID tokens, unlike `oidc`.
    const fetchOutbound = config[customFetch]!
    config[customFetch] = async (url, options) => {
      const response = await fetchOutbound(url, options)
      return url === token_endpoint ? withoutIdToken(response) : response
    }
    return config
  },

  supportsPkce: (_, method) => providerOf(method).pkce,
  redirectUri: ({ settings }) => settings.redirect_uri!,

  async fetchUser(config, { access_token }, method) {
    const { userinfo_endpoint, subject_claim, email_claim, email_verified_claim } = providerOf(method)
    const claims = await readObjectResource(config, access_token, userinfo_endpoint)
    return parseUpstreamUser(userinfo_endpoint, claimAtPath(claims, subject_claim), {
      ...claims,
      email: claimAtPath(claims, email_claim),
      email_verified: claimAtPath(claims, email_verified_claim),
    })
  },
}

async function withoutIdToken(response: Response): Promise<Response> {
  const text = await response.text()
  let body = text
  try {
    const value: unknown = JSON.parse(text)
    if (isObject(value)) body = JSON.stringify({ ...value, id_token: undefined })
  } catch {
    // openid-client reports the invalid response.
  }
  return new Response(body === '' ? null : body, { status: response.status, headers: response.headers })
}

/** Returns the claim at a path of names that are separated by dots; undefined if there is none. */
const claimAtPath = (claims: Record<string, unknown>, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), claims)
