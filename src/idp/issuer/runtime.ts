/**
 * In-memory cache of issuers. A runtime contains everything that requests of an issuer need, with an immutable snapshot
 * of the issuer. After a change, new requests get a new runtime, and requests in progress keep the old one.
 * LISTEN/NOTIFY invalidates the cache, and a periodic version check detects changes whose notification was lost. An
 * issuer has one runtime for each host that serves it: the host of IDP_URL and each custom domain of the issuer.
 */
import { LRUCache } from 'lru-cache'
import { limits } from '../../kernel/limits.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { listen, type Subscription } from '../../platform/postgres/notifications.js'
import { publicJwkSet, type SigningKey, signingKeysOf } from '../../resources/issuer-keys.js'
import { issuerUrl, parseIssuerUrl } from '../../resources/issuer-url.js'
import type { AuthMethodKind } from '../../resources/issuers/auth-method.js'
import { type MethodSettings, secretsSql } from '../../resources/issuers/auth-method-readiness.js'
import type { IssuerSettings } from '../../resources/issuers/settings.js'
import { createIssuerMetadata } from '../endpoints/discovery.js'
import { KEY_SET_CACHE_CONTROL } from '../endpoints/key-set.js'
import { createStaticDocument, type StaticDocument } from '../endpoints/static-documents.js'
import { createCookieKeys } from './cookie-keys.js'
import { createKeyStore } from './signer.js'

/** An authentication method that is enabled for sign-in or sign-up, without its secrets. */
export interface AuthMethodSnapshot {
  readonly id: string
  readonly kind: AuthMethodKind
  readonly name: string
  readonly login: boolean
  readonly signup: boolean
  readonly settings: MethodSettings['settings']
  /** Metadata of the method's secrets, without the ciphertext. */
  readonly secrets: MethodSettings['secrets']
}

export interface IssuerSnapshot {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly status: string
  readonly settings: IssuerSettings
  /** Verified custom domains of the issuer. */
  readonly hosts: readonly string[]
  /** Enabled authentication methods of the issuer, featured ones first, then by creation. */
  readonly methods: readonly AuthMethodSnapshot[]
  /** A text that changes with every change of the issuer, its methods, keys or domains. */
  readonly version: string
}

export interface IssuerRuntime {
  readonly issuer: IssuerSnapshot
  /** The issuer identifier: `{IDP_URL}/{issuer_id}`, or the same path under a custom domain. */
  readonly url: string
  /** `url` as a URL object. */
  readonly parsedUrl: URL
  /** The custom domain of this runtime; null for the host of IDP_URL. */
  readonly host: string | null
  /** Signing keys, sorted by `signsFrom`. */
  readonly keys: readonly SigningKey[]
  readonly metadata: StaticDocument
  readonly keySet: StaticDocument
  /** When the database last confirmed this snapshot (Unix milliseconds). */
  readonly confirmedAt: number
  /** Created on first use, because discovery and the key set do not need it. */
  readonly keyStore: ReturnType<typeof createKeyStore>
  /** Cookie signing keys of this issuer (docs/contract.md#caches-and-cookies-per-tenant). */
  readonly cookieKeys: ReturnType<typeof createCookieKeys>
  /**
   * Returns the runtime of this issuer under another of its issuer identifiers; undefined if `url` is not an identifier
   * of this issuer.
   */
  withUrl(url: string): IssuerRuntime | undefined
}

export interface IssuerRuntimes {
  /**
   * Finds the runtime of an issuer under the requested host. A host that is not a custom domain counts as the host of
   * IDP_URL.
   * @param host the requested host name; null for the host of IDP_URL
   * @param allowStale use a cached runtime while the database is unavailable (for static documents)
   * @returns undefined if the issuer is unknown or deleted, or if the host is a custom domain of another issuer
   */
  find(
    context: Context,
    issuerId: string,
    host: string | null,
    allowStale?: boolean,
  ): Promise<IssuerRuntime | undefined>
  close(): Promise<void>
}

interface CacheEntry {
  /** The runtime for the host of IDP_URL. */
  runtime: IssuerRuntime
  /** Shared by the runtimes of all hosts of the issuer. */
  confirmed: Confirmation
  /** Time of the last version check in Unix milliseconds; 0 if the runtime may be outdated. */
  checkedAt: number
}

interface Confirmation {
  /** When the database last confirmed the snapshot (Unix milliseconds). */
  at: number
}

/** SQL: the version of an issuer `i` (`IssuerSnapshot.version`). */
const version = `concat(i.updated_at, '.', (SELECT concat(count(*), '.', sum(updated_at)) FROM auth_methods m WHERE m.issuer_id = i.id),
  '.', (SELECT concat(sum(hashtext(k.id)), '.', sum(k.signs_from)) FROM signing_keys k WHERE k.issuer_id = i.id),
  '.', (SELECT concat(count(*), '.', sum(updated_at)) FROM domains d WHERE d.account_id = i.account_id AND d.issuer_id = i.id))`
