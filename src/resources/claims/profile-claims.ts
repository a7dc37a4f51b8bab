/** Standard claims about a user (OpenID Connect Core 1.0 section 5.1, docs/contract.md#tokens-and-claims). */

/** Claims by scope (OpenID Connect Core 1.0 section 5.4, docs/contract.md#tokens-and-claims). */
export const claimsByScope: Readonly<Record<'profile' | 'email' | 'phone' | 'address', readonly string[]>> = {
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
}

/** The columns of a user from which standard claims are created. */
export interface ProfileColumns {
  username: string
  usernameType: string
  profile: Record<string, unknown>
  emailVerified: boolean
}

/** Returns the claims of all scopes. Omits claims without a value. */
export function profileClaims({
  username,
  usernameType,
  profile,
  emailVerified,
}: ProfileColumns): Record<string, unknown> {
  const own = Object.fromEntries(
    [...claimsByScope.profile, 'address', 'email', 'phone_number', 'phone_number_verified']
      .map((name) => [name, profile[name]] as const)
      .filter(([, value]) => value !== undefined && value !== null),
  )
  const email = usernameType === 'email' ? username : own['email']
  const phone = usernameType === 'phone' ? username : own['phone_number']
  return {
    ...own,
    ...(email === undefined ? {} : { email, email_verified: emailVerified }),
    ...(phone === undefined
      ? {}
      : { phone_number: phone, phone_number_verified: own['phone_number_verified'] === true }),
  }
}
