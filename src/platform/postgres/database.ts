/**
 * The database connections of a process: Prisma for ordinary queries and prepared statements for frequent queries, on
 * one connection pool. Code that writes more than one row must use `transaction`.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { limits } from '../../kernel/limits.js'
import { bindTraceContext, traceQueries } from '../tracing.js'
import { throwTranslated } from './errors.js'
import { Prisma, PrismaClient } from './prisma/client.js'
import { type BatchQuery, coalesce } from './query-coalescing.js'
import { TransactionConnection } from './transaction-connection.js'

export type * from './prisma/client.js'
export { Prisma }

/** The Prisma models, on the pool or on the connection of a transaction. */
export type Database = Prisma.TransactionClient

/** The database connections of the process. */
export interface DatabaseHandle {
  readonly prisma: PrismaClient
  readonly pool: pg.Pool
  /**
   * Runs one prepared statement outside of a transaction.
   * @param name the name of the prepared statement. Each name must always have the same text. A statement with an empty
   *   name is not prepared, so PostgreSQL plans it for its values each time.
   */
  query<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]>
  /** Like `query`, but concurrent calls with the same `batchQuery` share one statement (query-coalescing.ts). */
  queryCoalesced<Row extends pg.QueryResultRow>(batchQuery: BatchQuery, values: readonly unknown[]): Promise<Row[]>
  close(): Promise<void>
}

// BIGINT columns contain times in milliseconds and other values that are always safe integers, so they are read as
// numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** The object in which `TransactionPool` stores the connection that Prisma takes for a new transaction. */
export const openingTransaction = new AsyncLocalStorage<{ connection?: TransactionConnection }>()

/**
 * A pool that records which connection Prisma uses for a transaction, so that prepared statements can run on that
 * connection.
 */
class TransactionPool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    if (callback) {
      super.connect(bindTraceContext(callback))
      return undefined
    }
    const transaction = openingTransaction.getStore()
    return super.connect().then((client) => {
      if (!transaction || transaction.connection) return client
      transaction.connection = new TransactionConnection(client)
      return transaction.connection as unknown as pg.PoolClient
    })
  }
}

/**
 * Opens the database. Does not fail if the database is unreachable, because the first query opens the first connection.
 * @param connections the maximum number of connections in the pool
 * @param silence the time in milliseconds after which a server that does not respond to a statement counts as
 *   unreachable
 * @param name the application name of the connections in pg_stat_activity
 */
export function openDatabase(
  url: string,
  { connections = 20, silence: unresponsiveTimeout = limits.databaseUnresponsiveTimeout, name = 'gatehouse' } = {},
): DatabaseHandle {
  const pool = new TransactionPool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: limits.databaseConnectTimeout,
    idleTimeoutMillis: limits.databaseIdleConnectionTimeout,
    statement_timeout: limits.databaseStatementTimeout,
    lock_timeout: limits.databaseLockTimeout,
    idle_in_transaction_session_timeout: 2 * limits.databaseTransactionTimeout,
    application_name: name,
  })
  // The pool replaces a broken idle connection. Without a listener, the error event would end the process.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    // A connection that breaks while it is checked out and runs no statement also emits an error event.
    client.on('error', () => {})
    destroyWhenUnresponsive(client as unknown as DriverConnection, unresponsiveTimeout)
    traceQueries(client)
  })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: false }) })
  const run = async (name: string, text: string, values: unknown[]) => (await pool.query({ name, text, values })).rows
  const coalescers = new Map<string, ReturnType<typeof coalesce>>()
  return {
    prisma,
    pool,
    query: (name, text, values) => run(name, text, values).catch(throwTranslated),
    queryCoalesced: async <Row>(batchQuery: BatchQuery, values: readonly unknown[]) => {
      let coalescer = coalescers.get(batchQuery.name)
      if (!coalescer) {
        coalescer = coalesce(batchQuery, run)
        coalescers.set(batchQuery.name, coalescer)
      }
      return (await coalescer(values).catch(throwTranslated)) as Row[]
    },
    close: async () => {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}

/** Properties of the driver's connection that its types do not declare. */
interface DriverConnection {
  /** True when no statement is running. */
  readonly readyForQuery: boolean
  readonly connection: { readonly stream: Socket }
}

/**
 * Closes a connection whose server does not respond, for example after a network failure. Otherwise its statement would
 * wait without limit. The query timeout of the driver is not suitable: it returns the connection to the pool, although
 * the transaction on the connection may still be open.
 */
function destroyWhenUnresponsive(client: DriverConnection, timeout: number): void {
  const { stream } = client.connection
  stream.setTimeout(timeout)
  stream.on('timeout', () => {
    if (!client.readyForQuery) stream.destroy()
  })
}

/** Runs one statement in the transaction of `db`, or on the pool if `db` has no transaction, and returns its rows. */
export async function sql<Row>(db: Database, text: string, ...values: unknown[]): Promise<Row[]> {
  return db.$queryRawUnsafe<Row[]>(text, ...values)
}
