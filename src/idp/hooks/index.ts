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
import type { AccessToken, BrowserSession, OpenIdClient } from '../provider-types.js'
import { requestContext, runInRequestContext, withRequest } from '../request-context.js'
import { addSessionState } from '../session/browser-state.js'
import { bindToRequestContext } from './issuers.js'

/**
 * Replaces methods of the provider's own classes.
 * @param grantTypes the grant types of the provider
 */
export function installHooks(provider: Provider, grantTypes: readonly string[]): void {
  bindToRequestContext(provider)
  hookClients(provider, grantTypes)
  hookAccessTokens(provider)
  hookIdTokens(provider)
  hookIdTokenHints(provider)
  hookSessions(provider)
  allowQueryResponseModeOnly(provider)
  // Listeners can change the authorization response before it is sent.
  ;(provider as unknown as EventEmitter).on('authorization.success', withRequest(addSessionState))
}

/**
 * Supports only the response mode `query`. Errors of requests for another mode are returned in the query, too
 * (docs/contract.md#authorization-requests).
 */
function allowQueryResponseModeOnly(provider: Provider): void {
  const { responseModes } = instance(provider)
  const query = responseModes.get('query')
  if (!query || !responseModes.has('fragment') || !responseModes.has('form_post')) {
    throw new Error('oidc-provider has changed: it lacks an expected response mode. Update hooks/index.ts.')
  }
  for (const mode of ['fragment', 'form_post']) responseModes.set(mode, query)
}

function hookClients(provider: Provider, grantTypes: readonly string[]): void {
  const { Client } = provider
  replaceMethod(Client, 'find', () => withRequest(createClientFinder(provider, grantTypes)))
  const { prototype } = Client
  // Secrets are stored as hashes, and two of them are valid for a while after a rotation.
  replaceMethod(
    prototype,
    'compareClientSecret',
    () =>
      function (this: OpenIdClient, secret: string) {
        return compareClientSecret(requestContext(), this, secret)
      },
  )
  // oidc-provider lets every native client vary the port, docs/contract.md#redirect-uri-matching only public ones.
  replaceMethod(
    prototype,
    'redirectUriAllowed',
    () =>
      function (this: OpenIdClient, uri: string) {
        return isRegisteredRedirectUri(this, uri)
      },
  )
  // Every token has a `sid`.
  replaceMethod(prototype, 'includeSid', () => () => true)
  // Redirect URIs are validated at registration (docs/contract.md#redirect-uri-registration); oidc-provider's rules
  // differ.
  const { Schema } = Client as unknown as { Schema: { prototype: { redirectUris(): void } } }
  replaceMethod(Schema.prototype, 'redirectUris', () => () => undefined)
}

/**
 * Stores the millisecond from which a credential change ends the browser's sign-in; a new sign-in starts without one.
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

function hookAccessTokens(provider: Provider): void {
  const { AccessToken, ClientCredentials } = provider
  for (const Model of [AccessToken, ClientCredentials]) {
    // The original also determines the token format.
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
  // Access tokens are JWTs and not stored; resources/sessions/access-token.ts verifies them.
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

/** Access token values by request context, for `at_hash` of the ID token. */
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
  // OpenID Connect Core 1.0 section 3.1.3.6: oidc-provider sets at_hash in the implicit flow only. `issue` hashes this
  // value.
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
 * A hint can carry any issuer identifier of the issuer (custom domains); oidc-provider accepts only that of the
 * request. Access tokens and logout tokens are signed with the same keys, but are not accepted as a hint (RFC 8725
 * section 3.11).
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
        if (typ !== undefined && typ !== 'JWT') throw new Error('not an ID token')
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

/** Returns oidc-provider's own handler of a grant, before ours replaces it. */
export function libraryGrantHandler(provider: Provider, grantType: string): TokenRequestHandler {
  const handler = instance(provider).grantTypeHandlers.get(grantType)
  if (!handler) throw new Error(`oidc-provider has no handler for the grant type ${grantType}.`)
  return async (ctx) => handler(ctx)
}

/**
 * Replaces one method.
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
