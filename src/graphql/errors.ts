import { GraphQLError, type GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode } from '../kernel/errors.js'
import { translated } from '../platform/database.js'
import type { Log } from '../platform/log.js'

/**
 * The ApiError behind whatever an operation threw; unknown errors are masked and logged with the request id.
 * @param requestId so that the caller can name the failure and an operator can find it
 */
export function apiErrorOf(error: unknown, log: Log, requestId: string): ApiError {
  const cause = translated(originalOf(error))
  if (cause instanceof ApiError) return cause
  // graphql-js' own complaints about a document or its variables are the caller's fault.
  if (cause instanceof GraphQLError) return new ApiError('invalid_request', cause.message)
  // What a caller nested too deeply ends the parser's stack, long before our own limits are asked.
  if (cause instanceof RangeError && /call stack/i.test(cause.message)) {
    return new ApiError('invalid_request', 'The document is nested too deeply.')
  }
  log.error({ err: cause, request_id: requestId }, 'request failed')
  return new ApiError('internal_error', 'Something went wrong here; the request id helps to find out what.')
}

/** The error that a resolver threw, out of graphql-js' wrapping. */
export function originalOf(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError ? originalOf(error.originalError) : error
}

/** An error as GraphQL callers see it (decisions part 0): the REST code upper-cased, and its status. */
export function formatted(error: ApiError, requestId: string, source?: GraphQLFormattedError): GraphQLFormattedError {
  const code = error.code.toUpperCase() as Uppercase<ErrorCode>
  return {
    message: error.message,
    ...(source?.locations && { locations: source.locations }),
    ...(source?.path && { path: source.path }),
    extensions: {
      code,
      status: error.status,
      request_id: requestId,
      ...(error.more.scope && { scope: error.more.scope }),
      ...(error.more.details && { details: error.more.details }),
      ...error.more.extra,
    },
  }
}
