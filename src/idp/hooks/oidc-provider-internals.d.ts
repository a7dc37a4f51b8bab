/** The internals of the library that are imported: where it keeps what belongs to a provider, */
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type Provider from 'oidc-provider'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  interface Internals {
    grantTypeHandlers: Map<string, (ctx: KoaContextWithOIDC) => Promise<void>>
    responseModes: Map<string, unknown>
    configuration: { cookies: { long: object } }
  }
  export default function instance(provider: Provider): Internals
}

/** where it looks for keys, */
declare module 'oidc-provider/lib/helpers/keystore.js' {
  import type { ExternalSigningKey } from 'oidc-provider'

  export default class KeyStore {
    constructor(keys: ExternalSigningKey[])
    selectForSign(wanted: { alg: string }): ExternalSigningKey[]
  }
}

/** how it knows the request that it is answering, */
declare module 'oidc-provider/lib/helpers/als.js' {
  import type { AsyncLocalStorage } from 'node:async_hooks'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  const als: AsyncLocalStorage<KoaContextWithOIDC>
  export default als
}

/** its routes, each of which is a list of functions that begins with `ensureOIDC`, */
declare module 'oidc-provider/lib/helpers/router.js' {
  import type { KoaContextWithOIDC } from 'oidc-provider'

  export type Middleware = (ctx: KoaContextWithOIDC, next: () => Promise<void>) => Promise<void>
  type Register = (this: Router, name: string, path: string, ...middleware: Middleware[]) => Router
  export default class Router {
    get: Register
    post: Register
    options: Register
  }
}

/** and the one of them that reads a form. */
declare module 'oidc-provider/lib/shared/selective_body.js' {
  import type { Middleware } from 'oidc-provider/lib/helpers/router.js'

  export const urlencoded: Middleware
}
