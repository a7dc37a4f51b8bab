/** Batch queries of the relations of deliveries, for DataLoaders. */
import type { Context } from '../../platform/context.js'
import type { Event, WebhookDelivery } from '../../platform/postgres/database.js'
import { eventColumns } from '../events/event-list.js'
import { statisticsInclude, type WebhookWithStatistics } from './webhooks.js'

/** Returns the DataLoader key of the event of a delivery. */
export const eventKeyOf = ({ accountId, eventId, eventAt }: WebhookDelivery): string =>
  [accountId, eventId, eventAt].join(' ')

const eventsText = `
  SELECT ${eventColumns} FROM unnest($1::text[], $2::text[], $3::bigint[]) AS k(account_id, id, created_at)
  JOIN events e ON e.account_id = k.account_id AND e.id = k.id AND e.created_at = k.created_at`

/** Loads the events of several deliveries; null for events that the audit log does not contain. */
export async function eventsOfDeliveries(context: Context, keys: readonly string[]): Promise<(Event | null)[]> {
  const parts = keys.map((key) => key.split(' '))
  const values = [0, 1, 2].map((at) => parts.map((part) => part[at]))
  const rows = await context.query<Event & Record<string, unknown>>('events-of-deliveries', eventsText, values)
  const byId = new Map(rows.map((row) => [row.id, row]))
  return parts.map(([, id]) => byId.get(id!) ?? null)
}

/** Loads webhooks by id; null for deleted webhooks. */
export async function webhooksById(
  context: Context,
  ids: readonly string[],
): Promise<(WebhookWithStatistics | null)[]> {
  const rows = await context.db.webhook.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...ids] }, status: { not: 'deleted' } },
    include: statisticsInclude(context),
  })
  const byId = new Map(rows.map((row) => [row.id, row]))
  return ids.map((id) => byId.get(id) ?? null)
}
