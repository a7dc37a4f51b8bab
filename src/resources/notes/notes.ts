/** Notes: Markdown about a resource of the account, with mentions and references (docs/contract.md#notes). */
import { invalidField, notFound } from '../../kernel/errors.js'
import { isId, newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, invalidCursor, type Page } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Note, type NoteMention, type NoteReference, type Prisma } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import { type InAccount, requireAccount } from '../resource-path.js'
import { type NameSearch, searchNames } from '../search.js'
import { parseLinks } from './links.js'
import {
  type BacklinkArgs,
  createRules,
  type NoteFilter,
  type NotePath,
  type NoteSubjectArgs,
  updateRules,
} from './note.js'
import { requireSubject } from './subjects.js'

export type NoteWithLinks = Note & { mentions: NoteMention[]; references: NoteReference[] }

export const linksInclude = {
  mentions: { orderBy: { position: 'asc' } },
  references: { orderBy: { position: 'asc' } },
} satisfies Prisma.NoteInclude

/**
 * SQL: the indexed expression for searches, which is the beginning of the text in lower case, without leading Markdown
 * characters.
 */
const searchKeySql = (text: string): string => `lower(left(ltrim(${text}, '#*>-@[ '), 200))`

/**
 * Lists notes: pinned notes first, and newer notes before older ones. With `search`, lists the notes whose text begins
 * with the search text (compared by `searchKeySql`), or the one with this id, sorted by text.
 *
 * The cursor of the list is `pinned:timestamp:note_id`. In a cursor of a caller, the note id can be omitted; then the
 * page begins before the timestamp. The cursors of a search have another format.
 * @throws invalid_request for an invalid cursor or limit, or subject_id without subject_type; not_found for the account
 */
export async function listNotes(
  context: Context,
  { accountId }: InAccount,
  request: NoteFilter,
): Promise<Page<NoteWithLinks>> {
  const { subjectType, subjectId, issuerId, createdBy, pinned, mentionsUserId, search } = request
  const limit = checkPageLimit(request)
  if (typeof subjectId === 'string' && typeof subjectType !== 'string') {
    throw invalidField('subjectId', 'needs_subject_type', 'requires subject_type.')
  }
  const filter: Prisma.NoteWhereInput = {
    accountId,
    ...(typeof subjectType === 'string' && { subjectType }),
    ...(typeof subjectId === 'string' && { subjectId }),
    ...(typeof issuerId === 'string' && { issuerId }),
    ...(typeof createdBy === 'string' && { createdBy }),
    ...(typeof mentionsUserId === 'string' && { mentions: { some: { userId: mentionsUserId } } }),
  }
  const columns = { accountId, subjectType, subjectId, issuerId, createdBy, pinned }
  const nameSearch = {
    table: 'notes',
    prefix: 'note',
    key: searchKeySql('content'),
    searchKeySql,
    where: columns,
    ...mentionCondition(mentionsUserId),
  } as const
  const found = await searchNames(context, nameSearch, search, request)
  if (found) {
    const rows = await context.db.note.findMany({ where: { AND: [filter, found.where] }, include: linksInclude })
    if (rows.length === 0) await requireAccount(context, { accountId })
    return found.pageOf(rows)
  }
  const from = parseCursor(request.cursor)
  const rows: NoteWithLinks[] = []
  for (const range of rangesAfter(from)) {
    const excluded = typeof pinned === 'boolean' && range.pinned === !pinned
    if (excluded || rows.length > limit) continue
    const found = await context.db.note.findMany({
      where: { AND: [filter, range, typeof pinned === 'boolean' ? { pinned } : {}] },
      orderBy: [{ pinned: 'desc' }, { createdAt: 'desc' }, { id: 'desc' }],
      take: limit + 1 - rows.length,
      include: linksInclude,
    })
    rows.push(...found)
  }
  if (rows.length === 0) await requireAccount(context, { accountId })
  return pageOfNotes(rows, limit)
}

