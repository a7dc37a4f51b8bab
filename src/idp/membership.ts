/** Where tokens learn of memberships (decisions D23). */
import type { Context } from '../platform/context.js'
import { type Membership, membershipsOf } from '../resources/organizations/membership.js'

/** What a code or refresh token says of organizations. */
export interface Selection {
  issuerId: string
  userId: string
  /** The organization that was selected at sign-in, if any. */
  orgId: string | null
  /** What the client may see: all, only the selected one, or none (spec 4.17). */
  policy: 'all' | 'selected' | 'none'
  /** The session was begun with two factors. */
  mfa: boolean
}

export type MembershipClaims = { organizations?: Membership[]; org_id?: string }

/**
 * The claims about memberships, read fresh with every token: all active ones, or exactly the selected one; no claim
 * where there is none. An organization that demands two factors is none to a session that was begun with one, whenever
 * the demand was made.
 * @returns null when an organization was selected of which the user is no active member (spec 5.2 rule 6)
 */
export async function membershipClaims(
  context: Context,
  { issuerId, userId, orgId, policy, mfa }: Selection,
): Promise<MembershipClaims | null> {
  if (policy === 'none' || (policy === 'selected' && orgId === null)) return {}
  const all = await membershipsOf(context, { issuerId, userId, mfa })
  if (orgId === null) return all.length > 0 ? { organizations: all } : {}
  const selected = all.filter(({ id }) => id === orgId)
  return selected.length > 0 ? { organizations: selected, org_id: orgId } : null
}
