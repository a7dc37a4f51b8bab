/**
 * Converts the claims of an upstream provider to a user. Invalid claims are dropped, but a valid subject is required.
 */
import { limits } from '../../../kernel/limits.js'
import { unsafeInputError } from '../../../kernel/safe-json.js'
import { isEmail } from '../../../resources/users/usernames.js'
import { upstreamFailed } from './upstream-error.js'

export interface UpstreamUser {
  /** The issuer, or another URL of the provider, within which `subject` is unique. */
  issuer: string
  subject: string
  /** ASCII only; null if there is no usable address. */
  email: string | null
  /** The provider has verified the address. */
  emailVerified: boolean
  /** Names, picture and locale, by claim name. */
  profile: Record<string, string>
}

/**
 * Reads claims with the names of OpenID Connect.
 * @throws UpstreamError for a missing or invalid subject (docs/contract.md#federated-identities)
 */
export function parseUpstreamUser(issuer: string, subject: unknown, claims: Record<string, unknown>): UpstreamUser {
  const id = Number.isSafeInteger(subject) ? String(subject) : subject
  if (typeof id !== 'string' || id.trim() === '' || id.length > limits.maxUpstreamSubjectLength || unsafeInputError(id))
    throw upstreamFailed('no_subject')
  const email = parseEmail(claims['email'])
  return {
    issuer,
    subject: id,
    email,
    // Apple sends `email_verified` as text.
    emailVerified: email !== null && (claims['email_verified'] === true || claims['email_verified'] === 'true'),
    profile: parseProfile(claims),
  }
}

/**
 * Accepts only ASCII, because with other characters, an address can look or compare equal to the address of another
 * mailbox.
 */
function parseEmail(value: unknown): string | null {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && isEmail(value) ? value : null
}

function parseProfile(claims: Record<string, unknown>): Record<string, string> {
  const { picture, locale } = claims
  const parsed: Record<string, string | undefined> = {
    name: parseName(claims['name']),
    given_name: parseName(claims['given_name']),
    family_name: parseName(claims['family_name']),
    picture: typeof picture === 'string' && isPictureUrl(picture) ? picture : undefined,
    locale: typeof locale === 'string' && /^[a-z]{2,3}([-_][a-z0-9]{2,8}){0,3}$/i.test(locale) ? locale : undefined,
  }
  const presentEntries = Object.entries(parsed).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(presentEntries)
}

function parseName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return text !== '' && text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text) ? text : undefined
}

const isPictureUrl = (text: string): boolean =>
  text.length <= 2048 && /^https:\/\/[^\s"'<>\\]+$/.test(text) && URL.canParse(text)
