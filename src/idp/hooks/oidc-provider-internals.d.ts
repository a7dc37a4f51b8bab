/** The one internal of the library that is imported: where it keeps what belongs to a provider. */
declare module 'oidc-provider/lib/helpers/weak_cache.js' {
  import type Provider from 'oidc-provider'
  import type { KoaContextWithOIDC } from 'oidc-provider'

  interface Internals {
    grantTypeHandlers: Map<string, (ctx: KoaContextWithOIDC) => Promise<void>>
    responseModes: Map<string, unknown>
  }
  export default function instance(provider: Provider): Internals
}
