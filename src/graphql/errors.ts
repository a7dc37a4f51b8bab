import { type DocumentNode, GraphQLError, type GraphQLFormattedError } from 'graphql'
import { ApiError, type ErrorCode } from '../kernel/errors.js'
import type { ErrorFormat } from '../platform/http/error-response.js'
import { inputDetails } from './input-details.js'

/**
 * Converts an error of graphql-js to an ApiError, or to the error that a resolver threw. Returns other errors
 * unchanged.
 * @param document the document of a GraphQL request, to find the field of an invalid literal
 */
export function fromGraphql(error: unknown, document?: DocumentNode): unknown {
  const cause = originalErrorOf(error)
  // Errors of graphql-js itself are about the document or its variables.
  if (cause instanceof GraphQLError) return invalidDocumentError([error as GraphQLError], document)
  // A deeply nested document overflows the stack of the parser before the document limits apply.
  if (cause instanceof RangeError && /call stack/i.test(cause.message)) {
    return new ApiError('invalid_request', 'The document is nested too deeply.')
  }
  return cause
}

/** The errors of a request that failed before its execution (docs/contract.md#graphql-api). */
export const graphqlErrorFormat: ErrorFormat = {
  fromLibrary: fromGraphql,
  write(ctx, error, requestId) {
    ctx.body = { errors: [formatError(error, requestId)] }
  },
}

/**
 * Creates the 400 error for a document or variables that graphql-js rejects: the message of the first error, and the
 * details of all errors.
 */
export function invalidDocumentError(errors: readonly GraphQLError[], document?: DocumentNode): ApiError {
  // The details are read from the outer errors, because only they contain the path of an invalid variable.
  const details = errors.flatMap((error) => inputDetails(error, document))
  const { message } = originalErrorOf(errors[0]) as GraphQLError
  return new ApiError('invalid_request', message, details.length > 0 ? { details } : {})
}

/** Returns the error that a resolver threw, without the wrappers of graphql-js. */
export function originalErrorOf(error: unknown): unknown {
  return error instanceof GraphQLError && error.originalError ? originalErrorOf(error.originalError) : error
}

/**
 * Formats an error for GraphQL: the REST code in uppercase, and the status (docs/contract.md#graphql-api).
 * @param source the error of graphql-js, whose locations and path are kept
 */
export function formatError(error: ApiError, requestId: string, source?: GraphQLFormattedError): GraphQLFormattedError {
  const code = error.code.toUpperCase() as Uppercase<ErrorCode>
  return {
    message: error.message,
    ...(source?.locations && { locations: source.locations }),
    ...(source?.path && { path: source.path }),
    extensions: {
      code,
      status: error.status,
      request_id: requestId,
      ...(error.options.scope && { scope: error.options.scope }),
      ...(error.options.details && { details: error.options.details }),
      ...error.options.extra,
    },
  }
}
