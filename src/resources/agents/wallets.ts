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
    fits: (address) => base58Length(address) === 32,
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

/** How many bytes a base58 text stands for; undefined when it is none. Leading 1s are zero bytes. */
function base58Length(text: string): number | undefined {
  if (text.length < 1 || text.length > 64) return undefined
  let value = 0n
  for (const letter of text) {
    const digit = base58.indexOf(letter)
    if (digit < 0) return undefined
    value = value * 58n + BigInt(digit)
  }
  const zeros = /^1*/.exec(text)![0].length
  return zeros + (value === 0n ? 0 : Math.ceil(value.toString(16).length / 2))
}
