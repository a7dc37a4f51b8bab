/** An authenticator in software (WebAuthn level 3): makes keys and answers registration challenges, byte by byte. */
import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
type CborMap = Map<number | string, unknown>
const cbor = (map: CborMap): Buffer => Buffer.from(isoCBOR.encode(map as Parameters<typeof isoCBOR.encode>[0]))
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64url'))

/** A COSE_Key of this kind, in base64url, of a new key pair. */
export function coseKey(kind: 'ES256' | 'EdDSA' | 'RS256' | 'RS256-short' | 'P-384' = 'ES256'): string {
  const map: CborMap = new Map()
  if (kind === 'ES256' || kind === 'P-384') {
    const curve = kind === 'ES256' ? 'P-256' : 'P-384'
    const { x = '', y = '' } = generateKeyPairSync('ec', { namedCurve: curve }).publicKey.export({ format: 'jwk' })
    map.set(1, 2).set(3, kind === 'ES256' ? -7 : -35)
    map
      .set(-1, kind === 'ES256' ? 1 : 2)
      .set(-2, bytes(x))
      .set(-3, bytes(y))
  } else if (kind === 'EdDSA') {
    const { x = '' } = generateKeyPairSync('ed25519').publicKey.export({ format: 'jwk' })
    map.set(1, 1).set(3, -8).set(-1, 6).set(-2, bytes(x))
  } else {
    const modulusLength = kind === 'RS256' ? 2048 : 1024
    const { n = '', e = '' } = generateKeyPairSync('rsa', { modulusLength }).publicKey.export({ format: 'jwk' })
    map.set(1, 3).set(3, -257).set(-1, bytes(n)).set(-2, bytes(e))
  }
  return b64(cbor(map))
}

/** The same key with one entry changed or taken away. */
export function alteredKey(key: string, label: number, value: unknown): string {
  const map = isoCBOR.decodeFirst<CborMap>(bytes(key) as Uint8Array<ArrayBuffer>)
  if (value === undefined) map.delete(label)
  else map.set(label, value)
  return b64(cbor(map))
}

export const newCredentialId = (): string => b64(randomBytes(32))

interface Ceremony {
  options: { challenge: string; rp: { id: string } }
  origin: string
}

/** What may be wrong with an answer, and what it says of itself. */
interface Twist {
  type?: string
  challenge?: string
  origin?: string
  rpId?: string
  /** User verified, user present, may be backed up, is backed up. */
  flags?: number
  credentialId?: string
  publicKey?: string
  fmt?: string
  attStmt?: CborMap
}

/** A RegistrationResponseJSON for these options, as a browser at this origin would send it. */
export function registration({ options, origin }: Ceremony, twist: Twist = {}): { id: string; [key: string]: unknown } {
  const id = twist.credentialId ?? newCredentialId()
  const client = {
    type: twist.type ?? 'webauthn.create',
    challenge: twist.challenge ?? options.challenge,
    origin: twist.origin ?? origin,
    crossOrigin: false,
  }
  const rpIdHash = createHash('sha256')
    .update(twist.rpId ?? options.rp.id)
    .digest()
  const credentialId = Buffer.from(id, 'base64url')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(credentialId.length)
  const authData = Buffer.concat([
    rpIdHash,
    Buffer.from([twist.flags ?? 0x45]),
    Buffer.alloc(4),
    Buffer.alloc(16, 0xab),
    length,
    credentialId,
    Buffer.from(twist.publicKey ?? coseKey(), 'base64url'),
  ])
  const object: CborMap = new Map<string, unknown>([
    ['fmt', twist.fmt ?? 'none'],
    ['attStmt', twist.attStmt ?? new Map()],
    ['authData', Uint8Array.from(authData)],
  ])
  return {
    id,
    rawId: id,
    type: 'public-key',
    clientExtensionResults: {},
    response: {
      clientDataJSON: b64(Buffer.from(JSON.stringify(client))),
      attestationObject: b64(cbor(object)),
      transports: ['internal', 'hybrid'],
    },
  }
}
