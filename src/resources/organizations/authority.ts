/**
 * Checks that a caller who changes an organization has at least the platform scopes that the change gives to others.
 */
import type { Context } from '../../platform/context.js'
import type { Organization } from '../../platform/postgres/database.js'
import { requireAuthorityOfOrganization, requireGrantableMemberScopes, requireGrantableScopes } from '../authority.js'

/** The fields of an organization that are lists of scopes. */
interface ScopeGrants {
  scopes?: string[] | undefined
  defaultMemberScopes?: string[] | undefined
  creatorScopes?: string[] | undefined
}

/**
 * Rejects lists that contain platform scopes which the caller lacks.
 * @param before the organization before the change; scopes that one of its lists already has can stay in this list
 * @throws insufficient_scope
 */
export function requireGrantableScopeLists(context: Context, after: ScopeGrants, before?: Organization): void {
  requireGrantableScopes(context, after.scopes ?? [], before?.scopes)
  requireGrantableScopes(context, after.defaultMemberScopes ?? [], before?.defaultMemberScopes)
  requireGrantableScopes(context, after.creatorScopes ?? [], before?.creatorScopes)
}

/** Selects the scopes that members get by accepting the pending invitations of an organization. */
const invitedScopesText = `
  SELECT unnest(o.default_member_scopes || i.scopes || g.scopes) AS scope
  FROM organization_invitations i JOIN organizations o ON o.id = i.org_id CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(scope), '{}') AS scopes FROM organization_groups g, unnest(g.scopes) AS scope
    WHERE g.org_id = i.org_id AND g.id = ANY(i.groups)) AS g
  WHERE i.org_id = $1 AND i.status = 'pending' AND i.expires_at > $2`

/**
 * Checks a change of an organization. The caller needs the platform scopes that the change adds to its lists of scopes.
 * Ending its suspension and turning off its `mfa_required` require the platform scopes of its members and API keys
 * (docs/contract.md#authority-for-changes). Ending its suspension and enabling
 * invitations also require the platform scopes that pending invitations give, because these invitations can then be
 * accepted.
 * @throws insufficient_scope
 */
export async function requireAuthorityToChange(
  context: Context,
  before: Organization,
  after: ScopeGrants & {
    status?: string | undefined
    invitationEnabled?: boolean | undefined
    security?: { mfa_required?: boolean | undefined } | undefined
  },
): Promise<void> {
  requireGrantableScopeLists(context, after, before)
  await requireGrantableMemberScopes(context, before.id, after.defaultMemberScopes ?? [], before.defaultMemberScopes)
  const weakensMfa = after.security && after.security.mfa_required !== true && before.mfaRequired
  const isReactivated = after.status === 'active' && before.status !== 'active'
  if (weakensMfa || isReactivated) await requireAuthorityOfOrganization(context, before)
  if (isReactivated || (after.invitationEnabled && !before.invitationEnabled)) {
    const rows = await context.query<{ scope: string }>('invited', invitedScopesText, [before.id, context.now()])
    await requireGrantableMemberScopes(
      context,
      before.id,
      rows.map(({ scope }) => scope),
    )
  }
}
