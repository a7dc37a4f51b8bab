/**
 * OpenTelemetry spans (docs/observability.md). Gatehouse depends only on the OpenTelemetry API, so it creates spans
 * only if an SDK is loaded in the process. Names and attributes follow the semantic conventions. Spans contain no
 * paths, query strings, SQL statements, row values or personal data.
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

/** Returns the tracer; undefined if no SDK is loaded. */
function tracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  return provider instanceof ProxyTracerProvider
    ? provider.getDelegateTracer('gatehouse')
    : provider.getTracer('gatehouse')
}

/**
 * Marks a span as failed.
 * @param type the value of the `error.type` attribute; must not contain request data
 */
function markFailed(span: Span, type: string): void {
  span.setAttribute('error.type', type)
  span.setStatus({ code: SpanStatusCode.ERROR })
}

export interface CompletedRequest {
  server: Role
  /** The route template, which is known only after routing. */
  route: string
  status: number
  requestId: string | undefined
}

/** Ends the span of a request. Call it after the response has been sent. */
export type EndSpan = (facts: CompletedRequest) => void

/**
 * Handles a request in a span, whose parent is the span in the request header `traceparent`.
 * @param handle handles the request. Its parameter is the function that ends the span, or undefined if no SDK is
 *   loaded.
 */
export function traceRequest<T>(request: IncomingMessage, handle: (end?: EndSpan) => T): T {
  const activeTracer = tracer()
  if (!activeTracer) return handle()
  const method = METHODS.includes(request.method ?? '') ? request.method! : '_OTHER'
  const parent = propagation.extract(context.active(), request.headers)
  const attributes = { 'http.request.method': method }
  const span = activeTracer.startSpan(method, { kind: SpanKind.SERVER, attributes }, parent)
  const end: EndSpan = ({ server, route, status, requestId }) => {
    span.updateName(`${method === '_OTHER' ? 'HTTP' : method} ${route}`)
    span.setAttributes({ 'http.route': route, 'http.response.status_code': status, 'gatehouse.server': server })
    if (requestId !== undefined) span.setAttribute('gatehouse.request_id', requestId)
    if (status >= 500) markFailed(span, String(status))
    span.end()
  }
  return context.with(trace.setSpan(parent, span), () => handle(end))
}

/**
 * Runs an external call in a client span.
 * @param work makes the call
 * @param describe returns the span attributes for the result of the call
 */
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
    const resultAttributes = describe(result)
    span.setAttributes(resultAttributes)
    if (resultAttributes['error.type'] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR })
    return result
  } catch (error) {
    markFailed(span, (error as Error).name)
    throw error
  } finally {
    span.end()
  }
}

/** Binds a callback to the active span, such as a callback that waits for a database connection. */
export const bindTraceContext = <T extends (...values: never[]) => unknown>(callback: T): T =>
  tracer() ? context.bind(context.active(), callback) : callback

/** Returns a summary such as `SELECT users`. It contains only the operation and the first table of a statement. */
function querySummary(text: string): { operation: string; summary: string } {
  const operation = /^\s*(\w+)/.exec(text)?.[1]?.toUpperCase() ?? 'QUERY'
  const table = /\b(?:FROM|INTO|UPDATE)\s+(?:ONLY\s+)?(?:"?public"?\.)?"?([a-z_]+)"?/i.exec(text)?.[1]
  return { operation, summary: table ? `${operation} ${table}` : operation }
}

type Query = (...args: unknown[]) => unknown

/**
 * Creates a span for each statement of a connection that runs within another span. Statements of background polling
 * have no such span and are not traced. Call this function when the connection is created. It does nothing if no SDK is
 * loaded.
 */
export function traceQueries(client: ClientBase): void {
  if (!tracer()) return
  const query: Query = client.query.bind(client)
  const traced: Query = (...args) => {
    if (!trace.getActiveSpan()) return query(...args)
    const config = args[0] as string | { text?: string }
    const { operation, summary } = querySummary(typeof config === 'string' ? config : (config.text ?? ''))
    const attributes = { 'db.system.name': 'postgresql', 'db.operation.name': operation, 'db.query.summary': summary }
    const span = tracer()?.startSpan(summary, { kind: SpanKind.CLIENT, attributes })
    if (!span) return query(...args)
    const end = (error: unknown): void => {
      const { code } = (error ?? {}) as { code?: string }
      if (code !== undefined) span.setAttribute('db.response.status_code', code)
      if (error) markFailed(span, code ?? 'error')
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
