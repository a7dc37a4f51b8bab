/**
 * Synchronous signatures of tokens. WebCrypto would queue each signature in the thread pool behind other work, which
 * takes longer than an ES256 or EdDSA signature (about 30 µs).
 */
import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { ExternalSigningKey } from 'oidc-provider'
import type { Context } from '../../platform/context.js'
import { signJws } from '../../platform/crypto/jws.js'
import type { Encryptor } from '../../platform/crypto/secrets.js'
import { type SigningKey, signingKeyAt } from '../../resources/issuer-keys.js'
import { createIssuerKeyStore } from '../hooks/key-store.js'

/**
 * A signing key for oidc-provider. The private key is decrypted for its first signature, because most keys of an issuer
 * never sign.
 */
export class SynchronousSigningKey extends ExternalSigningKey {
  readonly #key: SigningKey
  readonly #encryptor: Encryptor
  #publicKey: KeyObject | undefined
  #privateKey: KeyObject | undefined

  constructor(key: SigningKey, encryptor: Encryptor) {
    super()
    this.#key = key
    this.#encryptor = encryptor
  }

  override get kid(): string {
    return this.#key.kid
  }
  override get alg(): string {
    return this.#key.alg
  }
  override get kty(): string {
    return this.#key.publicJwk.kty
  }
  override get crv(): string | undefined {
    return this.#key.publicJwk.crv
  }
  override get x(): string | undefined {
    return this.#key.publicJwk.x
  }
  override get y(): string | undefined {
    return this.#key.publicJwk.y
  }
  override get n(): string | undefined {
    return this.#key.publicJwk.n
  }
  override get e(): string | undefined {
    return this.#key.publicJwk.e
  }

  override keyObject(): KeyObject {
    this.#publicKey ??= createPublicKey({ key: { ...this.#key.publicJwk }, format: 'jwk' })
    return this.#publicKey
  }

  override sign(data: Uint8Array): Buffer {
    this.#privateKey ??= createPrivateKey({
      key: JSON.parse(this.#encryptor.decrypt(this.#key.privateJwk)),
      format: 'jwk',
    })
    return signJws(this.#key.alg, this.#privateKey, data)
  }
}

/**
 * Creates oidc-provider's key store for the keys of an issuer. For each signature, it selects the key that signs at
 * that time.
 * @param keys ordered by `signsFrom`
 */
export function createKeyStore(
  { encryptor, now }: Context,
  keys: readonly SigningKey[],
): ReturnType<typeof createIssuerKeyStore> {
  const signers = new Map(keys.map((key) => [key, new SynchronousSigningKey(key, encryptor)]))
  return createIssuerKeyStore([...signers.values()], (alg) => {
    const key = signingKeyAt(keys, alg, now())
    return key && signers.get(key)
  })
}
