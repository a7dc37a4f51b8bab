import { createUnionType, ID, ObjectType } from 'type-graphql'
import type { ActorType as ActorTypeName } from '../../kernel/context.js'
import { Client } from '../clients/client.js'
import { Property } from '../declaration.js'
import { ActorType } from '../events/event.js'
import { Issuer } from '../issuers/issuer.js'
import { Organization } from '../organizations/organization.js'
import { User } from '../users/user.js'

@ObjectType({ description: 'The principal that created a note.' })
export class NoteAuthor {
  @Property(() => ActorType, { description: 'The type of the principal.', example: 'user' })
  readonly type!: ActorTypeName
  @Property(() => ID, {
    description: 'The id of the principal. Null for Gatehouse itself.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly id!: string | null
  @Property(() => String, {
    description: 'The current name of the user, API key or personal token. Null if it has none or was deleted.',
    example: 'Ada Lovelace',
    nullable: true,
  })
  readonly name!: string | null
}

export const NoteSubjectResource = createUnionType({
  name: 'NoteSubjectResource',
  description: 'A resource that a note can be about.',
  types: () => [User, Organization, Issuer, Client] as const,
  resolveType: ({ id }) => ({ usr: User, org: Organization, iss: Issuer })[id.split('_')[0]!] ?? Client,
})
