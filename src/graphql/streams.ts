/**
 * Subscriptions as Server-Sent Events: the «distinct connections mode» of the GraphQL over SSE protocol, as the package
 * graphql-sse speaks it, with the id of each event, so that a client that was cut off goes on behind it.
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
import { contextOfStranger } from '../access/admit.js'
import { authenticate } from '../access/authenticate.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { isObject } from '../kernel/merge.js'
import { MINUTE, SECOND } from '../kernel/time.js'
import type { Context, Gatehouse, Stream } from '../platform/context.js'
import { apiErrorOf, formatted, originalOf } from './errors.js'
import { documentLimits, MAX_TOKENS } from './limits.js'
import { literalGate } from './literals.js'
import { schema } from './schema.js'

/** Streams that one credential may have open in one process. */
const MAX_STREAMS = 10
/** How often a comment is sent, so that nobody on the way takes a quiet stream for a dead one (milliseconds). */
const HEARTBEAT = 15 * SECOND
/** Who takes nothing for so long is gone (milliseconds). */
const PATIENCE = MINUTE
/** When a client that was cut off is to come again (milliseconds). */
const RETRY = SECOND

export const wantsStream = (ctx: KoaContext): boolean => /\btext\/event-stream\b/i.test(ctx.get('Accept'))

export interface Streams {
  /**
   * Answers a subscription with a stream.
   * @throws ApiError for what is refused before the stream begins
   */
  answer(ctx: KoaContext, context: Context, body: unknown): Promise<void>
  /** Ends all streams and begins no more: their clients go on elsewhere. */
  end(): void
}

/** The streams of one process. */
export function makeStreams(gatehouse: Gatehouse): Streams {
  const open = new Map<string, Set<AbortController>>()
  let ended = false

  async function answer(ctx: KoaContext, context: Context, body: unknown): Promise<void> {
    if (ended) throw goneSoon()
    const asked = subscriptionOf(body)
    const end = admitStream(context)
    // Who is gone before the stream begins would else be told nothing for ever.
    ctx.res.once('close', () => end.abort())
    if (ctx.res.closed) end.abort()
    try {
      const stream = streamOf(gatehouse, context, ctx.req, end.signal)
      const source = await createSourceEventStream({ schema: schema(), ...asked, contextValue: { ...context, stream } })
      if (!(Symbol.asyncIterator in source)) throw originalOf(source.errors?.[0])
      ctx.state['route'] = '/graphql (stream)'
      ctx.status = 200
      ctx.type = 'text/event-stream'
      // Nothing else is to come on this connection, which would else stay open when a process stops.
      ctx.set('Connection', 'close')
      // Proxies that collect answers would hold events back.
      ctx.set('X-Accel-Buffering', 'no')
      const out = new PassThrough()
      ctx.body = out
      void send(
        out,
        context,
        end.signal,
        source as AsyncIterable<{ id: string }>,
        (event) => execute({ schema: schema(), ...asked, rootValue: event, contextValue: context }) as Promise<object>,
      ).finally(() => end.abort())
    } catch (error) {
      end.abort()
      throw error
    }
  }

  /** @throws too_many_requests */
  function admitStream({ actor }: Context): AbortController {
    const key = actor.id ?? ''
    const own = open.get(key) ?? new Set()
    if (own.size >= MAX_STREAMS) {
      throw new ApiError('too_many_requests', `This credential has ${MAX_STREAMS} streams open already; end one.`, {
        headers: { 'Retry-After': String(HEARTBEAT / SECOND) },
      })
    }
    const end = new AbortController()
    open.set(key, own.add(end))
    end.signal.addEventListener('abort', () => {
      own.delete(end)
      if (own.size === 0) open.delete(key)
    })
    return end
  }

  return {
    answer,
    end() {
      ended = true
      for (const own of [...open.values()]) for (const end of [...own]) end.abort()
    },
  }
}

const goneSoon = () =>
  new ApiError('unavailable', 'This process is about to stop; try again.', { headers: { 'Retry-After': '1' } })

interface Asked {
  document: DocumentNode
  variableValues: Record<string, unknown>
  operationName: string | null
}

/** @throws invalid_request, or GraphQLError for a document that does not fit */
function subscriptionOf(body: unknown): Asked {
  const { query, variables = {}, operationName = null } = (isObject(body) ? body : {}) as Record<string, unknown>
  if (typeof query !== 'string') throw badRequest('The body must hold a query.')
  if (!isObject(variables ?? {})) throw badRequest('variables must be an object.')
  if (operationName !== null && typeof operationName !== 'string') throw badRequest('operationName must be a string.')
  const document = parse(query, { maxTokens: MAX_TOKENS })
  const [fault] = validate(schema(), document, [...specifiedRules, documentLimits, literalGate])
  if (fault) throw fault
  const operation = getOperationAST(document, operationName)
  if (!operation) throw new GraphQLError('The document must hold one operation, or operationName must name one.')
  if (operation.operation !== 'subscription') throw badRequest('Only subscriptions are answered as a stream.')
  return { document, variableValues: (variables ?? {}) as Record<string, unknown>, operationName }
}

function streamOf(gatehouse: Gatehouse, context: Context, request: IncomingMessage, signal: AbortSignal): Stream {
  const readmit = async (): Promise<Context> => {
    const stranger = { ...contextOfStranger(gatehouse, request), request: context.request }
    return { ...stranger, actor: await authenticate(stranger, request.headers.authorization) }
  }
  const lastEventId = request.headers['last-event-id']
  return {
    signal,
    lastEventId: typeof lastEventId === 'string' && lastEventId !== '' ? lastEventId : undefined,
    readmit,
    stillAllowed: async () => void (await readmit()),
  }
}

/** Writes events as they come. A stream that is cut off ends without «complete», so that its client comes again. */
async function send(
  out: PassThrough,
  { log, request }: Context,
  signal: AbortSignal,
  source: AsyncIterable<{ id: string }>,
  resultOf: (event: { id: string }) => Promise<FormattedExecutionResult>,
): Promise<void> {
  const beat = setInterval(() => out.writableNeedDrain || out.write(':\n\n'), HEARTBEAT)
  const write = async (text: string): Promise<void> => {
    if (!out.write(text)) await once(out, 'drain', { signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE)]) })
  }
  try {
    await write(`retry: ${RETRY}\n\n`)
    for await (const event of source) {
      if (signal.aborted) break
      await write(`id: ${event.id}\nevent: next\ndata: ${JSON.stringify(await resultOf(event))}\n\n`)
    }
  } catch (error) {
    if (!signal.aborted && !isAbort(error)) {
      const known = apiErrorOf(error, log, request.id)
      const last = known.status < 500 ? '\n\nevent: complete\ndata:' : ''
      out.write(`event: next\ndata: ${JSON.stringify({ errors: [formatted(known, request.id)] })}${last}\n\n`)
    }
  } finally {
    clearInterval(beat)
    out.end()
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError'
