/** Dumps all stored data as text, so that tests can search it for values that must not be stored. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestApp } from './start-app.js'

/** Text of one source: a column of a table (`users.username`), or a file. */
export interface DumpedText {
  location: string
  text: string
}

const tablesText = `
  SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) IS NOT NULL AS partition
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`

/** Every column of every row of every table, partitions by the name of their table; bytea is decoded. */
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

/** Every file below a folder. */
export function dumpFiles(folder: string): DumpedText[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ location: name, text: readFileSync(join(parentPath, name)).toString('latin1') }))
}
