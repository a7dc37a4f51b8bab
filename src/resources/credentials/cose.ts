/** Validates public keys of passkeys (COSE_Key, RFC 9052 section 7) before they are stored. */
import { createPublicKey, type JsonWebKey } from 'node:crypto'
import { limits } from '../../kernel/limits.js'

/** COSE algorithm numbers of ES256, EdDSA with Ed25519, and RS256. */
export const passkeyAlgorithms = [-7, -8, -257]

/**
 * Parses and validates a COSE_Key.
 * @returns the COSE algorithm number of the key; undefined if the bytes are not a valid public key for one of
 *   `passkeyAlgorithms`, or if an RSA key is shorter than `limits.minPasskeyRsaKeyBytes`
 */
export async function coseAlgorithmOf(bytes: Uint8Array): Promise<number | undefined> {
  const { cose, isoCBOR } = await import('@simplewebauthn/server/helpers')
  try {
    const key: unknown = isoCBOR.decodeFirst(Uint8Array.from(bytes))
    // Rejects trailing bytes and encodings that are longer than necessary.
    if (!(key instanceof Map) || isoCBOR.encode(key).length !== bytes.length) return undefined
    const { COSEALG, COSECRV, COSEKEYS, COSEKTY } = cose
    const algorithm: unknown = key.get(COSEKEYS.alg)
    const hasType = (kty: number, curve?: number) =>
      key.get(COSEKEYS.kty) === kty && (curve === undefined || key.get(COSEKEYS.crv) === curve)
    const jwk: JsonWebKey | undefined =
      algorithm === COSEALG.ES256 && hasType(COSEKTY.EC2, COSECRV.P256)
        ? { kty: 'EC', crv: 'P-256', x: byteParameter(key, COSEKEYS.x, 32), y: byteParameter(key, COSEKEYS.y, 32) }
        : algorithm === COSEALG.EdDSA && hasType(COSEKTY.OKP, COSECRV.ED25519)
          ? { kty: 'OKP', crv: 'Ed25519', x: byteParameter(key, COSEKEYS.x, 32) }
          : algorithm === COSEALG.RS256 && hasType(COSEKTY.RSA)
            ? { kty: 'RSA', n: byteParameter(key, COSEKEYS.n), e: byteParameter(key, COSEKEYS.e) }
            : undefined
    if (!jwk) return undefined
    // createPublicKey throws for an EC point that is not on the curve P-256.
    const { asymmetricKeyDetails } = createPublicKey({ key: jwk, format: 'jwk' })
    const bits = asymmetricKeyDetails?.modulusLength
    return bits !== undefined && bits < limits.minPasskeyRsaKeyBytes * 8 ? undefined : (algorithm as number)
  } catch {
    return undefined
  }
}

/**
 * Returns a parameter of a COSE_Key in base64url.
 * @param length required number of bytes; undefined for any number
 * @throws Error if the parameter is missing, is not a byte string or has another length
 */
function byteParameter(key: Map<unknown, unknown>, label: number, length?: number): string {
  const bytes = key.get(label)
  if (!(bytes instanceof Uint8Array) || (length !== undefined && bytes.length !== length)) throw new Error('not a key')
  return Buffer.from(bytes).toString('base64url')
}
