/**
 * Records of deliveries (spec 2.15, 4.15): listing them, making one again, and trying a webhook with an event of its own.
 * What is made again is a new record of the same event, so that the receiver knows it by its id.
 */
import { z } from 'zod'
import { badRequest, conflict, invalid, notFound } from '../../kernel/errors.js'
import { isId, newRow, timeOf } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf, unknownCursor } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Prisma, sql, transaction, type WebhookDelivery } from '../../platform/database.js'
import { announce } from '../../platform/notify.js'
import { circumstances } from '../events/events.js'
import { Conditions, checkTypes, nameOf } from '../events/listing.js'
import { recordOf } from './payload.js'
import { getWebhook, type WebhookPlace } from './webhooks.js'

/** How list filters name what has become of a delivery (decisions D4). */
export const deliveryFilters = ['success', 'failed'] as const
export type DeliveryFilterStatus = (typeof deliveryFilters)[number]
export const deliveryStatuses = ['pending', 'delivering', 'delivered', 'failing', 'failed'] as const

/** `after` is the first moment that counts and `before` the first that does not, in Unix milliseconds. */
export interface DeliveryFilter {
  eventType?: string | null
  status?: DeliveryFilterStatus | null
  after?: number | null
  before?: number | null
}

/** Deliveries that one call makes again. */
const MOST_AGAIN = 10_000

const columns = `d.id, d.account_id AS "accountId", d.webhook_id AS "webhookId", d.event_id AS "eventId",
  d.event_at AS "eventAt", d.event_type AS "eventType", d.status, d.attempt_count AS "attemptCount",
  d.last_response_status AS "lastResponseStatus", d.last_error AS "lastError", d.first_attempt_at AS "firstAttemptAt",
  d.last_attempt_at AS "lastAttemptAt", d.next_attempt_at AS "nextAttemptAt", d.test_event AS "testEvent",
  d.created_at AS "createdAt", d.updated_at AS "updatedAt"`
type Row = WebhookDelivery & Record<string, unknown>

const conditionOf: Record<DeliveryFilterStatus, string> = {
  success: `d.status = 'delivered'`,
  failed: `d.status IN ('failing', 'failed')`,
}

/**
 * Newest first.
 * @throws invalid_request for an unknown type or cursor, not_found for the webhook
 */
export async function listDeliveries(
  context: Context,
  place: WebhookPlace,
  { eventType, status, after, before }: DeliveryFilter,
  request: PageRequest,
): Promise<Page<WebhookDelivery>> {
  const limit = limitOf(request)
  const { cursor } = request
  // A test event is in no catalogue.
  if (eventType !== 'webhook.test') checkType(eventType)
  const conditions = new Conditions()
    .where('w.id = ?', place.webhookId)
    .where('w.account_id = ?', place.accountId)
    .where('d.event_type = ?', eventType)
    .where('d.created_at >= ?::bigint', after)
    .where('d.created_at < ?::bigint', before)
  if (cursor !== undefined && cursor !== null) {
    if (!isId('dlv', cursor)) throw unknownCursor()
    conditions.where('d.created_at <= ?::bigint', timeOf(cursor)).where('d.id < ?', cursor)
  }
  const text = `
    SELECT ${columns} FROM webhooks w JOIN webhook_deliveries d ON d.webhook_id = w.id
    WHERE w.status <> 'deleted' AND ${conditions.text}${status ? ` AND ${conditionOf[status]}` : ''}
    ORDER BY d.created_at DESC, d.id DESC LIMIT ${conditions.value(limit + 1)}`
  const rows = await context.query<Row>(`deliveries-${nameOf(text)}`, text, conditions.values)
  if (rows.length === 0) await getWebhook(context, place)
  return pageOf(rows, limit)
}

function checkType(eventType: string | null | undefined): void {
  if (eventType === undefined || eventType === null) return
  try {
    checkTypes([eventType])
  } catch {
    throw invalid([{ field: 'eventType', code: 'invalid_value', message: 'is not a type of event.' }])
  }
}

const newestText = `
  SELECT newest.* FROM unnest($1::text[]) AS w(id) CROSS JOIN LATERAL (
    SELECT ${columns} FROM webhook_deliveries d WHERE d.webhook_id = w.id
    ORDER BY d.created_at DESC, d.id DESC LIMIT $2) newest`

/** The newest deliveries of several webhooks, in one query. */
export async function deliveriesOf(
  context: Context,
  webhookIds: readonly string[],
  limit: number,
): Promise<Page<WebhookDelivery>[]> {
  const rows = await context.query<Row>('deliveries-of', newestText, [[...webhookIds], limit + 1])
  return webhookIds.map((id) =>
    pageOf(
      rows.filter((row) => row.webhookId === id),
      limit,
    ),
  )
}

/** @throws not_found, conflict for a disabled one: nothing is sent to it */
async function requireInForce(context: Context, place: WebhookPlace) {
  const webhook = await getWebhook(context, place)
  if (webhook.status === 'disabled') throw conflict('The webhook is disabled; set its status to active first.')
  return webhook
}

type NewDelivery = Omit<Prisma.WebhookDeliveryUncheckedCreateInput, 'id' | 'createdAt' | 'updatedAt' | 'status'>

