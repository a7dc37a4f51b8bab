/** The field `client` of resources that a client caused. */
import { type ClassType, Ctx, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Client as ClientRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Event } from '../events/event.js'
import { IssuerLevelScope, Relation } from '../graphql-types.js'
import { Session } from '../sessions/session.js'
import { Client } from './client.js'
import { clientsOf } from './clients.js'

function clientRelationOf(Parent: ClassType, description: string) {
  @Resolver(() => Parent)
  class ClientRelationResolver {
    @Relation(() => Client, description)
    @IssuerLevelScope('issuers.clients', 'read')
    async client(
      @Ctx() context: Context,
      @Root() { issuerId, clientId }: { issuerId: string | null; clientId: string | null },
    ): Promise<ClientRow | null> {
      const client = clientId === null ? null : await loader(context, clientsOf).load(clientId)
      // The scope was checked on the issuer of the parent.
      return client?.issuerId === issuerId ? client : null
    }
  }
  return ClientRelationResolver
}

const absence =
  'Null for a client that was deleted more than 31 days ago, and for a client that is identified by the URL of its metadata document.'

export const clientRelationResolvers = [
  clientRelationOf(Session, `The client at which the user signed in. ${absence}`),
  clientRelationOf(Event, `The client that the event is about or that caused it. ${absence}`),
]
