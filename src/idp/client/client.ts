/**
 * Clients of oidc-provider, created from registered clients, from agents, which can only use the client credentials
 * grant, and from metadata documents. Every request reads the client's version and the issuer's status from the
 * database, so that disabling a client or issuer takes effect immediately in every process. The database returns the
 * row of the client only if its version differs from the cached version.
 */
import { LRUCache } from 'lru-cache'
import Provider, { type ClientMetadata, errors } from 'oidc-provider'
import { isId } from '../../kernel/ids.js'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../../platform/context.js'
import type { DatabaseHandle } from '../../platform/postgres/database.js'
import type { BatchQuery } from '../../platform/postgres/query-coalescing.js'
import { redirectUriRulesOf, violatedRule } from '../../resources/clients/redirect-uri-rules.js'
import {
  applicationType,
  type ClientSettings,
  grantTypesOf,
  isTokenExchangeActor,
  TOKEN_EXCHANGE,
} from '../../resources/clients/settings.js'
import { isFapi2 } from '../../resources/issuers/settings.js'
import type { StoredSecret } from '../../resources/keys/rotating-secret.js'
import type { IssuerSnapshot } from '../issuer/runtime.js'
import type { OpenIdClient } from '../provider-types.js'
import { type RequestContext, withMachineActor } from '../request-context.js'
import type { UnitOfWork } from '../store/unit-of-work.js'
import type { KeySource } from './assertions/key-sets.js'
import { isClientIdUrl } from './metadata-documents/client-id-url.js'
import { areMetadataDocumentsEnabled, loadMetadataDocument } from './metadata-documents/index.js'
import type { MetadataDocument } from './metadata-documents/metadata-document.js'

export interface ClientRow {
  kind: 'client' | 'agent'
  id: string
  name: string
  confidential: boolean
  settings: ClientSettings
  /** Hashes of the stored secrets, which may have expired. `id` is the id of the verifier, for a secret of an agent. */
  secrets: (StoredSecret & { id?: string })[]
  /** The public keys of an agent. Those of a client are in its settings. */
  keys?: KeySource[]
  status: string
  /** The host of the URL and the `client_name` of the metadata document; undefined for other clients. */
  document?: { host: string; name: string | null }
  /** Whether the client registered itself (docs/contract.md#dynamic-client-registration). */
  isDynamic?: boolean
}

/** A client with its version, which changes with every update of the client and its secrets. */
type CachedClientRow = ClientRow & { version: string }

/** The result of the queries for clients. They return no row if the issuer is active and $3 is the current version. */
interface ClientQueryResult extends Record<string, unknown> {
  issuerStatus: string | null
  version: string | null
  row: ClientRow | null
}

const clientQuery: BatchQuery = {
  name: 'idp-client',
  types: ['text', 'text', 'text'],
  shared: true,
  text: `
  SELECT i.status AS "issuerStatus", c.updated_at::text AS version,
    CASE WHEN c.id IS NOT NULL THEN jsonb_build_object('kind', 'client', 'id', c.id, 'name', c.name,
      'confidential', c.confidential, 'settings', c.settings, 'secrets', c.secrets, 'status', c.status,
      'isDynamic', EXISTS (SELECT 1 FROM client_registrations r WHERE r.client_id = c.id)) END AS row
  FROM (SELECT) one LEFT JOIN issuers i ON i.id = $1 LEFT JOIN clients c ON c.issuer_id = i.id AND c.id = $2
  WHERE (i.status = 'active' AND c.updated_at::text = $3) IS NOT TRUE`,
}

