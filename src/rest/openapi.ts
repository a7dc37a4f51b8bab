/** The OpenAPI 3.1 document of `/v1`, generated from the route table, the operations and the GraphQL schema. */
import { type GraphQLObjectType, getNamedType, isListType, isNonNullType } from 'graphql'
import type { Middleware } from 'koa'
import { requiredPermissionOf } from '../graphql/field-extensions.js'
import type { Operation } from '../graphql/operations.js'
import { snakeCase } from '../kernel/field-names.js'
import type { Gatehouse } from '../platform/context.js'
import { variableTypesOf } from './input.js'
import { inputSchema, type Json, selectionSchema } from './openapi-schemas.js'
import { paymentHeaders, withoutSettlement } from './payment.js'
import { type Route, routes } from './routes.js'
import { loadRouteBindings } from './serve.js'

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
  404: 'Resource not found',
  409: 'Conflict',
  412: 'If-Match does not match',
  413: 'Body too large',
  415: 'Body is not JSON or has a Content-Encoding',
  422: 'Idempotency-Key reused with a different request, or operation not allowed in the current state',
  429: 'Rate or resource limit reached',
  500: 'Internal error',
  502: 'No definite result of the payment facilitator',
  503: 'Temporarily unavailable',
}

/**
 * Returns the OpenAPI document.
 * @param baseUrl the public URL of the Core API
 * @param prices micro-USD by root field; operations with a price can return 402
 */
export function openApiDocument(baseUrl: string, prices: Readonly<Record<string, number>>): Json {
  const entries = loadRouteBindings()
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
  const variables = variableTypesOf(operation)
  const pathParameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const input = variables.get('input')
  const query = [...variables].filter(
    ([name]) => !pathParameters.includes(snakeCase(name)) && !['input', 'ifMatch', 'paymentSignature'].includes(name),
  )
  const statuses = new Set([
    ...route.errors,
    400,
    401,
    403,
    429,
    500,
    503,
    ...(pathParameters.length > 0 ? [404] : []),
    ...(route.method === 'POST' ? [409, 422] : []),
    ...(prices[operation.field.name] ? [402] : []),
  ])
  if (input) for (const status of [413, 415]) statuses.add(status)
  return {
    operationId: route.operation,
    summary: route.summary,
    description: requiredScopesText(operation),
    tags: [tagOf(route)],
    parameters: [
      ...pathParameters.map((name) => ({ name, in: 'path', required: true, schema: { type: 'string' } })),
      ...query.map(([name, type]) => ({
        name: snakeCase(name),
        in: 'query',
        required: isNonNullType(type),
        // The entries of a list are comma-separated in one parameter.
        ...(isListType(type) && { explode: false }),
        schema: inputSchema(type, true),
      })),
      ...(route.ifMatch
        ? [header('If-Match', 'The ETag of the expected version, a comma-separated list of ETags, or *.')]
        : []),
      ...(route.payment ? [header('PAYMENT-SIGNATURE', 'An x402 v2 PaymentPayload, as base64-encoded JSON.')] : []),
      ...(route.method === 'POST'
        ? [
            header(
              'Idempotency-Key',
              '1 to 256 characters. A repeated request with the same key within 24 hours returns the first response, if it was stored. Most responses with secrets are not stored.',
            ),
          ]
        : []),
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

function requiredScopesText({ field }: Operation): string {
  const { scope, additionalScope } = requiredPermissionOf(field)!
  return additionalScope
    ? `Requires the scopes \`${scope}\` and \`${additionalScope}\`.`
    : `Requires the scope \`${scope}\`.`
}

/** Path segments that are not resources, such as actions. A route has the tag of its last resource. */
const actionSegment =
  /^(rotate|block|unblock|revoke|resend|secret|ledger|topups|verify|assign|unassign|suspend|reactivate|count|backlinks|aggregate|\w+-enrollment|\w+-challenge)$/

const tagOf = ({ path }: Route): string =>
  path.split('/').findLast((part) => !/^(|v1|\{.*)$/.test(part) && !actionSegment.test(part)) ?? 'accounts'

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
  if (root?.kind !== 'Field' || !root.selectionSet) throw new Error(`${operation.name} has no selection.`)
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
    route.omittedWhenNull,
  )
  const isPage = 'hasMore' in type.getFields()
  return {
    description: isPage ? 'One page.' : 'The resource.',
    ...(!isPage &&
      !route.unwrapped && {
        headers: {
          ETag: { description: 'The version of the resource.', schema: { type: 'string' } },
          ...(route.payment && paymentHeaders[200]),
        },
      }),
    content: {
      'application/json': {
        schema: isPage || route.unwrapped ? value : { type: 'object', required: ['data'], properties: { data: value } },
      },
    },
  }
}

/** Serves `GET /openapi.json`. The document is generated on the first request. */
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
