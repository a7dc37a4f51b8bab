/**
 * Scalars, decorators and argument types that all resources share. Every root field, and every relation field with
 * tenant data, declares its scope with `@Scope` or another of the decorators in this file; otherwise building the
 * schema fails (src/graphql/schema.ts).
 */

import { GraphQLError, GraphQLScalarType } from 'graphql'
import { GraphQLJSONObject } from 'graphql-scalars'
import { Arg, ArgsType, Extensions, Field, FieldResolver, ID, Int, Query } from 'type-graphql'
import { limits } from '../kernel/limits.js'
import type { PlatformScope, ScopeAction, ScopeResource } from '../kernel/scopes.js'
import type { FieldType } from './declaration.js'

export const JSONObject = GraphQLJSONObject

/** Unix milliseconds (docs/contract.md#resource-conventions), which exceed the 32 bits of the GraphQL type Int. */
export const Timestamp = new GraphQLScalarType<bigint | number, number>({
  name: 'Timestamp',
  description: 'Unix milliseconds, as an integer.',
  serialize: (value) => Number(value),
  parseValue: (value) => parseTimestamp(value),
  parseLiteral: (node) => parseTimestamp(node.kind === 'IntValue' ? Number(node.value) : undefined),
})

function parseTimestamp(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new GraphQLError('Timestamp must be an integer of Unix milliseconds.')
  return value
}

/**
 * The permission that a field requires: only authentication, as the query `me`, or a platform scope. A root field
 * requires the scope on the resource path in its arguments, and a relation field on the path of its parent.
 */
export type FieldScope = PlatformScope | 'authenticated'

/** The permission that a relation requires for one parent, with the resource path on which it is checked. */
export interface RelationPermission {
  scope: FieldScope
  accountId?: string
  issuerId?: string
  orgId?: string
}

/** GraphQL field extensions, which the decorators in this file set and src/graphql/field-extensions.ts reads. */
export interface FieldExtensions {
  scope?: FieldScope
  additionalScopes?: readonly PlatformScope[]
  operatorOnly?: boolean
  movesToIssuer?: boolean
  permissionOfParent?: (parent: never) => RelationPermission
  commitsItself?: boolean
  recentSignIn?: boolean
  responseStorage?: StorageOf
  once?: boolean
  graphqlOnly?: boolean
  inRest?: boolean
  restName?: string
  example?: unknown
  values?: { name: string; values: readonly string[] }
}

/**
 * How the response of a mutation is stored for its Idempotency-Key (docs/contract.md#idempotency-key). A response that
 * is never stored cannot be replayed, so a repeated request runs the mutation again.
 */
export type ResponseStorage = 'plain' | 'encrypted' | 'never'
/** How the response of a mutation is stored; if it depends on the input, a function of the unchecked input. */
export type StorageOf = ResponseStorage | ((input: Record<string, unknown>) => ResponseStorage)

/**
 * GraphQL does not type extensions. This function makes the decorators use the keys that the permission check reads.
 */
const guardExtensions = (extensions: FieldExtensions) => Extensions({ ...extensions })

/** Declares the required scope of a root or relation field, for example `@Scope('issuers.clients', 'read')`. */
export const Scope = (stem: ScopeResource, action: ScopeAction) => guardExtensions({ scope: `${stem}:${action}` })

/** Declares further scopes that a root field requires. */
export const AdditionalScopes = (...scopes: PlatformScope[]) => guardExtensions({ additionalScopes: scopes })

/**
 * Like `@Scope`, for a field that names an organization but returns a resource of the issuer, such as the relation
 * `user` of a member. A caller that is restricted to the organization cannot read the field.
 */
export const IssuerLevelScope = (stem: ScopeResource, action: ScopeAction) =>
  guardExtensions({ scope: `${stem}:${action}`, movesToIssuer: true })

/**
 * For relations whose required scope depends on the parent, such as `subject` of a note, which is a user or another
 * resource.
 * @param permissionOfParent returns the required permission for a parent
 */
export const ScopeByParent = <Parent>(permissionOfParent: (parent: Parent) => RelationPermission) =>
  guardExtensions({ scope: 'authenticated', permissionOfParent })

/** For fields that require an authenticated caller but no scope. */
export const Authenticated = () => guardExtensions({ scope: 'authenticated' })

