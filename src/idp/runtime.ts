/**
 * Issuers as they are served: everything about one that a request needs, read once, kept in memory, never changed. A
 * change makes a new runtime; requests in flight keep the one they began with. Notices between processes say when; a
 * version check now and then is the net for a notice that never came. An issuer has one runtime for each name that it
 * is served under: the IdP's own address, and its custom domains.
 */
import { LRUCache } from 'lru-cache'
import { SECOND } from '../kernel/time.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { listen, type Subscription } from '../platform/notify.js'
import { publicKeySet, type SigningKey, signingKeysOf } from '../resources/issuer-keys.js'
import { issuerUrl, readIssuerUrl } from '../resources/issuer-url.js'
import type { AuthMethodKind } from '../resources/issuers/auth-methods.js'
import { type MethodSettings, secretsSql } from '../resources/issuers/readiness.js'
import type { IssuerSettings } from '../resources/issuers/settings.js'
import { cookieKeys } from './cookie-keys.js'
import { documentsEnabled } from './documents/index.js'
import { metadataDocument } from './endpoints/discovery.js'
import { documentOf, type StaticDocument } from './endpoints/documents.js'
import { KEY_SET_CACHING } from './endpoints/key-set.js'
import { keyStoreFor } from './signer.js'

/** Live issuers kept per process. */
const KEPT = 5000
/** Without a notice, an issuer is compared with the database this often (milliseconds). */
const CHECK_INTERVAL = 10 * SECOND
/** As many are compared at once, with others that will be due soon: one by one they would ask all the time. */
const COMPARED = 100
/** As long as a transaction may take that has announced a change: until its notice comes, memory is not believed. */
const PENDING = 20 * SECOND

/** An authentication method (spec 2.4) that may be used to sign in or to sign up; its secrets are not read. */
export interface MethodFacts {
  readonly id: string
  readonly kind: AuthMethodKind
  readonly name: string
  readonly login: boolean
  readonly signup: boolean
  readonly settings: MethodSettings['settings']
  /** What is known of its secrets, without the ciphertext. */
  readonly secrets: MethodSettings['secrets']
}

export interface IssuerFacts {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly status: string
  readonly settings: IssuerSettings
  /** Custom domains that it is served under. */
  readonly hosts: readonly string[]
  /** How people sign in here, featured ones first, then in the order in which they were made. */
  readonly methods: readonly MethodFacts[]
  readonly version: string
}

export interface Runtime {
  readonly issuer: IssuerFacts
  /** The issuer identifier: `{IDP_URL}/{issuer_id}`, or that under a custom domain. */
  readonly url: string
  /** The same, taken apart once. */
  readonly address: URL
  /** The custom domain of that name; null for the IdP's own address. */
  readonly host: string | null
  readonly keys: readonly SigningKey[]
  readonly metadata: StaticDocument
  readonly keySet: StaticDocument
  /** When the database last agreed that all of this is current (Unix milliseconds). */
  readonly confirmedAt: number
  /** Made when first asked for: discovery and keys are served without it. */
  readonly keyStore: ReturnType<typeof keyStoreFor>
  /** What cookies are signed with: a key of the issuer's own (security rule 10). */
  readonly cookieKeys: ReturnType<typeof cookieKeys>
  /** The same issuer under another of its names; undefined for a name that is not its own. */
  named(url: string): Runtime | undefined
}

export interface Runtimes {
  /**
   * The runtime of a living issuer under the name that a request came by; undefined for an unknown or deleted one, and
   * for every other issuer under a domain that is somebody's. A host that is nobody's is taken for the IdP's own.
   * @param host the host name that was asked for; null for the IdP's own
   * @param evenStale for documents: while the database is away, what is in memory is better than nothing
   */
  of(context: Context, issuerId: string, host: string | null, evenStale?: boolean): Promise<Runtime | undefined>
  close(): Promise<void>
}

interface Entry {
  runtime: Runtime
  /** Shared with the runtime under each of its names. */
  confirmed: Confirmed
  /** 0: the database is asked before the next use. */
  checkedAt: number
}

interface Confirmed {
  at: number
}

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
const takenText = 'SELECT 1 AS taken FROM domains WHERE host = $1 AND verified AND issuer_id IS NOT NULL'

