/**
 * All changes to oidc-provider beyond its documented API. Only this folder may import `oidc-provider/lib/*`. Each hook
 * has a contract test that fails if the library changes (test/idp/library-hooks.test.ts).
 */
import type { EventEmitter } from 'node:events'
import Provider from 'oidc-provider'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { newId } from '../../kernel/ids.js'
import { compareClientSecret } from '../client/authentication.js'
import { createClientFinder } from '../client/client.js'
import { isRegisteredRedirectUri } from '../client/redirect-uris.js'
import { findLiveToken } from '../endpoints/live-token.js'
import type { TokenRequestHandler } from '../grants/grant.js'
import { sendFormPost } from '../login/pages/form-post.js'
import type { AccessToken, BrowserSession, OpenIdClient, OpenIdContext, RefreshToken } from '../provider-types.js'
import { requestContext, runInRequestContext, withRequest } from '../request-context.js'
import { addSessionState } from '../session/browser-state.js'
import { asksForFormPost } from '../session/request-object.js'
import { customClaimsKey } from '../token/custom-claims.js'
import { bindRefreshToken, createReplayDetection } from './dpop.js'
import { bindToRequestContext } from './issuers.js'

/**
 * Installs the hooks of this folder in an instance of oidc-provider.
 * @param grantTypes the supported values of `grant_type`
 */
export function installHooks(provider: Provider, grantTypes: readonly string[]): void {
  bindToRequestContext(provider)
  hookClients(provider, grantTypes)
  hookAccessTokens(provider)
  hookIdTokens(provider)
  addCustomClaims(provider)
  hookIdTokenHints(provider)
  hookSessions(provider)
  hookGrants(provider)
  hookProofs(provider)
  replaceResponseModes(provider)
  // oidc-provider emits this event before it sends the authorization response, so the listener can add `session_state`.
  ;(provider as unknown as EventEmitter).on('authorization.success', withRequest(addSessionState))
}

type ResponseMode = (ctx: OpenIdContext, redirectUri: string, parameters: Record<string, unknown>) => unknown

/**
 * Sends authorization responses as a form or in the query. `checkResponseModeAndScope` rejects the response mode
 * `fragment`, and the error is sent in the query (docs/contract.md#authorization-requests).
 */
function replaceResponseModes(provider: Provider): void {
  const { responseModes } = instance(provider)
  const query = responseModes.get('query')
  if (!query || !responseModes.has('fragment') || !responseModes.has('form_post'))
    throw new Error('oidc-provider has changed: it lacks an expected response mode. Update hooks/index.ts.')
  const form: ResponseMode = withRequest(sendFormPost)
  const queryOrForm: ResponseMode = (ctx, ...response) =>
    (asksForFormPost(ctx) ? form : (query as ResponseMode))(ctx, ...response)
  responseModes.set('query', queryOrForm)
  responseModes.set('fragment', queryOrForm)
  responseModes.set('form_post', form)
}

function hookClients(provider: Provider, grantTypes: readonly string[]): void {
  const { Client } = provider
  replaceMethod(Client, 'find', () => withRequest(createClientFinder(provider, grantTypes)))
  const { prototype } = Client
  // Only hashes of client secrets are stored, and the old secret stays valid for a while after a rotation.
  replaceMethod(
    prototype,
    'compareClientSecret',
    () =>
      function (this: OpenIdClient, secret: string) {
        return compareClientSecret(requestContext(), this, secret)
      },
  )
  // oidc-provider lets every native client vary the port of a loopback URI. docs/contract.md#redirect-uri-matching
  // allows this only for public native clients.
  replaceMethod(
    prototype,
    'redirectUriAllowed',
    () =>
      function (this: OpenIdClient, uri: string) {
        return isRegisteredRedirectUri(this, uri)
      },
  )
  // Every token of a sign-in has a `sid`. oidc-provider would set it only for clients with back-channel logout.
  replaceMethod(prototype, 'includeSid', () => () => true)
  // Redirect URIs are validated at registration (docs/contract.md#redirect-uri-registration). oidc-provider has other
  // rules, so its validation is skipped.
  const { Schema } = Client as unknown as { Schema: { prototype: { redirectUris(): void } } }
  replaceMethod(Schema.prototype, 'redirectUris', () => () => undefined)
}

/**
 * Stores `since` in the browser session: a credential change at or after this time (Unix milliseconds) ends the sign-in
 * of the browser. A new sign-in clears `since`.
 */
function hookSessions({ Session }: Provider): void {
  const { IN_PAYLOAD } = Session as unknown as { IN_PAYLOAD: string[] }
  if (!IN_PAYLOAD.includes('loginTs'))
    throw new Error('oidc-provider has changed: sessions have no loginTs. Update hooks/index.ts.')
  Object.defineProperty(Session, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, 'since'] })
  replaceMethod(
    Session.prototype as unknown as { loginAccount(details: object): void },
    'loginAccount',
    (original) =>
      function (this: BrowserSession, details) {
        original.call(this, details)
        this.since = undefined
      },
  )
}

/** Stores `redirectTargets` in the grant: the redirect targets to which the user has consented. */
function hookGrants({ Grant }: Provider): void {
  const { IN_PAYLOAD } = Grant as unknown as { IN_PAYLOAD: string[] }
  if (!IN_PAYLOAD.includes('resources'))
    throw new Error('oidc-provider has changed: grants have no resources. Update hooks/index.ts.')
  Object.defineProperty(Grant, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, 'redirectTargets'] })
}

