import { Args, Ctx, Mutation, Resolver, Root } from 'type-graphql'
import { limits } from '../../kernel/limits.js'
import { DAY } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import type { Client as ClientRow } from '../../platform/postgres/database.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { EventPage } from '../events/event.js'
import { relatedEvents } from '../events/event-list.js'
import {
  IdempotencyKey,
  IfMatch,
  IssuerPath,
  NullableQuery,
  RecentSignIn,
  Relation,
  RelationArgs,
  ReturnsSecret,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { Client, ClientFilter, ClientPage, ClientPath } from './client.js'
import { createClient, deleteClient, getClient, listClients, rotateClientSecret, updateClient } from './clients.js'
import { ClientDenial, recentDenials } from './recent-denials.js'

@Resolver(() => Client)
export class ClientResolver {
  @NullableQuery(
    () => ClientPage,
    'Lists the clients of an issuer, newest first; with `search`, in the order of their names.',
  )
  @Scope('issuers.clients', 'read')
  clients(@Ctx() context: Context, @Args() path: IssuerPath, @Args() filter: ClientFilter) {
    return listClients(context, path, filter)
  }

  @NullableQuery(() => Client, 'Returns a client; null with an error for a deleted client.')
  @Scope('issuers.clients', 'read')
  client(@Ctx() context: Context, @Args() path: ClientPath) {
    return getClient(context, path)
  }

  @Mutation(() => Client, {
    description: 'Registers a client. Only this response contains the secret of a confidential client.',
  })
  @IdempotencyKey()
  @Scope('issuers.clients', 'write')
  @ReturnsSecret(({ confidential }) => (confidential === true ? 'never' : 'plain'))
  createClient(@Ctx() context: Context, @Args() path: IssuerPath, @CreateInput(Client) input: object) {
    return createClient(context, path, input)
  }

  @Mutation(() => Client, { description: 'Changes the given fields of a client.' })
  @Scope('issuers.clients', 'write')
  updateClient(
    @Ctx() context: Context,
    @Args() path: ClientPath,
    @UpdateInput(Client) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateClient(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description:
      'Deletes a client. New requests fail immediately. Issued access tokens of users stay valid until they expire.',
  })
  @Scope('issuers.clients', 'delete')
  deleteClient(@Ctx() context: Context, @Args() path: ClientPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteClient(context, path, ifMatch))
  }

  @Mutation(() => Client, {
    description:
      'Rotates the secret. Only this response contains the new secret; the old secret stays valid for 15 minutes.',
  })
  @IdempotencyKey()
  @Scope('issuers.clients', 'write')
  @ReturnsSecret()
  @RecentSignIn()
  rotateClientSecret(@Ctx() context: Context, @Args() path: ClientPath) {
    return rotateClientSecret(context, path)
  }

  @Relation(() => EventPage, 'The events of the client, newest first.')
  @Scope('events', 'read')
  events(@Ctx() context: Context, @Root() client: ClientRow, @Args() page: RelationArgs) {
    return relatedEvents(context, page, 'client', client)
  }

  @Relation(
    () => [ClientDenial],
    `The errors of the client in the last ${limits.recentDenialsPeriod / DAY} days, the last one first, at most ${limits.maxRecentDenials}. The field counts as 20 rows for the cost limit.`,
  )
  @Scope('events', 'read')
  recentDenials(@Ctx() context: Context, @Root() client: ClientRow): Promise<ClientDenial[]> {
    return recentDenials(context, client)
  }
}
