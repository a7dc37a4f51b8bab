/** What tokens say of memberships (decisions D23, D33). */
import { mayLearnOf, type OrganizationRestriction } from '../resources/clients/organization-restriction.js'
import type { Membership } from '../resources/organizations/membership.js'

export type MembershipClaims = { organizations?: Membership[]; org_id?: string }

/**
 * The claims about the memberships that a client may learn of: all of them, or exactly the selected one; no claim where
 * there is none.
 * @param all the memberships that count now, read fresh with every token
 * @param selectedId the organization that was selected at sign-in, if any
 * @returns null when an organization was selected of which the user is no active member (spec 5.2 rule 6), or of which
 * the client may not learn any more (decisions D33)
 */
export function membershipClaims(
  all: Membership[],
  restriction: OrganizationRestriction,
  selectedId: string | null,
): MembershipClaims | null {
  const organizations = all.filter(({ id }) => mayLearnOf(restriction, id, selectedId))
  if (organizations.length === 0) return selectedId === null ? {} : null
  return selectedId === null ? { organizations } : { organizations, org_id: selectedId }
}
