/** Names for the library's classes, which its types keep to themselves. */
import type Provider from 'oidc-provider'
import type { KoaContextWithOIDC } from 'oidc-provider'

export type OpenIdClient = InstanceType<Provider['Client']>
export type OpenIdGrant = InstanceType<Provider['Grant']>
export type Interaction = InstanceType<Provider['Interaction']>
export type BrowserSession = InstanceType<Provider['Session']> & {
  /** From when on a change of credentials ends the sign-in (Unix milliseconds); sign-ins of older versions have none. */
  since?: number | undefined
}
export type AccessToken = InstanceType<Provider['AccessToken']>
export type RefreshToken = InstanceType<Provider['RefreshToken']>
export type OpenIdContext = KoaContextWithOIDC

/** The parameters of the request, read as text. */
export function param(ctx: OpenIdContext, name: string): string | undefined {
  const value = ctx.oidc.params?.[name]
  return typeof value === 'string' ? value : undefined
}
