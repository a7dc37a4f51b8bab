/** Providers that an `oauth2` method can name instead of spelling out its addresses. One row each, as they publish them. */

/** Where an OAuth 2.0 provider is, and how to read what it says of a person. */
export interface OAuth2Provider {
  authorization_endpoint: string
  token_endpoint: string
  userinfo_endpoint: string
  scopes: readonly string[]
  /** Names of members of the userinfo answer; a dot leads into an object. */
  subject_claim: string
  email_claim: string
  /** The member that must be true for the address to count as confirmed. */
  email_verified_claim: string
  token_endpoint_auth_method: 'client_secret_basic' | 'client_secret_post'
  pkce: boolean
}

/** What is taken where neither a preset nor the settings say otherwise. */
export const usual: Omit<OAuth2Provider, 'authorization_endpoint' | 'token_endpoint' | 'userinfo_endpoint'> = {
  scopes: [],
  subject_claim: 'sub',
  email_claim: 'email',
  email_verified_claim: 'email_verified',
  token_endpoint_auth_method: 'client_secret_basic',
  pkce: true,
}

const openid = { ...usual, scopes: ['openid', 'email', 'profile'] }
const post = { token_endpoint_auth_method: 'client_secret_post' } as const

const presets: Readonly<Record<string, OAuth2Provider>> = {
  discord: {
    ...usual,
    ...post,
    authorization_endpoint: 'https://discord.com/oauth2/authorize',
    token_endpoint: 'https://discord.com/api/oauth2/token',
    userinfo_endpoint: 'https://discord.com/api/users/@me',
    scopes: ['identify', 'email'],
    subject_claim: 'id',
    email_verified_claim: 'verified',
  },
  facebook: {
    ...usual,
    ...post,
    authorization_endpoint: 'https://www.facebook.com/dialog/oauth',
    token_endpoint: 'https://graph.facebook.com/oauth/access_token',
    userinfo_endpoint: 'https://graph.facebook.com/me?fields=id,name,email',
    scopes: ['email', 'public_profile'],
    subject_claim: 'id',
  },
  gitlab: {
    ...openid,
    authorization_endpoint: 'https://gitlab.com/oauth/authorize',
    token_endpoint: 'https://gitlab.com/oauth/token',
    userinfo_endpoint: 'https://gitlab.com/oauth/userinfo',
  },
  google: {
    ...openid,
    ...post,
    authorization_endpoint: 'https://accounts.google.com/o/oauth2/v2/auth',
    token_endpoint: 'https://oauth2.googleapis.com/token',
    userinfo_endpoint: 'https://openidconnect.googleapis.com/v1/userinfo',
  },
  linkedin: {
    ...openid,
    ...post,
    pkce: false,
    authorization_endpoint: 'https://www.linkedin.com/oauth/v2/authorization',
    token_endpoint: 'https://www.linkedin.com/oauth/v2/accessToken',
    userinfo_endpoint: 'https://api.linkedin.com/v2/userinfo',
  },
  microsoft: {
    ...openid,
    ...post,
    authorization_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/authorize',
    token_endpoint: 'https://login.microsoftonline.com/common/oauth2/v2.0/token',
    userinfo_endpoint: 'https://graph.microsoft.com/oidc/userinfo',
  },
  slack: {
    ...openid,
    ...post,
    authorization_endpoint: 'https://slack.com/openid/connect/authorize',
    token_endpoint: 'https://slack.com/api/openid.connect.token',
    userinfo_endpoint: 'https://slack.com/api/openid.connect.userInfo',
  },
}

/** The names that `settings.provider` can have without endpoints. */
export const presetNames: readonly string[] = Object.keys(presets)

/** The preset that `settings.provider` names, in upper or lower case; undefined for any other provider. */
export function presetOf(provider: unknown): OAuth2Provider | undefined {
  const name = String(provider).toLowerCase()
  return Object.hasOwn(presets, name) ? presets[name] : undefined
}
