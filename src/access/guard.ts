/**
 * May they? One verdict for every face: a demand (scope) on a place (the ids in a path), asked of the actor. What lies
 * outside of the caller's reach is 404, what lies within it but beyond its scopes is 403.
 */
import { ApiError, insufficientScope, notFound } from '../kernel/errors.js'
import { covers, intersection } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { loader } from '../platform/loader.js'
import { administratorOrganization, authoritiesOf } from '../resources/accounts/administrators.js'
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
  /** Another scope that is needed besides. */
  andScope?: string
  operator?: boolean
  /** The field leads out of the parent's organization into its issuer. */
  inIssuer?: boolean
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
  const scopes = await authorityAt(context, place)
  if (scopes === null) throw notFound('resource')
  for (const scope of [demand.scope, demand.andScope])
    if (scope !== undefined && !covers(scopes, scope)) throw insufficientScope(scope)
  return scopes === actor.scopes ? context : { ...context, actor: { ...actor, scopes } }
}

/** Would `authorize` let the caller through? @throws what is no verdict, such as a database that is away */
export async function isAuthorized(context: Context, demand: Demand, place: Place): Promise<boolean> {
  try {
    await authorize(context, demand, place)
    return true
  } catch (error) {
    if (error instanceof ApiError && [401, 403, 404].includes(error.status)) return false
    throw error
  }
}

/** What the caller may do at a place; null when the place is beyond its reach, whatever it may do elsewhere. */
export async function authorityAt(context: Context, place: Place): Promise<readonly string[] | null> {
  const { actor } = context
  const { accountId, issuerId, orgId } = place
  const within = (bound: string | null, list: readonly string[] | null, id: string | undefined) =>
    (bound === null || bound === id) && (list === null || (id !== undefined && list.includes(id)))
  if (!within(actor.issuerId, actor.issuerIds, issuerId)) return null
  if (!within(actor.orgId, actor.orgIds, orgId)) return null
  if (accountId === undefined) return actor.scopes
  const ofConsole = actor.userId !== null && actor.issuerId === null
  if (orgId !== undefined && !actor.operator && actor.orgId === null) {
    // An administrator organization gives authority on another account than the one that it lies in. So it is not for
    // the system account's own administrators to keep, but for operators, for the owner of the account that it
    // administers, who reaches nothing else there, and for its own API keys.
    const administrators = await administratorOrganization(context, { accountId, issuerId, orgId })
    if (administrators) return ofConsole && administrators.ownerUserId === actor.userId ? actor.scopes : null
  }
  if (ofConsole) return loader(context, consoleAuthority).load(accountId)
  return actor.operator || actor.accountId === accountId ? actor.scopes : null
}

/**
 * For a user of the console issuer: what it may do on accounts, cut down to its token's scope (decisions D6). An
 * operator has its authority on the system account everywhere.
 */
async function consoleAuthority(
  context: Context,
  accountIds: readonly string[],
): Promise<(readonly string[] | null)[]> {
  const { actor } = context
  const { on, system } = await authoritiesOf(context, actor.userId ?? '', accountIds)
  return accountIds.map((id) => {
    const own = on.get(id)
    if (own === undefined && !actor.operator) return null
    return intersection([...(own ?? []), ...(actor.operator ? system : [])], actor.scopes)
  })
}
