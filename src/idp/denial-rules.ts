/**
 * The reasons of denied requests (docs/contract.md#refused-requests). oidc-provider distinguishes the reasons of an error
 * only by its text, so these rules match texts. Nothing but the explanation depends on them.
 */
import type { DenialReason } from '../resources/clients/denial-reasons.js'
import { describeUriMismatch, quote } from './client/redirect-uri-mismatch.js'
import type { Form } from './request-input.js'

/** What is known about a denied request. */
export interface DeniedFacts {
  /** The last part of the path, such as `authorize` or `token`. */
  readonly endpoint: string
  /** The OAuth error code. */
  readonly error: string
  /** The error description and the detail of oidc-provider. */
  readonly text: string
  readonly parameters: Form
  readonly method: string
  /** Content-Type of the request; empty if there is none. */
  readonly contentType: string
  /** `redirect_uris` or `post_logout_redirect_uris` of the client, by parameter. */
  readonly registered: Readonly<Record<'redirect_uri' | 'post_logout_redirect_uri', readonly string[]>>
  /** The scopes that were refused, separated by spaces. */
  readonly refusedScope: string | undefined
}

export interface DenialRule {
  readonly reason: DenialReason
  readonly endpoint?: RegExp
  readonly error?: RegExp
  readonly text?: RegExp
  readonly when?: (facts: DeniedFacts) => boolean
  /** The parameter that was refused. */
  readonly parameter?: string | ((facts: DeniedFacts) => string)
  /** The explanation; by default the meaning of the reason. `value` is the refused value in backquotes, or the empty text. */
  readonly message?: (facts: DeniedFacts, value: string) => string
}

const isPosted = /^(token|introspect|revoke|par)$/

