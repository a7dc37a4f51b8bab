/** What tokens say of memberships (decisions D23). */
import type { Membership } from '../resources/organizations/membership.js'

/** Which of them a code or refresh token may speak of. */
export interface Selection {
  /** The organization that was selected at sign-in, if any. */
  orgId: string | null
  /** What the client may see: all, only the selected one, or none (spec 4.17). */
  policy: 'all' | 'selected' | 'none'
}

export type MembershipClaims = { organizations?: Membership[]; org_id?: string }

/**
 * The claims about memberships: all active ones, or exactly the selected one; no claim where there is none.
 * @param all those that count now, read fresh with every token
 * @returns null when an organization was selected of which the user is no active member (spec 5.2 rule 6)
 */
export function membershipClaims(all: Membership[], { orgId, policy }: Selection): MembershipClaims | null {
  if (policy === 'none' || (policy === 'selected' && orgId === null)) return {}
  if (orgId === null) return all.length > 0 ? { organizations: all } : {}
  const selected = all.filter(({ id }) => id === orgId)
  return selected.length > 0 ? { organizations: selected, org_id: orgId } : null
}
