/** Whom a personal token acts for, and how far it may reach (decisions D6, D8). */
import { ApiError, badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { ALL, intersection } from '../../kernel/scopes.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { mayGrant } from '../authority.js'
import type { InIssuer } from '../place.js'
import type { Restrictions } from './restrictions.js'

export interface OfUser extends InIssuer {
  userId: string
}

/** Longer ones would not pass as a header. */
const MAX_SCOPE_TEXT = 4096

interface Owner {
  status: string
  scopes: string[]
  /** A user of the console issuer, whose authority lies in accounts and not in its scopes. */
  console: boolean
}

const ownerText = `
  SELECT u.status, u.scopes, d.name IS NOT NULL AS console
  FROM users u JOIN issuers i ON i.id = u.issuer_id AND i.status <> 'deleted'
  LEFT JOIN deployment d ON d.name = 'console' AND d.value->>'issuer_id' = u.issuer_id
  WHERE u.id = $1 AND u.issuer_id = $2 AND u.account_id = $3 AND u.status NOT IN ('deleted', 'pending_deletion')
  FOR UPDATE OF u`

/**
 * The user, with its row locked until the transaction ends, so that limits hold (security rule 5).
 * @throws not_found, invalid_request when the user is not active
 */
export async function lockOwner(context: Context, { accountId, issuerId, userId }: OfUser): Promise<Owner> {
  const [owner] = await sql<Owner>(context.db, ownerText, userId, issuerId, accountId)
  if (!owner) throw notFound('user')
  if (owner.status !== 'active') throw badRequest(`A user who is ${owner.status} cannot get a personal token.`)
  return owner
}

/**
 * The scopes that a new token names: the user's authority, cut down to the restrictions, and nothing that the caller
 * lacks. A user of the console has authority on accounts that the caller may not reach at all, so its tokens are made
 * by itself or by an operator.
 * @throws insufficient_scope, forbidden, invalid_request
 */
export function grantedScopes(context: Context, place: OfUser, owner: Owner, { scopes }: Restrictions): string[] {
  const { actor } = context
  if (owner.console && ((!actor.operator && actor.userId !== place.userId) || actor.issuerIds !== null)) {
    throw new ApiError(
      'forbidden',
      'Tokens of a user of the console are made by itself or by an unrestricted operator.',
    )
  }
  const authority = owner.console ? [ALL] : owner.scopes
  const granted = scopes === undefined ? authority : intersection(authority, scopes)
  mayGrant(context, granted)
  if (granted.join(' ').length > MAX_SCOPE_TEXT) {
    throw invalidField(
      'restrictions.scopes',
      'too_big',
      `must name fewer scopes: together ${MAX_SCOPE_TEXT} characters.`,
    )
  }
  return granted
}

/**
 * Ids in restrictions are those of the user's own tenant (security rule 7). A user of the console reaches other
 * accounts, where the ids count for nothing unless they are there.
 * @throws invalid_request
 */
export async function checkRestrictions(
  context: Context,
  { accountId, issuerId }: InIssuer,
  owner: Owner,
  { issuer_ids = [], org_ids = [] }: Restrictions,
): Promise<void> {
  if (owner.console) return
  const foreign = issuer_ids.findIndex((id) => id !== issuerId)
  if (foreign >= 0) {
    throw invalidField(`restrictions.issuer_ids[${foreign}]`, 'unknown_issuer', "must be the user's own issuer.")
  }
  if (org_ids.length === 0) return
  const known = await context.db.organization.findMany({
    where: { accountId, issuerId, id: { in: org_ids }, status: { not: 'deleted' } },
    select: { id: true },
  })
  const own = new Set(known.map(({ id }) => id))
  const strange = org_ids.findIndex((id) => !own.has(id))
  if (strange >= 0) {
    throw invalidField(
      `restrictions.org_ids[${strange}]`,
      'unknown_organization',
      'must be the id of an organization of this issuer.',
    )
  }
}
