/**
 * The database: Prisma for what is ordinary, one prepared statement each for what is hot, both on one pool.
 * `transaction` is the only way to write more than one row.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Socket } from 'node:net'
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { ApiError, unavailable } from '../kernel/errors.js'
import { SECOND } from '../kernel/time.js'
import type { Context, LastStatement } from './context.js'
import { Prisma, PrismaClient } from './prisma/client.js'
import { sqlState } from './sql-state.js'
import { type Question, together } from './together.js'
import { keepTrace, traceQueries } from './tracing.js'
import { TransactionConnection } from './transaction-connection.js'

export type * from './prisma/client.js'
export { Prisma }

/** Every wait has a limit (milliseconds). */
const STATEMENT_TIMEOUT = 15 * SECOND
/** A server that says nothing for longer than a statement may take, not even that it takes too long, is not there. */
const SILENCE_TIMEOUT = STATEMENT_TIMEOUT + 2 * SECOND
const LOCK_TIMEOUT = 5 * SECOND
const CONNECT_TIMEOUT = 5 * SECOND
const TRANSACTION_TIMEOUT = 15 * SECOND
const ATTEMPTS = 5
/** Questions that one transaction asks of others, at most. */
const QUESTIONS = 10

/** Prisma's models, either on the pool or inside a transaction. */
export type Database = Prisma.TransactionClient

/** The process's own handles on the database. */
export interface Tools {
  readonly prisma: PrismaClient
  readonly pool: pg.Pool
  /**
   * Runs one prepared statement outside of any transaction.
   * @param name names the prepared statement; one name, one text. A statement without one ('') is planned anew each
   *   time, with its values
   */
  query<Row extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<Row[]>
  /** The same for a question that many requests ask at once: they share a statement, see together.ts. */
  ask<Row extends pg.QueryResultRow>(question: Question, values: readonly unknown[]): Promise<Row[]>
  close(): Promise<void>
}

// Milliseconds are BIGINT in the database and safe integers by the input gate: raw rows read them as numbers.
pg.types.setTypeParser(pg.types.builtins.INT8, Number)

/** The connection of the transaction that is being opened. */
const opening = new AsyncLocalStorage<{ connection?: TransactionConnection }>()

/** A pool that tells a transaction which connection Prisma has got for it, for statements beside Prisma. */
class Pool extends pg.Pool {
  override connect(): Promise<pg.PoolClient>
  override connect(callback: Parameters<pg.Pool['connect']>[0]): void
  override connect(callback?: Parameters<pg.Pool['connect']>[0]): Promise<pg.PoolClient> | undefined {
    if (callback) {
      super.connect(keepTrace(callback))
      return undefined
    }
    const transaction = opening.getStore()
    return super.connect().then((client) => {
      if (!transaction || transaction.connection) return client
      transaction.connection = new TransactionConnection(client)
      return transaction.connection as unknown as pg.PoolClient
    })
  }
}

/**
 * Connects lazily: opening never fails, the first query does.
 * @param silence milliseconds after which a server that says nothing counts as gone
 * @param name what the process's connections are called in pg_stat_activity
 */
export function openDatabase(
  url: string,
  { connections = 20, silence = SILENCE_TIMEOUT, name = 'gatehouse' } = {},
): Tools {
  const pool = new Pool({
    connectionString: url,
    max: connections,
    connectionTimeoutMillis: CONNECT_TIMEOUT,
    idleTimeoutMillis: 60 * SECOND,
    statement_timeout: STATEMENT_TIMEOUT,
    lock_timeout: LOCK_TIMEOUT,
    idle_in_transaction_session_timeout: 2 * TRANSACTION_TIMEOUT,
    application_name: name,
  })
  // An idle connection that breaks is replaced by the pool; without a listener the process would die of it.
  pool.on('error', () => {})
  pool.on('connect', (client) => {
    // The same for one that breaks while somebody holds it, as a job does, without a statement on its way.
    client.on('error', () => {})
    breakSilence(client as unknown as Wire, silence)
    traceQueries(client)
  })
  const prisma = new PrismaClient({ adapter: new PrismaPg(pool, { disposeExternalPool: false }) })
  const run = async (name: string, text: string, values: unknown[]) => (await pool.query({ name, text, values })).rows
  const askers = new Map<string, ReturnType<typeof together>>()
  return {
    prisma,
    pool,
    query: (name, text, values) => run(name, text, values).catch(refuse),
    ask: async <Row>(question: Question, values: readonly unknown[]) => {
      let asker = askers.get(question.name)
      if (!asker) {
        asker = together(question, run)
        askers.set(question.name, asker)
      }
      return (await asker(values).catch(refuse)) as Row[]
    },
    close: async () => {
      await prisma.$disconnect()
      await pool.end()
    },
  }
}

/** What of a driver's connection its types do not tell. */
interface Wire {
  /** No statement is on its way. */
  readonly readyForQuery: boolean
  readonly connection: { readonly stream: Socket }
}

/**
 * Breaks a connection whose server is frozen or cut off without a word: else statements would wait as long as that
 * lasts. The connection must not be used again, for nobody knows whether the transaction on it is still open; that is
 * why it is not the driver's own limit for a statement, which gives it back to the pool.
 */
function breakSilence(wire: Wire, silence: number): void {
  const { stream } = wire.connection
  stream.setTimeout(silence)
  stream.on('timeout', () => {
    if (!wire.readyForQuery) stream.destroy()
  })
}

