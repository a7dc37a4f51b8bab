/**
 * Erases the data of purged users outside of their own rows (docs/contract.md#erasure): stored idempotent responses,
 * queued email, mentions in notes, test deliveries. events/event-erasure.ts erases the data in the audit log.
 */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { deleteInBatches } from '../../platform/jobs/batch-delete.js'
import { deletePendingMail } from '../../platform/mail/mail.js'
import { sql } from '../../platform/postgres/database.js'
import { emailOf } from './usernames.js'

/** A user to purge. */
export interface PurgedUser {
  id: string
  accountId: string
  issuerId: string
  status: string
  /**
   * When the deletion was requested (Unix milliseconds). For users who already have the status `deleted`: when they
   * were purged. Null if not recorded.
   */
  statusAt: number | null
  usernameType: string
  username: string
  profile: unknown
}

/** Erases the data of these users in stored responses, queued email, notes and test deliveries. Idempotent. */
export async function eraseUserData(context: Context, users: readonly PurgedUser[]): Promise<void> {
  // Users who already have the status `deleted` were purged by a version that did not erase this data. Their stored
  // responses have expired, and their addresses are no longer known.
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
 * Deletes expired responses, login transactions and oidc-provider artifacts; those from before the deletion of the user
 * have expired by now or were deleted with the user's sessions. Later responses can still contain the user, for example
 * if an invitation to the user's address was revoked. Their body is erased, so that a repeated request gets a response
 * without a body, as for a response that was too large to store.
 */
async function eraseStoredResponses(context: Context, users: readonly PurgedUser[]): Promise<void> {
  for (const table of ['idempotent_requests', 'login_states', 'idp_artifacts']) {
    await deleteInBatches(context, table, 'expires_at <= $1::bigint', context.now())
  }
  const accounts = [...new Set(users.map(({ accountId }) => accountId))]
  // Responses of every account can contain users of the console issuer, who administer the accounts.
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

/** Erases encrypted responses. They are decrypted to search them, which is fast enough because there are only few. */
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

/**
 * Returns a regular expression, for PostgreSQL and JavaScript, that matches JSON texts with an id of the users, or with
 * an address of theirs as a complete string.
 */
function identifierPattern(users: readonly PurgedUser[]): string {
  const addresses = users.flatMap((user) => addressesOf(user).map((address) => JSON.stringify(address)))
  return [...users.map(({ id }) => id), ...addresses]
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('|')
}

/**
 * Returns the username and the email address of a user. A username of the type `unique` is excluded, because it can be
 * a word that occurs in other texts.
 */
const addressesOf = (user: PurgedUser): string[] => {
  const { usernameType, username } = user
  const email = emailOf(user as Parameters<typeof emailOf>[0])
  return [...new Set([...(usernameType === 'unique' ? [] : [username]), ...(email === null ? [] : [email])])].filter(
    (address) => address !== '',
  )
}

/**
 * Deletes email to an address of the user that was queued before the deletion. Later email may be for another user who
 * has this address now.
 */
export const eraseQueuedMail = (context: Context, { statusAt }: PurgedUser, address: string): Promise<void> =>
  deletePendingMail(context, address, statusAt ?? context.now())

/**
 * Replaces the display name of the user in mentions: in `note_mentions` and in the text of the notes. The rest of a
 * note is kept.
 */
const mentionsText = `
  WITH mentions AS (
    UPDATE note_mentions SET display_name = 'deleted user'
    WHERE user_id = ANY ($1::text[]) AND display_name <> 'deleted user' RETURNING note_id)
  UPDATE notes SET updated_at = greatest($3::bigint, updated_at + 1),
    content = regexp_replace(content, '@\\[[^][\\n]{1,200}\\]\\((' || $2 || ')\\)', '@[deleted user](\\1)', 'g')
  WHERE id IN (SELECT note_id FROM mentions)`

/**
 * Erases the name, IP address and user agent of the user in test events that the user sent. Other deliveries contain no
 * copy of their event; they read it from the audit log.
 */
const testDeliveriesText = `
  UPDATE webhook_deliveries SET test_event = test_event
    || jsonb_build_object('actor', test_event->'actor' || '{"name": null}',
         'context', test_event->'context' || '{"ip_address": null, "user_agent": null}')
  WHERE test_event IS NOT NULL AND test_event->'actor'->>'id' IN (
    SELECT unnest($1::text[]) UNION ALL SELECT id FROM personal_tokens WHERE user_id = ANY ($1::text[]))`
