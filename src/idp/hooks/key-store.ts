/** oidc-provider's key store, with a signing key that depends on the time. */
import type { ExternalSigningKey } from 'oidc-provider'
import KeyStore from 'oidc-provider/lib/helpers/keystore.js'

/**
 * Creates the key store of an issuer: all keys verify signatures, and the signing key is selected at each signature.
 * @param signingKeyFor returns the current signing key of an algorithm; undefined if there is none
 */
export const createIssuerKeyStore = (
  keys: ExternalSigningKey[],
  signingKeyFor: (alg: string) => ExternalSigningKey | undefined,
): KeyStore => new IssuerKeyStore(keys, signingKeyFor)

class IssuerKeyStore extends KeyStore {
  constructor(
    keys: ExternalSigningKey[],
    readonly signingKeyFor: (alg: string) => ExternalSigningKey | undefined,
  ) {
    super(keys)
  }

  override selectForSign({ alg }: { alg: string }): ExternalSigningKey[] {
    const key = this.signingKeyFor(alg)
    return key ? [key] : []
  }
}