/** The runtimes of one process. */
export function openRuntimes(gatehouse: Gatehouse): Runtimes {
  const kept = new LRUCache<string, Entry>({ max: KEPT })
  const building = new Map<string, Promise<Runtime | undefined>>()
  const comparing = new Map<string, Promise<void>>()
  const pending = new LRUCache<string, number>({ max: 10_000 })
  /** Hosts that are not the issuer's that was asked for under them: are they another's? Anybody can invent one. */
  const strangers = new LRUCache<string, { taken: boolean; checkedAt: number }>({ max: 1000 })
  let doubtfulUntil = 0
  // Raised whenever anything is dropped, so that a build that read the old rows is not kept.
  let generation = 0

  const subscription: Subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice(topic, id) {
      if (topic !== 'issuer') return
      generation++
      kept.delete(id)
      pending.delete(id)
      strangers.clear()
    },
    onPending(topic, id) {
      if (topic !== 'issuer') return
      doubtfulUntil = gatehouse.now() + PENDING
      pending.set(id, doubtfulUntil)
    },
    onReconnect() {
      generation++
      for (const entry of kept.values()) entry.checkedAt = 0
      strangers.clear()
    },
  })

  async function build(context: Context, issuerId: string): Promise<Runtime | undefined> {
    const began = generation
    const confirmed = { at: context.now() }
    const [issuer] = await context.tools.query<IssuerFacts & Record<string, unknown>>('idp-issuer', factsText, [
      issuerId,
    ])
    if (!issuer) {
      kept.delete(issuerId)
      return undefined
    }
    const runtime = makeRuntime(context, issuer, await signingKeysOf(context, issuerId), confirmed)
    if (began === generation) kept.set(issuerId, { runtime, confirmed, checkedAt: confirmed.at })
    return runtime
  }

  /** Requests that miss at the same moment share one build. */
  function fresh(context: Context, issuerId: string): Promise<Runtime | undefined> {
    let work = building.get(issuerId)
    if (!work) {
      work = build(context, issuerId).finally(() => building.delete(issuerId))
      building.set(issuerId, work)
    }
    return work
  }

  /** Is this host the custom domain of some issuer? */
  async function isTaken(context: Context, host: string): Promise<boolean> {
    const known = strangers.get(host)
    const now = context.now()
    const believed = subscription.connected() && now >= doubtfulUntil
    if (known && believed && now - known.checkedAt < CHECK_INTERVAL) return known.taken
    const began = generation
    const taken = (await context.tools.query('idp-taken-host', takenText, [host])).length > 0
    if (began === generation) strangers.set(host, { taken, checkedAt: now })
    return taken
  }

  /** Finds out which entries the database agrees with; the others count as never checked from then on. */
  function compare(context: Context, entries: ReadonlyMap<string, Entry>): Promise<void> {
    const now = context.now()
    const done = context.tools
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
        for (const id of entries.keys()) comparing.delete(id)
      })
    for (const id of entries.keys()) comparing.set(id, done)
    return done
  }

  function withOthers(issuerId: string, entry: Entry, now: number): Map<string, Entry> {
    const due = new Map([[issuerId, entry]])
    for (const [id, other] of kept.entries()) {
      if (due.size === COMPARED) break
      if (!comparing.has(id) && now - other.checkedAt >= CHECK_INTERVAL / 2) due.set(id, other)
    }
    return due
  }

  async function current(context: Context, issuerId: string, evenStale: boolean): Promise<Runtime | undefined> {
    const entry = kept.get(issuerId)
    if (!entry) return fresh(context, issuerId)
    const now = context.now()
    const believed = subscription.connected() && (pending.get(issuerId) ?? 0) <= now
    if (believed && now - entry.checkedAt < CHECK_INTERVAL) return entry.runtime
    try {
      // In doubt only an answer counts that was asked for now.
      if (!believed) await compare(context, new Map([[issuerId, entry]]))
      else await (comparing.get(issuerId) ?? compare(context, withOthers(issuerId, entry, now)))
      if (entry.checkedAt === 0) return await (believed ? fresh : build)(context, issuerId)
    } catch (error) {
      if (!evenStale) throw error
    }
    return entry.runtime
  }

  return {
    async of(context, issuerId, host, evenStale = false) {
      const own = await current(context, issuerId, evenStale)
      if (!own || host === null) return own
      const named = own.named(issuerUrl(context.config, issuerId, host))
      if (named) return named
      const taken = await isTaken(context, host).catch((error) => {
        if (!evenStale) throw error
        return false
      })
      return taken ? undefined : own
    },
    close: () => subscription.close(),
  }
}

/** The runtime under the IdP's own address, from which those under other names are reached. */
function makeRuntime(context: Context, issuer: IssuerFacts, keys: SigningKey[], confirmed: Confirmed): Runtime {
  const keySet = documentOf('application/jwk-set+json', KEY_SET_CACHING, publicKeySet(keys))
  let keyStore: Runtime['keyStore'] | undefined
  let cookies: Runtime['cookieKeys'] | undefined
  const byHost = new Map<string | null, Runtime>()

  function at(host: string | null): Runtime {
    let runtime = byHost.get(host)
    if (!runtime) {
      runtime = under(host)
      byHost.set(host, runtime)
    }
    return runtime
  }

  function under(host: string | null): Runtime {
    const url = issuerUrl(context.config, issuer.id, host)
    const runtime: Runtime = {
      issuer,
      url,
      address: new URL(url),
      host,
      keys,
      metadata: documentOf(
        'application/json',
        'public, max-age=3600',
        metadataDocument(url, documentsEnabled(issuer.settings)),
      ),
      keySet,
      get confirmedAt() {
        return confirmed.at
      },
      get keyStore() {
        keyStore ??= keyStoreFor(context, keys)
        return keyStore
      },
      get cookieKeys() {
        cookies ??= cookieKeys(context.sealer, issuer.id)
        return cookies
      },
      named(text) {
        const name = readIssuerUrl(context.config, text)
        const isOurs = name?.issuerId === issuer.id && (name.host === null || issuer.hosts.includes(name.host))
        return isOurs ? at(name.host) : undefined
      },
    }
    return runtime
  }
  return at(null)
}
