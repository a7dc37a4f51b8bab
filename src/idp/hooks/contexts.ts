/**
 * Replaces middleware of oidc-provider in its routes: that which creates `ctx.oidc`, parses forms and checks the scope
 * of authorization requests. oidc-provider defines `ctx.oidc`
 * as a getter of each Koa context. V8 stores getters in the old generation, where each getter retains the memory of its
 * request until a major garbage collection. A plain property is collected with the request. Client credentials per CPU
 * second are 1.06 times those of a plain oidc-provider with this module, and 0.78 times without (docs/measurements.md).
 */
import type Provider from 'oidc-provider'
import { checkScope } from 'oidc-provider/lib/actions/authorization/scopes.js'
import als from 'oidc-provider/lib/helpers/als.js'
import Router, { type Middleware } from 'oidc-provider/lib/helpers/router.js'
import { urlencoded } from 'oidc-provider/lib/shared/selective_body.js'
import type { OpenIdContext } from '../provider-types.js'
import { requestContext } from '../request-context.js'
import type { Form } from '../request-input.js'
import { checkRequestParameters, requestsOfflineAccess } from '../session/authorization-parameters.js'

const providerKey = Symbol('provider')

/** Sets the provider that handles the request. Without a provider, oidc-provider's own `ensureOIDC` runs. */
export function setProvider(ctx: OpenIdContext, provider: Provider): void {
  Object.assign(ctx, { [providerKey]: provider })
}

/** Replaces oidc-provider's `ensureOIDC`, the first middleware of every route. */
const createOidcContextMiddleware =
  (original: Middleware): Middleware =>
  (ctx, next) => {
    const provider = (ctx as { [providerKey]?: Provider })[providerKey]
    if (!provider) return original(ctx, next)
    Object.assign(ctx, { oidc: new provider.OIDCContext(ctx) })
    return als.run(ctx, next)
  }

const formKey = Symbol('form')

/**
 * Passes a parsed form to oidc-provider, so that it reads the parameters that were checked
 * (docs/contract.md#one-parser-per-input). oidc-provider's own parser accepts at most 56 KiB, but a form may have 64
 * KiB (docs/contract.md#limits).
 */
export function setParsedForm(ctx: OpenIdContext, form: Form): void {
  Object.assign(ctx, { [formKey]: form })
}

/** Replaces oidc-provider's form parser, which runs only for requests without a parsed form. */
const readParsedForm: Middleware = (ctx, next) => {
  const form = (ctx as { [formKey]?: Form })[formKey]
  if (form === undefined) return urlencoded(ctx, next)
  Object.assign(ctx.oidc, { body: form })
  return next()
}

/**
 * Replaces oidc-provider's check of the parameter `scope`, which removes `offline_access` unless the request has
 * `prompt=consent` (docs/contract.md#authorization-requests).
 */
export const checkRequestedScope: Middleware = async (ctx, next) => {
  await checkRequestParameters(requestContext(), ctx)
  const { params } = ctx.oidc
  const keptScope = requestsOfflineAccess(ctx) ? params?.['scope'] : undefined
  return checkScope(ctx, () => {
    if (keptScope !== undefined) Object.assign(params!, { scope: keptScope })
    return next()
  })
}

const replacements: ReadonlyMap<Middleware, Middleware> = new Map([
  [urlencoded, readParsedForm],
  [checkScope, checkRequestedScope],
])

/** Returns the replacement, which runs only for the provider of `setProvider`; other middleware is returned unchanged. */
function replaceMiddleware(original: Middleware): Middleware {
  const replacement = replacements.get(original)
  if (!replacement) return original
  return (ctx, next) => (providerKey in ctx ? replacement : original)(ctx, next)
}

for (const method of ['get', 'post', 'options'] as const) {
  const original = Router.prototype[method]
  Router.prototype[method] = function (name, path, first, ...others) {
    if (first?.name !== 'ensureOIDC')
      throw new Error(
        'oidc-provider has changed: its routes no longer start with ensureOIDC. Update hooks/contexts.ts.',
      )
    return original.call(this, name, path, createOidcContextMiddleware(first), ...others.map(replaceMiddleware))
  }
}
