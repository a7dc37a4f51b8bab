/**
 * Processes large numbers of rows in batches. Each batch commits separately, so locks are short and a stopping process
 * finishes only the current batch.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import { sql } from '../postgres/database.js'

/**
 * Runs batches until one is smaller than `size` or until the context's stop signal is aborted.
 * @param runBatch returns the number of rows processed
 */
export async function runInBatches(context: Context, size: number, runBatch: () => Promise<number>): Promise<void> {
  for (let count = size; count >= size && !context.stopSignal?.aborted; ) count = await runBatch()
}

/**
 * Deletes the rows that match a condition, in batches. Skips locked rows, so several processes can run it in parallel;
 * the next run deletes the skipped rows. Rows are deleted by `ctid`, so the condition needs no index on a small table.
 * @param condition SQL with parameters from $1
 */
export async function deleteInBatches(
  context: Context,
  table: string,
  condition: string,
  ...values: unknown[]
): Promise<void> {
  const text = `
    DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${limits.deleteBatchSize} FOR UPDATE SKIP LOCKED))
    RETURNING 1`
  await runInBatches(context, limits.deleteBatchSize, async () => (await sql(context.db, text, ...values)).length)
}
