/**
 * Client metadata (RFC 7591 section 2, OpenID Connect Dynamic Client Registration 1.0 section 2,
 * docs/contract.md#registered-client-metadata): checks the metadata of a registration request and converts it to the
 * fields of a client. Members that are not listed here are ignored, as RFC 7591 requires.
 */
import { z } from 'zod'
import { ApiError, type ErrorDetail } from '../../kernel/errors.js'
import { checkInput, fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { isObject, type JsonObject } from '../../kernel/merge-patch.js'
import { scopeTokenPattern } from '../../kernel/scopes.js'
import { isLoopback } from '../../kernel/uri.js'
import type { ApplicationType } from '../clients/redirect-uris.js'
import { registeredMetadataRules } from '../clients/registered-metadata.js'

/** An error of RFC 7591 section 3.2.2. */
export class ClientMetadataError extends Error {
  constructor(
    readonly code: 'invalid_redirect_uri' | 'invalid_client_metadata',
    message: string,
  ) {
    super(message)
  }
}

const invalidMetadata = (message: string) => new ClientMetadataError('invalid_client_metadata', message)

const textList = (max: number) =>
  z
    .array(fieldSchemas.text(limits.maxUrlLength), 'must be an array of strings.')
    .max(max, `must have at most ${max} entries.`)
const uriList = textList(limits.maxRedirectUris).optional()
const authMethods = ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const
const algorithms = ['ES256', 'RS256', 'EdDSA'] as const

const metadataRules = z.looseObject(
  {
    redirect_uris: uriList,
    post_logout_redirect_uris: uriList,
    client_name: fieldSchemas.name.optional(),
    logo_uri: fieldSchemas.url.optional(),
    grant_types: textList(20).optional(),
    response_types: textList(20).optional(),
    token_endpoint_auth_method: fieldSchemas.oneOf(authMethods).optional(),
    application_type: fieldSchemas.oneOf(['web', 'native']).optional(),
    scope: fieldSchemas.text(limits.maxUrlLength * 4).optional(),
    id_token_signed_response_alg: fieldSchemas.oneOf(algorithms).optional(),
    subject_type: fieldSchemas.oneOf(['public']).optional(),
    jwks: fieldSchemas.object.optional(),
    jwks_uri: fieldSchemas.url.optional(),
    require_pushed_authorization_requests: fieldSchemas.boolean.optional(),
    dpop_bound_access_tokens: fieldSchemas.boolean.optional(),
    backchannel_logout_uri: fieldSchemas.url.optional(),
    backchannel_logout_session_required: fieldSchemas.boolean.optional(),
    ...registeredMetadataRules,
  },
  'must be an object.',
)
type Metadata = z.infer<typeof metadataRules>

/** Members that are settings of the same name in `settings.openid`. */
const sameNames = [
  'require_pushed_authorization_requests',
  'dpop_bound_access_tokens',
  'backchannel_logout_uri',
  'backchannel_logout_session_required',
  ...(Object.keys(registeredMetadataRules) as (keyof typeof registeredMetadataRules)[]),
] as const

/** Members that would change the protocol or the protection of tokens, so that ignoring them would mislead the client. */
const unsupportedMembers = [
  'id_token_encrypted_response_alg',
  'userinfo_signed_response_alg',
  'userinfo_encrypted_response_alg',
  'introspection_signed_response_alg',
  'tls_client_certificate_bound_access_tokens',
]

/** What a registered client may have. */
export interface RegistrationPolicy {
  /** Scopes in addition to those of OpenID Connect. */
  readonly allowedScopes: readonly string[]
  /** Whether the client can have the grant client_credentials: if it registers with an initial access token. */
  readonly allowsClientCredentials: boolean
  /** Whether the issuer accepts clients that authenticate with `private_key_jwt`. */
  readonly allowsPrivateKeyJwt: boolean
}

/** The fields of a client that its metadata determines. */
export interface RegisteredClient {
  readonly name: string
  readonly logoUrl: string | null
  readonly confidential: boolean
  /** `settings.openid`; null for a member that the client does not have. */
  readonly openid: JsonObject
  readonly scopes: string[]
}

/** The name of a client without `client_name`. */
const UNNAMED = 'Unnamed client'

/**
 * Converts the metadata of a request to the fields of a client. Grant types, response types and scopes that a
 * registered client cannot have are left out. Redirect URIs and other settings are checked when the client is stored.
 * @param body the parsed JSON body; members with the value null count as absent (RFC 7592 section 2.2)
 * @throws ClientMetadataError
 */
export function parseClientMetadata(body: unknown, policy: RegistrationPolicy): RegisteredClient {
  if (!isObject(body)) throw invalidMetadata('The body must be a JSON object with client metadata.')
  const metadata = checkMetadata(Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null)))
  const authMethod = metadata.token_endpoint_auth_method ?? 'client_secret_basic'
  const confidential = authMethod !== 'none'
  const grants = registeredGrantTypes(metadata, policy, confidential)
  const usesCode = grants.includes('authorization_code')
  const responseTypes = (metadata.response_types ?? ['code']).filter((type) => usesCode && type === 'code')
  if (usesCode && responseTypes.length === 0)
    throw invalidMetadata('response_types: must have code, because grant_types has authorization_code.')
  if (usesCode && (metadata.redirect_uris ?? []).length === 0)
    throw new ClientMetadataError('invalid_redirect_uri', 'redirect_uris: is required for authorization_code.')
  const openid: JsonObject = {
    application_type: registeredApplicationType(metadata, confidential, usesCode),
    redirect_uris: metadata.redirect_uris ?? [],
    post_logout_redirect_uris: metadata.post_logout_redirect_uris ?? null,
    grant_types: grants,
    response_types: responseTypes,
    // RS256 is the default of OpenID Connect Dynamic Client Registration 1.0 section 2.
    response_signature_alg: metadata.id_token_signed_response_alg ?? 'RS256',
    token_endpoint_auth_method: confidential ? authMethod : null,
    ...clientKeys(metadata, authMethod, policy),
  }
  for (const name of sameNames) openid[name] = metadata[name] ?? null
  return {
    name: metadata.client_name ?? UNNAMED,
    logoUrl: metadata.logo_uri ?? null,
    confidential,
    openid,
    scopes: registeredScopes(metadata.scope, policy.allowedScopes),
  }
}

