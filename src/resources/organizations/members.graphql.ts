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
import type { Context } from '../../platform/context.js'
import { loader, pageLoader } from '../../platform/postgres/loader.js'
import {
  enumOf,
  IssuerLevelScope,
  idempotencyKeyArg,
  JSONObject,
  OrganizationPath,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { User } from '../users/users.graphql.js'
import { listMembers } from './member-list.js'
import {
  addMember,
  effectiveScopes,
  getMember,
  groupIdsOf,
  type Member,
  type MemberStatus,
  memberStatuses,
  removeMember,
  updateMember,
} from './members.js'
import { newestMembersOf, usersOf } from './organization-loaders.js'
import { Organization } from './organizations.graphql.js'

export const MemberStatusEnum = enumOf(memberStatuses)
registerEnumType(MemberStatusEnum, { name: 'MemberStatus' })

@ObjectType({ description: 'A member of an organization. Its id is the user id.' })
export class OrganizationMember {
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  orgId!: string
  @Field(() => [String], {
    description:
      'Scopes of this member, in addition to defaultMemberScopes of the organization and the scopes of the groups of the member.',
  })
  scopes!: string[]
  @Field(() => String, { nullable: true })
  userTitle!: string | null
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => MemberStatusEnum)
  status!: MemberStatus
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class OrganizationMemberPage extends pageType(OrganizationMember) {}

@ArgsType()
class MemberPath extends OrganizationPath {
  @Field(() => ID, { description: 'The id of the user.' })
  memberId!: string
}

/** Description of the argument `search` of member lists. */
export const memberSearchDescription =
  'A prefix of the username, name or email address of the user. Needs read access to users.'

@ArgsType()
class MemberFilter extends PageArgs {
  @Field(() => MemberStatusEnum, { nullable: true })
  status?: MemberStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'An effective scope, which can come from the organization or a group.',
  })
  scope?: string | null
  @Field(() => String, { nullable: true, description: memberSearchDescription })
  search?: string | null
}

@InputType()
class UpdateOrganizationMemberInput {
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => [String], { nullable: true, description: 'Ids of groups of the organization.' })
  groups?: string[] | null
  @Field(() => String, { nullable: true })
  userTitle?: string | null
  @Field(() => JSONObject, { nullable: true, description: 'Merged at the top level; null removes a key.' })
  metadata?: object | null
  @Field(() => MemberStatusEnum, { nullable: true })
  status?: MemberStatus | null
}

@InputType()
class AddOrganizationMemberInput extends UpdateOrganizationMemberInput {
  @Field(() => ID, { description: 'The id of a user of the issuer.' })
  memberId!: string
}

@Resolver(() => OrganizationMember)
export class MemberResolver {
  @Query(() => OrganizationMemberPage, {
    nullable: true,
    description: 'Lists the members of an organization, latest joined first.',
  })
  @Scope('issuers.organizations.members', 'read')
  organizationMembers(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Args(() => MemberFilter) filter: MemberFilter,
  ) {
    return listMembers(context, path, filter, filter)
  }

  @Query(() => OrganizationMember, { nullable: true })
  @Scope('issuers.organizations.members', 'read')
  organizationMember(@Ctx() context: Context, @Args(() => MemberPath) path: MemberPath) {
    return getMember(context, path)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.members', 'write')
  addOrganizationMember(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('input', () => AddOrganizationMemberInput) input: AddOrganizationMemberInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addMember(context, path, input)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.members', 'write')
  updateOrganizationMember(
    @Ctx() context: Context,
    @Args(() => MemberPath) path: MemberPath,
    @Arg('input', () => UpdateOrganizationMemberInput) input: UpdateOrganizationMemberInput,
  ) {
    return updateMember(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Removes a member from the organization. The user stays.' })
  @Scope('issuers.organizations.members', 'delete')
  async removeOrganizationMember(@Ctx() context: Context, @Args(() => MemberPath) path: MemberPath) {
    await removeMember(context, path)
    return true
  }

  @FieldResolver(() => ID, { description: 'The id of the user.' })
  id(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver(() => ID, { description: 'The id of the user. Equals id.' })
  memberId(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver(() => [String], { description: 'Ids of the groups of the member.' })
  groups(@Root() member: Member): string[] {
    return groupIdsOf(member)
  }

  @FieldResolver(() => [String], {
    description:
      'The scopes of the member, of its groups, and defaultMemberScopes of the organization. Empty while the member is suspended.',
  })
  effectiveScopes(@Root() member: Member): string[] {
    return effectiveScopes(member)
  }

  @FieldResolver(() => User, { nullable: true, description: 'The user, with a hashed username as in lists.' })
  @IssuerLevelScope('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() member: Member) {
    return loader(context, usersOf).load(member.userId)
  }
}

@Resolver(() => Organization)
export class OrganizationMembersResolver {
  @FieldResolver(() => OrganizationMemberPage, {
    nullable: true,
    description: 'The members who joined last. Use `organizationMembers` for more pages.',
  })
  @Scope('issuers.organizations.members', 'read')
  members(
    @Ctx() context: Context,
    @Root() organization: Organization,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestMembersOf, limit).load(organization.id)
  }
}
