/** Authority that a caller needs to change an organization: at least the scopes that the change gives to others. */
import type { Context } from '../../platform/context.js'
import type { Organization } from '../../platform/postgres/database.js'
import { requireAuthorityOfOrganization, requireGrantableMemberScopes, requireGrantableScopes } from '../authority.js'

/** The scope lists of an organization that its members receive. */
interface ScopeGrants {
  scopes?: string[] | undefined
  defaultMemberScopes?: string[] | undefined
  creatorScopes?: string[] | undefined
}

/**
 * Rejects scope lists with scopes that the caller lacks.
 * @throws insufficient_scope
 */
export function requireGrantableScopeLists(context: Context, after: ScopeGrants, before?: Organization): void {
  requireGrantableScopes(context, after.scopes ?? [], before?.scopes)
  requireGrantableScopes(context, after.defaultMemberScopes ?? [], before?.defaultMemberScopes)
  requireGrantableScopes(context, after.creatorScopes ?? [], before?.creatorScopes)
}

/** Scopes that pending invitations of an organization give. */
const invitedScopesText = `
  SELECT unnest(o.default_member_scopes || i.scopes || g.scopes) AS scope
  FROM organization_invitations i JOIN organizations o ON o.id = i.org_id CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(scope), '{}') AS scopes FROM organization_groups g, unnest(g.scopes) AS scope
    WHERE g.org_id = i.org_id AND g.id = ANY(i.groups)) AS g
  WHERE i.org_id = $1 AND i.status = 'pending' AND i.expires_at > $2`

/**
 * Checks a change of an organization. Ending a suspension and turning off `mfa_required` need the authority of its
 * members and API keys (docs/contract.md#authority-for-changes). A change that makes pending invitations acceptable
 * again needs the scopes that they give.
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
