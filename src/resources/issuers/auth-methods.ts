/**
 * Authentication methods of an issuer (docs/contract.md#authentication-methods). The secrets of federated methods are
 * stored encrypted, and responses do not contain them.
 */
import { conflict, invalidField, invalidFields, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { type JsonObject, mergePatch } from '../../kernel/merge-patch.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type AuthMethod, type Prisma } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireAuthorityOfIssuer } from '../authority.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { type InIssuer, requireIssuer, whereBelowCursor, whereIssuerNotDeleted } from '../resource-path.js'
import { type AuthMethodKind, type AuthMethodPath, createRules, updateRules } from './auth-method.js'
import { type MethodSettings, readinessMessage } from './auth-method-readiness.js'
import { checkAuthMethodSettings } from './auth-method-settings.js'
import { requireConsoleSignInMethod } from './console-sign-in-method.js'
import { isUpstreamKind, type UpstreamSettings } from './upstream-settings.js'

/** Lists the authentication methods of an issuer, newest first. @throws invalid_request, not_found for the issuer */
export async function listAuthMethods(
  context: Context,
  path: InIssuer,
  request: PageRequest,
): Promise<Page<AuthMethod>> {
  const { accountId, issuerId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.authMethod.findMany({
    where: { AND: [{ accountId, issuerId, ...whereIssuerNotDeleted }, whereBelowCursor('am', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, path)
  return toPage(rows, limit)
}

const findAuthMethod = (context: Context, { accountId, issuerId, methodId }: AuthMethodPath) =>
  context.db.authMethod.findFirst({ where: { id: methodId, accountId, issuerId, ...whereIssuerNotDeleted } })

/** @throws not_found */
export async function getAuthMethod(context: Context, path: AuthMethodPath): Promise<AuthMethod> {
  const method = await findAuthMethod(context, path)
  if (!method) throw notFound('authentication method')
  return method
}

/**
 * Creates an authentication method. A method with which existing users can sign in requires the authority of the
 * issuer's users (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, not_found, conflict if the issuer already has a method of a kind that is
 *   allowed only once per issuer
 */
export async function createAuthMethod(context: Context, path: InIssuer, input: unknown): Promise<AuthMethod> {
  const { settings: requestedSettings, firstFactorOnly, ...values } = checkInput(createRules, input)
  checkKindFields(values.method, firstFactorOnly, requestedSettings !== undefined)
  const { settings, secrets } = checkAuthMethodSettings(context, values.method, requestedSettings ?? {}, {})
  return transaction(context, async (tx) => {
    await requireIssuer(tx, path)
    if (canSignInExistingUsers(values.method, settings)) await requireAuthorityOfIssuer(tx, path.issuerId)
    const now = tx.now()
    try {
      const method = await tx.db.authMethod.create({
        data: {
          id: newId('am', now),
          accountId: path.accountId,
          issuerId: path.issuerId,
          ...values,
          firstFactorOnly: isUpstreamKind(values.method),
          settings: settings as Prisma.InputJsonObject,
          secrets: secrets as Prisma.InputJsonObject,
          createdAt: now,
          updatedAt: now,
        },
      })
      await recordAuthMethodEvent(tx, 'issuer.auth_method.created', method)
      return method
    } catch (error) {
      if (isDuplicate(error)) throw conflict(`This issuer already has a ${values.method} method.`)
      throw error
    }
  })
}

/**
 * Updates an authentication method. `settings` is a JSON Merge Patch (RFC 7396); `method` is immutable. Enabling
 * sign-in with a first factor, changing the settings of a federated method and disabling a second factor affect all
 * users of the issuer, so these changes require the users' authority (docs/contract.md#authority-for-changes).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed, conflict for disabling the last usable
 *   sign-in method of the console
 */
export async function updateAuthMethod(
  context: Context,
  path: AuthMethodPath,
  input: unknown,
  ifMatch?: string | null,
) {
  const { settings, method, ...values } = checkInput(updateRules, input)
  if (method !== undefined)
    throw invalidField('method', 'immutable', 'cannot be changed. Delete this method and create another one.')
  return updateWithOptimisticLock<AuthMethod, Prisma.AuthMethodUncheckedUpdateManyInput>(context, {
    resourceName: 'authentication method',
    table: 'auth_methods',
    ifMatch,
    read: (tx) => findAuthMethod(tx, path),
    computeChanges: async (row, tx) => {
      const kind = row.method as AuthMethodKind
      if (values.firstFactorOnly !== undefined) checkKindFields(kind, values.firstFactorOnly, true)
      const merged =
        settings &&
        checkAuthMethodSettings(
          context,
          kind,
          mergePatch(row.settings, settings) as JsonObject,
          row.secrets as JsonObject,
        )
      // Existing users who have linked an upstream account can sign in again, even if link_by_email is false.
      const reenablesSignIn = values.enabledLogin === true && !row.enabledLogin && !isSecondFactor(kind)
      const changesProvider = isUpstreamKind(kind) && settings !== undefined
      if (reenablesSignIn || changesProvider || (values.enabledLogin === false && isEnabledSecondFactor(row)))
        await requireAuthorityOfIssuer(tx, path.issuerId)
      return {
        ...values,
        ...(merged as { settings: Prisma.InputJsonObject; secrets: Prisma.InputJsonObject } | undefined),
      }
    },
    write: async (tx, version, data) =>
      (await tx.db.authMethod.updateManyAndReturn({ where: { id: path.methodId, updatedAt: version }, data }))[0],
    afterWrite: async (tx, before, row) => {
      await requireConsoleSignInMethod(tx, row.issuerId)
      await recordAuthMethodEvent(tx, 'issuer.auth_method.updated', row, before)
    },
  })
}

/**
 * Deletes an authentication method. Deleting an enabled second factor requires the authority of the issuer's users.
 * @throws insufficient_scope, not_found, precondition_failed, conflict for the last usable sign-in method of the
 *   console
 */
export async function deleteAuthMethod(context: Context, path: AuthMethodPath, ifMatch?: string | null): Promise<void> {
  await updateWithOptimisticLock<AuthMethod, object>(context, {
    resourceName: 'authentication method',
    table: 'auth_methods',
    ifMatch,
    read: (tx) => findAuthMethod(tx, path),
    computeChanges: async (row, tx) => {
      if (isEnabledSecondFactor(row)) await requireAuthorityOfIssuer(tx, path.issuerId)
      return {}
    },
    writesMore: () => true,
    write: async (tx, version) => {
      const where = { id: path.methodId, updatedAt: version }
      const row = await tx.db.authMethod.findFirst({ where })
      return (await tx.db.authMethod.deleteMany({ where })).count === 1 ? row : null
    },
    afterWrite: async (tx, _, row) => {
      await requireConsoleSignInMethod(tx, row.issuerId)
      await recordAuthMethodEvent(tx, 'issuer.auth_method.deleted', row)
    },
  })
}

async function recordAuthMethodEvent(
  context: Context,
  type: 'issuer.auth_method.created' | 'issuer.auth_method.updated' | 'issuer.auth_method.deleted',
  row: AuthMethod,
  before?: AuthMethod,
): Promise<void> {
  const { accountId, issuerId, id } = row
  await recordEvent(context, type, {
    accountId,
    issuerId,
    target: { type: 'auth_method', id },
    data: { method: row.method, name: row.name },
    changes: before ? changesBetween('auth_method', before, row) : {},
  })
  await notify(context, 'issuer', issuerId)
}

/** Returns whether a kind of method can only be a second factor. */
const isSecondFactor = (method: string): boolean => method === 'totp' || method === 'backup_codes'

/**
 * Returns whether existing users can sign in with a new method. With a new federated method they can sign in only if
 * the method links upstream accounts to existing users by email address.
 */
const canSignInExistingUsers = (method: string, settings: unknown): boolean =>
  isUpstreamKind(method) ? (settings as UpstreamSettings).link_by_email !== false : !isSecondFactor(method)

/** Returns whether the method is enabled and users may have it as their second factor. A passkey can be one. */
const isEnabledSecondFactor = ({ method, enabledLogin }: AuthMethod): boolean =>
  enabledLogin && (isSecondFactor(method) || method === 'passkey')

/**
 * Checks that federated methods have `settings` and `first_factor_only: true`, and that other methods do not have
 * `first_factor_only` (docs/contract.md#authentication-methods).
 */
function checkKindFields(method: AuthMethodKind, firstFactorOnly: boolean | undefined, hasSettings: boolean): void {
  if (!isUpstreamKind(method)) {
    if (firstFactorOnly === undefined) return
    throw invalidField('firstFactorOnly', 'unknown_field', `is not allowed for the method ${method}.`)
  }
  const missing = [...(firstFactorOnly === undefined ? ['firstFactorOnly'] : []), ...(hasSettings ? [] : ['settings'])]
  const message = `is required for the method ${method}.`
  if (missing.length > 0) throw invalidFields(missing.map((field) => ({ field, code: 'required', message })))
  if (firstFactorOnly !== true)
    throw invalidField('firstFactorOnly', 'invalid_value', `must be true for the method ${method}.`)
}

/** Returns why a method is not ready and how to fix it (docs/contract.md#configuration-health); null if it is ready. */
export const readinessMessageOf = ({ method, settings, secrets }: AuthMethod): string | null =>
  readinessMessage({ method, settings: settings as JsonObject, secrets: secrets as MethodSettings['secrets'] }) ?? null

/**
 * Loads the newest authentication methods of several issuers in one query.
 * @returns a page per issuer, in the order of `issuerIds`
 */
export async function newestAuthMethodsOf(
  context: Context,
  issuerIds: readonly string[],
  limit: number,
): Promise<Page<AuthMethod>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, authMethods: { orderBy: { id: 'desc' }, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.authMethods]))
  return issuerIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
