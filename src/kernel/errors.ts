/**
 * Errors of the Core API as values from one table (spec section 7, decisions D2). The description is for people and
 * never holds a cause; what is not an ApiError is masked as internal_error and logged with the request id.
 */
const statuses = {
  invalid_request: 400,
  unauthorized: 401,
  payment_required: 402,
  forbidden: 403,
  insufficient_scope: 403,
  not_found: 404,
  method_not_allowed: 405,
  conflict: 409,
  precondition_failed: 412,
  payload_too_large: 413,
  unsupported_media_type: 415,
  too_many_requests: 429,
  internal_error: 500,
  bad_gateway: 502,
  unavailable: 503,
} as const

export type ErrorCode = keyof typeof statuses

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
    } = {},
  ) {
    super(description)
    this.name = 'ApiError'
    this.status = more.status ?? statuses[code]
  }
}

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

/** 403 for a missing scope, with the RFC 6750 challenge that names it. */
export const insufficientScope = (scope: string): ApiError =>
  new ApiError('insufficient_scope', `This needs the scope ${scope}.`, {
    headers: { 'WWW-Authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

/** 412 with the body that spec 4.1 fixes. */
export const preconditionFailed = (currentETag: string): ApiError =>
  new ApiError('precondition_failed', 'The resource has changed since the version named by If-Match.', {
    extra: { currentETag, retryable: false },
  })
