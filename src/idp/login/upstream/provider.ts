/** The interface of an upstream provider. */
import type { Configuration, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { UpstreamSettings } from '../../../resources/issuers/upstream-settings.js'
import type { RequestContext } from '../../request-context.js'
import type { LoginTransaction } from '../login-transaction.js'
import type { UpstreamUser } from './upstream-user.js'

/** An authentication method with its settings and its decrypted secret. */
export interface UpstreamMethod {
  readonly id: string
  readonly settings: UpstreamSettings
  readonly secret: string
}

/** The authorization response of the provider; it has one of `code` and `error`. */
export interface AuthorizationResponse {
  /** The `state` parameter, which has been verified already. */
  state: string
  code?: string
  /** `iss` parameter (RFC 9207). */
  iss?: string
  error?: string
  /** Apple only, at the first sign-in: JSON with the name. It is unsigned and comes through the browser. */
  user?: string
}

export type UpstreamTokens = TokenEndpointResponse & TokenEndpointResponseHelpers

export interface UpstreamProvider {
  /** Whether ID tokens of the provider are used. If so, an ID token with the requested `nonce` is required. */
  readonly usesIdToken: boolean
  /** Returns the scopes to request. */
  scopes(method: UpstreamMethod): readonly string[]
  /** Creates the configuration of openid-client, with a request to the provider if necessary. The result is cached. */
  createConfiguration(request: RequestContext, method: UpstreamMethod): Promise<Configuration>
  /** Whether the authorization request uses PKCE. */
  supportsPkce(config: Configuration, method: UpstreamMethod): boolean
  /** Returns the redirect URI, for kinds whose redirect URI is a setting instead of `/callback/{method_id}`. */
  redirectUri?(method: UpstreamMethod): string
  /** Returns additional parameters of the authorization request. */
  extraParameters?(loginTransaction: LoginTransaction, username: string): Record<string, string>
  /**
   * Returns the provider's user to whom the tokens were issued, from the ID token or the provider's API.
   * @throws UpstreamError if the provider does not return a valid user; the error of openid-client if a request fails
   */
  fetchUser(
    config: Configuration,
    tokens: UpstreamTokens,
    method: UpstreamMethod,
    response: AuthorizationResponse,
  ): Promise<UpstreamUser>
}
