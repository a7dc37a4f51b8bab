/** Notes (spec 2.14, 4.13, decisions D14): markdown about a thing of the account, with its mentions and references. */
import { z } from 'zod'
import { invalidField, notFound } from '../../kernel/errors.js'
import { isId, newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, unknownCursor } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Note, type NoteMention, type NoteReference, type Prisma, transaction } from '../../platform/database.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { type InAccount, requireAccount } from '../place.js'
import { revise } from '../revise.js'
import { type NameSearch, searchNames } from '../search.js'
import { linksOf, type ReferenceType } from './links.js'
import { noteSubjects, requireSubject } from './subjects.js'

export type NoteWithLinks = Note & { mentions: NoteMention[]; references: NoteReference[] }

export interface NotePlace extends InAccount {
  noteId: string
}

/** The largest page of backlinks, and the page when none is asked for (spec 4.13). */
const MAX_BACKLINKS = 50
const DEFAULT_BACKLINKS = 10

const content = z
  .string('must be a string.')
  .min(1, 'must not be empty.')
  .max(10_000, 'must have at most 10,000 characters.')

const createRules = z.strictObject({
  subjectType: z.enum(noteSubjects, `must be one of ${noteSubjects.join(', ')}.`),
  subjectId: rules.text(64),
  content,
  issuerId: rules.text(64).nullable().optional(),
  pinned: rules.boolean.optional(),
})

const updateRules = z.strictObject({ content: content.optional(), pinned: rules.boolean.optional() })

export const links = {
  mentions: { orderBy: { position: 'asc' } },
  references: { orderBy: { position: 'asc' } },
} satisfies Prisma.NoteInclude

export interface NoteFilter {
  subjectType?: string | null
  subjectId?: string | null
  issuerId?: string | null
  createdBy?: string | null
  pinned?: boolean | null
  mentionsUserId?: string | null
  search?: string | null
}

/** What a search looks at, as the index has it: how the text begins, behind marks of headings, lists and mentions. */
const beginning = (text: string): string => `lower(left(ltrim(${text}, '#*>-@[ '), 200))`

/**
 * Pinned notes first, then newest first; what is sought by its beginning in the order of texts. The cursor is
 * `pinned:timestamp:note_id`; without the third part, the page begins below that millisecond; of a search it is another
 * one.
 * @throws invalid_request for a cursor of another form, or subject_id without subject_type
 */
