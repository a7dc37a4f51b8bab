import type { Page } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { links, type NoteWithLinks, pageOfNotes } from './notes.js'

const ofAccountsText = `
  SELECT first.id FROM unnest($1::text[]) AS a(id) CROSS JOIN LATERAL (
    SELECT n.id FROM notes n WHERE n.account_id = a.id
    ORDER BY n.pinned DESC, n.created_at DESC, n.id DESC LIMIT $2::int) AS first`

/** The first page of notes of several accounts: their ids by the index, then the notes with their links. */
export async function notesOf(
  context: Context,
  accountIds: readonly string[],
  limit: number,
): Promise<Page<NoteWithLinks>[]> {
  const first = await sql<{ id: string }>(context.db, ofAccountsText, [...accountIds], limit + 1)
  const rows = await context.db.note.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: first.map(({ id }) => id) } },
    orderBy: [{ pinned: 'desc' }, { createdAt: 'desc' }, { id: 'desc' }],
    include: links,
  })
  return accountIds.map((id) =>
    pageOfNotes(
      rows.filter((row) => row.accountId === id),
      limit,
    ),
  )
}
