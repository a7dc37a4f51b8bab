/**
 * One provider answers for every issuer. The library is made for one: it keeps an issuer identifier, keys and cookies of
 * its own. Here these become questions to the request in progress. Providers of their own would each have classes of
 * their own, whose code the compiler meets anew in every one of a thousand issuers (docs/decisions/0053).
 */
import type Provider from 'oidc-provider'
import type { ExternalSigningKey } from 'oidc-provider'
import KeyStore from 'oidc-provider/lib/helpers/keystore.js'
import instance from 'oidc-provider/lib/helpers/weak_cache.js'
import { scope } from '../scope.js'

/**
 * The keys of an issuer as the library looks for them: all of them verify, and which one signs is asked each time.
 * @param signing the key of an algorithm that signs now
 */
export const keyStoreOf = (
  keys: ExternalSigningKey[],
  signing: (alg: string) => ExternalSigningKey | undefined,
): KeyStore => new IssuerKeys(keys, signing)

class IssuerKeys extends KeyStore {
  constructor(
    keys: ExternalSigningKey[],
    readonly signing: (alg: string) => ExternalSigningKey | undefined,
  ) {
    super(keys)
  }

  override selectForSign({ alg }: { alg: string }): ExternalSigningKey[] {
    const key = this.signing(alg)
    return key ? [key] : []
  }
}

/** Makes the provider speak for the issuer of the request in progress. Outside of requests it speaks for nobody. */
export function answerForAll(provider: Provider): void {
  const internals = instance(provider)
  asked(provider, 'issuer', () => scope().runtime.url)
  asked(provider, 'keys', () => scope().runtime.cookieKeys)
  asked(internals, 'keystore', () => scope().runtime.keyStore)
  asked(internals.configuration.cookies.long, 'path', () => scope().runtime.address.pathname)
}

/** @throws when the library keeps no such thing: then it has changed, and this file must follow */
function asked(target: object, name: string, read: () => unknown): void {
  if (!Object.hasOwn(target, name)) throw new Error(`oidc-provider keeps no ${name} of an issuer any more.`)
  Object.defineProperty(target, name, { get: read, enumerable: true })
}
