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
  AccountPath,
  enumOf,
  idempotencyKeyArg,
  ifMatchArg,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { type ReferenceType, referenceTypes } from './links.js'
import { countNotes, createNote, deleteNote, getNote, listBacklinks, listNotes, updateNote } from './notes.js'
import { type NoteSubject, noteSubjects } from './subjects.js'

export const NoteSubjectEnum = enumOf(noteSubjects)
registerEnumType(NoteSubjectEnum, { name: 'NoteSubject' })
export const NoteReferenceTypeEnum = enumOf(referenceTypes)
registerEnumType(NoteReferenceTypeEnum, { name: 'NoteReferenceType' })

@ObjectType({ description: 'A mention of a user in a note: `@[Display Name](user_id)`.' })
class NoteMention {
  @Field(() => ID)
  userId!: string
  @Field(() => String)
  displayName!: string
}

@ObjectType({ description: 'A reference from a note to a resource: `[[type:id]]` or `[[type:id|Display Text]]`.' })
class NoteReference {
  @Field(() => NoteReferenceTypeEnum)
  type!: ReferenceType
  @Field(() => ID, { name: 'id', description: 'The id as written. The resource may not exist.' })
  refId!: string
  @Field(() => String, { nullable: true })
  displayText!: string | null
}

@ObjectType({ description: 'A Markdown note about a user, an organization, an issuer or a client.' })
export class Note {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => NoteSubjectEnum)
  subjectType!: NoteSubject
  @Field(() => ID)
  subjectId!: string
  @Field(() => ID, { nullable: true, description: 'The issuer of the user or organization; null for other subjects.' })
  issuerId!: string | null
  @Field(() => String, { description: 'Markdown as written. Render it with HTML disabled.' })
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
class NotePath extends AccountPath {
  @Field(() => ID)
  noteId!: string
}

@ArgsType()
class NoteFilter extends PageArgs {
  @Field(() => NoteSubjectEnum, { nullable: true })
  subjectType?: NoteSubject | null
  @Field(() => String, { nullable: true, description: 'Requires subjectType.' })
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
    description: 'A prefix of the text, in any case, or the id. The results are sorted by text.',
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
  @Field(() => Int, { nullable: true, description: 'Number of notes, 1 to 50. The default is 10.' })
  limit?: number | null
}

@InputType()
class CreateNoteInput {
  @Field(() => NoteSubjectEnum)
  subjectType!: NoteSubject
  @Field(() => String)
  subjectId!: string
  @Field(() => String, { nullable: true, description: 'Required for users and organizations; not allowed otherwise.' })
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
  @Query(() => NotePage, { nullable: true, description: 'Lists notes, pinned notes first, then newest first.' })
  @Scope('notes', 'read')
  notes(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => NoteFilter) filter: NoteFilter,
  ) {
    return listNotes(context, { accountId }, filter, filter)
  }

  @Query(() => NoteCount, { nullable: true, description: 'The number of notes about a subject.' })
  @Scope('notes', 'read')
  noteCount(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => NoteSubjectArgs) subject: NoteSubjectArgs,
  ) {
    return countNotes(context, { accountId }, subject)
  }

  @Query(() => NotePage, {
    nullable: true,
    description: 'The newest notes that reference a resource. There is only one page.',
  })
  @Scope('notes', 'read')
  noteBacklinks(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => BacklinkArgs) args: BacklinkArgs,
  ) {
    return listBacklinks(context, { accountId }, args, args)
  }

  @Query(() => Note, { nullable: true })
  @Scope('notes', 'read')
  note(@Ctx() context: Context, @Args(() => NotePath) path: NotePath) {
    return getNote(context, path)
  }

  @Mutation(() => Note)
  @Scope('notes', 'write')
  createNote(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Arg('input', () => CreateNoteInput) input: CreateNoteInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createNote(context, { accountId }, input)
  }

  @Mutation(() => Note, { description: 'Updates a note. Mentions and references are extracted again.' })
  @Scope('notes', 'write')
  updateNote(
    @Ctx() context: Context,
    @Args(() => NotePath) path: NotePath,
    @Arg('input', () => UpdateNoteInput) input: UpdateNoteInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateNote(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes a note permanently.' })
  @Scope('notes', 'delete')
  async deleteNote(
    @Ctx() context: Context,
    @Args(() => NotePath) path: NotePath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteNote(context, path, ifMatch)
    return true
  }
}
