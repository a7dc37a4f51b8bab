/** Keys and client assertions (RFC 7523) of clients and agents. */
import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto'
import { signJws } from '../../src/platform/crypto/jws.js'

/** A key pair of a client, whose public key is a JWK. */
export interface ClientKey {
  alg: string
  kid: string
  privateKey: KeyObject
  jwk: Record<string, unknown>
}

export const JWT_BEARER = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

const generate = (alg: string, rsaBits: number) => {
  if (alg === 'ES256') return generateKeyPairSync('ec', { namedCurve: 'P-256' })
  if (alg === 'EdDSA' || alg === 'Ed25519') return generateKeyPairSync('ed25519')
  return generateKeyPairSync('rsa', { modulusLength: rsaBits })
}

/** @param kid by default a random id */
export function createClientKey(alg = 'ES256', kid: string = randomUUID(), rsaBits = 2048): ClientKey {
  const { privateKey, publicKey } = generate(alg, rsaBits)
  return { alg, kid, privateKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, use: 'sig' } }
}

const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/**
 * Signs an assertion that is valid for 60 seconds.
 * @param audience usually the issuer identifier
 * @param changes claims that replace or complement the default ones; undefined removes a claim
 * @param header header parameters that replace or complement the default ones
 */
export function signAssertion(
  { alg, kid, privateKey }: ClientKey,
  clientId: string,
  audience: string,
  changes: Record<string, unknown> = {},
  header: Record<string, unknown> = {},
): string {
  const now = Math.floor(Date.now() / 1000)
  const claims = { iss: clientId, sub: clientId, aud: audience, iat: now, exp: now + 60, jti: randomUUID(), ...changes }
  const signingInput = `${encode({ alg, kid, typ: 'JWT', ...header })}.${encode(claims)}`
  return `${signingInput}.${signJws(alg, privateKey, Buffer.from(signingInput)).toString('base64url')}`
}

/** Returns the form fields of an assertion. */
export const assertionFields = (assertion: string) => ({
  client_assertion_type: JWT_BEARER,
  client_assertion: assertion,
})
