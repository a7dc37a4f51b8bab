/** Everything that a deployment stores, as text, to look for what must not be there. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestApp } from './start-app.js'

/** Text of one place: a column of a table (`users.username`), or a file. */
export interface Found {
  place: string
  text: string
}

const tablesText = `
  SELECT c.relname AS name, pg_get_expr(c.relpartbound, c.oid) IS NOT NULL AS partition
  FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' ORDER BY 1`

/** Every column of every row of every table, partitions by the name of their table; bytea is decoded. */
export async function dumpDatabase({ gatehouse }: TestApp): Promise<Found[]> {
  const { pool } = gatehouse.tools
  const { rows: tables } = await pool.query<{ name: string; partition: boolean }>(tablesText)
  const found: Found[] = []
  for (const { name, partition } of tables) {
    const { rows } = await pool.query<{ row: Record<string, unknown> }>(`SELECT to_jsonb(t) AS row FROM "${name}" t`)
    const table = partition ? name.replace(/_(\d{4}_\d\d|other)$/, '') : name
    for (const { row } of rows) {
      for (const [column, value] of Object.entries(row)) {
        found.push({ place: `${table}.${column}`, text: decoded(JSON.stringify(value)) })
      }
    }
  }
  return found
}

const decoded = (text: string): string =>
  text.replace(/\\\\x([0-9a-f]+)/g, (_, hex: string) => Buffer.from(hex, 'hex').toString())

/** Every file below a folder. */
export function dumpFiles(folder: string): Found[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => ({ place: name, text: readFileSync(join(parentPath, name)).toString('latin1') }))
}
