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
  readonly accountId: string
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
  /** The entries by issuer and URL, so that issuers do not share entries. */
  entries: LRUCache<string, CacheEntry>
  /** The keys of the entries of each account, the least recently added first. */
  keysByAccount: Map<string, Set<string>>
  /** Number of pending requests by `process`, account id and issuer id. */
  pendingCounts: Map<string, number>
}

/** The issuer whose clients and agents have the keys. */
export interface KeyOwner {
  readonly id: string
  readonly accountId: string
}

/** How many key sets an assertion may still request. */
export interface FetchBudget {
  remaining: number
}

const caches = new WeakMap<Outbound, Cache>()

function cacheOf({ outbound }: Context): Cache {
  let cache = caches.get(outbound)
  if (!cache) {
    const keysByAccount = new Map<string, Set<string>>()
    const entries = new LRUCache<string, CacheEntry>({
      max: limits.maxCachedKeySets,
      dispose: ({ accountId }, key) => {
        const keys = keysByAccount.get(accountId)
        keys?.delete(key)
        if (keys?.size === 0) keysByAccount.delete(accountId)
      },
    })
    cache = { entries, keysByAccount, pendingCounts: new Map() }
    caches.set(outbound, cache)
  }
  return cache
}

const cacheKey = ({ id }: KeyOwner, uri: string): string => `${id} ${uri}`

/** Adds an entry, and removes the oldest entry of an account that has its share of the cache. */
function addEntry({ entries, keysByAccount }: Cache, { accountId }: KeyOwner, key: string): CacheEntry {
  const accountKeys = keysByAccount.get(accountId) ?? new Set<string>()
  if (accountKeys.size >= limits.maxCachedKeySetsPerAccount) entries.delete(accountKeys.values().next().value!)
  const entry: CacheEntry = {
    accountId,
    keys: [],
    freshUntil: 0,
    requestedAt: -limits.keySetFetchInterval,
    error: undefined,
    pending: undefined,
  }
  entries.set(key, entry)
  // The removal of the last entry of an account deletes its set.
  keysByAccount.set(accountId, accountKeys.add(key))
  return entry
}

/** Keys of `jwks` settings, which are cached with the row of the client. */
const storedKeys = new WeakMap<object, KeySet>()

/**
 * Returns the keys of a source.
 * @param reload request the keys of a `jwks_uri` again although they are fresh, because none of them has verified a
 *   signature. The keys are requested at most once per `keySetFetchInterval`.
 * @param budget is reduced by a request. Without a remaining request, only fresh keys are returned.
 * @returns undefined if `reload` is set and the keys were not requested again
 */
export async function loadKeys(
  context: Context,
  issuer: KeyOwner,
  source: KeySource,
  { reload, budget }: { reload: boolean; budget: FetchBudget },
): Promise<KeySet | undefined> {
  const { jwks, jwksUri } = source
  if (typeof jwksUri === 'string') return loadRemoteKeys(context, issuer, jwksUri, reload, budget)
  if (reload || !jwks) return reload ? undefined : { keys: [], error: 'there are no keys' }
  const keySet = storedKeys.get(jwks) ?? { keys: readPublicKeys(jwks) ?? [] }
  storedKeys.set(jwks, keySet)
  return keySet
}

/**
 * Returns the sources in the order in which their keys are requested: first those whose cached keys have the `kid`, then
 * those whose last request is the longest ago, so that each is requested after a few assertions.
 */
export function inRequestOrder(
  context: Context,
  issuer: KeyOwner,
  sources: readonly KeySource[],
  kid: unknown,
): readonly KeySource[] {
  if (sources.length <= limits.maxKeySetFetchesPerAssertion) return sources
  const { entries } = cacheOf(context)
  const ranked = sources.map((source) => {
    const entry = typeof source.jwksUri === 'string' ? entries.peek(cacheKey(issuer, source.jwksUri)) : undefined
    const hasKid = kid !== undefined && entry?.keys.some((key) => key.kid === kid)
    return { source, rank: hasKid ? Number.NEGATIVE_INFINITY : (entry?.requestedAt ?? -limits.keySetFetchInterval) }
  })
  return ranked
    .sort((one, other) => (one.rank < other.rank ? -1 : Number(one.rank > other.rank)))
    .map(({ source }) => source)
}

async function loadRemoteKeys(
  context: Context,
  issuer: KeyOwner,
  uri: string,
  reload: boolean,
  budget: FetchBudget,
): Promise<KeySet | undefined> {
  const cache = cacheOf(context)
  const key = cacheKey(issuer, uri)
  const entry = cache.entries.get(key) ?? addEntry(cache, issuer, key)
  const now = context.now()
  const isDue = now - entry.requestedAt >= limits.keySetFetchInterval
  const isRequested = entry.pending !== undefined || (isDue && (reload || now >= entry.freshUntil))
  if (isRequested && !entry.pending && budget.remaining <= 0)
    return reload ? undefined : { keys: [], error: 'too many key sets of this agent are not cached; try again' }
  if (isRequested) await (entry.pending ?? startFetch(context, cache, issuer, entry, uri, budget))
  else if (reload) return undefined
  const isUsable = context.now() < entry.freshUntil + limits.staleKeySetLifetime
  return { keys: isUsable ? entry.keys : [], error: entry.error }
}

/** Requests the keys of a URL. Concurrent calls wait for the same request. Never throws because of the response. */
function startFetch(
  context: Context,
  { pendingCounts }: Cache,
  { id, accountId }: KeyOwner,
  entry: CacheEntry,
  uri: string,
  budget: FetchBudget,
): Promise<void> {
  const shares: [string, number][] = [
    ['process', limits.maxConcurrentKeySetFetches],
    [accountId, limits.maxConcurrentKeySetFetchesPerAccount],
    [id, limits.maxConcurrentKeySetFetchesPerIssuer],
  ]
  if (shares.some(([name, maximum]) => (pendingCounts.get(name) ?? 0) >= maximum)) {
    entry.error = 'too many key sets are being requested'
    return Promise.resolve()
  }
  budget.remaining--
  entry.requestedAt = context.now()
  for (const [name] of shares) pendingCounts.set(name, (pendingCounts.get(name) ?? 0) + 1)
  entry.pending = fetchKeys(context, uri)
    .then((result) => {
      entry.error = 'error' in result ? result.error : undefined
      if ('error' in result) return
      entry.keys = result.keys
      entry.freshUntil = context.now() + result.lifetime
    })
    .finally(() => {
      for (const [name] of shares) {
        const count = pendingCounts.get(name)! - 1
        if (count === 0) pendingCounts.delete(name)
        else pendingCounts.set(name, count)
      }
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
