/**
 * The configuration of oidc-provider. Changes beyond its documented options are in hooks/, and corrections of its
 * responses in responses.ts.
 */
import Provider, { errors } from 'oidc-provider'
import type { Gatehouse } from '../platform/context.js'
import { dpopAlgorithms } from '../platform/crypto/dpop.js'
import { isFapi2 } from '../resources/issuers/settings.js'
import { findAccount, type PresentedToken } from './account/account.js'
import { claimsByScope } from './account/claims-by-scope.js'
import { clientRowOf } from './client/client.js'
import { isOriginAllowed } from './client/cors.js'
import { redirectUriRefusalReason } from './client/redirect-uris.js'
import { requireSecurityProfile } from './client/security-profile.js'
import { DENIED_ERROR } from './denials.js'
import type { GrantType, TokenRequestHandler } from './grants/grant.js'
import { grantTypes } from './grants/index.js'
import { installHooks, libraryGrantHandler } from './hooks/index.js'
import { acrValuesSupported } from './login/acr.js'
import { errorPage } from './login/pages/error.js'
import type { OpenIdProvider } from './provider-types.js'
import { type AccessToken, type OpenIdContext, textParameter } from './provider-types.js'
import { consumeTokenRateLimit } from './rate-limits.js'
import { withRequest } from './request-context.js'
import { checkOrganization, checkResponseModeAndScope } from './session/authorization-parameters.js'
import { checkClaimsParameter } from './session/claims-parameter.js'
import { loadExistingGrant } from './session/existing-grant.js'
import { signInPolicy } from './session/sign-in-policy.js'
import { createAdapter } from './store/adapter.js'
import { requireProofHeader } from './token/proof.js'
import {
  defaultResource,
  OFFLINE_ACCESS,
  openidScopes,
  resourceServerFor,
  setAccessTokenClaims,
  tokenLifetimes,
} from './token/tokens.js'

const missingLibraryGrant: TokenRequestHandler = async () => {
  throw new Error(
    'A grant with `custom: true` must not call `libraryHandler`: oidc-provider has no handler for its grant type.',
  )
}

/**
 * Rejects the parameter `org` at the token endpoint unless the grant type has it: an organization is selected at the
 * authorization endpoint (docs/contract.md#grant-and-client-rules rule 6). An empty value counts as absent (RFC 6749
 * section 3.2). Must be called after client authentication, so that the error response has the client's CORS headers.
 * @throws InvalidRequest
 */
function requireNoOrgParameter(ctx: OpenIdContext, { parameters }: GrantType): void {
  if (!parameters.includes('org') && (ctx.oidc.body?.['org'] ?? '') !== '')
    throw new errors.InvalidRequest('org is not allowed at the token endpoint; send it with the authorization request')
}

/**
 * Names of oidc-provider's cookies. They are signed with the issuer's key, and their `Path` is the path of the issuer's
 * URL or below it (docs/contract.md#caches-and-cookies-per-tenant).
 */
export const cookieNames = {
  session: 'gatehouse_session',
  interaction: 'gatehouse_sign_in',
  resume: 'gatehouse_resume',
}

/**
 * Members of placeholder keys. oidc-provider needs one key of each signing algorithm at startup, and no key material:
 * each request uses the keys of its issuer (hooks/issuers.ts).
 */
const placeholderMembers = Object.fromEntries(
  ['x', 'y', 'n', 'e', 'd', 'p', 'q', 'dp', 'dq', 'qi'].map((name) => [name, 'of the issuer']),
)
const placeholderKeys = [
  { kid: 'ES256', alg: 'ES256', kty: 'EC', crv: 'P-256', ...placeholderMembers },
  { kid: 'EdDSA', alg: 'EdDSA', kty: 'OKP', crv: 'Ed25519', ...placeholderMembers },
  { kid: 'RS256', alg: 'RS256', kty: 'RSA', ...placeholderMembers },
]

/**
 * Creates the oidc-provider instance of a process. It acts for the issuer of the request in progress
 * (hooks/issuers.ts).
 */
