import type { IssuerSettings } from '../resources/issuers/settings.js'
import type { ClientRow } from './client.js'

/** May scripts of this origin read answers meant for this client? The issuer's list, and a public client's callbacks. */
export function originAllowed(settings: IssuerSettings, client: ClientRow, origin: string): boolean {
  if (settings.security?.cors_origins?.includes(origin)) return true
  if (client.confidential) return false
  return (client.settings.openid?.redirect_uris ?? []).some(
    (uri) => /^https?:/.test(uri) && new URL(uri).origin === origin,
  )
}
