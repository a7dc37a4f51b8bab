/**
 * Issuer metadata (OpenID Connect Discovery 1.0, RFC 8414): the same document at both URLs
 * (docs/contract.md#discovery).
 */
import { languages } from '../../kernel/language.js'
import { dpopAlgorithms } from '../../platform/crypto/dpop.js'
import { customClaimNamesOf } from '../../resources/claims/custom-claim-rules.js'
import { areClientAssertionsEnabled } from '../../resources/clients/authentication-method.js'
import { dynamicRegistrationPolicyOf, type IssuerSettings, isFapi2 } from '../../resources/issuers/settings.js'
import { claimsByScope } from '../account/claims-by-scope.js'
import { assertionAlgorithms } from '../client/assertions/assertion.js'
import { areMetadataDocumentsEnabled } from '../client/metadata-documents/index.js'
import { acrValuesSupported } from '../login/acr.js'

/** Claims of ID tokens that do not belong to a scope. */
const tokenClaims = ['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'acr', 'amr', 'at_hash', 'sid']
const membershipClaims = ['organizations', 'org_id']

/** Returns what is required for each endpoint whose methods contain `private_key_jwt` (RFC 8414 section 2). */
const algorithmMembers = (algorithms: readonly string[]) => ({
  token_endpoint_auth_signing_alg_values_supported: algorithms,
  introspection_endpoint_auth_signing_alg_values_supported: algorithms,
  revocation_endpoint_auth_signing_alg_values_supported: algorithms,
})

/**
 * Creates the metadata of an issuer.
 * @param url the issuer identifier
 * @param documentationUrl the URL of the documentation for developers
 */
export function createIssuerMetadata(url: string, settings: IssuerSettings, documentationUrl: string) {
  // Clients use metadata documents only if the issuer says so, and only then the list has `none`
  // (docs/contract.md#client-id-metadata-documents).
  const supportsMetadataDocuments = areMetadataDocumentsEnabled(settings)
  // The same holds for dynamic client registration (docs/contract.md#dynamic-client-registration).
  const allowsRegistration = dynamicRegistrationPolicyOf(settings).enabled
  // Client assertions are mentioned only if the issuer accepts them (docs/contract.md#client-assertions).
  const supportsAssertions = areClientAssertionsEnabled({ settings })
  const followsFapi2 = isFapi2(settings)
  const publicMethods = supportsMetadataDocuments || (allowsRegistration && !followsFapi2) ? ['none'] : []
  const confidentialMethods = [
    ...(followsFapi2 ? [] : ['client_secret_basic', 'client_secret_post']),
    ...(supportsAssertions ? ['private_key_jwt'] : []),
  ]
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    userinfo_endpoint: `${url}/userinfo`,
    jwks_uri: `${url}/jwks.json`,
    introspection_endpoint: `${url}/introspect`,
    revocation_endpoint: `${url}/revoke`,
    end_session_endpoint: `${url}/logout`,
    check_session_iframe: `${url}/check-session.html`,
    pushed_authorization_request_endpoint: `${url}/par`,
    scopes_supported: ['openid', 'email', 'profile', 'address', 'phone'],
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'form_post'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256', 'RS256', 'EdDSA'],
    token_endpoint_auth_methods_supported: [...confidentialMethods, ...publicMethods],
    introspection_endpoint_auth_methods_supported: confidentialMethods,
    revocation_endpoint_auth_methods_supported: [...confidentialMethods, ...(followsFapi2 ? [] : ['none'])],
    ...(supportsAssertions ? algorithmMembers(assertionAlgorithms(followsFapi2)) : {}),
    ...(allowsRegistration ? { registration_endpoint: `${url}/register` } : {}),
    ...(supportsMetadataDocuments ? { client_id_metadata_document_supported: true } : {}),
    code_challenge_methods_supported: ['S256'],
    dpop_signing_alg_values_supported: dpopAlgorithms,
    claims_supported: [
      ...tokenClaims,
      ...Object.values(claimsByScope).flat(),
      ...membershipClaims,
      ...customClaimNamesOf(settings),
    ],
    claims_parameter_supported: true,
    acr_values_supported: acrValuesSupported,
    prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
    ui_locales_supported: languages,
    ...(followsFapi2 ? { require_pushed_authorization_requests: true } : {}),
    // Must be present, because the default is true (OpenID Connect Discovery 1.0 section 3).
    request_uri_parameter_supported: false,
    authorization_response_iss_parameter_supported: true,
    frontchannel_logout_supported: false,
    backchannel_logout_supported: true,
    backchannel_logout_session_supported: true,
    service_documentation: documentationUrl,
  }
}
