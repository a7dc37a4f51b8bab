/**
 * How the library's `ctx.oidc` comes to be, and the form in it.
 *
 * The library defines it on each context by a getter of its own; V8 keeps getters in the old generation, and each holds
 * all of its request there until that is collected as a whole: a tenth of everything that a server allocates. As a plain
 * property it goes with the request.
 */
import type Provider from 'oidc-provider'
import als from 'oidc-provider/lib/helpers/als.js'
import Router, { type Middleware } from 'oidc-provider/lib/helpers/router.js'
import { urlencoded } from 'oidc-provider/lib/shared/selective_body.js'
import type { OpenIdContext } from '../library.js'
import type { Form } from '../request.js'

const providers = Symbol('provider')

/** Names the provider that is to answer. Without a name the library goes its own way. */
export function answeredBy(ctx: OpenIdContext, provider: Provider): void {
  Object.assign(ctx, { [providers]: provider })
}

/** In place of the library's `ensureOIDC`, which stands first in every route. */
const entering =
  (original: Middleware): Middleware =>
  (ctx, next) => {
    const provider = (ctx as { [providers]?: Provider })[providers]
    if (!provider) return original(ctx, next)
    Object.assign(ctx, { oidc: new provider.OIDCContext(ctx) })
    return als.run(ctx, next)
  }

const forms = Symbol('form')

/**
 * Hands the library a form that has been read and parsed already, so that both see the same parameters (security rule
 * 33). The library's own reader takes 56 KiB at most, ours 64 (decisions D19).
 */
export function carriesForm(ctx: OpenIdContext, form: Form): void {
  Object.assign(ctx, { [forms]: form })
}

/** In place of the library's reader of forms. */
const reading: Middleware = (ctx, next) => {
  const form = (ctx as { [forms]?: Form })[forms]
  if (form === undefined) return urlencoded(ctx, next)
  Object.assign(ctx.oidc, { body: form })
  return next()
}

for (const method of ['get', 'post', 'options'] as const) {
  const original = Router.prototype[method]
  Router.prototype[method] = function (name, path, first, ...others) {
    if (first?.name !== 'ensureOIDC') throw new Error('oidc-provider begins its routes in another way than it did.')
    return original.call(
      this,
      name,
      path,
      entering(first),
      ...others.map((one) => (one === urlencoded ? reading : one)),
    )
  }
}
