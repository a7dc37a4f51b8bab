/**
 * Libraries and products with which a client works, and the settings that each of them needs without configuration of
 * its own.
 */
import type { ApplicationTypeName } from './application-types'

export type SigningAlgorithm = 'ES256' | 'RS256' | 'EdDSA'

export interface Integration {
  name: string
  label: string
  applicationType: ApplicationTypeName
  /** The algorithm that a new client gets. */
  algorithm: SigningAlgorithm
  /** All algorithms that work with the defaults of the library. */
  acceptedAlgorithms: readonly SigningAlgorithm[]
  /** A typical redirect URI. */
  exampleRedirectUri: string
  /** Why the client has these settings, in one sentence. */
  reason: string
}

/** Name of the entry for applications that are not in the table. */
export const OTHER = 'other'

const both: readonly SigningAlgorithm[] = ['ES256', 'RS256']

export const integrations: readonly Integration[] = [
  {
    name: 'spring-security',
    label: 'Spring Security',
    applicationType: 'web',
    algorithm: 'RS256',
    acceptedAlgorithms: ['RS256'],
    exampleRedirectUri: 'http://localhost:8080/login/oauth2/code/gatehouse',
    reason: 'Spring Security accepts only ID tokens with RS256, unless the application sets a decoder of its own.',
  },
  {
    name: 'aspnet-core',
    label: 'ASP.NET Core',
    applicationType: 'web',
    algorithm: 'ES256',
    acceptedAlgorithms: both,
    exampleRedirectUri: 'https://localhost:5001/signin-oidc',
    reason: 'ASP.NET Core verifies ES256 and RS256, but not EdDSA. Its redirect URI ends with /signin-oidc.',
  },
  {
    name: 'authjs',
    label: 'Auth.js / Next.js',
    applicationType: 'web',
    algorithm: 'RS256',
    acceptedAlgorithms: ['RS256'],
    exampleRedirectUri: 'http://localhost:3000/api/auth/callback/gatehouse',
    reason: 'NextAuth.js v4 accepts only RS256 by default. Auth.js v5 accepts RS256 as well.',
  },
  {
    name: 'oauth2-proxy',
    label: 'oauth2-proxy',
    applicationType: 'web',
    algorithm: 'ES256',
    acceptedAlgorithms: both,
    exampleRedirectUri: 'https://app.example.com/oauth2/callback',
    reason: 'oauth2-proxy accepts the algorithms of the discovery document. Its users need a verified email address.',
  },
  {
    name: 'mod-auth-openidc',
    label: 'mod_auth_openidc',
    applicationType: 'web',
    algorithm: 'ES256',
    acceptedAlgorithms: both,
    exampleRedirectUri: 'https://app.example.com/secure/redirect_uri',
    reason:
      'mod_auth_openidc accepts the algorithms of the discovery document. The redirect URI is its OIDCRedirectURI.',
  },
  {
    name: 'authlib',
    label: 'Authlib',
    applicationType: 'web',
    algorithm: 'ES256',
    acceptedAlgorithms: both,
    exampleRedirectUri: 'http://localhost:5000/authorize',
    reason: 'Authlib accepts the algorithms of the discovery document.',
  },
  {
    name: 'go-oidc',
    label: 'go-oidc',
    applicationType: 'web',
    algorithm: 'ES256',
    acceptedAlgorithms: ['ES256', 'RS256', 'EdDSA'],
    exampleRedirectUri: 'http://127.0.0.1:5556/callback',
    reason: 'go-oidc accepts the algorithms of the discovery document.',
  },
  {
    name: 'openid-client',
    label: 'openid-client',
    applicationType: 'web',
    algorithm: 'RS256',
    acceptedAlgorithms: ['RS256'],
    exampleRedirectUri: 'http://localhost:3000/callback',
    reason: 'openid-client v5 accepts only RS256 by default. Version 6 accepts RS256 as well.',
  },
  {
    name: 'oidc-client-ts',
    label: 'oidc-client-ts',
    applicationType: 'spa',
    algorithm: 'ES256',
    acceptedAlgorithms: ['ES256', 'RS256', 'EdDSA'],
    exampleRedirectUri: 'http://localhost:5173/callback',
    reason: 'oidc-client-ts runs in the browser, so the client is public. It works with each algorithm.',
  },
  {
    name: 'kubernetes',
    label: 'Kubernetes',
    applicationType: 'native',
    algorithm: 'RS256',
    acceptedAlgorithms: ['RS256'],
    exampleRedirectUri: 'http://localhost:8000',
    reason:
      'The API server accepts only RS256, unless --oidc-signing-algs lists others. kubectl signs in as a native app.',
  },
]

/** Why a client for another application gets RS256. */
export const otherReason =
  'RS256 works everywhere: each OpenID Connect client must support it (OpenID Connect Core, section 15.1).'

/** The help text of the signing algorithm: which of the integrations need RS256. */
export const algorithmHint = `${new Intl.ListFormat('en').format(
  integrations.filter(({ acceptedAlgorithms }) => acceptedAlgorithms.length === 1).map(({ label }) => label),
)} need RS256, unless they are configured for another algorithm. ES256 makes shorter tokens. Few libraries support EdDSA.`

export const integrationOptions = [
  ...integrations.map(({ name, label }) => ({ value: name, label })),
  { value: OTHER, label: 'Other, or not sure' },
]

export const findIntegration = (name: string): Integration | undefined => integrations.find((one) => one.name === name)
