import { Args, Ctx, Mutation, Resolver } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { AccountPath, IdempotencyKey, IfMatch, NullableQuery, Scope, trueAfter } from '../graphql-types.js'
import { BacklinkArgs, Note, NoteCount, NoteFilter, NotePage, NotePath, NoteSubjectArgs } from './note.js'
import { countNotes, createNote, deleteNote, getNote, listBacklinks, listNotes, updateNote } from './notes.js'

@Resolver(() => Note)
export class NoteResolver {
  @NullableQuery(
    () => NotePage,
    'Lists the notes of an account, pinned notes first, then newest first; with `search`, sorted by their text.',
  )
  @Scope('notes', 'read')
  notes(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() filter: NoteFilter) {
    return listNotes(context, { accountId }, filter)
  }

  @NullableQuery(() => NoteCount, 'Counts the notes about a resource.')
  @Scope('notes', 'read')
  noteCount(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() subject: NoteSubjectArgs) {
    return countNotes(context, { accountId }, subject)
  }

  @NullableQuery(() => NotePage, 'Lists the newest notes whose text refers to a resource. There is only one page.')
  @Scope('notes', 'read')
  noteBacklinks(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() args: BacklinkArgs) {
    return listBacklinks(context, { accountId }, args)
  }

  @NullableQuery(() => Note, 'Returns a note with its mentions and references.')
  @Scope('notes', 'read')
  note(@Ctx() context: Context, @Args() path: NotePath) {
    return getNote(context, path)
  }

  @Mutation(() => Note, {
    description:
      'Creates a note about a resource of the account, and extracts the mentions and references of its text.',
  })
  @IdempotencyKey()
  @Scope('notes', 'write')
  createNote(@Ctx() context: Context, @Args() { accountId }: AccountPath, @CreateInput(Note) input: object) {
    return createNote(context, { accountId }, input)
  }

  @Mutation(() => Note, {
    description: 'Changes the given fields of a note. Mentions and references are extracted again.',
  })
  @Scope('notes', 'write')
  updateNote(
    @Ctx() context: Context,
    @Args() path: NotePath,
    @UpdateInput(Note) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateNote(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes a note permanently.' })
  @Scope('notes', 'delete')
  deleteNote(@Ctx() context: Context, @Args() path: NotePath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteNote(context, path, ifMatch))
  }
}
