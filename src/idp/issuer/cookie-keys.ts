/**
 * Cookie signing keys of an issuer (docs/contract.md#caches-and-cookies-per-tenant). Cookies remain valid during a
 * rotation of SECRET_KEY.
 */
import { createHmac } from 'node:crypto'
import { type Encryptor, isSameText } from '../../platform/crypto/secrets.js'

/** The Keygrip interface that oidc-provider expects. */
interface CookieKeys {
  sign(text: string): string
  verify(text: string, signature: string): boolean
  /** Returns 0 for a valid signature, and a negative number for an invalid one. */
  index(text: string, signature: string): number
}

/**
 * Creates cookie keys that sign with the current key and also accept signatures of older keys, so that a rotation signs
 * no user out. `index` returns 0 for every valid signature, even of an older key. For another index, oidc-provider
 * would sign the cookie again in a signature cookie with the path `/`, which all issuers share. That is not needed,
 * because every authorization request signs the session cookie again with the current key.
 */
export function createCookieKeys(encryptor: Encryptor, issuerId: string): CookieKeys {
  const keys = encryptor.deriveKeys(`cookies of ${issuerId}`)
  const signatureOf = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verify = (text: string, signature: string) => keys.some((key) => isSameText(signatureOf(key, text), signature))
  return {
    sign: (text) => signatureOf(keys[0]!, text),
    verify,
    index: (text, signature) => (verify(text, signature) ? 0 : -1),
  }
}
