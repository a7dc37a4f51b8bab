import { Args, Ctx, Mutation, Resolver, Root } from 'type-graphql'
import { checkPageLimit } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import type {
  ApiKey as ApiKeyRow,
  Organization as OrganizationRow,
  User as UserRow,
} from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import {
  IdempotencyKey,
  IfMatch,
  IssuerPath,
  NullableQuery,
  OrganizationPath,
  Relation,
  RelationArgs,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { ApiKey, ApiKeyPage } from '../keys/api-key.js'
import { listApiKeys } from '../keys/api-keys.js'
import { apiKeysOfOrganizations } from '../keys/relations.js'
import { User } from '../users/user.js'
import { Organization, OrganizationFilter, OrganizationPage } from './organization.js'
import { organizationsById, organizationsOfUsers, pathOf } from './organization-loaders.js'
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  updateOrganization,
} from './organizations.js'

@Resolver(() => Organization)
export class OrganizationResolver {
  @NullableQuery(
    () => OrganizationPage,
    'Lists the organizations of an issuer, newest first; with `search`, in the order of their names.',
  )
  @Scope('issuers.organizations', 'read')
  organizations(@Ctx() context: Context, @Args() path: IssuerPath, @Args() filter: OrganizationFilter) {
    return listOrganizations(context, path, filter)
  }

  @NullableQuery(() => Organization, 'Returns an organization of an issuer.')
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Args() path: OrganizationPath) {
    return getOrganization(context, path)
  }

  @Mutation(() => Organization, {
    description: 'Creates an organization. If the creator is a user of the issuer, that user becomes its first member.',
  })
  @IdempotencyKey()
  @Scope('issuers.organizations', 'write')
  createOrganization(@Ctx() context: Context, @Args() path: IssuerPath, @CreateInput(Organization) input: object) {
    return createOrganization(context, path, input)
  }

  @Mutation(() => Organization, { description: 'Changes the given fields of an organization.' })
  @Scope('issuers.organizations', 'write')
  updateOrganization(
    @Ctx() context: Context,
    @Args() path: OrganizationPath,
    @UpdateInput(Organization) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateOrganization(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description:
      'Deletes an organization permanently. Its API keys are revoked, and its members, groups and invitations are deleted. Users stay.',
  })
  @Scope('issuers.organizations', 'delete')
  deleteOrganization(@Ctx() context: Context, @Args() path: OrganizationPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteOrganization(context, path, ifMatch))
  }

  @Relation(() => ApiKeyPage, 'The API keys of the organization, newest first.')
  @Scope('issuers.organizations.api_keys', 'read')
  async apiKeys(@Ctx() context: Context, @Root() org: OrganizationRow, @Args() page: RelationArgs) {
    const keys = await relatedPage(context, page, org.id, apiKeysOfOrganizations, () =>
      listApiKeys(context, pathOf(org), page),
    )
    return { ...keys, data: keys.data.map((key) => ({ ...key, suspended: org.status === 'suspended' })) }
  }
}

/**
 * The users module must not import the organizations module, so this resolver adds the field `organizations` to `User`.
 */
@Resolver(() => User)
export class UserOrganizationsResolver {
  @Relation(() => OrganizationPage, 'The organizations of the user, latest joined first.')
  @Scope('issuers.organizations', 'read')
  organizations(@Ctx() context: Context, @Root() user: UserRow, @Args() page: RelationArgs) {
    const list = async () => (await organizationsOfUsers(context, [user.id], checkPageLimit(page), page.cursor))[0]!
    return relatedPage(context, page, user.id, organizationsOfUsers, list)
  }
}

/** The keys module must not import the organizations module, so this resolver adds `organization` to `ApiKey`. */
@Resolver(() => ApiKey)
export class ApiKeyOrganizationResolver {
  @Relation(() => Organization, 'The organization that owns the key; null for a key of an account.')
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Root() { orgId }: ApiKeyRow) {
    return orgId === null ? null : loader(context, organizationsById).load(orgId)
  }
}
