import type { IssuerSettings } from '../../resources/issuers/settings.js'
import type { ClientRow } from './client.js'

/**
 * Checks whether scripts of an origin may read responses for a client: the issuer's `cors_origins` are allowed, and the
 * origins of a public client's redirect URIs.
 */
export function isOriginAllowed(settings: IssuerSettings, client: ClientRow, origin: string): boolean {
  if (settings.security?.cors_origins?.includes(origin)) return true
  if (client.confidential) return false
  return (client.settings.openid?.redirect_uris ?? []).some(
    (uri) => /^https?:/.test(uri) && new URL(uri).origin === origin,
  )
}
