import type DataLoader from 'dataloader'
import type { Config } from '../config.js'
import type { Actor, RequestFacts } from '../kernel/context.js'
import type { Clock } from '../kernel/time.js'
import type { Database, Tools } from './database.js'
import type { Log } from './log.js'
import type { Postman } from './mail-transport.js'
import type { Metrics } from './metrics.js'
import type { Outbound } from './outbound.js'
import type { RateLimiter } from './rate-limit.js'
import type { Sealer } from './secrets.js'

/** What lives as long as the process. Made once by gatehouse.ts. */
export interface Gatehouse {
  readonly config: Config
  readonly now: Clock
  readonly tools: Tools
  readonly log: Log
  readonly metrics: Metrics
  readonly sealer: Sealer
  readonly rateLimiter: RateLimiter
  /** The only way to call other people's addresses. */
  readonly outbound: Outbound
  readonly postman: Postman
  /** What operations cost, in micro-USD, by the name of their root field (decisions D28). */
  readonly prices: Readonly<Record<string, number>>
}

/** What every operation gets first: the process's tools, who asks, and the database or the transaction in progress. */
export interface Context extends Gatehouse {
  readonly db: Database
  /** The same for what happens all the time: one prepared statement, in the transaction in progress or on the pool. */
  readonly query: Tools['query']
  readonly actor: Actor
  readonly request: RequestFacts
  /** DataLoaders of this request, by the function that fills them. Never shared between requests. */
  readonly loaders: Map<unknown, DataLoader<string, unknown>>
  /** Hands over what the transaction in progress is to write last; at once outside of one. */
  readonly beforeCommit: <T>(last: LastStatement<T>, one: T) => Promise<void>
  /** Does something when and if the transaction in progress commits; at once outside of one. It must not throw. */
  readonly afterCommit: (work: () => void) => void
  /** What the transaction in progress has asked of others, by name; see `outside` in database.ts. */
  readonly answers?: ReadonlyMap<string, unknown>
  /** Of a periodic job: it is to end soon, after the portion in hand. What is left waits for its next turn. */
  readonly stop?: AbortSignal
  /** Of a request whose answer stays open. */
  readonly stream?: Stream
}

/** What is written at the end of a transaction: one statement for all that was handed over for it. */
export interface LastStatement<T> {
  /** Of the prepared statement; one name, one text. */
  readonly name: string
  readonly text: string
  values(all: T[]): unknown[]
  /** Gets what the statement answered, once it has committed. It must not throw. */
  committed(tools: Tools, all: T[], rows: unknown[]): void
}

/** An answer that goes on for as long as its caller listens and may. */
export interface Stream {
  /** Ends with the answer. */
  readonly signal: AbortSignal
  /** What the caller had of it before it was cut off: the header Last-Event-ID. */
  readonly lastEventId: string | undefined
  /** The caller as it is now, with what it may do now. @throws unauthorized when its credential counts no more */
  readmit(): Promise<Context>
  /** @throws ApiError when the caller may not have what it listens to any more */
  stillAllowed(): Promise<void>
}

/** A context for one request or job. */
export function contextFor(gatehouse: Gatehouse, actor: Actor, request: RequestFacts): Context {
  const context: Context = {
    ...gatehouse,
    db: gatehouse.tools.prisma,
    query: gatehouse.tools.query,
    actor,
    request,
    loaders: new Map(),
    beforeCommit: async ({ name, text, values, committed }, one) =>
      committed(gatehouse.tools, [one], await gatehouse.tools.query(name, text, values([one]))),
    afterCommit: (work) => work(),
  }
  return context
}
