/** Descriptions of token claims. */
const claimDescriptions: Record<string, string> = {
  iss: 'The issuer that signed the token. Applications must check that it is the expected one.',
  sub: 'The user ID. It never changes, even if the name or address does: use it as the key of your records.',
  aud: 'The audience that the token is meant for. Other recipients must refuse it.',
  exp: 'When the token expires.',
  iat: 'When the token was issued.',
  nbf: 'The token is not valid before this time.',
  auth_time: 'When the user signed in, possibly long before the token was issued.',
  nonce: 'The value that the application sent in its request. It prevents replay attacks.',
  acr: 'The authentication context class: the strength of the sign-in.',
  amr: 'The authentication methods: pwd is a password, otp a code, hwk a passkey, mfa two factors.',
  azp: 'The client that requested the token.',
  at_hash: 'The hash of the access token, which binds it to this ID token.',
  sid: 'The session ID. You can list, suspend and revoke the session; its tokens end with it.',
  jti: 'The ID of the token, used to revoke it and to find it in events.',
  client_id: 'The client that the token was issued to.',
  scope: 'The granted scopes.',
  org_id: 'The organization that the user signed in to.',
  organizations: 'The organizations of the user, each with the scopes and groups of the user in it.',
  email: 'The email address.',
  email_verified: 'Whether the email address is verified.',
  name: 'The full name.',
  given_name: 'The first name.',
  family_name: 'The last name.',
  preferred_username: 'The username.',
  picture: 'The URL of a picture.',
  locale: 'The language of the user.',
  zoneinfo: 'The time zone of the user.',
  updated_at: 'When the profile was last changed.',
}

const timestampClaims = new Set(['exp', 'iat', 'nbf', 'auth_time', 'updated_at'])
const exact = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium' })

export const describeClaim = (claim: string): string => claimDescriptions[claim] ?? 'Another claim of this issuer.'

/** Formats the value of a claim. Times in JWTs are Unix seconds. */
export function formatClaimValue(claim: string, value: unknown): string {
  if (timestampClaims.has(claim) && typeof value === 'number') return `${value} (${exact.format(value * 1000)})`
  return typeof value === 'string' ? value : JSON.stringify(value)
}
