/**
 * The `permissions` query: what the caller can do with a resource, for the console and for scripts. The query calls
 * `authorize` like the operations themselves, so that its result cannot differ from what the caller can really do.
 */
import { type GraphQLField, type GraphQLResolveInfo, isNonNullType } from 'graphql'
import { Args, ArgsType, Ctx, Field, ID, Info, ObjectType, Query, Resolver } from 'type-graphql'
import { effectiveScopes, isAuthorized, type ResourcePath } from '../access/authorize.js'
import { invalidField, notFound } from '../kernel/errors.js'
import { coveredScopes } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { AccountPath, Authenticated } from '../resources/graphql-types.js'
import { requireAccount, requireIssuer, requireOrganization } from '../resources/resource-path.js'
import { requiredPermissionOf, resourcePathOf } from './field-extensions.js'

@ObjectType({ description: 'The permissions of the caller on an account, issuer or organization.' })
class Permissions {
  @Field(() => [String], { description: 'The effective platform scopes, including those that other scopes imply.' })
  scopes!: string[]
  @Field(() => [String], { description: 'The names of the queries that the caller can run on this resource.' })
  queries!: string[]
  @Field(() => [String], { description: 'The names of the mutations that the caller can run on this resource.' })
  mutations!: string[]
}

@ArgsType()
class PermissionsPath extends AccountPath {
  @Field(() => ID, { nullable: true, description: 'The id of the issuer. Without it, the query is about the account.' })
  issuerId?: string | null
  @Field(() => ID, { nullable: true, description: 'The id of the organization, which requires `issuerId`.' })
  orgId?: string | null
}

type RootField = GraphQLField<unknown, Context>

@Resolver()
export class PermissionsResolver {
  @Query(() => Permissions, {
    nullable: true,
    description:
      'Returns what the caller can do on an account, issuer or organization. An operation can still reject its input.',
  })
  @Authenticated()
  async permissions(
    @Ctx() context: Context,
    @Args() args: PermissionsPath,
    @Info() { schema }: GraphQLResolveInfo,
  ): Promise<Permissions> {
    const path = resourcePathOf(Object.fromEntries(Object.entries(args).filter(([, id]) => id !== null)))
    const scopes = await requireAuthorityAt(context, path)
    const allowed = async (fields: Record<string, RootField>) => {
      const decisions = Object.values(fields).map(async (field) => ({
        field,
        isAllowed: await mayRun(context, field, path),
      }))
      return (await Promise.all(decisions)).flatMap(({ field, isAllowed }) => (isAllowed ? [field.name] : [])).sort()
    }
    return {
      scopes: coveredScopes(scopes),
      queries: await allowed(schema.getQueryType()?.getFields() ?? {}),
      mutations: await allowed(schema.getMutationType()?.getFields() ?? {}),
    }
  }
}

/**
 * Returns the caller's scopes on the resource.
 * @throws not_found if the resource does not exist or the caller has no access to it; invalid_request for an orgId
 *   without issuerId
 */
async function requireAuthorityAt(context: Context, path: ResourcePath): Promise<readonly string[]> {
  const { accountId = '', issuerId, orgId } = path
  if (orgId !== undefined && issuerId === undefined) {
    throw invalidField('issuerId', 'required', 'is required with orgId.')
  }
  const scopes = await effectiveScopes(context, path)
  if (scopes === null) throw notFound('resource')
  if (issuerId === undefined) await requireAccount(context, { accountId })
  else if (orgId === undefined) await requireIssuer(context, { accountId, issuerId })
  else await requireOrganization(context, { accountId, issuerId, orgId })
  return scopes
}

/**
 * Returns true if all IDs that a root field requires are in the path, and the caller can run the field with them. For
 * the path of an issuer, this includes fields that need only the ID of its account.
 */
async function mayRun(context: Context, field: RootField, path: ResourcePath): Promise<boolean> {
  const permission = requiredPermissionOf(field)
  const idArguments = field.args.filter(({ name }) => name in resourcePathOf({}))
  if (
    !permission ||
    idArguments.some(({ name, type }) => isNonNullType(type) && path[name as keyof ResourcePath] === undefined)
  )
    return false
  return isAuthorized(
    context,
    permission,
    Object.fromEntries(idArguments.map(({ name }) => [name, path[name as keyof ResourcePath]])),
  )
}
