/**
 * Subscriptions as Server-Sent Events: the distinct connections mode of the GraphQL over SSE protocol (graphql-sse).
 * Each event has an ID, which a client sends as Last-Event-ID to resume after a disconnect.
 */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { PassThrough } from 'node:stream'
import {
  createSourceEventStream,
  type DocumentNode,
  execute,
  type FormattedExecutionResult,
  GraphQLError,
  getOperationAST,
  parse,
  specifiedRules,
  validate,
} from 'graphql'
import type { Context as KoaContext } from 'koa'
import { authenticate, credentialsOf } from '../access/authenticate.js'
import { anonymousContext } from '../access/authenticate-request.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import { isObject } from '../kernel/merge-patch.js'
import { SECOND } from '../kernel/time.js'
import type { Context, Gatehouse, ResponseStream } from '../platform/context.js'
import { toApiError } from '../platform/http/error-response.js'
import { documentLimitsRule } from './document-limits.js'
import { formatError, fromGraphql, originalErrorOf } from './errors.js'
import { literalInputRule } from './literal-input.js'
import { schema } from './schema.js'

export const acceptsEventStream = (ctx: KoaContext): boolean => /\btext\/event-stream\b/i.test(ctx.get('Accept'))

export interface SubscriptionStreams {
  /**
   * Responds to a subscription with a stream.
   * @throws ApiError for an error before the stream begins
   */
  serve(ctx: KoaContext, context: Context, body: unknown): Promise<void>
  /** Ends all streams and refuses new ones, so that the clients reconnect to another process. */
  closeAll(): void
}

/** Creates the subscription streams of one process. */
export function createSubscriptionStreams(gatehouse: Gatehouse): SubscriptionStreams {
  const openStreams = new Map<string, Set<AbortController>>()
  let isClosed = false

  async function serve(ctx: KoaContext, context: Context, body: unknown): Promise<void> {
    if (isClosed) throw shuttingDownError()
    const subscription = parseSubscription(body)
    const streamController = requireStreamSlot(context)
    // If the client disconnected before this point, `close` is not emitted again, and the stream would never end.
    ctx.res.once('close', () => streamController.abort())
    if (ctx.res.closed) streamController.abort()
    try {
      const { stream, currentContext } = createStream(gatehouse, context, ctx.req, streamController.signal)
      const source = await createSourceEventStream({
        schema: schema(),
        ...subscription,
        contextValue: { ...context, stream },
      })
      if (!(Symbol.asyncIterator in source)) throw originalErrorOf(source.errors?.[0])
      ctx.state['route'] = '/graphql (stream)'
      ctx.status = 200
      ctx.type = 'text/event-stream'
      // The connection is not kept open after the stream, because an idle connection would delay the shutdown.
      ctx.set('Connection', 'close')
      // Disables response buffering in proxies.
      ctx.set('X-Accel-Buffering', 'no')
      const out = new PassThrough()
      ctx.body = out
      void writeEvents(out, context, streamController.signal, source as AsyncIterable<{ id: string }>, (event) =>
        executeEvent(subscription, event, currentContext()),
      ).finally(() => streamController.abort())
    } catch (error) {
      streamController.abort()
      throw error
    }
  }

  /** @throws too_many_requests */
  function requireStreamSlot({ actor }: Context): AbortController {
    const key = actor.id ?? ''
    const callerStreams = openStreams.get(key) ?? new Set()
    if (callerStreams.size >= limits.maxSubscriptionsPerCaller) {
      throw new ApiError(
        'too_many_requests',
        `You already have ${limits.maxSubscriptionsPerCaller} open streams; close one of them.`,
        {
          headers: { 'Retry-After': String(limits.subscriptionHeartbeatInterval / SECOND) },
        },
      )
    }
    const streamController = new AbortController()
    openStreams.set(key, callerStreams.add(streamController))
    streamController.signal.addEventListener('abort', () => {
      callerStreams.delete(streamController)
      if (callerStreams.size === 0) openStreams.delete(key)
    })
    return streamController
  }

  return {
    serve,
    closeAll() {
      isClosed = true
      for (const streams of [...openStreams.values()]) for (const controller of [...streams]) controller.abort()
    },
  }
}

const shuttingDownError = () =>
  new ApiError('unavailable', 'This process is shutting down; try again.', { headers: { 'Retry-After': '1' } })

