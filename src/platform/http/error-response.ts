/** Writes error responses. Each API has its own format (docs/contract.md#errors). */
import type { ParameterizedContext as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import type { Context } from '../context.js'
import { translateDatabaseError } from '../postgres/errors.js'

/** The error format of an API. */
export interface ErrorFormat {
  /**
   * Converts an error of the API's library, such as graphql-js or oidc-provider, to an ApiError or to its cause.
   * Returns all other errors unchanged.
   */
  readonly fromLibrary?: (error: unknown) => unknown
  /** Writes the body, and the headers that all errors of the API have. The status of `ctx` is set before the call. */
  readonly write: (ctx: KoaContext, error: ApiError, requestId: string) => void
}

/**
 * Converts an error to the ApiError that the caller receives. Errors of the API's library and outages of the database
 * are translated. Any other error becomes internal_error without its message, and is logged with the request ID.
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

/**
 * Responds with an error: with its status, its headers such as Retry-After and WWW-Authenticate, and a body in the
 * format of the API.
 */
export function respondWithError(
  ctx: KoaContext,
  context: Pick<Context, 'log' | 'request'>,
  error: unknown,
  { fromLibrary, write }: ErrorFormat,
): void {
  const apiError = toApiError(error, context, fromLibrary)
  // The handler may have set these headers before it failed.
  for (const name of ['Location', 'WWW-Authenticate']) ctx.remove(name)
  ctx.status = apiError.status
  write(ctx, apiError, context.request.id)
  ctx.set(apiError.options.headers ?? {})
}