export async function listNotes(
  context: Context,
  { accountId }: InAccount,
  { subjectType, subjectId, issuerId, createdBy, pinned, mentionsUserId, search }: NoteFilter,
  request: PageRequest,
): Promise<Page<NoteWithLinks>> {
  const limit = limitOf(request)
  if (typeof subjectId === 'string' && typeof subjectType !== 'string') {
    throw invalidField('subjectId', 'needs_subject_type', 'goes together with subject_type only.')
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
  const sought = {
    table: 'notes',
    prefix: 'note',
    key: beginning('content'),
    sought: beginning,
    where: columns,
    ...mentioning(mentionsUserId),
  } as const
  const found = await searchNames(context, sought, search, request)
  if (found) {
    const rows = await context.db.note.findMany({ where: { AND: [filter, found.where] }, include: links })
    if (rows.length === 0) await requireAccount(context, { accountId })
    return found.pageOf(rows)
  }
  const from = positionOf(request.cursor)
  const rows: NoteWithLinks[] = []
  for (const range of rangesFrom(from)) {
    const excluded = typeof pinned === 'boolean' && range.pinned === !pinned
    if (excluded || rows.length > limit) continue
    const found = await context.db.note.findMany({
      where: { AND: [filter, range, typeof pinned === 'boolean' ? { pinned } : {}] },
      orderBy: [{ pinned: 'desc' }, { createdAt: 'desc' }, { id: 'desc' }],
      take: limit + 1 - rows.length,
      include: links,
    })
    rows.push(...found)
  }
  if (rows.length === 0) await requireAccount(context, { accountId })
  return pageOfNotes(rows, limit)
}

const mentioning = (userId: string | null | undefined): Pick<NameSearch, 'and'> =>
  typeof userId === 'string'
    ? {
        and: (value) =>
          `EXISTS (SELECT FROM note_mentions m WHERE m.note_id = notes.id AND m.user_id = ${value(userId)})`,
      }
    : {}

/** Cuts a page out of notes fetched with one more than the limit. */
export function pageOfNotes(rows: NoteWithLinks[], limit: number): Page<NoteWithLinks> {
  const data = rows.slice(0, limit)
  const last = data.at(-1)
  const hasMore = rows.length > limit
  return { data, hasMore, nextCursor: hasMore && last ? `${last.pinned}:${last.createdAt}:${last.id}` : null }
}

interface Position {
  pinned: boolean
  timestamp: number
  id: string | undefined
}

function positionOf(cursor: string | null | undefined): Position | undefined {
  if (cursor === undefined || cursor === null) return undefined
  const [, pinned, timestamp, id] = /^(true|false|1|0):(\d{1,15})(?::(.+))?$/.exec(cursor) ?? []
  if (pinned === undefined || (id !== undefined && !isId('note', id))) throw unknownCursor()
  return { pinned: pinned === 'true' || pinned === '1', timestamp: Number(timestamp), id }
}

/**
 * What follows a position, as ranges of one index in its order: the rest of the pinned notes, then the others. Written
 * as one condition, the two would make PostgreSQL walk over everything before them.
 */
function rangesFrom(from: Position | undefined): Prisma.NoteWhereInput[] {
  if (from === undefined) return [{}]
  const { pinned, timestamp, id } = from
  // The first condition is the range, the second cuts the notes of the same millisecond.
  const below =
    id === undefined
      ? { createdAt: { lt: timestamp } }
      : { createdAt: { lte: timestamp }, OR: [{ createdAt: { lt: timestamp } }, { id: { lt: id } }] }
  return pinned ? [{ pinned, ...below }, { pinned: false }] : [{ pinned, ...below }]
}

/** How many notes there are about a thing. */
export async function countNotes(
  context: Context,
  { accountId }: InAccount,
  { subjectType, subjectId }: { subjectType: string; subjectId: string },
): Promise<{ count: number }> {
  const count = await context.db.note.count({ where: { accountId, subjectType, subjectId } })
  if (count === 0) await requireAccount(context, { accountId })
  return { count }
}

/** The newest notes that refer to a thing; there is no second page. */
export async function listBacklinks(
  context: Context,
  { accountId }: InAccount,
  { refType, refId }: { refType: ReferenceType; refId: string },
  request: { limit?: number | null },
): Promise<Page<NoteWithLinks>> {
  const limit = limitOf(request, MAX_BACKLINKS, DEFAULT_BACKLINKS)
  const rows = await context.db.noteReference.findMany({
    where: { accountId, type: refType, refId },
    orderBy: { noteId: 'desc' },
    take: limit,
    select: { note: { include: links } },
  })
  if (rows.length === 0) await requireAccount(context, { accountId })
  return { data: rows.map(({ note }) => note), nextCursor: null, hasMore: false }
}

const find = (context: Context, { accountId, noteId }: NotePlace): Promise<NoteWithLinks | null> =>
  context.db.note.findFirst({ where: { id: noteId, accountId }, include: links })

/** @throws not_found */
export async function getNote(context: Context, place: NotePlace): Promise<NoteWithLinks> {
  const note = await find(context, place)
  if (!note) throw notFound('note')
  return note
}

/** @throws invalid_request, also for a subject that is none of this account; not_found for the account */
export async function createNote(context: Context, place: InAccount, input: unknown): Promise<NoteWithLinks> {
  const values = check(createRules, input)
  return transaction(context, async (inside) => {
    await requireAccount(inside, place)
    const subject = await requireSubject(inside, place, values)
    const now = inside.now()
    const id = newId('note', now)
    const { accountId } = place
    await inside.db.note.create({
      data: {
        id,
        accountId,
        ...subject,
        content: values.content,
        pinned: values.pinned ?? false,
        createdBy: inside.actor.id,
        createdAt: now,
        updatedAt: now,
      },
      select: { id: true },
    })
    await keepLinks(inside, { accountId, noteId: id }, values.content)
    const note = await getNote(inside, { accountId, noteId: id })
    await told(inside, 'note.created', note)
    return note
  })
}

/** Writes what the text mentions and refers to, instead of what it did before. */
async function keepLinks(context: Context, { accountId, noteId }: NotePlace, text: string): Promise<void> {
  await context.db.noteMention.deleteMany({ where: { noteId } })
  await context.db.noteReference.deleteMany({ where: { noteId } })
  const { mentions, references } = linksOf(text)
  const placed = <T>(list: T[]) => list.map((link, position) => ({ ...link, accountId, noteId, position }))
  if (mentions.length > 0) await context.db.noteMention.createMany({ data: placed(mentions) })
  if (references.length > 0) await context.db.noteReference.createMany({ data: placed(references) })
}

/**
 * PATCH of content and pinned; a new text is read for its mentions and references again.
 * @throws invalid_request, not_found, precondition_failed
 */
export async function updateNote(
  context: Context,
  place: NotePlace,
  input: unknown,
  ifMatch?: string | null,
): Promise<NoteWithLinks> {
  const values = check(updateRules, input)
  return revise<NoteWithLinks, Prisma.NoteUncheckedUpdateManyInput>(context, {
    what: 'note',
    table: 'notes',
    ifMatch,
    read: (now) => find(now, place),
    change: () => values,
    write: async (now, version, data) => {
      const { count } = await now.db.note.updateMany({ where: { id: place.noteId, updatedAt: version }, data })
      if (count === 0) return null
      if (values.content !== undefined) await keepLinks(now, place, values.content)
      return find(now, place)
    },
    also: (inside, before, note) => told(inside, 'note.updated', note, before),
  })
}

/** Permanent; its mentions and references go with it. @throws not_found, precondition_failed */
export async function deleteNote(context: Context, place: NotePlace, ifMatch?: string | null): Promise<void> {
  await revise<NoteWithLinks, object>(context, {
    what: 'note',
    table: 'notes',
    ifMatch,
    read: (now) => find(now, place),
    change: () => ({}),
    write: async (now, version) => {
      const row = await find(now, place)
      const { count } = await now.db.note.deleteMany({ where: { id: place.noteId, updatedAt: version } })
      return count === 1 ? row : null
    },
    also: (inside, _, note) => told(inside, 'note.deleted', note),
  })
}

/** What a note has of its own: mentions and references follow from the text. */
const ownOf = ({ pinned, content }: NoteWithLinks) => ({ pinned, content })

/** The trail says that the text changed, not what it said: a note that is deleted is gone for good. */
async function told(context: Context, type: EventType, note: NoteWithLinks, before?: NoteWithLinks): Promise<void> {
  const { id, accountId, subjectType, subjectId } = note
  const about = (kind: string) => (subjectType === kind ? subjectId : null)
  await emit(context, type, {
    accountId,
    issuerId: note.issuerId ?? about('issuer'),
    userId: about('user'),
    orgId: about('org'),
    clientId: about('client'),
    target: { type: 'note', id },
    data: { subject_type: subjectType, subject_id: subjectId },
    changes: before ? changesBetween('note', ownOf(before), ownOf(note)) : {},
  })
}