export function createProvider({ config }: Gatehouse): OpenIdProvider {
  const policy = signInPolicy()
  const disabled = { enabled: false }
  const provider = new Provider(config.idpUrl, {
    adapter: createAdapter,
    jwks: { keys: placeholderKeys },
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
      pushed_authorization_request: '/par',
    },

    responseTypes: ['code'],
    scopes: [...openidScopes, OFFLINE_ACCESS],
    claims: {
      openid: ['sub', 'auth_time', 'acr', 'amr', 'sid', 'organizations', 'org_id'],
      ...Object.fromEntries(Object.entries(claimsByScope).map(([scope, claims]) => [scope, [...claims]])),
      acr: null,
      auth_time: null,
      iss: null,
      sid: null,
    },
    acrValues: [...acrValuesSupported],
    subjectTypes: ['public'],
    // oidc-provider reads the parameters of `private_key_jwt` to refuse a request with two methods. No client of
    // oidc-provider has this method: client/assertions verifies the assertions.
    clientAuthMethods: ['client_secret_basic', 'client_secret_post', 'private_key_jwt', 'none'],
    clientDefaults: {
      grant_types: [],
      response_types: [],
      token_endpoint_auth_method: 'none',
      id_token_signed_response_alg: 'ES256',
    },
    enabledJWA: { idTokenSigningAlgValues: ['ES256', 'RS256', 'EdDSA'], dPoPSigningAlgValues: [...dpopAlgorithms] },
    allowOmittingSingleRegisteredRedirectUri: false,
    clockTolerance: 0,

    features: {
      devInteractions: disabled,
      claimsParameter: {
        enabled: true,
        assertClaimsParameter: (ctx, claims) => checkClaimsParameter(ctx, claims),
      },
      pushedAuthorizationRequests: { enabled: true },
      // Proofs are single use, so this server requires no nonces (RFC 9449 section 8).
      dPoP: { enabled: true },
      rpInitiatedLogout: disabled,
      backchannelLogout: disabled,
      clientCredentials: { enabled: true },
      externalSigningSupport: { enabled: true, ack: 'experimental-01' },
      introspection: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      revocation: { enabled: true, allowedPolicy: (_, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        defaultResource: (ctx, client, granted) => defaultResource(ctx, client, granted),
        getResourceServerInfo: withRequest((request, _, indicator, client) =>
          resourceServerFor(request, client, indicator),
        ),
        useGrantedResource: () => true,
      },
    },

    pkce: {
      required: withRequest(
        ({ runtime }, _, client) => client.tokenEndpointAuthMethod === 'none' || isFapi2(runtime.issuer.settings),
      ),
    },
    extraParams: {
      audience: withRequest(checkResponseModeAndScope),
      org: withRequest((request, _, org, client) =>
        org === undefined ? undefined : checkOrganization(request, client, org),
      ),
    },
    interactions: {
      policy,
      url: withRequest(({ runtime }, _, { uid }) => `${runtime.parsedUrl.pathname}/interaction/${uid}`),
    },
    loadExistingGrant: withRequest((request, ctx) => loadExistingGrant(request, ctx, policy)),
    findAccount: withRequest((request, ctx, sub, token) =>
      findAccount(request, sub, token as PresentedToken | undefined, ctx.oidc.client),
    ),

    // Tokens end with their row in the table `sessions`, not with oidc-provider's browser session.
    expiresWithSession: () => false,
    issueRefreshToken: (_, client) => client.grantTypeAllowed('refresh_token'),
    // FAPI 2.0 Security Profile section 5.3.2.1: refresh tokens are bound to the client and not rotated.
    rotateRefreshToken: withRequest(({ runtime }) => !isFapi2(runtime.issuer.settings)),
    // oidc-provider must not delete the grant of a revoked token: `revokeTokenFamily` ends the session, and with it the
    // grant.
    revokeGrantPolicy: () => false,
    ttl: tokenLifetimes,
    formats: {
      customizers: {
        jwt: withRequest((request, ctx, token, jwt) =>
          setAccessTokenClaims(request, ctx, token as AccessToken, jwt as { payload: Record<string, unknown> }),
        ),
      },
    },

    clientBasedCORS: withRequest(({ runtime }, _, origin, client) =>
      isOriginAllowed(runtime.issuer.settings, clientRowOf(client), origin),
    ),
    renderError: withRequest((request, ctx, out) => {
      const refusalReason =
        out.error === 'invalid_redirect_uri'
          ? redirectUriRefusalReason(request, ctx.oidc.client, textParameter(ctx, 'redirect_uri'))
          : undefined
      errorPage(ctx, request.runtime, refusalReason === undefined ? out : { ...out, error_description: refusalReason })
    }),
    // URLs in client metadata must not cause requests from this server.
    fetch: async () => {
      throw new errors.InvalidRequest('the server does not fetch URLs of clients')
    },
  })
  provider.proxy = true

  for (const [type, grant] of Object.entries(grantTypes)) {
    const libraryHandler = grant.custom ? missingLibraryGrant : libraryGrantHandler(provider, type)
    const handle: TokenRequestHandler = withRequest(async (request, ctx) => {
      await consumeTokenRateLimit(request, ctx)
      requireNoOrgParameter(ctx, grant)
      requireSecurityProfile(request, ctx)
      requireProofHeader(request, ctx)
      await grant.handle(request, ctx, libraryHandler)
    })
    provider.registerGrantType(type, handle, grant.parameters, grant.repeatable)
  }
  installHooks(provider, Object.keys(grantTypes))
  // `runProvider` in index.ts throws this error, so that it is logged and answered like other unexpected errors.
  provider.on('server_error', (ctx, error) => {
    ctx.state['failure'] = error
  })
  const recordDeniedError = (ctx: OpenIdContext, error: unknown): void => {
    ctx.state[DENIED_ERROR] = error
  }
  provider.on('grant.error', recordDeniedError)
  provider.on('introspection.error', recordDeniedError)
  provider.on('revocation.error', recordDeniedError)
  provider.on('authorization.error', recordDeniedError)
  provider.on('pushed_authorization_request.error', recordDeniedError)
  return provider
}
