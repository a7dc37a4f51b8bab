/**
 * Writes a batch of imported users in one transaction: users, verifiers, the mapping of ids in `imported_users`, and a
 * `user.created` event per user. Skips users that an earlier run has imported or whose username is taken, so that an
 * interrupted import can be run again.
 */
import { newRow } from '../../../kernel/ids.js'
import type { Context } from '../../../platform/context.js'
import { hmac } from '../../../platform/crypto/secrets.js'
import { type Issuer } from '../../../platform/postgres/database.js'
import { transaction } from '../../../platform/postgres/transaction.js'
import { recordEventsOfUsers } from '../../events/record-user-events.js'
import { type InIssuer, requireIssuer } from '../../resource-path.js'
import { usernameKeyOf } from '../usernames.js'
import type { UserOrigin } from '../users.js'
import type { CheckedRecord } from './record.js'
import type { Source } from './sources.js'

/** The rows of a checked record, prepared before the transaction. */
export interface PreparedUser {
  /** The id in the other product. */
  externalId: string
  /** The normalized username. */
  usernameKey: string
  userId: string
  /** The columns of the user. */
  user: Record<string, unknown>
  /** The columns of each verifier. */
  verifiers: readonly Record<string, unknown>[]
  /** The `data` of the event. */
  data: Record<string, unknown>
}

/** `known`: an earlier run or batch has imported the user. `taken`: another user has the username. */
export type ImportOutcome = 'imported' | 'known' | 'taken'

/**
 * Returns a function that prepares the rows of a record. The issuer's key for username hashes is decrypted only once,
 * for all records.
 */
