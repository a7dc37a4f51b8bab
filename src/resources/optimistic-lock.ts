import { canonicalJson } from '../kernel/canonical-json.js'
import { notFound, preconditionFailed } from '../kernel/errors.js'
import { etagOf, matchesPrecondition, parseIfMatch } from '../kernel/etag.js'
import type { Context } from '../platform/context.js'
import { Prisma, sql } from '../platform/postgres/database.js'
import { transaction } from '../platform/postgres/transaction.js'

interface VersionedRow {
  id: string
  updatedAt: bigint
}

type OrganizationTable = 'organizations' | 'organization_members' | 'organization_groups' | 'organization_invitations'

/**
 * How to read and write one row. The WHERE clause of `read` includes the tenant and excludes deleted rows, so that a
 * row of another tenant or a deleted row is not found.
 */
export interface OptimisticUpdate<Row extends VersionedRow, Changes> {
  /** Name of the resource in the 404 error, such as `client`. */
  resourceName: string
  /** Name of the database table. */
  table:
    | 'accounts'
    | 'issuers'
    | 'auth_methods'
    | 'clients'
    | 'users'
    | 'verifiers'
    | 'api_keys'
    | 'agents'
    | 'notes'
    | 'personal_tokens'
    | 'webhooks'
    | OrganizationTable
  /** Value of If-Match; undefined for no precondition. */
  ifMatch: string | null | undefined
  read(context: Context): Promise<Row | null>
  /** Computes the new values from the current row; throws to refuse the change. */
  computeChanges(row: Row, context: Context): Promise<Changes> | Changes
  /**
   * Returns true if the update writes more than the changes, such as other rows. Such an update is not skipped when the
   * changes equal the row. Always true for deletions.
   */
  writesMore?(row: Row, context: Context): Promise<boolean> | boolean
  /**
   * Writes the changes, or deletes the row, only if the row still has this version. Returns the new or deleted row;
   * null or undefined if the version has changed.
   */
  write(context: Context, version: bigint, changes: Changes & { updatedAt: number }): Promise<Row | null | undefined>
  /** Other writes of the same transaction, such as the event. */
  afterWrite?(context: Context, before: Row, after: Row): Promise<void>
}

/**
 * Updates one row with optimistic locking (docs/contract.md#concurrency-and-retries). Reads the row, computes the
 * changes, and writes them if the version has not changed. If the version has changed, locks the row and repeats all
 * three steps once. Therefore a merge loses no parallel write, an update without a precondition is not refused because
 * the version has changed, and of two updates with the same version in If-Match the second is refused with 412. A
 * database trigger raises `updated_at` by at least one with each write, so no two versions have the same ETag.
 * If the changes equal the row, nothing is written: the version stays the same, and no event is recorded.
 * @throws invalid_request for an invalid If-Match, not_found, precondition_failed, and the errors of the functions in
 *   `update`
 */
export async function updateWithOptimisticLock<Row extends VersionedRow, Changes extends object>(
  context: Context,
  update: OptimisticUpdate<Row, Changes>,
): Promise<Row> {
  const precondition = parseIfMatch(update.ifMatch)
  const decide = async (at: Context) => {
    const before = await update.read(at)
    if (!before) throw notFound(update.resourceName)
    if (!matchesPrecondition(precondition, before)) throw preconditionFailed(etagOf(before))
    const changes = await update.computeChanges(before, at)
    return {
      before,
      changes,
      isUnchanged: hasValues(before, changes as object) && !(await update.writesMore?.(before, at)),
    }
  }
  const write = async (tx: Context, { before, changes }: { before: Row; changes: Changes }) => {
    const row = await update.write(tx, before.updatedAt, { ...changes, updatedAt: tx.now() })
    if (row) await update.afterWrite?.(tx, before, row)
    return row
  }
  const decision = await decide(context)
  if (decision.isUnchanged) return decision.before
  const first = await transaction(context, (tx) => write(tx, decision))
  if (first) return first
  return transaction(context, async (tx) => {
    await sql(tx.db, `SELECT id FROM ${update.table} WHERE id = $1 FOR UPDATE`, decision.before.id)
    const current = await decide(tx)
    if (current.isUnchanged) return current.before
    const second = await write(tx, current)
    if (!second) throw notFound(update.resourceName)
    return second
  })
}

/** Returns true if the row has the values of all changes. A change to undefined is no change. */
export const hasValues = (row: object, changes: object): boolean =>
  Object.entries(changes).every(
    ([name, value]) => value === undefined || comparable(value) === comparable((row as Record<string, unknown>)[name]),
  )

/** Prisma reads `bigint` columns as bigint, which is written as a number, and has a symbol for NULL in JSON columns. */
const comparable = (value: unknown): string =>
  canonicalJson(value === Prisma.DbNull ? null : typeof value === 'bigint' ? Number(value) : (value ?? null))
