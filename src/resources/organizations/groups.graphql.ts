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
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { pageLoader } from '../../platform/loader.js'
import {
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  NamedPageArgs,
  OrganizationPlace,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import {
  addGroupMember,
  createGroup,
  deleteGroup,
  type Group,
  getGroup,
  listGroupMembers,
  listGroups,
  removeGroupMember,
  updateGroup,
} from './groups.js'
import { OrganizationMember, OrganizationMemberPage, searchOfMembers } from './members.graphql.js'
import { Organization } from './organizations.graphql.js'
import { groupsOf, membersOfGroups } from './relations.js'

@ObjectType({ description: 'A named set of members whose scopes they all have (decisions D10).' })
export class OrganizationGroup {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  orgId!: string
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => [String])
  scopes!: string[]
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class OrganizationGroupPage extends pageType(OrganizationGroup) {}

@ArgsType()
class GroupPlaceArgs extends OrganizationPlace {
  @Field(() => ID)
  groupId!: string
}

@ArgsType()
class GroupMemberPlaceArgs extends GroupPlaceArgs {
  @Field(() => ID, { description: 'The user id.' })
  memberId!: string
}

@InputType()
class CreateOrganizationGroupInput {
  @Field(() => String, { description: 'One of its kind in the organization.' })
  name!: string
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class UpdateOrganizationGroupInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class AddOrganizationGroupMemberInput {
  @Field(() => ID, { description: 'A member of the organization, by its user id.' })
  memberId!: string
}

@ArgsType()
class GroupMemberFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: searchOfMembers })
  search?: string | null
}

@Resolver(() => OrganizationGroup)
export class GroupResolver {
  @Query(() => OrganizationGroupPage, { description: 'Newest first.' })
  @Scope('issuers.organizations.groups', 'read')
  organizationGroups(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Args(() => NamedPageArgs) page: NamedPageArgs,
  ) {
    return listGroups(context, place, page)
  }

  @Query(() => OrganizationGroup)
  @Scope('issuers.organizations.groups', 'read')
  organizationGroup(@Ctx() context: Context, @Args(() => GroupPlaceArgs) place: GroupPlaceArgs) {
    return getGroup(context, place)
  }

  @Mutation(() => OrganizationGroup)
  @Scope('issuers.organizations.groups', 'write')
  createOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('input', () => CreateOrganizationGroupInput) input: CreateOrganizationGroupInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createGroup(context, place, input)
  }

  @Mutation(() => OrganizationGroup)
  @Scope('issuers.organizations.groups', 'write')
  updateOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => GroupPlaceArgs) place: GroupPlaceArgs,
    @Arg('input', () => UpdateOrganizationGroupInput) input: UpdateOrganizationGroupInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateGroup(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Its members stay members of the organization.' })
  @Scope('issuers.organizations.groups', 'delete')
  async deleteOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => GroupPlaceArgs) place: GroupPlaceArgs,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteGroup(context, place, ifMatch)
    return true
  }

  @Query(() => OrganizationMemberPage)
  @Scope('issuers.organizations.groups', 'read')
  organizationGroupMembers(
    @Ctx() context: Context,
    @Args(() => GroupPlaceArgs) place: GroupPlaceArgs,
    @Args(() => GroupMemberFilter) filter: GroupMemberFilter,
  ) {
    return listGroupMembers(context, place, filter)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.groups', 'write')
  addOrganizationGroupMember(
    @Ctx() context: Context,
    @Args(() => GroupPlaceArgs) place: GroupPlaceArgs,
    @Arg('input', () => AddOrganizationGroupMemberInput) input: AddOrganizationGroupMemberInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addGroupMember(context, place, input)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.organizations.groups', 'delete')
  async removeOrganizationGroupMember(
    @Ctx() context: Context,
    @Args(() => GroupMemberPlaceArgs) place: GroupMemberPlaceArgs,
  ) {
    await removeGroupMember(context, place)
    return true
  }

  @FieldResolver(() => OrganizationMemberPage, {
    description: 'The latest joined; page on with `organizationGroupMembers`.',
  })
  @Scope('issuers.organizations.groups', 'read')
  members(
    @Ctx() context: Context,
    @Root() group: Group,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, membersOfGroups, limit).load(group.id)
  }

  @FieldResolver(() => Int)
  memberCount(@Root() group: Group): number {
    return group._count.members
  }
}

@Resolver(() => Organization)
export class OrganizationGroupsResolver {
  @FieldResolver(() => OrganizationGroupPage, { description: 'The newest groups; page on with `organizationGroups`.' })
  @Scope('issuers.organizations.groups', 'read')
  groups(
    @Ctx() context: Context,
    @Root() organization: Organization,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, groupsOf, limit).load(organization.id)
  }
}
