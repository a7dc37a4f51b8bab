/** The headers and error responses of the OpenAPI document, which all operations share. */
import { errorTable } from '../kernel/errors.js'
import type { Json } from './openapi-schemas.js'
import type { Route } from './routes.js'

const text = { type: 'string' }
const number = { type: 'integer', minimum: 0 }

/** The headers of responses. */
export const headers: Record<string, Json> = {
  'X-Request-Id': { description: 'The id of the request, which the log of the server contains.', schema: text },
  'Cache-Control': { description: 'Responses are not stored by caches.', schema: { const: 'no-store' } },
  'RateLimit-Policy': { description: 'The rate limit: requests (`q`) in a window of seconds (`w`).', schema: text },
  RateLimit: {
    description: 'Remaining requests (`r`), and seconds until all are available again (`t`).',
    schema: text,
  },
  'X-RateLimit-Limit': { description: 'Requests in the window.', schema: number },
  'X-RateLimit-Remaining': { description: 'Remaining requests.', schema: number },
  'X-RateLimit-Reset': { description: 'Seconds until all requests are available again.', schema: number },
  ETag: { description: 'The version of the resource, for `If-Match` and `If-None-Match`.', schema: text },
  'Idempotent-Replayed': {
    description: 'Present if this is the stored response of an earlier request with the same `Idempotency-Key`.',
    schema: { const: 'true' },
  },
  'Retry-After': { description: 'Seconds after which a retry makes sense.', schema: number },
  'WWW-Authenticate': { description: 'The accepted schemes, or the missing scope (RFC 6750).', schema: text },
  Allow: { description: 'The methods that the path supports.', schema: text },
  'PAYMENT-REQUIRED': { description: 'An x402 v2 PaymentRequired, as base64-encoded JSON.', schema: text },
  'PAYMENT-RESPONSE': { description: 'An x402 v2 SettlementResponse, as base64-encoded JSON.', schema: text },
}

const everywhere = [
  'X-Request-Id',
  'Cache-Control',
  'RateLimit-Policy',
  'RateLimit',
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
]

const referencesTo = (names: readonly string[]): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** Returns the headers of the success response of a route. */
export const responseHeaders = (route: Route, hasTag: boolean): Json =>
  referencesTo([
    ...everywhere,
    ...(hasTag ? ['ETag'] : []),
    ...(route.method === 'POST' ? ['Idempotent-Replayed'] : []),
    ...(route.payment ? ['PAYMENT-RESPONSE'] : []),
  ])

const codes = Object.keys(errorTable)

/** The schemas of error bodies. */
export const sharedSchemas: Record<string, Json> = {
  ErrorResponse: {
    type: 'object',
    description: 'The body of an error.',
    required: ['error', 'error_description'],
    properties: {
      error: { type: 'string', enum: codes, description: 'A stable code.' },
      error_description: { type: 'string', description: 'What is wrong, for people.' },
      request_id: { type: 'string', description: 'The id of the request, which the log of the server contains.' },
      details: {
        type: 'array',
        description: 'The invalid fields.',
        items: { $ref: '#/components/schemas/ErrorDetail' },
      },
      retryable: { type: 'boolean', description: 'False if the same request cannot succeed later.' },
    },
  },
  ErrorDetail: {
    type: 'object',
    description: 'An invalid field of a request.',
    required: ['field', 'code', 'message'],
    properties: {
      field: { type: 'string', description: 'The path of the field.', examples: ['settings.openid.redirect_uris[0]'] },
      code: { type: 'string', description: 'A stable code.', examples: ['required'] },
      message: { type: 'string', description: 'How to fix the field.', examples: ['is required.'] },
    },
  },
  PreconditionFailedError: {
    type: 'object',
    description: 'The body of a 412: the resource has changed since the version in If-Match.',
    required: ['error', 'error_description', 'currentETag', 'retryable'],
    properties: {
      error: { const: 'precondition_failed' },
      error_description: { type: 'string', description: 'What is wrong, for people.' },
      currentETag: { type: 'string', description: 'The ETag of the current version.', examples: ['"1763900000000"'] },
      retryable: { const: false },
      request_id: { type: 'string', description: 'The id of the request.' },
    },
  },
}

/** Name, description and particular headers of the responses by status. */
const errorRows: readonly [status: number, name: string, description: string, headers?: readonly string[]][] = [
  [400, 'BadRequest', 'The request is malformed or invalid.'],
  [401, 'Unauthorized', 'The credential is missing, wrong, expired, blocked or revoked.', ['WWW-Authenticate']],
  [402, 'PaymentRequired', 'A payment is required, or was refused.', ['PAYMENT-REQUIRED', 'PAYMENT-RESPONSE']],
  [403, 'Forbidden', 'The credential lacks a permission.', ['WWW-Authenticate']],
  [404, 'NotFound', 'The resource does not exist, was deleted, or belongs to another account.'],
  [405, 'MethodNotAllowed', 'The path does not support the method.', ['Allow']],
  [
    409,
    'Conflict',
    'The change conflicts with the state, or a request with the same Idempotency-Key runs.',
    ['Retry-After'],
  ],
  [412, 'PreconditionFailed', 'The resource has changed since the version in If-Match.'],
  [413, 'PayloadTooLarge', 'The body is too large.'],
  [415, 'UnsupportedMediaType', 'The body is not JSON, or has a Content-Encoding.'],
  [422, 'UnprocessableContent', 'The Idempotency-Key was used for another request, or the state does not allow this.'],
  [429, 'TooManyRequests', 'A rate limit is exceeded, or the maximum number of resources is reached.', ['Retry-After']],
  [500, 'InternalError', 'An unexpected error.'],
  [502, 'BadGateway', 'The payment facilitator gave no definite result.'],
  [503, 'Unavailable', 'The request cannot be processed now.', ['Retry-After']],
]

/** Returns a reference to the response of a status. */
export const errorResponse = (status: number): Json => ({
  $ref: `#/components/responses/${errorRows.find(([one]) => one === status)![1]}`,
})

/** The responses of errors by name, and 304. */
export const errorResponses: Record<string, Json> = {
  NotModified: {
    description: 'The resource has a version in If-None-Match.',
    headers: referencesTo([...everywhere, 'ETag']),
  },
  ...Object.fromEntries(
    errorRows.map(([status, name, description, particular = []]) => [
      name,
      {
        description,
        headers: referencesTo([...everywhere, ...particular]),
        content: {
          'application/json': {
            schema: { $ref: `#/components/schemas/${status === 412 ? 'PreconditionFailedError' : 'ErrorResponse'}` },
          },
        },
      },
    ]),
  ),
}
