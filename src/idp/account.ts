/** Users as the library knows them: accounts with claims. */
import { type Account, errors } from 'oidc-provider'
import type { Question } from '../platform/together.js'
import { type Membership, membershipsSql } from '../resources/organizations/membership.js'
import { organizationRestriction, rowOf } from './client.js'
import type { OpenIdClient } from './library.js'
import { type MembershipClaims, membershipClaims } from './membership.js'
import { scope } from './scope.js'

/** Claims by scope (OpenID Connect Core 5.4, spec 5.3). */
export const claimsOfScope = {
  profile: ['name', 'given_name', 'family_name', 'picture', 'locale'],
  email: ['email', 'email_verified'],
  phone: ['phone_number', 'phone_number_verified'],
  address: ['address'],
}

export interface UserAccount extends Account {
  username: string
  /** Of the session that the token belongs to, in Unix milliseconds. */
  sessionExpiresAt: number | null
  orgId: string | null
  /** Of access and ID tokens; only where a code or a refresh token is redeemed. */
  membershipClaims: MembershipClaims
}

/** A user as the database has them, and their session. */
export interface AccountRow {
  id: string
  sessionId: string | null
  username: string
  usernameType: string
  profile: Record<string, unknown>
  emailVerified: boolean
  sessionExpiresAt: number | null
  orgId: string | null
  /** Only where a code or a refresh token is redeemed. */
  memberships: Membership[] | null
}

/** What the library hands over with a subject: a code, a token. */
export interface Redeemed {
  kind?: string | undefined
  sid?: string | undefined
}

/** SQL: columns of an `AccountRow`, of a user `u` and their session `s`. @param redeemed says whether memberships are asked for */
export const accountSql = (redeemed: string): string => `
    u.id, u.username, u.username_type AS "usernameType", u.profile, u.email_verified AS "emailVerified",
    s.id AS "sessionId", s.expires_at AS "sessionExpiresAt", s.org_id AS "orgId",
    CASE WHEN ${redeemed} THEN ${membershipsSql} END AS memberships`

const accountById: Question = {
  name: 'idp-account',
  types: ['text', 'text', 'text', 'boolean'],
  text: `
  SELECT ${accountSql('$4')}
  FROM users u
  LEFT JOIN sessions s ON s.issuer_id = u.issuer_id AND s.user_id = u.id AND s.id = $3
  WHERE u.issuer_id = $1 AND u.id = $2 AND u.status = 'active'`,
}

/**
 * The library's `findAccount`: a user who may act now, or nobody.
 * @param token what is being redeemed or presented; undefined at the authorization endpoint
 * @param client the client that redeems it
 * @throws InvalidGrant when an organization was selected of which the user is no active member (spec 5.2 rule 6), or of
 * which the client may not learn (decisions D33)
 */
export async function findAccount(
  sub: string,
  token?: Redeemed,
  client?: OpenIdClient,
): Promise<UserAccount | undefined> {
  if (typeof sub !== 'string') return undefined
  const { context, runtime, redeemer } = scope()
  const redeemed = token?.kind === 'AuthorizationCode' || token?.kind === 'RefreshToken'
  const sid = token?.sid ?? null
  let user = redeemed && redeemer?.id === sub && redeemer.sessionId === sid ? redeemer : undefined
  if (!user) {
    const values = [runtime.issuer.id, sub, sid, redeemed]
    ;[user] = await context.tools.ask<AccountRow & Record<string, unknown>>(accountById, values)
  }
  if (!user) return undefined
  const { username, sessionExpiresAt, orgId } = user
  const memberships =
    user.memberships === null ? {} : membershipClaims(user.memberships, organizationRestriction(rowOf(client!)), orgId)
  if (memberships === null) throw new errors.InvalidGrant({})
  return {
    accountId: user.id,
    username,
    sessionExpiresAt,
    orgId,
    membershipClaims: memberships,
    // Profile claims are userinfo's; the ID token holds those of spec 5.3 only.
    claims: (use) => ({ sub: user.id, ...(use === 'userinfo' ? profileClaims(user) : memberships) }),
  }
}

/** Everything that the scopes may choose from. A claim that nobody knows is left out, not null. */
function profileClaims({ username, usernameType, profile, emailVerified }: AccountRow): Record<string, unknown> {
  const own = Object.fromEntries(
    [...claimsOfScope.profile, 'address', 'email', 'phone_number', 'phone_number_verified']
      .map((name) => [name, profile[name]] as const)
      .filter(([, value]) => value !== undefined && value !== null),
  )
  const email = usernameType === 'email' ? username : own['email']
  const phone = usernameType === 'phone' ? username : own['phone_number']
  return {
    ...own,
    ...(email === undefined ? {} : { email, email_verified: emailVerified }),
    ...(phone === undefined
      ? {}
      : { phone_number: phone, phone_number_verified: own['phone_number_verified'] === true }),
  }
}
