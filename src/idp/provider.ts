/** The library's configuration, and nothing else: what it is told to do differently stands in hooks. */
import Provider, { errors } from 'oidc-provider'
import type { Gatehouse } from '../platform/context.js'
import { authMethodKinds } from '../resources/issuers/auth-methods.js'
import { claimsOfScope, findAccount, type Redeemed } from './account.js'
import { adapterFor } from './adapter.js'
import { checkAudience, checkOrganization } from './authorization.js'
import { rowOf } from './client.js'
import { REFUSAL } from './denials.js'
import type { Grant, Handler } from './grants/grant.js'
import { grants } from './grants/index.js'
import { installHooks, libraryGrant } from './hooks/index.js'
import { type AccessToken, type OpenIdContext, param } from './library.js'
import { spendTokenLimit } from './limits.js'
import { acrOfMethod } from './login/acr.js'
import { errorPage } from './login/pages/error.js'
import { originAllowed } from './origins.js'
import { redirectRefusal } from './redirects.js'
import { scope } from './scope.js'
import { grantFor, signInPolicy } from './sign-on.js'
import { defaultResource, lifetimes, openidScopes, resourceServer, shapeAccessToken } from './tokens.js'

export type OpenIdProvider = Provider

const notThere: Handler = async () => {
  throw new Error('The library has no such grant.')
}

/**
 * Spec 4.17: a selected organization is part of the grant, not of a request for tokens but for an exchange. An empty one
 * is none (RFC 6749 3.2). Here the client is known, so that its scripts may read the refusal.
 * @throws InvalidRequest
 */
function refuseOrganization(ctx: OpenIdContext, { parameters }: Grant): void {
  if (!parameters.includes('org') && (ctx.oidc.body?.['org'] ?? '') !== '')
    throw new errors.InvalidRequest('org cannot be sent to the token endpoint')
}

/** Cookies of an issuer: signed with a key of its own, seen by its own paths only (security rule 10). */
export const cookieNames = {
  session: 'gatehouse_session',
  interaction: 'gatehouse_sign_in',
  resume: 'gatehouse_resume',
}

/** What an issuer signs with, as far as the library wants to know it beforehand; the keys come with each request. */
const members = Object.fromEntries(
  ['x', 'y', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'].map((name) => [name, 'of the issuer']),
)
const algorithms = [
  { kid: 'ES256', alg: 'ES256', kty: 'EC', crv: 'P-256', ...members },
  { kid: 'EdDSA', alg: 'EdDSA', kty: 'OKP', crv: 'Ed25519', ...members },
  { kid: 'RS256', alg: 'RS256', kty: 'RSA', ...members },
]

/** Makes the provider of a process, which answers for the issuer of whatever request is in progress (hooks/issuers.ts). */
export function makeProvider({ config }: Gatehouse): OpenIdProvider {
  const policy = signInPolicy()
  const off = { enabled: false }
  const provider = new Provider(config.idpUrl, {
    adapter: adapterFor,
    jwks: { keys: algorithms },
    cookies: {
      names: cookieNames,
      keys: ['of the issuer'],
      long: { signed: true, httpOnly: true, sameSite: 'lax', path: 'of the issuer' },
      short: { signed: true, httpOnly: true, sameSite: 'lax' },
    },
    routes: {
      authorization: '/authorize',
      token: '/token',
      userinfo: '/userinfo',
      introspection: '/introspect',
      revocation: '/revoke',
      jwks: '/jwks.json',
      end_session: '/logout',
    },

    responseTypes: ['code'],
    scopes: openidScopes,
    claims: {
      openid: ['sub', 'auth_time', 'acr', 'amr', 'sid', 'organizations', 'org_id'],
      ...claimsOfScope,
      acr: null,
      auth_time: null,
      iss: null,
      sid: null,
    },
    acrValues: ['urn:svc:assurance:loa1', ...authMethodKinds.map(acrOfMethod)],
    subjectTypes: ['public'],
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'none'],
    clientDefaults: {
      grant_types: [],
      response_types: [],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256', 'EdDSA'] },
    allowOmittingSingleRegisteredRedirectUri: false,
    clockTolerance: 0,

    features: {
      devInteractions: off,
      pushedAuthorizationRequests: off,
      dPoP: off,
      rpInitiatedLogout: off,
      backchannelLogout: off,
      clientCredentials: { enabled: true },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      introspection: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: (ctx, client, granted) => defaultResource(ctx, client, granted),
        getResourceServerInfo: (_, indicator, client) => resourceServer(client, indicator),
        useGrantedResource: () => true,
      },
    },

    pkce: { required: (_, client) => client.tokenEndpointAuthMethod === 'none' },
    extraParams: {
      audience: checkAudience,
      org: (_, org, client) => (org === undefined ? undefined : checkOrganization(client, org)),
    },
    interactions: { policy, url: (_, { uid }) => `${scope().runtime.address.pathname}/interaction/${uid}` },
    loadExistingGrant: (ctx) => grantFor(ctx, policy),
    findAccount: (ctx, sub, token) => findAccount(sub, token as Redeemed | undefined, ctx.oidc.client),

    // The session's row says whether its tokens live; the browser's sign-in may end before or after.
    expiresWithSession: () => false,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    rotateRefreshToken: true,
    // A family ends with its session, and the grant with it.
    revokeGrantPolicy: () => false,
    ttl: lifetimes,
    formats: {
      customizers: {
        jwt: (ctx, token, jwt) =>
          shapeAccessToken(ctx, token as AccessToken, jwt as { payload: Record<string, unknown> }),
      },
    },

    clientBasedCORS: (_, origin, client) => originAllowed(scope().runtime.issuer.settings, rowOf(client), origin),
    renderError: (ctx, out) => {
      const refusal =
        out.error === 'invalid_redirect_uri' ? redirectRefusal(ctx.oidc.client, param(ctx, 'redirect_uri')) : undefined
      errorPage(ctx, scope().runtime, refusal === undefined ? out : { ...out, error_description: refusal })
    },
    // Nothing that clients register makes this server call anybody.
    fetch: async () => {
      throw new errors.InvalidRequest('outgoing requests are not made')
    },
  })
  provider.proxy = true

  for (const [type, grant] of Object.entries(grants)) {
    const own = grant.ours ? notThere : libraryGrant(provider, type)
    const handle: Handler = async (ctx) => {
      await spendTokenLimit(ctx)
      refuseOrganization(ctx, grant)
      await grant.handle(ctx, own)
    }
    provider.registerGrantType(type, handle, grant.parameters, grant.repeatable)
  }
  installHooks(provider, Object.keys(grants))
  // What the library could not deal with is for our own edge to answer and to log.
  provider.on('server_error', (ctx, error) => {
    ctx.state['failure'] = error
  })
  const refused = (ctx: OpenIdContext, error: unknown): void => {
    ctx.state[REFUSAL] = error
  }
  provider.on('grant.error', refused)
  provider.on('introspection.error', refused)
  provider.on('revocation.error', refused)
  provider.on('authorization.error', refused)
  return provider
}