/** The first rule that matches is used. */
export const denialRules: readonly DenialRule[] = [
  {
    reason: 'redirect_uri_mismatch',
    // The pushed authorization request endpoint replaces the code `invalid_redirect_uri` by `invalid_request`.
    when: ({ error, text }) => error === 'invalid_redirect_uri' || text.startsWith('redirect_uri did not match'),
    parameter: 'redirect_uri',
    message: ({ parameters, registered }) =>
      describeUriMismatch('redirect_uri', parameters['redirect_uri'], registered.redirect_uri),
  },
  {
    reason: 'post_logout_redirect_uri_mismatch',
    text: /post_logout_redirect_uri (is )?not registered/,
    parameter: 'post_logout_redirect_uri',
    message: ({ parameters, registered }) =>
      describeUriMismatch(
        'post_logout_redirect_uri',
        parameters['post_logout_redirect_uri'],
        registered.post_logout_redirect_uri,
      ),
  },
  {
    reason: 'request_not_form',
    error: /^method_not_allowed$/,
    message: ({ method }) => `The request was sent with ${method}; this endpoint needs POST.`,
  },
  {
    reason: 'request_not_form',
    endpoint: isPosted,
    text: /missing required parameter|no client authentication mechanism|content-type/,
    when: ({ contentType }) => !contentType.startsWith('application/x-www-form-urlencoded'),
    message: ({ contentType }) =>
      contentType === ''
        ? 'The request has no form: it has no Content-Type.'
        : `The request body must be a form, but its Content-Type is ${quote(contentType.split(';')[0]!.slice(0, 60))}.`,
  },
  {
    reason: 'pkce_missing',
    text: /requires PKCE/,
    parameter: 'code_challenge',
    message: () => 'code_challenge is missing: this client must use PKCE.',
  },
  {
    reason: 'pkce_method_unsupported',
    endpoint: /^(authorize|par)$/,
    text: /code_challenge/,
    parameter: ({ text }) => (text.includes('code_challenge_method') ? 'code_challenge_method' : 'code_challenge'),
    message: ({ text }, value) =>
      text.includes('code_challenge_method')
        ? `code_challenge_method ${value} is not supported.`
        : 'code_challenge is missing or not valid.',
  },
  { reason: 'pkce_mismatch', endpoint: /^token$/, text: /code_verifier|code_challenge/, parameter: 'code_verifier' },
  {
    reason: 'response_mode_unsupported',
    text: /response_mode|response mode/i,
    parameter: 'response_mode',
    message: (_, value) => `response_mode ${value} is not supported.`,
  },
  {
    reason: 'response_type_unsupported',
    text: /response_type/,
    when: ({ text }) => !text.includes('missing required'),
    parameter: 'response_type',
    message: (_, value) => `response_type ${value} is not supported.`,
  },
  {
    reason: 'parameter_missing',
    text: /missing required parameter/,
    message: ({ text }) => `${/'(.*)'/.exec(text)?.[1]?.replaceAll("'", '') ?? 'A required parameter'} is missing.`,
    parameter: ({ text }) => /'([a-z_]{1,40})'/.exec(text)?.[1] ?? '',
  },
  {
    reason: 'parameter_repeated',
    text: /must not be (provided twice|repeated)/,
    parameter: ({ text }) => /'?([a-z_]{1,40})'? .*must not be/.exec(text)?.[1] ?? '',
    message: ({ text }) =>
      `${/'?([a-z_]{1,40})'? .*must not be/.exec(text)?.[1] ?? 'A parameter'} was sent more than once.`,
  },
  {
    reason: 'dpop_proof_refused',
    text: /DPoP|jkt/,
    message: ({ text }) => `The DPoP proof was refused: ${plain(text)}.`,
  },
  { reason: 'dpop_proof_refused', error: /dpop/, message: ({ text }) => `The DPoP proof was refused: ${plain(text)}.` },
  {
    reason: 'client_assertion_refused',
    error: /^invalid_(client|request)$/,
    text: /assertion|JWT|alg mismatch|expiration must be|jti|aud \(|jwks/,
    parameter: 'client_assertion',
    message: ({ text }) => `The client assertion was refused: ${plain(text)}.`,
  },
  { reason: 'client_secret_wrong', text: /invalid secret|secret is (wrong|invalid)/ },
  {
    reason: 'client_authentication_mismatch',
    error: /^invalid_(client|request)$/,
    text: /authentication (mechanism|must)|must authenticate with|client_secret must be provided|requires client_secret_basic|requires client authentication/,
    message: ({ text }) => `The client did not authenticate in the registered way: ${plain(text)}.`,
  },
  {
    reason: 'scope_not_allowed',
    error: /^invalid_scope$/,
    parameter: 'scope',
    message: (_, value) => `scope ${value} is not allowed for this client.`,
  },
  {
    reason: 'target_not_allowed',
    error: /^invalid_target$/,
    parameter: ({ parameters }) => (parameters['audience'] === undefined ? 'resource' : 'audience'),
    message: ({ parameters, text }, value) =>
      value !== '' && /not allowed|unknown/.test(text)
        ? `${parameters['audience'] === undefined ? 'resource' : 'audience'} ${value} is not allowed for this client.`
        : `resource or audience was refused: ${plain(text)}.`,
  },
  {
    reason: 'organization_not_allowed',
    text: /cannot select this organization|not an organization id/,
    parameter: 'org',
    message: () => 'org was refused: this client may not select this organization.',
  },
  {
    reason: 'grant_type_not_allowed',
    text: /grant type is not allowed|^(authorization_code|refresh_token|client_credentials) is not allowed/,
    parameter: 'grant_type',
    message: ({ endpoint }, value) =>
      endpoint === 'token'
        ? `grant_type ${value} is not allowed for this client.`
        : 'This client does not have the grant type `authorization_code`.',
  },
  {
    reason: 'grant_type_unsupported',
    error: /^unsupported_grant_type$/,
    parameter: 'grant_type',
    message: (_, value) => `grant_type ${value} is not supported.`,
  },
  {
    reason: 'pushed_request_required',
    text: /Pushed Authorization Request must be used|requires pushed authorization requests/i,
  },
  {
    reason: 'request_object_unsupported',
    error: /^(request_not_supported|invalid_request_object)$/,
    parameter: 'request',
  },
  {
    reason: 'request_uri_invalid',
    error: /^(invalid_request_uri|request_uri_not_supported)$/,
    parameter: 'request_uri',
  },
  {
    reason: 'code_redirect_uri_mismatch',
    text: /authorization code redirect_uri mismatch/,
    parameter: 'redirect_uri',
  },
  {
    reason: 'session_ended',
    text: /(^|\W)grant (not found|is expired)|referenced account not found|accountId mismatch|session ended/,
  },
  {
    reason: 'code_invalid',
    endpoint: /^token$/,
    error: /^invalid_grant$/,
    when: ({ parameters }) => parameters['grant_type'] === 'authorization_code',
    parameter: 'code',
    message: ({ text }) =>
      /expired/.test(text)
        ? 'The authorization code has expired.'
        : /consumed|used/.test(text)
          ? 'The authorization code was used before. Its tokens are revoked.'
          : /client mismatch/.test(text)
            ? 'The authorization code belongs to another client.'
            : 'The authorization code is unknown, expired or used.',
  },
  {
    reason: 'refresh_token_invalid',
    endpoint: /^token$/,
    error: /^invalid_grant$/,
    when: ({ parameters }) => parameters['grant_type'] === 'refresh_token',
    parameter: 'refresh_token',
    message: ({ text }) =>
      /expired/.test(text)
        ? 'The refresh token has expired.'
        : /used/.test(text)
          ? 'The refresh token was used before. Its session has ended.'
          : /client mismatch/.test(text)
            ? 'The refresh token belongs to another client.'
            : 'The refresh token is unknown, expired or used.',
  },
  {
    reason: 'sign_in_required',
    error: /^(login|interaction|consent|account_selection)_required$/,
    parameter: 'prompt',
  },
  { reason: 'origin_not_allowed', text: /^origin .* not allowed/ },
  { reason: 'access_denied', error: /^access_denied$/, message: ({ text }) => `Access was denied: ${plain(text)}.` },
]

const plain = (text: string): string => text.replace(/\.$/, '')
