/**
 * Memberships for tokens and permission checks: the active memberships of a user in active organizations, with
 * effective scopes. For an active member, `effectiveScopesSql` must give the same scopes as `effectiveScopes`
 * (docs/contract.md#groups).
 */
import type { Context } from '../../platform/context.js'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { effectiveScopesSql } from '../authority.js'

/** A membership as in tokens (docs/contract.md#memberships-in-tokens). */
export interface Membership {
  /** Id of the organization. */
  id: string
  name: string | null
  /** Effective scopes, sorted. */
  scopes: string[]
  /** Group ids. */
  groups: string[]
}

/** SQL condition: the membership `m` and the organization `o` are active. */
export const activeMembershipSql = `m.status = 'active' AND o.status = 'active'`

/**
 * SQL condition: the sign-in satisfies `mfa_required` of the organization `o`.
 * @param mfa SQL condition: the user signed in with multi-factor authentication
 */
export const mfaSatisfiedSql = (mfa: string): string => `(NOT o.mfa_required OR ${mfa})`

/**
 * SQL expression for the active memberships of the user `u` as a JSON list of `Membership`, newest first. Unless the
 * user signed in to the session `s` with multi-factor authentication, omits the organizations that require it, even if
 * they began to require it after the sign-in.
 */
export const membershipsSql = `(
    SELECT coalesce(json_agg(json_build_object('id', o.id, 'name', o.name, 'scopes', ${effectiveScopesSql},
      'groups', ARRAY(SELECT gm.group_id FROM organization_group_members gm WHERE gm.member_id = m.id ORDER BY 1))
      ORDER BY m.id DESC), '[]')
    FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN issuers i ON i.id = o.issuer_id
    WHERE m.issuer_id = u.issuer_id AND m.user_id = u.id AND ${activeMembershipSql}
      AND ${mfaSatisfiedSql(`coalesce('mfa' = ANY(s.amr), false)`)} AND i.status <> 'deleted')`

const membershipsQuery: BatchQuery = {
  name: 'memberships',
  types: ['text', 'text', 'text'],
  text: `
  SELECT o.id, o.name, ${effectiveScopesSql} AS scopes,
    ARRAY(SELECT gm.group_id FROM organization_group_members gm WHERE gm.member_id = m.id ORDER BY 1) AS groups
  FROM organization_members m JOIN organizations o ON o.id = m.org_id JOIN issuers i ON i.id = o.issuer_id
  WHERE m.issuer_id = $1 AND m.user_id = $2 AND ($3::text IS NULL OR m.org_id = $3) AND ${activeMembershipSql}
    AND i.status <> 'deleted'
  ORDER BY m.id DESC`,
}

interface UserIdentity {
  issuerId: string
  userId: string
}

const queryMemberships = (
  context: Context,
  { issuerId, userId }: UserIdentity,
  orgId: string | null,
): Promise<Membership[]> =>
  context.database.queryCoalesced<Membership & Record<string, unknown>>(membershipsQuery, [issuerId, userId, orgId])

/**
 * Returns the active memberships of a user, newest first. Checks neither the status of the user nor `mfa_required` of
 * the organizations.
 */
export const membershipsOf = (context: Context, user: UserIdentity): Promise<Membership[]> =>
  queryMemberships(context, user, null)

/** Like `membershipsOf`, for one organization; null if the user has no active membership in it. */
export async function membershipOf(context: Context, user: UserIdentity, orgId: string): Promise<Membership | null> {
  const [membership] = await queryMemberships(context, user, orgId)
  return membership ?? null
}
