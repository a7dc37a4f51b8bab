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
import { pageLoader } from '../../platform/postgres/loader.js'
import {
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  OrganizationPath,
  PageArgs,
  pageType,
  Scope,
  SearchablePageArgs,
  Timestamp,
} from '../graphql-types.js'
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
import { memberSearchDescription, OrganizationMember, OrganizationMemberPage } from './members.graphql.js'
import { newestGroupsOf, newestMembersOfGroups } from './organization-loaders.js'
import { Organization } from './organizations.graphql.js'

@ObjectType({
  description: 'A named set of members of an organization. Active members have the scopes of the group.',
})
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
class GroupPath extends OrganizationPath {
  @Field(() => ID)
  groupId!: string
}

@ArgsType()
class GroupMemberPath extends GroupPath {
  @Field(() => ID, { description: 'The id of the user.' })
  memberId!: string
}

@InputType()
class CreateOrganizationGroupInput {
  @Field(() => String, { description: 'Unique in the organization.' })
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
  @Field(() => ID, { description: 'The user id of a member of the organization.' })
  memberId!: string
}

@ArgsType()
class GroupMemberFilter extends PageArgs {
  @Field(() => String, { nullable: true, description: memberSearchDescription })
  search?: string | null
}

@Resolver(() => OrganizationGroup)
export class GroupResolver {
  @Query(() => OrganizationGroupPage, {
    nullable: true,
    description: 'Lists the groups of an organization, newest first.',
  })
  @Scope('issuers.organizations.groups', 'read')
  organizationGroups(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Args(() => SearchablePageArgs) page: SearchablePageArgs,
  ) {
    return listGroups(context, path, page)
  }

  @Query(() => OrganizationGroup, { nullable: true })
  @Scope('issuers.organizations.groups', 'read')
  organizationGroup(@Ctx() context: Context, @Args(() => GroupPath) path: GroupPath) {
    return getGroup(context, path)
  }

  @Mutation(() => OrganizationGroup)
  @Scope('issuers.organizations.groups', 'write')
  createOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('input', () => CreateOrganizationGroupInput) input: CreateOrganizationGroupInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createGroup(context, path, input)
  }

  @Mutation(() => OrganizationGroup)
  @Scope('issuers.organizations.groups', 'write')
  updateOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => GroupPath) path: GroupPath,
    @Arg('input', () => UpdateOrganizationGroupInput) input: UpdateOrganizationGroupInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateGroup(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes a group. Its members stay in the organization.' })
  @Scope('issuers.organizations.groups', 'delete')
  async deleteOrganizationGroup(
    @Ctx() context: Context,
    @Args(() => GroupPath) path: GroupPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteGroup(context, path, ifMatch)
    return true
  }

  @Query(() => OrganizationMemberPage, { nullable: true })
  @Scope('issuers.organizations.groups', 'read')
  organizationGroupMembers(
    @Ctx() context: Context,
    @Args(() => GroupPath) path: GroupPath,
    @Args(() => GroupMemberFilter) filter: GroupMemberFilter,
  ) {
    return listGroupMembers(context, path, filter)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.groups', 'write')
  addOrganizationGroupMember(
    @Ctx() context: Context,
    @Args(() => GroupPath) path: GroupPath,
    @Arg('input', () => AddOrganizationGroupMemberInput) input: AddOrganizationGroupMemberInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addGroupMember(context, path, input)
  }

  @Mutation(() => Boolean)
  @Scope('issuers.organizations.groups', 'delete')
  async removeOrganizationGroupMember(@Ctx() context: Context, @Args(() => GroupMemberPath) path: GroupMemberPath) {
    await removeGroupMember(context, path)
    return true
  }

  @FieldResolver(() => OrganizationMemberPage, {
    nullable: true,
    description: 'The members who joined last. Use `organizationGroupMembers` for more pages.',
  })
  @Scope('issuers.organizations.groups', 'read')
  members(
    @Ctx() context: Context,
    @Root() group: Group,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestMembersOfGroups, limit).load(group.id)
  }

  @FieldResolver(() => Int)
  memberCount(@Root() group: Group): number {
    return group._count.members
  }
}

@Resolver(() => Organization)
export class OrganizationGroupsResolver {
  @FieldResolver(() => OrganizationGroupPage, {
    nullable: true,
    description: 'The newest groups. Use `organizationGroups` for more pages.',
  })
  @Scope('issuers.organizations.groups', 'read')
  groups(
    @Ctx() context: Context,
    @Root() organization: Organization,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestGroupsOf, limit).load(organization.id)
  }
}
