/** `POST /graphql`: Apollo Server behind Koa, for callers with a credential only. */

import type { IncomingMessage } from 'node:http'
import { ApolloServer, type ApolloServerPlugin, type GraphQLResponse, HeaderMap } from '@apollo/server'
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled'
import type { GraphQLFormattedError } from 'graphql'
import type { Middleware } from 'koa'
import { admit, contextOfStranger, spend } from '../access/admit.js'
import { challenges } from '../access/authenticate.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { GateError, parseJson } from '../kernel/gate.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { mustBeJson, readBody } from '../platform/http.js'
import { apiErrorOf, formatted } from './errors.js'
import { answerOnce, refuseInvalidReuse } from './idempotent-mutation.js'
import { documentLimits, MAX_TOKENS } from './limits.js'
import { literalGate } from './literals.js'
import { rootFieldsOf } from './root-fields.js'
import { checkPrices, schema } from './schema.js'
import { makeStreams, wantsStream } from './streams.js'

/** Bytes (decisions D19). */
const BODY_LIMIT = 256 * 1024

/** Each mutation of a document counts towards the caller's write limit (security rule 26). */
const countsMutations: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ document, operation, contextValue }) {
        if (operation?.operation !== 'mutation') return
        for (const _ of rootFieldsOf(document, operation))
          await spend(contextValue, 'core_write', contextValue.actor.id ?? '')
      },
    }
  },
}

/** What Apollo would run once and answer with nothing. */
const refusesSubscriptions: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ operation }) {
        if (operation?.operation !== 'subscription') return
        throw badRequest('Subscriptions are answered as a stream: send Accept: text/event-stream.')
      },
    }
  },
}

/** A mutation with an idempotencyKey is answered here instead of by Apollo's own execution. */
const answersOnce: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async responseForOperation({ document, operation, request, contextValue }): Promise<GraphQLResponse | null> {
        try {
          return await answerOnce(contextValue, document, operation, request.variables ?? {})
        } catch (error) {
          const { log, request: facts } = contextValue
          const errors = [formatted(apiErrorOf(error, log, facts.id), facts.id)]
          return {
            http: { headers: new HeaderMap() },
            body: { kind: 'single', singleResult: { errors } },
          } as GraphQLResponse
        }
      },
    }
  },
}

/** Errors leave in our own form, with the request id, which Apollo's formatError does not know. */
const formatsErrors: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async willSendResponse({
        response,
        errors,
        contextValue,
        document,
        operation,
        request: { operationName, variables },
      }) {
        if (response.body.kind !== 'single' || !errors?.length) return
        const { log, request } = contextValue
        if (document && !operation) {
          try {
            await refuseInvalidReuse(contextValue, document, operationName, variables ?? {})
          } catch (error) {
            response.http.status = 200
            response.body.singleResult.errors = [formatted(apiErrorOf(error, log, request.id), request.id)]
            return
          }
        }
        const known = errors.map((error) => apiErrorOf(error, log, request.id, document))
        response.body.singleResult.errors = errors.map((error, i) => formatted(known[i]!, request.id, error.toJSON()))
        // Apollo takes whatever stops a request before its execution, such as a rate limit, for a failure of ours.
        if ((response.http.status ?? 200) < 500) return
        response.http.status = known[0]!.status
        for (const [name, value] of Object.entries(known[0]!.more.headers ?? {}))
          response.http.headers.set(name.toLowerCase(), value)
      },
    }
  },
}

/** GraphQL as Koa middleware. Its streams are ended first, so that the server can stop listening. */
export interface Graphql {
  middleware: Middleware
  endStreams(): void
  stop(): Promise<void>
}

/** Makes it ready. */
export async function mountGraphql(gatehouse: Gatehouse): Promise<Graphql> {
  checkPrices(gatehouse.prices)
  const streams = makeStreams(gatehouse)
  const apollo = new ApolloServer<Context>({
    schema: schema(),
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: MAX_TOKENS },
    validationRules: [documentLimits, literalGate],
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      countsMutations,
      refusesSubscriptions,
      answersOnce,
      formatsErrors,
    ],
    logger: gatehouse.log,
  })
  await apollo.start()

  const middleware: Middleware = async (ctx) => {
    const stranger = contextOfStranger(gatehouse, ctx.req)
    ctx.set('X-Request-Id', stranger.request.id)
    ctx.set('Cache-Control', 'no-store')
    ctx.state['route'] = '/graphql'
    try {
      const { context, headers } = await admit(stranger, ctx.get('Authorization') || undefined, 'core_read')
      ctx.set(headers)
      if (context.actor.type === 'unauthenticated') {
        throw new ApiError(
          'unauthorized',
          'GraphQL needs credentials: an API key (Basic) or an access token (Bearer).',
          {
            headers: { 'WWW-Authenticate': challenges(gatehouse.config.baseUrl) },
          },
        )
      }
      if (ctx.method !== 'POST') {
        throw new ApiError('method_not_allowed', 'This address takes POST.', { headers: { Allow: 'POST' } })
      }
      if (wantsStream(ctx)) return await streams.answer(ctx, context, await jsonBody(ctx.req))
      const answer = await apollo.executeHTTPGraphQLRequest({
        httpGraphQLRequest: {
          method: ctx.method,
          headers: headerMap(ctx.headers),
          search: ctx.search,
          body: await jsonBody(ctx.req),
        },
        context: async () => context,
      })
      for (const [name, value] of answer.headers) ctx.set(name, value)
      ctx.status = answer.status ?? 200
      const text = answer.body.kind === 'complete' ? answer.body.string : null
      ctx.body = text !== null && ctx.status >= 400 ? inOurWords(text, stranger.request.id) : text
    } catch (error) {
      const known = apiErrorOf(error, gatehouse.log, stranger.request.id)
      ctx.set(known.more.headers ?? {})
      ctx.status = known.status
      ctx.body = { errors: [formatted(known, stranger.request.id)] }
    }
  }
  return { middleware, endStreams: streams.end, stop: () => apollo.stop() }
}

/** What Apollo refuses before it has a request to speak of has a code of its own; callers know ours only. */
function inOurWords(text: string, requestId: string): string {
  const body = JSON.parse(text) as { errors?: GraphQLFormattedError[] }
  const errors = body.errors?.map((error) =>
    error.extensions?.['status'] === undefined ? formatted(badRequest(error.message), requestId, error) : error,
  )
  return JSON.stringify({ ...body, ...(errors && { errors }) })
}

function headerMap(headers: NodeJS.Dict<string | string[]>): HeaderMap {
  const map = new HeaderMap()
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) map.set(name, [value].flat().join(', '))
  return map
}

async function jsonBody(request: IncomingMessage): Promise<unknown> {
  const text = await readBody(request, BODY_LIMIT)
  mustBeJson(request)
  try {
    return parseJson(text)
  } catch (error) {
    if (error instanceof GateError) throw badRequest(error.message)
    throw error
  }
}
