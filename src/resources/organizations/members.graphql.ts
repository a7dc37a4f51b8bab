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
import { loader, pageLoader } from '../../platform/loader.js'
import {
  enumOf,
  idempotencyKeyArg,
  JSONObject,
  OrganizationPlace,
  PageArgs,
  pageType,
  Scope,
  ScopeInIssuer,
  Timestamp,
} from '../graphql.js'
import { User } from '../users/users.graphql.js'
import { listMembers } from './member-listing.js'
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
import { Organization } from './organizations.graphql.js'
import { membersOf, usersOf } from './relations.js'

export const MemberStatusEnum = enumOf(memberStatuses)
registerEnumType(MemberStatusEnum, { name: 'MemberStatus' })

@ObjectType({ description: 'A user in an organization (spec 2.9). Its id is the user id.' })
export class OrganizationMember {
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  orgId!: string
  @Field(() => [String], { description: 'Its own, besides those of the organization and its groups.' })
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
class MemberPlaceArgs extends OrganizationPlace {
  @Field(() => ID, { description: 'The user id.' })
  memberId!: string
}

/** What a search among members says of itself. */
export const searchOfMembers =
  'The beginning of the username, name or email address of the user; for those who may read users.'

@ArgsType()
class MemberFilter extends PageArgs {
  @Field(() => MemberStatusEnum, { nullable: true })
  status?: MemberStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'An effective scope, also one of the organization or of a group.',
  })
  scope?: string | null
  @Field(() => String, { nullable: true, description: searchOfMembers })
  search?: string | null
}

@InputType()
class UpdateOrganizationMemberInput {
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => [String], { nullable: true, description: 'Group ids.' })
  groups?: string[] | null
  @Field(() => String, { nullable: true })
  userTitle?: string | null
  @Field(() => JSONObject, { nullable: true, description: 'A PATCH merges it at the top level; null removes a key.' })
  metadata?: object | null
  @Field(() => MemberStatusEnum, { nullable: true })
  status?: MemberStatus | null
}

@InputType()
class AddOrganizationMemberInput extends UpdateOrganizationMemberInput {
  @Field(() => ID, { description: 'A user of the issuer.' })
  memberId!: string
}

@Resolver(() => OrganizationMember)
export class MemberResolver {
  @Query(() => OrganizationMemberPage, { description: 'The latest joined first.' })
  @Scope('issuers.organizations.members', 'read')
  organizationMembers(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Args(() => MemberFilter) filter: MemberFilter,
  ) {
    return listMembers(context, place, filter, filter)
  }

  @Query(() => OrganizationMember)
  @Scope('issuers.organizations.members', 'read')
  organizationMember(@Ctx() context: Context, @Args(() => MemberPlaceArgs) place: MemberPlaceArgs) {
    return getMember(context, place)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.members', 'write')
  addOrganizationMember(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('input', () => AddOrganizationMemberInput) input: AddOrganizationMemberInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return addMember(context, place, input)
  }

  @Mutation(() => OrganizationMember)
  @Scope('issuers.organizations.members', 'write')
  updateOrganizationMember(
    @Ctx() context: Context,
    @Args(() => MemberPlaceArgs) place: MemberPlaceArgs,
    @Arg('input', () => UpdateOrganizationMemberInput) input: UpdateOrganizationMemberInput,
  ) {
    return updateMember(context, place, input)
  }

  @Mutation(() => Boolean, { description: 'The user stays.' })
  @Scope('issuers.organizations.members', 'delete')
  async removeOrganizationMember(@Ctx() context: Context, @Args(() => MemberPlaceArgs) place: MemberPlaceArgs) {
    await removeMember(context, place)
    return true
  }

  @FieldResolver(() => ID, { description: 'The user id.' })
  id(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver(() => ID, { description: 'The same.' })
  memberId(@Root() member: Member): string {
    return member.userId
  }

  @FieldResolver(() => [String], { description: 'Group ids.' })
  groups(@Root() member: Member): string[] {
    return groupIdsOf(member)
  }

  @FieldResolver(() => [String], {
    description: 'What it has from the organization, itself and its groups; none while suspended.',
  })
  effectiveScopes(@Root() member: Member): string[] {
    return effectiveScopes(member)
  }

  @FieldResolver(() => User, { nullable: true, description: 'With a hashed username, as in lists.' })
  @ScopeInIssuer('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() member: Member) {
    return loader(context, usersOf).load(member.userId)
  }
}

@Resolver(() => Organization)
export class OrganizationMembersResolver {
  @FieldResolver(() => OrganizationMemberPage, {
    description: 'The latest joined; page on with `organizationMembers`.',
  })
  @Scope('issuers.organizations.members', 'read')
  members(
    @Ctx() context: Context,
    @Root() organization: Organization,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, membersOf, limit).load(organization.id)
  }
}
