/** Writes the response to an error, the same for every API except for its format (docs/contract.md#errors). */
import type { ParameterizedContext as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import type { Context } from '../context.js'
import { translateDatabaseError } from '../postgres/errors.js'

/** How an API shows errors. */
export interface ErrorFormat {
  /**
   * Converts an error of the API's library, such as graphql-js or oidc-provider, to an ApiError, or to the error that
   * caused it. Returns other errors unchanged.
   */
  readonly fromLibrary?: (error: unknown) => unknown
  /** Writes the body, and the headers that every error of this API has. The status is set. */
  readonly write: (ctx: KoaContext, error: ApiError, requestId: string) => void
}

/**
 * Converts any error to the one that the caller sees. Unknown errors are masked, and logged with the request ID.
 * @param context the log, and the request for the log line
 */
export function toApiError(
  error: unknown,
  { log, request }: Pick<Context, 'log' | 'request'>,
  fromLibrary: ErrorFormat['fromLibrary'] = (unchanged) => unchanged,
): ApiError {
  const cause = translateDatabaseError(fromLibrary(error))
  if (cause instanceof ApiError) return cause
  log.error({ err: cause, request_id: request.id, path: request.path }, 'request failed')
  return new ApiError(
    'internal_error',
    'An unexpected error occurred. Contact the operator and include the request_id.',
  )
}

/** Responds with an error: its status, its headers such as Retry-After and WWW-Authenticate, and the body of the API. */
export function respondWithError(
  ctx: KoaContext,
  context: Pick<Context, 'log' | 'request'>,
  error: unknown,
  { fromLibrary, write }: ErrorFormat,
): void {
  const apiError = toApiError(error, context, fromLibrary)
  // The response that was being prepared may have set them.
  for (const name of ['Location', 'WWW-Authenticate']) ctx.remove(name)
  ctx.status = apiError.status
  write(ctx, apiError, context.request.id)
  ctx.set(apiError.options.headers ?? {})
}
