/**
 * Cookie signing keys of an issuer (docs/contract.md#caches-and-cookies-per-tenant). They remain valid during a
 * rotation of SECRET_KEY.
 */
import { createHmac } from 'node:crypto'
import { type Encryptor, isSameText } from '../../platform/crypto/secrets.js'

/** The Keygrip interface that oidc-provider expects. */
interface CookieKeys {
  sign(text: string): string
  verify(text: string, signature: string): boolean
  /** Negative if no key verifies the signature. */
  index(text: string, signature: string): number
}

/**
 * Signs with the current key and also accepts signatures of older keys, so that a rotation signs no user out. `index`
 * always reports the current key: for an older one, oidc-provider would rewrite the signature cookie with the path `/`,
 * which all issuers share. The session cookie is written again on every use anyway.
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
