/** A software authenticator (WebAuthn Level 3) that creates keys, registration responses and assertions. */
import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isoCBOR } from '@simplewebauthn/server/helpers'

const b64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url')
type CborMap = Map<number | string, unknown>
const cbor = (map: CborMap): Buffer => Buffer.from(isoCBOR.encode(map as Parameters<typeof isoCBOR.encode>[0]))
const bytes = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, 'base64url'))

/** Generates a key pair and returns its public key as a COSE_Key in base64url. */
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

/** Returns the COSE_Key with one entry changed, or removed if `value` is undefined. */
export function modifiedCoseKey(key: string, label: number, value: unknown): string {
  const map = isoCBOR.decodeFirst<CborMap>(bytes(key) as Uint8Array<ArrayBuffer>)
  if (value === undefined) map.delete(label)
  else map.set(label, value)
  return b64(cbor(map))
}

export const createCredentialId = (): string => b64(randomBytes(32))

interface Ceremony {
  options: { challenge: string; rp: { id: string } }
  origin: string
}

/** Values that replace those of a correct registration response. */
interface RegistrationOverrides {
  type?: string
  challenge?: string
  origin?: string
  rpId?: string
  /** The flags byte of the authenticator data. Default: user present, user verified, attested credential data. */
  flags?: number
  credentialId?: string
  publicKey?: string
  fmt?: string
  attStmt?: CborMap
}

/** Creates the RegistrationResponseJSON that a browser at this origin would send for these creation options. */
export function registrationResponse(
  { options, origin }: Ceremony,
  overrides: RegistrationOverrides = {},
): { id: string; [key: string]: unknown } {
  const id = overrides.credentialId ?? createCredentialId()
  const client = {
    type: overrides.type ?? 'webauthn.create',
    challenge: overrides.challenge ?? options.challenge,
    origin: overrides.origin ?? origin,
    crossOrigin: false,
  }
  const rpIdHash = createHash('sha256')
    .update(overrides.rpId ?? options.rp.id)
    .digest()
  const credentialId = Buffer.from(id, 'base64url')
  const length = Buffer.alloc(2)
  length.writeUInt16BE(credentialId.length)
  const authData = Buffer.concat([
    rpIdHash,
    Buffer.from([overrides.flags ?? 0x45]),
    Buffer.alloc(4),
    Buffer.alloc(16, 0xab),
    length,
    credentialId,
    Buffer.from(overrides.publicKey ?? coseKey(), 'base64url'),
  ])
  const object: CborMap = new Map<string, unknown>([
    ['fmt', overrides.fmt ?? 'none'],
    ['attStmt', overrides.attStmt ?? new Map()],
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

/** Values that replace those of a correct assertion. */
export interface AssertionOverrides {
  type?: string
  challenge?: string
  origin?: string
  crossOrigin?: boolean
  rpId?: string
  flags?: number
  signCount?: number
  /** null omits the user handle, as authenticators do for credentials that are not discoverable. */
  userHandle?: string | null
  credentialId?: string
  /** Changes the response after it was signed. */
  tamper?: (response: Record<string, string>) => void
}

/** A passkey: a key pair with a signature counter, which tests increment. */
export class Passkey {
  readonly id = createCredentialId()
  readonly publicKey: string
  readonly #key: KeyObject
  signCount = 0

  /** @param userId the user handle of the passkey, as in the creation options of Gatehouse */
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

  /**
   * Creates a registration response in JSON for these creation options.
   * @param flags by default user present, user verified, backup eligible, backed up, attested credential data
   */
  register(options: Ceremony['options'], flags = 0x5d): string {
    const overrides = { credentialId: this.id, publicKey: this.publicKey, flags }
    return JSON.stringify(registrationResponse({ options, origin: this.origin }, overrides))
  }

  /** Creates an assertion in JSON. Default flags: user present, user verified, backup eligible, backed up. */
  authenticate(options: { challenge: string; rpId: string }, overrides: AssertionOverrides = {}): string {
    const client = {
      type: overrides.type ?? 'webauthn.get',
      challenge: overrides.challenge ?? options.challenge,
      origin: overrides.origin ?? this.origin,
      crossOrigin: overrides.crossOrigin ?? false,
    }
    const clientDataJSON = Buffer.from(JSON.stringify(client))
    const count = Buffer.alloc(4)
    count.writeUInt32BE(overrides.signCount ?? this.signCount)
    const hash = (data: string | Buffer) => createHash('sha256').update(data).digest()
    const authData = Buffer.concat([
      hash(overrides.rpId ?? options.rpId),
      Buffer.from([overrides.flags ?? 0x1d]),
      count,
    ])
    const signature = sign('sha256', Buffer.concat([authData, hash(clientDataJSON)]), this.#key)
    const handle = overrides.userHandle === undefined ? this.userId : overrides.userHandle
    const response: Record<string, string> = {
      clientDataJSON: b64(clientDataJSON),
      authenticatorData: b64(authData),
      signature: b64(signature),
      ...(handle === null ? {} : { userHandle: b64(Buffer.from(handle)) }),
    }
    overrides.tamper?.(response)
    const id = overrides.credentialId ?? this.id
    return JSON.stringify({ id, rawId: id, type: 'public-key', clientExtensionResults: {}, response })
  }
}
