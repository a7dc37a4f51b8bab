/** Which claims of a user belong to which scope. */
import { claimsByScope } from '../../resources/claims/profile-claims.js'

export { claimsByScope }

/** Returns the scope to which a claim belongs; undefined for other claims. */
export const scopeOfClaim = (claim: string): string | undefined =>
  Object.entries(claimsByScope).find(([, claims]) => claims.includes(claim))?.[0]
