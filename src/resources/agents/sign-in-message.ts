/**
 * The message that a wallet signs to say that its agent signs in (CAIP-122; EIP-4361 for its form). Read strictly: one
 * text has one reading, and what a wallet would show differently is no message.
 */

/** Times in Unix milliseconds. */
export interface SignInMessage {
  domain: string
  /** As the message calls the chain: Ethereum, Solana. */
  chain: string
  address: string
  uri: string
  /** The reference part of the CAIP-2 network. */
  chainId: string
  nonce: string
  issuedAt: number
  expiresAt: number
  resource: string
}

/** The text to sign. */
export function printMessage(message: SignInMessage, statement: string): string {
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

// Spaces and line feeds stand where they must and nowhere else; a statement is the caller's own, in printable ASCII.
const form = new RegExp(
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

/** RFC 3339. */
const moment = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)$/
const timeOf = (text: string): number => (moment.test(text) ? Date.parse(text) : Number.NaN)

/** What a message says; undefined when it is not of the one form that we ask for. */
export function readMessage(text: string): SignInMessage | undefined {
  const found = form.exec(text)?.groups as Record<keyof SignInMessage, string> | undefined
  if (!found) return undefined
  const [issuedAt, expiresAt] = [timeOf(found.issuedAt), timeOf(found.expiresAt)]
  return Number.isNaN(issuedAt) || Number.isNaN(expiresAt) ? undefined : { ...found, issuedAt, expiresAt }
}
