/** What each claim of a token says, in a sentence. */
const meanings: Record<string, string> = {
  iss: 'The issuer that signed the token. An application must compare it.',
  sub: 'The user. The same for good, whatever their name or address becomes: key your records by it.',
  aud: 'Whom the token is meant for. Whoever is not named here must refuse it.',
  exp: 'When it ends.',
  iat: 'When it was made.',
  nbf: 'Not good before this moment.',
  auth_time: 'When the person signed in, which may be long before the token was made.',
  nonce: 'What the application sent along, so that an answer cannot be played to it twice.',
  acr: 'How strong the sign-in was.',
  amr: 'How the person signed in: pwd is a password, otp a code, hwk a passkey, mfa two factors.',
  azp: 'The application that asked for the token.',
  at_hash: 'Ties the access token to this ID token.',
  sid: 'The session. It can be listed, suspended and revoked; its tokens end with it.',
  jti: 'The token’s own id, for revoking it and finding it in events.',
  client_id: 'The application that the token was given to.',
  scope: 'What may be done with it.',
  org_id: 'The organization that the person signed in for.',
  email: 'The email address.',
  email_verified: 'Has the person shown that the address is theirs?',
  name: 'The full name.',
  given_name: 'The first name.',
  family_name: 'The last name.',
  preferred_username: 'What the person signs in as.',
  picture: 'The address of a picture.',
  locale: 'The language of the person.',
  zoneinfo: 'The time zone of the person.',
  updated_at: 'When the profile was last changed.',
}

const moments = new Set(['exp', 'iat', 'nbf', 'auth_time', 'updated_at'])
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

export const meaningOf = (claim: string): string => meanings[claim] ?? 'A claim of this issuer’s own.'

/** A value as people read it. Times of JWTs are Unix seconds. */
export function shownValue(claim: string, value: unknown): string {
  if (moments.has(claim) && typeof value === 'number') return `${value} (${exact.format(value * 1000)})`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
