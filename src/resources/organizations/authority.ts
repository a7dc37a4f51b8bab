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

/**
 * The same for a change. Lifting a suspension, or asking members for a second factor no more, asks for the authority of
 * the organization's members and API keys (decisions D30).
 * @throws insufficient_scope
 */
export async function requireAuthorityToChange(
  context: Context,
  before: Organization,
  after: Grants & { status?: string | undefined; security?: { mfa_required?: boolean | undefined } | undefined },
): Promise<void> {
  mayGrantToAll(context, after, before)
  await mayGrantToMembers(context, before.id, after.defaultMemberScopes ?? [], before.defaultMemberScopes)
  const weaker = after.security && after.security.mfa_required !== true && before.mfaRequired
  const returns = after.status === 'active' && before.status !== 'active'
  if (weaker || returns) await requireAuthorityOfOrganization(context, before)
}
