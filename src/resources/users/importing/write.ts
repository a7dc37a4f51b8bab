/**
 * Writes a batch of imported users in one transaction: users, credentials, where they came from, and one `user.created`
 * each. A user that this import has brought already, or whose username is taken, is left alone; so an import that was
 * interrupted, or is run twice, goes on where it ended.
 */
import { newRow } from '../../../kernel/ids.js'
import type { Context } from '../../../platform/context.js'
import { type Issuer, transaction } from '../../../platform/database.js'
import { hmac } from '../../../platform/secrets.js'
import { emitOfUsers } from '../../events/emit-many.js'
import { type InIssuer, requireIssuer } from '../../place.js'
import { usernameKeyOf } from '../usernames.js'
import type { UserOrigin } from '../users.js'
import type { Checked } from './record.js'
import type { Source } from './sources.js'

/** A checked record with the rows that it becomes, made before the transaction. */
export interface Prepared {
  externalId: string
  usernameKey: string
  userId: string
  user: Record<string, unknown>
  verifiers: readonly Record<string, unknown>[]
  data: Record<string, unknown>
}

/** What became of each user of a batch, by its external id. */
export type Outcome = 'imported' | 'known' | 'taken'

/** Makes the rows of records; the key of the issuer's username hashes is opened once for all of them. */
export function preparer(context: Context, issuer: Issuer, source: Source): (record: Checked) => Prepared {
  const { accountId, id: issuerId } = issuer
  const hashKey = Buffer.from(context.sealer.open(issuer.usernameKey), 'base64')
  return (record) => {
    const { id: userId, createdAt, updatedAt } = newRow('usr', context.now())
    const times = { created_at: createdAt, updated_at: updatedAt }
    const usernameKey = usernameKeyOf(record.username)
    const origin = {
      source,
      id: record.externalId,
      ...(record.createdAt !== undefined && { created_at: record.createdAt }),
    }
    const status = record.status ?? 'active'
    const user = {
      id: userId,
      username_type: record.usernameType,
      username: record.username,
      username_key: usernameKey,
      username_hash: `sha256:${hmac(hashKey, usernameKey)}`,
      profile: record.profile ?? {},
      security: record.security ?? {},
      compliance: record.compliance ?? {},
      preferences: record.preferences ?? {},
      custom_fields: { ...record.customFields, imported: origin },
      scopes: record.scopes ?? [],
      metadata: record.metadata ?? {},
      requires_approval: status === 'pending_approval',
      signup_reason: record.signupReason ?? null,
      triggered_rule: record.triggeredRule ?? null,
      email_verified: record.emailVerified ?? false,
      email_ever_verified: record.emailVerified ?? false,
      origin: 'import' satisfies UserOrigin,
      status,
      status_at: createdAt,
      status_reason: record.statusReason ?? null,
      region: record.region ?? null,
      ...times,
    }
    const verifier = (type: string, columns: Record<string, unknown>) => ({
      id: newRow('vrf', context.now()).id,
      user_id: userId,
      type,
      hash: null,
      sealed: null,
      secret_set_at: null,
      must_change: false,
      ...columns,
      ...times,
    })
    const { passwordHash, totpSecret } = record
    const verifiers = [
      ...(passwordHash === undefined
        ? []
        : [
            verifier('password', {
              hash: passwordHash,
              secret_set_at: record.passwordSetAt ?? createdAt,
              must_change: record.mustChange ?? false,
            }),
          ]),
      ...(totpSecret === undefined ? [] : [verifier('totp', { sealed: context.sealer.seal(totpSecret) })]),
    ]
    const data = { status, imported_from: source, verifiers: verifiers.map(({ type }) => type) }
    return {
      externalId: record.externalId,
      usernameKey,
      userId,
      user: { ...user, account_id: accountId, issuer_id: issuerId },
      verifiers,
      data,
    }
  }
}

const lockText = `SELECT pg_advisory_xact_lock(hashtext('import'), hashtext($1))`
const knownText = `
  SELECT external_id AS "externalId", user_id AS "userId" FROM imported_users
  WHERE issuer_id = $1 AND source = $2 AND external_id = ANY ($3::text[])`
/** Who came by an earlier run: old id and new id. */
export const knownUsers = (
  context: Context,
  { issuerId }: InIssuer,
  source: Source,
  externalIds: readonly string[],
): Promise<{ externalId: string; userId: string }[]> =>
  context.query('import-known', knownText, [issuerId, source, externalIds])

const takenText = `
  SELECT username_key AS "usernameKey" FROM users
  WHERE issuer_id = $1 AND username_key = ANY ($2::text[]) AND status NOT IN ('deleted', 'pending_deletion')`