/** For fields that only operators may use (docs/contract.md#notation). */
export const OperatorOnly = () => guardExtensions({ scope: 'accounts:manage', operatorOnly: true })

/**
 * For mutations that make an external call between two transactions. These mutations have no price. The response for
 * their Idempotency-Key is stored after the work, not in the transaction of the work.
 */
export const ManagesOwnTransactions = () => guardExtensions({ commitsItself: true })

/** For mutations that require a recent sign-in if the console sends them (docs/contract.md#recent-sign-in). */
export const RecentSignIn = () => guardExtensions({ recentSignIn: true })

/**
 * For mutations whose responses contain secrets: how the response is stored for its Idempotency-Key. `/v1` shows the
 * fields with `once: true` for these mutations only.
 */
export const ReturnsSecret = (responseStorage: StorageOf = 'never') => guardExtensions({ responseStorage })

/** A query. Its result is nullable, so that an error does not affect the other fields of the request. */
export const NullableQuery = (type: FieldType, description: string) => Query(type, { nullable: true, description })

/** A field that returns another resource or a page of a list. It is nullable for the same reason as a query. */
export const Relation = (type: FieldType, description: string) => FieldResolver(type, { nullable: true, description })

/** For relation fields that are part of the resource in `/v1`. */
export const InRest = () => guardExtensions({ inRest: true })

/** Returns the result of a mutation that has no other result: true after the work. */
export const trueAfter = (work: Promise<void>): Promise<true> => work.then(() => true)

/** Micro-USD, which can exceed the 32 bits of the GraphQL type Int. */
export const MicroUsd = new GraphQLScalarType<bigint | number, number>({
  name: 'MicroUsd',
  description: 'Millionths of a US dollar, as an integer.',
  serialize: (value) => Number(value),
  parseValue: (value) => parseMicroUsd(value),
  parseLiteral: (node) => parseMicroUsd(node.kind === 'IntValue' ? Number(node.value) : undefined),
})

function parseMicroUsd(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new GraphQLError('MicroUsd must be an integer of micro-USD.')
  return value
}

@ArgsType()
export class AccountPath {
  @Field(() => ID, { description: 'The id of the account.' })
  accountId!: string
}

@ArgsType()
export class IssuerPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the issuer.' })
  issuerId!: string
}

@ArgsType()
export class OrganizationPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the organization.' })
  orgId!: string
}

@ArgsType()
export class UserPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the user.' })
  userId!: string
}

/** Description of the argument `search` of lists with a search by name. */
const nameSearchDescription = 'A prefix of the name, in any case, or the id. The results are sorted by name.'

@ArgsType()
export class PageArgs {
  @Field(() => Int, { nullable: true, description: 'Page size, 1 to 100. The default is 50.' })
  limit?: number | null

  @Field(() => String, { nullable: true, description: 'The nextCursor of the previous page.' })
  cursor?: string | null
}

/** The arguments of a relation that returns a page. */
@ArgsType()
export class RelationArgs {
  @Field(() => Int, { defaultValue: limits.defaultRelationLimit, description: 'Page size, 1 to 100.' })
  limit!: number

  @Field(() => String, { nullable: true, description: 'The nextCursor of the previous page.' })
  cursor?: string | null
}

@ArgsType()
export class SearchablePageArgs extends PageArgs {
  @Field(() => String, { nullable: true, description: nameSearchDescription })
  search?: string | null
}

/** A parameter of mutations whose `/v1` form takes `If-Match`. */
export const IfMatch = () =>
  Arg('ifMatch', () => String, {
    nullable: true,
    description: 'Like the If-Match header: a quoted version, a list of quoted versions, or *.',
  })

/**
 * For mutations whose `/v1` form takes `Idempotency-Key`: adds the argument `idempotencyKey`, which
 * src/graphql/idempotent-mutation.ts reads. The method has no parameter for it.
 */
export const IdempotencyKey = (): MethodDecorator => (prototype, name) =>
  Arg('idempotencyKey', () => String, {
    nullable: true,
    description:
      'Like the Idempotency-Key header: the same key and input within 24 hours returns the first response again.',
  })(prototype, name as string, AFTER_ALL_PARAMETERS)

const AFTER_ALL_PARAMETERS = 99
