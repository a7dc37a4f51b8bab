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
import type { Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import { AgentPage } from '../agents/agent.js'
import { agentsOf } from '../agents/agents.js'
import { ClientPage } from '../clients/client.js'
import { newestClientsOf } from '../clients/clients.js'
import { eventLoaderKey, newestEventsOf } from '../events/event-list.js'
import { EventPage } from '../events/events.graphql.js'
import {
  AccountPath,
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  pageType,
  RecentSignIn,
  Scope,
  SearchablePageArgs,
  Timestamp,
} from '../graphql-types.js'
import { issuerUrl } from '../issuer-url.js'
import { OrganizationPage } from '../organizations/organization.js'
import { newestOrganizationsOf } from '../organizations/organization-loaders.js'
import { usersOfIssuers } from '../users/listing.js'
import { UserPage } from '../users/user.js'
import { AuthMethodPage } from './auth-methods.graphql.js'
import { newestAuthMethodsOf } from './auth-methods.js'
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

@ObjectType({ description: 'An identity provider with its own isolated user pool.' })
export class Issuer {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true, description: 'A description in Markdown.' })
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
  @Field(() => IssuerStatusEnum, {
    nullable: true,
    description: 'active or disabled. Only operators can set suspended.',
  })
  status?: IssuerStatus | null
  @Field(() => JSONObject, { nullable: true, description: 'A JSON Merge Patch (RFC 7396).' })
  settings?: object | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@Resolver(() => Issuer)
export class IssuerResolver {
  @Query(() => IssuerPage, {
    nullable: true,
    description: 'Lists the issuers of an account, newest first; with `search`, in the order of their names.',
  })
  @Scope('issuers', 'read')
  issuers(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Args(() => SearchablePageArgs) page: SearchablePageArgs,
  ) {
    return listIssuers(context, path, page)
  }

  @Query(() => Issuer, { nullable: true })
  @Scope('issuers', 'read')
  issuer(@Ctx() context: Context, @Args(() => IssuerPath) path: IssuerPath) {
    return getIssuer(context, path)
  }

  @Mutation(() => Issuer)
  @Scope('issuers', 'write')
  createIssuer(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => CreateIssuerInput) input: CreateIssuerInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createIssuer(context, path, input)
  }

  @Mutation(() => Issuer)
  @Scope('issuers', 'write')
  updateIssuer(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => UpdateIssuerInput) input: UpdateIssuerInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateIssuer(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes an issuer softly: sign-ins fail, and its endpoints return 404.' })
  @Scope('issuers', 'delete')
  @RecentSignIn()
  async deleteIssuer(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteIssuer(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => String, {
    description:
      'The issuer identifier at the host of IDP_URL: the `iss` claim of tokens that are not issued at a custom domain.',
  })
  url(@Ctx() context: Context, @Root() issuer: IssuerRow): string {
    return issuerUrl(context.config, issuer.id)
  }
  @FieldResolver(() => ClientPage, { nullable: true, description: 'The newest clients. Use `clients` for more pages.' })
  @Scope('issuers.clients', 'read')
  clients(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestClientsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => OrganizationPage, {
    nullable: true,
    description: 'The newest organizations. Use `organizations` for more pages.',
  })
  @Scope('issuers.organizations', 'read')
  organizations(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestOrganizationsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => AgentPage, { nullable: true, description: 'The newest agents. Use `agents` for more pages.' })
  @Scope('issuers.agents', 'read')
  agents(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, agentsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => UserPage, {
    nullable: true,
    description: 'The newest users, with hashed usernames. Use `users` for more pages.',
  })
  @Scope('issuers.users', 'read')
  users(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, usersOfIssuers, limit).load(issuer.id)
  }

  @FieldResolver(() => AuthMethodPage, {
    nullable: true,
    description: 'The newest authentication methods. Use `authMethods` for more pages.',
  })
  @Scope('issuers.auth_methods', 'read')
  authMethods(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestAuthMethodsOf, limit).load(issuer.id)
  }

  @FieldResolver(() => EventPage, {
    nullable: true,
    description: 'The newest events of the issuer. Use `events` for more pages.',
  })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() issuer: IssuerRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestEventsOf.issuer, limit).load(eventLoaderKey(issuer.accountId, issuer.id))
  }
}
