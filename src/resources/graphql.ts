/**
 * The words that every resource's GraphQL type speaks: scalars, scopes, places, pages. A root or relation field names
 * its scope with @Scope; the schema refuses to be built when one does not (architecture: guard at boot).
 */

import { GraphQLError, GraphQLScalarType } from 'graphql'
import { GraphQLJSONObject } from 'graphql-scalars'
import { ArgsType, type ClassType, Extensions, Field, ID, Int, ObjectType } from 'type-graphql'
import type { Action, PlatformScope, Stem } from '../kernel/scopes.js'

export const JSONObject = GraphQLJSONObject

/** Unix milliseconds (spec 2.1): an integer beyond GraphQL's 32 bits. */
export const Timestamp = new GraphQLScalarType<bigint | number, number>({
  name: 'Timestamp',
  description: 'Unix milliseconds, as an integer.',
  serialize: (value) => Number(value),
  parseValue: (value) => wholeNumber(value),
  parseLiteral: (node) => wholeNumber(node.kind === 'IntValue' ? Number(node.value) : undefined),
})

function wholeNumber(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new GraphQLError('Timestamp takes whole milliseconds.')
  return value
}

/** What a field demands: a scope on the place named by its arguments, or only a known caller (`me`). */
export type Demand = PlatformScope | 'authenticated'

/** Names the scope of a root or relation field, as `@Scope('issuers.clients', 'read')`. */
export const Scope = (stem: Stem, action: Action) => Extensions({ scope: `${stem}:${action}` satisfies PlatformScope })

/** Another scope that a root field needs besides its own. */
export const AndScope = (stem: Stem, action: Action) =>
  Extensions({ andScope: `${stem}:${action}` satisfies PlatformScope })

/**
 * The same for a relation out of an organization to something that lies in its issuer (`member.user`): whoever is bound
 * to the organization does not reach it.
 */
export const ScopeInIssuer = (stem: Stem, action: Action) =>
  Extensions({ scope: `${stem}:${action}` satisfies PlatformScope, inIssuer: true })

/** For fields that every authenticated caller may ask for. */
export const Authenticated = () => Extensions({ scope: 'authenticated' satisfies Demand })

/** For fields that only operators may ask for: principals of the system account (decisions part 0). */
export const OperatorOnly = () => Extensions({ scope: 'accounts:manage' satisfies Demand, operator: true })

/**
 * For mutations whose work cannot stand in one transaction, because something outside happens in the midst of it. They
 * have no price, and an Idempotency-Key keeps their answer after the work, not with it.
 */
export const CommitsItself = () => Extensions({ commitsItself: true })

/** For mutations that a person at the console signs in again for (decisions D25): see recent-sign-in. */
export const RecentSignIn = () => Extensions({ recentSignIn: true })

/** Micro-USD: an integer beyond GraphQL's 32 bits. */
export const MicroUsd = new GraphQLScalarType<bigint | number, number>({
  name: 'MicroUsd',
  description: 'Millionths of a US dollar, as an integer.',
  serialize: (value) => Number(value),
  parseValue: (value) => wholeAmount(value),
  parseLiteral: (node) => wholeAmount(node.kind === 'IntValue' ? Number(node.value) : undefined),
})

function wholeAmount(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value))
    throw new GraphQLError('MicroUsd takes whole micro-USD.')
  return value
}

@ArgsType()
export class AccountPlace {
  @Field(() => ID)
  accountId!: string
}

@ArgsType()
export class IssuerPlace extends AccountPlace {
  @Field(() => ID)
  issuerId!: string
}

@ArgsType()
export class OrganizationPlace extends IssuerPlace {
  @Field(() => ID)
  orgId!: string
}

/** What a search by name says of itself. */
export const searchOfNames =
  'The beginning of the name, in any case, or the id. What is found comes in the order of names.'

@ArgsType()
export class PageArgs {
  @Field(() => Int, { nullable: true, description: 'Page size, 1 to 100; 50 if not given.' })
  limit?: number | null

  @Field(() => String, { nullable: true, description: 'The nextCursor of the page before.' })
  cursor?: string | null
}

/** The arguments of a list that is searched by name. */
@ArgsType()
export class NamedPageArgs extends PageArgs {
  @Field(() => String, { nullable: true, description: searchOfNames })
  search?: string | null
}

/** The type of one page of a list (decisions D1): `@ObjectType() class ClientPage extends pageType(Client) {}`. */
export function pageType<T extends object>(Item: ClassType<T>) {
  @ObjectType({ description: 'One page of a list.' })
  abstract class PageType {
    @Field(() => [Item])
    data!: T[]

    @Field(() => String, { nullable: true, description: 'Null on the last page.' })
    nextCursor!: string | null

    @Field(() => Boolean)
    hasMore!: boolean
  }
  return PageType
}

/** The values of a closed list as type-graphql wants enums. Names are the wire's own: lower case. */
export const enumOf = <T extends string>(values: readonly T[]): { [K in T]: K } =>
  Object.fromEntries(values.map((value) => [value, value])) as { [K in T]: K }

/** Description of the arguments that stand on many mutations. */
export const ifMatchArg = {
  nullable: true,
  description: 'As the If-Match header: a quoted version, a list of them, or *.',
} as const
export const idempotencyKeyArg = {
  nullable: true,
  description: 'As the Idempotency-Key header: the same key and input within 24 hours gets the first answer again.',
} as const
