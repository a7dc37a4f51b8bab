/**
 * Issuer metadata (OpenID Connect Discovery 1.0, RFC 8414): the same document at both URLs
 * (docs/contract.md#discovery).
 */

/**
 * Creates the metadata of an issuer.
 * @param url the issuer identifier
 * @param supportsMetadataDocuments whether the issuer accepts client ID metadata documents, which clients use only if
 *   the metadata says so (docs/contract.md#client-id-metadata-documents)
 */
export const createIssuerMetadata = (url: string, supportsMetadataDocuments: boolean) => ({
  issuer: url,
  authorization_endpoint: `${url}/authorize`,
  token_endpoint: `${url}/token`,
  userinfo_endpoint: `${url}/userinfo`,
  jwks_uri: `${url}/jwks.json`,
  introspection_endpoint: `${url}/introspect`,
  revocation_endpoint: `${url}/revoke`,
  end_session_endpoint: `${url}/logout`,
  check_session_iframe: `${url}/check-session.html`,
  scopes_supported: ['openid', 'email', 'profile', 'address', 'phone'],
  response_types_supported: ['code'],
  response_modes_supported: ['query'],
  grant_types_supported: ['authorization_code', 'refresh_token'],
  subject_types_supported: ['public'],
  id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
  token_endpoint_auth_methods_supported: [
    'client_secret_basic',
    'client_secret_post',
    ...(supportsMetadataDocuments ? ['none'] : []),
  ],
  ...(supportsMetadataDocuments ? { client_id_metadata_document_supported: true } : {}),
  code_challenge_methods_supported: ['S256'],
  // Must be present, because the default is true (OpenID Connect Discovery 1.0 section 3).
  request_uri_parameter_supported: false,
  authorization_response_iss_parameter_supported: true,
  frontchannel_logout_supported: false,
  backchannel_logout_supported: true,
  backchannel_logout_session_supported: true,
})
