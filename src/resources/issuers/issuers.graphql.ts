import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { relatedPage } from '../../platform/postgres/loader.js'
import { AgentPage } from '../agents/agent.js'
import { agentsOf, listAgents } from '../agents/agents.js'
import { ClientPage } from '../clients/client.js'
import { listClients, newestClientsOf } from '../clients/clients.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { EventPage } from '../events/event.js'
import { relatedEvents } from '../events/event-list.js'
import {
  AccountPath,
  IdempotencyKey,
  IfMatch,
  IssuerPath,
  NullableQuery,
  RecentSignIn,
  Relation,
  RelationArgs,
  Scope,
  SearchablePageArgs,
  trueAfter,
} from '../graphql-types.js'
import { issuerUrl } from '../issuer-url.js'
import { OrganizationPage } from '../organizations/organization.js'
import { newestOrganizationsOf } from '../organizations/organization-loaders.js'
import { listOrganizations } from '../organizations/organizations.js'
import type { InIssuer } from '../resource-path.js'
import { listUsers, usersOfIssuers } from '../users/listing.js'
import { UserPage } from '../users/user.js'
import { AuthMethodPage } from './auth-method.js'
import { listAuthMethods, newestAuthMethodsOf } from './auth-methods.js'
import { Issuer, IssuerPage } from './issuer.js'
import { createIssuer, deleteIssuer, getIssuer, listIssuers, updateIssuer } from './issuers.js'

const pathOf = ({ accountId, id }: IssuerRow): InIssuer => ({ accountId, issuerId: id })

@Resolver(() => Issuer)
export class IssuerResolver {
  @NullableQuery(
    () => IssuerPage,
    'Lists the issuers of an account, newest first; with `search`, in the order of their names.',
  )
  @Scope('issuers', 'read')
  issuers(@Ctx() context: Context, @Args() path: AccountPath, @Args() page: SearchablePageArgs) {
    return listIssuers(context, path, page)
  }

  @NullableQuery(() => Issuer, 'Returns an issuer; null with an error for a deleted issuer.')
  @Scope('issuers', 'read')
  issuer(@Ctx() context: Context, @Args() path: IssuerPath) {
    return getIssuer(context, path)
  }

  @Mutation(() => Issuer, {
    description:
      'Creates an issuer and its signing keys. Users can sign in when it has an authentication method and a client.',
  })
  @IdempotencyKey()
  @Scope('issuers', 'write')
  createIssuer(@Ctx() context: Context, @Args() path: AccountPath, @CreateInput(Issuer) input: object) {
    return createIssuer(context, path, input)
  }

  @Mutation(() => Issuer, {
    description:
      'Changes the given fields of an issuer. Enabling the issuer and weakening its security or sign-up settings require every platform scope of its users.',
  })
  @Scope('issuers', 'write')
  updateIssuer(
    @Ctx() context: Context,
    @Args() path: IssuerPath,
    @UpdateInput(Issuer) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateIssuer(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description:
      'Deletes an issuer: sign-ins fail, its endpoints return 404, its clients are deleted, and its domains are unassigned.',
  })
  @Scope('issuers', 'delete')
  @RecentSignIn()
  deleteIssuer(@Ctx() context: Context, @Args() path: IssuerPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteIssuer(context, path, ifMatch))
  }

  @FieldResolver()
  url(@Ctx() context: Context, @Root() issuer: IssuerRow): string {
    return issuerUrl(context.config, issuer.id)
  }

  @Relation(() => ClientPage, 'The clients of the issuer, newest first, without deleted ones.')
  @Scope('issuers.clients', 'read')
  clients(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, issuer.id, newestClientsOf, () => listClients(context, pathOf(issuer), page))
  }

  @Relation(() => OrganizationPage, 'The organizations of the issuer, newest first.')
  @Scope('issuers.organizations', 'read')
  organizations(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, issuer.id, newestOrganizationsOf, () =>
      listOrganizations(context, pathOf(issuer), page),
    )
  }

  @Relation(() => AgentPage, 'The agents of the issuer, newest first.')
  @Scope('issuers.agents', 'read')
  agents(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, issuer.id, agentsOf, () => listAgents(context, pathOf(issuer), page))
  }

  @Relation(() => UserPage, 'The users of the issuer, newest first, with hashed usernames.')
  @Scope('issuers.users', 'read')
  users(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, issuer.id, usersOfIssuers, () => listUsers(context, pathOf(issuer), page))
  }

  @Relation(() => AuthMethodPage, 'The authentication methods of the issuer, newest first.')
  @Scope('issuers.auth_methods', 'read')
  authMethods(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, issuer.id, newestAuthMethodsOf, () =>
      listAuthMethods(context, pathOf(issuer), page),
    )
  }

  @Relation(() => EventPage, 'The events of the issuer, newest first.')
  @Scope('events', 'read')
  events(@Ctx() context: Context, @Root() issuer: IssuerRow, @Args() page: RelationArgs) {
    return relatedEvents(context, page, 'issuer', issuer)
  }
}
