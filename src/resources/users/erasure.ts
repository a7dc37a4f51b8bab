/**
 * Erases the data of a purged user in other tables (docs/contract.md#erasure): stored idempotent responses, queued
 * mail, mentions in notes, test deliveries. events/event-erasure.ts erases it in the audit log.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { deletePendingMail } from '../../platform/mail/mail.js'
import { sql } from '../../platform/postgres/database.js'
import { emailOf } from './usernames.js'

/** A user whose deletion becomes final. */
export interface PurgedUser {
  id: string
  accountId: string
  issuerId: string
  status: string
  /** When the user was deleted (Unix milliseconds). */
  statusAt: number | null
  usernameType: string
  username: string
  profile: unknown
}

/**
 * Erases what other tables contain about these users: stored responses, queued mail, mentions in notes and test
 * deliveries. Idempotent.
 */
export async function eraseUserData(context: Context, users: readonly PurgedUser[]): Promise<void> {
  // Users in `deleted` were purged by a version without erasure: their responses have expired, their addresses are
  // unknown.
  const pending = users.filter(({ status }) => status === 'pending_deletion')
  if (pending.length > 0) await eraseStoredResponses(context, pending)
  for (const user of pending) for (const address of addressesOf(user)) await eraseQueuedMail(context, user, address)
  const ids = users.map(({ id }) => id)
  await sql(context.db, mentionsText, ids, ids.join('|'), context.now())
  await sql(context.db, testDeliveriesText, ids)
}

const eraseResponsesText = `
  WITH batch AS (
    SELECT account_id, key, body FROM idempotent_requests
    WHERE (account_id, key) > ($1, $2) AND ($3::text[] IS NULL OR account_id = ANY ($3))
    ORDER BY account_id, key LIMIT ${limits.responseErasureBatchSize}
  ), erased AS (
    UPDATE idempotent_requests r SET body = '' FROM batch
    WHERE r.account_id = batch.account_id AND r.key = batch.key AND batch.body ~ $4
  )
  SELECT account_id AS "accountId", key FROM batch ORDER BY account_id DESC, key DESC LIMIT 1`

/**
 * Deletes expired responses, codes and login transactions: everything from before the deletion has expired by now.
 * Later responses can still contain the user, for example when an invitation to the user's address was revoked. Their
 * body is erased, so a repeated request gets no body, as for a response that was too large to store.
 */
async function eraseStoredResponses(context: Context, users: readonly PurgedUser[]): Promise<void> {
  for (const table of ['idempotent_requests', 'login_states', 'idp_artifacts']) {
    await deleteInBatches(context, table, 'expires_at <= $1::bigint', context.now())
  }
  const accounts = [...new Set(users.map(({ accountId }) => accountId))]
  // Users of the console issuer appear in responses of every account.
  const system = await context.db.account.count({ where: { id: { in: accounts }, system: true } })
  const values: [string[] | null, string] = [system > 0 ? null : accounts, identifierPattern(users)]
  for (let [accountId, key] = ['', '']; ; ) {
    const [last] = await sql<{ accountId: string; key: string }>(
      context.db,
      eraseResponsesText,
      accountId,
      key,
      ...values,
    )
    if (!last) break
    ;[accountId, key] = [last.accountId, last.key]
  }
  await eraseEncryptedResponses(context, values)
}

const encryptedText = `
  SELECT account_id AS "accountId", key, encrypted_response AS "encryptedResponse" FROM idempotent_requests
  WHERE encrypted_response IS NOT NULL AND ($1::text[] IS NULL OR account_id = ANY ($1))`
const eraseEncryptedText =
  'UPDATE idempotent_requests SET encrypted_response = NULL WHERE account_id = $1 AND key = $2 AND encrypted_response = $3'

/** Decrypts the responses that contain a secret, because SQL cannot search them. There are few of them. */
async function eraseEncryptedResponses(
  context: Context,
  [accounts, identifiers]: [string[] | null, string],
): Promise<void> {
  const pattern = new RegExp(identifiers)
  const rows = await sql<{ accountId: string; key: string; encryptedResponse: string }>(
    context.db,
    encryptedText,
    accounts,
  )
  for (const { accountId, key, encryptedResponse } of rows) {
    if (pattern.test(context.encryptor.decrypt(encryptedResponse)))
      await sql(context.db, eraseEncryptedText, accountId, key, encryptedResponse)
  }
}

/** A regular expression that finds the users in JSON by their id, or by an address that is a whole string. */
function identifierPattern(users: readonly PurgedUser[]): string {
  const addresses = users.flatMap((user) => addressesOf(user).map((address) => JSON.stringify(address)))
  return [...users.map(({ id }) => id), ...addresses]
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('|')
}

/** Excludes usernames of the type `unique`, which can be any word. */
const addressesOf = (user: PurgedUser): string[] => {
  const { usernameType, username } = user
  const email = emailOf(user as Parameters<typeof emailOf>[0])
  return [...new Set([...(usernameType === 'unique' ? [] : [username]), ...(email === null ? [] : [email])])].filter(
    (address) => address !== '',
  )
}

/** Deletes queued mail to an address of the user. Mail from after the deletion may be for another user. */
export const eraseQueuedMail = (context: Context, { statusAt }: PurgedUser, address: string): Promise<void> =>
  deletePendingMail(context, address, statusAt ?? context.now())

/** Replaces the display name of a mention in the text and in its row. The rest of a note belongs to its author. */
const mentionsText = `
  WITH mentions AS (
    UPDATE note_mentions SET display_name = 'deleted user'
    WHERE user_id = ANY ($1::text[]) AND display_name <> 'deleted user' RETURNING note_id)
  UPDATE notes SET updated_at = greatest($3::bigint, updated_at + 1),
    content = regexp_replace(content, '@\\[[^][\\n]{1,200}\\]\\((' || $2 || ')\\)', '@[deleted user](\\1)', 'g')
  WHERE id IN (SELECT note_id FROM mentions)`

/** Erases the person who sent a test event. Other deliveries read their event when they are sent. */
const testDeliveriesText = `
  UPDATE webhook_deliveries SET test_event = test_event
    || jsonb_build_object('actor', test_event->'actor' || '{"name": null}',
         'context', test_event->'context' || '{"ip_address": null, "user_agent": null}')
  WHERE test_event IS NOT NULL AND test_event->'actor'->>'id' IN (
    SELECT unnest($1::text[]) UNION ALL SELECT id FROM personal_tokens WHERE user_id = ANY ($1::text[]))`
