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
import type { Client as ClientRow } from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import { eventLoaderKey, newestEventsOf } from '../events/event-list.js'
import { EventPage } from '../events/events.graphql.js'
import {
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
import {
  type ClientStatus,
  type ClientWithSecret,
  clientStatuses,
  clientTypes,
  createClient,
  deleteClient,
  getClient,
  listClients,
  rotateClientSecret,
  updateClient,
} from './clients.js'

export const ClientStatusEnum = enumOf(clientStatuses)
registerEnumType(ClientStatusEnum, { name: 'ClientStatus' })
export const ClientTypeEnum = enumOf(clientTypes)
registerEnumType(ClientTypeEnum, { name: 'ClientType', description: 'A label of a client, which has no effect.' })

@ObjectType({ description: 'An OAuth 2.0 / OpenID Connect application of an issuer.' })
export class Client {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => String)
  name!: string
  @Field(() => ClientTypeEnum)
  type!: 'internal' | 'external'
  @Field(() => Boolean)
  confidential!: boolean
  @Field(() => JSONObject)
  settings!: object
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => String, { nullable: true })
  logoUrl!: string | null
  @Field(() => ClientStatusEnum)
  status!: ClientStatus
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => String, {
    nullable: true,
    description: 'The client secret. Only the response to the creation or rotation of the secret contains it.',
  })
  secret?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class ClientPage extends pageType(Client) {}

@ArgsType()
class ClientPath extends IssuerPath {
  @Field(() => ID)
  clientId!: string
}

@ArgsType()
class ClientFilter extends SearchablePageArgs {
  @Field(() => ClientStatusEnum, {
    nullable: true,
    description: 'Lists only clients with this status. Without it, all clients except deleted ones are listed.',
  })
  status?: ClientStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'A substring of the name, ignoring case. For issuers with many clients, search is faster.',
  })
  name?: string | null
}

@InputType()
class CreateClientInput {
  @Field(() => String)
  name!: string
  @Field(() => ClientTypeEnum)
  type!: 'internal' | 'external'
  @Field(() => Boolean)
  confidential!: boolean
  @Field(() => JSONObject)
  settings!: object
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  logoUrl?: string | null
  @Field(() => String, {
    nullable: true,
    description:
      'The secret of a confidential client: 32 to 256 printable ASCII characters without spaces. By default, a secret is generated.',
  })
  secret?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class UpdateClientInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => ClientStatusEnum, { nullable: true, description: 'active or disabled.' })
  status?: ClientStatus | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  logoUrl?: string | null
  @Field(() => JSONObject, { nullable: true, description: 'A JSON Merge Patch (RFC 7396).' })
  settings?: object | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

const withOneTimeSecret = ({ client, secret }: ClientWithSecret) => ({ ...client, secret })

@Resolver(() => Client)
export class ClientResolver {
  @Query(() => ClientPage, { nullable: true })
  @Scope('issuers.clients', 'read')
  clients(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Args(() => ClientFilter) filter: ClientFilter,
  ) {
    return listClients(context, path, filter, filter)
  }

  @Query(() => Client, { nullable: true })
  @Scope('issuers.clients', 'read')
  client(@Ctx() context: Context, @Args(() => ClientPath) path: ClientPath) {
    return getClient(context, path)
  }

  @Mutation(() => Client, {
    description:
      'Registers a client. Only this response contains the secret of a confidential client. A repeated request for a confidential client registers another one, even with the same idempotency key.',
  })
  @Scope('issuers.clients', 'write')
  async createClient(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => CreateClientInput) input: CreateClientInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withOneTimeSecret(await createClient(context, path, input))
  }

  @Mutation(() => Client)
  @Scope('issuers.clients', 'write')
  updateClient(
    @Ctx() context: Context,
    @Args(() => ClientPath) path: ClientPath,
    @Arg('input', () => UpdateClientInput) input: UpdateClientInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateClient(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description:
      'Deletes a client. New requests fail immediately. Issued access tokens of users stay valid until they expire.',
  })
  @Scope('issuers.clients', 'delete')
  async deleteClient(
    @Ctx() context: Context,
    @Args(() => ClientPath) path: ClientPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteClient(context, path, ifMatch)
    return true
  }

  @Mutation(() => Client, {
    description:
      'Rotates the secret. Only this response contains the new secret; the old secret stays valid for 15 minutes. A repeated request rotates the secret again, even with the same idempotency key.',
  })
  @Scope('issuers.clients', 'write')
  @RecentSignIn()
  async rotateClientSecret(
    @Ctx() context: Context,
    @Args(() => ClientPath) path: ClientPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withOneTimeSecret(await rotateClientSecret(context, path))
  }

  @FieldResolver(() => EventPage, {
    nullable: true,
    description: 'The newest events of the client. Use `events` for more pages.',
  })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() client: ClientRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestEventsOf.client, limit).load(eventLoaderKey(client.accountId, client.id))
  }
}
