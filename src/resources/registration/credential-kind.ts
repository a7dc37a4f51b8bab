import { usesPrivateKeyJwt } from '../clients/authentication-method.js'
import { clientSettingsOf } from '../clients/settings.js'

/** Returns with what a client authenticates: nothing, a client secret, or keys of its own (`private_key_jwt`). */
export function credentialKind(client: { confidential: boolean; settings: unknown }): 'none' | 'secret' | 'keys' {
  if (!client.confidential) return 'none'
  return usesPrivateKeyJwt(clientSettingsOf(client)) ? 'keys' : 'secret'
}
