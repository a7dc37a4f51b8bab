/**
 * Authorization for GraphQL and REST: checks that the actor has the required scopes on a resource path. The error is
 * 401 for an anonymous actor, 404 if the actor has no access to the resource path, and 403 if only a scope is missing
 * or if the operation requires an operator.
 */
import { ApiError, insufficientScope, notFound } from '../kernel/errors.js'
import { coversScope, intersectScopes } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { loader } from '../platform/postgres/loader.js'
import { authoritiesOf, findAdministratorOrganization } from '../resources/accounts/administrators.js'
import { wwwAuthenticateHeader } from './authenticate.js'

/** The IDs of the account, issuer and organization that a request names. */
export interface ResourcePath {
  accountId?: string | undefined
  issuerId?: string | undefined
  orgId?: string | undefined
}

/** The permission that a root or relation field requires, from its decorators. */
export interface RequiredPermission {
  scope: string
  /** Further required scopes. */
  additionalScopes?: readonly string[]
  operatorOnly?: boolean
  /**
   * True for a field that names an organization but returns resources of its issuer, such as the relation `member.user`.
   * The permission is then checked on the issuer, without the organization.
   */
  movesToIssuer?: boolean
}

/**
 * Checks that the caller has a permission.
 * @returns the context for the operation, whose actor has the effective scopes on the resource path; the unchanged
 *   context for the permission `authenticated`
 * @throws unauthorized, not_found, insufficient_scope, forbidden
 */
export async function authorize(
  context: Context,
  permission: RequiredPermission,
  path: ResourcePath,
): Promise<Context> {
  const { actor } = context
  if (actor.type === 'unauthenticated') {
    throw new ApiError(
      'unauthorized',
      'Authentication is required: send an API key (Basic) or an access token (Bearer or DPoP).',
      {
        headers: { 'WWW-Authenticate': wwwAuthenticateHeader(context.config.baseUrl) },
      },
    )
  }
  if (permission.scope === 'authenticated') return context
  if (permission.operatorOnly && !actor.operator)
    throw new ApiError('forbidden', 'This operation requires an operator of this deployment.')
  const scopes = await effectiveScopes(context, permission.movesToIssuer ? { ...path, orgId: undefined } : path)
  if (scopes === null) throw notFound('resource')
  for (const scope of [permission.scope, ...(permission.additionalScopes ?? [])])
    if (!coversScope(scopes, scope)) throw insufficientScope(scope)
  return scopes === actor.scopes ? context : { ...context, actor: { ...actor, scopes } }
}

/** Returns true if `authorize` would succeed. @throws errors other than 401, 403 and 404, such as unavailable */
export async function isAuthorized(
  context: Context,
  permission: RequiredPermission,
  path: ResourcePath,
): Promise<boolean> {
  try {
    await authorize(context, permission, path)
    return true
  } catch (error) {
    if (error instanceof ApiError && [401, 403, 404].includes(error.status)) return false
    throw error
  }
}

/**
 * Returns the caller's scopes on a resource path; null if the caller has no access to the resource path. For a path
 * without an account these are the scopes of the actor.
 */
export async function effectiveScopes(context: Context, path: ResourcePath): Promise<readonly string[] | null> {
  const { actor } = context
  const { accountId, issuerId, orgId } = path
  const isWithinRestriction = (boundId: string | null, allowedIds: readonly string[] | null, id: string | undefined) =>
    (boundId === null || boundId === id) && (allowedIds === null || (id !== undefined && allowedIds.includes(id)))
  if (!isWithinRestriction(actor.issuerId, actor.issuerIds, issuerId)) return null
  if (!isWithinRestriction(actor.orgId, actor.orgIds, orgId)) return null
  if (accountId === undefined) return actor.scopes
  const isConsoleUser = actor.userId !== null && actor.issuerId === null
  if (orgId !== undefined && !actor.operator && actor.orgId === null) {
    // An administrator organization is in the system account, but its members usually administer another account.
    // Scopes on the system account therefore do not suffice to manage the organization. Only operators, the owner of
    // the administered account and the API keys of the organization can manage it.
    const administrators = await findAdministratorOrganization(context, { accountId, issuerId, orgId })
    if (administrators) return isConsoleUser && administrators.ownerUserId === actor.userId ? actor.scopes : null
  }
  if (isConsoleUser) return loader(context, consoleUserScopes).load(accountId)
  return actor.operator || actor.accountId === accountId ? actor.scopes : null
}

/**
 * Returns the scopes of a user of the console issuer on each account, limited by the `scope` claim of the token
 * (docs/contract.md#access-tokens-at-the-core-api); null for an account that the user has no access to. The scopes that
 * an operator has on the system account apply to every account.
 */
async function consoleUserScopes(
  context: Context,
  accountIds: readonly string[],
): Promise<(readonly string[] | null)[]> {
  const { actor } = context
  const { byAccount, system } = await authoritiesOf(context, actor.userId ?? '', accountIds)
  return accountIds.map((id) => {
    const accountScopes = byAccount.get(id)
    if (accountScopes === undefined && !actor.operator) return null
    return intersectScopes([...(accountScopes ?? []), ...(actor.operator ? system : [])], actor.scopes)
  })
}
