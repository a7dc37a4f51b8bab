/**
 * Prefix search by name, sorted by name (docs/decisions/0041). Without further filters, a page is a range of an index
 * on the parent, the name and the id, so the cost of the page does not depend on the search text, the position of the
 * page or the number of other rows. The index has the collation "C" (bytes), in which all names with the same prefix
 * are adjacent.
 */
import { type IdPrefix, isId } from '../kernel/ids.js'
import { checkPageLimit, invalidCursor, type Page, type PageRequest } from '../kernel/pagination.js'
import type { Context } from '../platform/context.js'
import { sql } from '../platform/postgres/database.js'

export interface NameSearch {
  table: string
  /** Prefix of the ids. */
  prefix: IdPrefix
  /** SQL: the indexed expression that is searched; `lower(name)` by default. */
  key?: string
  /** SQL: converts the search text to the form of `key`; `lower(…)` by default. */
  searchKeySql?: (text: string) => string
  /** Expected values by Prisma field name; an array matches any of its values. Undefined and null add no condition. */
  where: Readonly<Record<string, unknown>>
  /** More conditions as SQL. `value` adds a parameter and returns its placeholder. */
  and?: string | ((value: (one: unknown) => string) => string)
}

interface FoundName {
  id: string
  name: string
}

export interface NameSearchResult {
  /**
   * Prisma filter for the found rows. It replaces the filter of the cursor; combine it with the filter of the tenant.
   */
  where: { id: { in: string[] } }
  /** Returns the rows as a page sorted by name. */
  pageOf<Row extends { id: string }>(rows: readonly Row[]): Page<Row>
}

/**
 * Finds the rows whose name begins with the text, ignoring case. If the text is an id, finds the row with this id
 * instead.
 * @returns undefined if the text is missing or empty; the list then has its default order
 * @throws invalid_request for an invalid limit or cursor, if a text is given
 */
export async function searchNames(
  context: Context,
  search: NameSearch,
  text: string | null | undefined,
  request: PageRequest,
): Promise<NameSearchResult | undefined> {
  if (!text) return undefined
  const limit = checkPageLimit(request)
  const found = await findByName(context, search, text, decodeCursor(search, request), limit + 1)
  const page = found.slice(0, limit)
  const hasMore = found.length > limit
  return {
    where: { id: { in: page.map(({ id }) => id) } },
    pageOf(rows) {
      const byId = new Map(rows.map((row) => [row.id, row]))
      const data = page.flatMap(({ id }) => byId.get(id) ?? [])
      return { data, hasMore, nextCursor: hasMore ? encodeCursor(page.at(-1)!) : null }
    },
  }
}

function findByName(context: Context, search: NameSearch, text: string, after: FoundName | undefined, count: number) {
  const { table, prefix, key = lowerSql('name'), searchKeySql = lowerSql, where, and } = search
  const values: unknown[] = []
  const value = (one: unknown): string => `$${values.push(one)}`
  const [name, id] = [`${key} COLLATE "C"`, 'id COLLATE "C"']
  const conditions = Object.entries(where).flatMap(([name, expected]) =>
    expected === undefined || expected === null
      ? []
      : [`${toSnakeCase(name)} = ${Array.isArray(expected) ? `ANY (${value(expected)}::text[])` : value(expected)}`],
  )
  if (and) conditions.push(typeof and === 'string' ? and : and(value))
  if (isId(prefix, text)) conditions.push(`id = ${value(text)}`)
  else {
    const from = searchKeySql(`${value(text)}::text`)
    // The upper bound is the search text followed by the last Unicode code point.
    conditions.push(`${name} >= ${from}`, `${name} < ${from} || chr(1114111)`)
  }
  if (after) conditions.push(`(${name}, ${id}) > (${value(after.name)}, ${value(after.id)})`)
  const statement = `SELECT id, ${key} AS name FROM ${table} WHERE ${conditions.join(' AND ')}
    ORDER BY ${name}, ${id} LIMIT ${value(count)}`
  return sql<FoundName>(context.db, statement, ...values)
}

const lowerSql = (text: string): string => `lower(${text})`

const toSnakeCase = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

/** The cursor has the name and the id, so that it stays valid if the row is renamed or deleted. */
const encodeCursor = ({ name, id }: FoundName): string => Buffer.from(JSON.stringify([name, id])).toString('base64url')

function decodeCursor({ prefix }: NameSearch, { cursor }: PageRequest): FoundName | undefined {
  if (cursor === undefined || cursor === null) return undefined
  try {
    const [name, id, more] = JSON.parse(Buffer.from(cursor, 'base64url').toString())
    if (typeof name === 'string' && isId(prefix, id) && more === undefined && !name.includes('\0')) return { name, id }
  } catch {}
  throw invalidCursor()
}
