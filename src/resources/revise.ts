import { matches, parseIfMatch, etagOf } from '../kernel/etag.js'
import { notFound, preconditionFailed } from '../kernel/errors.js'
import { ApiError } from '../kernel/errors.js'
import type { Context } from '../platform/context.js'
import { transaction } from '../platform/database.js'

interface Versioned {
  id: string
  updatedAt: bigint
}

/** How one kind of row is read and written; `where` names tenant and state, so that a foreign id is an absent one. */
export interface Revision<Row extends Versioned, Changes> {
  /** For the 404: `client`, `issuer`, … */
  what: string
  /** Undefined: no precondition. */
  ifMatch: string | null | undefined
  read(context: Context): Promise<Row | null>
  /** Decides the new values from the current row; throws to refuse. */
  change(row: Row, context: Context): Promise<Changes> | Changes
  /**
   * Writes them in one statement whose WHERE holds `version`, and answers the new row, or null when another writer
   * came first.
   */
  write(context: Context, version: bigint, changes: Changes & { updatedAt: number }): Promise<Row | null | undefined>
  /** What else belongs to the change, in the same transaction: its event, its cascades. */
  then?(context: Context, before: Row, after: Row): Promise<void>
}

const ATTEMPTS = 10

/**
 * Changes one row by compare-and-set (spec 4.1). The row is read, the change decided, and written only if the version
 * is still the one that was read; if not, all of it is done again on the newer row. So a merge never loses a
 * neighbour's write, and of two writers with the same If-Match one wins and the other gets 412.
 * The database raises `updated_at` by at least one with each write, so no two versions share a tag.
 * @throws not_found, precondition_failed, and whatever `change` throws
 */
export async function revise<Row extends Versioned, Changes>(
  context: Context,
  revision: Revision<Row, Changes>,
): Promise<Row> {
  const precondition = parseIfMatch(revision.ifMatch)
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const before = await revision.read(context)
    if (!before) throw notFound(revision.what)
    if (!matches(precondition, before)) throw preconditionFailed(etagOf(before))
    const changes = await revision.change(before, context)
    const after = await transaction(context, async (inside) => {
      const row = await revision.write(inside, before.updatedAt, { ...changes, updatedAt: inside.now() })
      if (row) await revision.then?.(inside, before, row)
      return row
    })
    if (after) return after
  }
  throw new ApiError('conflict', 'This resource is being changed by others all the time; try again shortly.', {
    headers: { 'Retry-After': '1' },
  })
}
