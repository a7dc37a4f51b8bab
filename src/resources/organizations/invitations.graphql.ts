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
import type {
  OrganizationInvitation as InvitationRow,
  Organization as OrganizationRow,
} from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import { enumOf, idempotencyKeyArg, OrganizationPlace, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import {
  createInvitation,
  getInvitation,
  type InvitationStatus,
  type InvitationWithToken,
  invitationStatus,
  invitationStatuses,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from './invitations.js'
import { Organization } from './organizations.graphql.js'
import { invitationsOf } from './relations.js'

export const InvitationStatusEnum = enumOf(invitationStatuses)
registerEnumType(InvitationStatusEnum, { name: 'InvitationStatus' })

@ObjectType({ description: 'An invitation to an organization, by email.' })
export class OrganizationInvitation {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  orgId!: string
  @Field(() => String)
  email!: string
  @Field(() => [String], { description: 'What the member will get.' })
  scopes!: string[]
  @Field(() => [String], { description: 'Group ids.' })
  groups!: string[]
  @Field(() => String, { nullable: true })
  message!: string | null
  @Field(() => Timestamp)
  expiresAt!: number
  @Field(() => Timestamp, { nullable: true })
  acceptedAt!: number | null
  @Field(() => ID, { nullable: true })
  acceptedByUserId!: string | null
  @Field(() => String, { nullable: true })
  createdBy!: string | null
  @Field(() => String, { nullable: true, description: 'The token, in the answer that made it and never again.' })
  tokenPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class OrganizationInvitationPage extends pageType(OrganizationInvitation) {}

@ArgsType()
class InvitationPlaceArgs extends OrganizationPlace {
  @Field(() => ID)
  invitationId!: string
}

@ArgsType()
class InvitationFilter extends PageArgs {
  @Field(() => InvitationStatusEnum, { nullable: true })
  status?: InvitationStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'The beginning of the address, or the id. What is found comes in the order of addresses.',
  })
  search?: string | null
}

@InputType()
class CreateOrganizationInvitationInput {
  @Field(() => String)
  email!: string
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => [String], { nullable: true, description: 'Group ids.' })
  groups?: string[] | null
  @Field(() => String, { nullable: true, description: 'Instead of the invitationMessage of the organization.' })
  message?: string | null
}

const once = ({ invitation, token }: InvitationWithToken) => ({ ...invitation, tokenPlain: token })

@Resolver(() => OrganizationInvitation)
export class InvitationResolver {
  @Query(() => OrganizationInvitationPage, { description: 'Newest first.' })
  @Scope('issuers.organizations.members', 'read')
  organizationInvitations(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Args(() => InvitationFilter) filter: InvitationFilter,
  ) {
    return listInvitations(context, place, filter, filter)
  }

  @Query(() => OrganizationInvitation)
  @Scope('issuers.organizations.members', 'read')
  organizationInvitation(@Ctx() context: Context, @Args(() => InvitationPlaceArgs) place: InvitationPlaceArgs) {
    return getInvitation(context, place)
  }

  @Mutation(() => OrganizationInvitation, { description: 'The token is in the answer, once. Never replayed.' })
  @Scope('issuers.organizations.members', 'write')
  async createOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => OrganizationPlace) place: OrganizationPlace,
    @Arg('input', () => CreateOrganizationInvitationInput) input: CreateOrganizationInvitationInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createInvitation(context, place, input))
  }

  @Mutation(() => OrganizationInvitation, { description: 'A new token, once, and seven new days. Never replayed.' })
  @Scope('issuers.organizations.members', 'write')
  async resendOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => InvitationPlaceArgs) place: InvitationPlaceArgs,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await resendInvitation(context, place))
  }

  @Mutation(() => OrganizationInvitation, { description: 'For good; repeating it changes nothing.' })
  @Scope('issuers.organizations.members', 'delete')
  revokeOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => InvitationPlaceArgs) place: InvitationPlaceArgs,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeInvitation(context, place)
  }

  @FieldResolver(() => InvitationStatusEnum)
  status(@Ctx() context: Context, @Root() invitation: InvitationRow): InvitationStatus {
    return invitationStatus(context, invitation)
  }
}

@Resolver(() => Organization)
export class OrganizationInvitationsResolver {
  @FieldResolver(() => OrganizationInvitationPage, {
    description: 'The newest invitations; page on with `organizationInvitations`.',
  })
  @Scope('issuers.organizations.members', 'read')
  invitations(
    @Ctx() context: Context,
    @Root() organization: OrganizationRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, invitationsOf, limit).load(organization.id)
  }
}
