/**
 * The error codes of the Core API (docs/contract.md#errors). `npm run reference` prints docs/reference/errors.md from
 * this table. The description of an error is for people and never contains internal causes. An error that is not an
 * ApiError and cannot be translated to one is logged with the request ID and returned as internal_error without its
 * message.
 */
// biome-ignore format: a table, one row a code
export const errorTable = {
  invalid_request: { status: 400, meaning: 'The request is malformed or invalid; `details` lists the fields. With status 422: the `Idempotency-Key` was used for another request, or the operation is not allowed in the current state.' },
  unauthorized: { status: 401, meaning: 'The credential is missing, wrong, expired, blocked or revoked. `WWW-Authenticate` lists the accepted schemes.' },
  insufficient_user_authentication: { status: 401, meaning: 'The operation requires a recent sign-in of the console user: the last one is more than `max_age` seconds ago (RFC 9470). Does not apply to API keys and other applications.' },
  payment_required: { status: 402, meaning: 'The operation requires a payment, or the payment was refused. The response header `PAYMENT-REQUIRED` describes the required payment; repeat the request with a new payment in `PAYMENT-SIGNATURE`.' },
  forbidden: { status: 403, meaning: 'The credential is valid, but a rule other than its scopes forbids the operation, such as an IP allowlist.' },
  insufficient_scope: { status: 403, meaning: 'The credential lacks a scope, or would grant or take over a scope that it lacks. `WWW-Authenticate` contains the scope that is missing (RFC 6750); in GraphQL, `extensions.scope` does.' },
  not_found: { status: 404, meaning: 'The resource does not exist, was deleted, or belongs to another account. The response is the same in all three cases.' },
  method_not_allowed: { status: 405, meaning: 'The path does not support this method; `Allow` lists the supported ones.' },
  conflict: { status: 409, meaning: 'The resource already exists or the change conflicts with its state, or another request with the same `Idempotency-Key` is in progress (`Retry-After`).' },
  precondition_failed: { status: 412, meaning: 'The resource has changed since the version in `If-Match`. `currentETag` is the current version; read the resource and retry.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than the limit of this endpoint.' },
  unsupported_media_type: { status: 415, meaning: 'The endpoint does not support the media type or encoding of the body.' },
  too_many_requests: { status: 429, meaning: 'A rate limit is exceeded (retry after `Retry-After` seconds), or the maximum number of resources is reached.' },
  internal_error: { status: 500, meaning: 'An unexpected error in Gatehouse. The server log contains its cause with the `request_id`. A request with an `Idempotency-Key` can be retried safely.' },
  bad_gateway: { status: 502, meaning: 'The payment facilitator did not return a definite result.' },
  unavailable: { status: 503, meaning: 'The request cannot be processed now, usually because the database is unavailable or the process is shutting down. Unless `retryable` is false, retry after `Retry-After` seconds, or after a few seconds if this header is absent.' },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ErrorCode = keyof typeof errorTable

/**
 * One input error: the path of the field (such as `settings.openid.redirect_uris[0]`), a stable code, and a message
 * that says how to fix the field.
 */
export interface ErrorDetail {
  field: string
  code: string
  message: string
}

/** An error that is returned to the caller. */
export class ApiError extends Error {
  readonly status: number
  constructor(
    readonly code: ErrorCode,
    description: string,
    readonly options: {
      /** The HTTP status, if it differs from the status of the code in `errorTable`. */
      status?: number
      details?: ErrorDetail[]
      /** Additional keys of the response body. */
      extra?: Record<string, unknown>
      /** Headers of the response. */
      headers?: Record<string, string>
      /** The scope that the caller lacks. */
      scope?: string
    } = {},
  ) {
    super(description)
    this.name = 'ApiError'
    this.status = options.status ?? errorTable[code].status
  }
}

/** Creates the error 503 for a database that is unavailable or too slow. */
export const unavailable = (): ApiError =>
  new ApiError('unavailable', 'The database is temporarily unavailable; try again shortly.', {
    headers: { 'Retry-After': '2' },
  })

/** Creates the error 400 for invalid fields. Its description repeats the first entry of `details`, for logs. */
export function invalidFields(details: ErrorDetail[]): ApiError {
  const [firstDetail] = details
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : ''
  return new ApiError(
    'invalid_request',
    firstDetail ? `${firstDetail.field}: ${firstDetail.message}${more}` : 'The request is invalid.',
    {
      details,
    },
  )
}

/** Creates the error 400 for one invalid field. */
export const invalidField = (field: string, code: string, message: string): ApiError =>
  invalidFields([{ field, code, message }])

/** Creates the error 400 for a request that is invalid as a whole, not because of one field. */
export const badRequest = (description: string): ApiError => new ApiError('invalid_request', description)

/**
 * Creates the error 404. Unknown resources, deleted resources and resources of other tenants have the same message, so
 * that it does not reveal which IDs exist.
 * @param what the type of the resource, such as `client`
 */
export const notFound = (what: string): ApiError => new ApiError('not_found', `There is no such ${what}.`)

/** Creates the error 409. */
export const conflict = (description: string): ApiError => new ApiError('conflict', description)

/** Creates the error 403 for a missing scope, with a challenge that contains the scope (RFC 6750, section 3). */
export const insufficientScope = (scope: string, description = `This requires the scope ${scope}.`): ApiError =>
  new ApiError('insufficient_scope', description, {
    scope,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

/**
 * Creates the error 412 with the body of docs/contract.md#etag-and-if-match.
 * @param currentETag the entity tag of the current version
 */
export const preconditionFailed = (currentETag: string): ApiError =>
  new ApiError('precondition_failed', 'The resource has changed since the version in If-Match.', {
    extra: { currentETag, retryable: false },
  })
