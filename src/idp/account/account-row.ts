/** The data of a user from which claims are created. */
import { type Membership, membershipsSql } from '../../resources/organizations/membership.js'

/** A user, with the session of a token. */
export interface AccountRow {
  id: string
  /** Null without a session. */
  sessionId: string | null
  username: string
  usernameType: string
  profile: Record<string, unknown>
  emailVerified: boolean
  /** Unix milliseconds; null without a session. */
  sessionExpiresAt: number | null
  /** The organization that was selected at sign-in; null for none. */
  orgId: string | null
  /** Active memberships; null unless the user is read for a code or a refresh token. */
  memberships: Membership[] | null
}

/**
 * Returns the SQL columns of an `AccountRow`, for a user `u` and a session `s`.
 * @param includesMemberships SQL condition that is true if memberships are read
 */
export const accountColumnsSql = (includesMemberships: string): string => `
    u.id, u.username, u.username_type AS "usernameType", u.profile, u.email_verified AS "emailVerified",
    s.id AS "sessionId", s.expires_at AS "sessionExpiresAt", s.org_id AS "orgId",
    CASE WHEN ${includesMemberships} THEN ${membershipsSql} END AS memberships`
