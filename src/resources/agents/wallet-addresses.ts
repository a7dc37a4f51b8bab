/**
 * Wallet addresses (docs/contract.md#agents). The network of a wallet is a CAIP-2 chain ID, whose namespace determines
 * the format of the address.
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
  // EIP-55 encodes a checksum in the case of the letters, so addresses that differ only in case are the same address.
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

/** For the other namespaces: the characters that an address may have on any network (CAIP-10). */
const genericFormat: AddressFormat = {
  isValid: (address) => /^[-.%a-zA-Z0-9]{1,128}$/.test(address),
  message: 'must have 1 to 128 letters, digits, dots, hyphens or percent signs.',
}

/**
 * Checks the network and address of a wallet.
 * @param network a CAIP-2 chain ID
 * @returns the normalized address, by which addresses are compared
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

/**
 * Decodes base58, in which each leading `1` is a zero byte. Returns undefined if the text is not base58 or the result
 * does not have exactly `length` bytes.
 */
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
