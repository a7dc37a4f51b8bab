/**
 * Makes a single delivery attempt (docs/contract.md#webhook-payload-and-signature): sends the request and determines
 * the result and the time of the next attempt.
 */
import { limits } from '../../kernel/limits.js'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { OutboundError, type OutboundResponse } from '../../platform/outbound/outbound.js'
import { traceCall } from '../../platform/tracing.js'
import { deliveryBody } from './payload.js'
import { authenticationHeaders, type Secrets } from './secrets.js'

/** The endpoint of a webhook, with the decrypted secrets. */
export interface Receiver {
  webhookId: string
  url: string
  secrets: Secrets
}

/** A delivery that a worker has claimed. */
export interface DueDelivery {
  id: string
  eventId: string
  /** Number of previous attempts. */
  attemptCount: number
  /** The event record to send; null if the audit log no longer contains the event. */
  record: Record<string, unknown> | null
}

export interface AttemptResult {
  /** Id of the delivery. */
  id: string
  /** Time of the attempt (Unix milliseconds). */
  at: number
  status: 'delivered' | 'failing' | 'failed'
  /** HTTP status of the response; null without a response. */
  response: number | null
  /** A sentence that says why the attempt failed; null after a success. */
  error: string | null
  /** Time of the next attempt (Unix milliseconds); null if there is none. */
  next: number | null
}

/**
 * Returns the delay before the next attempt in milliseconds: one second after the first attempt, doubled after each
 * further attempt up to one hour, and changed by at most 10 percent at random.
 * @param attempts number of attempts so far
 * @param jitter random number from 0 to 1
 */
export const retryDelay = (attempts: number, jitter = Math.random()): number =>
  Math.round(Math.min(limits.maxWebhookRetryDelay, 2 ** (attempts - 1) * SECOND) * (0.9 + jitter * 0.2))

/** Makes one delivery attempt. Does not throw: an error becomes a result. */
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

/**
 * Traces an attempt. Of the URL, the trace contains only the host and the port, because the path and the query are
 * often secrets.
 */
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

/**
 * Parses the header Retry-After (RFC 9110, section 10.2.3).
 * @param now Unix milliseconds
 * @returns the delay in milliseconds, at most one hour; 0 if the header is absent or invalid
 */
export function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const wait = /^\d+$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), limits.maxWebhookRetryDelay) : 0
}
