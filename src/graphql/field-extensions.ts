/** Reads what the decorators of src/resources/graphql-types.ts and declaration.ts declare for the fields of the schema. */
import type { GraphQLField } from 'graphql'
import type { RequiredPermission, ResourcePath } from '../access/authorize.js'
import type { Context } from '../platform/context.js'
import { rulesOfInput } from '../resources/declaration.js'
import type { FieldExtensions, RelationPermission, ResponseStorage, StorageOf } from '../resources/graphql-types.js'

export { rulesOfInput }

/** Returns the declared extensions of a field. */
export const extensionsOf = (field: GraphQLField<unknown, Context>): FieldExtensions => field.extensions

/** Returns the permission that a field requires; undefined if its decorators declare none. */
export function requiredPermissionOf(field: GraphQLField<unknown, Context>): RequiredPermission | undefined {
  const { scope, additionalScopes, operatorOnly, movesToIssuer } = extensionsOf(field)
  if (scope === undefined) return undefined
  const permission: RequiredPermission = { scope }
  if (additionalScopes) permission.additionalScopes = additionalScopes
  if (operatorOnly) permission.operatorOnly = operatorOnly
  if (movesToIssuer) permission.movesToIssuer = movesToIssuer
  return permission
}

/** Returns the permission that a relation requires for a parent (`@ScopeByParent`); undefined for other fields. */
export const permissionOfParent = (
  field: GraphQLField<unknown, Context>,
  parent: unknown,
): RelationPermission | undefined => extensionsOf(field).permissionOfParent?.(parent as never)

/** Returns true if the field requires a recent sign-in of console users (docs/contract.md#recent-sign-in). */
export const requiresRecentSignIn = (field: GraphQLField<unknown, Context>): boolean =>
  extensionsOf(field).recentSignIn === true

/** Returns true if the resolver of the field commits its own transactions (`@ManagesOwnTransactions`). */
export const commitsItself = (field: GraphQLField<unknown, Context>): boolean =>
  extensionsOf(field).commitsItself === true

/** Returns how the response of a mutation is stored (`@ReturnsSecret`); undefined if it contains no secret. */
export const responseStorageOf = (field: GraphQLField<unknown, Context>): StorageOf | undefined =>
  extensionsOf(field).responseStorage

/** Returns how the response of a mutation to an unchecked input is stored. */
export function storageOf(field: GraphQLField<unknown, Context>, input: Record<string, unknown>): ResponseStorage {
  const storage = responseStorageOf(field) ?? 'plain'
  return typeof storage === 'function' ? storage(input) : storage
}

/** Returns the resource path of the arguments `accountId`, `issuerId` and `orgId`. */
export const resourcePathOf = ({ accountId, issuerId, orgId }: Record<string, unknown>): ResourcePath => ({
  accountId: accountId as string | undefined,
  issuerId: issuerId as string | undefined,
  orgId: orgId as string | undefined,
})
