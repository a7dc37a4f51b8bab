/** The row of a user and their session from which claims are created. */
import { type Membership, membershipsSql } from '../../resources/organizations/membership.js'

/** A user and the session of the token. */
export interface AccountRow {
  id: string
  sessionId: string | null
  username: string
  usernameType: string
  profile: Record<string, unknown>
  emailVerified: boolean
  sessionExpiresAt: number | null
  orgId: string | null
  /** Set only when a code or a refresh token is redeemed. */
  memberships: Membership[] | null
}

/**
 * SQL columns of an `AccountRow`, for a user `u` and their session `s`.
 * @param includesMemberships SQL condition: whether to read memberships
 */
export const accountColumnsSql = (includesMemberships: string): string => `
    u.id, u.username, u.username_type AS "usernameType", u.profile, u.email_verified AS "emailVerified",
    s.id AS "sessionId", s.expires_at AS "sessionExpiresAt", s.org_id AS "orgId",
    CASE WHEN ${includesMemberships} THEN ${membershipsSql} END AS memberships`
