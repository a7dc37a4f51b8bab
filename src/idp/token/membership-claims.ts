/** Membership claims of tokens (docs/contract.md#memberships-in-tokens). */
import {
  mayDiscloseOrganization,
  type OrganizationRestriction,
} from '../../resources/clients/organization-restriction.js'
import type { Membership } from '../../resources/organizations/membership.js'

export type MembershipClaims = { organizations?: Membership[]; org_id?: string }

/**
 * Returns the claims for the memberships that a client may see: all of them, or only the selected organization. Claims
 * without a value are omitted.
 * @param memberships active memberships, read again for every token
 * @param selectedOrgId the organization selected at sign-in, if any
 * @returns null if the user is not an active member of the selected organization
 * (docs/contract.md#grant-and-client-rules rule 6), or if the client's restriction hides it
 * (docs/contract.md#organization-restrictions-of-clients)
 */
export function membershipClaims(
  memberships: Membership[],
  restriction: OrganizationRestriction,
  selectedOrgId: string | null,
): MembershipClaims | null {
  const organizations = memberships.filter(({ id }) => mayDiscloseOrganization(restriction, id, selectedOrgId))
  if (organizations.length === 0) return selectedOrgId === null ? {} : null
  return selectedOrgId === null ? { organizations } : { organizations, org_id: selectedOrgId }
}
