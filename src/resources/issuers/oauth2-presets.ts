/**
 * Presets of OAuth 2.0 providers, from the documentation of the providers. In the settings of an `oauth2` method,
 * `provider` can be the name of a preset; the endpoints can then be omitted.
 */

/** Endpoints of an OAuth 2.0 provider and the fields of its userinfo response. */
export interface OAuth2Provider {
  authorization_endpoint: string
  token_endpoint: string
  userinfo_endpoint: string
  /** The scopes to request. */
  scopes: readonly string[]
  /** Field of the userinfo response with the ID of the account; a dot separates nested fields. */
  subject_claim: string
  /** Field of the userinfo response with the email address. */
  email_claim: string
  /** Field of the userinfo response that is true if the email address is verified. */
  email_verified_claim: string
  token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post'
  pkce: boolean
}

/** Default values of fields that neither the preset nor the settings contain. */
export const providerDefaults: Omit<OAuth2Provider, 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint'> =
  {
    scopes: [],
    subject_claim: 'sub',
    email_claim: 'email',
    email_verified_claim: 'email_verified',
    token_endpoint_auth_method: 'client_secret_basic',
    pkce: true,
  }

const openidDefaults = { ...providerDefaults, scopes: ['openid', 'email', 'profile'] }
const clientSecretPost = { token_endpoint_auth_method: 'client_secret_post' } as const

const presets: Readonly<Record<string, OAuth2Provider>> = {
  discord: {
    ...providerDefaults,
    ...clientSecretPost,
    authorization_endpoint: 'https://discord.com/oauth2/authorize',
    token_endpoint: 'https://discord.com/api/oauth2/token',
    userinfo_endpoint: 'https://discord.com/api/users/@me',
    scopes: ['identify', 'email'],
    subject_claim: 'id',
    email_verified_claim: 'verified',
  },
  facebook: {
    ...providerDefaults,
    ...clientSecretPost,
    authorization_endpoint: 'https://www.facebook.com/dialog/oauth',
    token_endpoint: 'https://graph.facebook.com/oauth/access_token',
    userinfo_endpoint: 'https://graph.facebook.com/me?fields=id,name,email',
    scopes: ['email', 'public_profile'],
    subject_claim: 'id',
  },
  gitlab: {
    ...openidDefaults,
    authorization_endpoint: 'https://gitlab.com/oauth/authorize',
    token_endpoint: 'https://gitlab.com/oauth/token',
    userinfo_endpoint: 'https://gitlab.com/oauth/userinfo',
  },
  google: {
    ...openidDefaults,
    ...clientSecretPost,
    authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_endpoint: 'https://oauth2.googleapis.com/token',
    userinfo_endpoint: 'https://openidconnect.googleapis.com/v1/userinfo',
  },
  linkedin: {
    ...openidDefaults,
    ...clientSecretPost,
    pkce: false,
    authorization_endpoint: 'https://www.linkedin.com/oauth/v2/authorization',
    token_endpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
    userinfo_endpoint: 'https://api.linkedin.com/v2/userinfo',
  },
  microsoft: {
    ...openidDefaults,
    ...clientSecretPost,
    authorization_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
  },
  slack: {
    ...openidDefaults,
    ...clientSecretPost,
    authorization_endpoint: 'https://slack.com/openid/connect/authorize',
    token_endpoint: 'https://slack.com/api/openid.connect.token',
    userinfo_endpoint: 'https://slack.com/api/openid.connect.userInfo',
  },
}

/** The names of the presets: values of `settings.provider` with which the endpoints can be omitted. */
export const presetNames: readonly string[] = Object.keys(presets)

/** Returns the preset with this name, in upper or lower case; undefined if there is none. */
export function presetOf(provider: unknown): OAuth2Provider | undefined {
  const name = String(provider).toLowerCase()
  return Object.hasOwn(presets, name) ? presets[name] : undefined
}
