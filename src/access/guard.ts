/**
 * May they? One verdict for every face: a demand (scope) on a place (the ids in a path), asked of the actor. What lies
 * outside of the caller's reach is 404, what lies within it but beyond its scopes is 403.
 */
import { ApiError, insufficientScope, notFound } from '../kernel/errors.js'
import { covers } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { loader } from '../platform/loader.js'
import { ownedAccounts } from '../resources/accounts/accounts.js'
import { challenges } from './authenticate.js'

/** The ids that a path names. */
export interface Place {
  accountId?: string | undefined
  issuerId?: string | undefined
  orgId?: string | undefined
}

/** What a root or relation field demands, as its @Scope said. */
export interface Demand {
  scope: string
  operator?: boolean
}

/**
 * Lets the caller through or throws.
 * @returns the context for the operation: its actor holds the scopes that count on this account
 * @throws unauthorized, not_found, insufficient_scope, forbidden
 */
export async function authorize(context: Context, demand: Demand, place: Place): Promise<Context> {
  const { actor } = context
  if (actor.type === 'unauthenticated') {
    throw new ApiError('unauthorized', 'This needs credentials: an API key (Basic) or an access token (Bearer).', {
      headers: { 'WWW-Authenticate': challenges(context.config.baseUrl) },
    })
  }
  if (demand.scope === 'authenticated') return context
  if (demand.operator && !actor.operator)
    throw new ApiError('forbidden', 'Only an operator of this deployment may do this.')
  if (!(await reaches(context, place))) throw notFound('resource')
  if (!covers(actor.scopes, demand.scope)) throw insufficientScope(demand.scope)
  return context
}

/** Is the place within the caller's reach, whatever it may do there? */
async function reaches(context: Context, { accountId, issuerId, orgId }: Place): Promise<boolean> {
  const { actor } = context
  const within = (bound: string | null, list: readonly string[] | null, id: string | undefined) =>
    (bound === null || bound === id) && (list === null || (id !== undefined && list.includes(id)))
  if (!within(actor.issuerId, actor.issuerIds, issuerId)) return false
  if (!within(actor.orgId, actor.orgIds, orgId)) return false
  if (accountId === undefined || actor.operator) return true
  if (actor.userId !== null && actor.issuerId === null) {
    return loader(context, ownership).load(accountId)
  }
  return actor.accountId === accountId
}

/** For a user of the console issuer: which of these accounts are its own (decisions D6)? */
async function ownership(context: Context, accountIds: readonly string[]): Promise<boolean[]> {
  const owned = await ownedAccounts(context, context.actor.userId ?? '', accountIds)
  return accountIds.map((id) => owned.has(id))
}
