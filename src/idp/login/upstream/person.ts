/** What a provider says of somebody, in our words. Whatever does not fit is left out; without a subject there is nobody. */
import { gateFault } from '../../../kernel/gate.js'
import { isEmail } from '../../../resources/users/usernames.js'
import { failed } from './provider.js'

export interface UpstreamPerson {
  /** Where the subject means something. */
  issuer: string
  subject: string
  /** In ASCII; null where there is none that could be used here. */
  email: string | null
  /** The provider has confirmed the address. */
  emailVerified: boolean
  /** Claims of the profile scope. */
  profile: Record<string, string>
}

const MAX_SUBJECT = 255

/**
 * Reads claims with the names of OpenID Connect.
 * @throws UpstreamFault for an empty or missing subject (security rule 23)
 */
export function personOf(issuer: string, subject: unknown, claims: Record<string, unknown>): UpstreamPerson {
  const id = Number.isSafeInteger(subject) ? String(subject) : subject
  if (typeof id !== 'string' || id.trim() === '' || id.length > MAX_SUBJECT || gateFault(id)) throw failed('no_subject')
  const email = addressOf(claims['email'])
  return {
    issuer,
    subject: id,
    email,
    // Apple says it as text.
    emailVerified: email !== null && (claims['email_verified'] === true || claims['email_verified'] === 'true'),
    profile: profileOf(claims),
  }
}

/** Beyond ASCII, two addresses may look or be compared alike and still be two mailboxes. */
function addressOf(value: unknown): string | null {
  return typeof value === 'string' && /^[\x21-\x7e]+$/.test(value) && isEmail(value) ? value : null
}

function profileOf(claims: Record<string, unknown>): Record<string, string> {
  const { picture, locale } = claims
  const found: Record<string, string | undefined> = {
    name: textOf(claims['name']),
    given_name: textOf(claims['given_name']),
    family_name: textOf(claims['family_name']),
    picture: typeof picture === 'string' && isPicture(picture) ? picture : undefined,
    locale: typeof locale === 'string' && /^[a-z]{2,3}([-_][a-z0-9]{2,8}){0,3}$/i.test(locale) ? locale : undefined,
  }
  const given = Object.entries(found).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return Object.fromEntries(given)
}

/** A name, if that is what it could be. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const text = value.trim()
  return text !== '' && text.length <= 200 && text.isWellFormed() && !/\p{Cc}/u.test(text) ? text : undefined
}

const isPicture = (text: string): boolean =>
  text.length <= 2048 && /^https:\/\/[^\s"'<>\\]+$/.test(text) && URL.canParse(text)
