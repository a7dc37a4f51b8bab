/** The client information response (RFC 7591 section 3.2.1, RFC 7592 section 3). */
import type { JsonObject } from '../../kernel/merge-patch.js'
import { toUnixSeconds } from '../../kernel/time.js'
import type { Client } from '../../platform/postgres/database.js'
import { registeredMetadataRules } from '../clients/registered-metadata.js'
import { applicationType, clientSettingsOf, grantTypesOf } from '../clients/settings.js'
import { credentialKind } from './credential-kind.js'

/** What the response contains in addition to the metadata of the client. */
export interface InformationContext {
  /** The client secret, if the response may contain it; only its hash is stored. */
  readonly secret: string | null
  readonly registrationAccessToken: string
  /** URL of the client configuration endpoint of this client. */
  readonly registrationClientUri: string
  /** Scopes that the client can request without having them in its settings. */
  readonly openidScopes: readonly string[]
  /** Scopes that the issuer allows registered clients. */
  readonly allowedScopes: readonly string[]
}

/** Settings in `settings.openid` that are client metadata of the same name. */
const sameNames = [
  'post_logout_redirect_uris',
  'jwks',
  'jwks_uri',
  'require_pushed_authorization_requests',
  'dpop_bound_access_tokens',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  ...Object.keys(registeredMetadataRules),
]

/** Returns the current metadata of a client, also if an administrator has changed it. */
export function clientInformation(client: Client, context: InformationContext): JsonObject {
  const { openid = {}, scopes = [] } = clientSettingsOf(client)
  const settings: JsonObject = openid
  const others = sameNames.filter((name) => (settings[name] ?? null) !== null).map((name) => [name, settings[name]])
  const usesCode = grantTypesOf(client).includes('authorization_code')
  return {
    client_id: client.id,
    client_id_issued_at: toUnixSeconds(client.createdAt),
    ...(context.secret !== null && { client_secret: context.secret }),
    ...(credentialKind(client) === 'secret' && { client_secret_expires_at: 0 }),
    registration_access_token: context.registrationAccessToken,
    registration_client_uri: context.registrationClientUri,
    client_name: client.name,
    ...(client.logoUrl !== null && { logo_uri: client.logoUrl }),
    redirect_uris: openid.redirect_uris ?? [],
    grant_types: grantTypesOf(client),
    response_types: openid.response_types ?? (usesCode ? ['code'] : []),
    token_endpoint_auth_method: client.confidential
      ? (settings['token_endpoint_auth_method'] ?? 'client_secret_basic')
      : 'none',
    application_type: applicationType(client) === 'native' ? 'native' : 'web',
    scope: [...context.openidScopes, ...scopes.filter((name) => context.allowedScopes.includes(name))].join(' '),
    id_token_signed_response_alg: openid.response_signature_alg ?? 'ES256',
    subject_type: 'public',
    ...Object.fromEntries(others),
  }
}
