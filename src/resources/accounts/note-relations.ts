/** Batch queries of the subjects and authors of notes, for DataLoaders. */
import type { Context } from '../../platform/context.js'
import { type Client, type Issuer, type Organization, sql, type User } from '../../platform/postgres/database.js'
import { whereKeyReadable } from '../keys/statuses.js'
import { deletedUserStatuses, whereIssuerNotDeleted } from '../resource-path.js'

type BatchById<Row> = (context: Context, ids: readonly string[]) => Promise<(Row | null)[]>

/** Creates a batch function that returns null for an id without a row. */
const byId =
  <Row extends { id: string }>(find: (context: Context, where: { id: { in: string[] } }) => Promise<Row[]>) =>
  async (context: Context, ids: readonly string[]): Promise<(Row | null)[]> => {
    const rows = new Map((await find(context, { id: { in: [...ids] } })).map((row) => [row.id, row]))
    return ids.map((id) => rows.get(id) ?? null)
  }

/** Loads users that are not deleted, with hashed usernames as in all lists. */
export const usersById: BatchById<User> = byId(async ({ db }, where) => {
  const condition = { ...where, status: { notIn: deletedUserStatuses }, ...whereIssuerNotDeleted }
  const users = await db.user.findMany({ where: condition })
  return users.map((user) => ({ ...user, username: user.usernameHash }))
})

/** Loads API keys, except keys that were revoked long ago, as in all lists. */
export const apiKeysById = byId((context, where) =>
  context.db.apiKey.findMany({ where: { AND: [where, whereKeyReadable(context)] } }),
)

const whereNotDeleted = { status: { not: 'deleted' } }
type Subject = User | Organization | Issuer | Client

/** Loads the subjects of notes by id, by the type of the subject; null for deleted subjects. */
export const subjectsById: Record<string, BatchById<Subject>> = {
  user: usersById,
  org: byId(({ db }, where) =>
    db.organization.findMany({ where: { ...where, ...whereNotDeleted, ...whereIssuerNotDeleted } }),
  ),
  issuer: byId(({ db }, where) => db.issuer.findMany({ where: { ...where, ...whereNotDeleted } })),
  client: byId(({ db }, where) =>
    db.client.findMany({ where: { ...where, ...whereNotDeleted, ...whereIssuerNotDeleted } }),
  ),
}

/** The principal that created a note. */
export interface AuthorRow {
  id: string
  name: string | null
  accountId: string
  issuerId: string | null
  /** The user, or the owner of the personal token; null for other principals. */
  userId: string | null
}

/** Clients, agents and the users of other issuers than the console issuer cannot create notes. */
const authorsText = `
  SELECT id, profile->>'name' AS name, account_id AS "accountId", issuer_id AS "issuerId", id AS "userId"
    FROM users WHERE id = ANY ($1::text[]) AND status <> ALL ($2::text[])
  UNION ALL SELECT t.id, t.name, t.account_id, t.issuer_id, t.user_id
    FROM personal_tokens t JOIN users u ON u.id = t.user_id WHERE t.id = ANY ($1::text[]) AND u.status <> ALL ($2::text[])
  UNION ALL SELECT id, name, account_id, NULL, NULL FROM api_keys WHERE id = ANY ($1::text[])`

/** Loads the principals that created notes; null for principals that were deleted. */
export async function authorsById(context: Context, ids: readonly string[]): Promise<(AuthorRow | null)[]> {
  const rows = await sql<AuthorRow>(context.db, authorsText, [...ids], deletedUserStatuses)
  return ids.map((id) => rows.find((row) => row.id === id) ?? null)
}
