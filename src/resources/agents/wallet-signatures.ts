/** Did the holder of this address sign this text? For the networks whose wallets can be asked without asking a chain. */
import { ed25519 } from '@noble/curves/ed25519.js'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'
import { base58Bytes } from './wallets.js'

/** How the wallets of one CAIP-2 namespace sign messages. */
export interface SignatureScheme {
  /** What the message calls the chain. */
  readonly chain: string
  /** Names by which an assertion calls this kind of signature. */
  readonly types: readonly string[]
  /** The address as the message shows it. */
  shown(address: string): string
  /** @returns false for everything that is not this address's signature in its one spelling */
  fits(address: string, message: string, signature: string): boolean
}

export const schemes: Readonly<Record<string, SignatureScheme>> = {
  eip155: { chain: 'Ethereum', types: ['eip191'], shown: checksummed, fits: fitsEip191 },
  // CAIP-122's profile of Solana, x402 and our own decisions call it differently.
  solana: {
    chain: 'Solana',
    types: ['solana:ed25519', 'ed25519', 'solana'],
    shown: (address) => address,
    fits: fitsEd25519,
  },
}

const utf8 = (text: string): Uint8Array => Buffer.from(text, 'utf8')
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')

/** EIP-191 version 0x45 (`personal_sign`): 65 bytes r, s, v; the key is recovered, and its address compared. */
function fitsEip191(address: string, message: string, signature: string): boolean {
  if (!/^0x[0-9a-fA-F]{130}$/.test(signature)) return false
  const bytes = Buffer.from(signature.slice(2), 'hex')
  const v = bytes[64]!
  if (v !== 27 && v !== 28) return false
  const text = utf8(message)
  const digest = keccak_256(Buffer.concat([utf8(`\x19Ethereum Signed Message:\n${text.length}`), text]))
  try {
    const parsed = secp256k1.Signature.fromBytes(bytes.subarray(0, 64), 'compact')
    // EIP-2: of the two signatures that say the same, only the one with the low s counts.
    if (parsed.hasHighS()) return false
    const key = parsed
      .addRecoveryBit(v - 27)
      .recoverPublicKey(digest)
      .toBytes(false)
    return `0x${hex(keccak_256(key.subarray(1)).subarray(12))}` === address.toLowerCase()
  } catch {
    // Numbers that no signature has.
    return false
  }
}

/** Ed25519 over the UTF-8 bytes (RFC 8032, strictly); the address is the public key. */
function fitsEd25519(address: string, message: string, signature: string): boolean {
  const [key, bytes] = [base58Bytes(address, 32), base58Bytes(signature, 64)]
  if (!key || !bytes) return false
  try {
    return ed25519.verify(bytes, utf8(message), key, { zip215: false })
  } catch {
    return false
  }
}

/** EIP-55: the checksum is in the case of the letters. */
function checksummed(address: string): string {
  const lower = address.slice(2).toLowerCase()
  const digest = hex(keccak_256(utf8(lower)))
  return `0x${[...lower].map((letter, at) => (Number.parseInt(digest[at]!, 16) > 7 ? letter.toUpperCase() : letter)).join('')}`
}
