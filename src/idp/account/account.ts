/** Users as accounts of oidc-provider. */
import { type Account, errors } from 'oidc-provider'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { needsMemberships } from '../../resources/claims/custom-claims.js'
import { profileClaims } from '../../resources/claims/profile-claims.js'
import { clientRowOf } from '../client/client.js'
import { restrictionOfClient } from '../client/unmanaged-clients.js'
import type { OpenIdClient } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'
import { type CustomClaimReader, customClaimReader, customClaimsFor, customClaimsKey } from '../token/custom-claims.js'
import { type MembershipClaims, membershipClaims } from '../token/membership-claims.js'
import { type AccountRow, accountColumnsSql } from './account-row.js'

export interface UserAccount extends Account {
  username: string
  /** Expiry of the session of the token in Unix milliseconds; null without a session. */
  sessionExpiresAt: number | null
  /** The organization that was selected at sign-in; null for none. */
  orgId: string | null
  /** Claims of access and ID tokens; empty unless the account was read for a code or a refresh token. */
  membershipClaims: MembershipClaims
  /** Creates the custom claims of the client. */
  customClaims: CustomClaimReader
}

/** The code or token that oidc-provider passes to `findAccount` with the subject. */
export interface PresentedToken {
  kind?: string | undefined
  sid?: string | undefined
}

const accountQuery: BatchQuery = {
  name: 'idp-account',
  types: ['text', 'text', 'text', 'boolean'],
  text: `
  SELECT ${accountColumnsSql('$4')}
  FROM users u
  LEFT JOIN sessions s ON s.issuer_id = u.issuer_id AND s.user_id = u.id AND s.id = $3
  WHERE u.issuer_id = $1 AND u.id = $2 AND u.status = 'active'`,
}

/**
 * oidc-provider's `findAccount`: returns an active user; undefined if there is none with this id.
 * @param sub the user id
 * @param token the redeemed code, the redeemed or introspected refresh token, or the presented access token; undefined
 *   at the authorization and logout endpoints
 * @param client the client of the request; required for a code or a refresh token
 * @throws InvalidGrant if `token` is a code or a refresh token and the user is not an active member of the selected
 *   organization (docs/contract.md#grant-and-client-rules rule 6), or if the client's restriction excludes that
 *   organization (docs/contract.md#organization-restrictions-of-clients)
 */
export async function findAccount(
  request: RequestContext,
  sub: string,
  token?: PresentedToken,
  client?: OpenIdClient,
): Promise<UserAccount | undefined> {
  if (typeof sub !== 'string') return undefined
  const { context, runtime, tokenUser } = request
  const isRedeemed = token?.kind === 'AuthorizationCode' || token?.kind === 'RefreshToken'
  const sid = token?.sid ?? null
  const clientRow = token && client && clientRowOf(client)
  let user = tokenUser?.id === sub && tokenUser.sessionId === sid ? tokenUser : undefined
  if (!user) {
    const includesMemberships =
      isRedeemed || (clientRow !== undefined && needsMemberships(customClaimsFor(request, clientRow), 'userinfo'))
    const values = [runtime.issuer.id, sub, sid, includesMemberships]
    ;[user] = await context.database.queryCoalesced<AccountRow & Record<string, unknown>>(accountQuery, values)
  }
  if (!user) return undefined
  const { username, sessionExpiresAt, orgId } = user
  const visibleMemberships =
    user.memberships === null || !clientRow
      ? {}
      : membershipClaims(user.memberships, restrictionOfClient(request, clientRow), orgId)
  if (visibleMemberships === null && isRedeemed) throw new errors.InvalidGrant({})
  const tokenMembershipClaims = (isRedeemed && visibleMemberships) || {}
  const customClaims: CustomClaimReader = clientRow
    ? customClaimReader(request, clientRow, {
        userId: user.id,
        sessionId: user.sessionId,
        memberships: visibleMemberships?.organizations ?? [],
        selectedOrgId: orgId,
      })
    : async () => ({})
  return {
    accountId: user.id,
    username,
    sessionExpiresAt,
    orgId,
    membershipClaims: tokenMembershipClaims,
    customClaims,
    // Membership claims are only in tokens. ID tokens have only those profile claims that the parameter `claims`
    // requests, although oidc-provider would add those of all scopes (docs/contract.md#tokens-and-claims).
    claims: async (use, _, requestedClaims) => {
      const place = use === 'userinfo' ? 'userinfo' : 'id_token'
      const custom = { [customClaimsKey]: await customClaims(place) }
      if (place === 'userinfo') return { sub: user.id, ...profileClaims(user), ...custom }
      const requested = Object.entries(profileClaims(user)).filter(([name]) => Object.hasOwn(requestedClaims, name))
      return { sub: user.id, ...tokenMembershipClaims, ...Object.fromEntries(requested), ...custom }
    },
  }
}
