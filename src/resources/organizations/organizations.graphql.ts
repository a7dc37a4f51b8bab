import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import { checkPageLimit } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import type { Organization as OrganizationRow, User as UserRow } from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import {
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  OrganizationPath,
  pageType,
  Scope,
  SearchablePageArgs,
  Timestamp,
} from '../graphql-types.js'
import { ApiKeyPage } from '../keys/api-key.js'
import { apiKeysOfOrganizations } from '../keys/relations.js'
import { User } from '../users/users.graphql.js'
import { organizationsOfUsers } from './organization-loaders.js'
import {
  createOrganization,
  deleteOrganization,
  getOrganization,
  listOrganizations,
  type OrganizationStatus,
  type OrganizationType,
  organizationStatuses,
  organizationTypes,
  updateOrganization,
} from './organizations.js'

export const OrganizationStatusEnum = enumOf(organizationStatuses)
registerEnumType(OrganizationStatusEnum, { name: 'OrganizationStatus' })
export const OrganizationTypeEnum = enumOf(organizationTypes)
registerEnumType(OrganizationTypeEnum, { name: 'OrganizationType' })

@ObjectType({ description: 'A group of users of an issuer, for multi-tenancy.' })
export class Organization {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => String, { nullable: true })
  logoUrl!: string | null
  @Field(() => OrganizationTypeEnum, { nullable: true })
  orgType!: OrganizationType | null
  @Field(() => Int, { nullable: true, description: 'The maximum number of members. Null means no limit.' })
  maxMembers!: number | null
  @Field(() => [String], { description: 'Scopes that every active member has.' })
  defaultMemberScopes!: string[]
  @Field(() => [String])
  scopes!: string[]
  @Field(() => [String], { description: 'Scopes that the creator of the organization gets as its first member.' })
  creatorScopes!: string[]
  @Field(() => Boolean)
  invitationEnabled!: boolean
  @Field(() => String, { nullable: true })
  invitationMessage!: string | null
  @Field(() => JSONObject, { nullable: true })
  address!: object | null
  @Field(() => JSONObject)
  businessDetails!: object
  @Field(() => JSONObject)
  contact!: object
  @Field(() => JSONObject, { description: 'An open object. Lists can be filtered by mfa_required.' })
  security!: object
  @Field(() => JSONObject, { description: 'An open object. Lists can be filtered by enabled and only.' })
  sso!: object
  @Field(() => JSONObject)
  customFields!: object
  @Field(() => [JSONObject])
  socialLinks!: object[]
  @Field(() => OrganizationStatusEnum)
  status!: OrganizationStatus
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => String, { nullable: true })
  statusBy!: string | null
  @Field(() => String, { nullable: true })
  createdByUserId!: string | null
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class OrganizationPage extends pageType(Organization) {}

@ArgsType()
class OrganizationFilterArgs extends SearchablePageArgs {
  @Field(() => OrganizationStatusEnum, { nullable: true })
  status?: OrganizationStatus | null
  @Field(() => Boolean, { nullable: true, description: 'Filters by sso.enabled.' })
  ssoEnabled?: boolean | null
  @Field(() => Boolean, { nullable: true, description: 'Filters by sso.only.' })
  ssoOnly?: boolean | null
  @Field(() => Boolean, { nullable: true, description: 'Filters by security.mfa_required.' })
  mfaRequired?: boolean | null
  @Field(() => Boolean, { nullable: true })
  invitationEnabled?: boolean | null
}

