import type DataLoader from 'dataloader'
import type { Config } from '../config.js'
import type { Actor, RequestInfo } from '../kernel/context.js'
import type { Clock } from '../kernel/time.js'
import type { Encryptor } from './crypto/secrets.js'
import type { RateLimiter } from './http/rate-limiter.js'
import type { Log } from './log.js'
import type { Mailer } from './mail/transport.js'
import type { Metrics } from './metrics.js'
import type { Outbound } from './outbound/outbound.js'
import type { Database, DatabaseHandle } from './postgres/database.js'

/** The services of one process. `createGatehouse` in src/server/root-context.ts creates them once, at startup. */
export interface Gatehouse {
  readonly config: Config
  readonly now: Clock
  readonly database: DatabaseHandle
  readonly log: Log
  readonly metrics: Metrics
  readonly encryptor: Encryptor
  readonly rateLimiter: RateLimiter
  /** The HTTP client for every request to an external URL. */
  readonly outbound: Outbound
  readonly mailer: Mailer
  /**
   * The price of an operation in micro-USD, by the name of its GraphQL root field
   * (docs/contract.md#account-ledger-and-payment-method-fields). Other operations are free.
   */
  readonly prices: Readonly<Record<string, number>>
}

/**
 * The first argument of every operation: the services of the process, the actor, and the database or the current
 * transaction.
 */
export interface Context extends Gatehouse {
  /** The Prisma models, on the current transaction, or on the pool outside of a transaction. */
  readonly db: Database
  /**
   * Runs one prepared statement in the current transaction, or on the pool outside of a transaction. For frequent
   * statements.
   */
  readonly query: DatabaseHandle['query']
  readonly actor: Actor
  readonly request: RequestInfo
  /** The DataLoaders of the request by their batch function. They are never shared between requests. */
  readonly loaders: Map<unknown, DataLoader<string, unknown>>
  /**
   * Adds an item to a statement that runs right before COMMIT of the current transaction. Outside of a transaction the
   * statement runs immediately.
   */
  readonly beforeCommit: <T>(statement: PreCommitStatement<T>, item: T) => Promise<void>
  /**
   * Calls `work` after the current transaction has committed, or immediately outside of a transaction. `work` must not
   * throw.
   */
  readonly afterCommit: (work: () => void) => void
  /**
   * The results of external calls for the current transaction, by key; see `externalCall` in postgres/transaction.ts.
   */
  readonly externalResults?: ReadonlyMap<string, unknown>
  /**
   * Set for periodic jobs. When the signal is aborted, a job that works in batches returns after its current batch and
   * continues on its next run.
   */
  readonly stopSignal?: AbortSignal
  /** Set for requests to `/v1`: the root field for which the caller was authorized, which is not authorized again. */
  readonly authorizedField?: string
  /** Set for requests to `/v1`: the checked input of the mutation, which is not checked again. */
  readonly checkedInput?: object | undefined
  /** Set for requests with a streaming response. */
  readonly stream?: ResponseStream
}

/** A statement that runs right before COMMIT, once for all items that the transaction has added with `beforeCommit`. */
export interface PreCommitStatement<T> {
  /** The name of the prepared statement. Each name must always have the same text. */
  readonly name: string
  readonly text: string
  /** Returns the parameters of the statement for these items. */
  values(items: T[]): unknown[]
  /** Called after COMMIT with the items and the rows that the statement returned. Must not throw. */
  onCommitted(tools: DatabaseHandle, all: T[], rows: unknown[]): void
}

/** A streaming response, such as server-sent events. */
export interface ResponseStream {
  /** A signal that is aborted when the response ends. */
  readonly signal: AbortSignal
  /**
   * The Last-Event-ID header: the ID of the last event that the client received before it reconnected; undefined if the
   * client did not send the header.
   */
  readonly lastEventId: string | undefined
  /**
   * Authenticates the caller again and returns a context with the current permissions of the caller.
   * @throws unauthorized when the credential is no longer valid
   */
  reauthenticate(): Promise<Context>
  /**
   * Checks that the caller still has the permissions that the stream requires.
   * @throws ApiError when the caller has lost a permission
   */
  requireStillAuthorized(): Promise<void>
}

/** Creates the context of one request or job. */
export function contextFor(gatehouse: Gatehouse, actor: Actor, request: RequestInfo): Context {
  const context: Context = {
    ...gatehouse,
    db: gatehouse.database.prisma,
    query: gatehouse.database.query,
    actor,
    request,
    loaders: new Map(),
    beforeCommit: async ({ name, text, values, onCommitted }, item) =>
      onCommitted(gatehouse.database, [item], await gatehouse.database.query(name, text, values([item]))),
    afterCommit: (work) => work(),
  }
  return context
}
