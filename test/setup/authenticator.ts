/** An authenticator in software (WebAuthn level 3): makes keys, answers registrations and assertions, byte by byte. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
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

/** What may be wrong with an assertion, and what it says of itself. */
export interface AssertionTwist {
  type?: string
  challenge?: string
  origin?: string
  crossOrigin?: boolean
  rpId?: string
  flags?: number
  count?: number
  /** null leaves it out, as keys do that are not discoverable. */
  userHandle?: string | null
  credentialId?: string
  /** What is changed after it was signed. */
  tamper?: (response: Record<string, string>) => void
}

/** A passkey on a device: one key pair, with its count. */
export class Passkey {
  readonly id = newCredentialId()
  readonly publicKey: string
  readonly #key: KeyObject
  count = 0

  /** @param userId becomes its user handle, as it does with options of ours */
  constructor(
    readonly userId: string,
    readonly origin: string,
  ) {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const { x = '', y = '' } = publicKey.export({ format: 'jwk' })
    const key: CborMap = new Map<number, unknown>([
      [1, 2],
      [3, -7],
      [-1, 1],
      [-2, bytes(x)],
      [-3, bytes(y)],
    ])
    this.publicKey = b64(cbor(key))
    this.#key = privateKey
  }

  /** Its answer to registration options. */
  register(options: Ceremony['options'], flags = 0x5d): string {
    const twist = { credentialId: this.id, publicKey: this.publicKey, flags }
    return JSON.stringify(registration({ options, origin: this.origin }, twist))
  }

  /** Its answer to request options; backed up, verified and present unless told otherwise. */
  answer(options: { challenge: string; rpId: string }, twist: AssertionTwist = {}): string {
    const client = {
      type: twist.type ?? 'webauthn.get',
      challenge: twist.challenge ?? options.challenge,
      origin: twist.origin ?? this.origin,
      crossOrigin: twist.crossOrigin ?? false,
    }
    const clientDataJSON = Buffer.from(JSON.stringify(client))
    const count = Buffer.alloc(4)
    count.writeUInt32BE(twist.count ?? this.count)
    const hash = (data: string | Buffer) => createHash('sha256').update(data).digest()
    const authData = Buffer.concat([hash(twist.rpId ?? options.rpId), Buffer.from([twist.flags ?? 0x1d]), count])
    const signature = sign('sha256', Buffer.concat([authData, hash(clientDataJSON)]), this.#key)
    const handle = twist.userHandle === undefined ? this.userId : twist.userHandle
    const response: Record<string, string> = {
      clientDataJSON: b64(clientDataJSON),
      authenticatorData: b64(authData),
      signature: b64(signature),
      ...(handle === null ? {} : { userHandle: b64(Buffer.from(handle)) }),
    }
    twist.tamper?.(response)
    const id = twist.credentialId ?? this.id
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
  }
}
