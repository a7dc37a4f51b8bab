/** Any OAuth 2.0 provider with an address that says who somebody is: a preset by name, or addresses in the settings. */
import { ClientSecretBasic, ClientSecretPost, customFetch } from 'openid-client'
import { isObject } from '../../../kernel/merge.js'
import { type OAuth2Provider, presetOf, usual } from '../../../resources/issuers/oauth2-presets.js'
import { fixedProvider, readRecord } from './connection.js'
import { personOf } from './person.js'
import type { OpenMethod, Upstream } from './provider.js'

function providerOf({ settings }: OpenMethod): OAuth2Provider {
  return { ...usual, ...presetOf(settings.provider), ...settings } as OAuth2Provider
}

export const oauth2: Upstream = {
  idToken: false,
  scopes: (method) => providerOf(method).scopes,

  async connect(method) {
    const { token_endpoint, authorization_endpoint, ...provider } = providerOf(method)
    const inForm = provider.token_endpoint_auth_method === 'client_secret_post'
    const auth = inForm ? ClientSecretPost(method.secret) : ClientSecretBasic(method.secret)
    const server = { issuer: new URL(token_endpoint).origin, authorization_endpoint, token_endpoint }
    const config = fixedProvider(server, method.settings.client_id, auth)
    // An ID token is not what this method looks at: nobody has said how to judge it. Who wants that uses `oidc`.
    const send = config[customFetch]!
    config[customFetch] = async (url, options) => {
      const response = await send(url, options)
      return url === token_endpoint ? withoutIdToken(response) : response
    }
    return config
  },

  pkce: (_, method) => providerOf(method).pkce,
  redirectUri: ({ settings }) => settings.redirect_uri!,

  async person(config, { access_token }, method) {
    const { userinfo_endpoint, subject_claim, email_claim, email_verified_claim } = providerOf(method)
    const claims = await readRecord(config, access_token, userinfo_endpoint)
    return personOf(userinfo_endpoint, at(claims, subject_claim), {
      ...claims,
      email: at(claims, email_claim),
      email_verified: at(claims, email_verified_claim),
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
    // For the library to refuse.
  }
  return new Response(body === '' ? null : body, { status: response.status, headers: response.headers })
}

/** The member that a name with dots leads to. */
const at = (claims: Record<string, unknown>, path: string): unknown =>
  path
    .split('.')
    .reduce<unknown>((value, name) => (isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined), claims)