const agentQuery: BatchQuery = {
  name: 'idp-agent',
  types: ['text', 'text', 'text'],
  shared: true,
  text: `
  SELECT i.status AS "issuerStatus", v.version,
    CASE WHEN a.id IS NOT NULL THEN jsonb_build_object('kind', 'agent', 'id', a.id, 'name', a.name, 'confidential', true,
      'settings', jsonb_build_object('scopes', a.scopes, 'default_access_token_age', ${limits.agentAccessTokenLifetimeSeconds},
        'openid', '{"application_type": "m2m", "grant_types": ["client_credentials"]}'::jsonb),
      'secrets', coalesce(v.secrets, '[]'), 'keys', coalesce(v.keys, '[]'), 'status', a.status) END AS row
  FROM (SELECT) one LEFT JOIN issuers i ON i.id = $1 LEFT JOIN agents a ON a.issuer_id = i.id AND a.id = $2
  LEFT JOIN LATERAL (
    SELECT
      json_agg(json_build_object('id', id, 'hash', hash, 'expires_at', null) ORDER BY id)
        FILTER (WHERE type = 'secret') AS secrets,
      json_agg(json_build_object('verifierId', id, 'jwks', jwks, 'jwksUri', jwks_uri) ORDER BY id)
        FILTER (WHERE type = 'public_key') AS keys,
      concat(a.updated_at, ' ', string_agg(id, ' ' ORDER BY id)) AS version
    FROM agent_verifiers WHERE agent_id = a.id AND type IN ('secret', 'public_key')
  ) v ON a.id IS NOT NULL
  WHERE (i.status = 'active' AND v.version = $3) IS NOT TRUE`,
}

/**
 * Returns the error for an issuer that is not active (docs/contract.md#states-and-transitions).
 * @param status null or undefined if there is no such issuer
 */
function issuerUnavailableError(status: string | null | undefined): errors.OIDCProviderError {
  const isMissing = !status || status === 'deleted'
  const error = new errors.OIDCProviderError(isMissing ? 404 : 403, isMissing ? 'not_found' : 'access_denied')
  error.error_description = isMissing
    ? 'There is no such issuer.'
    : 'This issuer is disabled or suspended and issues no tokens.'
  error.allow_redirect = false
  return error
}

/**
 * Reads a client from the database, whatever its status, or from its metadata document.
 * @returns undefined if there is no such client
 * @throws OIDCProviderError if the issuer is not active, or if the document cannot be used; ApiError too_many_requests
 *   if the document may not be fetched now
 */
export async function readClient(request: RequestContext, clientId: string): Promise<ClientRow | undefined> {
  const { context, runtime, prefetched } = request
  const isDocument = isClientIdUrl(clientId) && areMetadataDocumentsEnabled(runtime.issuer.settings)
  // Text that cannot be a client id must not reach the database.
  if (!isDocument && !/^[\x21-\x7e]{1,128}$/.test(clientId)) return undefined
  const issuerId = runtime.issuer.id
  const cache = rowCacheOf(context.database)
  const key = `${issuerId} ${clientId}`
  const cached = cache.get(key)
  await prefetched?.result
  // The query for the redeemed artifact may have read the version of the client already.
  const { checkedClient } = request
  if (checkedClient?.id === clientId && checkedClient.version === cached?.version) {
    if (checkedClient.issuerStatus !== 'active') throw issuerUnavailableError(checkedClient.issuerStatus)
    return cached
  }
  const values = [issuerId, isDocument ? null : clientId, cached?.version ?? 'none']
  const [result] = await context.database.queryCoalesced<ClientQueryResult>(
    isId('agt', clientId) ? agentQuery : clientQuery,
    values,
  )
  if (result && result.issuerStatus !== 'active') throw issuerUnavailableError(result.issuerStatus)
  if (isDocument) return loadDocumentRow(request, clientId)
  const row = result ? cacheRow(cache, key, result) : cached
  if (row) request.checkedClient = { id: clientId, version: row.version, issuerStatus: 'active' }
  return row
}

/**
 * Caches the row and returns it. If a concurrent request has cached this version, returns the cached object, because
 * oidc-provider's client is created once for each row object.
 */
function cacheRow(
  cache: LRUCache<string, CachedClientRow>,
  key: string,
  { version, row }: ClientQueryResult,
): CachedClientRow | undefined {
  if (!version || !row) return undefined
  const cached = cache.get(key)
  if (cached?.version === version) return cached
  const fetched = { ...row, version }
  cache.set(key, fetched)
  return fetched
}

