/**
 * One instance of oidc-provider serves every issuer. The library is built for one issuer: an instance stores the issuer
 * identifier, the keys and the cookie settings. The getters in this file read these values from the request in
 * progress. An instance per issuer would have its own classes, which V8 would compile for each of thousands of issuers
 * (docs/decisions/0042).
 */
import type Provider from 'oidc-provider'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { requestContext } from '../request-context.js'

/**
 * Makes the provider act for the issuer of the request in progress. Outside of a request, the getters throw an error.
 */
export function bindToRequestContext(provider: Provider): void {
  const internals = instance(provider)
  replaceWithGetter(provider, 'issuer', () => requestContext().runtime.url)
  replaceWithGetter(provider, 'keys', () => requestContext().runtime.cookieKeys)
  replaceWithGetter(internals, 'keystore', () => requestContext().runtime.keyStore)
  replaceWithGetter(internals.configuration.cookies.long, 'path', () => requestContext().runtime.parsedUrl.pathname)
}

/** @throws Error if oidc-provider has no such property any more */
function replaceWithGetter(target: object, name: string, read: () => unknown): void {
  if (!Object.hasOwn(target, name))
    throw new Error(`oidc-provider has changed: it has no property ${name}. Update hooks/issuers.ts.`)
  Object.defineProperty(target, name, { get: read, enumerable: true })
}
