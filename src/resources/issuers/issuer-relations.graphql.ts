/** The field `issuer` of the resources of an issuer. */
import { type ClassType, Ctx, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Issuer as IssuerRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Agent } from '../agents/agent.js'
import { Client } from '../clients/client.js'
import { Event } from '../events/event.js'
import { IssuerLevelScope, Relation } from '../graphql-types.js'
import { Organization } from '../organizations/organization.js'
import { User } from '../users/user.js'
import { Issuer } from './issuer.js'
import { issuersOf } from './issuers.js'

function issuerRelationOf(Parent: ClassType, description: string) {
  @Resolver(() => Parent)
  class IssuerRelationResolver {
    @Relation(() => Issuer, description)
    @IssuerLevelScope('issuers', 'read')
    async issuer(
      @Ctx() context: Context,
      @Root() { accountId, issuerId }: { accountId: string; issuerId: string | null },
    ): Promise<IssuerRow | null> {
      const issuer = issuerId === null ? null : await loader(context, issuersOf).load(issuerId)
      return issuer?.accountId === accountId ? issuer : null
    }
  }
  return IssuerRelationResolver
}

export const issuerRelationResolvers = [
  issuerRelationOf(Client, 'The issuer of the client.'),
  issuerRelationOf(User, 'The issuer of the user.'),
  issuerRelationOf(Agent, 'The issuer of the agent.'),
  issuerRelationOf(Organization, 'The issuer of the organization.'),
  issuerRelationOf(Event, 'The issuer that the event belongs to; null for none, and for a deleted issuer.'),
]
