/**
 * Errors of the Core API as values from one table (spec section 7, decisions D2). The description is for people and
 * never holds a cause; what is not an ApiError is masked as internal_error and logged with the request id.
 * docs/reference/errors.md is printed from the table.
 */
// biome-ignore format: a table, one row a code
export const errorTable = {
  invalid_request: { status: 400, meaning: 'The request is malformed, or something in it is not allowed; `details` says what. Also 422 for an `Idempotency-Key` used for another request, whatever is wrong with the new one, and where a state does not fit.' },
  unauthorized: { status: 401, meaning: 'There is no credential, or it is wrong, expired, blocked or revoked. `WWW-Authenticate` says what would do.' },
  insufficient_user_authentication: { status: 401, meaning: 'The person at the console has to sign in again for this: it is longer ago than `max_age` (seconds; RFC 9470). API keys and other applications do not meet it.' },
  payment_required: { status: 402, meaning: 'A payment is asked for, or was refused. `PAYMENT-REQUIRED` says what is wanted; another payment may do.' },
  forbidden: { status: 403, meaning: 'The credential is good and may not do this, whatever its scopes: from this address, to this key, to this resource.' },
  insufficient_scope: { status: 403, meaning: 'The credential lacks a scope, or would give or take over one that it lacks. `WWW-Authenticate` names it (RFC 6750), in GraphQL `extensions.scope`.' },
  not_found: { status: 404, meaning: 'The resource does not exist, was deleted, or belongs to another account. The answer is the same in all three cases.' },
  method_not_allowed: { status: 405, meaning: 'The address takes other methods; `Allow` names them.' },
  conflict: { status: 409, meaning: 'It stands already, or another request with the same `Idempotency-Key` is under way (`Retry-After`).' },
  precondition_failed: { status: 412, meaning: 'The resource has changed since the version named by `If-Match`. `currentETag` names the present one; read, decide and try again.' },
  payload_too_large: { status: 413, meaning: 'The body is larger than this address takes.' },
  unsupported_media_type: { status: 415, meaning: 'The body is of another type than this address takes.' },
  too_many_requests: { status: 429, meaning: 'A rate limit (`Retry-After` says when to come again), or as many as there may be of something.' },
  internal_error: { status: 500, meaning: 'A fault of ours. The log has it under `request_id`. With an `Idempotency-Key` it is safe to try again.' },
  bad_gateway: { status: 502, meaning: 'The payment facilitator gave no clear answer.' },
  unavailable: { status: 503, meaning: 'The database is away, or the process is stopping. Try again after `Retry-After`.' },
} as const satisfies Record<string, { status: number; meaning: string }>

export type ErrorCode = keyof typeof errorTable

/** One fault of an input: where it is (`settings.openid.redirect_uris[0]`), a stable code, a sentence with the fix. */
export interface Detail {
  field: string
  code: string
  message: string
}

/** An error meant for the caller. `extra` holds further body keys, `headers` what the answer must carry. */
export class ApiError extends Error {
  readonly status: number
  constructor(
    readonly code: ErrorCode,
    description: string,
    readonly more: {
      status?: number
      details?: Detail[]
      extra?: Record<string, unknown>
      headers?: Record<string, string>
      /** The scope that is missing. */
      scope?: string
    } = {},
  ) {
    super(description)
    this.name = 'ApiError'
    this.status = more.status ?? errorTable[code].status
  }
}

/** 503: the database is away, or takes too long. */
export const unavailable = (): ApiError =>
  new ApiError('unavailable', 'The database does not answer at the moment; try again shortly.', {
    headers: { 'Retry-After': '2' },
  })

/** 400 with one entry of `details` per fault. The description repeats the first, so that a log line is enough. */
export function invalid(details: Detail[]): ApiError {
  const [first] = details
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : ''
  return new ApiError(
    'invalid_request',
    first ? `${first.field}: ${first.message}${more}` : 'The request is invalid.',
    {
      details,
    },
  )
}

/** 400 about one field. */
export const invalidField = (field: string, code: string, message: string): ApiError =>
  invalid([{ field, code, message }])

/** 400 about the request as a whole. */
export const badRequest = (description: string): ApiError => new ApiError('invalid_request', description)

/** 404. The same words for what never was, what is gone and what belongs to another tenant: no existence oracle. */
export const notFound = (what: string): ApiError => new ApiError('not_found', `There is no such ${what}.`)

/** 409. */
export const conflict = (description: string): ApiError => new ApiError('conflict', description)

/** 403 for a missing scope, with the challenge of RFC 6750 section 3 that names it. Nothing else makes this error. */
export const insufficientScope = (scope: string, description = `This needs the scope ${scope}.`): ApiError =>
  new ApiError('insufficient_scope', description, {
    scope,
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

/** 412 with the body that spec 4.1 fixes. */
export const preconditionFailed = (currentETag: string): ApiError =>
  new ApiError('precondition_failed', 'The resource has changed since the version named by If-Match.', {
    extra: { currentETag, retryable: false },
  })