const userColumns = `id text, account_id text, issuer_id text, username_type text, username text, username_key text,
  username_hash text, profile jsonb, security jsonb, compliance jsonb, preferences jsonb, custom_fields jsonb,
  scopes text[], metadata jsonb, requires_approval boolean, signup_reason text, triggered_rule text,
  email_verified boolean, email_ever_verified boolean, origin text, status text, status_at bigint, status_reason text,
  region text, created_at bigint, updated_at bigint`
const namesOf = (columns: string): string => columns.replace(/ (text\[\]|\w+)(?=,|$)/g, '')
const usersText = `
  INSERT INTO users (${namesOf(userColumns)}) SELECT ${namesOf(userColumns)}
  FROM json_to_recordset($1::json) AS u (${userColumns}) ON CONFLICT DO NOTHING RETURNING id`
const verifierColumns = `id text, user_id text, type text, hash text, sealed text, secret_set_at bigint,
  must_change boolean, created_at bigint, updated_at bigint`
const verifiersText = `
  INSERT INTO verifiers (${namesOf(verifierColumns)}, account_id, issuer_id)
  SELECT ${namesOf(verifierColumns)}, $2::text, $3::text FROM json_to_recordset($1::json) AS v (${verifierColumns})`
const originsText = `
  INSERT INTO imported_users (issuer_id, source, external_id, user_id, created_at)
  SELECT $1::text, $2::text, o.external_id, o.user_id, $5::bigint
  FROM unnest($3::text[], $4::text[]) AS o (external_id, user_id)`

/**
 * Looks which users of a batch would be written.
 * @returns those that would not be imported
 */
export async function lookUp(
  context: Context,
  { issuerId }: InIssuer,
  source: Source,
  batch: readonly Prepared[],
): Promise<Map<string, Outcome>> {
  const externalIds = batch.map(({ externalId }) => externalId)
  const known = await context.query('import-known', knownText, [issuerId, source, externalIds])
  const outcomes = new Map<string, Outcome>(known.map((row) => [String(row['externalId']), 'known']))
  const names = batch.map(({ usernameKey }) => usernameKey)
  const rows = await context.query('import-taken', takenText, [issuerId, names])
  const taken = new Set(rows.map((row) => row['usernameKey']))
  for (const { externalId, usernameKey } of batch)
    if (!outcomes.has(externalId) && taken.has(usernameKey)) outcomes.set(externalId, 'taken')
  return outcomes
}

/** @throws not_found when the issuer has been deleted meanwhile */
export async function writeBatch(
  context: Context,
  place: InIssuer,
  source: Source,
  batch: readonly Prepared[],
): Promise<Map<string, Outcome>> {
  const { accountId, issuerId } = place
  const write = async (inside: Context) => {
    await requireIssuer(inside, place)
    // Two imports of one issuer take turns, so that what the other one has written is known here.
    await inside.query('import-lock', lockText, [issuerId])
    const ids = batch.map(({ externalId }) => externalId)
    const known = await inside.query('import-known', knownText, [issuerId, source, ids])
    const outcomes = new Map<string, Outcome>(known.map((row) => [String(row['externalId']), 'known']))
    const fresh = batch.filter(({ externalId }) => !outcomes.has(externalId))
    if (fresh.length === 0) return outcomes
    const rows = await inside.query('import-users', usersText, [JSON.stringify(fresh.map(({ user }) => user))])
    const written = new Set(rows.map((row) => row['id']))
    for (const { externalId, userId } of fresh) outcomes.set(externalId, written.has(userId) ? 'imported' : 'taken')
    const made = fresh.filter(({ userId }) => written.has(userId))
    const verifiers = made.flatMap((one) => one.verifiers)
    if (verifiers.length > 0)
      await inside.query('import-verifiers', verifiersText, [JSON.stringify(verifiers), accountId, issuerId])
    const columns = [made.map(({ externalId }) => externalId), made.map(({ userId }) => userId)]
    await inside.query('import-origins', originsText, [issuerId, source, ...columns, inside.now()])
    await emitOfUsers(inside, 'user.created', place, made)
    return outcomes
  }
  return inTurn(issuerId, () => transaction(context, write))
}

const turns = new Map<string, Promise<unknown>>()

/** One after the other for each issuer: who waits for the lock waits here, and not on one of the connections of all. */
async function inTurn<T>(issuerId: string, work: () => Promise<T>): Promise<T> {
  const before = turns.get(issuerId)
  const mine = before ? before.then(work, work) : work()
  turns.set(issuerId, mine)
  try {
    return await mine
  } finally {
    if (turns.get(issuerId) === mine) turns.delete(issuerId)
  }
}
