import type { OpenIdContext } from '../library.js'

/** One grant of the token endpoint: one file here, one line in the index. */
export interface Grant {
  /** The parameters it reads; all others are dropped before it sees the request. */
  readonly parameters: readonly string[]
  /** Those that may come more than once. */
  readonly repeatable: readonly string[]
  /** The library has no such grant. */
  readonly ours?: true
  /**
   * Answers the request of an authenticated client that may use this grant.
   * @param library the library's own handler of this grant
   */
  handle(ctx: OpenIdContext, library: Handler): Promise<void>
}

export type Handler = (ctx: OpenIdContext) => Promise<void>
