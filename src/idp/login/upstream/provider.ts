/** What an upstream provider is to us, whatever it speaks. */
import type { Configuration, TokenEndpointResponse, TokenEndpointResponseHelpers } from 'openid-client'
import type { UpstreamSettings } from '../../../resources/issuers/upstream-settings.js'
import type { Journey } from '../journey.js'
import type { TextKey } from '../pages/texts.js'
import type { UpstreamPerson } from './person.js'

/** A method with its settings read and its secret open. */
export interface OpenMethod {
  readonly id: string
  readonly settings: UpstreamSettings
  readonly secret: string
}

/** What the provider sent back with the browser; only one of `code` and `error` is of use. */
export interface Returned {
  /** The `state` parameter, which has been compared already. */
  state: string
  code?: string
  /** RFC 9207. */
  iss?: string
  error?: string
  /** Of Apple, at the first sign-in: JSON. It came with the browser, so it is what the browser says. */
  user?: string
}

export type UpstreamTokens = TokenEndpointResponse & TokenEndpointResponseHelpers

export interface Upstream {
  /** Is there an ID token? Then it is asked for, bound by a nonce, and must come. */
  readonly idToken: boolean
  /** The scopes to ask for. */
  scopes(method: OpenMethod): readonly string[]
  /** Who the provider is and how we prove to be its client. Slow where it must be asked; kept for a while. */
  connect(method: OpenMethod): Promise<Configuration>
  /** Does the provider take a PKCE challenge? */
  pkce(config: Configuration, method: OpenMethod): boolean
  /** Where it sends the browser back to, where that is not our own callback. */
  redirectUri?(method: OpenMethod): string
  /** What else goes into the address that the browser is sent to. */
  parameters?(journey: Journey, username: string): Record<string, string>
  /**
   * Who came back.
   * @throws UpstreamFault
   */
  person(config: Configuration, tokens: UpstreamTokens, method: OpenMethod, back: Returned): Promise<UpstreamPerson>
}

/** Nobody is signed in: what to tell the person, and what to write down. Nothing of it is the provider's own text. */
export class UpstreamFault extends Error {
  constructor(
    readonly key: Extract<TextKey, 'upstream_denied' | 'upstream_failed'>,
    readonly reason: string,
  ) {
    super(reason)
  }
}

export const failed = (reason: string): UpstreamFault => new UpstreamFault('upstream_failed', reason)