async function insert(context: Context, delivery: NewDelivery): Promise<WebhookDelivery> {
  const row = newRow('dlv', context.now())
  const made = await context.db.webhookDelivery.create({
    data: { ...delivery, ...row, status: 'pending', nextAttemptAt: row.createdAt },
  })
  await announce(context, 'webhook', delivery.webhookId)
  return made
}

/**
 * Delivers an event to a webhook again: what is delivered or failed for good gets a new record, what still waits for its
 * next attempt is tried at once.
 * @throws not_found, conflict for a disabled webhook
 */
export async function redeliver(
  context: Context,
  place: WebhookPlace & { deliveryId: string },
): Promise<WebhookDelivery> {
  const { id: webhookId, accountId } = await requireInForce(context, place)
  return transaction(context, async (inside) => {
    const where = { id: place.deliveryId, webhookId, accountId }
    const delivery = await inside.db.webhookDelivery.findFirst({ where })
    if (!delivery) throw notFound('delivery')
    const { eventId, eventAt, eventType, testEvent } = delivery
    if (delivery.status === 'delivered' || delivery.status === 'failed') {
      const event = testEvent === null ? {} : { testEvent: testEvent as Prisma.InputJsonObject }
      return insert(inside, { accountId, webhookId, eventId, eventAt, eventType, ...event })
    }
    const waits = { ...where, status: { in: ['pending', 'failing'] } }
    await inside.db.webhookDelivery.updateMany({ where: waits, data: { nextAttemptAt: inside.now() } })
    await announce(inside, 'webhook', webhookId)
    return (await inside.db.webhookDelivery.findFirst({ where })) ?? delivery
  })
}

const spanRules = z.strictObject({
  after: rules.moment,
  before: rules.moment.nullable().optional(),
  status: z
    .enum(deliveryFilters, `must be one of ${deliveryFilters.join(', ')}.`)
    .nullable()
    .optional(),
})

/** Each event of the span once, whatever became of it, unless it is on its way already. */
const spanText = `
  SELECT DISTINCT ON (d.event_id) d.event_id AS "eventId", d.event_at AS "eventAt", d.event_type AS "eventType"
  FROM webhook_deliveries d
  WHERE d.webhook_id = $1 AND d.account_id = $2 AND d.created_at >= $3::bigint AND d.created_at < $4::bigint
    AND d.status = ANY ($5::text[]) AND d.test_event IS NULL AND NOT EXISTS (
      SELECT FROM webhook_deliveries under_way WHERE under_way.webhook_id = $1 AND under_way.event_id = d.event_id
        AND under_way.next_attempt_at IS NOT NULL)
  ORDER BY d.event_id LIMIT $6::int`

/**
 * Delivers again what was made in a span of time and has ended, by default what failed for good.
 * @returns how many
 * @throws invalid_request for more than 10,000 at once, not_found, conflict for a disabled webhook
 */
export async function redeliverSpan(context: Context, place: WebhookPlace, input: unknown): Promise<{ count: number }> {
  const { after, before, status } = check(spanRules, input)
  const { id: webhookId, accountId } = await requireInForce(context, place)
  const ended = status === 'success' ? ['delivered'] : ['failed']
  return transaction(context, async (inside) => {
    // In turns, so that two calls do not both find an event that is not on its way.
    await sql(inside.db, 'SELECT id FROM webhooks WHERE id = $1 FOR NO KEY UPDATE', webhookId)
    const now = inside.now()
    const values = [webhookId, accountId, after, before ?? now, ended, MOST_AGAIN + 1]
    const events = await sql<Pick<Row, 'eventId' | 'eventAt' | 'eventType'>>(inside.db, spanText, ...values)
    if (events.length > MOST_AGAIN) throw badRequest(`These are more than ${MOST_AGAIN}; ask for a shorter span.`)
    const data = events.map((event) => {
      const row = newRow('dlv', now)
      return { ...event, ...row, accountId, webhookId, status: 'pending', nextAttemptAt: row.createdAt }
    })
    if (data.length > 0) await inside.db.webhookDelivery.createMany({ data })
    await announce(inside, 'webhook', webhookId)
    return { count: data.length }
  })
}

/** Sends an event of type `webhook.test` to this webhook, whatever it listens to; the trail does not have it. */
export async function testWebhook(context: Context, place: WebhookPlace): Promise<WebhookDelivery> {
  const { id: webhookId, accountId } = await requireInForce(context, place)
  const { teller, facts } = circumstances(context, accountId)
  const { id: eventId, createdAt: eventAt } = newRow('evt', context.now())
  const nothing = { issuerId: null, orgId: null, userId: null, clientId: null, agentId: null, sessionId: null }
  const record = recordOf({
    ...nothing,
    id: eventId,
    type: 'webhook.test',
    createdAt: eventAt,
    accountId,
    authType: context.actor.authType,
    actor: teller,
    target: { type: 'webhook', id: webhookId },
    context: facts,
    data: {},
    changes: {},
  })
  const testEvent = record as Prisma.InputJsonObject
  return transaction(context, (inside) =>
    insert(inside, { accountId, webhookId, eventId, eventAt, eventType: 'webhook.test', testEvent }),
  )
}