const mentionCondition = (userId: string | null | undefined): Pick<NameSearch, 'and'> =>
  typeof userId === 'string'
    ? {
        and: (value) =>
          `EXISTS (SELECT FROM note_mentions m WHERE m.note_id = notes.id AND m.user_id = ${value(userId)})`,
      }
    : {}

/** Returns a page of notes. @param rows the notes, read with one row more than the limit */
export function pageOfNotes(rows: NoteWithLinks[], limit: number): Page<NoteWithLinks> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const hasMore = rows.length > limit
  return { data, hasMore, nextCursor: hasMore && last ? `${last.pinned}:${last.createdAt}:${last.id}` : null }
}

interface CursorPosition {
  pinned: boolean
  timestamp: number
  id: string | undefined
}

function parseCursor(cursor: string | null | undefined): CursorPosition | undefined {
  if (cursor === undefined || cursor === null) return undefined
  const [, pinned, timestamp, id] = /^(true|false|1|0):(\d{1,15})(?::(.+))?$/.exec(cursor) ?? []
  if (pinned === undefined || (id !== undefined && !isId('note', id))) throw invalidCursor()
  return { pinned: pinned === 'true' || pinned === '1', timestamp: Number(timestamp), id }
}

/**
 * Returns conditions for the notes after a position, one per index range, in the order of the index: the remaining
 * pinned notes, then the notes that are not pinned. With a single condition that contains OR, PostgreSQL would read all
 * notes before the position.
 */
function rangesAfter(position: CursorPosition | undefined): Prisma.NoteWhereInput[] {
  if (position === undefined) return [{}]
  const { pinned, timestamp, id } = position
  // The condition `lte` is the index range; the condition `OR` excludes notes of the same millisecond before the
  // position.
  const olderRange =
    id === undefined
      ? { createdAt: { lt: timestamp } }
      : { createdAt: { lte: timestamp }, OR: [{ createdAt: { lt: timestamp } }, { id: { lt: id } }] }
  return pinned ? [{ pinned, ...olderRange }, { pinned: false }] : [{ pinned, ...olderRange }]
}

/** Counts the notes about a subject. @throws not_found for the account */
export async function countNotes(
  context: Context,
  { accountId }: InAccount,
  { subjectType, subjectId }: NoteSubjectArgs,
): Promise<{ count: number }> {
  const count = await context.db.note.count({ where: { accountId, subjectType, subjectId } })
  if (count === 0) await requireAccount(context, { accountId })
  return { count }
}

