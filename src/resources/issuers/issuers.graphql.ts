import {
  Arg,
  Args,
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
import type { Issuer as IssuerRow } from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import { AgentPage } from '../agents/agents.graphql.js'
import { agentsOf } from '../agents/agents.js'
import { ClientPage } from '../clients/clients.graphql.js'
import { clientsOf } from '../clients/clients.js'
import { EventPage } from '../events/events.graphql.js'
import { eventsOf, subjectKey } from '../events/listing.js'
import {
  AccountPlace,
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  NamedPageArgs,
  pageType,
  RecentSignIn,
  Scope,
  Timestamp,
} from '../graphql.js'
import { issuerUrl } from '../issuer-url.js'
import { OrganizationPage } from '../organizations/organizations.graphql.js'
import { organizationsOf } from '../organizations/relations.js'
import { usersOfIssuers } from '../users/listing.js'
import { UserPage } from '../users/users.graphql.js'
import { AuthMethodPage } from './auth-methods.graphql.js'
import { authMethodsOf } from './auth-methods.js'
import {
  createIssuer,
  deleteIssuer,
  getIssuer,
  type IssuerStatus,
  issuerStatuses,
  listIssuers,
  updateIssuer,
} from './issuers.js'

export const IssuerStatusEnum = enumOf(issuerStatuses)
registerEnumType(IssuerStatusEnum, { name: 'IssuerStatus' })

@ObjectType({ description: 'An identity provider with its own isolated user pool (spec 2.3).' })
export class Issuer {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true, description: 'Markdown.' })
  description!: string | null
  @Field(() => JSONObject)
  links!: object
  @Field(() => [String])
  availableScopes!: string[]
  @Field(() => IssuerStatusEnum)
  status!: IssuerStatus
  @Field(() => JSONObject)
  settings!: object
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class IssuerPage extends pageType(Issuer) {}

@InputType()
class CreateIssuerInput {
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  links?: object | null
  @Field(() => [String], { nullable: true })
  availableScopes?: string[] | null
  @Field(() => IssuerStatusEnum, { nullable: true })
  status?: IssuerStatus | null
  @Field(() => JSONObject, { nullable: true })
  settings?: object | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class UpdateIssuerInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  links?: object | null
  @Field(() => [String], { nullable: true })
  availableScopes?: string[] | null
  @Field(() => IssuerStatusEnum, { nullable: true, description: 'active or disabled; suspended by operators only.' })
  status?: IssuerStatus | null
  @Field(() => JSONObject, { nullable: true, description: 'A JSON Merge Patch (RFC 7396).' })
  settings?: object | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@Resolver(() => Issuer)
export class IssuerResolver {
  @Query(() => IssuerPage, { description: 'Newest first.' })
  @Scope('issuers', 'read')
  issuers(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Args(() => NamedPageArgs) page: NamedPageArgs,
  ) {
    return listIssuers(context, place, page)
  }

  @Query(() => Issuer)
  @Scope('issuers', 'read')
  issuer(@Ctx() context: Context, @Args(() => IssuerPlace) place: IssuerPlace) {
    return getIssuer(context, place)
  }

  @Mutation(() => Issuer)
  @Scope('issuers', 'write')
  createIssuer(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreateIssuerInput) input: CreateIssuerInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createIssuer(context, place, input)
  }

  @Mutation(() => Issuer)
  @Scope('issuers', 'write')
  updateIssuer(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => UpdateIssuerInput) input: UpdateIssuerInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateIssuer(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Soft delete: sign-ins fail and its addresses answer 404.' })
  @Scope('issuers', 'delete')
  @RecentSignIn()
  async deleteIssuer(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteIssuer(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => String, { description: 'The issuer identifier: the `iss` of its tokens.' })
  url(@Ctx() context: Context, @Root() issuer: IssuerRow): string {
    return issuerUrl(context.config, issuer.id)
  }
  @FieldResolver(() => ClientPage, { description: 'The newest clients; page on with `clients`.' })
  @Scope('issuers.clients', 'read')
  clients(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, clientsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => OrganizationPage, { description: 'The newest organizations; page on with `organizations`.' })
  @Scope('issuers.organizations', 'read')
  organizations(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, organizationsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => AgentPage, { description: 'The newest agents; page on with `agents`.' })
  @Scope('issuers.agents', 'read')
  agents(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, agentsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => UserPage, { description: 'The newest users, with hashed usernames; page on with `users`.' })
  @Scope('issuers.users', 'read')
  users(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, usersOfIssuers, limit).load(issuer.id)
  }

  @FieldResolver(() => AuthMethodPage, {
    description: 'The newest authentication methods; page on with `authMethods`.',
  })
  @Scope('issuers.auth_methods', 'read')
  authMethods(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, authMethodsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => EventPage, {
    description: 'The newest events of its users, clients and settings; page on with `events`.',
  })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, eventsOf.issuer, limit).load(subjectKey(issuer.accountId, issuer.id))
  }
}
