import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Organization as OrganizationRow } from '../../platform/postgres/database.js'
import { relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, Input, UpdateInput } from '../declaration.js'
import {
  IdempotencyKey,
  IfMatch,
  NullableQuery,
  OrganizationPath,
  Relation,
  RelationArgs,
  Scope,
  SearchablePageArgs,
  trueAfter,
} from '../graphql-types.js'
import {
  AddOrganizationGroupMemberInput,
  GroupMemberFilter,
  GroupMemberPath,
  GroupPath,
  OrganizationGroup,
  OrganizationGroupPage,
} from './group.js'
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
import { OrganizationMember, OrganizationMemberPage } from './member.js'
import { Organization } from './organization.js'
import { newestGroupsOf, newestMembersOfGroups, pathOf } from './organization-loaders.js'

@Resolver(() => OrganizationGroup)
export class GroupResolver {
  @NullableQuery(
    () => OrganizationGroupPage,
    'Lists the groups of an organization, newest first; with `search`, in the order of their names.',
  )
  @Scope('issuers.organizations.groups', 'read')
  organizationGroups(@Ctx() context: Context, @Args() path: OrganizationPath, @Args() page: SearchablePageArgs) {
    return listGroups(context, path, page)
  }

  @NullableQuery(() => OrganizationGroup, 'Returns a group of an organization.')
  @Scope('issuers.organizations.groups', 'read')
  organizationGroup(@Ctx() context: Context, @Args() path: GroupPath) {
    return getGroup(context, path)
  }

  @Mutation(() => OrganizationGroup, { description: 'Creates a group without members.' })
  @IdempotencyKey()
  @Scope('issuers.organizations.groups', 'write')
  createOrganizationGroup(
    @Ctx() context: Context,
    @Args() path: OrganizationPath,
    @CreateInput(OrganizationGroup) input: object,
  ) {
    return createGroup(context, path, input)
  }

  @Mutation(() => OrganizationGroup, {
    description: 'Changes the given fields of a group. New scopes apply to all members of the group immediately.',
  })
  @Scope('issuers.organizations.groups', 'write')
  updateOrganizationGroup(
    @Ctx() context: Context,
    @Args() path: GroupPath,
    @UpdateInput(OrganizationGroup) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateGroup(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes a group. Its members stay in the organization.' })
  @Scope('issuers.organizations.groups', 'delete')
  deleteOrganizationGroup(@Ctx() context: Context, @Args() path: GroupPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteGroup(context, path, ifMatch))
  }

  @NullableQuery(
    () => OrganizationMemberPage,
    'Lists the members of a group, in the order in which they joined the organization, latest first.',
  )
  @Scope('issuers.organizations.groups', 'read')
  organizationGroupMembers(@Ctx() context: Context, @Args() path: GroupPath, @Args() filter: GroupMemberFilter) {
    return listGroupMembers(context, path, filter)
  }

  @Mutation(() => OrganizationMember, { description: 'Adds a member of the organization to a group.' })
  @IdempotencyKey()
  @Scope('issuers.organizations.groups', 'write')
  addOrganizationGroupMember(
    @Ctx() context: Context,
    @Args() path: GroupPath,
    @Input(AddOrganizationGroupMemberInput) input: object,
  ) {
    return addGroupMember(context, path, input)
  }

  @Mutation(() => Boolean, {
    description: 'Removes a member from a group. The member stays in the organization.',
  })
  @Scope('issuers.organizations.groups', 'delete')
  removeOrganizationGroupMember(@Ctx() context: Context, @Args() path: GroupMemberPath) {
    return trueAfter(removeGroupMember(context, path))
  }

  @Relation(
    () => OrganizationMemberPage,
    'The members of the group, in the order in which they joined the organization, latest first.',
  )
  @Scope('issuers.organizations.groups', 'read')
  members(@Ctx() context: Context, @Root() group: Group, @Args() page: RelationArgs) {
    return relatedPage(context, page, group.id, newestMembersOfGroups, () =>
      listGroupMembers(context, { ...group, groupId: group.id }, page),
    )
  }

  @FieldResolver()
  memberCount(@Root() group: Group): number {
    return group._count.members
  }
}

@Resolver(() => Organization)
export class OrganizationGroupsResolver {
  @Relation(() => OrganizationGroupPage, 'The groups of the organization, newest first.')
  @Scope('issuers.organizations.groups', 'read')
  groups(@Ctx() context: Context, @Root() org: OrganizationRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, org.id, newestGroupsOf, () => listGroups(context, pathOf(org), page))
  }
}
