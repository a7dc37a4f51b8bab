// Types of the internal modules of oidc-provider that the hooks import.

/** Stores the internal state of each provider. */
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

/** Finds keys for signing and verification. */
declare module 'oidc-provider/lib/helpers/keystore.js' {
  import type { ExternalSigningKey } from 'oidc-provider'

  export default class KeyStore {
    constructor(keys: ExternalSigningKey[])
    selectForSign(wanted: { alg: string }): ExternalSigningKey[]
  }
}

/** The functions that oidc-provider passes to its grant handlers. */
declare module 'oidc-provider/lib/helpers/grants.js' {
  import type Provider from 'oidc-provider'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  export function resolveRequestedResources(provider: Provider, ctx: KoaContextWithOIDC): Promise<unknown>
}

/** Issues the tokens of a code or another grant, and sets the token response. */
declare module 'oidc-provider/lib/helpers/grant_common.js' {
  import type Provider from 'oidc-provider'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  export function issueTokens(
    provider: Provider,
    helpers: object,
    ctx: KoaContextWithOIDC,
    source: object,
    grant: object,
    options: { gty: string; entityLabel: string },
  ): Promise<void>
}

/** Returns the scopes of a code: those of OpenID Connect and those of the resources. */
declare module 'oidc-provider/lib/helpers/combined_scope.js' {
  export default function combinedScope(
    grant: object,
    requestedScopes: ReadonlySet<string>,
    resourceServers: object,
  ): Set<string>
}

/** The middleware of the userinfo endpoint. The last one sets the response. */
declare module 'oidc-provider/lib/actions/userinfo.js' {
  import type { Middleware } from 'oidc-provider/lib/helpers/router.js'

  const userinfo: Middleware[]
  export default userinfo
}

/** Stores the Koa context of the request in progress. */
declare module 'oidc-provider/lib/helpers/als.js' {
  import type { AsyncLocalStorage } from 'node:async_hooks'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  const als: AsyncLocalStorage<KoaContextWithOIDC>
  export default als
}

/** The router. Each route is a list of middleware that starts with `ensureOIDC`. */
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

/** The form parser middleware. */
declare module 'oidc-provider/lib/shared/selective_body.js' {
  import type { Middleware } from 'oidc-provider/lib/helpers/router.js'

  export const urlencoded: Middleware
}

/** The middleware that checks the parameter `scope` of an authorization request. */
declare module 'oidc-provider/lib/actions/authorization/scopes.js' {
  import type { Middleware } from 'oidc-provider/lib/helpers/router.js'

  export const checkScope: Middleware
}

/** Validates DPoP proofs. */
declare module 'oidc-provider/lib/helpers/validate_dpop.js' {
  import type Provider from 'oidc-provider'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  interface Proof {
    thumbprint: string
    jti: string
    iat: number
  }
  /** Returns undefined for a request without a proof. Validates the proof of a request once. */
  export default function validateDpop(provider: Provider, ctx: KoaContextWithOIDC): Promise<Proof | undefined>
  /** Throws an error if the proof was used before. */
  export function checkDpopReplay(
    provider: Provider,
    ctx: KoaContextWithOIDC,
    proof: Proof,
    clientId: string,
  ): Promise<void>
  /** Returns the proof that `validateDpop` has validated in this request; undefined before. */
  export function getDpopJwt(
    provider: Provider,
    ctx: KoaContextWithOIDC,
  ): { protectedHeader: object; payload: Record<string, unknown> } | undefined
}
