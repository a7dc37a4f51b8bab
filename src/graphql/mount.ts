/** `POST /graphql`: Apollo Server as Koa middleware. Requires a credential. */

import type { IncomingMessage } from 'node:http'
import { ApolloServer, type ApolloServerPlugin, type GraphQLResponse, HeaderMap } from '@apollo/server'
import {
  ApolloServerPluginCacheControlDisabled,
  ApolloServerPluginLandingPageDisabled,
} from '@apollo/server/plugin/disabled'
import { type GraphQLFormattedError, validate } from 'graphql'
import type { Middleware } from 'koa'
import { wwwAuthenticateHeader } from '../access/authenticate.js'
import { anonymousContext, authenticateAndRateLimit } from '../access/authenticate-request.js'
import { ApiError, badRequest } from '../kernel/errors.js'
import { limits } from '../kernel/limits.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { parseJsonBody, readBody, requireContentType } from '../platform/http/body.js'
import { consumeRateLimit } from '../platform/http/consume-rate-limit.js'
import { respondWithError, toApiError } from '../platform/http/error-response.js'
import { documentLimitsRule } from './document-limits.js'
import { formatError, fromGraphql, graphqlErrorFormat } from './errors.js'
import { executeIdempotently, requireSameInvalidRequest } from './idempotent-mutation.js'
import { literalInputRule } from './literal-input.js'
import { rootFieldsOf } from './root-fields.js'
import { checkPrices, schema } from './schema.js'
import { acceptsEventStream, createSubscriptionStreams } from './subscriptions.js'

/** Rejects a document that exceeds the limits with the values of its variables. */
const documentLimitsPlugin: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ document, request }) {
        const [limitError] = validate(schema(), document, [documentLimitsRule(request.variables ?? {})])
        if (limitError) throw limitError
      },
    }
  },
}

/** Counts each mutation of a document against the caller's write limit (docs/contract.md#graphql-limits). */
const mutationRateLimitPlugin: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ document, operation, contextValue }) {
        if (operation?.operation !== 'mutation') return
        for (const _ of rootFieldsOf(document, operation))
          await consumeRateLimit(contextValue, 'core_write', contextValue.actor.id ?? '')
      },
    }
  },
}

/**
 * Rejects subscriptions of requests that do not accept an event stream. Apollo would execute them once, with an empty
 * result.
 */
const rejectSubscriptionsPlugin: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async didResolveOperation({ operation }) {
        if (operation?.operation !== 'subscription') return
        throw badRequest('A subscription requires a streamed response. Set the Accept header to text/event-stream.')
      },
    }
  },
}

/** Executes mutations for which `executeIdempotently` returns a response; Apollo executes all other operations. */
const idempotencyPlugin: ApolloServerPlugin<Context> = {
  async requestDidStart() {
    return {
      async responseForOperation({ document, operation, request, contextValue }): Promise<GraphQLResponse | null> {
        try {
          return await executeIdempotently(contextValue, document, operation, request.variables ?? {})
        } catch (error) {
          const errors = [formatError(toApiError(error, contextValue, fromGraphql), contextValue.request.id)]
          return {
            http: { headers: new HeaderMap() },
            body: { kind: 'single', singleResult: { errors } },
          } as GraphQLResponse
        }
      },
    }
  },
}

/**
 * Formats errors with the request ID, which is not available in Apollo's formatError. Before that, checks the
 * idempotencyKey of a document that failed validation.
 */
const errorFormatPlugin: ApolloServerPlugin<Context> = {
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
        const requestId = contextValue.request.id
        if (document && !operation) {
          try {
            await requireSameInvalidRequest(contextValue, document, operationName, variables ?? {})
          } catch (error) {
            response.http.status = 200
            response.body.singleResult.errors = [formatError(toApiError(error, contextValue, fromGraphql), requestId)]
            return
          }
        }
        const apiErrors = errors.map((error) => toApiError(error, contextValue, (one) => fromGraphql(one, document)))
        response.body.singleResult.errors = errors.map((error, i) =>
          formatError(apiErrors[i]!, requestId, error.toJSON()),
        )
        // Apollo uses status 500 for every error that a plugin throws before execution, such as a rate limit.
        if ((response.http.status ?? 200) < 500) return
        response.http.status = apiErrors[0]!.status
        for (const [name, value] of Object.entries(apiErrors[0]!.options.headers ?? {}))
          response.http.headers.set(name.toLowerCase(), value)
      },
    }
  },
}

