// An Ethereum wallet. With viem, the application would use privateKeyToAccount and signMessage instead.
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { keccak_256 } from '@noble/hashes/sha3.js'

const hex = (bytes) => Buffer.from(bytes).toString('hex')

/** Creates a key pair and its address. Only the agent may know the private key. */
export function newWallet() {
  const secret = secp256k1.utils.randomSecretKey()
  const address = keccak_256(secp256k1.getPublicKey(secret, false).subarray(1)).subarray(12)
  return { address: `0x${hex(address)}`, privateKey: hex(secret) }
}

export function addressOf(privateKey) {
  const publicKey = secp256k1.getPublicKey(Buffer.from(privateKey, 'hex'), false)
  return `0x${hex(keccak_256(publicKey.subarray(1)).subarray(12))}`
}

/** Signs a message with personal_sign (EIP-191). */
export function signMessage(privateKey, message) {
  const text = Buffer.from(message)
  const digest = keccak_256(Buffer.concat([Buffer.from(`\x19Ethereum Signed Message:\n${text.length}`), text]))
  const key = Buffer.from(privateKey, 'hex')
  const [recovery, ...signature] = secp256k1.sign(digest, key, { prehash: false, format: 'recovered' })
  return `0x${hex(signature)}${(27 + recovery).toString(16)}`
}
