import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import {
  AccountPlace,
  enumOf,
  idempotencyKeyArg,
  ifMatchArg,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import { type ReferenceType, referenceTypes } from './links.js'
import { countNotes, createNote, deleteNote, getNote, listBacklinks, listNotes, updateNote } from './notes.js'
import { type NoteSubject, noteSubjects } from './subjects.js'

export const NoteSubjectEnum = enumOf(noteSubjects)
registerEnumType(NoteSubjectEnum, { name: 'NoteSubject' })
export const NoteReferenceTypeEnum = enumOf(referenceTypes)
registerEnumType(NoteReferenceTypeEnum, { name: 'NoteReferenceType' })

@ObjectType({ description: 'A user named in a note: `@[Display Name](user_id)`.' })
class NoteMention {
  @Field(() => ID)
  userId!: string
  @Field(() => String)
  displayName!: string
}

@ObjectType({ description: 'A thing that a note points to: `[[type:id]]` or `[[type:id|Display Text]]`.' })
class NoteReference {
  @Field(() => NoteReferenceTypeEnum)
  type!: ReferenceType
  @Field(() => ID, { name: 'id', description: 'As it was written; it need not exist.' })
  refId!: string
  @Field(() => String, { nullable: true })
  displayText!: string | null
}

@ObjectType({ description: 'Markdown about a user, an organization, an issuer or a client (spec 2.14).' })
export class Note {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => NoteSubjectEnum)
  subjectType!: NoteSubject
  @Field(() => ID)
  subjectId!: string
  @Field(() => ID, { nullable: true, description: 'Of a user or organization.' })
  issuerId!: string | null
  @Field(() => String, { description: 'Markdown, as it was written: show it with HTML disabled.' })
  content!: string
  @Field(() => Boolean)
  pinned!: boolean
  @Field(() => ID, { nullable: true })
  createdBy!: string | null
  @Field(() => [NoteMention])
  mentions!: NoteMention[]
  @Field(() => [NoteReference])
  references!: NoteReference[]
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class NotePage extends pageType(Note) {}

@ObjectType()
class NoteCount {
  @Field(() => Int)
  count!: number
}

@ArgsType()
class NotePlace extends AccountPlace {
  @Field(() => ID)
  noteId!: string
}

@ArgsType()
class NoteFilter extends PageArgs {
  @Field(() => NoteSubjectEnum, { nullable: true })
  subjectType?: NoteSubject | null
  @Field(() => String, { nullable: true, description: 'Together with subjectType only.' })
  subjectId?: string | null
  @Field(() => String, { nullable: true })
  issuerId?: string | null
  @Field(() => String, { nullable: true })
  createdBy?: string | null
  @Field(() => Boolean, { nullable: true })
  pinned?: boolean | null
  @Field(() => String, { nullable: true })
  mentionsUserId?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'The beginning of the text, in any case, or the id. What is found comes in the order of texts.',
  })
  search?: string | null
}

@ArgsType()
class NoteSubjectArgs {
  @Field(() => NoteSubjectEnum)
  subjectType!: NoteSubject
  @Field(() => String)
  subjectId!: string
}

@ArgsType()
class BacklinkArgs {
  @Field(() => NoteReferenceTypeEnum)
  refType!: ReferenceType
  @Field(() => String)
  refId!: string
  @Field(() => Int, { nullable: true, description: 'How many, 1 to 50; 10 if not given.' })
  limit?: number | null
}

@InputType()
class CreateNoteInput {
  @Field(() => NoteSubjectEnum)
  subjectType!: NoteSubject
  @Field(() => String)
  subjectId!: string
  @Field(() => String, { nullable: true, description: 'Required for users and organizations, else not allowed.' })
  issuerId?: string | null
  @Field(() => String, { description: 'Markdown, 1 to 10,000 characters.' })
  content!: string
  @Field(() => Boolean, { nullable: true })
  pinned?: boolean | null
}

@InputType()
class UpdateNoteInput {
  @Field(() => String, { nullable: true })
  content?: string | null
  @Field(() => Boolean, { nullable: true })
  pinned?: boolean | null
}

@Resolver(() => Note)
export class NoteResolver {
  @Query(() => NotePage, { description: 'Pinned ones first, then newest first.' })
  @Scope('notes', 'read')
  notes(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => NoteFilter) filter: NoteFilter,
  ) {
    return listNotes(context, { accountId }, filter, filter)
  }

  @Query(() => NoteCount, { description: 'How many notes there are about a thing.' })
  @Scope('notes', 'read')
  noteCount(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => NoteSubjectArgs) subject: NoteSubjectArgs,
  ) {
    return countNotes(context, { accountId }, subject)
  }

  @Query(() => NotePage, { description: 'The newest notes that refer to a thing; there is no second page.' })
  @Scope('notes', 'read')
  noteBacklinks(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => BacklinkArgs) args: BacklinkArgs,
  ) {
    return listBacklinks(context, { accountId }, args, args)
  }

  @Query(() => Note)
  @Scope('notes', 'read')
  note(@Ctx() context: Context, @Args(() => NotePlace) place: NotePlace) {
    return getNote(context, place)
  }

  @Mutation(() => Note)
  @Scope('notes', 'write')
  createNote(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Arg('input', () => CreateNoteInput) input: CreateNoteInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createNote(context, { accountId }, input)
  }

  @Mutation(() => Note, { description: 'Mentions and references are read from the text again.' })
  @Scope('notes', 'write')
  updateNote(
    @Ctx() context: Context,
    @Args(() => NotePlace) place: NotePlace,
    @Arg('input', () => UpdateNoteInput) input: UpdateNoteInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateNote(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Permanent.' })
  @Scope('notes', 'delete')
  async deleteNote(
    @Ctx() context: Context,
    @Args(() => NotePlace) place: NotePlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteNote(context, place, ifMatch)
    return true
  }
}
