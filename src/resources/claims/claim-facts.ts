/** Reads the data of custom claims. Only clients with custom claims cause this query. */
import type { Context } from '../../platform/context.js'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { type CustomClaim } from './custom-claim-rules.js'
import { type ClaimFacts, needsUserFields } from './custom-claims.js'
import { type ProfileColumns, profileClaims } from './profile-claims.js'

/** A user, and what a client may see of the organizations of the user. */
export interface ClaimSubject {
  readonly issuerId: string
  readonly userId: string
  /** Active memberships that the token of the client may contain, with group ids. */
  readonly memberships: readonly VisibleMembership[]
  /** The selected organization, which then is the only one in `memberships`; null for none. */
  readonly selectedOrgId: string | null
}

interface VisibleMembership {
  readonly id: string
  readonly name: string | null
  readonly scopes: readonly string[]
  readonly groups: readonly string[]
}

interface FactsRow {
  /** Null if no claim needs it. */
  user: (ProfileColumns & { metadata: Record<string, unknown>; customFields: Record<string, unknown> }) | null
  organizationMetadata: Record<string, unknown> | null
  groups: string[]
}

const factsQuery: BatchQuery = {
  name: 'custom-claim-facts',
  types: ['text', 'text', 'text', 'text', 'boolean'],
  text: `
  SELECT CASE WHEN $5 THEN json_build_object('username', u.username, 'usernameType', u.username_type,
      'profile', u.profile, 'emailVerified', u.email_verified, 'metadata', u.metadata, 'customFields', u.custom_fields)
      END AS user,
    o.metadata AS "organizationMetadata",
    ARRAY(SELECT DISTINCT g.name FROM organization_groups g
      WHERE g.issuer_id = $1 AND g.id IN (SELECT jsonb_array_elements_text($4::jsonb)) ORDER BY g.name) AS groups
  FROM users u LEFT JOIN organizations o ON o.issuer_id = u.issuer_id AND o.id = $3
  WHERE u.issuer_id = $1 AND u.id = $2`,
}

/**
 * Returns the data of a user from which the custom claims of a client are created; undefined if the user does not
 * exist.
 * @param claims the custom claims of the client, at any place
 */
export async function loadClaimFacts(
  context: Context,
  { issuerId, userId, memberships, selectedOrgId }: ClaimSubject,
  claims: readonly CustomClaim[],
): Promise<ClaimFacts | undefined> {
  const selected = memberships.find(({ id }) => id === selectedOrgId)
  const groupIds = memberships.flatMap(({ groups }) => groups)
  const values = [issuerId, userId, selected?.id ?? null, JSON.stringify(groupIds), needsUserFields(claims)]
  const [row] = await context.database.queryCoalesced<FactsRow & Record<string, unknown>>(factsQuery, values)
  if (!row) return undefined
  const { user, organizationMetadata, groups } = row
  return {
    // `email` and `phone_number` have the values that userinfo returns, which can be the username.
    profile: user ? { ...user.profile, ...profileClaims(user) } : {},
    metadata: user?.metadata ?? {},
    customFields: user?.customFields ?? {},
    organization: selected
      ? { id: selected.id, name: selected.name, scopes: selected.scopes, metadata: organizationMetadata ?? {} }
      : null,
    groups,
  }
}
