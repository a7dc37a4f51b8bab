/** Records one event per user in one statement, for bulk operations such as an import. */
import { newRow } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { notifyChange } from '../../platform/postgres/notifications.js'
import type { EventType } from './event-catalog.js'
import { allowedEventData } from './event-fields.js'
import { eventOrigin } from './record-event.js'

const insertText = `
  INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, auth_type, actor, target, context, data)
  SELECT e.id, $2::text, e.created_at, $3::text, $4::text, e.user_id, $5::text, $6::jsonb,
    jsonb_build_object('type', 'user', 'id', e.user_id), $7::jsonb, e.data
  FROM json_to_recordset($1::json) AS e (id text, created_at bigint, user_id text, data jsonb)`

/**
 * Records one event per user. Call it inside the transaction of the change. Unlike `recordEvent`, it writes no
 * `changes`, no ids of other resources and no webhook deliveries: for webhooks, a bulk operation records one summary
 * event (docs/decisions/0035).
 */
export async function recordEventsOfUsers(
  context: Context,
  type: EventType,
  { accountId, issuerId }: { accountId: string; issuerId: string },
  users: readonly { userId: string; data: Record<string, unknown> }[],
): Promise<void> {
  const { actor, database } = context
  const rows = users.map(({ userId, data }) => {
    const { id, createdAt } = newRow('evt', context.now())
    return { id, created_at: createdAt, user_id: userId, data: allowedEventData('user', type, data) }
  })
  const { eventActor, eventContext } = eventOrigin(context, accountId)
  await context.query('record-events-of-users', insertText, [
    JSON.stringify(rows),
    type,
    accountId,
    issuerId,
    actor.authType,
    JSON.stringify(eventActor),
    JSON.stringify(eventContext),
  ])
  context.afterCommit(() => notifyChange(database, 'event', accountId))
}
