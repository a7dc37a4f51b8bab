/** How the sending fares over all accounts and processes: for `gatehouse jobs` and for the metrics. */
import type { Gatehouse } from '../../platform/context.js'
import { gauge, shared } from '../../platform/metrics.js'
import { withWaiting } from './lanes.js'

export interface SendingState {
  /** Webhooks that have a delivery due now. */
  waiting: number
  /** Those of them whose circuit breaker is open. */
  paused: number
  /** Webhooks in the state `failing`. */
  failing: number
  /** Since when the oldest delivery is due, in Unix milliseconds. */
  oldestDueAt: number | null
}

const stateText = `${withWaiting}
  SELECT count(*) FILTER (WHERE next_attempt_at <= $1::bigint)::int AS waiting,
    count(*) FILTER (WHERE next_attempt_at <= $1::bigint AND open_until > $1::bigint)::int AS paused,
    (SELECT count(*)::int FROM webhooks WHERE status = 'failing') AS failing,
    min(next_attempt_at) FILTER (WHERE next_attempt_at <= $1::bigint) AS "oldestDueAt"
  FROM waiting JOIN webhooks w ON w.id = webhook_id AND w.status IN ('active', 'failing')
    JOIN webhook_lanes USING (webhook_id)`

/** @returns one row */
export const sendingState = ({ tools, now }: Gatehouse): Promise<SendingState[]> =>
  tools.query<SendingState & Record<string, unknown>>('webhooks-state', stateText, [now()])

/** Gauges of the sending. */
export function watchSending(gatehouse: Gatehouse): void {
  const { registry } = gatehouse.metrics
  const states = shared(() => sendingState(gatehouse))
  gauge(
    registry,
    'gatehouse_webhooks',
    'Webhooks of all accounts by state: waiting (something is due), paused (their breaker is open), failing.',
    ['state'],
    async (set) => {
      for (const { waiting, paused, failing } of await states()) {
        for (const [state, count] of Object.entries({ waiting, paused, failing })) set({ state }, count)
      }
    },
  )
  gauge(
    registry,
    'gatehouse_webhooks_oldest_due_seconds',
    'For how long the oldest delivery has been due; 0 when nothing is.',
    [],
    async (set) => {
      for (const { oldestDueAt } of await states()) set({}, oldestDueAt ? (gatehouse.now() - oldestDueAt) / 1000 : 0)
    },
  )
}
