import type { OpenIdContext } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * A grant of the token endpoint. To add a grant, create a file in this folder, a line in index.ts, and an entry in
 * `grantTypes` of src/resources/clients/settings.ts.
 */
export interface GrantType {
  /**
   * The parameters of the grant. oidc-provider removes all others, except those of the client authentication, from
   * `ctx.oidc.params` before `handle` is called.
   */
  readonly parameters: readonly string[]
  /** The parameters that a request may repeat. */
  readonly repeatable: readonly string[]
  /** Set if oidc-provider has no handler for this grant, so that `handle` must not call `libraryHandler`. */
  readonly custom?: true
  /**
   * Handles the request of an authenticated client that may use this grant.
   * @param libraryHandler oidc-provider's handler of this grant
   */
  handle(request: RequestContext, ctx: OpenIdContext, libraryHandler: TokenRequestHandler): Promise<void>
}

export type TokenRequestHandler = (ctx: OpenIdContext) => Promise<void>
