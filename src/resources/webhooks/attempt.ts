/** One attempt to deliver (decisions D4): what is sent, what counts as accepted, when to come again. */
import { HOUR, SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { type OutboundAnswer, OutboundError } from '../../platform/outbound.js'
import { traceCall } from '../../platform/tracing.js'
import { bodyOf } from './payload.js'
import { proofs, type Secrets } from './secrets.js'

/** Attempts of one delivery: with the delays below they take about 28 hours (spec section 8). */
export const ATTEMPTS = 40
const LONGEST_DELAY = HOUR
const TIMEOUT = 15 * SECOND

/** Where to, and with which secrets. */
export interface Receiver {
  webhookId: string
  url: string
  secrets: Secrets
}

/** A delivery in hand. */
export interface Parcel {
  id: string
  eventId: string
  /** How often it was tried before. */
  attemptCount: number
  /** The event as it is told; null when the trail has it no more. */
  record: Record<string, unknown> | null
}

export interface Result {
  id: string
  /** When it was tried. */
  at: number
  status: 'delivered' | 'failing' | 'failed'
  response: number | null
  error: string | null
  /** When it is tried next. */
  next: number | null
}

/**
 * How long to wait after so many attempts, in milliseconds: doubling from a second to an hour, give or take a tenth.
 * @param chance from 0 to 1
 */
export const delayAfter = (attempts: number, chance = Math.random()): number =>
  Math.round(Math.min(LONGEST_DELAY, 2 ** (attempts - 1) * SECOND) * (0.9 + chance * 0.2))

/** Sends a delivery once. Never throws: whatever happens is a result. */
export async function attempt(context: Context, receiver: Receiver, parcel: Parcel): Promise<Result> {
  const at = context.now()
  const { id, eventId, record } = parcel
  const failed = { id, at, status: 'failed', response: null, next: null } as const
  if (record === null) return { ...failed, error: 'The event is no longer kept.' }
  const count = parcel.attemptCount + 1
  const again = (response: number | null, error: string, wait = 0): Result => {
    if (count >= ATTEMPTS) return { ...failed, response, error }
    return { id, at, status: 'failing', response, error, next: context.now() + Math.max(wait, delayAfter(count)) }
  }
  try {
    const body = bodyOf(record)
    const { status, headers } = await traced(receiver, parcel, () =>
      context.outbound.send({
        method: 'POST',
        url: receiver.url,
        headers: {
          'content-type': 'application/json',
          'user-agent': 'Gatehouse-Webhooks/1',
          ...proofs(receiver.secrets, eventId, body, at),
        },
        body,
        timeout: TIMEOUT,
        maxBody: 0,
      }),
    )
    // Redirects are none of it: nobody else is told.
    if (status >= 200 && status < 300) return { id, at, status: 'delivered', response: status, error: null, next: null }
    return again(status, `The answer was ${status}.`, retryAfter(headers['retry-after'], context.now()))
  } catch (error) {
    if (error instanceof OutboundError) return again(null, error.message)
    context.log.error({ err: error, webhook: receiver.webhookId, delivery: id }, 'a webhook could not be sent')
    return again(null, 'It could not be sent.')
  }
}

/** In a span that knows the receiver's host; paths and queries of receivers are often secrets. */
function traced({ url, webhookId }: Receiver, { eventId }: Parcel, send: () => Promise<OutboundAnswer>) {
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

/** How long the receiver asks to be left alone, in milliseconds, an hour at most (RFC 9110 10.2.3). */
export function retryAfter(header: string | undefined, now: number): number {
  if (header === undefined) return 0
  const wait = /^\d+$/.test(header) ? Number(header) * SECOND : Date.parse(header) - now
  return Number.isFinite(wait) ? Math.min(Math.max(0, wait), LONGEST_DELAY) : 0
}
