import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Id, IssuerId, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { AccountPath, PageArgs } from '../graphql-types.js'
import type { ReferenceType } from './links.js'

export const NoteSubject = enumType('NoteSubject', 'The types of resources that a note can be about.', {
  user: 'A user.',
  org: 'An organization.',
  issuer: 'An issuer.',
  client: 'A client.',
})
export type NoteSubject = keyof typeof NoteSubject

export const NoteReferenceType = enumType<ReferenceType>(
  'NoteReferenceType',
  'The types of resources that the text of a note can refer to.',
  {
    user: 'A user.',
    org: 'An organization.',
    issuer: 'An issuer.',
    client: 'A client.',
    webhook: 'A webhook.',
    api_key: 'An API key of the account.',
  },
)

@ObjectType({ description: 'A mention of a user in a note, which is written as `@[Display Name](user_id)`.' })
class NoteMention {
  @Property(() => ID, {
    description: 'The id as written. The user may not exist.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  userId!: string
  @Property(() => String, { description: 'The name as written.', example: 'Ada Lovelace' })
  displayName!: string
}

@ObjectType({
  description:
    'A reference from a note to a resource, which is written as `[[type:id]]` or `[[type:id|Display Text]]`.',
})
class NoteReference {
  @Property(() => NoteReferenceType, { description: 'The type of the resource.', example: 'client' })
  type!: ReferenceType
  @Field(() => ID, { name: 'id', description: 'The id as written. The resource may not exist.' })
  refId!: string
  @Property(() => String, {
    description: 'The text to display instead of the id. Null if the reference has none.',
    example: 'Web shop',
    nullable: true,
  })
  displayText!: string | null
}

@EventTarget('note')
@ObjectType({
  description: 'A Markdown note of an administrator about a user, an organization, an issuer or a client.',
})
export class Note {
  @Id('note', 'note_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @Property(() => NoteSubject, {
    description: 'The type of the resource that the note is about.',
    example: 'user',
    create: 'required',
  })
  subjectType!: NoteSubject
  @Property(() => ID, {
    description: 'The id of the resource that the note is about.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    rule: fieldSchemas.text(limits.maxIdLength),
    create: 'required',
  })
  subjectId!: string
  @IssuerId({
    description:
      'The issuer of the user or organization that the note is about. A new note about a user or an organization requires it. Null for notes about issuers and clients.',
    nullable: true,
    rule: fieldSchemas.text(limits.maxIdLength).nullable(),
    create: 'optional',
  })
  issuerId!: string | null
  @Property(() => String, {
    description: 'Markdown as written, 1 to 10,000 characters. Render it with HTML disabled.',
    example: 'Called @[Ada Lovelace](usr_01kb3w8hxv6k8y1f4sn0q3a7pd) about the migration.',
    rule: z
      .string('must be a string.')
      .min(1, 'must not be empty.')
      .max(limits.maxNoteLength, `must have at most ${limits.maxNoteLength.toLocaleString('en-US')} characters.`),
    create: 'required',
    update: true,
  })
  content!: string
  @Property(() => Boolean, {
    description: 'Whether lists show the note before notes that are not pinned.',
    example: false,
    create: 'optional',
    default: false,
    update: true,
  })
  pinned!: boolean
  @Property(() => ID, {
    description: 'The principal that created the note, for example a user or an API key. Null for Gatehouse itself.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly createdBy!: string | null
  @Property(() => [NoteMention], { description: 'The users that the text mentions, in the order of the text.' })
  readonly mentions!: NoteMention[]
  @Property(() => [NoteReference], { description: 'The resources that the text refers to, in the order of the text.' })
  readonly references!: NoteReference[]
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const NotePage = pageOf(Note)

@ObjectType({ description: 'The number of notes about a resource.' })
export class NoteCount {
  @Property(() => Int, { description: 'The number of notes.', example: 3 })
  count!: number
}

export const createRules = createRulesOf(Note)
export const updateRules = updateRulesOf(Note)

@ArgsType()
export class NotePath extends AccountPath {
  @Field(() => ID, { description: 'The id of the note.' })
  noteId!: string
}

@ArgsType()
export class NoteFilter extends PageArgs {
  @Field(() => NoteSubject, { nullable: true, description: 'Only notes about resources of this type.' })
  subjectType?: NoteSubject | null
  @Field(() => ID, { nullable: true, description: 'Only notes about this resource. Requires `subjectType`.' })
  subjectId?: string | null
  @Field(() => ID, { nullable: true, description: 'Only notes about users and organizations of this issuer.' })
  issuerId?: string | null
  @Field(() => ID, { nullable: true, description: 'Only notes of this user, API key or other principal.' })
  createdBy?: string | null
  @Field(() => Boolean, { nullable: true, description: 'Only notes that are pinned, or only those that are not.' })
  pinned?: boolean | null
  @Field(() => ID, { nullable: true, description: 'Only notes whose text mentions this user.' })
  mentionsUserId?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'A prefix of the text, in any case, or the id. The results are sorted by text.',
  })
  search?: string | null
}

@ArgsType()
export class NoteSubjectArgs {
  @Field(() => NoteSubject, { description: 'The type of the resource.' })
  subjectType!: NoteSubject
  @Field(() => ID, { description: 'The id of the resource.' })
  subjectId!: string
}

@ArgsType()
export class BacklinkArgs {
  @Field(() => NoteReferenceType, { description: 'The type of the resource.' })
  refType!: ReferenceType
  @Field(() => ID, { description: 'The id of the resource.' })
  refId!: string
  @Field(() => Int, { nullable: true, description: 'Number of notes, 1 to 50. The default is 10.' })
  limit?: number | null
}
