/**
 * Reasons for which requests of clients are denied (docs/contract.md#refused-requests), each with what it means, how to
 * fix it and the field of the client that the fix changes.
 */
export interface DenialReasonFacts {
  readonly meaning: string
  readonly fix: string
  /** Path of a field of the client. */
  readonly setting?: string
}

const reasonTable = {
  redirect_uri_mismatch: {
    meaning: 'The redirect URI is not registered.',
    fix: 'Add the redirect URI to the client, or correct it in the application. The two must be equal, character by character.',
    setting: 'settings.openid.redirect_uris',
  },
  post_logout_redirect_uri_mismatch: {
    meaning: 'The post-logout redirect URI is not registered.',
    fix: 'Add the URI to the post-logout redirect URIs of the client, or correct it in the application.',
    setting: 'settings.openid.post_logout_redirect_uris',
  },
  parameter_missing: {
    meaning: 'A required parameter is missing.',
    fix: 'Add the parameter to the request of the application.',
  },
  parameter_repeated: {
    meaning: 'A parameter was sent more than once.',
    fix: 'Send the parameter once. Check that it is not in both the URL and the form.',
  },
  request_not_form: {
    meaning: 'The request body is not a form.',
    fix: 'Send the parameters with POST and Content-Type: application/x-www-form-urlencoded, not as JSON and not in the URL.',
  },
  pkce_missing: {
    meaning: 'The client must use PKCE.',
    fix: 'Send code_challenge and code_challenge_method=S256 with the authorization request: turn on PKCE in the library of the application.',
  },
  pkce_method_unsupported: {
    meaning: 'The PKCE parameters of the authorization request are not valid.',
    fix: 'Use code_challenge_method=S256 with a code_challenge of 43 characters.',
  },
  pkce_mismatch: {
    meaning: 'The code_verifier is missing or does not match the code_challenge.',
    fix: 'Send the code_verifier from which the code_challenge of this sign-in was calculated. Keep it in the session of the browser, separately for each sign-in.',
  },
  response_mode_unsupported: {
    meaning: 'The response mode is not supported.',
    fix: 'Leave out response_mode, or use one of response_modes_supported of the discovery document.',
  },
  response_type_unsupported: {
    meaning: 'The response type is not supported.',
    fix: 'Use response_type=code. The implicit and hybrid flows are not supported.',
  },
  scope_not_allowed: {
    meaning: 'A scope is unknown or not allowed for the client.',
    fix: 'Add the scope to the scopes of the client, or remove it from the request.',
    setting: 'settings.scopes',
  },
  target_not_allowed: {
    meaning: 'The resource or audience is not allowed for the client.',
    fix: 'Add it to the allowed resources of the client, or remove resource and audience from the request.',
    setting: 'settings.openid.allowed_resources',
  },
  organization_not_allowed: {
    meaning: 'The client may not select this organization.',
    fix: 'Allow the organization in settings.restrictions.organizations of the client, or remove org from the request.',
    setting: 'settings.restrictions.organizations',
  },
  grant_type_not_allowed: {
    meaning: 'The client does not have this grant type.',
    fix: 'Add the grant type to settings.openid.grant_types of the client, or use another one.',
    setting: 'settings.openid.grant_types',
  },
  grant_type_unsupported: {
    meaning: 'The grant type is not supported.',
    fix: 'Use authorization_code, refresh_token, client_credentials or token exchange.',
  },
  client_secret_wrong: {
    meaning: 'The client secret is wrong.',
    fix: 'Copy the current secret to the application, or rotate it to get a new one. With client_secret_basic, encode the secret as a form value first (RFC 6749 section 2.3.1).',
  },
  client_authentication_mismatch: {
    meaning: 'The client did not authenticate in the registered way.',
    fix: 'Let the application authenticate with the method of the client: a secret for a confidential client, none for a public one.',
    setting: 'settings.openid.token_endpoint_auth_method',
  },
  client_assertion_refused: {
    meaning: 'The client assertion (private_key_jwt) was refused.',
    fix: 'Check the key, the clock and the claims of the assertion: iss and sub are the client id, aud is the issuer, exp is at most 300 seconds ahead, and each jti is used once.',
    setting: 'settings.openid.jwks',
  },
  dpop_proof_refused: {
    meaning: 'The DPoP proof is missing or was refused.',
    fix: 'Send a new proof with each request, with the method and URL of the request, the current time and a new jti, signed with the same key as before.',
    setting: 'settings.openid.dpop_bound_access_tokens',
  },
  pushed_request_required: {
    meaning: 'The client must use pushed authorization requests.',
    fix: 'Push the parameters to the pushed authorization request endpoint first, or do not require this of the client.',
    setting: 'settings.openid.require_pushed_authorization_requests',
  },
  request_uri_invalid: {
    meaning: 'The request_uri is unknown, expired or used.',
    fix: 'Push a new request for each sign-in and open it within its lifetime, once.',
  },
  request_object_unsupported: {
    meaning: 'Request objects are not supported.',
    fix: 'Send the parameters themselves, without request, or push them to the pushed authorization request endpoint.',
  },
  code_invalid: {
    meaning: 'The authorization code is unknown, expired, used or of another client.',
    fix: 'Exchange each code once, within 60 seconds, and with the client that requested it. Check that the callback of the application does not run twice.',
  },
  code_redirect_uri_mismatch: {
    meaning: 'The redirect_uri of the token request differs from the one of the authorization request.',
    fix: 'Send the same redirect_uri in both requests, with the same port.',
  },
  refresh_token_invalid: {
    meaning: 'The refresh token is unknown, expired, used or of another client.',
    fix: 'Store the refresh token of each response, because it replaces the previous one, and let the user sign in again after it has expired.',
  },
  session_ended: {
    meaning: 'The session or the user behind the token no longer exists.',
    fix: 'Let the user sign in again.',
  },
  sign_in_required: {
    meaning: 'The user must sign in or decide, but the request does not allow it (prompt=none).',
    fix: 'This is the normal answer to prompt=none without a session. Start a sign-in without prompt=none.',
  },
  access_denied: {
    meaning: 'The user or a rule denied the request.',
    fix: 'Let the user try again, or check the status of the user and of the session.',
  },
  origin_not_allowed: {
    meaning: 'A script of an origin that is not allowed sent the request.',
    fix: 'Add the origin to the allowed CORS origins of the issuer, or register a redirect URI of this origin for a public client.',
  },
  other: {
    meaning: 'Another reason.',
    fix: 'Read the error of the response, and search the server log for the request id.',
  },
} as const satisfies Record<string, DenialReasonFacts>

export type DenialReason = keyof typeof reasonTable

export const denialReasons: Readonly<Record<DenialReason, DenialReasonFacts>> = reasonTable
