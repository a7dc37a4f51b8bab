/**
 * Which organizations of a user a client may learn of: `settings.restrictions.organizations` of a registered client
 * (spec 2.5, decisions D33), `organization_policy` of the issuer for clients with a metadata document (spec 4.17). Every
 * path that issues a token, and every page that names organizations for an application, asks `mayLearnOf`.
 */
import type { ClientSettings } from './settings.js'

export interface OrganizationRestriction {
  /** Only these; null for any. */
  readonly organizationIds: readonly string[] | null
  /** Only the organization that was selected, never the others. */
  readonly selectedOnly: boolean
}

/** The restriction of a registered client. */
export function restrictionOf(settings: ClientSettings): OrganizationRestriction {
  const { policy, allowed_org_ids = [] } = settings.restrictions?.organizations ?? {}
  const organizationIds = policy === 'none' ? [] : policy === 'allowlist' ? allowed_org_ids : null
  return { organizationIds, selectedOnly: false }
}

/**
 * The restriction that an issuer puts on clients with a metadata document.
 * @param policy the issuer's `organization_policy`; `all` if absent
 */
export function documentRestriction(policy: 'all' | 'selected' | 'none' = 'all'): OrganizationRestriction {
  return { organizationIds: policy === 'none' ? [] : null, selectedOnly: policy === 'selected' }
}

/**
 * May tokens of this client name this organization?
 * @param selectedId the organization that the sign-in selected; the token is then for that one alone
 */
export function mayLearnOf(
  { organizationIds, selectedOnly }: OrganizationRestriction,
  orgId: string,
  selectedId: string | null,
): boolean {
  const isSelected = selectedId === null ? !selectedOnly : selectedId === orgId
  return isSelected && (organizationIds === null || organizationIds.includes(orgId))
}

/** May a sign-in for this client select this organization (spec 5.2 rule 6)? */
export const maySelect = (restriction: OrganizationRestriction, orgId: string): boolean =>
  mayLearnOf(restriction, orgId, orgId)
