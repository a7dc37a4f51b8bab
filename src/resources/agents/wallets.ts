/** Addresses of wallets (spec 2.10): the network in CAIP-2 form, the address in the form of its network. */
import { invalidField } from '../../kernel/errors.js'

const chainId = /^([-a-z0-9]{3,8}):([-_a-zA-Z0-9]{1,32})$/

/** How addresses of a namespace look, and whether their case says more than a checksum. */
interface AddressForm {
  fits(address: string): boolean
  message: string
  foldsCase?: true
}

const forms: Record<string, AddressForm> = {
  // EIP-55 puts a checksum into the case of the letters: two spellings are one address.
  eip155: {
    fits: (address) => /^0x[0-9a-fA-F]{40}$/.test(address),
    message: 'must be 0x and 40 hexadecimal digits on an eip155 network.',
    foldsCase: true,
  },
  solana: {
    fits: (address) => base58Bytes(address, 32) !== undefined,
    message: 'must be a base58 public key of 32 bytes on a solana network.',
  },
}

/** CAIP-10: what an account address may hold on any network. */
const anyNetwork: AddressForm = {
  fits: (address) => /^[-.%a-zA-Z0-9]{1,128}$/.test(address),
  message: 'must have 1 to 128 letters, digits, dots, hyphens or percent signs.',
}

/**
 * Checks a wallet.
 * @returns the address as it is compared
 * @throws invalid_request for a network that is not CAIP-2, or an address that is none of that network
 */
export function walletKey(network: string, address: string): string {
  const [, namespace = '', reference = ''] = chainId.exec(network) ?? []
  if (namespace === '' || (namespace === 'eip155' && !/^\d+$/.test(reference))) {
    throw invalidField('network', 'invalid_format', 'must be a CAIP-2 chain id such as eip155:8453.')
  }
  const form = forms[namespace] ?? anyNetwork
  if (!form.fits(address)) throw invalidField('address', 'invalid_format', form.message)
  return form.foldsCase ? address.toLowerCase() : address
}

const base58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

/** The bytes that a base58 text stands for; undefined unless there are exactly `length`. Leading 1s are zero bytes. */
export function base58Bytes(text: string, length: number): Uint8Array | undefined {
  if (text.length < length || text.length > 2 * length) return undefined
  let value = 0n
  for (const letter of text) {
    const digit = base58.indexOf(letter)
    if (digit < 0) return undefined
    value = value * 58n + BigInt(digit)
  }
  const zeros = /^1*/.exec(text)![0].length
  const digits = value === 0n ? '' : value.toString(16)
  if (zeros + Math.ceil(digits.length / 2) !== length) return undefined
  return Buffer.from(digits.padStart(2 * length, '0'), 'hex')
}
