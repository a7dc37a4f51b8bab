import { fromGraphql } from '../graphql/errors.js'
import { ApiError } from '../kernel/errors.js'
import { restName } from '../kernel/field-names.js'
import type { ErrorFormat } from '../platform/http/error-response.js'

/** The errors of `/v1` (docs/contract.md#errors). Its operations are GraphQL operations. */
export const restErrorFormat: ErrorFormat = {
  fromLibrary: fromGraphql,
  write(ctx, { code, message, options: { details, extra } }, requestId) {
    ctx.body = {
      error: code,
      error_description: message,
      request_id: requestId,
      ...(details && { details }),
      ...extra,
    }
  },
}

/**
 * Converts the field names in an ApiError from GraphQL to REST. Only the first part of a path is converted, because the
 * other parts are keys of a JSON value, which GraphQL and REST do not rename. Other errors are returned unchanged.
 */
export function toRestError(error: unknown): unknown {
  if (!(error instanceof ApiError) || !error.options.details) return error
  const toRestField = (field: string) => field.replace(/^[A-Za-z0-9_]+/, restName)
  const [first] = error.options.details
  const details = error.options.details.map((detail) => ({ ...detail, field: toRestField(detail.field) }))
  const message = first ? error.message.replace(first.field, toRestField(first.field)) : error.message
  return new ApiError(error.code, message, { ...error.options, details })
}
