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
} from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import {
  enumOf,
  idempotencyKeyArg,
  Once,
  OrganizationPath,
  PageArgs,
  pageType,
  ReturnsSecret,
  Scope,
  Timestamp,
} from '../graphql-types.js'
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
import { newestInvitationsOf } from './organization-loaders.js'
import { Organization } from './organizations.graphql.js'

export const InvitationStatusEnum = enumOf(invitationStatuses)
registerEnumType(InvitationStatusEnum, { name: 'InvitationStatus' })

@ObjectType({ description: 'An invitation to an organization by email.' })
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
  @Field(() => [String], { description: 'Scopes that the member receives.' })
  scopes!: string[]
  @Field(() => [String], { description: 'Ids of groups that the member joins.' })
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
  @Field(() => String, {
    nullable: true,
    description: 'The invitation token. Shown once, in the response that creates it.',
  })
  @Once()
  tokenPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
class OrganizationInvitationPage extends pageType(OrganizationInvitation) {}

@ArgsType()
class InvitationPath extends OrganizationPath {
  @Field(() => ID)
  invitationId!: string
}

@ArgsType()
class InvitationFilter extends PageArgs {
  @Field(() => InvitationStatusEnum, { nullable: true })
  status?: InvitationStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'A prefix of the email address, or the id. The results are sorted by address.',
  })
  search?: string | null
}

@InputType()
class CreateOrganizationInvitationInput {
  @Field(() => String)
  email!: string
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => [String], { nullable: true, description: 'Ids of groups that the member joins.' })
  groups?: string[] | null
  @Field(() => String, { nullable: true, description: 'Replaces the invitationMessage of the organization.' })
  message?: string | null
}

const withOneTimeToken = ({ invitation, token }: InvitationWithToken) => ({ ...invitation, tokenPlain: token })

@Resolver(() => OrganizationInvitation)
export class InvitationResolver {
  @Query(() => OrganizationInvitationPage, { nullable: true, description: 'Lists invitations, newest first.' })
  @Scope('issuers.organizations.members', 'read')
  organizationInvitations(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Args(() => InvitationFilter) filter: InvitationFilter,
  ) {
    return listInvitations(context, path, filter, filter)
  }

  @Query(() => OrganizationInvitation, { nullable: true })
  @Scope('issuers.organizations.members', 'read')
  organizationInvitation(@Ctx() context: Context, @Args(() => InvitationPath) path: InvitationPath) {
    return getInvitation(context, path)
  }

  @Mutation(() => OrganizationInvitation, {
    description:
      'Invites an email address. The token is shown once. A repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('issuers.organizations.members', 'write')
  @ReturnsSecret()
  async createOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => OrganizationPath) path: OrganizationPath,
    @Arg('input', () => CreateOrganizationInvitationInput) input: CreateOrganizationInvitationInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withOneTimeToken(await createInvitation(context, path, input))
  }

  @Mutation(() => OrganizationInvitation, {
    description:
      'Sends an invitation again with a new token and a new lifetime. The token is shown once. A repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('issuers.organizations.members', 'write')
  @ReturnsSecret()
  async resendOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => InvitationPath) path: InvitationPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withOneTimeToken(await resendInvitation(context, path))
  }

  @Mutation(() => OrganizationInvitation, { description: 'Revokes an invitation permanently. Idempotent.' })
  @Scope('issuers.organizations.members', 'delete')
  revokeOrganizationInvitation(
    @Ctx() context: Context,
    @Args(() => InvitationPath) path: InvitationPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeInvitation(context, path)
  }

  @FieldResolver(() => InvitationStatusEnum)
  status(@Ctx() context: Context, @Root() invitation: InvitationRow): InvitationStatus {
    return invitationStatus(context, invitation)
  }
}

@Resolver(() => Organization)
export class OrganizationInvitationsResolver {
  @FieldResolver(() => OrganizationInvitationPage, {
    nullable: true,
    description: 'The newest invitations. Use `organizationInvitations` for more pages.',
  })
  @Scope('issuers.organizations.members', 'read')
  invitations(
    @Ctx() context: Context,
    @Root() organization: OrganizationRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestInvitationsOf, limit).load(organization.id)
  }
}
