/**
 * One provider serves every issuer. oidc-provider is built for one issuer and stores its identifier, keys and cookie
 * settings; here they are read from the request in progress. A provider per issuer would have its own classes, which V8
 * compiles separately for each of thousands of issuers (docs/decisions/0042).
 */
import type Provider from 'oidc-provider'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { requestContext } from '../request-context.js'

/** Makes the provider act for the issuer of the request in progress. Outside of a request it throws. */
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