/** Thrown by `outside`: the transaction in progress lets go of its connection, and begins anew with the answer. */
class OutsideFirst extends Error {
  constructor(
    readonly question: string,
    readonly ask: () => Promise<unknown>,
  ) {
    super('something is asked before the transaction')
  }
}

/**
 * Asks somebody outside, who may take seconds, and never holds a connection meanwhile: inside a transaction, as
 * Idempotency-Key and prices make one around whole operations, that one is given up and begun anew with the answer.
 * @param question names it: the same question has the same answer for the whole transaction
 */
export async function outside<T>(context: Context, question: string, ask: () => Promise<T>): Promise<T> {
  if (context.db === context.tools.prisma) return ask()
  if (context.answers?.has(question)) return context.answers.get(question) as T
  throw new OutsideFirst(question, ask)
}

/** What a transaction writes last: one statement for all that goes to the same one. */
class Last {
  #open = true
  readonly #all = new Map<LastStatement<unknown>, unknown[]>()

  add(last: LastStatement<unknown>, one: unknown): void {
    if (!this.#open) throw new Error('The transaction has ended.')
    const others = this.#all.get(last)
    if (others) others.push(one)
    else this.#all.set(last, [one])
  }

  /** @returns what is to be done when it has committed */
  async commit(connection: TransactionConnection, tools: Tools): Promise<(() => void)[]> {
    this.#open = false
    const statements = [...this.#all].map(([{ name, text, values }, all]) => ({ name, text, values: values(all) }))
    const final = statements.pop()
    const answers: unknown[][] = []
    for (const statement of statements) answers.push((await connection.query(statement)).rows)
    answers.push(await connection.commit(final))
    return [...this.#all].map(
      ([{ committed }, all], at) =>
        () =>
          committed(tools, all, answers[at]!),
    )
  }
}

/**
 * Runs `work` in one transaction and commits all of it or nothing. Inside a transaction it joins that one.
 * Serialization failures and deadlocks are tried again, so `work` must have no effects besides the database.
 * @throws ApiError unavailable when the database is away
 */
export async function transaction<T>(context: Context, work: (context: Context) => Promise<T>): Promise<T> {
  if (context.db !== context.tools.prisma) return work(context)
  const answers = new Map<string, unknown>()
  for (let attempt = 1; ; ) {
    const last = new Last()
    const after: (() => void)[] = []
    const own: { connection?: TransactionConnection } = {}
    let made: { value: T } | undefined
    const run = async (db: Database): Promise<void> => {
      const connection = own.connection!
      const inside: Context = {
        ...context,
        db,
        query: async (name, text, values) => (await connection.query({ name, text, values })).rows,
        loaders: new Map(),
        beforeCommit: async (statement, one) => last.add(statement as LastStatement<unknown>, one),
        afterCommit: (step) => void after.push(step),
        answers,
      }
      const value = await work(inside)
      after.push(...(await last.commit(connection, context.tools)))
      made = { value }
    }
    const limits = { maxWait: CONNECT_TIMEOUT, timeout: TRANSACTION_TIMEOUT }
    try {
      await opening.run(own, () => context.tools.prisma.$transaction(run, limits))
    } catch (error) {
      // What has committed stands, even if Prisma's clock ran out meanwhile.
      if (made) context.log.debug({ err: error }, 'a transaction committed at the end of its time')
      else if (error instanceof OutsideFirst && answers.size < QUESTIONS) answers.set(error.question, await error.ask())
      else if (!isRetryable(error) || attempt++ === ATTEMPTS) throw translated(error)
    }
    if (made) {
      for (const step of after) step()
      return made.value
    }
  }
}

/** One statement of the transaction in progress (or of the pool), as rows. */
export async function sql<Row>(db: Database, text: string, ...values: unknown[]): Promise<Row[]> {
  return db.$queryRawUnsafe<Row[]>(text, ...values)
}

const prismaCode = (error: unknown): string | undefined =>
  error instanceof Prisma.PrismaClientKnownRequestError ? error.code : undefined

const isRetryable = (error: unknown): boolean =>
  prismaCode(error) === 'P2034' || ['40001', '40P01'].includes(sqlState(error) ?? '')

/** Did this write break a unique index? Callers turn it into their 409. */
export const isDuplicate = (error: unknown): boolean => prismaCode(error) === 'P2002' || sqlState(error) === '23505'

/** Has the database gone away, or is it too busy to answer in time? Then the answer is 503, never 500. */
export function isUnavailable(error: unknown): boolean {
  const state = sqlState(error) ?? ''
  if (/^(08|53|57P|57014|55P03)/.test(state)) return true
  // The last one is what a TransactionConnection that is over says to Prisma.
  const codes = ['P1001', 'P1002', 'P1008', 'P1017', 'P2024', 'P2028', 'unavailable']
  if (codes.includes(prismaCode(error) ?? '')) return true
  const { code = '', message = '' } = (error ?? {}) as { code?: unknown; message?: unknown }
  const text = `${code} ${message}`
  return /ECONNREFUSED|ECONNRESET|ENOENT.*\.s\.PGSQL|EPIPE|ETIMEDOUT|Connection terminated|is not queryable|not currently accepting connections|timeout exceeded when trying to connect|Can't reach database|DatabaseNotReachable|ConnectionClosed/i.test(
    text,
  )
}

function refuse(error: unknown): never {
  throw translated(error)
}

/** The error as callers may see it; anything unknown stays as it is and is masked at the edge. */
export function translated(error: unknown): unknown {
  if (error instanceof ApiError || !isUnavailable(error)) return error
  return unavailable()
}
