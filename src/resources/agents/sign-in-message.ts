/**
 * The message that a wallet signs for an agent (CAIP-122, in the form of EIP-4361). Messages are parsed strictly, so
 * that the parsed fields cannot differ from the text that the wallet displays.
 */

/** The fields of a message. Times in Unix milliseconds. */
export interface SignInMessage {
  domain: string
  /** The name of the chain: Ethereum or Solana. */
  chain: string
  address: string
  uri: string
  /** The reference of the CAIP-2 chain ID, which is the part after the colon. */
  chainId: string
  nonce: string
  issuedAt: number
  expiresAt: number
  resource: string
}

/** Returns the text that the wallet must sign. @param statement a sentence for people, in printable ASCII */
export function formatSignInMessage(message: SignInMessage, statement: string): string {
  const { domain, chain, address, uri, chainId, nonce, issuedAt, expiresAt, resource } = message
  return [
    `${domain} wants you to sign in with your ${chain} account:`,
    address,
    '',
    statement,
    '',
    `URI: ${uri}`,
    'Version: 1',
    `Chain ID: ${chainId}`,
    `Nonce: ${nonce}`,
    `Issued At: ${new Date(issuedAt).toISOString()}`,
    `Expiration Time: ${new Date(expiresAt).toISOString()}`,
    'Resources:',
    `- ${resource}`,
  ].join('\n')
}

// Spaces and line feeds are allowed only where the format has them. The optional statement can be any printable ASCII.
const messagePattern = new RegExp(
  [
    '^(?<domain>[!-~]+) wants you to sign in with your (?<chain>[A-Z][a-z]+) account:',
    '(?<address>[!-~]+)',
    '\\n(?:[ -~]+\\n)?',
    'URI: (?<uri>[!-~]+)',
    'Version: 1',
    'Chain ID: (?<chainId>[!-~]+)',
    'Nonce: (?<nonce>[a-zA-Z0-9]+)',
    'Issued At: (?<issuedAt>[!-~]+)',
    'Expiration Time: (?<expiresAt>[!-~]+)',
    'Resources:',
    '- (?<resource>[!-~]+)$',
  ].join('\\n'),
)

const rfc3339Pattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
const parseTimestamp = (text: string): number => (rfc3339Pattern.test(text) ? Date.parse(text) : Number.NaN)

/**
 * Parses a message. Returns undefined for a text that is not in the form of `formatSignInMessage`. The statement can be
 * missing, and times can be in any form of RFC 3339.
 */
export function parseSignInMessage(text: string): SignInMessage | undefined {
  const found = messagePattern.exec(text)?.groups as Record<keyof SignInMessage, string> | undefined
  if (!found) return undefined
  const [issuedAt, expiresAt] = [parseTimestamp(found.issuedAt), parseTimestamp(found.expiresAt)]
  return Number.isNaN(issuedAt) || Number.isNaN(expiresAt) ? undefined : { ...found, issuedAt, expiresAt }
}
