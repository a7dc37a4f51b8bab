import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type {
  OrganizationInvitation as InvitationRow,
  Organization as OrganizationRow,
} from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput } from '../declaration.js'
import {
  IdempotencyKey,
  NullableQuery,
  OrganizationPath,
  Relation,
  RelationArgs,
  ReturnsSecret,
  Scope,
} from '../graphql-types.js'
import {
  InvitationFilter,
  InvitationPath,
  InvitationStatus,
  OrganizationInvitation,
  OrganizationInvitationPage,
} from './invitation.js'
import {
  createInvitation,
  getInvitation,
  invitationStatus,
  listInvitations,
  resendInvitation,
  revokeInvitation,
} from './invitations.js'
import { Organization } from './organization.js'
import { newestInvitationsOf, organizationsById, pathOf } from './organization-loaders.js'

@Resolver(() => OrganizationInvitation)
export class InvitationResolver {
  @NullableQuery(
    () => OrganizationInvitationPage,
    'Lists the invitations of an organization, newest first; with `search`, in the order of their addresses.',
  )
  @Scope('issuers.organizations.members', 'read')
  organizationInvitations(@Ctx() context: Context, @Args() path: OrganizationPath, @Args() filter: InvitationFilter) {
    return listInvitations(context, path, filter)
  }

  @NullableQuery(
    () => OrganizationInvitation,
    'Returns an invitation, which can be read until 31 days after its expiry.',
  )
  @Scope('issuers.organizations.members', 'read')
  organizationInvitation(@Ctx() context: Context, @Args() path: InvitationPath) {
    return getInvitation(context, path)
  }

  @Mutation(() => OrganizationInvitation, {
    description:
      'Invites an email address. The organization must have `invitationEnabled`. Only the email and this response contain the token, which is valid for 7 days.',
  })
  @IdempotencyKey()
  @Scope('issuers.organizations.members', 'write')
  @ReturnsSecret()
  createOrganizationInvitation(
    @Ctx() context: Context,
    @Args() path: OrganizationPath,
    @CreateInput(OrganizationInvitation) input: object,
  ) {
    return createInvitation(context, path, input)
  }

  @Mutation(() => OrganizationInvitation, {
    description:
      'Sends a pending or expired invitation again with a new token, which is valid for 7 days. The old token becomes invalid.',
  })
  @IdempotencyKey()
  @Scope('issuers.organizations.members', 'write')
  @ReturnsSecret()
  resendOrganizationInvitation(@Ctx() context: Context, @Args() path: InvitationPath) {
    return resendInvitation(context, path)
  }

  @Mutation(() => OrganizationInvitation, {
    description: 'Revokes an invitation permanently. A repeated request changes nothing.',
  })
  @IdempotencyKey()
  @Scope('issuers.organizations.members', 'delete')
  revokeOrganizationInvitation(@Ctx() context: Context, @Args() path: InvitationPath) {
    return revokeInvitation(context, path)
  }

  @FieldResolver()
  status(@Ctx() context: Context, @Root() invitation: InvitationRow): InvitationStatus {
    return invitationStatus(context, invitation)
  }

  @Relation(() => Organization, 'The organization that the invitation belongs to.')
  @Scope('issuers.organizations', 'read')
  organization(@Ctx() context: Context, @Root() { orgId }: InvitationRow) {
    return loader(context, organizationsById).load(orgId)
  }
}

@Resolver(() => Organization)
export class OrganizationInvitationsResolver {
  @Relation(() => OrganizationInvitationPage, 'The invitations of the organization, newest first.')
  @Scope('issuers.organizations.members', 'read')
  invitations(@Ctx() context: Context, @Root() org: OrganizationRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, org.id, newestInvitationsOf, () => listInvitations(context, pathOf(org), page))
  }
}