/** Returns the newest notes that reference a resource. There is only one page. */
export async function listBacklinks(
  context: Context,
  { accountId }: InAccount,
  args: BacklinkArgs,
): Promise<Page<NoteWithLinks>> {
  const limit = checkPageLimit(args, limits.maxBacklinksPageLimit, limits.defaultBacklinksPageLimit)
  const rows = await context.db.noteReference.findMany({
    where: { accountId, type: args.refType, refId: args.refId },
    orderBy: { noteId: 'desc' },
    take: limit,
    select: { note: { include: linksInclude } },
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return { data: rows.map(({ note }) => note), nextCursor: null, hasMore: false }
}

const findNote = (context: Context, { accountId, noteId }: NotePath): Promise<NoteWithLinks | null> =>
  context.db.note.findFirst({ where: { id: noteId, accountId }, include: linksInclude })

/** @throws not_found */
export async function getNote(context: Context, path: NotePath): Promise<NoteWithLinks> {
  const note = await findNote(context, path)
  if (!note) throw notFound('note')
  return note
}

/** @throws invalid_request, also if the subject is not in this account; not_found for the account */
export async function createNote(context: Context, path: InAccount, input: unknown): Promise<NoteWithLinks> {
  const values = checkInput(createRules, input)
  return transaction(context, async (tx) => {
    await requireAccount(tx, path)
    const subject = await requireSubject(tx, path, values)
    const row = newRow('note', tx.now())
    const { accountId } = path
    await tx.db.note.create({
      data: { ...row, accountId, ...values, ...subject, createdBy: tx.actor.id },
      select: { id: true },
    })
    await saveLinks(tx, { accountId, noteId: row.id }, values.content)
    const note = await getNote(tx, { accountId, noteId: row.id })
    await recordNoteEvent(tx, 'note.created', note)
    return note
  })
}

/** Replaces the stored mentions and references of a note by those in the text. */
async function saveLinks(context: Context, { accountId, noteId }: NotePath, text: string): Promise<void> {
  await context.db.noteMention.deleteMany({ where: { noteId } })
  await context.db.noteReference.deleteMany({ where: { noteId } })
  const { mentions, references } = parseLinks(text)
  const withPosition = <T>(list: T[]) => list.map((link, position) => ({ ...link, accountId, noteId, position }))
  if (mentions.length > 0) await context.db.noteMention.createMany({ data: withPosition(mentions) })
  if (references.length > 0) await context.db.noteReference.createMany({ data: withPosition(references) })
}

/**
 * Updates a note. Extracts mentions and references from new content.
 * @throws invalid_request, not_found, precondition_failed
 */
export async function updateNote(
  context: Context,
  path: NotePath,
  input: unknown,
  ifMatch?: string | null,
): Promise<NoteWithLinks> {
  const values = checkInput(updateRules, input)
  return updateWithOptimisticLock<NoteWithLinks, Prisma.NoteUncheckedUpdateManyInput>(context, {
    resourceName: 'note',
    table: 'notes',
    ifMatch,
    read: (tx) => findNote(tx, path),
    computeChanges: () => values,
    write: async (tx, version, data) => {
      const { count } = await tx.db.note.updateMany({ where: { id: path.noteId, updatedAt: version }, data })
      if (count === 0) return null
      if (values.content !== undefined) await saveLinks(tx, path, values.content)
      return findNote(tx, path)
    },
    afterWrite: (tx, before, note) => recordNoteEvent(tx, 'note.updated', note, before),
  })
}

/** Deletes a note permanently. @throws not_found, precondition_failed */
export async function deleteNote(context: Context, path: NotePath, ifMatch?: string | null): Promise<void> {
  await updateWithOptimisticLock<NoteWithLinks, object>(context, {
    resourceName: 'note',
    table: 'notes',
    ifMatch,
    read: (tx) => findNote(tx, path),
    computeChanges: () => ({}),
    writesMore: () => true,
    write: async (tx, version) => {
      const row = await findNote(tx, path)
      const { count } = await tx.db.note.deleteMany({ where: { id: path.noteId, updatedAt: version } })
      return count === 1 ? row : null
    },
    afterWrite: (tx, _, note) => recordNoteEvent(tx, 'note.deleted', note),
  })
}

/** Returns the fields that `changes` of an event compares. Mentions and references are part of the content. */
const auditedFields = ({ pinned, content }: NoteWithLinks) => ({ pinned, content })

/**
 * Records an event. The event does not contain the content of the note, so that deleting a note also deletes the
 * content.
 */
async function recordNoteEvent(
  context: Context,
  type: EventType,
  note: NoteWithLinks,
  before?: NoteWithLinks,
): Promise<void> {
  const { id, accountId, subjectType, subjectId } = note
  const subjectIdFor = (kind: string) => (subjectType === kind ? subjectId : null)
  await recordEvent(context, type, {
    accountId,
    issuerId: note.issuerId ?? subjectIdFor('issuer'),
    userId: subjectIdFor('user'),
    orgId: subjectIdFor('org'),
    clientId: subjectIdFor('client'),
    target: { type: 'note', id },
    data: { subject_type: subjectType, subject_id: subjectId },
    changes: before ? changesBetween('note', auditedFields(before), auditedFields(note)) : {},
  })
}