function checkMetadata(body: JsonObject): Metadata {
  const unsupported = unsupportedMembers.find((name) => body[name] !== undefined && body[name] !== false)
  if (unsupported !== undefined) throw invalidMetadata(`${unsupported}: is not supported; leave it out.`)
  try {
    return checkInput(metadataRules, body)
  } catch (error) {
    throw toClientMetadataError(error)
  }
}

function registeredGrantTypes(
  metadata: Metadata,
  { allowsClientCredentials }: RegistrationPolicy,
  confidential: boolean,
): string[] {
  const requested = new Set(metadata.grant_types ?? ['authorization_code'])
  if (requested.has('authorization_code'))
    return ['authorization_code', 'refresh_token'].filter((type) => requested.has(type))
  if (!requested.has('client_credentials'))
    throw invalidMetadata('grant_types: must have authorization_code; refresh_token can be added to it.')
  if (!allowsClientCredentials)
    throw invalidMetadata(
      'grant_types: client_credentials requires a registration with an initial access token, and cannot be added later.',
    )
  if (!confidential) throw invalidMetadata('grant_types: client_credentials requires a client that authenticates.')
  return ['client_credentials']
}

/**
 * Returns the application type. A public client that does not name its type and redirects to a loopback host or a
 * private-use scheme is native, so that the port may vary (RFC 8252 section 7.3).
 */
function registeredApplicationType(metadata: Metadata, confidential: boolean, usesCode: boolean): ApplicationType {
  if (!usesCode) return 'm2m'
  const { application_type, redirect_uris = [] } = metadata
  const isNative =
    application_type === undefined
      ? !confidential && redirect_uris.some((uri) => URL.canParse(uri) && isNativeUri(new URL(uri)))
      : application_type === 'native'
  return isNative ? 'native' : confidential ? 'web' : 'spa'
}

const isNativeUri = ({ protocol, hostname }: URL): boolean =>
  protocol === 'http:' ? isLoopback(hostname) : protocol !== 'https:'

/** Returns the settings of the keys with which a client signs its assertions (RFC 7523). */
function clientKeys(
  { jwks, jwks_uri }: Metadata,
  authMethod: string,
  { allowsPrivateKeyJwt }: RegistrationPolicy,
): JsonObject {
  if (jwks !== undefined && jwks_uri !== undefined) throw invalidMetadata('jwks: cannot be combined with jwks_uri.')
  if (authMethod !== 'private_key_jwt') return { jwks: null, jwks_uri: null }
  if (!allowsPrivateKeyJwt)
    throw invalidMetadata(
      'token_endpoint_auth_method: this issuer does not accept private_key_jwt; use client_secret_basic or none.',
    )
  if (jwks === undefined && jwks_uri === undefined)
    throw invalidMetadata('jwks_uri: private_key_jwt requires jwks or jwks_uri.')
  return { jwks: jwks ?? null, jwks_uri: jwks_uri ?? null }
}

/** Without `scope`, a client gets all scopes that it may have. */
function registeredScopes(scope: string | undefined, allowed: readonly string[]): string[] {
  if (scope === undefined) return [...allowed]
  const requested = scope.split(' ').filter((name) => name !== '')
  if (!requested.every((name) => scopeTokenPattern.test(name)))
    throw invalidMetadata('scope: must be a list of scopes separated by spaces.')
  return [...new Set(requested.filter((name) => allowed.includes(name)))]
}

/** Names of metadata by the name of the client's field that differs. */
const metadataNames: Readonly<Record<string, string>> = {
  name: 'client_name',
  logoUrl: 'logo_uri',
  'settings.scopes': 'scope',
  'settings.openid.response_signature_alg': 'id_token_signed_response_alg',
}

/**
 * Converts an error about the fields of a client to the error of RFC 7591 that names the metadata. Returns other errors
 * unchanged.
 */
export function toClientMetadataError(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.code !== 'invalid_request') return error
  const [detail, ...more] = error.options.details ?? []
  if (!detail) return invalidMetadata(error.message)
  const name = metadataName(detail)
  const rest = more.length > 0 ? ` (and ${more.length} more)` : ''
  const isRedirectUri = /^redirect_uris\b/.test(name)
  const code = isRedirectUri ? 'invalid_redirect_uri' : 'invalid_client_metadata'
  return new ClientMetadataError(code, `${name}: ${detail.message}${rest}`)
}

const metadataName = ({ field }: ErrorDetail): string =>
  metadataNames[field] ?? field.replace(/^settings\.(openid\.)?/, '')
