/**
 * Search by the beginning of a name, in the order of names (docs/decisions/0050). A page is a range of one index, that of
 * the parent, the name and the id, so that it costs the same whatever is sought, at every depth and among any number of
 * rows of others. The collation is that of bytes: by it the names with one beginning lie together.
 */
import { type IdPrefix, isId } from '../kernel/ids.js'
import { limitOf, type Page, type PageRequest, unknownCursor } from '../kernel/page.js'
import type { Context } from '../platform/context.js'
import { sql } from '../platform/database.js'

export interface NameSearch {
  table: string
  /** Of the rows' ids. */
  prefix: IdPrefix
  /** What is looked at, as the index has it; `lower(name)` if not given. */
  key?: string
  /** SQL: what a sought text is made into, to be compared with that; in small letters if not given. */
  sought?: (text: string) => string
  /** Columns, as the models call them, and what they must hold; a list means one of it. Undefined and null say nothing. */
  where: Readonly<Record<string, unknown>>
  /** More conditions, as SQL; values of anybody go in by `value`. */
  and?: string | ((value: (one: unknown) => string) => string)
}

interface Found {
  id: string
  name: string
}

/** A page of what was found. */
export interface FoundNames {
  /** The rows to be read, in place of those behind the cursor; whoever reads them checks their place once more. */
  where: { id: { in: string[] } }
  /** Puts the rows into the order of names. */
  pageOf<Row extends { id: string }>(rows: readonly Row[]): Page<Row>
}

/**
 * Finds the rows whose name begins with the text, in any case, or the one whose id it is.
 * @returns undefined when nothing is sought: then the list is in its own order
 * @throws invalid_request for a bad limit, or the cursor of another list
 */
export async function searchNames(
  context: Context,
  search: NameSearch,
  text: string | null | undefined,
  request: PageRequest,
): Promise<FoundNames | undefined> {
  if (!text) return undefined
  const limit = limitOf(request)
  const found = await find(context, search, text, cursorOf(search, request), limit + 1)
  const page = found.slice(0, limit)
  const hasMore = found.length > limit
  return {
    where: { id: { in: page.map(({ id }) => id) } },
    pageOf(rows) {
      const byId = new Map(rows.map((row) => [row.id, row]))
      const data = page.flatMap(({ id }) => byId.get(id) ?? [])
      return { data, hasMore, nextCursor: hasMore ? textOf(page.at(-1)!) : null }
    },
  }
}

function find(context: Context, search: NameSearch, text: string, after: Found | undefined, count: number) {
  const { table, prefix, key = lower('name'), sought = lower, where, and } = search
  const values: unknown[] = []
  const value = (one: unknown): string => `$${values.push(one)}`
  const [name, id] = [`${key} COLLATE "C"`, 'id COLLATE "C"']
  const conditions = Object.entries(where).flatMap(([name, wanted]) =>
    wanted === undefined || wanted === null
      ? []
      : [`${snake(name)} = ${Array.isArray(wanted) ? `ANY (${value(wanted)}::text[])` : value(wanted)}`],
  )
  if (and) conditions.push(typeof and === 'string' ? and : and(value))
  if (isId(prefix, text)) conditions.push(`id = ${value(text)}`)
  else {
    const from = sought(`${value(text)}::text`)
    // Everything that begins like this sorts before it with the last of all characters behind it.
    conditions.push(`${name} >= ${from}`, `${name} < ${from} || chr(1114111)`)
  }
  if (after) conditions.push(`(${name}, ${id}) > (${value(after.name)}, ${value(after.id)})`)
  const statement = `SELECT id, ${key} AS name FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY ${name}, ${id} LIMIT ${value(count)}`
  return sql<Found>(context.db, statement, ...values)
}

const lower = (text: string): string => `lower(${text})`

const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** A name may change and its row may go while somebody reads: the place in the list is both, the name and the id. */
const textOf = ({ name, id }: Found): string => Buffer.from(JSON.stringify([name, id])).toString('base64url')

function cursorOf({ prefix }: NameSearch, { cursor }: PageRequest): Found | undefined {
  if (cursor === undefined || cursor === null) return undefined
  try {
    const [name, id, more] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (typeof name === 'string' && isId(prefix, id) && more === undefined && !name.includes('\0')) return { name, id }
  } catch {}
  throw unknownCursor()
}