@InputType()
class UpdateOrganizationInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  logoUrl?: string | null
  @Field(() => OrganizationTypeEnum, { nullable: true })
  orgType?: OrganizationType | null
  @Field(() => Int, { nullable: true })
  maxMembers?: number | null
  @Field(() => [String], { nullable: true })
  defaultMemberScopes?: string[] | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => [String], { nullable: true })
  creatorScopes?: string[] | null
  @Field(() => Boolean, { nullable: true })
  invitationEnabled?: boolean | null
  @Field(() => String, { nullable: true })
  invitationMessage?: string | null
  @Field(() => JSONObject, { nullable: true })
  address?: object | null
  @Field(() => JSONObject, { nullable: true })
  businessDetails?: object | null
  @Field(() => JSONObject, { nullable: true })
  contact?: object | null
  @Field(() => JSONObject, { nullable: true })
  security?: object | null
  @Field(() => JSONObject, { nullable: true })
  sso?: object | null
  @Field(() => JSONObject, { nullable: true })
  customFields?: object | null
  @Field(() => [JSONObject], { nullable: true })
  socialLinks?: object[] | null
  @Field(() => OrganizationStatusEnum, { nullable: true, description: 'active or suspended.' })
  status?: OrganizationStatus | null
  @Field(() => String, { nullable: true })
  statusReason?: string | null
  @Field(() => String, { nullable: true })
  statusBy?: string | null
  @Field(() => JSONObject, { nullable: true, description: 'Merged at the top level; null removes a key.' })
  metadata?: object | null
}

@InputType()
class CreateOrganizationInput extends UpdateOrganizationInput {
  @Field(() => String, {
    nullable: true,
    description: 'The creator, a user of the issuer, who becomes a member with creatorScopes.',
  })
  createdByUserId?: string | null
}

@Resolver(() => Organization)
export class OrganizationResolver {
  @Query(() => OrganizationPage, { nullable: true, description: 'Lists the organizations of an issuer, newest first.' })
  @Scope('issuers.organizations', 'read')
  organizations(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Args(() => OrganizationFilterArgs) filter: OrganizationFilterArgs,
  ) {
    return listOrganizations(context, path, filter, filter)
  }

  @Query(() => Organization, { nullable: true })
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Args(() => OrganizationPath) path: OrganizationPath) {
    return getOrganization(context, path)
  }

  @Mutation(() => Organization, {
    description: 'Creates an organization. If the creator is a user of the issuer, that user becomes its first member.',
  })
  @Scope('issuers.organizations', 'write')
  createOrganization(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => CreateOrganizationInput) input: CreateOrganizationInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createOrganization(context, path, input)
  }

  @Mutation(() => Organization)
  @Scope('issuers.organizations', 'write')
  updateOrganization(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('input', () => UpdateOrganizationInput) input: UpdateOrganizationInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateOrganization(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description:
      'Deletes an organization permanently. Its API keys are revoked, and its members, groups and invitations are deleted. Users stay.',
  })
  @Scope('issuers.organizations', 'delete')
  async deleteOrganization(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteOrganization(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => ApiKeyPage, {
    nullable: true,
    description: 'The newest API keys. Use `organizationApiKeys` for more pages.',
  })
  @Scope('issuers.organizations.api_keys', 'read')
  async apiKeys(
    @Ctx() context: Context,
    @Root() organization: OrganizationRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    const page = await pageLoader(context, apiKeysOfOrganizations, limit).load(organization.id)
    const suspended = organization.status === 'suspended'
    return { ...page, data: page.data.map((key) => ({ ...key, suspended })) }
  }
}

/**
 * The users module must not import the organizations module, so this resolver adds the field `organizations` to `User`.
 */
@Resolver(() => User)
export class UserOrganizationsResolver {
  @FieldResolver(() => OrganizationPage, {
    nullable: true,
    description: 'The organizations of the user, latest joined first.',
  })
  @Scope('issuers.organizations', 'read')
  async organizations(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
    @Arg('cursor', () => String, { nullable: true }) cursor?: string | null,
  ) {
    if (cursor === undefined || cursor === null) return pageLoader(context, organizationsOfUsers, limit).load(user.id)
    const [page] = await organizationsOfUsers(context, [user.id], checkPageLimit({ limit: limit ?? null }), cursor)
    return page
  }
}
