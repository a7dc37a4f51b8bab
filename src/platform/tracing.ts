/**
 * Spans for whoever puts an OpenTelemetry SDK beside Gatehouse (docs/observability.md). Only the API is here: without an
 * SDK nothing is made, and what would be traced runs as if this file were not there. Names and attributes are those of
 * the semantic conventions; no span holds a path, a query, a statement, a value, or anything of a person.
 */
import { type IncomingMessage, METHODS } from 'node:http'
import {
  type Attributes,
  context,
  ProxyTracerProvider,
  propagation,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { ClientBase } from 'pg'
import type { Role } from '../config.js'

/** Undefined without an SDK. */
function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('gatehouse')
    : provider.getTracer('gatehouse')
}

/** Ends the span with what went wrong, by a word that says nothing of the request. */
function fail(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

export interface AnsweredRequest {
  server: Role
  /** Known when it is answered. */
  route: string
  status: number
  requestId: string | undefined
}

/** Ends a request's span; to be called when the answer is out. */
export type EndOfTrace = (facts: AnsweredRequest) => void

/**
 * Runs the handling of a request in a span below the caller's `traceparent`.
 * @param handle gets what ends the span, if there is one
 */
export function traceRequest<T>(request: IncomingMessage, handle: (end?: EndOfTrace) => T): T {
  const made = tracer()
  if (!made) return handle()
  const method = METHODS.includes(request.method ?? '') ? request.method! : '_OTHER'
  const parent = propagation.extract(context.active(), request.headers)
  const attributes = { 'http.request.method': method }
  const span = made.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
  const end: EndOfTrace = ({ server, route, status, requestId }) => {
    span.updateName(`${method === '_OTHER' ? 'HTTP' : method} ${route}`)
    span.setAttributes({ 'http.route': route, 'http.response.status_code': status, 'gatehouse.server': server })
    if (requestId !== undefined) span.setAttribute('gatehouse.request_id', requestId)
    if (status >= 500) fail(span, String(status))
    span.end()
  }
  return context.with(trace.setSpan(parent, span), () => handle(end))
}

/** Does work that calls somebody else in a span of its own; `describe` tells it what came of it. */
export async function traceCall<T>(
  name: string,
  attributes: Attributes,
  work: () => Promise<T>,
  describe: (result: T) => Attributes,
): Promise<T> {
  const span = tracer()?.startSpan(name, { kind: SpanKind.CLIENT, attributes })
  if (!span) return work()
  try {
    const result = await context.with(trace.setSpan(context.active(), span), work)
    const facts = describe(result)
    span.setAttributes(facts)
    if (facts['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
    return result
  } catch (error) {
    fail(span, (error as Error).name)
    throw error
  } finally {
    span.end()
  }
}

/** Keeps the span in progress for a callback that waits for its turn, such as one for a connection. */
export const keepTrace = <T extends (...values: never[]) => unknown>(callback: T): T =>
  tracer() ? context.bind(context.active(), callback) : callback

/** `SELECT users`: the verb and the first table, which is all that is told of a statement. */
function summaryOf(text: string): { operation: string; summary: string } {
  const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'QUERY'
  const table = /\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?(?:"?public"?\.)?"?([a-z_]+)"?/i.exec(text)?.[1]
  return { operation, summary: table ? `${operation} ${table}` : operation }
}

type Query = (...args: unknown[]) => unknown

/**
 * Makes a span of each statement of a connection that some other span asked for; what jobs ask all the time is none. Call
 * it when the connection is made; without an SDK it does nothing.
 */
export function traceQueries(client: ClientBase): void {
  if (!tracer()) return
  const query: Query = client.query.bind(client)
  const traced: Query = (...args) => {
    if (!trace.getActiveSpan()) return query(...args)
    const config = args[0] as string | { text?: string }
    const { operation, summary } = summaryOf(typeof config === 'string' ? config : (config.text ?? ''))
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.summary': summary }
    const span = tracer()?.startSpan(summary, { kind: SpanKind.CLIENT, attributes })
    if (!span) return query(...args)
    const end = (error: unknown): void => {
      const { code } = (error ?? {}) as { code?: string }
      if (code !== undefined) span.setAttribute('db.response.status_code', code)
      if (error) fail(span, code ?? 'error')
      span.end()
    }
    const callback = args.at(-1)
    if (typeof callback === 'function') {
      return query(...args.slice(0, -1), (error: unknown, result: unknown) => {
        end(error)
        callback(error, result)
      })
    }
    const result = query(...args)
    if (result instanceof Promise) result.then(() => end(undefined), end)
    else span.end()
    return result
  }
  client.query = traced as typeof client.query
}
