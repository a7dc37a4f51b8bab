import { clientSettingsOf } from '../clients/settings.js'

/** Returns with what a client authenticates: nothing, a client secret, or keys of its own (`private_key_jwt`). */
export function credentialKind(client: { confidential: boolean; settings: unknown }): 'none' | 'secret' | 'keys' {
  if (!client.confidential) return 'none'
  const openid: Record<string, unknown> = clientSettingsOf(client).openid ?? {}
  return openid['token_endpoint_auth_method'] === 'private_key_jwt' ? 'keys' : 'secret'
}
