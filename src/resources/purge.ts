import { limits } from '../kernel/limits.js'
import type { Context } from '../platform/context.js'
import { runInBatches } from '../platform/jobs/batch-delete.js'
import { sql } from '../platform/postgres/database.js'

/**
 * Deletes in batches the rows that match a condition. Two runs of a periodic job may overlap; SKIP LOCKED lets only one
 * run delete a row. Rows of a deleted issuer are kept, like the issuer itself.
 * @param condition SQL condition on the row `t`, with parameters from $1
 * @param values values of the parameters
 */
export async function purgeRows(
  context: Context,
  table: string,
  condition: string,
  ...values: unknown[]
): Promise<void> {
  const text = `
    DELETE FROM ${table} WHERE id IN (
      SELECT t.id FROM ${table} t WHERE ${condition}
        AND NOT EXISTS (SELECT 1 FROM issuers i WHERE i.id = t.issuer_id AND i.status = 'deleted')
      LIMIT ${limits.purgeBatchSize} FOR UPDATE OF t SKIP LOCKED)
    RETURNING id`
  await runInBatches(context, limits.purgeBatchSize, async () => (await sql(context.db, text, ...values)).length)
}
