/**
 * Issuers as they are served: everything about one that a request needs, read once, kept in memory, never changed. A
 * change makes a new runtime; requests in flight keep the one they began with. Notices between processes say when; a
 * version check now and then is the net for a notice that never came.
 */
import { LRUCache } from 'lru-cache'
import { SECOND } from '../kernel/time.js'
import type { Context, Gatehouse } from '../platform/context.js'
import { listen, type Subscription } from '../platform/notify.js'
import type { AuthMethodKind } from '../resources/issuers/auth-methods.js'
import type { IssuerSettings } from '../resources/issuers/settings.js'
import { publicKeySet, type SigningKey, signingKeysOf } from '../resources/issuers/signing-keys.js'
import { metadataDocument } from './endpoints/discovery.js'
import { documentOf, type StaticDocument } from './endpoints/documents.js'
import { makeProvider, type OpenIdProvider } from './provider.js'

/** Live issuers kept per process; one costs about 100 KB once it has served a token. */
const KEPT = 2000
/** Without a notice, an issuer is compared with the database this often (milliseconds). */
const CHECK_INTERVAL = 10 * SECOND
/** As long as a transaction may take that has announced a change: until its notice comes, memory is not believed. */
const PENDING = 20 * SECOND

/** An authentication method (spec 2.4) that may be used to sign in or to sign up; its secrets stay in the database. */
export interface MethodFacts {
  readonly id: string
  readonly kind: AuthMethodKind
  readonly name: string
  readonly login: boolean
  readonly signup: boolean
  readonly settings: Readonly<Record<string, unknown>>
}

export interface IssuerFacts {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly status: string
  readonly settings: IssuerSettings
  /** How people sign in here, featured ones first, then in the order in which they were made. */
  readonly methods: readonly MethodFacts[]
  readonly version: string
}

export interface Runtime {
  readonly issuer: IssuerFacts
  /** The issuer identifier: `{IDP_URL}/{issuer_id}`. */
  readonly url: string
  readonly keys: readonly SigningKey[]
  readonly metadata: StaticDocument
  readonly keySet: StaticDocument
  /** Made when first asked for: discovery and keys are served without one. */
  readonly provider: OpenIdProvider
}

export interface Runtimes {
  /**
   * The runtime of a living issuer; undefined for an unknown or deleted one.
   * @param evenStale for documents: while the database is away, what is in memory is better than nothing
   */
  of(context: Context, issuerId: string, evenStale?: boolean): Promise<Runtime | undefined>
  close(): Promise<void>
}

interface Entry {
  runtime: Runtime
  checkedAt: number
}

const version = `concat(i.updated_at, '.', (SELECT concat(count(*), '.', sum(updated_at)) FROM auth_methods m WHERE m.issuer_id = i.id),
  '.', (SELECT concat(count(*), '.', max(created_at)) FROM signing_keys k WHERE k.issuer_id = i.id))`
const versionText = `SELECT ${version} AS version FROM issuers i WHERE i.id = $1 AND i.status <> 'deleted'`
const factsText = `
  SELECT i.id, i.account_id AS "accountId", i.name, i.status, i.settings, ${version} AS version,
    coalesce((SELECT json_agg(json_build_object('id', m.id, 'kind', m.method, 'name', m.name, 'login', m.enabled_login,
      'signup', m.enabled_signup, 'settings', m.settings) ORDER BY m.featured DESC, m.id)
      FROM auth_methods m WHERE m.issuer_id = i.id AND (m.enabled_login OR m.enabled_signup)), '[]') AS methods
  FROM issuers i WHERE i.id = $1 AND i.status <> 'deleted'`

/** The runtimes of one process. */
export function openRuntimes(gatehouse: Gatehouse): Runtimes {
  const kept = new LRUCache<string, Entry>({ max: KEPT })
  const building = new Map<string, Promise<Runtime | undefined>>()
  const pending = new LRUCache<string, number>({ max: 10_000 })
  // Raised whenever anything is dropped, so that a build that read the old rows is not kept.
  let generation = 0

  const subscription: Subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice(topic, id) {
      if (topic !== 'issuer') return
      generation++
      kept.delete(id)
      pending.delete(id)
    },
    onPending(topic, id) {
      if (topic === 'issuer') pending.set(id, gatehouse.now() + PENDING)
    },
    onReconnect() {
      generation++
      for (const entry of kept.values()) entry.checkedAt = 0
    },
  })

  async function build(context: Context, issuerId: string): Promise<Runtime | undefined> {
    const began = generation
    const [issuer] = await context.tools.query<IssuerFacts & Record<string, unknown>>('idp-issuer', factsText, [
      issuerId,
    ])
    if (!issuer) {
      kept.delete(issuerId)
      return undefined
    }
    const runtime = makeRuntime(context, issuer, await signingKeysOf(context, issuerId))
    if (began === generation) kept.set(issuerId, { runtime, checkedAt: context.now() })
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

  return {
    async of(context, issuerId, evenStale = false) {
      const entry = kept.get(issuerId)
      if (!entry) return fresh(context, issuerId)
      const now = context.now()
      const doubtful = (pending.get(issuerId) ?? 0) > now
      if (!doubtful && subscription.connected() && now - entry.checkedAt < CHECK_INTERVAL) return entry.runtime
      try {
        const [row] = await context.tools.query<{ version: string }>('idp-issuer-version', versionText, [issuerId])
        if (row?.version !== entry.runtime.issuer.version) return await build(context, issuerId)
        entry.checkedAt = now
      } catch (error) {
        if (!evenStale) throw error
      }
      return entry.runtime
    },
    close: () => subscription.close(),
  }
}

function makeRuntime(context: Context, issuer: IssuerFacts, keys: SigningKey[]): Runtime {
  const url = `${context.config.idpUrl}/${issuer.id}`
  let provider: OpenIdProvider | undefined
  const runtime: Runtime = {
    issuer,
    url,
    keys,
    metadata: documentOf('application/json', 'public, max-age=3600', metadataDocument(url)),
    keySet: documentOf(
      'application/jwk-set+json',
      'public, max-age=3600, s-maxage=3600, stale-if-error=120',
      publicKeySet(keys),
    ),
    get provider() {
      provider ??= makeProvider(context, runtime)
      return provider
    },
  }
  return runtime
}
