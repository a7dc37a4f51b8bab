/**
 * Every reach into the library beyond its documented surface. The only room that may import `oidc-provider/lib/*`; each
 * hook has a contract test that fails when the library changes underneath (test/idp/hooks.test.ts).
 */
import type { EventEmitter } from 'node:events'
import Provider from 'oidc-provider'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { newId } from '../../kernel/ids.js'
import { addSessionState } from '../browser-state.js'
import { clientFinder } from '../client.js'
import { compareSecret } from '../client-authentication.js'
import { findLiveToken } from '../endpoints/live-token.js'
import type { Handler } from '../grants/grant.js'
import type { AccessToken, BrowserSession, OpenIdClient } from '../library.js'
import { mayRedirectTo } from '../redirects.js'
import { inScope, scope } from '../scope.js'
import { answerForAll } from './issuers.js'

/**
 * Puts our ways in place of the library's, on the provider's own classes.
 * @param grantTypes the grants that the provider knows
 */
export function installHooks(provider: Provider, grantTypes: readonly string[]): void {
  answerForAll(provider)
  hookClients(provider, grantTypes)
  hookAccessTokens(provider)
  hookIdTokens(provider)
  hookHints(provider)
  hookSessions(provider)
  answerInQueryOnly(provider)
  // The library tells listeners what it is about to answer, and answers what they have made of it.
  ;(provider as unknown as EventEmitter).on('authorization.success', addSessionState)
}

/** Errors about another response mode go out in the query as well (decisions D23). */
function answerInQueryOnly(provider: Provider): void {
  const { responseModes } = instance(provider)
  const query = responseModes.get('query')
  if (!query || !responseModes.has('fragment') || !responseModes.has('form_post')) {
    throw new Error('oidc-provider has other response modes than it had.')
  }
  for (const mode of ['fragment', 'form_post']) responseModes.set(mode, query)
}

function hookClients(provider: Provider, grantTypes: readonly string[]): void {
  const { Client } = provider
  replace(Client, 'find', () => clientFinder(provider, grantTypes))
  const { prototype } = Client
  // Secrets are kept as hashes, two of them for a while after a rotation.
  replace(
    prototype,
    'compareClientSecret',
    () =>
      function (this: OpenIdClient, secret: string) {
        return compareSecret(this, secret)
      },
  )
  // The library varies the port for every native client; spec 4.17 for public ones only.
  replace(
    prototype,
    'redirectUriAllowed',
    () =>
      function (this: OpenIdClient, uri: string) {
        return mayRedirectTo(this, uri)
      },
  )
  // Every token carries its session.
  replace(prototype, 'includeSid', () => () => true)
  // Callbacks were judged at registration, by spec 4.16; the library's rules are others.
  const { Schema } = Client as unknown as { Schema: { prototype: { redirectUris(): void } } }
  replace(Schema.prototype, 'redirectUris', () => () => undefined)
}

/** A browser's sign-in knows the millisecond from which on a change of credentials ends it; a new sign-in has its own. */
function hookSessions({ Session }: Provider): void {
  const { IN_PAYLOAD } = Session as unknown as { IN_PAYLOAD: string[] }
  if (!IN_PAYLOAD.includes('loginTs')) throw new Error('oidc-provider keeps sessions in another way than it did.')
  Object.defineProperty(Session, 'IN_PAYLOAD', { value: [...IN_PAYLOAD, 'since'] })
  replace(
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
    // The original also settles the format of the token.
    replace(
      Model.prototype as unknown as { generateTokenId(): string },
      'generateTokenId',
      (original) =>
        function (this: object) {
          original.call(this)
          return newId('tok', scope().context.now())
        },
    )
  }
  // Access tokens are JWTs and never stored: whether one is good is for resources/sessions/access-token to say.
  replace(
    AccessToken as unknown as { find(value: string): Promise<unknown> },
    'find',
    () => async (value) => findLiveToken(provider, value),
  )
  replace(
    ClientCredentials as unknown as { find(value: string): Promise<unknown> },
    'find',
    () => async () => undefined,
  )
}

/** Values of access tokens by the context they were made in, for the ID token's `at_hash`. */
const accessTokens = new WeakMap<object, string>()

function hookIdTokens({ AccessToken, IdToken }: Provider): void {
  replace(
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
  // OpenID Connect Core 3.1.3.6: the library sets at_hash in the implicit flow only. `issue` hashes what is set here.
  type Issuing = {
    ctx?: object
    set(name: string, value: string): void
    issue(options: { use: string }): Promise<string>
  }
  replace(
    IdToken.prototype as unknown as Issuing,
    'issue',
    (original) =>
      async function (this: Issuing, options) {
        const value = this.ctx && accessTokens.get(this.ctx)
        if (options.use === 'idtoken' && value) this.set('at_hash', value)
        return original.call(this, options)
      },
  )
}

/**
 * A hint may carry any name of the issuer (custom domains); the library knows only the one of the request. Access
 * tokens and logout tokens are signed by the same keys, but no hint of who is signed in (RFC 8725 3.11).
 */
function hookHints(provider: Provider): void {
  type Validating = {
    validate(token: string, client: OpenIdClient): Promise<{ header: { typ?: unknown } }>
  }
  replace(
    provider.IdToken as unknown as Validating,
    'validate',
    (original) =>
      async function (this: Validating, token, client) {
        const current = scope()
        const iss = claimedIssuer(token)
        const named = iss === undefined ? undefined : current.runtime.named(iss)
        const underName = named ? { ...current, runtime: named } : current
        const verified = await inScope(underName, () => original.call(this, token, client))
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

/** The library's own handler of a grant, before ours takes its name. */
export function libraryGrant(provider: Provider, grantType: string): Handler {
  const handler = instance(provider).grantTypeHandlers.get(grantType)
  if (!handler) throw new Error(`The library does not know the grant ${grantType}.`)
  return async (ctx) => handler(ctx)
}

/**
 * Replaces one method.
 * @throws when there is no such method: then the library has changed, and this file must follow
 */
function replace<Target extends object, Name extends keyof Target>(
  target: Target,
  name: Name,
  make: (original: Target[Name]) => Target[Name],
): void {
  const original = target[name]
  if (typeof original !== 'function') throw new Error(`oidc-provider has no ${String(name)} to replace.`)
  Object.defineProperty(target, name, { value: make(original), configurable: true, writable: true })
}
