/**
 * The OpenAPI 3.1 document of `/v1`, generated from the route table, the GraphQL schema and the declarations of the
 * resources. The examples are answers of the tests (graphql/rest-examples.json).
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GraphQLObjectType, getNamedType, isListType, isNonNullType, print } from 'graphql'
import type { Middleware } from 'koa'
import { extensionsOf, requiredPermissionOf, responseStorageOf, rulesOfInput } from '../graphql/field-extensions.js'
import type { Operation } from '../graphql/operations.js'
import { snakeCase } from '../kernel/field-names.js'
import { limits } from '../kernel/limits.js'
import type { Gatehouse } from '../platform/context.js'
import { packageRoot, version } from '../platform/package-info.js'
import { variableTypesOf } from './input.js'
import { errorResponse, errorResponses, headers, responseHeaders, sharedSchemas } from './openapi-responses.js'
import { type Components, inputSchema, type Json, querySchema, restText, resultSchema } from './openapi-schemas.js'
import { tagOf, tags } from './openapi-tags.js'
import { createOperation } from './operations.js'
import { type Route, routes } from './routes.js'
import { loadRouteBindings } from './serve.js'

/** A recorded request and its answer. */
interface RecordedExample {
  request?: unknown
  response?: unknown
}

/**
 * Returns the OpenAPI document.
 * @param baseUrl the public URL of the Core API
 * @param prices micro-USD by root field; operations with a price can return 402
 */
export function openApiDocument(baseUrl: string, prices: Readonly<Record<string, number>>): Json {
  const components: Components = new Map(Object.entries(sharedSchemas))
  const examples = recordedExamples()
  const entries = loadRouteBindings()
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const { operation } = entries.get(route)!
    paths[route.path]![route.method.toLowerCase()] = operationObject(
      components,
      route,
      operation,
      prices,
      examples[route.operation] ?? {},
    )
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Gatehouse Core API',
      version,
      summary: 'Administration of accounts, issuers, clients and users.',
      description:
        'Each operation is also a query or mutation of the GraphQL API; `x-graphql` contains it. Lists return `data`, `next_cursor` and `has_more`. Times are Unix milliseconds.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: baseUrl }],
    security: [{ apiKey: [] }, { accessToken: [] }],
    tags: tags.map(({ name, description }) => ({ name, description })),
    paths,
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'basic',
          description: 'The id of an API key as user name, its secret as password.',
        },
        accessToken: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'JWT',
          description: 'An access token for this API.',
        },
      },
      headers,
      responses: errorResponses,
      schemas: Object.fromEntries([...components].sort(([left], [right]) => (left < right ? -1 : 1))),
    },
  }
}

/** Returns the recorded examples by operation; none while they are recorded for the first time. */
function recordedExamples(): Record<string, RecordedExample> {
  const file = join(packageRoot, 'graphql/rest-examples.json')
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {}
}

function operationObject(
  components: Components,
  route: Route,
  operation: Operation,
  prices: Readonly<Record<string, number>>,
  example: RecordedExample,
): Json {
  const variables = variableTypesOf(operation)
  const pathParameters = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)
  const input = variables.get('input')
  const query = [...variables].filter(
    ([name]) => !pathParameters.includes(snakeCase(name)) && !['input', 'ifMatch', 'paymentSignature'].includes(name),
  )
  const descriptionOf = (name: string) => restText(operation.field.args.find((arg) => arg.name === name)?.description)
  const hasTag = route.success !== 204 && route.success !== 202 && !route.unwrapped && !isPage(operation)
  const isConditional = route.method === 'GET' && hasTag && !route.hasDerivedFields
  const statuses = new Set<number>([
    ...route.errors,
    ...[400, 401, 403, 405, 429, 500, 503],
    ...(pathParameters.length > 0 ? [404] : []),
    ...(route.method === 'GET' ? [] : [413, 415]),
    ...(route.method === 'POST' ? [409, 422] : []),
    ...(prices[operation.field.name] ? [402] : []),
  ])
  return {
    operationId: route.operation,
    summary: route.summary,
    description: [restText(operation.field.description), requiredScopesText(operation)].filter(Boolean).join(' '),
    tags: [tagOf(route)],
    parameters: [
      ...pathParameters.map((name) => ({
        name,
        in: 'path',
        required: true,
        description: descriptionOf(variableNameOf(variables, name)) ?? 'An id.',
        schema: { type: 'string' },
      })),
      ...query.map(([name, type]) => ({
        name: snakeCase(name),
        in: 'query',
        required: isNonNullType(type),
        ...(descriptionOf(name) && { description: descriptionOf(name) }),
        // The entries of a list are comma-separated in one parameter.
        ...(isListType(type) && { explode: false }),
        schema: name === 'cursor' ? cursorSchema(operation) : querySchema(components, name, type, operation.field.name),
      })),
      ...headerParameters(route, operation, isConditional),
    ],
    ...(input && {
      requestBody: {
        required: !rulesOfInput(getNamedType(input).toString()).rules.safeParse({}).success,
        content: {
          'application/json': {
            schema: inputSchema(components, input),
            ...(example.request !== undefined && { example: example.request }),
          },
        },
      },
    }),
    responses: {
      [route.success]: successResponse(components, route, operation, hasTag, example),
      ...(isConditional && { 304: { $ref: '#/components/responses/NotModified' } }),
      ...Object.fromEntries([...statuses].sort().map((status) => [status, errorResponse(status)])),
    },
    'x-graphql': print(createOperation(route, ({ name }) => name).document),
  }
}

