/**
 * The connection of a transaction that saves round trips (docs/decisions/0043). After the connection has prepared BEGIN
 * and COMMIT, it sends BEGIN together with the first statement and COMMIT together with the final statement of
 * `commit`, pipelined in the extended query protocol. After an error PostgreSQL skips the messages up to the next Sync.
 * Therefore the first statement does not run if BEGIN fails, and COMMIT does not run if the last statement fails. It
 * uses methods of the driver that have no types, and test/platform/transaction-connection.test.ts checks them.
 * Recording an event adds 0.19 ms of CPU time to a change with this class and 0.37 ms without (docs/measurements.md).
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
import pg from 'pg'
import { unavailable } from '../../kernel/errors.js'

/** A prepared statement. Each name must always have the same text. */
interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** Members of the driver's connection that its types do not declare. */
interface DriverConnection {
  readonly parsedStatements: Readonly<Record<string, string>>
  bind(config: { statement: string }): void
  execute(config: object): void
  sync(): void
}

/**
 * Methods of the driver's query that its types do not declare. test/platform/transaction-connection.test.ts checks that
 * the driver has them.
 */
interface DriverQuery {
  prepare(wire: DriverConnection): void
  handleCommandComplete(message: unknown, wire: DriverConnection): void
}
const { prepare, handleCommandComplete } = pg.Query.prototype as unknown as DriverQuery

const beginStatement = { name: 'begin', text: 'BEGIN' }
const commitStatement = { name: 'commit', text: 'COMMIT' }

function executePrepared(connection: DriverConnection, statement: { name: string }): void {
  connection.bind({ statement: statement.name })
  connection.execute({})
}

/**
 * A query that can send BEGIN before its statement and COMMIT after it, in the same pipeline. The connection must have
 * prepared the statement `begin` or `commit` that the query sends.
 */
class PipelinedQuery extends pg.Query {
  #completedCommands = 0
  readonly #withBegin: boolean
  readonly #withCommit: boolean

  constructor(config: pg.QueryConfig, withBegin: boolean, withCommit: boolean) {
    super(config)
    // Otherwise the driver uses the simple query protocol for a query without values.
    Object.assign(this, { queryMode: 'extended' })
    this.#withBegin = withBegin
    this.#withCommit = withCommit
  }

  prepare(wire: DriverConnection): void {
    if (this.#withBegin) executePrepared(wire, beginStatement)
    prepare.call(this as unknown as DriverQuery, wire)
  }

  _getRows(wire: DriverConnection): void {
    wire.execute({})
    if (this.#withCommit) executePrepared(wire, commitStatement)
    wire.sync()
  }

  /** Ignores the CommandComplete messages of BEGIN and COMMIT. */
  handleCommandComplete(message: unknown, wire: DriverConnection): void {
    if (this.#completedCommands++ === (this.#withBegin ? 1 : 0))
      handleCommandComplete.call(this as unknown as DriverQuery, message, wire)
  }
}

/** The result of BEGIN, COMMIT and ROLLBACK that Prisma's adapter receives. */
const emptyResult = { rows: [], fields: [], rowCount: 0 }

/**
 * A connection of the pool while Prisma uses it for a transaction. Prisma ends a transaction after a timeout, even if
 * code still runs statements in the transaction. Therefore each statement is sent only if the transaction is still
 * open.
 */
export class TransactionConnection {
  readonly #client: pg.PoolClient
  #state: 'open' | 'committing' | 'committed' | 'rolled back' = 'open'
  #hasBegun = false
  /**
   * The promise of the first statement, for which later statements wait; undefined after it has succeeded. If the first
   * statement fails, later statements must not run, because they could run outside of a transaction.
   */
  #firstStatement: Promise<unknown> | undefined

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  /**
   * Runs a statement of the transaction. Has the signature of `query` of the driver's client, for Prisma's adapter.
   * @throws ApiError unavailable when the transaction has ended
   */
  async query(config: pg.QueryConfig): Promise<pg.QueryResult | typeof emptyResult> {
    if (config.text === 'BEGIN') return emptyResult
    if (config.text === 'COMMIT') return this.commit().then(() => emptyResult)
    if (config.text === 'ROLLBACK') return this.#rollback().then(() => emptyResult)
    return this.#run(config, 'open')
  }

  /**
   * Commits the transaction. If the connection has prepared COMMIT, a final statement is sent in the same pipeline. A
   * second call without a final statement does nothing.
   * @returns the rows of the final statement; an empty list without a final statement
   * @throws the error of the final statement; an Error when an earlier statement has failed; ApiError unavailable when
   *   the transaction has ended
   */
  async commit(finalStatement?: Statement): Promise<unknown[]> {
    if (this.#state === 'committed' && !finalStatement) return []
    this.#requireState('open')
    this.#state = 'committing'
    await this.#firstStatement
    const withCommit = finalStatement !== undefined && this.#hasPrepared(commitStatement)
    const rows = finalStatement ? (await this.#run(finalStatement, 'committing', withCommit)).rows : []
    if (withCommit && this.#client.getTransactionStatus() !== 'I') throw new Error('COMMIT was not executed.')
    if (this.#hasBegun && !withCommit) {
      this.#requireState('committing')
      const { command } = await this.#client.query(commitStatement)
      if (command !== 'COMMIT') throw new Error('The transaction was rolled back because a statement had failed.')
    }
    this.#state = 'committed'
    return rows
  }

  release(error?: Error | boolean): void {
    if (this.#state !== 'committed') this.#state = 'rolled back'
    this.#client.release(error)
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.#client.on(event, listener)
  }

  removeListener(event: 'error', listener: (error: Error) => void): void {
    this.#client.removeListener(event, listener)
  }

  async #rollback(): Promise<void> {
    if (this.#state === 'committed' || this.#state === 'rolled back') return
    this.#state = 'rolled back'
    if (this.#hasBegun) await this.#client.query('ROLLBACK')
  }

  #requireState(state: 'open' | 'committing'): void {
    if (this.#state !== state) throw unavailable()
  }

  async #run(config: pg.QueryConfig, state: 'open' | 'committing', withCommit = false): Promise<pg.QueryResult> {
    this.#requireState(state)
    if (this.#hasBegun) {
      await this.#firstStatement
      this.#requireState(state)
      return withCommit ? this.#sendPipelined(config, false, withCommit) : this.#client.query(config)
    }
    this.#hasBegun = true
    const first = this.#hasPrepared(beginStatement)
      ? this.#sendPipelined(config, true, withCommit)
      : this.#client.query(beginStatement).then(() => {
          this.#requireState(state)
          return this.#sendPipelined(config, false, withCommit)
        })
    this.#firstStatement = first
    first.then(
      () => (this.#firstStatement = undefined),
      () => {},
    )
    return first
  }

  #sendPipelined(config: pg.QueryConfig, withBegin: boolean, withCommit: boolean): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error, result?: unknown) => (error ? reject(error) : resolve(result as pg.QueryResult))
      // The callback is a separate argument and not part of the query, so that `traceQueries` can wrap it.
      ;(this.#client.query as (query: pg.Submittable, done: unknown) => void)(
        new PipelinedQuery(config, withBegin, withCommit),
        done,
      )
    })
  }

  #hasPrepared({ name }: { name: string }): boolean {
    return (this.#client as unknown as { connection: DriverConnection }).connection.parsedStatements[name] !== undefined
  }
}