function hookProofs(provider: Provider): void {
  const { RefreshToken, ReplayDetection } = provider
  replaceMethod(
    ReplayDetection as unknown as { unique(sender: string, jti: string, expiresAt: number): Promise<boolean> },
    'unique',
    (original) => withRequest(createReplayDetection(original.bind(ReplayDetection))),
  )
  replaceMethod(
    RefreshToken.prototype as unknown as { save(lifetime?: number): Promise<string> },
    'save',
    (original) =>
      async function (this: RefreshToken, lifetime) {
        await bindRefreshToken(this)
        return original.call(this, lifetime)
      },
  )
}

function hookAccessTokens(provider: Provider): void {
  const { AccessToken, ClientCredentials } = provider
  for (const Model of [AccessToken, ClientCredentials]) {
    // The original method also sets the token format, so it must be called.
    replaceMethod(
      Model.prototype as unknown as { generateTokenId(): string },
      'generateTokenId',
      (original) =>
        function (this: object) {
          original.call(this)
          return newId('tok', requestContext().context.now())
        },
    )
  }
  // Access tokens are JWTs, which are verified by resources/sessions/access-token.ts and not stored. `AccessToken.find`
  // also finds tokens of the client credentials grant, so `ClientCredentials.find` never finds one.
  replaceMethod(
    AccessToken as unknown as { find(value: string): Promise<unknown> },
    'find',
    () => async (value) => findLiveToken(requestContext(), provider, value),
  )
  replaceMethod(
    ClientCredentials as unknown as { find(value: string): Promise<unknown> },
    'find',
    () => async () => undefined,
  )
}

/** Access token values by Koa context, for `at_hash` of the ID token. */
const accessTokens = new WeakMap<object, string>()

function hookIdTokens({ AccessToken, IdToken }: Provider): void {
  replaceMethod(
    AccessToken.prototype as unknown as { save(): Promise<string> },
    'save',
    (original) =>
      async function (this: AccessToken) {
        const value = await original.call(this)
        const { ctx } = Provider
        if (ctx) accessTokens.set(ctx, value)
        return value
      },
  )
  // `at_hash` (OpenID Connect Core 1.0 section 3.1.3.6): oidc-provider sets it only in the implicit flow. `issue`
  // replaces the access token that is set here as `at_hash` by its hash.
  type IssuableIdToken = {
    ctx?: object
    set(name: string, value: string): void
    issue(options: { use: string }): Promise<string>
  }
  replaceMethod(
    IdToken.prototype as unknown as IssuableIdToken,
    'issue',
    (original) =>
      async function (this: IssuableIdToken, options) {
        const value = this.ctx && accessTokens.get(this.ctx)
        if (options.use === 'idtoken' && value) this.set('at_hash', value)
        return original.call(this, options)
      },
  )
}

/**
 * Adds the custom claims of the account to ID tokens and userinfo responses. oidc-provider returns only claims that its
 * configuration names, which is the same for all issuers.
 */
function addCustomClaims(provider: Provider): void {
  type ClaimSelection = {
    available: { [customClaimsKey]?: Record<string, unknown> }
    result(): Promise<Record<string, unknown>>
  }
  const { Claims } = provider as unknown as { Claims: { prototype: ClaimSelection } }
  replaceMethod(
    Claims.prototype,
    'result',
    (original) =>
      async function (this: ClaimSelection) {
        return { ...this.available[customClaimsKey], ...(await original.call(this)) }
      },
  )
}

/**
 * `iss` of an `id_token_hint` may be any issuer identifier of the issuer, including those of custom domains.
 * oidc-provider accepts only the identifier of the current request. Access tokens and logout tokens have signatures of
 * the same keys as ID tokens, so they are rejected by `typ` (RFC 8725 section 3.11).
 */
function hookIdTokenHints(provider: Provider): void {
  type IdTokenValidator = {
    validate(token: string, client: OpenIdClient): Promise<{ header: { typ?: unknown } }>
  }
  replaceMethod(
    provider.IdToken as unknown as IdTokenValidator,
    'validate',
    (original) =>
      async function (this: IdTokenValidator, token, client) {
        const request = requestContext()
        const iss = claimedIssuer(token)
        const hintRuntime = iss === undefined ? undefined : request.runtime.withUrl(iss)
        const hintContext = hintRuntime ? { ...request, runtime: hintRuntime } : request
        const verified = await runInRequestContext(hintContext, () => original.call(this, token, client))
        const { typ } = verified.header
        if (typ !== undefined && typ !== 'JWT') throw new Error('id_token_hint is not an ID token')
        return verified
      },
  )
}

function claimedIssuer(token: string): string | undefined {
  try {
    const { iss } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as { iss?: unknown }
    return typeof iss === 'string' ? iss : undefined
  } catch {
    return undefined
  }
}

/**
 * Returns oidc-provider's own handler of a grant type. Must be called before `registerGrantType` replaces that handler.
 * @throws Error if oidc-provider has no handler for the grant type
 */
export function libraryGrantHandler(provider: Provider, grantType: string): TokenRequestHandler {
  const handler = instance(provider).grantTypeHandlers.get(grantType)
  if (!handler) throw new Error(`oidc-provider has no handler for the grant type ${grantType}.`)
  return async (ctx) => handler(ctx)
}

/**
 * Replaces a method of an object.
 * @throws Error if oidc-provider has no such method any more
 */
function replaceMethod<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  createReplacement: (original: Target[Name]) => Target[Name],
): void {
  const original = target[name]
  if (typeof original !== 'function')
    throw new Error(`oidc-provider has changed: it has no method ${String(name)}. Update hooks/index.ts.`)
  Object.defineProperty(target, name, { value: createReplacement(original), configurable: true, writable: true })
}
