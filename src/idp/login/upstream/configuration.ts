/**
 * Runs openid-client through the outbound client (docs/contract.md#outbound-requests), and caches provider
 * configurations.
 */
import { LRUCache } from 'lru-cache'
import {
  allowInsecureRequests,
  type ClientAuth,
  Configuration,
  type CustomFetch,
  customFetch,
  type DiscoveryRequestOptions,
  enableNonRepudiationChecks,
  fetchProtectedResource,
  type ServerMetadata,
} from 'openid-client'
import { limits } from '../../../kernel/limits.js'
import { isObject } from '../../../kernel/merge-patch.js'
import { parseJson } from '../../../kernel/safe-json.js'
import { SECOND } from '../../../kernel/time.js'
import type { Outbound } from '../../../platform/outbound/outbound.js'
import type { IssuerSnapshot } from '../../issuer/runtime.js'
import type { RequestContext } from '../../request-context.js'
import { upstreamFailed } from './upstream-error.js'

/** Creates a `fetch` for openid-client that sends requests through the outbound client. */
export const createOutboundFetch =
  (outbound: Outbound): CustomFetch =>
  async (url, { method, headers, body }) => {
    const response = await outbound.send({
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      ...(body === undefined || body === null ? {} : { body: String(body) }),
      timeout: limits.upstreamRequestTimeout,
      maxBody: limits.maxUpstreamResponseBytes,
    })
    const { 'content-encoding': _, ...responseHeaders } = response.headers
    const hasNoBody = response.status === 204 || response.status === 304
    return new Response(hasNoBody ? null : response.body, { status: response.status, headers: responseHeaders })
  }

/** Returns the options of openid-client's discovery. */
export const discoveryOptions = (request: RequestContext): DiscoveryRequestOptions => ({
  [customFetch]: createOutboundFetch(request.context.outbound),
  timeout: limits.upstreamRequestTimeout / SECOND,
  execute: configurationExtensions(request),
})

/**
 * Makes openid-client verify the signatures of ID tokens, instead of trusting the TLS connection with the provider. If
 * private networks are allowed, openid-client also accepts HTTP URLs.
 */
const configurationExtensions = ({ context }: RequestContext): ((config: Configuration) => void)[] => [
  ...(context.config.allowPrivateNetworks ? [allowInsecureRequests] : []),
  enableNonRepudiationChecks,
]

/** Creates the configuration of a provider whose endpoints need no discovery. */
export function createStaticConfiguration(
  request: RequestContext,
  server: ServerMetadata,
  clientId: string,
  auth: ClientAuth,
): Configuration {
  const config = new Configuration(server, clientId, undefined, auth)
  config[customFetch] = createOutboundFetch(request.context.outbound)
  config.timeout = limits.upstreamRequestTimeout / SECOND
  for (const extend of configurationExtensions(request)) extend(config)
  return config
}

interface CachedConfiguration {
  config: Promise<Configuration>
  expiresAt: number
}

// Configurations by issuer snapshot and method id. The snapshot is replaced when a method changes, so that a
// configuration always matches the settings of its method.
const configurationCaches = new WeakMap<IssuerSnapshot, LRUCache<string, CachedConfiguration>>()

/** Returns the configuration of a method. Concurrent requests share one creation; a failure is not cached. */
export function cachedConfiguration(
  { context, runtime }: RequestContext,
  methodId: string,
  createConfiguration: () => Promise<Configuration>,
): Promise<Configuration> {
  let issuerCache = configurationCaches.get(runtime.issuer)
  if (!issuerCache) {
    issuerCache = new LRUCache({ max: limits.maxCachedUpstreamConfigurations })
    configurationCaches.set(runtime.issuer, issuerCache)
  }
  const cached = issuerCache.get(methodId)
  if (cached && cached.expiresAt > context.now()) return cached.config
  const config = createConfiguration()
  issuerCache.set(methodId, { config, expiresAt: context.now() + limits.upstreamConfigurationCacheLifetime })
  config.catch(() => issuerCache.delete(methodId))
  return config
}

/**
 * Requests a protected resource of the provider with the user's access token, and parses its JSON.
 * @returns undefined for a status other than 200
 * @throws UpstreamError if the body is not valid JSON; the error of openid-client if the request fails
 */
export async function readResource(
  config: Configuration,
  accessToken: string,
  url: string,
): Promise<unknown | undefined> {
  const headers = new Headers({ accept: 'application/json' })
  const response = await fetchProtectedResource(config, accessToken, new URL(url), 'GET', undefined, headers)
  if (response.status !== 200) return undefined
  try {
    return parseJson(await response.text())
  } catch {
    throw upstreamFailed('bad_answer')
  }
}

/**
 * Requests a protected resource that must be a JSON object.
 * @throws UpstreamError if the status is not 200 or the body is not a JSON object; the error of openid-client if the
 *   request fails
 */
export async function readObjectResource(
  config: Configuration,
  accessToken: string,
  url: string,
): Promise<Record<string, unknown>> {
  const value = await readResource(config, accessToken, url)
  if (!isObject(value)) throw upstreamFailed('bad_answer')
  return value
}
