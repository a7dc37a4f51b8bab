/**
 * Delivery records (docs/contract.md#webhooks): lists deliveries, repeats them, and sends test events. A repeated
 * delivery has the same event id, so that the receiver can recognize the event.
 */
import { badRequest, conflict, invalidFields, notFound } from '../../kernel/errors.js'
import { idTimestamp, isId, newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, invalidCursor, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql, type WebhookDelivery } from '../../platform/postgres/database.js'
import { notify } from '../../platform/postgres/notifications.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { checkEventTypes, SqlConditions, statementName } from '../events/event-list.js'
import { eventOrigin } from '../events/record-event.js'
import { type DeliveryFilter, type DeliveryFilterStatus, type DeliveryPath, redeliverRules } from './delivery.js'
import { toEventRecord } from './payload.js'
import type { WebhookPath } from './webhook.js'
import { getWebhook } from './webhooks.js'

const deliveryColumns = `d.id, d.account_id AS "accountId", d.webhook_id AS "webhookId", d.event_id AS "eventId",
  d.event_at AS "eventAt", d.event_type AS "eventType", d.status, d.attempt_count AS "attemptCount",
  d.last_response_status AS "lastResponseStatus", d.last_error AS "lastError", d.first_attempt_at AS "firstAttemptAt",
  d.last_attempt_at AS "lastAttemptAt", d.next_attempt_at AS "nextAttemptAt", d.test_event AS "testEvent",
  d.created_at AS "createdAt", d.updated_at AS "updatedAt"`
type Row = WebhookDelivery & Record<string, unknown>

const statusConditions: Record<DeliveryFilterStatus, string> = {
  success: `d.status = 'delivered'`,
  failed: `d.status IN ('failing', 'failed')`,
}

/**
 * Lists the deliveries of a webhook, newest first.
 * @throws invalid_request for an unknown event type or cursor, not_found for the webhook
 */
export async function listDeliveries(
  context: Context,
  path: WebhookPath,
  filter: DeliveryFilter,
): Promise<Page<WebhookDelivery>> {
  const { eventType, status, after, before, cursor } = filter
  const limit = checkPageLimit(filter)
  // The event catalog does not contain the test event.
  if (eventType !== 'webhook.test') checkDeliveryEventType(eventType)
  const conditions = new SqlConditions()
    .where('w.id = ?', path.webhookId)
    .where('w.account_id = ?', path.accountId)
    .where('d.event_type = ?', eventType)
    .where('d.created_at >= ?::bigint', after)
    .where('d.created_at < ?::bigint', before)
  if (cursor !== undefined && cursor !== null) {
    if (!isId('dlv', cursor)) throw invalidCursor()
    conditions.where('d.created_at <= ?::bigint', idTimestamp(cursor)).where('d.id < ?', cursor)
  }
  const text = `
    SELECT ${deliveryColumns} FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
    WHERE w.status <> 'deleted' AND ${conditions.text}${status ? ` AND ${statusConditions[status]}` : ''}
    ORDER BY d.created_at DESC, d.id DESC LIMIT ${conditions.value(limit + 1)}`
  const rows = await context.query<Row>(`deliveries-${statementName(text)}`, text, conditions.values)
  if (rows.length === 0) await getWebhook(context, path)
  return toPage(rows, limit)
}

function checkDeliveryEventType(eventType: string | null | undefined): void {
  if (eventType === undefined || eventType === null) return
  try {
    checkEventTypes([eventType])
  } catch {
    throw invalidFields([{ field: 'eventType', code: 'invalid_value', message: 'is not an event type.' }])
  }
}

const newestDeliveriesText = `
  SELECT newest.* FROM unnest($1::text[]) AS w(id) CROSS JOIN LATERAL (
    SELECT ${deliveryColumns} FROM webhook_deliveries d WHERE d.webhook_id = w.id
    ORDER BY d.created_at DESC, d.id DESC LIMIT $2) newest`

/** Loads the newest deliveries of several webhooks in one query. */
export async function newestDeliveriesOf(
  context: Context,
  webhookIds: readonly string[],
  limit: number,
): Promise<Page<WebhookDelivery>[]> {
  const rows = await context.query<Row>('deliveries-of', newestDeliveriesText, [[...webhookIds], limit + 1])
  return webhookIds.map((id) =>
    toPage(
      rows.filter((row) => row.webhookId === id),
      limit,
    ),
  )
}

/** @throws not_found, conflict for a disabled webhook */
async function requireEnabledWebhook(context: Context, path: WebhookPath) {
  const webhook = await getWebhook(context, path)
  if (webhook.status === 'disabled') throw conflict('The webhook is disabled. Set its status to active first.')
  return webhook
}

type NewDelivery = Omit<Prisma.WebhookDeliveryUncheckedCreateInput, 'id' | 'createdAt' | 'updatedAt' | 'status'>

async function insertDelivery(context: Context, delivery: NewDelivery): Promise<WebhookDelivery> {
  const row = newRow('dlv', context.now())
  const created = await context.db.webhookDelivery.create({
    data: { ...delivery, ...row, status: 'pending', nextAttemptAt: row.createdAt },
  })
  await notify(context, 'webhook', delivery.webhookId)
  return created
}

