/** Public keys of passkeys (RFC 9052 section 7): read, checked to be keys, before one is kept. */
import { createPublicKey, type JsonWebKey } from 'node:crypto'

/** ES256, EdDSA with Ed25519, RS256: what browsers and authenticators offer (COSE algorithm numbers). */
export const passkeyAlgorithms = [-7, -8, -257]

const MIN_RSA_BYTES = 256

/**
 * Reads a COSE_Key. The library is loaded by whoever first has one to read.
 * @returns its algorithm, or undefined when it is no public key of one of `passkeyAlgorithms`
 */
export async function algorithmOf(bytes: Uint8Array): Promise<number | undefined> {
  const { cose, isoCBOR } = await import('@simplewebauthn/server/helpers')
  try {
    const key: unknown = isoCBOR.decodeFirst(Uint8Array.from(bytes))
    // Bytes behind the key, or a second spelling of it, would make two of one.
    if (!(key instanceof Map) || isoCBOR.encode(key).length !== bytes.length) return undefined
    const { COSEALG, COSECRV, COSEKEYS, COSEKTY } = cose
    const algorithm: unknown = key.get(COSEKEYS.alg)
    const is = (kty: number, curve?: number) =>
      key.get(COSEKEYS.kty) === kty && (curve === undefined || key.get(COSEKEYS.crv) === curve)
    const jwk: JsonWebKey | undefined =
      algorithm === COSEALG.ES256 && is(COSEKTY.EC2, COSECRV.P256)
        ? { kty: 'EC', crv: 'P-256', x: part(key, COSEKEYS.x, 32), y: part(key, COSEKEYS.y, 32) }
        : algorithm === COSEALG.EdDSA && is(COSEKTY.OKP, COSECRV.ED25519)
          ? { kty: 'OKP', crv: 'Ed25519', x: part(key, COSEKEYS.x, 32) }
          : algorithm === COSEALG.RS256 && is(COSEKTY.RSA)
            ? { kty: 'RSA', n: part(key, COSEKEYS.n), e: part(key, COSEKEYS.e) }
            : undefined
    if (!jwk) return undefined
    // The library refuses points that are not on the curve.
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' })
    const bits = asymmetricKeyDetails?.modulusLength
    return bits !== undefined && bits < MIN_RSA_BYTES * 8 ? undefined : (algorithm as number)
  } catch {
    return undefined
  }
}

/** A byte string of the map, in base64url. @throws Error when it is none, or of another length */
function part(key: Map<unknown, unknown>, label: number, length?: number): string {
  const bytes = key.get(label)
  if (!(bytes instanceof Uint8Array) || (length !== undefined && bytes.length !== length)) throw new Error('not a key')
  return Buffer.from(bytes).toString('base64url')
}