export function createPreparer(
  context: Context,
  issuer: Issuer,
  source: Source,
): (record: CheckedRecord) => PreparedUser {
  const { accountId, id: issuerId } = issuer
  const hashKey = Buffer.from(context.encryptor.decrypt(issuer.usernameKey), 'base64')
  return (record) => {
    const { id: userId, createdAt, updatedAt } = newRow('usr', context.now())
    const times = { created_at: createdAt, updated_at: updatedAt }
    const usernameKey = usernameKeyOf(record.username)
    const importOrigin = {
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
      custom_fields: { ...record.customFields, imported: importOrigin },
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
      encrypted_secret: null,
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
      ...(totpSecret === undefined
        ? []
        : [verifier('totp', { encrypted_secret: context.encryptor.encrypt(totpSecret) })]),
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
const importedText = `
  SELECT external_id AS "externalId", user_id AS "userId" FROM imported_users
  WHERE issuer_id = $1 AND source = $2 AND external_id = ANY ($3::text[])`
/**
 * Returns the users among `externalIds` that have been imported, with their ids in Gatehouse.
 */
export const findImportedUsers = (
  context: Context,
  { issuerId }: InIssuer,
  source: Source,
  externalIds: readonly string[],
): Promise<{ externalId: string; userId: string }[]> =>
  context.query('imported-users', importedText, [issuerId, source, externalIds])

const takenText = `
  SELECT username_key AS "usernameKey" FROM users
  WHERE issuer_id = $1 AND username_key = ANY ($2::text[]) AND status NOT IN ('deleted', 'pending_deletion')`

const userColumns = `id text, account_id text, issuer_id text, username_type text, username text, username_key text,
  username_hash text, profile jsonb, security jsonb, compliance jsonb, preferences jsonb, custom_fields jsonb,
  scopes text[], metadata jsonb, requires_approval boolean, signup_reason text, triggered_rule text,
  email_verified boolean, email_ever_verified boolean, origin text, status text, status_at bigint, status_reason text,
  region text, created_at bigint, updated_at bigint`
const columnNames = (columns: string): string => columns.replace(/ (text\[\]|\w+)(?=,|$)/g, '')
const usersText = `
  INSERT INTO users (${columnNames(userColumns)}) SELECT ${columnNames(userColumns)}
  FROM json_to_recordset($1::json) AS u (${userColumns}) ON CONFLICT DO NOTHING RETURNING id`
const verifierColumns = `id text, user_id text, type text, hash text, encrypted_secret text, secret_set_at bigint,
  must_change boolean, created_at bigint, updated_at bigint`
const verifiersText = `
  INSERT INTO verifiers (${columnNames(verifierColumns)}, account_id, issuer_id)
  SELECT ${columnNames(verifierColumns)}, $2::text, $3::text FROM json_to_recordset($1::json) AS v (${verifierColumns})`
const originsText = `
  INSERT INTO imported_users (issuer_id, source, external_id, user_id, created_at)
  SELECT $1::text, $2::text, o.external_id, o.user_id, $5::bigint
  FROM unnest($3::text[], $4::text[]) AS o (external_id, user_id)`

/**
 * Determines for a dry run which users of a batch would not be imported. Does not compare the users of the file with
 * each other.
 * @returns the outcomes by external id, only of users who would not be imported
 */
export async function predictOutcomes(
  context: Context,
  { issuerId }: InIssuer,
  source: Source,
  batch: readonly PreparedUser[],
): Promise<Map<string, ImportOutcome>> {
  const externalIds = batch.map(({ externalId }) => externalId)
  const known = await context.query('imported-users', importedText, [issuerId, source, externalIds])
  const outcomes = new Map<string, ImportOutcome>(known.map((row) => [String(row['externalId']), 'known']))
  const names = batch.map(({ usernameKey }) => usernameKey)
  const rows = await context.query('import-usernames-taken', takenText, [issuerId, names])
  const taken = new Set(rows.map((row) => row['usernameKey']))
  for (const { externalId, usernameKey } of batch)
    if (!outcomes.has(externalId) && taken.has(usernameKey)) outcomes.set(externalId, 'taken')
  return outcomes
}

/** Writes a batch. @returns the outcome of each user by external id @throws not_found if the issuer has been deleted */
export async function writeBatch(
  context: Context,
  path: InIssuer,
  source: Source,
  batch: readonly PreparedUser[],
): Promise<Map<string, ImportOutcome>> {
  const { accountId, issuerId } = path
  const write = async (tx: Context) => {
    await requireIssuer(tx, path)
    // Imports of one issuer wait for each other, so that each import sees the users that earlier imports have written.
    await tx.query('import-lock', lockText, [issuerId])
    const ids = batch.map(({ externalId }) => externalId)
    const known = await tx.query('imported-users', importedText, [issuerId, source, ids])
    const outcomes = new Map<string, ImportOutcome>(known.map((row) => [String(row['externalId']), 'known']))
    const newUsers = batch.filter(({ externalId }) => !outcomes.has(externalId))
    if (newUsers.length === 0) return outcomes
    const rows = await tx.query('import-users', usersText, [JSON.stringify(newUsers.map(({ user }) => user))])
    const written = new Set(rows.map((row) => row['id']))
    for (const { externalId, userId } of newUsers) outcomes.set(externalId, written.has(userId) ? 'imported' : 'taken')
    const insertedUsers = newUsers.filter(({ userId }) => written.has(userId))
    const verifiers = insertedUsers.flatMap((one) => one.verifiers)
    if (verifiers.length > 0)
      await tx.query('import-verifiers', verifiersText, [JSON.stringify(verifiers), accountId, issuerId])
    const columns = [insertedUsers.map(({ externalId }) => externalId), insertedUsers.map(({ userId }) => userId)]
    await tx.query('import-origins', originsText, [issuerId, source, ...columns, tx.now()])
    await recordEventsOfUsers(tx, 'user.created', path, insertedUsers)
    return outcomes
  }
  return runSerially(issuerId, () => transaction(context, write))
}

const writesByIssuer = new Map<string, Promise<unknown>>()

/**
 * Runs the writes of one issuer in this process one after the other, so that they do not hold database connections
 * while they wait for the advisory lock.
 */
async function runSerially<T>(issuerId: string, runWrite: () => Promise<T>): Promise<T> {
  const previous = writesByIssuer.get(issuerId)
  const current = previous ? previous.then(runWrite, runWrite) : runWrite()
  writesByIssuer.set(issuerId, current)
  try {
    return await current
  } finally {
    if (writesByIssuer.get(issuerId) === current) writesByIssuer.delete(issuerId)
  }
}
