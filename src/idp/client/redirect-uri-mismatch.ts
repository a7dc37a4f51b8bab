/** Explains why a redirect URI is not allowed, for the developer of the application. */
import { limits } from '../../kernel/limits.js'
import { truncateText } from '../../kernel/text.js'

/** Puts a text with at most `maxDenialTextLength` characters in backquotes. */
export const quote = (text: string): string => `\`${truncateText(text, limits.maxDenialTextLength)}\``

/**
 * Returns a sent URI without the parts that can contain secrets or personal data: user information, and the values of
 * the query and the fragment, as in `https://app.example.com/?code=…#…`.
 */
export const withoutValues = (uri: string): string =>
  uri
    .replace(/(:\/\/)[^/?#]*@/, '$1…@')
    .replace(/#.*$/s, '#…')
    .replace(/[?&][^&#]*/g, (part) => `${part[0]}${part.includes('=') ? part.slice(1, part.indexOf('=') + 1) : ''}…`)

/** Says which redirect URI was sent, which ones are registered, and in what it differs from the most similar one. */
export function describeUriMismatch(
  parameter: string,
  sent: string | readonly string[] | undefined,
  registered: readonly string[],
): string {
  const uri = typeof sent === 'string' ? sent : undefined
  const allowed =
    registered.length === 0
      ? 'the client has no registered URI'
      : `allowed ${registered.length === 1 ? 'is' : 'are'} ${listed(registered)}`
  if (uri === undefined) return `${parameter} did not match: it is missing; ${allowed}.`
  const difference = registered.map((one) => differenceBetween(uri, one)).find((text) => text !== undefined)
  return `${parameter} did not match ${quote(withoutValues(uri))}; ${allowed}.${difference ? ` The difference is ${difference}.` : ''}`
}

function listed(uris: readonly string[]): string {
  const first = uris.slice(0, 3).map(quote).join(', ')
  return uris.length > 3 ? `${first} and ${uris.length - 3} more` : first
}

/** Returns the only difference between two URIs; undefined if they differ in several parts. */
function differenceBetween(sent: string, registered: string): string | undefined {
  if (sent === `${registered}/` || `${sent}/` === registered) return 'the slash at the end'
  if (sent.toLowerCase() === registered.toLowerCase()) return 'the use of upper and lower case'
  if (!URL.canParse(sent) || !URL.canParse(registered)) return undefined
  const [one, other] = [new URL(sent), new URL(registered)]
  const parts = (['protocol', 'hostname', 'port', 'pathname', 'search', 'hash'] as const).filter(
    (part) => one[part] !== other[part],
  )
  const names = {
    protocol: 'http or https',
    hostname: 'the host',
    port: 'the port',
    pathname: 'the path',
    search: 'the query',
    hash: 'the fragment',
  }
  return parts.length === 1 ? names[parts[0]!] : undefined
}