const versionsText = `SELECT i.id, ${version} AS version FROM issuers i WHERE i.id = ANY ($1) AND i.status <> 'deleted'`
const factsText = `
  SELECT i.id, i.account_id AS "accountId", i.name, i.status, i.settings, ${version} AS version,
    coalesce((SELECT json_agg(json_build_object('id', m.id, 'kind', m.method, 'name', m.name, 'login', m.enabled_login,
      'signup', m.enabled_signup, 'settings', m.settings, 'secrets', ${secretsSql}) ORDER BY m.featured DESC, m.id)
      FROM auth_methods m WHERE m.issuer_id = i.id AND (m.enabled_login OR m.enabled_signup)), '[]') AS methods,
    ARRAY(SELECT d.host FROM domains d WHERE d.account_id = i.account_id AND d.issuer_id = i.id AND d.verified) AS hosts
  FROM issuers i WHERE i.id = $1 AND i.status <> 'deleted'`
const domainTakenText = 'SELECT 1 AS taken FROM domains WHERE host = $1 AND verified AND issuer_id IS NOT NULL'

/** Opens the issuer cache of a process. */
export function openIssuerRuntimes(gatehouse: Gatehouse): IssuerRuntimes {
  const cache = new LRUCache<string, CacheEntry>({ max: limits.maxCachedIssuers })
  const pendingBuilds = new Map<string, Promise<IssuerRuntime | undefined>>()
  const pendingComparisons = new Map<string, Promise<void>>()
  const pendingChanges = new LRUCache<string, number>({ max: limits.maxPendingIssuerChanges })
  /**
   * Requested hosts that are not custom domains of the requested issuer, and whether any issuer has them as a custom
   * domain. The number of entries is limited, because callers can send any host name.
   */
  const foreignHosts = new LRUCache<string, { taken: boolean; checkedAt: number }>({
    max: limits.maxCachedForeignHosts,
  })
  // Until this time (Unix milliseconds), a transaction of this process may commit a change before its notification
  // arrives.
  let uncertainUntil = 0
  // Incremented on every invalidation, so that a runtime from older rows is not cached.
  let generation = 0

  const subscription: Subscription = listen(gatehouse.database, gatehouse.log, {
    onNotification(topic, id) {
      if (topic !== 'issuer') return
      generation++
      cache.delete(id)
      pendingChanges.delete(id)
      foreignHosts.clear()
    },
    onPending(topic, id) {
      if (topic !== 'issuer') return
      uncertainUntil = gatehouse.now() + limits.pendingIssuerChangeTimeout
      pendingChanges.set(id, uncertainUntil)
    },
    onReconnect() {
      generation++
      for (const entry of cache.values()) entry.checkedAt = 0
      foreignHosts.clear()
    },
  })

  async function build(context: Context, issuerId: string): Promise<IssuerRuntime | undefined> {
    const startGeneration = generation
    const confirmed = { at: context.now() }
    const runtime = await loadRuntime(context, issuerId, confirmed)
    if (!runtime) cache.delete(issuerId)
    else if (startGeneration === generation) cache.set(issuerId, { runtime, confirmed, checkedAt: confirmed.at })
    return runtime
  }

  /** Builds a runtime. Concurrent calls for an issuer share one build. */
  function buildOnce(context: Context, issuerId: string): Promise<IssuerRuntime | undefined> {
    let work = pendingBuilds.get(issuerId)
    if (!work) {
      work = build(context, issuerId).finally(() => pendingBuilds.delete(issuerId))
      pendingBuilds.set(issuerId, work)
    }
    return work
  }

  /** Checks whether a host is the custom domain of any issuer. */
  async function isDomainTaken(context: Context, host: string): Promise<boolean> {
    const cached = foreignHosts.get(host)
    const now = context.now()
    const isCacheTrusted = subscription.connected() && now >= uncertainUntil
    if (cached && isCacheTrusted && now - cached.checkedAt < limits.issuerVersionCheckInterval) return cached.taken
    const startGeneration = generation
    const taken = (await context.database.query('idp-taken-host', domainTakenText, [host])).length > 0
    if (startGeneration === generation) foreignHosts.set(host, { taken, checkedAt: now })
    return taken
  }

  /**
   * Compares the versions of cache entries with the database, and sets `checkedAt` to the current time, or to 0 for
   * outdated entries.
   */
  function compareVersions(context: Context, entries: ReadonlyMap<string, CacheEntry>): Promise<void> {
    const now = context.now()
    const done = context.database
      .query<{ id: string; version: string }>('idp-issuer-versions', versionsText, [[...entries.keys()]])
      .then((rows) => {
        const versions = new Map(rows.map(({ id, version }) => [id, version]))
        for (const [id, entry] of entries) {
          const isCurrent = versions.get(id) === entry.runtime.issuer.version
          entry.checkedAt = isCurrent ? now : 0
          if (isCurrent) entry.confirmed.at = now
        }
      })
      .finally(() => {
        for (const id of entries.keys()) pendingComparisons.delete(id)
      })
    for (const id of entries.keys()) pendingComparisons.set(id, done)
    return done
  }

  function withOtherDueEntries(issuerId: string, entry: CacheEntry, now: number): Map<string, CacheEntry> {
    const due = new Map([[issuerId, entry]])
    for (const [id, other] of cache.entries()) {
      if (due.size === limits.issuerVersionCheckBatchSize) break
      if (!pendingComparisons.has(id) && now - other.checkedAt >= limits.issuerVersionCheckInterval / 2)
        due.set(id, other)
    }
    return due
  }

  async function loadCurrent(
    context: Context,
    issuerId: string,
    allowStale: boolean,
  ): Promise<IssuerRuntime | undefined> {
    const entry = cache.get(issuerId)
    if (!entry) return buildOnce(context, issuerId)
    const now = context.now()
    const isCacheTrusted = subscription.connected() && (pendingChanges.get(issuerId) ?? 0) <= now
    if (isCacheTrusted && now - entry.checkedAt < limits.issuerVersionCheckInterval) return entry.runtime
    try {
      // An untrusted entry needs a comparison that starts now, because a pending comparison may have read older rows.
      if (!isCacheTrusted) await compareVersions(context, new Map([[issuerId, entry]]))
      else
        await (pendingComparisons.get(issuerId) ?? compareVersions(context, withOtherDueEntries(issuerId, entry, now)))
      if (entry.checkedAt === 0) return await (isCacheTrusted ? buildOnce : build)(context, issuerId)
    } catch (error) {
      if (!allowStale) throw error
    }
    return entry.runtime
  }

  return {
    async find(context, issuerId, host, allowStale = false) {
      const runtime = await loadCurrent(context, issuerId, allowStale)
      if (!runtime || host === null) return runtime
      const runtimeForHost = runtime.withUrl(issuerUrl(context.config, issuerId, host))
      if (runtimeForHost) return runtimeForHost
      const taken = await isDomainTaken(context, host).catch((error) => {
        if (!allowStale) throw error
        return false
      })
      return taken ? undefined : runtime
    },
    close: () => subscription.close(),
  }
}

