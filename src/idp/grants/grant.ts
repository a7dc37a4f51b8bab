import type { OpenIdContext } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/** A grant of the token endpoint. To add one, create a file in this folder and a line in index.ts. */
export interface GrantType {
  /** The parameters that the grant reads; all others are removed before it runs. */
  readonly parameters: readonly string[]
  /** Parameters that can be repeated. */
  readonly repeatable: readonly string[]
  /** oidc-provider has no handler for this grant. */
  readonly custom?: true
  /**
   * Handles the request of an authenticated client that may use this grant.
   * @param libraryHandler oidc-provider's own handler of this grant
   */
  handle(request: RequestContext, ctx: OpenIdContext, libraryHandler: TokenRequestHandler): Promise<void>
}

export type TokenRequestHandler = (ctx: OpenIdContext) => Promise<void>