/** GraphQL as Koa middleware. At shutdown, call `closeStreams` first, so that the server can stop listening. */
export interface GraphqlApi {
  middleware: Middleware
  closeStreams(): void
  stop(): Promise<void>
}

/** Starts Apollo Server and returns the middleware. */
export async function mountGraphql(gatehouse: Gatehouse): Promise<GraphqlApi> {
  checkPrices(gatehouse.prices)
  const streams = createSubscriptionStreams(gatehouse)
  const apollo = new ApolloServer<Context>({
    schema: schema(),
    introspection: true,
    csrfPrevention: true,
    allowBatchedHttpRequests: false,
    persistedQueries: false,
    includeStacktraceInErrorResponses: false,
    stopOnTerminationSignals: false,
    parseOptions: { maxTokens: limits.maxGraphqlTokens },
    validationRules: [documentLimitsRule(), literalInputRule],
    plugins: [
      ApolloServerPluginLandingPageDisabled(),
      ApolloServerPluginCacheControlDisabled(),
      documentLimitsPlugin,
      mutationRateLimitPlugin,
      rejectSubscriptionsPlugin,
      idempotencyPlugin,
      errorFormatPlugin,
    ],
    logger: gatehouse.log,
  })
  await apollo.start()

  const middleware: Middleware = async (ctx) => {
    const anonymous = anonymousContext(gatehouse, ctx.req)
    ctx.set('X-Request-Id', anonymous.request.id)
    ctx.set('Cache-Control', 'no-store')
    ctx.state['route'] = '/graphql'
    try {
      const { context, headers } = await authenticateAndRateLimit(anonymous, ctx.req, 'core_read')
      ctx.set(headers)
      if (context.actor.type === 'unauthenticated') {
        throw new ApiError(
          'unauthorized',
          'Authentication is required: send an API key (Basic) or an access token (Bearer or DPoP).',
          {
            headers: { 'WWW-Authenticate': wwwAuthenticateHeader(gatehouse.config.baseUrl) },
          },
        )
      }
      if (ctx.method !== 'POST') {
        throw new ApiError('method_not_allowed', 'This path supports only POST.', { headers: { Allow: 'POST' } })
      }
      if (acceptsEventStream(ctx)) return await streams.serve(ctx, context, await readJsonBody(ctx.req))
      const response = await apollo.executeHTTPGraphQLRequest({
        httpGraphQLRequest: {
          method: ctx.method,
          headers: headerMap(ctx.headers),
          search: ctx.search,
          body: await readJsonBody(ctx.req),
        },
        context: async () => context,
      })
      for (const [name, value] of response.headers) ctx.set(name, value)
      ctx.status = response.status ?? 200
      const text = response.body.kind === 'complete' ? response.body.string : null
      ctx.body = text !== null && ctx.status >= 400 ? formatApolloErrors(text, anonymous.request.id) : text
    } catch (error) {
      respondWithError(ctx, anonymous, error, graphqlErrorFormat)
    }
  }
  return { middleware, closeStreams: streams.closeAll, stop: () => apollo.stop() }
}

/** Replaces Apollo's own error codes in responses to requests that Apollo rejects before execution. */
function formatApolloErrors(text: string, requestId: string): string {
  const body = JSON.parse(text) as { errors?: GraphQLFormattedError[] }
  const errors = body.errors?.map((error) =>
    error.extensions?.['status'] === undefined ? formatError(badRequest(error.message), requestId, error) : error,
  )
  return JSON.stringify({ ...body, ...(errors && { errors }) })
}

function headerMap(headers: NodeJS.Dict<string | string[]>): HeaderMap {
  const map = new HeaderMap()
  for (const [name, value] of Object.entries(headers)) if (value !== undefined) map.set(name, [value].flat().join(', '))
  return map
}

async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const text = await readBody(request, limits.maxGraphqlBodyBytes)
  requireContentType(request, 'json')
  return parseJsonBody(text)
}
