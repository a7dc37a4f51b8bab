/** Events of many rows that one statement has written: the same columns as `emit`, in one statement as well. */
import { newRow } from '../../kernel/ids.js'
import type { Context } from '../../platform/context.js'
import { hint } from '../../platform/notify.js'
import type { EventType } from './catalogue.js'
import { circumstances } from './events.js'
import { namedData } from './names.js'

const insertText = `
  INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, auth_type, actor, target, context, data)
  SELECT e.id, $2::text, e.created_at, $3::text, $4::text, e.user_id, $5::text, $6::jsonb,
    jsonb_build_object('type', 'user', 'id', e.user_id), $7::jsonb, e.data
  FROM json_to_recordset($1::json) AS e (id text, created_at bigint, user_id text, data jsonb)`

/**
 * Writes one event about each of these users. Call it inside the transaction of the change. No webhook is told: whoever
 * makes rows by the thousand says so in one event of its own (docs/decisions/0041).
 */
export async function emitOfUsers(
  context: Context,
  type: EventType,
  { accountId, issuerId }: { accountId: string; issuerId: string },
  users: readonly { userId: string; data: Record<string, unknown> }[],
): Promise<void> {
  const { actor, tools } = context
  const rows = users.map(({ userId, data }) => {
    const { id, createdAt } = newRow('evt', context.now())
    return { id, created_at: createdAt, user_id: userId, data: namedData('user', type, data) }
  })
  const { teller, facts } = circumstances(context, accountId)
  await context.query('emit-of-users', insertText, [
    JSON.stringify(rows),
    type,
    accountId,
    issuerId,
    actor.authType,
    JSON.stringify(teller),
    JSON.stringify(facts),
  ])
  context.afterCommit(() => hint(tools, 'event', accountId))
}
