/**
 * Values of refused requests that the console offers to add to a client. Anyone can send such requests, so a value that
 * would give others access is shown but not offered.
 */
import { isPlatformScope } from '../../../kernel/scopes.js'
import { isLoopback } from '../../../kernel/uri.js'

/** Settings of a client, as far as this module reads them. */
interface ClientSettings {
  openid?: { redirect_uris?: readonly string[]; post_logout_redirect_uris?: readonly string[] }
}

/**
 * Returns whether the console offers to add a value to a setting of a client.
 * @param setting the path of the setting, such as `settings.scopes`
 * @param value the refused value; scopes are separated by spaces
 */
export function isAddable(setting: string, value: string, { openid }: ClientSettings): boolean {
  if (setting === 'settings.scopes') return !value.split(/\s+/).some(isPlatformScope)
  if (!setting.endsWith('redirect_uris')) return true
  const registered = [...(openid?.redirect_uris ?? []), ...(openid?.post_logout_redirect_uris ?? [])]
  return hasRegisteredHost(value, registered)
}

/** Accepts loopback hosts, and hosts of registered redirect URIs with the same scheme and port. */
function hasRegisteredHost(uri: string, registered: readonly string[]): boolean {
  const url = URL.parse(uri)
  if (url?.username !== '' || url.password !== '') return false
  if (/^https?:$/.test(url.protocol) && isLoopback(url.hostname)) return true
  return registered.some((one) => {
    const other = URL.parse(one)
    return other?.protocol === url.protocol && other.host === url.host
  })
}
