/** How rows leave whose time is over. */
import type { Context } from '../platform/context.js'
import { sql } from '../platform/database.js'
import { inPortions } from '../platform/sweep.js'

/** Rows per statement, so that none holds its locks for long. */
const BATCH = 500

/**
 * Deletes batch by batch what a condition finds. A periodic job may run twice, or in two processes at once: each row is
 * taken by one of them. What belongs to a deleted issuer is left alone, as the issuer itself is.
 * @param table the row is `t` in the condition, whose values begin with $1
 */
export async function purge(context: Context, table: string, condition: string, ...values: unknown[]): Promise<void> {
  const text = `
    DELETE FROM ${table} WHERE id IN (
      SELECT t.id FROM ${table} t WHERE ${condition}
        AND NOT EXISTS (SELECT 1 FROM issuers i WHERE i.id = t.issuer_id AND i.status = 'deleted')
      LIMIT ${BATCH} FOR UPDATE OF t SKIP LOCKED)
    RETURNING id`
  await inPortions(context, BATCH, async () => (await sql(context.db, text, ...values)).length)
}
