/** Membership claims of tokens (docs/contract.md#memberships-in-tokens). */
import {
  mayDiscloseOrganization,
  type OrganizationRestriction,
} from '../../resources/clients/organization-restriction.js'
import type { Membership } from '../../resources/organizations/membership.js'

export type MembershipClaims = { organizations?: Membership[]; org_id?: string }

/**
 * Returns the membership claims that a client may see: all memberships that the restriction allows, or only that in the
 * selected organization. Empty claims are omitted.
 * @param memberships active memberships, which must be read for every token
 * @param restriction the restriction of the client
 * @param selectedOrgId the organization that was selected at sign-in; null for none
 * @returns null if the user is not an active member of the selected organization
 *   (docs/contract.md#grant-and-client-rules rule 6), or if the restriction hides that organization
 *   (docs/contract.md#organization-restrictions-of-clients)
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
