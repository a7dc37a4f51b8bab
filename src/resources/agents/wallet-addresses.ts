/**
 * Wallet addresses (docs/contract.md#agents): the network is a CAIP-2 chain id; the network determines the address
 * format.
 */
import { invalidField } from '../../kernel/errors.js'

const chainIdPattern = /^([-a-z0-9]{3,8}):([-_a-zA-Z0-9]{1,32})$/

/** Address format of a CAIP-2 namespace. */
interface AddressFormat {
  isValid(address: string): boolean
  message: string
  caseInsensitive?: true
}

const addressFormats: Record<string, AddressFormat> = {
  // EIP-55 encodes a checksum in the case of the letters, so two spellings can be the same address.
  eip155: {
    isValid: (address) => /^0x[0-9a-fA-F]{40}$/.test(address),
    message: 'must be 0x and 40 hexadecimal digits on an eip155 network.',
    caseInsensitive: true,
  },
  solana: {
    isValid: (address) => decodeBase58(address, 32) !== undefined,
    message: 'must be a base58 public key of 32 bytes on a solana network.',
  },
}

/** CAIP-10: the characters that an address may have on any network. */
const genericFormat: AddressFormat = {
  isValid: (address) => /^[-.%a-zA-Z0-9]{1,128}$/.test(address),
  message: 'must have 1 to 128 letters, digits, dots, hyphens or percent signs.',
}

/**
 * Checks the network and address of a wallet.
 * @returns the normalized address, for comparison
 * @throws invalid_request for a network that is not CAIP-2, or an invalid address of the network
 */
export function normalizeWalletAddress(network: string, address: string): string {
  const [, namespace = '', reference = ''] = chainIdPattern.exec(network) ?? []
  if (namespace === '' || (namespace === 'eip155' && !/^\d+$/.test(reference))) {
    throw invalidField('network', 'invalid_format', 'must be a CAIP-2 chain id such as eip155:8453.')
  }
  const format = addressFormats[namespace] ?? genericFormat
  if (!format.isValid(address)) throw invalidField('address', 'invalid_format', format.message)
  return format.caseInsensitive ? address.toLowerCase() : address
}

const base58Alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** Decodes base58. Returns undefined unless the result has exactly `length` bytes. Leading 1s are zero bytes. */
export function decodeBase58(text: string, length: number): Uint8Array | undefined {
  if (text.length < length || text.length > 2 * length) return undefined
  let value = 0n
  for (const letter of text) {
    const digit = base58Alphabet.indexOf(letter)
    if (digit < 0) return undefined
    value = value * 58n + BigInt(digit)
  }
  const zeros = /^1*/.exec(text)![0].length
  const digits = value === 0n ? '' : value.toString(16)
  if (zeros + Math.ceil(digits.length / 2) !== length) return undefined
  return Buffer.from(digits.padStart(2 * length, '0'), 'hex')
}
