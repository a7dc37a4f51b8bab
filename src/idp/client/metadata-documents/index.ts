/**
 * Client ID metadata documents (docs/contract.md#client-id-metadata-documents). They are fetched through the outbound
 * client and cached in memory, but not stored in the database. A failure is not cached.
 */

import { LRUCache } from 'lru-cache'
import { errors } from 'oidc-provider'
import { ApiError } from '../../../kernel/errors.js'
import { limits } from '../../../kernel/limits.js'
import { networkOf } from '../../../kernel/network.js'
import { SECOND } from '../../../kernel/time.js'
import type { Context } from '../../../platform/context.js'
import { type Outbound, OutboundError } from '../../../platform/outbound/outbound.js'
import { type IssuerSettings, metadataDocumentPolicyOf } from '../../../resources/issuers/settings.js'
import { isFetchableClientIdUrl } from './client-id-url.js'
import { type MetadataDocument, readMetadataDocument } from './metadata-document.js'

interface DocumentCache {
  documents: LRUCache<string, { client: MetadataDocument; until: number }>
  pendingFetches: Map<string, Promise<MetadataDocument>>
}

const documentCaches = new WeakMap<Outbound, DocumentCache>()

function documentCacheOf({ outbound }: Context): DocumentCache {
  let cache = documentCaches.get(outbound)
  if (!cache) {
    cache = { documents: new LRUCache({ max: limits.maxCachedClientMetadataDocuments }), pendingFetches: new Map() }
    documentCaches.set(outbound, cache)
  }
  return cache
}

/** Checks whether the issuer accepts metadata documents, which it does not by default (docs/contract.md#issuers). */
export const areMetadataDocumentsEnabled = (settings: IssuerSettings): boolean =>
  metadataDocumentPolicyOf(settings)?.enabled === true

/**
 * Returns the resources and scopes that clients with a metadata document may request from an issuer, in addition to
 * their client id as the audience and the scopes of OpenID Connect.
 */
export function metadataDocumentAllowances(settings: IssuerSettings): {
  resources: readonly string[]
  scopes: readonly string[]
} {
  const { allowed_resources = [], allowed_scopes = [] } = metadataDocumentPolicyOf(settings) ?? {}
  return { resources: allowed_resources, scopes: allowed_scopes }
}

/**
 * Loads a metadata document from the cache or its URL.
 * @returns undefined if the client id is not a URL that may be fetched
 * @throws InvalidClient if the document cannot be fetched or is invalid; ApiError too_many_requests
 */
export async function loadMetadataDocument(
  context: Context,
  clientIdUrl: string,
): Promise<MetadataDocument | undefined> {
  if (!isFetchableClientIdUrl(clientIdUrl, context.config.allowPrivateNetworks)) return undefined
  const { documents, pendingFetches } = documentCacheOf(context)
  const cached = documents.get(clientIdUrl)
  if (cached && cached.until > context.now()) return cached.client
  let pendingFetch = pendingFetches.get(clientIdUrl)
  if (!pendingFetch) {
    await requireFetchAllowed(context, pendingFetches.size)
    // Another request may have started the fetch while this one waited for the rate limit.
    pendingFetch =
      pendingFetches.get(clientIdUrl) ??
      fetchMetadataDocument(context, clientIdUrl).finally(() => pendingFetches.delete(clientIdUrl))
    pendingFetches.set(clientIdUrl, pendingFetch)
  }
  return pendingFetch
}

/**
 * Limits the rate and the number of concurrent fetches, because any caller can cause requests to any host.
 * @throws ApiError too_many_requests
 */
async function requireFetchAllowed(context: Context, pendingCount: number): Promise<void> {
  const decision = await context.rateLimiter.consume('authorize', `documents ${networkOf(context.request.ip)}`)
  if (pendingCount < limits.maxConcurrentClientMetadataFetches && decision?.allowed !== false) return
  const reset = String(decision?.allowed === false ? decision.reset : 2)
  throw new ApiError(
    'too_many_requests',
    'Too many client metadata documents are being fetched or were requested from your network; try again shortly.',
    {
      headers: { 'Retry-After': reset },
    },
  )
}

async function fetchMetadataDocument(context: Context, clientIdUrl: string): Promise<MetadataDocument> {
  const { status, headers, body } = await context.outbound
    .send({
      url: clientIdUrl,
      headers: { accept: 'application/json' },
      timeout: limits.clientMetadataFetchTimeout,
      maxBody: limits.maxClientMetadataBytes,
    })
    .catch((error: unknown) => {
      throw error instanceof OutboundError ? unusableDocumentError(error.message) : error
    })
  if (status !== 200) throw unusableDocumentError(`Its URL responded with status ${status}; expected 200.`)
  if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(headers['content-type'] ?? ''))
    throw unusableDocumentError('Its Content-Type is not JSON; send application/json.')
  const client = readMetadataDocument(clientIdUrl, body)
  if ('error' in client) throw unusableDocumentError(`It is invalid: ${client.error}.`)
  const until = context.now() + cacheLifetimeOf(headers['cache-control'])
  documentCacheOf(context).documents.set(clientIdUrl, { client, until })
  return client
}

function cacheLifetimeOf(cacheControl = ''): number {
  const age = Number(/(?:^|[,\s])max-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1] ?? 0) * SECOND
  return Math.min(limits.maxClientMetadataCacheLifetime, Math.max(limits.minClientMetadataCacheLifetime, age))
}

function unusableDocumentError(reason: string): errors.InvalidClient {
  const error = new errors.InvalidClient('the client metadata document cannot be used', reason)
  error.error_description = `the client metadata document cannot be used. ${reason}`
  error.allow_redirect = false
  return error
}
