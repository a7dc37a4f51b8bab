/** Deletes dynamically registered clients that no user has signed in to. */
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import { runInBatches } from '../../platform/jobs/batch-delete.js'
import { sql } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'

interface DeletedClient {
  id: string
  accountId: string
  issuerId: string
}

/** SQL: whether no user has signed in to the client. Clients with client credentials have no sessions, so they are kept. */
const unusedSql = `r.used_at IS NULL
      AND NOT coalesce(jsonb_exists(c.settings->'openid'->'grant_types', 'client_credentials'), false)`

/** SKIP LOCKED keeps clients that are being used. */
const deleteText = `
  DELETE FROM clients WHERE id IN (
    SELECT c.id FROM client_registrations r JOIN clients c ON c.id = r.client_id
    WHERE ${unusedSql} AND c.status <> 'deleted'
      AND r.created_at <= CASE WHEN r.initial_access_token_id IS NULL THEN $1::bigint ELSE $2::bigint END
    LIMIT ${limits.purgeBatchSize} FOR UPDATE SKIP LOCKED)
  RETURNING id, account_id AS "accountId", issuer_id AS "issuerId"`

/**
 * Deletes clients that no user has signed in to within `unusedOpenRegistrationLifetime`, or
 * `unusedTokenRegistrationLifetime` for clients that registered with an initial access token
 * (docs/contract.md#dynamic-client-registration), so that open registrations do not fill the database.
 */
export async function purgeUnusedRegistrations(context: Context): Promise<void> {
  const now = context.now()
  const values = [now - limits.unusedOpenRegistrationLifetime, now - limits.unusedTokenRegistrationLifetime]
  await runInBatches(context, limits.purgeBatchSize, () =>
    transaction(context, async (tx) => {
      const clients = await sql<DeletedClient>(tx.db, deleteText, ...values)
      for (const { id, accountId, issuerId } of clients) {
        const subject = { accountId, issuerId, clientId: id, target: { type: 'client', id } }
        await recordEvent(tx, 'client.deleted', { ...subject, data: { reason: 'unused' } })
      }
      return clients.length
    }),
  )
}

/** Removes the row of a client that no user has signed in to. Call it in the transaction that deletes the client. */
export async function removeUnusedClient(tx: Context, clientId: string): Promise<void> {
  const text = `
    DELETE FROM clients WHERE id IN (
      SELECT c.id FROM client_registrations r JOIN clients c ON c.id = r.client_id
      WHERE c.id = $1 AND ${unusedSql} FOR UPDATE)
    RETURNING id`
  await sql(tx.db, text, clientId)
}

/** Records that a user signed in to a dynamically registered client. Call it in the transaction of the new session. */
export async function markRegistrationUsed(tx: Context, clientId: string): Promise<void> {
  await tx.db.clientRegistration.updateMany({ where: { clientId, usedAt: null }, data: { usedAt: tx.now() } })
}