/** The cursors of lists whose cursor is not the id of the last entry, by the type of the entries. */
const particularCursors: Record<string, { pattern: string; example: string }> = {
  Note: {
    pattern: '^(true|false):[0-9]{1,15}:note_[0-7][0-9a-hjkmnp-tv-z]{25}$',
    example: 'false:1763900000000:note_01kb3w8hxv6k8y1f4sn0q3a7pd',
  },
  OrganizationMember: { pattern: '^mem_[0-7][0-9a-hjkmnp-tv-z]{25}$', example: 'mem_01kb3w8hxv6k8y1f4sn0q3a7pd' },
}

function cursorSchema({ field }: Operation): Json {
  const page = getNamedType(field.type) as GraphQLObjectType
  const item = getNamedType(page.getFields()['data']!.type) as GraphQLObjectType
  const id = String(extensionsOf(item.getFields()['id']!).example)
  const byId = { pattern: `^${id.split('_')[0]}_[0-7][0-9a-hjkmnp-tv-z]{25}$`, example: id }
  const { pattern, example } = particularCursors[item.name] ?? byId
  return { type: 'string', pattern, examples: [example] }
}

const isPage = ({ field }: Operation): boolean =>
  'hasMore' in ((getNamedType(field.type) as GraphQLObjectType).getFields?.() ?? {})

const variableNameOf = (variables: Map<string, unknown>, parameter: string): string =>
  [...variables.keys()].find((name) => snakeCase(name) === parameter) ?? parameter

function headerParameters(route: Route, { field }: Operation, isConditional: boolean): Json[] {
  const text = { type: 'string' }
  return [
    ...(isConditional
      ? [header('If-None-Match', 'ETags of versions that you have. If one is current, the response is 304.', text)]
      : []),
    ...(route.ifMatch
      ? [
          header('If-Match', 'The ETag of the expected version, a comma-separated list of ETags, or *.', {
            type: 'string',
            pattern: ifMatchPattern,
            examples: ['*'],
          }),
        ]
      : []),
    ...(route.payment ? [header('PAYMENT-SIGNATURE', 'An x402 v2 PaymentPayload, as base64-encoded JSON.', text)] : []),
    ...(route.method === 'POST'
      ? [
          header('Idempotency-Key', keyDescription(responseStorageOf(field)), {
            type: 'string',
            minLength: 1,
            maxLength: limits.maxIdempotencyKeyLength,
          }),
        ]
      : []),
  ]
}

function keyDescription(storage: ReturnType<typeof responseStorageOf>): string {
  if (storage === 'never')
    return 'Has no effect: the response contains a secret, so it is never stored, and a repeated request runs again.'
  const replay = 'A repeated request with the same key within 24 hours returns the first response.'
  return typeof storage === 'function' ? `${replay} A response with a secret that is shown once is not stored.` : replay
}

const ifMatchPattern = String.raw`^(\*|"[^"]*"(\s*,\s*"[^"]*")*)$`

const header = (name: string, description: string, schema: Json): Json => ({
  name,
  in: 'header',
  required: false,
  description,
  schema,
})

function requiredScopesText({ field }: Operation): string {
  const { scope, additionalScopes = [] } = requiredPermissionOf(field)!
  if (scope === 'authenticated') return 'Requires a credential, but no scope.'
  const scopes = [scope, ...additionalScopes].map((name) => `\`${name}\``)
  return `Requires the scope${scopes.length === 1 ? '' : 's'} ${scopes.join(' and ')}.`
}

function successResponse(
  components: Components,
  route: Route,
  operation: Operation,
  hasTag: boolean,
  example: RecordedExample,
): Json {
  const headerNames = responseHeaders(route, hasTag)
  if (route.success === 204 || route.success === 202)
    return { description: route.success === 204 ? 'Done.' : 'Accepted.', headers: headerNames }
  const hasSecrets = responseStorageOf(operation.field) !== undefined
  const value = resultSchema(components, operation.field.type, route, hasSecrets)
  return {
    description: isPage(operation) ? 'One page.' : 'The resource.',
    headers: headerNames,
    content: {
      'application/json': {
        schema:
          isPage(operation) || route.unwrapped
            ? value
            : { type: 'object', required: ['data'], properties: { data: value } },
        ...(example.response !== undefined && { example: example.response }),
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
