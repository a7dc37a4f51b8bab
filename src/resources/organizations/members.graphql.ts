import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import { checkPageLimit } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import type { Organization as OrganizationRow } from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import {
  IdempotencyKey,
  IssuerLevelScope,
  NullableQuery,
  OrganizationPath,
  Relation,
  RelationArgs,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { User } from '../users/user.js'
import { OrganizationGroupPage } from './group.js'
import { MemberFilter, MemberPath, OrganizationMember, OrganizationMemberPage } from './member.js'
import { listMembers } from './member-list.js'
import {
  addMember,
  effectiveScopes,
  getMember,
  groupIdsOf,
  type Member,
  removeMember,
  updateMember,
} from './members.js'
import { Organization } from './organization.js'
import { groupsOfMembers, newestMembersOf, organizationsById, pathOf, usersOf } from './organization-loaders.js'

@Resolver(() => OrganizationMember)
export class MemberResolver {
  @NullableQuery(() => OrganizationMemberPage, 'Lists the members of an organization, latest joined first.')
  @Scope('issuers.organizations.members', 'read')
  organizationMembers(@Ctx() context: Context, @Args() path: OrganizationPath, @Args() filter: MemberFilter) {
    return listMembers(context, path, filter)
  }

  @NullableQuery(() => OrganizationMember, 'Returns the membership of a user.')
  @Scope('issuers.organizations.members', 'read')
  organizationMember(@Ctx() context: Context, @Args() path: MemberPath) {
    return getMember(context, path)
  }

  @Mutation(() => OrganizationMember, {
    description: 'Adds a user of the issuer to an organization, without an invitation.',
  })
  @IdempotencyKey()
  @Scope('issuers.organizations.members', 'write')
  addOrganizationMember(
    @Ctx() context: Context,
    @Args() path: OrganizationPath,
    @CreateInput(OrganizationMember, { name: 'AddOrganizationMemberInput' }) input: object,
  ) {
    return addMember(context, path, input)
  }

  @Mutation(() => OrganizationMember, {
    description: 'Changes the given fields of a member. `scopes` and `groups` are replaced.',
  })
  @Scope('issuers.organizations.members', 'write')
  updateOrganizationMember(
    @Ctx() context: Context,
    @Args() path: MemberPath,
    @UpdateInput(OrganizationMember) input: object,
  ) {
    return updateMember(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Removes a member from the organization. The user stays.' })
  @Scope('issuers.organizations.members', 'delete')
  removeOrganizationMember(@Ctx() context: Context, @Args() path: MemberPath) {
    return trueAfter(removeMember(context, path))
  }

  @FieldResolver()
  id(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver()
  memberId(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver()
  groups(@Root() member: Member): string[] {
    return groupIdsOf(member)
  }

  @FieldResolver()
  effectiveScopes(@Root() member: Member): string[] {
    return effectiveScopes(member)
  }

  @Relation(() => Organization, 'The organization that the user is a member of.')
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Root() { orgId }: Member) {
    return loader(context, organizationsById).load(orgId)
  }

  @Relation(
    () => OrganizationGroupPage,
    'The groups of the member, newest first. The field `groups` contains only their ids.',
  )
  @Scope('issuers.organizations.groups', 'read')
  groupObjects(@Ctx() context: Context, @Root() { id }: Member, @Args() page: RelationArgs) {
    const list = async () => (await groupsOfMembers(context, [id], checkPageLimit(page), page.cursor))[0]!
    return relatedPage(context, page, id, groupsOfMembers, list)
  }

  @Relation(() => User, 'The user, with a hashed username as in lists.')
  @IssuerLevelScope('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() member: Member) {
    return loader(context, usersOf).load(member.userId)
  }
}

@Resolver(() => Organization)
export class OrganizationMembersResolver {
  @Relation(() => OrganizationMemberPage, 'The members of the organization, latest joined first.')
  @Scope('issuers.organizations.members', 'read')
  members(@Ctx() context: Context, @Root() org: OrganizationRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, org.id, newestMembersOf, () => listMembers(context, pathOf(org), page))
  }
}
