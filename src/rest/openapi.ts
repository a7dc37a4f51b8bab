/** The OpenAPI 3.1 document of `/v1`, made from the route table, the operations and the schema: none of it by hand. */
import { type GraphQLObjectType, getNamedType, isListType, isNonNullType } from 'graphql'
import type { Middleware } from 'koa'
import { demandOf } from '../graphql/demands.js'
import type { Operation } from '../graphql/operations.js'
import { snake } from '../kernel/names.js'
import type { Gatehouse } from '../platform/context.js'
import { variablesOf } from './input.js'
import { inputSchema, type Json, selectionSchema } from './openapi-schemas.js'
import { paymentHeaders, withoutSettlement } from './payment.js'
import { type Route, routes } from './routes.js'
import { readEntries } from './serve.js'

const errorSchema: Json = {
  type: 'object',
  required: ['error', 'error_description'],
  properties: {
    error: { type: 'string' },
    error_description: { type: 'string' },
    request_id: { type: 'string' },
    details: {
      type: 'array',
      items: {
        type: 'object',
        required: ['field', 'code', 'message'],
        properties: { field: { type: 'string' }, code: { type: 'string' }, message: { type: 'string' } },
      },
    },
  },
}

const preconditionSchema: Json = {
  type: 'object',
  required: ['error', 'error_description', 'currentETag', 'retryable'],
  properties: {
    error: { const: 'precondition_failed' },
    error_description: { type: 'string' },
    currentETag: { type: 'string' },
    retryable: { const: false },
    request_id: { type: 'string' },
  },
}

const statusText: Record<number, string> = {
  400: 'Malformed or invalid request',
  401: 'Authentication required or failed',
  402: 'Payment required or settlement failed',
  403: 'Permission denied',
  404: 'Resource absent',
  409: 'Conflict',
  412: 'If-Match does not match',
  413: 'Body too large',
  415: 'Body is not JSON',
  422: 'Idempotency-Key reused with a different request',
  429: 'Rate or resource limit reached',
  500: 'Internal error',
  502: 'The payment facilitator is unavailable',
  503: 'The database is away',
}

/**
 * @param baseUrl the public address of the Core API
 * @param prices micro-USD by operation: who has a price may answer 402
 */
export function openApiDocument(baseUrl: string, prices: Readonly<Record<string, number>>): Json {
  const entries = readEntries()
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    paths[route.path]![route.method.toLowerCase()] = operationObject(route, entries.get(route)!.operation, prices)
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse Core API',
      version: '1',
      description: 'Administration of accounts, issuers, clients and users.',
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { accessToken: [] }],
    paths,
    components: {
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'basic', description: 'key_id:secret of an API key.' },
        accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
      },
      schemas: { Error: errorSchema, PreconditionFailedError: preconditionSchema },
    },
  }
}

function operationObject(route: Route, operation: Operation, prices: Readonly<Record<string, number>>): Json {
  const variables = variablesOf(operation)
  const inPath = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const input = variables.get('input')
  const query = [...variables].filter(
    ([name]) => !inPath.includes(snake(name)) && !['input', 'ifMatch', 'paymentSignature'].includes(name),
  )
  const statuses = new Set([
    ...route.errors,
    400,
    401,
    403,
    429,
    500,
    503,
    ...(inPath.length > 0 ? [404] : []),
    ...(route.method === 'POST' ? [409, 422] : []),
    ...(prices[operation.field.name] ? [402] : []),
  ])
  if (input) for (const status of [413, 415]) statuses.add(status)
  return {
    operationId: route.operation,
    summary: route.summary,
    description: `Specification section ${route.section}. Needs the scope \`${demandOf(operation.field)?.scope}\`.`,
    tags: [tagOf(route)],
    parameters: [
      ...inPath.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...query.map(([name, type]) => ({
        name: snake(name),
        in: 'query',
        required: isNonNullType(type),
        // Several values stand in one parameter, with commas between them.
        ...(isListType(type) && { explode: false }),
        schema: inputSchema(type, true),
      })),
      ...(route.ifMatch ? [header('If-Match', 'A quoted version, a comma-separated list of them, or *.')] : []),
      ...(route.payment ? [header('PAYMENT-SIGNATURE', 'A PaymentPayload of x402 v2, as base64 of its JSON.')] : []),
      ...(route.method === 'POST' ? [header('Idempotency-Key', '1 to 256 characters; good for 24 hours.')] : []),
    ],
    ...(input && {
      requestBody: {
        required: isNonNullType(input),
        content: { 'application/json': { schema: inputSchema(input, false) } },
      },
    }),
    responses: {
      [route.success]: successResponse(route, operation),
      ...Object.fromEntries([...statuses].sort().map((status) => [status, errorResponse(status, route)])),
    },
  }
}

const header = (name: string, description: string): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema: { type: 'string' },
})

/** Last words of paths that name an action, not a thing. */
const action =
  /^(rotate|block|unblock|revoke|resend|secret|ledger|topups|verify|assign|unassign|suspend|reactivate|count|backlinks|aggregate|\w+-enrollment|\w+-challenge)$/

const tagOf = ({ path }: Route): string =>
  path.split('/').findLast((part) => !/^(|v1|\{.*)$/.test(part) && !action.test(part)) ?? 'accounts'

const errorResponse = (status: number, route: Route): Json => ({
  description: statusText[status] ?? 'Error',
  ...(route.payment && paymentHeaders[status] && { headers: paymentHeaders[status] }),
  content: {
    'application/json': {
      schema: { $ref: `#/components/schemas/${status === 412 ? 'PreconditionFailedError' : 'Error'}` },
    },
  },
})

function successResponse(route: Route, operation: Operation): Json {
  if (route.success === 204) return { description: 'Done.' }
  if (route.success === 202) return { description: 'Accepted.' }
  const root = operation.definition.selectionSet.selections[0]
  if (root?.kind !== 'Field' || !root.selectionSet) throw new Error(`${operation.name} selects nothing.`)
  const fragments = new Map(
    operation.document.definitions.flatMap((node) =>
      node.kind === 'FragmentDefinition' ? [[node.name.value, node] as const] : [],
    ),
  )
  const type = getNamedType(operation.field.type) as GraphQLObjectType
  const value = selectionSchema(
    type,
    route.payment ? withoutSettlement(root.selectionSet) : root.selectionSet,
    fragments,
    route.omitted,
  )
  const isPage = 'hasMore' in type.getFields()
  return {
    description: isPage ? 'One page.' : 'The resource.',
    ...(!isPage &&
      !route.bare && {
        headers: {
          ETag: { description: 'The quoted version.', schema: { type: 'string' } },
          ...(route.payment && paymentHeaders[200]),
        },
      }),
    content: {
      'application/json': {
        schema: isPage || route.bare ? value : { type: 'object', required: ['data'], properties: { data: value } },
      },
    },
  }
}

/** `GET /openapi.json`, made for the first who asks. */
export function mountOpenApi({ config, prices }: Gatehouse): Middleware {
  let text: string | undefined
  return (ctx, next) => {
    if (ctx.path !== '/openapi.json') return next()
    text ??= JSON.stringify(openApiDocument(config.baseUrl, prices))
    ctx.set('Access-Control-Allow-Origin', '*')
    ctx.type = 'application/json'
    ctx.body = text
    return undefined
  }
}