/** Cached rows by database, issuer and client id. */
const rowCaches = new WeakMap<DatabaseHandle, LRUCache<string, CachedClientRow>>()

function rowCacheOf(tools: DatabaseHandle): LRUCache<string, CachedClientRow> {
  let cache = rowCaches.get(tools)
  if (!cache) {
    cache = new LRUCache({ max: limits.maxCachedClients })
    rowCaches.set(tools, cache)
  }
  return cache
}

/**
 * Checks that the issuer is active.
 * @throws OIDCProviderError if it is not
 */
export async function requireActiveIssuer({ context, runtime }: RequestContext): Promise<void> {
  const text = 'SELECT status FROM issuers WHERE id = $1'
  const [row] = await context.database.query<{ status: string }>('idp-issuer-status', text, [runtime.issuer.id])
  if (row?.status !== 'active') throw issuerUnavailableError(row?.status)
}

/**
 * Returns the row of a client with a metadata document: a public client with those redirect URIs of the document that
 * the issuer's rules allow (docs/contract.md#redirect-uri-rules-of-an-issuer).
 */
async function loadDocumentRow(
  { context, unitOfWork, runtime }: RequestContext,
  clientIdUrl: string,
): Promise<ClientRow | undefined> {
  const documentLoads =
    documentLoadsByRequest.get(unitOfWork) ?? new Map<string, ReturnType<typeof loadMetadataDocument>>()
  documentLoadsByRequest.set(unitOfWork, documentLoads)
  const documentLoad = documentLoads.get(clientIdUrl) ?? loadMetadataDocument(context, clientIdUrl)
  documentLoads.set(clientIdUrl, documentLoad)
  const document = await documentLoad
  if (!document) return undefined
  const rows = rowsByDocument.get(runtime.issuer) ?? new WeakMap<MetadataDocument, ClientRow>()
  rowsByDocument.set(runtime.issuer, rows)
  const cachedRow = rows.get(document)
  if (cachedRow) return cachedRow
  const { name, redirectUris, postLogoutRedirectUris, grantTypes, dpopBoundAccessTokens } = document
  const { host } = new URL(clientIdUrl)
  const rules = redirectUriRulesOf(runtime.issuer)
  const allowed = (uris: string[]) => uris.filter((uri) => violatedRule(rules, uri) === undefined)
  const openid = {
    redirect_uris: allowed(redirectUris),
    post_logout_redirect_uris: allowed(postLogoutRedirectUris),
    grant_types: grantTypes,
    dpop_bound_access_tokens: dpopBoundAccessTokens,
  }
  const settings: ClientSettings = { openid: { application_type: 'native', ...openid } }
  // Pages show the host, because the document's author can choose any name.
  const identity = { kind: 'client' as const, id: clientIdUrl, name: host, document: { host, name } }
  const row = { ...identity, confidential: false, settings, secrets: [], status: 'active' }
  rows.set(document, row)
  return row
}

/**
 * Loads of metadata documents by request. oidc-provider looks up a client again that was not found, and the document
 * must not be fetched twice.
 */
const documentLoadsByRequest = new WeakMap<UnitOfWork, Map<string, ReturnType<typeof loadMetadataDocument>>>()

/**
 * Rows by issuer and metadata document, so that oidc-provider's client is created once. The issuer snapshot is replaced
 * after each change of the issuer's settings, which the rows depend on.
 */
const rowsByDocument = new WeakMap<IssuerSnapshot, WeakMap<MetadataDocument, ClientRow>>()

const rowsByClient = new WeakMap<OpenIdClient, ClientRow>()

/** Returns the row from which a client of oidc-provider was created. */
export function clientRowOf(client: OpenIdClient): ClientRow {
  const row = rowsByClient.get(client)
  if (!row) throw new Error('This client was not created by createClientFinder.')
  return row
}

/** Routes at which only clients with an assertion exist for an issuer with the profile `fapi2`. */
const assertionOnlyRoutes: ReadonlySet<string | undefined> = new Set(['introspection', 'revocation'])

