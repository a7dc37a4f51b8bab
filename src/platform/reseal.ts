/**
 * Sealing anew what lies sealed with older keys, after a change of SECRET_KEY. Row by row in small portions, each a
 * statement that writes only where the old text still stands: whoever changed or removed a row meanwhile wins, running
 * twice at once does no harm, and a run that was cut off goes on where the next one finds something left.
 */
import type { Context } from './context.js'
import { transaction } from './database.js'
import type { Sealer } from './secrets.js'

/** One column, or one text inside a JSON column, that holds what the sealer made. */
export interface SealedPlace {
  /** In the plural, for people. */
  readonly what: string
  readonly table: string
  /** The primary key: columns and their types, in order. */
  readonly key: Readonly<Record<string, 'text' | 'uuid'>>
  readonly column: string
  /** Where in the JSON. */
  readonly path?: readonly string[]
}

/** How much of one place lies under one key. */
export interface SealedCount {
  what: string
  /** The key's id, see Sealer.keyIds. */
  key: string
  count: number
  /** One of them, to try. */
  sample: string
}

/** Rows of one statement. */
const PORTION = 200
/** While other processes still seal with an older key there is always something left. */
const PASSES = 5

const textOf = ({ column, path }: SealedPlace): string => (path ? `${column} #>> '{${path.join(',')}}'` : column)

/** The statement that counts what lies sealed, by place and key. */
export const sealedCountText = (places: readonly SealedPlace[]): string =>
  places
    .map(
      (place) => `
  SELECT '${place.what}' AS what, split_part(${textOf(place)}, '.', 1) AS key, count(*)::int AS count,
    min(${textOf(place)}) AS sample
  FROM ${place.table} WHERE ${textOf(place)} LIKE '________.%' GROUP BY 2`,
    )
    .join(' UNION ALL ')

/**
 * Seals everything anew that an older key of the list opens. What none opens stays as it is.
 * @param progress hears how many texts have been done so far
 * @returns how many texts lie under the current key now and did not before
 */
export async function reseal(
  context: Context,
  places: readonly SealedPlace[],
  progress: (resealed: number) => void,
): Promise<number> {
  let resealed = 0
  for (let pass = 0; pass < PASSES; pass++) {
    const before = resealed
    for (const place of places) {
      for await (const moved of portionsOf(context, place)) {
        resealed += moved
        progress(resealed)
      }
    }
    if (resealed === before) break
  }
  return resealed
}

/** Goes once through a place; answers of each portion how many were sealed anew. */
async function* portionsOf(context: Context, place: SealedPlace): AsyncGenerator<number> {
  const { table, key } = place
  const [current] = context.sealer.keyIds
  const columns = Object.keys(key)
  const [row, old] = [columns.join(', '), textOf(place)]
  const text = (after: string): string => `
    SELECT ${columns.map((column) => `${column}::text`).join(', ')}, ${old} AS sealed FROM ${table}
    WHERE ${old} LIKE '________.%' AND split_part(${old}, '.', 1) <> $1 ${after} ORDER BY ${row} LIMIT ${PORTION}`
  const following = `AND (${row}) > (${columns.map((column, at) => `$${at + 2}::${key[column]}`).join(', ')})`
  for (let cursor: string[] = []; ; ) {
    const values = [current, ...cursor]
    const rows = await context.tools.query<Record<string, string>>('', text(cursor.length ? following : ''), values)
    const opened = rows.flatMap((found) => {
      const fresh = resealedText(context, found['sealed']!)
      return fresh === undefined ? [] : [[...columns.map((column) => found[column]!), found['sealed']!, fresh]]
    })
    yield await write(context, place, opened)
    const last = rows.at(-1)
    if (!last || rows.length < PORTION) return
    cursor = columns.map((column) => last[column]!)
  }
}

/** @param rows each its key, its old text and its new one */
async function write(context: Context, place: SealedPlace, rows: string[][]): Promise<number> {
  if (rows.length === 0) return 0
  const { table, key, column, path } = place
  const columns = Object.keys(key)
  const arrays = [...Object.values(key), 'text', 'text'].map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const fresh = path ? `jsonb_set(${column}, '{${path.join(',')}}', to_jsonb(fresh.fresh_text))` : 'fresh.fresh_text'
  const text = `
    UPDATE ${table} SET ${column} = ${fresh}
    FROM unnest(${arrays}) AS fresh(${columns.map((name) => `fresh_${name}`).join(', ')}, old_text, fresh_text)
    WHERE ${columns.map((name) => `${name} = fresh_${name}`).join(' AND ')} AND ${textOf(place)} = old_text RETURNING 1`
  const values = [...columns, 'old', 'fresh'].map((_, at) => rows.map((row) => row[at]))
  // In a transaction for its sake alone: deadlocks are tried again there.
  return transaction(context, async (inside) => (await inside.query('', text, values)).length)
}

function resealedText({ sealer }: Context, sealed: string): string | undefined {
  try {
    return sealer.seal(sealer.open(sealed))
  } catch {
    return undefined
  }
}

/** Does a key of the list open it? */
export function opens(sealer: Pick<Sealer, 'open'>, sealed: string): boolean {
  try {
    sealer.open(sealed)
    return true
  } catch {
    return false
  }
}
