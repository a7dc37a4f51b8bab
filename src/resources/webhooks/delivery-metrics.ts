/** The state of webhook deliveries of all accounts and processes, for `gatehouse jobs list` and the metrics. */
import type { Gatehouse } from '../../platform/context.js'
import { registerGauge, shareInFlight } from '../../platform/metrics.js'
import { waitingWebhooksCte } from './delivery-queues.js'

/** Counts only webhooks with the status `active` or `failing`. */
export interface DeliveryBacklog {
  /** Number of webhooks with a due delivery. */
  due: number
  /** Number of webhooks with a due delivery and an open circuit breaker. */
  circuitOpen: number
  /** Number of webhooks with the status `failing`. */
  failing: number
  /** Due time of the oldest due delivery in Unix milliseconds; null if none is due. */
  oldestDueAt: number | null
}

const backlogText = `${waitingWebhooksCte}
  SELECT count(*) FILTER (WHERE next_attempt_at <= $1::bigint)::int AS due,
    count(*) FILTER (WHERE next_attempt_at <= $1::bigint AND breaker_open_until > $1::bigint)::int AS "circuitOpen",
    (SELECT count(*)::int FROM webhooks WHERE status = 'failing') AS failing,
    min(next_attempt_at) FILTER (WHERE next_attempt_at <= $1::bigint) AS "oldestDueAt"
  FROM waiting JOIN webhooks w ON w.id = webhook_id AND w.status IN ('active', 'failing')
    JOIN webhook_delivery_queues USING (webhook_id)`

/** Returns one row with the delivery backlog. */
export const deliveryBacklog = ({ database, now }: Gatehouse): Promise<DeliveryBacklog[]> =>
  database.query<DeliveryBacklog & Record<string, unknown>>('webhooks-state', backlogText, [now()])

/** Registers the gauges of webhook deliveries. */
export function registerDeliveryMetrics(gatehouse: Gatehouse): void {
  const { registry } = gatehouse.metrics
  const loadBacklog = shareInFlight(() => deliveryBacklog(gatehouse))
  registerGauge(
    registry,
    'gatehouse_webhooks',
    'Webhooks of all accounts by state: due (a delivery is due), circuit_open (a delivery is due and the circuit breaker is open), failing.',
    ['state'],
    async (set) => {
      for (const { due, circuitOpen, failing } of await loadBacklog()) {
        for (const [state, count] of Object.entries({ due, circuit_open: circuitOpen, failing })) set({ state }, count)
      }
    },
  )
  registerGauge(
    registry,
    'gatehouse_webhook_oldest_due_delivery_age_seconds',
    'How long the oldest due delivery has been due; 0 when none is due.',
    [],
    async (set) => {
      for (const { oldestDueAt } of await loadBacklog())
        set({}, oldestDueAt ? (gatehouse.now() - oldestDueAt) / 1000 : 0)
    },
  )
}