/**
 * Creates oidc-provider's `Client.find`.
 * @param grantTypes the supported values of `grant_type`
 */
export function createClientFinder(
  provider: Provider,
  grantTypes: readonly string[],
): (request: RequestContext, id: unknown) => Promise<OpenIdClient | undefined> {
  const [clientsByRow, fapi2ClientsByRow] = [
    new WeakMap<ClientRow, OpenIdClient>(),
    new WeakMap<ClientRow, OpenIdClient>(),
  ]
  const Client = provider.Client as unknown as new (metadata: ClientMetadata) => OpenIdClient
  return async (request, id) => {
    if (typeof id !== 'string') return undefined
    const row = await readClient(request, id)
    if (!row) return undefined
    // Access tokens of a deleted client stay valid at userinfo until they expire
    // (docs/contract.md#states-and-transitions).
    const isDeletedAtUserinfo = row.status === 'deleted' && Provider.ctx?.oidc.route === 'userinfo'
    if (row.status !== 'active' && !isDeletedAtUserinfo) return undefined
    const followsFapi2 = isFapi2(request.runtime.issuer.settings)
    // `requireSecurityProfile` refuses other authentication methods at the other endpoints.
    if (followsFapi2 && request.clientAssertion === undefined && assertionOnlyRoutes.has(Provider.ctx?.oidc.route))
      return undefined
    const cachedClients = followsFapi2 ? fapi2ClientsByRow : clientsByRow
    let client = cachedClients.get(row)
    if (!client) {
      client = new Client(clientMetadataOf(row, grantTypes, followsFapi2))
      cachedClients.set(row, client)
      rowsByClient.set(client, row)
    }
    return client
  }
}

/**
 * Converts a client to the metadata of OpenID Connect Dynamic Client Registration 1.0, which oidc-provider reads.
 * @param followsFapi2 whether the issuer has the profile `fapi2`
 */
function clientMetadataOf(
  row: ClientRow,
  supportedGrantTypes: readonly string[],
  followsFapi2: boolean,
): ClientMetadata {
  const { openid = {} } = row.settings
  const redirectUris = openid.redirect_uris ?? []
  // A client without redirect URIs cannot sign users in, but can use other grants than `authorization_code`.
  const hasRedirectUris = redirectUris.length > 0
  return {
    client_id: row.id,
    client_name: row.name,
    application_type: applicationType(row) === 'native' ? 'native' : 'web',
    token_endpoint_auth_method: row.confidential ? 'client_secret_basic' : 'none',
    // oidc-provider requires the secret of a confidential client, but `compareClientSecret` does not use this value.
    ...(row.confidential ? { client_secret: 'kept as hashes' } : {}),
    grant_types: grantTypesOf(row).filter(
      (type) =>
        supportedGrantTypes.includes(type) &&
        (hasRedirectUris || type !== 'authorization_code') &&
        // Client credentials are for M2M clients and agents only (docs/contract.md#grant-and-client-rules rule 2).
        (type !== 'client_credentials' || (row.confidential && applicationType(row) === 'm2m')) &&
        (type !== TOKEN_EXCHANGE || isTokenExchangeActor(row)),
    ),
    response_types: hasRedirectUris && grantTypesOf(row).includes('authorization_code') ? ['code'] : [],
    redirect_uris: redirectUris,
    id_token_signed_response_alg: openid.response_signature_alg ?? 'ES256',
    require_pushed_authorization_requests: followsFapi2 || openid.require_pushed_authorization_requests === true,
    dpop_bound_access_tokens: openid.dpop_bound_access_tokens ?? false,
  }
}

/** Returns the context with a client or agent of the issuer as the actor. */
export function withClientActor({ runtime }: RequestContext, context: Context, client: OpenIdClient): Context {
  const { kind: type, id, name } = clientRowOf(client)
  const { id: issuerId, accountId } = runtime.issuer
  return withMachineActor(context, { type, id, name, accountId, issuerId })
}
