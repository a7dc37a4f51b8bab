/**
 * A single delivery attempt (docs/contract.md#webhook-payload-and-signature): the request, its result and the next
 * attempt.
 */
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { OutboundError, type OutboundResponse } from '../../platform/outbound/outbound.js'
import { traceCall } from '../../platform/tracing.js'
import { deliveryBody } from './payload.js'
import { authenticationHeaders, type Secrets } from './secrets.js'

/** The receiver of a webhook. */
export interface Receiver {
  webhookId: string
  url: string
  secrets: Secrets
}

/** A delivery that is due. */
export interface DueDelivery {
  id: string
  eventId: string
  /** Number of previous attempts. */
  attemptCount: number
  /** The event record to send; null if the audit log no longer has the event. */
  record: Record<string, unknown> | null
}

export interface AttemptResult {
  id: string
  /** Time of the attempt (Unix milliseconds). */
  at: number
  status: 'delivered' | 'failing' | 'failed'
  response: number | null
  error: string | null
  /** Time of the next attempt (Unix milliseconds); null if there is none. */
  next: number | null
}

/**
 * Returns the delay after a number of attempts in milliseconds: from one second, doubling up to one hour, with 10
 * percent of jitter.
 * @param jitter from 0 to 1
 */
export const retryDelay = (attempts: number, jitter = Math.random()): number =>
  Math.round(Math.min(limits.maxWebhookRetryDelay, 2 ** (attempts - 1) * SECOND) * (0.9 + jitter * 0.2))

/** Makes one delivery attempt. Never throws: errors become a result. */
export async function attemptDelivery(
  context: Context,
  receiver: Receiver,
  delivery: DueDelivery,
): Promise<AttemptResult> {
  const at = context.now()
  const { id, eventId, record } = delivery
  const failed = { id, at, status: 'failed', response: null, next: null } as const
  if (record === null) return { ...failed, error: 'The event is past its retention period.' }
  const count = delivery.attemptCount + 1
  const retryLater = (response: number | null, error: string, wait = 0): AttemptResult => {
    if (count >= limits.maxWebhookDeliveryAttempts) return { ...failed, response, error }
    return { id, at, status: 'failing', response, error, next: context.now() + Math.max(wait, retryDelay(count)) }
  }
  try {
    const body = deliveryBody(record)
    const { status, headers } = await traceAttempt(receiver, delivery, () =>
      context.outbound.send({
        method: 'POST',
        url: receiver.url,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Gatehouse-Webhooks/1',
          ...authenticationHeaders(receiver.secrets, eventId, body, at),
        },
        body,
        timeout: limits.webhookDeliveryTimeout,
        maxBody: 0,
      }),
    )
    // Redirects are failures: the signed payload must only reach the configured URL.
    if (status >= 200 && status < 300) return { id, at, status: 'delivered', response: status, error: null, next: null }
    return retryLater(
      status,
      `The receiver responded with status ${status}.`,
      retryAfter(headers['retry-after'], context.now()),
    )
  } catch (error) {
    if (error instanceof OutboundError) return retryLater(null, error.message)
    context.log.error(
      { err: error, webhook: receiver.webhookId, delivery: id },
      'webhook delivery attempt failed unexpectedly',
    )
    return retryLater(null, 'The request could not be sent because of an internal error.')
  }
}

/** Traces the attempt with the host of the receiver only, because paths and queries are often secrets. */
function traceAttempt({ url, webhookId }: Receiver, { eventId }: DueDelivery, send: () => Promise<OutboundResponse>) {
  const { hostname, port, protocol } = new URL(url)
  const attributes = {
    'http.request.method': 'POST',
    'server.address': hostname,
    'server.port': Number(port) || (protocol === 'https:' ? 443 : 80),
    'gatehouse.webhook_id': webhookId,
    'gatehouse.event_id': eventId,
  }
  return traceCall('POST', attributes, send, ({ status }) => ({
    'http.response.status_code': status,
    ...(status >= 400 && { 'error.type': String(status) }),
  }))
}

/** Parses Retry-After (RFC 9110, section 10.2.3). @returns milliseconds, at most one hour; 0 if absent or invalid */
export function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const wait = /^\d+$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), limits.maxWebhookRetryDelay) : 0
}
