/** What a caller must hold to change an organization: as much as the change gives its members and API keys. */
import type { Context } from '../../platform/context.js'
import type { Organization } from '../../platform/database.js'
import { mayGrant, mayGrantToMembers, requireAuthorityOfOrganization } from '../authority.js'

/** The lists by which an organization gives scopes to its members. */
interface Grants {
  scopes?: string[] | undefined
  defaultMemberScopes?: string[] | undefined
  creatorScopes?: string[] | undefined
}

/**
 * Refuses to give members, in any way, scopes that the caller lacks.
 * @throws insufficient_scope
 */
export function mayGrantToAll(context: Context, after: Grants, before?: Organization): void {
  mayGrant(context, after.scopes ?? [], before?.scopes)
  mayGrant(context, after.defaultMemberScopes ?? [], before?.defaultMemberScopes)
  mayGrant(context, after.creatorScopes ?? [], before?.creatorScopes)
}

/** What whoever has the token of an open invitation to an organization gets by it. */
const invitedText = `
  SELECT unnest(o.default_member_scopes || i.scopes || g.scopes) AS scope
  FROM organization_invitations i JOIN organizations o ON o.id = i.org_id CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(scope), '{}') AS scopes FROM organization_groups g, unnest(g.scopes) AS scope
    WHERE g.org_id = i.org_id AND g.id = ANY(i.groups)) AS g
  WHERE i.org_id = $1 AND i.status = 'pending' AND i.expires_at > $2`

/**
 * The same for a change. Lifting a suspension, or asking members for a second factor no more, asks for the authority of
 * the organization's members and API keys (decisions D30); where invitations can be accepted again, what they give is
 * given again.
 * @throws insufficient_scope
 */
export async function requireAuthorityToChange(
  context: Context,
  before: Organization,
  after: Grants & {
    status?: string | undefined
    invitationEnabled?: boolean | undefined
    security?: { mfa_required?: boolean | undefined } | undefined
  },
): Promise<void> {
  mayGrantToAll(context, after, before)
  await mayGrantToMembers(context, before.id, after.defaultMemberScopes ?? [], before.defaultMemberScopes)
  const weaker = after.security && after.security.mfa_required !== true && before.mfaRequired
  const returns = after.status === 'active' && before.status !== 'active'
  if (weaker || returns) await requireAuthorityOfOrganization(context, before)
  if (returns || (after.invitationEnabled && !before.invitationEnabled)) {
    const rows = await context.query<{ scope: string }>('invited', invitedText, [before.id, context.now()])
    await mayGrantToMembers(
      context,
      before.id,
      rows.map(({ scope }) => scope),
    )
  }
}
