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
import type { Client as ClientRow } from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import { EventPage } from '../events/events.graphql.js'
import { eventsOf, subjectKey } from '../events/listing.js'
import {
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
registerEnumType(ClientTypeEnum, { name: 'ClientType', description: 'Descriptive only.' })

@ObjectType({ description: 'An OAuth 2.0 / OpenID Connect application of an issuer (spec 2.5).' })
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
  @Field(() => String, { nullable: true, description: 'The secret, in the answer that made it and never again.' })
  secret?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class ClientPage extends pageType(Client) {}

@ArgsType()
class ClientPlace extends IssuerPlace {
  @Field(() => ID)
  clientId!: string
}

@ArgsType()
class ClientFilter extends NamedPageArgs {
  @Field(() => ClientStatusEnum, { nullable: true, description: 'Deleted ones are listed only when asked for.' })
  status?: ClientStatus | null
  @Field(() => String, {
    nullable: true,
    description: 'Anywhere in the name, in any case. Among very many, search is quicker.',
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
  @Field(() => String, { nullable: true, description: 'A secret of your own, 32 to 256 characters.' })
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

const once = ({ client, secret }: ClientWithSecret) => ({ ...client, secret })

@Resolver(() => Client)
export class ClientResolver {
  @Query(() => ClientPage)
  @Scope('issuers.clients', 'read')
  clients(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => ClientFilter) filter: ClientFilter,
  ) {
    return listClients(context, place, filter, filter)
  }

  @Query(() => Client)
  @Scope('issuers.clients', 'read')
  client(@Ctx() context: Context, @Args(() => ClientPlace) place: ClientPlace) {
    return getClient(context, place)
  }

  @Mutation(() => Client, {
    description: 'A confidential client gets its secret in this answer, once, never replayed.',
  })
  @Scope('issuers.clients', 'write')
  async createClient(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => CreateClientInput) input: CreateClientInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createClient(context, place, input))
  }

  @Mutation(() => Client)
  @Scope('issuers.clients', 'write')
  updateClient(
    @Ctx() context: Context,
    @Args(() => ClientPlace) place: ClientPlace,
    @Arg('input', () => UpdateClientInput) input: UpdateClientInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateClient(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Flows fail at once; issued tokens stay good until they expire.' })
  @Scope('issuers.clients', 'delete')
  async deleteClient(
    @Ctx() context: Context,
    @Args(() => ClientPlace) place: ClientPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteClient(context, place, ifMatch)
    return true
  }

  @Mutation(() => Client, { description: 'A new secret, once; the old one stays good for 15 minutes. Never replayed.' })
  @Scope('issuers.clients', 'write')
  @RecentSignIn()
  async rotateClientSecret(
    @Ctx() context: Context,
    @Args(() => ClientPlace) place: ClientPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await rotateClientSecret(context, place))
  }

  @FieldResolver(() => EventPage, { description: 'The newest events of the client; page on with `events`.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() client: ClientRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, eventsOf.client, limit).load(subjectKey(client.accountId, client.id))
  }
}
