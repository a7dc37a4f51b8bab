/** The keys of an issuer's cookies (security rule 10), through a change of SECRET_KEY. */
import { createHmac } from 'node:crypto'
import { type Sealer, sameText } from '../platform/secrets.js'

/** What the library wants of keys for cookies: Keygrip's interface. */
interface CookieKeys {
  sign(text: string): string
  verify(text: string, signature: string): boolean
  /** Below zero: none of ours. */
  index(text: string, signature: string): number
}

/**
 * The current key signs; what an older key of the deployment signed is still taken, so that nobody is signed out by a
 * rotation. `index` never tells which one it was: where it is an older one, the library would write the signature anew
 * for the path `/`, which is all issuers'. The cookie of a session is set anew with each use anyhow.
 */
export function cookieKeys(sealer: Sealer, issuerId: string): CookieKeys {
  const keys = sealer.deriveEach(`cookies of ${issuerId}`)
  const signed = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest('base64url')
  const verify = (text: string, signature: string) => keys.some((key) => sameText(signed(key, text), signature))
  return {
    sign: (text) => signed(keys[0]!, text),
    verify,
    index: (text, signature) => (verify(text, signature) ? 0 : -1),
  }
}
