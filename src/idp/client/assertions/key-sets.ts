/**
 * The public keys of clients and agents, from their settings or from their `jwks_uri`
 * (docs/contract.md#client-assertions). Key sets are requested with the outbound client and cached in memory.
 */
import { LRUCache } from 'lru-cache'
import { limits } from '../../../kernel/limits.js'
import { SECOND } from '../../../kernel/time.js'
import type { Context } from '../../../platform/context.js'
import { type PublicKey, readPublicKeys } from '../../../platform/crypto/public-keys.js'
import { type Outbound, OutboundError } from '../../../platform/outbound/outbound.js'

/** Where the public keys of a client or of a verifier of an agent are. */
export interface KeySource {
  /** The verifier of an agent; undefined for a client. */
  readonly verifierId?: string | undefined
  readonly jwks?: object | null | undefined
  readonly jwksUri?: string | null | undefined
}

export interface KeySet {
  readonly keys: readonly PublicKey[]
  /** Why there are no keys, or why old keys are used; undefined if the keys are current. */
  readonly error?: string | undefined
}

interface CacheEntry {
  keys: readonly PublicKey[]
  /** Unix milliseconds. Until then, the keys are used without a request. */
  freshUntil: number
  /** Unix milliseconds of the start of the last request. */
  requestedAt: number
  /** Why the last request failed; undefined if it succeeded. */
  error: string | undefined
  pending: Promise<void> | undefined
}

interface Cache {
  entries: LRUCache<string, CacheEntry>
  pendingCount: number
}

const caches = new WeakMap<Outbound, Cache>()

function cacheOf({ outbound }: Context): Cache {
  let cache = caches.get(outbound)
  if (!cache) {
    cache = { entries: new LRUCache({ max: limits.maxCachedKeySets }), pendingCount: 0 }
    caches.set(outbound, cache)
  }
  return cache
}

/** Keys of `jwks` settings, which are cached with the row of the client. */
const storedKeys = new WeakMap<object, KeySet>()

/**
 * Returns the keys of a source.
 * @param reload request the keys of a `jwks_uri` again although they are fresh, because none of them has verified a
 *   signature. The keys are requested at most once per `keySetFetchInterval`.
 * @returns undefined if `reload` is set and the keys were not requested again
 */
export async function loadKeys(context: Context, source: KeySource, reload: boolean): Promise<KeySet | undefined> {
  const { jwks, jwksUri } = source
  if (typeof jwksUri === 'string') return loadRemoteKeys(context, jwksUri, reload)
  if (reload || !jwks) return reload ? undefined : { keys: [], error: 'there are no keys' }
  const keySet = storedKeys.get(jwks) ?? { keys: readPublicKeys(jwks) ?? [] }
  storedKeys.set(jwks, keySet)
  return keySet
}

async function loadRemoteKeys(context: Context, uri: string, reload: boolean): Promise<KeySet | undefined> {
  const cache = cacheOf(context)
  let entry = cache.entries.get(uri)
  if (!entry) {
    entry = { keys: [], freshUntil: 0, requestedAt: -limits.keySetFetchInterval, error: undefined, pending: undefined }
    cache.entries.set(uri, entry)
  }
  const now = context.now()
  const isDue = now - entry.requestedAt >= limits.keySetFetchInterval
  const isRequested = entry.pending !== undefined || (isDue && (reload || now >= entry.freshUntil))
  if (isRequested) await (entry.pending ?? startFetch(context, cache, entry, uri, now))
  else if (reload) return undefined
  const isUsable = context.now() < entry.freshUntil + limits.staleKeySetLifetime
  return { keys: isUsable ? entry.keys : [], error: entry.error }
}

/** Requests the keys of a URL. Concurrent calls wait for the same request. Never throws because of the response. */
function startFetch(context: Context, cache: Cache, entry: CacheEntry, uri: string, now: number): Promise<void> {
  if (cache.pendingCount >= limits.maxConcurrentKeySetFetches) {
    entry.error = 'too many key sets are being requested'
    return Promise.resolve()
  }
  entry.requestedAt = now
  cache.pendingCount++
  entry.pending = fetchKeys(context, uri)
    .then((result) => {
      entry.error = 'error' in result ? result.error : undefined
      if ('error' in result) return
      entry.keys = result.keys
      entry.freshUntil = context.now() + result.lifetime
    })
    .finally(() => {
      cache.pendingCount--
      entry.pending = undefined
    })
  return entry.pending
}

type FetchResult = { keys: PublicKey[]; lifetime: number } | { error: string }

/** Requests a key set. An error contains no text of the response. */
async function fetchKeys({ outbound }: Context, uri: string): Promise<FetchResult> {
  try {
    const { status, headers, body } = await outbound.send({
      url: uri,
      headers: { accept: 'application/jwk-set+json, application/json' },
      timeout: limits.keySetFetchTimeout,
      maxBody: limits.maxKeySetBytes,
    })
    if (status !== 200) return { error: `jwks_uri responded with status ${status}; expected 200` }
    if (!/^application\/([\w.-]+\+)?json\s*(;|$)/i.test(headers['content-type'] ?? ''))
      return { error: 'the Content-Type of jwks_uri is not JSON' }
    const keys = readPublicKeys(parseJson(body))
    if (!keys) return { error: `jwks_uri has no JSON Web Key Set of at most ${limits.maxPublicKeys} keys` }
    return { keys, lifetime: cacheLifetimeOf(headers['cache-control']) }
  } catch (error) {
    if (error instanceof OutboundError) return { error: `jwks_uri cannot be read: ${error.message}` }
    throw error
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function cacheLifetimeOf(cacheControl = ''): number {
  const age = Number(/(?:^|[,\s])max-age\s*=\s*"?(\d{1,9})/i.exec(cacheControl)?.[1] ?? 0) * SECOND
  return Math.min(limits.maxKeySetCacheLifetime, Math.max(limits.minKeySetCacheLifetime, age))
}
