import { ID, ObjectType } from 'type-graphql'
import type { ActorType as ActorTypeName } from '../../kernel/context.js'
import { Property } from '../declaration.js'
import { ActorType } from '../events/event.js'

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
