/** Verifies wallet signatures of networks whose signatures can be verified without a request to the chain. */
import { ed25519 } from '@noble/curves/ed25519.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { decodeBase58 } from './wallet-addresses.js'

/** The signature scheme of a CAIP-2 namespace. */
export interface SignatureScheme {
  /** The name of the chain in the message. */
  readonly chain: string
  /** The accepted values of `type` in an assertion. */
  readonly types: readonly string[]
  /** Returns the address as messages contain it. */
  formatAddress(address: string): string
  /** Returns false for every invalid or non-canonical signature. */
  verify(address: string, message: string, signature: string): boolean
}

/** The signature schemes by CAIP-2 namespace. */
export const signatureSchemes: Readonly<Record<string, SignatureScheme>> = {
  eip155: { chain: 'Ethereum', types: ['eip191'], formatAddress: toChecksumAddress, verify: verifyEip191 },
  // CAIP-122, x402 and docs/contract.md use different names for Ed25519 signatures on Solana, so all are accepted.
  solana: {
    chain: 'Solana',
    types: ['solana:ed25519', 'ed25519', 'solana'],
    formatAddress: (address) => address,
    verify: verifyEd25519,
  },
}

const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/**
 * Verifies an EIP-191 signature of version 0x45 (`personal_sign`), which has 65 bytes: r, s and v. Recovers the public
 * key from the signature and compares the address of the key.
 */
function verifyEip191(address: string, message: string, signature: string): boolean {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return false
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const v = bytes[64]!
  if (v !== 27 && v !== 28) return false
  const text = utf8(message)
  const digest = keccak_256(Buffer.concat([utf8(`\x19Ethereum Signed Message:\n${text.length}`), text]))
  try {
    const parsed = secp256k1.Signature.fromBytes(bytes.subarray(0, 64), 'compact')
    // As in EIP-2, only the signature with the low s is accepted, so that a message has no second valid signature.
    if (parsed.hasHighS()) return false
    const key = parsed
      .addRecoveryBit(v - 27)
      .recoverPublicKey(digest)
      .toBytes(false)
    return `0x${hex(keccak_256(key.subarray(1)).subarray(12))}` === address.toLowerCase()
  } catch {
    // The values are not a valid signature.
    return false
  }
}

/** Verifies an Ed25519 signature of the UTF-8 bytes of the message (RFC 8032). The address is the public key. */
function verifyEd25519(address: string, message: string, signature: string): boolean {
  const [key, bytes] = [decodeBase58(address, 32), decodeBase58(signature, 64)]
  if (!key || !bytes) return false
  try {
    return ed25519.verify(bytes, utf8(message), key, { zip215: false })
  } catch {
    return false
  }
}

/** Returns the address with the EIP-55 checksum, which is encoded in the case of the letters. */
function toChecksumAddress(address: string): string {
  const lower = address.slice(2).toLowerCase()
  const digest = hex(keccak_256(utf8(lower)))
  return `0x${[...lower].map((letter, at) => (Number.parseInt(digest[at]!, 16) > 7 ? letter.toUpperCase() : letter)).join('')}`
}
