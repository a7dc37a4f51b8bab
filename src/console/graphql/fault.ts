/** What went wrong, in the words of the Core API. */
import type { CombinedError } from 'urql'

/** One field's fault: `settings.openid.redirect_uris[0]`, a stable code, a sentence with the fix. */
export interface FieldFault {
  field: string
  code: string
  message: string
}

export class Fault extends Error {
  constructor(
    /** `NOT_FOUND`, `PRECONDITION_FAILED`, …; `NETWORK` when there was no answer. */
    readonly code: string,
    message: string,
    readonly details: readonly FieldFault[] = [],
    readonly requestId?: string,
    /** The sign-in must not be older than this (seconds), and is. */
    readonly maxAge?: number,
  ) {
    super(message)
    this.name = 'Fault'
  }
}

interface Extensions {
  code?: string
  details?: FieldFault[]
  request_id?: string
  max_age?: number
}

export function faultOf(error: CombinedError): Fault {
  const first = error.graphQLErrors[0]
  if (first) {
    const { code = 'INTERNAL_ERROR', details, request_id, max_age } = first.extensions as Extensions
    return new Fault(code, first.message, details, request_id, max_age)
  }
  // Answers of the server part itself are no GraphQL.
  const status = (error.response as Response | undefined)?.status
  if (status === 401) return new Fault('UNAUTHORIZED', 'You are not signed in.')
  if (status === 403) return new Fault('FORBIDDEN', 'This page was not allowed to ask. Reload it.')
  return new Fault('NETWORK', 'Gatehouse does not answer. Check your connection and try again.')
}
