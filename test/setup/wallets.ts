/** Wallets of agents, which sign the challenges of Gatehouse. */
import { generateKeyPairSync, sign } from 'node:crypto'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'

export interface TestWallet {
  /** CAIP-2 identifier of the blockchain, such as `eip155:8453`. */
  network: string
  address: string
  /** `type` in client assertions of the wallet. */
  type: string
  sign(message: string): string
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')

/** Creates an Ethereum wallet (externally owned account), which signs with `personal_sign` (EIP-191). */
export function ethereumWallet(network = 'eip155:8453', secret = secp256k1.utils.randomSecretKey()) {
  const address = `0x${hex(keccak_256(secp256k1.getPublicKey(secret, false).subarray(1)).subarray(12))}`
  return {
    network,
    address,
    type: 'eip191',
    sign(message: string) {
      const text = Buffer.from(message)
      const digest = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`), text]))
      const [recovery, ...rs] = secp256k1.sign(digest, secret, { prehash: false, format: 'recovered' })
      return `0x${hex(Uint8Array.from(rs))}${(27 + recovery!).toString(16)}`
    },
  } satisfies TestWallet
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
export function base58(bytes: Uint8Array): string {
  let value = BigInt(`0x${hex(bytes)}`)
  let text = ''
  for (; value > 0n; value /= 58n) text = alphabet[Number(value % 58n)] + text
  for (const byte of bytes) {
    if (byte !== 0) break
    text = `1${text}`
  }
  return text
}

/** Creates a Solana wallet with an Ed25519 key. */
export function solanaWallet(network = 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp') {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const x = Buffer.from(publicKey.export({ format: 'jwk' }).x!, 'base64url')
  return {
    network,
    address: base58(x),
    type: 'solana:ed25519',
    sign: (message: string) => base58(sign(null, Buffer.from(message), privateKey)),
  } satisfies TestWallet
}

/** Encodes the parts of a wallet's client assertion (message, signature, type) as base64url of JSON. */
export const encodeAssertion = (parts: object): string => Buffer.from(JSON.stringify(parts)).toString('base64url')
