/** Errors of GraphQL requests. */
import type { CombinedError } from 'urql'

/**
 * Error of one input field: its path (`settings.openid.redirect_uris[0]`), a stable code, and a message with the fix.
 */
export interface FieldError {
  field: string
  code: string
  message: string
}

export class RequestError extends Error {
  constructor(
    /** A code of the GraphQL API, such as `NOT_FOUND`, or `NETWORK` if there is no usable response. */
    readonly code: string,
    message: string,
    readonly details: readonly FieldError[] = [],
    readonly requestId?: string,
    /** Maximum age of the sign-in (seconds); set only if the operation requires a more recent sign-in. */
    readonly maxAge?: number,
  ) {
    super(message)
    this.name = 'RequestError'
  }
}

interface Extensions {
  code?: string
  details?: FieldError[]
  request_id?: string
  max_age?: number
}

export function toRequestError(error: CombinedError): RequestError {
  const first = error.graphQLErrors[0]
  if (first) {
    const { code = 'INTERNAL_ERROR', details, request_id, max_age } = first.extensions as Extensions
    return new RequestError(code, first.message, details, request_id, max_age)
  }
  // Errors of the console's server part (console-host) are not GraphQL errors.
  const status = (error.response as Response | undefined)?.status
  if (status === 401) return new RequestError('UNAUTHORIZED', 'You are not signed in.')
  if (status === 403)
    return new RequestError('FORBIDDEN', 'The server refused the request of this page. Reload the page.')
  return new RequestError('NETWORK', 'Gatehouse did not respond as expected. Check your connection and try again.')
}
