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
import { limitOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import type { Organization as OrganizationRow, User as UserRow } from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import {
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  NamedPageArgs,
  OrganizationPlace,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import { ApiKeyPage } from '../keys/api-keys.graphql.js'
import { apiKeysOf } from '../keys/relations.js'
import { User } from '../users/users.graphql.js'
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
import { organizationsOfUsers } from './relations.js'

export const OrganizationStatusEnum = enumOf(organizationStatuses)
registerEnumType(OrganizationStatusEnum, { name: 'OrganizationStatus' })
export const OrganizationTypeEnum = enumOf(organizationTypes)
registerEnumType(OrganizationTypeEnum, { name: 'OrganizationType' })

@ObjectType({ description: 'A group of users of an issuer, for multi-tenancy (spec 2.8).' })
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
  @Field(() => Int, { nullable: true, description: 'Null: any number.' })
  maxMembers!: number | null
  @Field(() => [String], { description: 'What every active member has.' })
  defaultMemberScopes!: string[]
  @Field(() => [String])
  scopes!: string[]
  @Field(() => [String], { description: 'What the user who makes it gets.' })
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
  @Field(() => JSONObject, { description: 'mfa_required is what the list filters by.' })
  security!: object
  @Field(() => JSONObject, { description: 'enabled and only are what the list filters by.' })
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
class OrganizationFilterArgs extends NamedPageArgs {
  @Field(() => OrganizationStatusEnum, { nullable: true })
  status?: OrganizationStatus | null
  @Field(() => Boolean, { nullable: true, description: 'By sso.enabled.' })
  ssoEnabled?: boolean | null
  @Field(() => Boolean, { nullable: true, description: 'By sso.only.' })
  ssoOnly?: boolean | null
  @Field(() => Boolean, { nullable: true, description: 'By security.mfa_required.' })
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
  @Field(() => JSONObject, { nullable: true, description: 'A PATCH merges it at the top level; null removes a key.' })
  metadata?: object | null
}

@InputType()
class CreateOrganizationInput extends UpdateOrganizationInput {
  @Field(() => String, {
    nullable: true,
    description: 'A user of the issuer, who becomes a member with creatorScopes.',
  })
  createdByUserId?: string | null
}

@Resolver(() => Organization)
export class OrganizationResolver {
  @Query(() => OrganizationPage, { description: 'Newest first.' })
  @Scope('issuers.organizations', 'read')
  organizations(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => OrganizationFilterArgs) filter: OrganizationFilterArgs,
  ) {
    return listOrganizations(context, place, filter, filter)
  }

  @Query(() => Organization)
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Args(() => OrganizationPlace) place: OrganizationPlace) {
    return getOrganization(context, place)
  }

  @Mutation(() => Organization, { description: 'A user of the issuer who makes it becomes its first member.' })
  @Scope('issuers.organizations', 'write')
  createOrganization(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => CreateOrganizationInput) input: CreateOrganizationInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createOrganization(context, place, input)
  }

  @Mutation(() => Organization)
  @Scope('issuers.organizations', 'write')
  updateOrganization(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('input', () => UpdateOrganizationInput) input: UpdateOrganizationInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateOrganization(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'For good: API keys are revoked, members and groups go, users stay.' })
  @Scope('issuers.organizations', 'delete')
  async deleteOrganization(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteOrganization(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => ApiKeyPage, { description: 'The newest API keys; page on with `organizationApiKeys`.' })
  @Scope('issuers.organizations.api_keys', 'read')
  async apiKeys(
    @Ctx() context: Context,
    @Root() organization: OrganizationRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    const page = await pageLoader(context, apiKeysOf, limit).load(organization.id)
    const suspended = organization.status === 'suspended'
    return { ...page, data: page.data.map((key) => ({ ...key, suspended })) }
  }
}

/** Users do not know of organizations, so the way from one to the other stands here. */
@Resolver(() => User)
export class UserOrganizationsResolver {
  @FieldResolver(() => OrganizationPage, { description: 'Those that it is a member of, the latest joined first.' })
  @Scope('issuers.organizations', 'read')
  async organizations(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
    @Arg('cursor', () => String, { nullable: true }) cursor?: string | null,
  ) {
    if (cursor === undefined || cursor === null) return pageLoader(context, organizationsOfUsers, limit).load(user.id)
    const [page] = await organizationsOfUsers(context, [user.id], limitOf({ limit: limit ?? null }), cursor)
    return page
  }
}
