import { notFound, preconditionFailed } from '../kernel/errors.js'
import { etagOf, matches, parseIfMatch } from '../kernel/etag.js'
import type { Context } from '../platform/context.js'
import { sql, transaction } from '../platform/database.js'

interface Versioned {
  id: string
  updatedAt: bigint
}

type OrganizationTable = 'organizations' | 'organization_members' | 'organization_groups' | 'organization_invitations'

/** How one kind of row is read and written; `where` names tenant and state, so that a foreign id is an absent one. */
export interface Revision<Row extends Versioned, Changes> {
  /** For the 404: `client`, `issuer`, … */
  what: string
  /** Where the row stands in the database. */
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
  also?(context: Context, before: Row, after: Row): Promise<void>
}

/**
 * Changes one row by compare-and-set (spec 4.1). The row is read, the change decided, and written only if the version
 * is still the one that was read; if another writer came first, it is done once more with the row locked. So a merge
 * never loses a neighbour's write, a change without precondition always gets its turn, and of two writers with the
 * same If-Match one wins and the other gets 412. The database raises `updated_at` by at least one with each write, so
 * no two versions share a tag.
 * @throws not_found, precondition_failed, and whatever `change` throws
 */
export async function revise<Row extends Versioned, Changes>(
  context: Context,
  revision: Revision<Row, Changes>,
): Promise<Row> {
  const precondition = parseIfMatch(revision.ifMatch)
  const decide = async (at: Context) => {
    const before = await revision.read(at)
    if (!before) throw notFound(revision.what)
    if (!matches(precondition, before)) throw preconditionFailed(etagOf(before))
    return { before, changes: await revision.change(before, at) }
  }
  const write = async (inside: Context, { before, changes }: { before: Row; changes: Changes }) => {
    const row = await revision.write(inside, before.updatedAt, { ...changes, updatedAt: inside.now() })
    if (row) await revision.also?.(inside, before, row)
    return row
  }
  const decision = await decide(context)
  const first = await transaction(context, (inside) => write(inside, decision))
  if (first) return first
  return transaction(context, async (inside) => {
    await sql(inside.db, `SELECT id FROM ${revision.table} WHERE id = $1 FOR UPDATE`, decision.before.id)
    const second = await write(inside, await decide(inside))
    if (!second) throw notFound(revision.what)
    return second
  })
}
