/**
 * Restricts which organizations of a user a client may see (docs/contract.md#organization-restrictions-of-clients). The
 * restriction is `settings.restrictions.organizations` of a registered client, or `organization_policy` of the issuer
 * for a client with a metadata document. Code that issues tokens or shows organizations for a client must check
 * `mayDiscloseOrganization`.
 */
import type { ClientSettings } from './settings.js'

export interface OrganizationRestriction {
  /** Ids of the allowed organizations; null allows all. */
  readonly organizationIds: readonly string[] | null
  /** Whether the client may see only the organization that was selected in the authorization request or at sign-in. */
  readonly selectedOnly: boolean
}

/** Returns the restriction of a registered client. */
export function organizationRestrictionOf(settings: ClientSettings): OrganizationRestriction {
  const { policy, allowed_org_ids = [] } = settings.restrictions?.organizations ?? {}
  const organizationIds = policy === 'none' ? [] : policy === 'allowlist' ? allowed_org_ids : null
  return { organizationIds, selectedOnly: false }
}

/**
 * Returns the restriction of an issuer for clients with a metadata document.
 * @param policy the issuer's `organization_policy`; `all` if absent
 */
export function metadataDocumentRestriction(policy: 'all' | 'selected' | 'none' = 'all'): OrganizationRestriction {
  return { organizationIds: policy === 'none' ? [] : null, selectedOnly: policy === 'selected' }
}

/**
 * Returns whether tokens of a client may contain an organization.
 * @param selectedId the organization that was selected in the authorization request or at sign-in, which is then the
 *   only one that tokens may contain; null if none was selected
 */
export function mayDiscloseOrganization(
  { organizationIds, selectedOnly }: OrganizationRestriction,
  orgId: string,
  selectedId: string | null,
): boolean {
  const isSelected = selectedId === null ? !selectedOnly : selectedId === orgId
  return isSelected && (organizationIds === null || organizationIds.includes(orgId))
}

/**
 * Returns whether a sign-in for this client may select an organization (docs/contract.md#grant-and-client-rules rule
 * 6).
 */
export const maySelectOrganization = (restriction: OrganizationRestriction, orgId: string): boolean =>
  mayDiscloseOrganization(restriction, orgId, orgId)
