/** Long backlogs, in portions: each commits by itself, holds its locks for a moment, and is the last when a process stops. */
import type { Context } from './context.js'
import { sql } from './database.js'

/** Rows that one statement takes. */
const PORTION = 2000

/**
 * Does one portion after the other until one is not full, or until the run is to end: what is left waits for the next.
 * @param portion answers how many rows it took
 */
export async function inPortions(context: Context, size: number, portion: () => Promise<number>): Promise<void> {
  for (let count = size; count >= size && !context.stop?.aborted; ) count = await portion()
}

/**
 * Deletes what a condition finds. Rows are taken by their place in the table, so the condition needs no index where its
 * table is small; who is locked by somebody else waits for the next run, so several processes may do this at once.
 * @param condition its values begin with $1
 */
export async function sweep(context: Context, table: string, condition: string, ...values: unknown[]): Promise<void> {
  const text = `
    DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${PORTION} FOR UPDATE SKIP LOCKED))
    RETURNING 1`
  await inPortions(context, PORTION, async () => (await sql(context.db, text, ...values)).length)
}
