import { type DocumentNode, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode } from '../kernel/errors.js'
import { translated } from '../platform/database.js'
import type { Log } from '../platform/log.js'
import { inputDetails } from './input-details.js'

/**
 * The ApiError behind whatever an operation threw; unknown errors are masked and logged with the request id.
 * @param requestId so that the caller can name the failure and an operator can find it
 * @param document of a GraphQL request, where its inputs may be written
 */
export function apiErrorOf(error: unknown, log: Log, requestId: string, document?: DocumentNode): ApiError {
  const cause = translated(originalOf(error))
  if (cause instanceof ApiError) return cause
  // graphql-js' own complaints about a document or its variables are the caller's fault.
  if (cause instanceof GraphQLError) return invalidDocument([error as GraphQLError], document)
  // What a caller nested too deeply ends the parser's stack, long before our own limits are asked.
  if (cause instanceof RangeError && /call stack/i.test(cause.message)) {
    return new ApiError('invalid_request', 'The document is nested too deeply.')
  }
  log.error({ err: cause, request_id: requestId }, 'request failed')
  return new ApiError('internal_error', 'Something went wrong here; the request id helps to find out what.')
}

/** 400 for a document, or variables, that graphql-js does not take, by its first complaint with the details of all. */
export function invalidDocument(errors: readonly GraphQLError[], document?: DocumentNode): ApiError {
  // Where a variable is wrong stands in the outer error only.
  const details = errors.flatMap((error) => inputDetails(error, document))
  const { message } = originalOf(errors[0]) as GraphQLError
  return new ApiError('invalid_request', message, details.length > 0 ? { details } : {})
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
