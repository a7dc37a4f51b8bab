/** Which claims of a user belong to which scope. */

/** Claims by scope (OpenID Connect Core 1.0 section 5.4, docs/contract.md#tokens-and-claims). */
export const claimsByScope: Readonly<Record<'profile' | 'email' | 'phone' | 'address', readonly string[]>> = {
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
}

/** Returns the scope to which a claim belongs; undefined for other claims. */
export const scopeOfClaim = (claim: string): string | undefined =>
  Object.entries(claimsByScope).find(([, claims]) => claims.includes(claim))?.[0]
