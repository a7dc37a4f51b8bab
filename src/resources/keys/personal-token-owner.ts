/**
 * Reads the user of a personal token and limits the authority of the token
 * (docs/contract.md#access-tokens-at-the-core-api).
 */
import { ApiError, badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { limits } from '../../kernel/limits.js'
import { ALL_SCOPES, intersectScopes } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { requireGrantableScopes } from '../authority.js'
import type { InIssuer, InUser } from '../resource-path.js'
import type { Restrictions } from './restrictions.js'

interface TokenOwner {
  status: string
  scopes: string[]
  /**
   * Whether the user belongs to the console issuer. The authority of such a user comes from accounts, not from
   * `scopes`.
   */
  console: boolean
}

const ownerText = `
  SELECT u.status, u.scopes, d.name IS NOT NULL AS console
  FROM users u JOIN issuers i ON i.id = u.issuer_id AND i.status <> 'deleted'
  LEFT JOIN deployment d ON d.name = 'console' AND d.value->>'issuer_id' = u.issuer_id
  WHERE u.id = $1 AND u.issuer_id = $2 AND u.account_id = $3 AND u.status NOT IN ('deleted', 'pending_deletion')
  FOR UPDATE OF u`

/**
 * Returns the user and locks the row of the user until the transaction ends, so that concurrent requests cannot exceed
 * limits (docs/contract.md#limits-under-parallel-requests).
 * @throws not_found, invalid_request if the user is not active
 */
export async function lockTokenOwner(context: Context, { accountId, issuerId, userId }: InUser): Promise<TokenOwner> {
  const [owner] = await sql<TokenOwner>(context.db, ownerText, userId, issuerId, accountId)
  if (!owner) throw notFound('user')
  if (owner.status !== 'active')
    throw badRequest(`This user is ${owner.status}. Personal tokens can be created only for an active user.`)
  return owner
}

/**
 * Returns the scopes of a new token: the scopes of the user (for a user of the console issuer, `svc:all`), limited by
 * the restrictions. The caller must have all platform scopes among them. A user of the console issuer can have
 * authority on accounts that the caller cannot access. Therefore only this user and operators can create a token for
 * the user, and their own credential must not be restricted to issuers.
 * @throws insufficient_scope, forbidden, invalid_request
 */
export function resolveTokenScopes(
  context: Context,
  path: InUser,
  owner: TokenOwner,
  { scopes }: Restrictions,
): string[] {
  const { actor } = context
  if (owner.console && ((!actor.operator && actor.userId !== path.userId) || actor.issuerIds !== null)) {
    throw new ApiError(
      'forbidden',
      'Only the user or an operator can create personal tokens of a console user, with a credential that is not restricted to issuers.',
    )
  }
  const authority = owner.console ? [ALL_SCOPES] : owner.scopes
  const scopesToGrant = scopes === undefined ? authority : intersectScopes(authority, scopes)
  requireGrantableScopes(context, scopesToGrant)
  if (scopesToGrant.join(' ').length > limits.maxPersonalTokenScopeLength) {
    throw invalidField(
      'restrictions.scopes',
      'too_big',
      `must have at most ${limits.maxPersonalTokenScopeLength} characters in total, including the spaces between scopes. Choose fewer scopes.`,
    )
  }
  return scopesToGrant
}

/**
 * Requires that the restrictions name only the issuer of the user and organizations of this issuer
 * (docs/contract.md#identifiers-in-bodies). For a user of the console issuer nothing is checked, because this user can
 * have authority on several accounts. Ids of other accounts have no effect.
 * @throws invalid_request
 */
export async function checkRestrictions(
  context: Context,
  { accountId, issuerId }: InIssuer,
  owner: TokenOwner,
  { issuer_ids = [], org_ids = [] }: Restrictions,
): Promise<void> {
  if (owner.console) return
  const foreignIndex = issuer_ids.findIndex((id) => id !== issuerId)
  if (foreignIndex >= 0) {
    throw invalidField(
      `restrictions.issuer_ids[${foreignIndex}]`,
      'unknown_issuer',
      "must be the id of the user's issuer.",
    )
  }
  if (org_ids.length === 0) return
  const known = await context.db.organization.findMany({
    where: { accountId, issuerId, id: { in: org_ids }, status: { not: 'deleted' } },
    select: { id: true },
  })
  const ownIds = new Set(known.map(({ id }) => id))
  const unknownIndex = org_ids.findIndex((id) => !ownIds.has(id))
  if (unknownIndex >= 0) {
    throw invalidField(
      `restrictions.org_ids[${unknownIndex}]`,
      'unknown_organization',
      'must be the id of an organization of this issuer.',
    )
  }
}
