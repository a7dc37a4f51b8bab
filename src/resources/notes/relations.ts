import type { Page } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/postgres/database.js'
import { linksInclude, type NoteWithLinks, pageOfNotes } from './notes.js'

const newestIdsText = `
  SELECT first.id FROM unnest($1::text[]) AS a(id) CROSS JOIN LATERAL (
    SELECT n.id FROM notes n WHERE n.account_id = a.id
    ORDER BY n.pinned DESC, n.created_at DESC, n.id DESC LIMIT $2::int) AS first`

/**
 * Returns the first page of notes of several accounts. Reads the ids from the index first, and then the notes with
 * their links.
 */
export async function notesOf(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<NoteWithLinks>[]> {
  const first = await sql<{ id: string }>(context.db, newestIdsText, [...accountIds], limit + 1)
  const rows = await context.db.note.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: first.map(({ id }) => id) } },
    orderBy: [{ pinned: 'desc' }, { createdAt: 'desc' }, { id: 'desc' }],
    include: linksInclude,
  })
  return accountIds.map((id) =>
    pageOfNotes(
      rows.filter((row) => row.accountId === id),
      limit,
    ),
  )
}
