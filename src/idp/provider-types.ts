/** Names for classes of oidc-provider that its types do not export. */
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'

export type OpenIdProvider = Provider
export type OpenIdClient = InstanceType<Provider['Client']>
export type OpenIdGrant = InstanceType<Provider['Grant']>
export type Interaction = InstanceType<Provider['Interaction']>
export type BrowserSession = InstanceType<Provider['Session']> & {
  /**
   * Unix milliseconds. A credential change at or after this time ends the sign-in. Absent on sessions of older
   * versions.
   */
  since?: number | undefined
}
export type AccessToken = InstanceType<Provider['AccessToken']>
export type RefreshToken = InstanceType<Provider['RefreshToken']>
export type OpenIdContext = KoaContextWithOIDC

/** Returns a parameter of the request as text; undefined if it is absent or not text. */
export function textParameter(ctx: OpenIdContext, name: string): string | undefined {
  const value = ctx.oidc.params?.[name]
  return typeof value === 'string' ? value : undefined
}
