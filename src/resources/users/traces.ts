/**
 * What tables of others hold of a user who is purged (decision D36): answers kept for repetition, mail that waits,
 * mentions in notes, test deliveries. The audit log has a file of its own (events/erasing.ts).
 */
import type { Context } from '../../platform/context.js'
import { sql } from '../../platform/database.js'
import { forgetMail } from '../../platform/mail.js'
import { sweep } from '../../platform/sweep.js'
import { emailOf } from './usernames.js'

/** A user whose deletion becomes final. */
export interface PurgedUser {
  id: string
  accountId: string
  issuerId: string
  status: string
  /** When it was deleted (Unix milliseconds). */
  statusAt: number | null
  usernameType: string
  username: string
  profile: unknown
}

/** Erases it all. Repeating it changes nothing. */
export async function eraseTraces(context: Context, users: readonly PurgedUser[]): Promise<void> {
  // Users whom an older version has wiped are in no answer any more, and their addresses are not known.
  const pending = users.filter(({ status }) => status === 'pending_deletion')
  if (pending.length > 0) await eraseAnswers(context, pending)
  for (const user of pending) for (const address of addressesOf(user)) await eraseMailTo(context, user, address)
  const ids = users.map(({ id }) => id)
  await sql(context.db, mentionsText, ids, ids.join('|'), context.now())
  await sql(context.db, testDeliveriesText, ids)
}

/** Kept answers looked through by one statement. */
const ANSWERS = 5000

const answersText = `
  WITH batch AS (
    SELECT account_id, key, body FROM idempotent_requests
    WHERE (account_id, key) > ($1, $2) AND ($3::text[] IS NULL OR account_id = ANY ($3))
    ORDER BY account_id, key LIMIT ${ANSWERS}
  ), erased AS (
    UPDATE idempotent_requests r SET body = '' FROM batch
    WHERE r.account_id = batch.account_id AND r.key = batch.key AND batch.body ~ $4
  )
  SELECT account_id AS "accountId", key FROM batch ORDER BY account_id DESC, key DESC LIMIT 1`

/**
 * Answers to requests from before the deletion have run out by now, as codes and sign-ins under way have, and are
 * removed. Later ones can still name the user: an invitation to its address is withdrawn, one of its tokens is read.
 * They are repeated without a body from now on, as those that are too large to be kept.
 */
async function eraseAnswers(context: Context, users: readonly PurgedUser[]): Promise<void> {
  for (const table of ['idempotent_requests', 'login_states', 'idp_artifacts']) {
    await sweep(context, table, 'expires_at <= $1::bigint', context.now())
  }
  const accounts = [...new Set(users.map(({ accountId }) => accountId))]
  // People of the console are shown in every account.
  const system = await context.db.account.count({ where: { id: { in: accounts }, system: true } })
  const values: [string[] | null, string] = [system > 0 ? null : accounts, namesOf(users)]
  for (let [accountId, key] = ['', '']; ; ) {
    const [last] = await sql<{ accountId: string; key: string }>(context.db, answersText, accountId, key, ...values)
    if (!last) break
    ;[accountId, key] = [last.accountId, last.key]
  }
  await eraseEncrypted(context, values)
}

const encryptedText = `
  SELECT account_id AS "accountId", key, sealed FROM idempotent_requests
  WHERE sealed IS NOT NULL AND ($1::text[] IS NULL OR account_id = ANY ($1))`
const forgetText = 'UPDATE idempotent_requests SET sealed = NULL WHERE account_id = $1 AND key = $2 AND sealed = $3'

/** The few answers of a day that hold a secret: no statement can look into them. */
async function eraseEncrypted(context: Context, [accounts, names]: [string[] | null, string]): Promise<void> {
  const named = new RegExp(names)
  const rows = await sql<{ accountId: string; key: string; sealed: string }>(context.db, encryptedText, accounts)
  for (const { accountId, key, sealed } of rows) {
    if (named.test(context.sealer.open(sealed))) await sql(context.db, forgetText, accountId, key, sealed)
  }
}

/** A regular expression that finds the users in JSON: by id, or by the address that is the whole of a text. */
function namesOf(users: readonly PurgedUser[]): string {
  const addresses = users.flatMap((user) => addressesOf(user).map((address) => JSON.stringify(address)))
  return [...users.map(({ id }) => id), ...addresses]
    .map((text) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
    .join('|')
}

/** A username of type `unique` may be any word, so it is none. */
const addressesOf = (user: PurgedUser): string[] => {
  const { usernameType, username } = user
  const email = emailOf(user as Parameters<typeof emailOf>[0])
  return [...new Set([...(usernameType === 'unique' ? [] : [username]), ...(email === null ? [] : [email])])].filter(
    (address) => address !== '',
  )
}

/** Removes mail to an address of the user. What was sent after the deletion is for the next owner of the address. */
export const eraseMailTo = (context: Context, { statusAt }: PurgedUser, address: string): Promise<void> =>
  forgetMail(context, address, statusAt ?? context.now())

/** The display name of a mention, in the text and beside it; the rest of a note is its author's. */
const mentionsText = `
  WITH mentions AS (
    UPDATE note_mentions SET display_name = 'deleted user'
    WHERE user_id = ANY ($1::text[]) AND display_name <> 'deleted user' RETURNING note_id)
  UPDATE notes SET updated_at = greatest($3::bigint, updated_at + 1),
    content = regexp_replace(content, '@\\[[^][\\n]{1,200}\\]\\((' || $2 || ')\\)', '@[deleted user](\\1)', 'g')
  WHERE id IN (SELECT note_id FROM mentions)`

/** Who tried a webhook, and from where. Other deliveries read their event when they are sent. */
const testDeliveriesText = `
  UPDATE webhook_deliveries SET test_event = test_event
    || jsonb_build_object('actor', test_event->'actor' || '{"name": null}',
         'context', test_event->'context' || '{"ip_address": null, "user_agent": null}')
  WHERE test_event IS NOT NULL AND test_event->'actor'->>'id' IN (
    SELECT unnest($1::text[]) UNION ALL SELECT id FROM personal_tokens WHERE user_id = ANY ($1::text[]))`
