/**
 * Signs in the calling thread. WebCrypto would hand each signature to the pool of threads, where it waits for whatever else
 * is there and for its turn on a processor; a synchronous signature takes 30 µs and waits for nobody.
 */
import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto'
import { ExternalSigningKey } from 'oidc-provider'
import type { Context } from '../platform/context.js'
import type { Sealer } from '../platform/secrets.js'
import { type SigningKey, signingKeyAt } from '../resources/issuer-keys.js'
import { keyStoreOf } from './hooks/issuers.js'

/** A signing key for the library. The private key is decrypted when it first signs; most keys of an issuer never do. */
export class Signer extends ExternalSigningKey {
  readonly #key: SigningKey
  readonly #sealer: Sealer
  #publicKey: KeyObject | undefined
  #privateKey: KeyObject | undefined

  constructor(key: SigningKey, sealer: Sealer) {
    super()
    this.#key = key
    this.#sealer = sealer
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
    this.#privateKey ??= createPrivateKey({ key: JSON.parse(this.#sealer.open(this.#key.privateJwk)), format: 'jwk' })
    const { alg } = this.#key
    // JWS wants the two numbers of an ECDSA signature side by side, not in DER (RFC 7518 3.4).
    const key = { key: this.#privateKey, ...(alg === 'ES256' ? { dsaEncoding: 'ieee-p1363' as const } : {}) }
    return sign(alg === 'EdDSA' ? null : 'sha256', data, key)
  }
}

/** The library's store of these keys, which signs with the one whose time it is. @param keys in the order of `signsFrom` */
export function keyStoreFor({ sealer, now }: Context, keys: readonly SigningKey[]): ReturnType<typeof keyStoreOf> {
  const signers = new Map(keys.map((key) => [key, new Signer(key, sealer)]))
  return keyStoreOf([...signers.values()], (alg) => {
    const key = signingKeyAt(keys, alg, now())
    return key && signers.get(key)
  })
}
