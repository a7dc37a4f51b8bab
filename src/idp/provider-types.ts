/** Types for the classes of an oidc-provider instance, which the library does not export. */
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'

export type OpenIdProvider = Provider
export type OpenIdClient = InstanceType<Provider['Client']>
export type OpenIdGrant = InstanceType<Provider['Grant']> & {
  /** The redirect targets to which the user has consented, for a dynamically registered client. */
  redirectTargets?: string[]
}
export type Interaction = InstanceType<Provider['Interaction']>
export type BrowserSession = InstanceType<Provider['Session']> & {
  /**
   * Unix milliseconds. A credential change at or after this time ends the sign-in. Undefined if it was not
   * stored, as in sessions of an older version of Gatehouse.
   */
  since?: number | undefined
}
export type AccessToken = InstanceType<Provider['AccessToken']>
export type RefreshToken = InstanceType<Provider['RefreshToken']>
export type OpenIdContext = KoaContextWithOIDC

/** Returns a parameter of the request; undefined if it is absent or repeated. */
export function textParameter(ctx: OpenIdContext, name: string): string | undefined {
  const value = ctx.oidc.params?.[name]
  return typeof value === 'string' ? value : undefined
}