/** Reads the runtime of an issuer from the database; undefined if the issuer is unknown or deleted. */
export async function loadRuntime(
  context: Context,
  issuerId: string,
  confirmed: Confirmation = { at: context.now() },
): Promise<IssuerRuntime | undefined> {
  const rows = context.database.query<IssuerSnapshot & Record<string, unknown>>('idp-issuer', factsText, [issuerId])
  const [issuer] = await rows
  return issuer && createRuntime(context, issuer, await signingKeysOf(context, issuerId), confirmed)
}

/** Creates the runtime for the host of IDP_URL. Its `withUrl` creates the runtimes for custom domains. */
function createRuntime(
  context: Context,
  issuer: IssuerSnapshot,
  keys: SigningKey[],
  confirmed: Confirmation,
): IssuerRuntime {
  const keySet = createStaticDocument('application/jwk-set+json', KEY_SET_CACHE_CONTROL, publicJwkSet(keys))
  let keyStore: IssuerRuntime['keyStore'] | undefined
  let cookies: IssuerRuntime['cookieKeys'] | undefined
  const byHost = new Map<string | null, IssuerRuntime>()

  function runtimeOf(host: string | null): IssuerRuntime {
    let runtime = byHost.get(host)
    if (!runtime) {
      runtime = createRuntimeFor(host)
      byHost.set(host, runtime)
    }
    return runtime
  }

  function createRuntimeFor(host: string | null): IssuerRuntime {
    const url = issuerUrl(context.config, issuer.id, host)
    const runtime: IssuerRuntime = {
      issuer,
      url,
      parsedUrl: new URL(url),
      host,
      keys,
      metadata: createStaticDocument(
        'application/json',
        'public, max-age=3600',
        createIssuerMetadata(url, issuer.settings, `${context.config.baseUrl}/docs`),
      ),
      keySet,
      get confirmedAt() {
        return confirmed.at
      },
      get keyStore() {
        keyStore ??= createKeyStore(context, keys)
        return keyStore
      },
      get cookieKeys() {
        cookies ??= createCookieKeys(context.encryptor, issuer.id)
        return cookies
      },
      withUrl(issuerIdentifier) {
        const name = parseIssuerUrl(context.config, issuerIdentifier)
        const isOurs = name?.issuerId === issuer.id && (name.host === null || issuer.hosts.includes(name.host))
        return isOurs ? runtimeOf(name.host) : undefined
      },
    }
    return runtime
  }
  return runtimeOf(null)
}
