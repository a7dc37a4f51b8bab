/**
 * What the caller may do at a place, for the console and for scripts. Nothing is decided here: each root field's demand
 * is put to the guard, so that this answer and the guard's later verdict cannot differ.
 */
import { type GraphQLField, type GraphQLResolveInfo, isNonNullType } from 'graphql'
import { Args, ArgsType, Ctx, Field, ID, Info, ObjectType, Query, Resolver } from 'type-graphql'
import { authorityAt, isAuthorized, type Place } from '../access/guard.js'
import { invalidField, notFound } from '../kernel/errors.js'
import { coveredBy } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { AccountPlace, Authenticated } from '../resources/graphql.js'
import { requireAccount, requireIssuer, requireOrganization } from '../resources/place.js'
import { demandOf, placeOf } from './demands.js'

@ObjectType({ description: 'What the caller may do at a place.' })
class Permissions {
  @Field(() => [String], { description: 'The platform scopes in force there, each by its name; none is implied.' })
  scopes!: string[]
  @Field(() => [String], { description: 'Queries that the caller may run with the ids of this place.' })
  queries!: string[]
  @Field(() => [String], { description: 'Mutations that the caller may run with the ids of this place.' })
  mutations!: string[]
}

@ArgsType()
class PermissionsPlace extends AccountPlace {
  @Field(() => ID, { nullable: true })
  issuerId?: string | null
  @Field(() => ID, { nullable: true, description: 'With its issuerId.' })
  orgId?: string | null
}

type RootField = GraphQLField<unknown, Context>

@Resolver()
export class PermissionsResolver {
  @Query(() => Permissions, {
    description:
      'What you may do in an account, an issuer or an organization. An operation may still refuse its input.',
  })
  @Authenticated()
  async permissions(
    @Ctx() context: Context,
    @Args(() => PermissionsPlace) given: PermissionsPlace,
    @Info() { schema }: GraphQLResolveInfo,
  ): Promise<Permissions> {
    const place = placeOf(Object.fromEntries(Object.entries(given).filter(([, id]) => id !== null)))
    const scopes = await authorityIn(context, place)
    const allowed = async (fields: Record<string, RootField>) => {
      const asked = Object.values(fields).map(async (field) => ({ field, may: await mayRun(context, field, place) }))
      return (await Promise.all(asked)).flatMap(({ field, may }) => (may ? [field.name] : [])).sort()
    }
    return {
      scopes: coveredBy(scopes),
      queries: await allowed(schema.getQueryType()?.getFields() ?? {}),
      mutations: await allowed(schema.getMutationType()?.getFields() ?? {}),
    }
  }
}

/** @throws not_found where the caller has no business or nothing is, invalid_request for an organization without issuer */
async function authorityIn(context: Context, place: Place): Promise<readonly string[]> {
  const { accountId = '', issuerId, orgId } = place
  if (orgId !== undefined && issuerId === undefined) {
    throw invalidField('issuerId', 'required', 'is required with orgId.')
  }
  const scopes = await authorityAt(context, place)
  if (scopes === null) throw notFound('resource')
  if (issuerId === undefined) await requireAccount(context, { accountId })
  else if (orgId === undefined) await requireIssuer(context, { accountId, issuerId })
  else await requireOrganization(context, { accountId, issuerId, orgId })
  return scopes
}

/**
 * A field that needs none but these ids is put to the guard with those of them that it takes: with an issuer's, the
 * operations of its account are told as well.
 */
async function mayRun(context: Context, field: RootField, place: Place): Promise<boolean> {
  const demand = demandOf(field)
  const ids = field.args.filter(({ name }) => name in placeOf({}))
  if (!demand || ids.some(({ name, type }) => isNonNullType(type) && place[name as keyof Place] === undefined))
    return false
  return isAuthorized(context, demand, Object.fromEntries(ids.map(({ name }) => [name, place[name as keyof Place]])))
}
