import { ApiError } from '../kernel/errors.js'
import { restName } from '../kernel/names.js'

/** The body of an error (decisions D2). */
export function errorBody(error: ApiError, requestId: string): string {
  return JSON.stringify({
    error: error.code,
    error_description: error.message,
    request_id: requestId,
    ...(error.more.details && { details: error.more.details }),
    ...error.more.extra,
  })
}

/**
 * An error of the rules in the words of REST: they name a field or an argument as GraphQL spells it. Only the first name
 * of a path is ours to spell; below it stand the caller's own keys.
 */
export function inWireWords(error: unknown): unknown {
  if (!(error instanceof ApiError) || !error.more.details) return error
  const wire = (field: string) => field.replace(/^[A-Za-z0-9_]+/, restName)
  const [first] = error.more.details
  const details = error.more.details.map((detail) => ({ ...detail, field: wire(detail.field) }))
  const message = first ? error.message.replace(first.field, wire(first.field)) : error.message
  return new ApiError(error.code, message, { ...error.more, details })
}