interface SubscriptionRequest {
  document: DocumentNode
  variableValues: Record<string, unknown>
  operationName: string | null
}

/** @throws invalid_request, or GraphQLError for an invalid document */
function parseSubscription(body: unknown): SubscriptionRequest {
  const { query, variables = {}, operationName = null } = (isObject(body) ? body : {}) as Record<string, unknown>
  if (typeof query !== 'string') throw badRequest('query must be a string with a GraphQL document.')
  if (!isObject(variables ?? {})) throw badRequest('variables must be an object.')
  if (operationName !== null && typeof operationName !== 'string') throw badRequest('operationName must be a string.')
  const document = parse(query, { maxTokens: limits.maxGraphqlTokens })
  const variableValues = (variables ?? {}) as Record<string, unknown>
  const rules = [...specifiedRules, documentLimitsRule(variableValues), literalInputRule]
  const [validationError] = validate(schema(), document, rules)
  if (validationError) throw validationError
  const operation = getOperationAST(document, operationName)
  if (!operation) throw new GraphQLError('The document must contain one operation, or operationName must name one.')
  if (operation.operation !== 'subscription') throw badRequest('Only subscriptions can be streamed.')
  return { document, variableValues, operationName }
}

/**
 * Creates the stream of a subscription.
 * @returns `currentContext` returns the context of the latest authentication of the caller, whose permissions the
 *   relations of an event require
 */
function createStream(
  gatehouse: Gatehouse,
  context: Context,
  request: IncomingMessage,
  signal: AbortSignal,
): { stream: ResponseStream; currentContext: () => Context } {
  let current = context
  const reauthenticate = async (): Promise<Context> => {
    const anonymous = { ...anonymousContext(gatehouse, request), request: context.request }
    // The request of the stream was authenticated with its DPoP proof, which is valid only once.
    const credentials = { ...credentialsOf(request), isProofAccepted: true } as const
    current = { ...anonymous, actor: await authenticate(anonymous, credentials) }
    return current
  }
  const lastEventId = request.headers['last-event-id']
  const stream: ResponseStream = {
    signal,
    lastEventId: typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : undefined,
    reauthenticate,
    requireStillAuthorized: async () => void (await reauthenticate()),
  }
  return { stream, currentContext: () => current }
}

/** Returns the result of a subscription for an event. The errors of relations are formatted as in other requests. */
async function executeEvent(
  subscription: SubscriptionRequest,
  event: object,
  context: Context,
): Promise<FormattedExecutionResult> {
  const { data, errors } = await execute({
    schema: schema(),
    ...subscription,
    rootValue: event,
    contextValue: context,
  })
  const formatted = errors?.map((error) =>
    formatError(toApiError(error, context, fromGraphql), context.request.id, error.toJSON()),
  )
  return { data: data ?? null, ...(formatted && { errors: formatted }) }
}

/** Writes events to the stream. An interrupted stream ends without `complete`, so that the client reconnects. */
async function writeEvents(
  out: PassThrough,
  context: Context,
  signal: AbortSignal,
  source: AsyncIterable<{ id: string }>,
  executeEvent: (event: { id: string }) => Promise<FormattedExecutionResult>,
): Promise<void> {
  const heartbeat = setInterval(() => out.writableNeedDrain || out.write(':\n\n'), limits.subscriptionHeartbeatInterval)
  const write = async (text: string): Promise<void> => {
    if (!out.write(text))
      await once(out, 'drain', {
        signal: AbortSignal.any([signal, AbortSignal.timeout(limits.subscriptionWriteTimeout)]),
      })
  }
  try {
    await write(`retry: ${limits.subscriptionReconnectDelay}\n\n`)
    for await (const event of source) {
      if (signal.aborted) break
      await write(`id: ${event.id}\nevent: next\ndata: ${JSON.stringify(await executeEvent(event))}\n\n`)
    }
  } catch (error) {
    if (!signal.aborted && !isAbort(error)) {
      const apiError = toApiError(error, context, fromGraphql)
      const completion = apiError.status < 500 ? '\n\nevent: complete\ndata:' : ''
      out.write(
        `event: next\ndata: ${JSON.stringify({ errors: [formatError(apiError, context.request.id)] })}${completion}\n\n`,
      )
    }
  } finally {
    clearInterval(heartbeat)
    out.end()
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'
