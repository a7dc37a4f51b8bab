import type { TextKey } from '../pages/texts.js'

/** A failed upstream sign-in: the message for the user, and the reason for the log. Neither is text of the provider. */
export class UpstreamError extends Error {
  constructor(
    readonly key: Extract<TextKey, 'upstream_denied' | 'upstream_failed'>,
    readonly reason: string,
  ) {
    super(reason)
  }
}

/**
 * Creates the error of a sign-in that failed for another reason than a denial by the user or the provider.
 * @param reason a code for the log
 */
export const upstreamFailed = (reason: string): UpstreamError => new UpstreamError('upstream_failed', reason)