/**
 * Delivers an event to a webhook again. For a `delivered` or `failed` delivery, creates a new record and returns it. A
 * `pending` or `failing` delivery becomes due immediately. A `delivering` delivery is returned unchanged.
 * @throws not_found, conflict for a disabled webhook
 */
export async function redeliverDelivery(context: Context, path: DeliveryPath): Promise<WebhookDelivery> {
  const { id: webhookId, accountId } = await requireEnabledWebhook(context, path)
  return transaction(context, async (tx) => {
    const where = { id: path.deliveryId, webhookId, accountId }
    const delivery = await tx.db.webhookDelivery.findFirst({ where })
    if (!delivery) throw notFound('delivery')
    const { eventId, eventAt, eventType, testEvent } = delivery
    if (delivery.status === 'delivered' || delivery.status === 'failed') {
      const event = testEvent === null ? {} : { testEvent: testEvent as Prisma.InputJsonObject }
      return insertDelivery(tx, { accountId, webhookId, eventId, eventAt, eventType, ...event })
    }
    const pending = { ...where, status: { in: ['pending', 'failing'] } }
    await tx.db.webhookDelivery.updateMany({ where: pending, data: { nextAttemptAt: tx.now() } })
    await notify(tx, 'webhook', webhookId)
    return (await tx.db.webhookDelivery.findFirst({ where })) ?? delivery
  })
}

/**
 * Selects each event with a matching delivery once, except test events and events with a delivery that is not finished.
 */
const redeliverableEventsText = `
  SELECT DISTINCT ON (d.event_id) d.event_id AS "eventId", d.event_at AS "eventAt", d.event_type AS "eventType"
  FROM webhook_deliveries d
  WHERE d.webhook_id = $1 AND d.account_id = $2 AND d.created_at >= $3::bigint AND d.created_at < $4::bigint
    AND d.status = ANY ($5::text[]) AND d.test_event IS NULL AND NOT EXISTS (
      SELECT FROM webhook_deliveries under_way WHERE under_way.webhook_id = $1 AND under_way.event_id = d.event_id
        AND under_way.next_attempt_at IS NOT NULL)
  ORDER BY d.event_id LIMIT $6::int`

/**
 * Repeats finished deliveries of a time range, by default those that failed permanently: one new delivery for each
 * event that `redeliverableEventsText` selects.
 * @returns the number of new deliveries
 * @throws invalid_request, also for more than `limits.maxWebhookRedeliveries` events, not_found, conflict for a
 *   disabled webhook
 */
export async function redeliverMany(context: Context, path: WebhookPath, input: unknown): Promise<{ count: number }> {
  const { after, before, status } = checkInput(redeliverRules, input)
  const { id: webhookId, accountId } = await requireEnabledWebhook(context, path)
  const finalStatuses = status === 'success' ? ['delivered'] : ['failed']
  return transaction(context, async (tx) => {
    // The row lock serializes concurrent calls, so that only one of them repeats an event.
    await sql(tx.db, 'SELECT id FROM webhooks WHERE id = $1 FOR NO KEY UPDATE', webhookId)
    const now = tx.now()
    const values = [webhookId, accountId, after, before ?? now, finalStatuses, limits.maxWebhookRedeliveries + 1]
    const events = await sql<Pick<Row, 'eventId' | 'eventAt' | 'eventType'>>(tx.db, redeliverableEventsText, ...values)
    if (events.length > limits.maxWebhookRedeliveries)
      throw badRequest(`More than ${limits.maxWebhookRedeliveries} deliveries match. Request a shorter time range.`)
    const data = events.map((event) => {
      const row = newRow('dlv', now)
      return { ...event, ...row, accountId, webhookId, status: 'pending', nextAttemptAt: row.createdAt }
    })
    if (data.length > 0) await tx.db.webhookDelivery.createMany({ data })
    await notify(tx, 'webhook', webhookId)
    return { count: data.length }
  })
}

/**
 * Sends an event of type `webhook.test`, regardless of the event types of the webhook. The audit log does not contain
 * this event.
 * @throws not_found, conflict for a disabled webhook
 */
export async function testWebhook(context: Context, path: WebhookPath): Promise<WebhookDelivery> {
  const { id: webhookId, accountId } = await requireEnabledWebhook(context, path)
  const { eventActor, eventContext } = eventOrigin(context, accountId)
  const { id: eventId, createdAt: eventAt } = newRow('evt', context.now())
  const nullIds = { issuerId: null, orgId: null, userId: null, clientId: null, agentId: null, sessionId: null }
  const record = toEventRecord({
    ...nullIds,
    id: eventId,
    type: 'webhook.test',
    createdAt: eventAt,
    accountId,
    authType: context.actor.authType,
    actor: eventActor,
    target: { type: 'webhook', id: webhookId },
    context: eventContext,
    data: {},
    changes: {},
  })
  const testEvent = record as Prisma.InputJsonObject
  return transaction(context, (tx) =>
    insertDelivery(tx, { accountId, webhookId, eventId, eventAt, eventType: 'webhook.test', testEvent }),
  )
}
