/** Dumps all stored data as text, so that tests can search the text for values that must not be stored. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestApp } from './start-app.js'

/** The text of one column of one row, or of one file. */
export interface DumpedText {
  /** Table and column, such as `users.username`, or a file name. */
  location: string
  text: string
}

const tablesText = `
  SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) IS NOT NULL AS partition
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`

/**
 * Returns each column of each row of all tables. Rows of a partition have the name of the partitioned table in
 * `location`. Values of the type bytea are decoded to text.
 */
export async function dumpDatabase({ gatehouse }: TestApp): Promise<DumpedText[]> {
  const { pool } = gatehouse.database
  const { rows: tables } = await pool.query<{ name: string; partition: boolean }>(tablesText)
  const found: DumpedText[] = []
  for (const { name, partition } of tables) {
    const { rows } = await pool.query<{ row: Record<string, unknown> }>(`SELECT to_jsonb(t) AS row FROM "${name}" t`)
    const table = partition ? name.replace(/_(\d{4}_\d\d|other)$/, '') : name
    for (const { row } of rows) {
      for (const [column, value] of Object.entries(row)) {
        found.push({ location: `${table}.${column}`, text: decodeBytea(JSON.stringify(value)) })
      }
    }
  }
  return found
}

const decodeBytea = (text: string): string =>
  text.replace(/\\\\x([0-9a-f]+)/g, (_, hex: string) => Buffer.from(hex, 'hex').toString())

/** Returns the text of each file in the folder and its subfolders, decoded as latin1. */
export function dumpFiles(folder: string): DumpedText[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ location: name, text: readFileSync(join(parentPath, name)).toString('latin1') }))
}
