/**
 * The connection of one transaction, with fewer round trips: BEGIN goes out with the first statement and COMMIT with
 * the last one, in one flight of the extended query protocol. After an error PostgreSQL skips what is left of a flight,
 * so that a statement whose BEGIN failed does nothing, and what failed is not committed.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
import pg from 'pg'
import { unavailable } from '../kernel/errors.js'

/** One prepared statement; one name, one text. */
interface Statement {
  readonly name: string
  readonly text: string
  readonly values: unknown[]
}

/** What of the driver's connection its types do not tell. */
interface Wire {
  readonly parsedStatements: Readonly<Record<string, string>>
  bind(config: { statement: string }): void
  execute(config: object): void
  sync(): void
}

/** What of the driver's query its types do not tell; test/platform/transaction-connection.test.ts holds it to that. */
interface DriverQuery {
  prepare(wire: Wire): void
  handleCommandComplete(message: unknown, wire: Wire): void
}
const { prepare, handleCommandComplete } = pg.Query.prototype as unknown as DriverQuery

const begin = { name: 'begin', text: 'BEGIN' }
const commit = { name: 'commit', text: 'COMMIT' }

function send(wire: Wire, statement: { name: string }): void {
  wire.bind({ statement: statement.name })
  wire.execute({})
}

/** A query that takes BEGIN or COMMIT along, both of which the connection has prepared. */
class Flight extends pg.Query {
  #completed = 0
  readonly #opens: boolean
  readonly #closes: boolean

  constructor(config: pg.QueryConfig, opens: boolean, closes: boolean) {
    super(config)
    // Else one without values would go out by itself.
    Object.assign(this, { queryMode: 'extended' })
    this.#opens = opens
    this.#closes = closes
  }

  prepare(wire: Wire): void {
    if (this.#opens) send(wire, begin)
    prepare.call(this as unknown as DriverQuery, wire)
  }

  _getRows(wire: Wire): void {
    wire.execute({})
    if (this.#closes) send(wire, commit)
    wire.sync()
  }

  /** Only the query's own completion is its result. */
  handleCommandComplete(message: unknown, wire: Wire): void {
    if (this.#completed++ === (this.#opens ? 1 : 0))
      handleCommandComplete.call(this as unknown as DriverQuery, message, wire)
  }
}

/** What Prisma's adapter sees of BEGIN, COMMIT and ROLLBACK. */
const nothing = { rows: [], fields: [], rowCount: 0 }

/**
 * A connection of the pool, from the moment that Prisma takes it for a transaction until it lets go of it. Prisma ends a
 * transaction that takes too long under the hands of who works in it, so each statement looks once more, when it goes
 * out, whether it would still stand inside.
 */
export class TransactionConnection {
  readonly #client: pg.PoolClient
  #state: 'open' | 'committing' | 'committed' | 'rolled back' = 'open'
  #begun = false
  /** Of the first statement. Nothing may follow one that failed: it could stand outside of any transaction. */
  #beginning: Promise<unknown> | undefined

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  /**
   * Runs a statement of the transaction, as a client of the driver does.
   * @throws ApiError unavailable when the transaction is over
   */
  async query(config: pg.QueryConfig): Promise<pg.QueryResult | typeof nothing> {
    if (config.text === 'BEGIN') return nothing
    if (config.text === 'COMMIT') return this.commit().then(() => nothing)
    if (config.text === 'ROLLBACK') return this.#rollback().then(() => nothing)
    return this.#run(config, 'open')
  }

  /**
   * Commits, with a last statement in the same flight once the connection has prepared COMMIT. Again it does nothing.
   * @returns the rows of that statement
   * @throws what the statement throws, or an Error when there is nothing to commit after one that failed
   */
  async commit(last?: Statement): Promise<unknown[]> {
    if (this.#state === 'committed' && !last) return []
    this.#refuseUnless('open')
    this.#state = 'committing'
    await this.#beginning
    const closes = last !== undefined && this.#has(commit)
    const rows = last ? (await this.#run(last, 'committing', closes)).rows : []
    if (closes && this.#client.getTransactionStatus() !== 'I') throw new Error('COMMIT did not go out.')
    if (this.#begun && !closes) {
      this.#refuseUnless('committing')
      const { command } = await this.#client.query(commit)
      if (command !== 'COMMIT') throw new Error('A statement had failed, so that nothing was committed.')
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
    if (this.#begun) await this.#client.query('ROLLBACK')
  }

  #refuseUnless(state: 'open' | 'committing'): void {
    if (this.#state !== state) throw unavailable()
  }

  async #run(config: pg.QueryConfig, state: 'open' | 'committing', closes = false): Promise<pg.QueryResult> {
    this.#refuseUnless(state)
    if (this.#begun) {
      await this.#beginning
      this.#refuseUnless(state)
      return closes ? this.#fly(config, false, closes) : this.#client.query(config)
    }
    this.#begun = true
    const first = this.#has(begin)
      ? this.#fly(config, true, closes)
      : this.#client.query(begin).then(() => {
          this.#refuseUnless(state)
          return this.#fly(config, false, closes)
        })
    this.#beginning = first
    first.then(
      () => (this.#beginning = undefined),
      () => {},
    )
    return first
  }

  #fly(config: pg.QueryConfig, opens: boolean, closes: boolean): Promise<pg.QueryResult> {
    return new Promise((resolve, reject) => {
      const done = (error?: Error, result?: unknown) => (error ? reject(error) : resolve(result as pg.QueryResult))
      // Beside the query, not in it: so whoever traces the connection hears of it too.
      ;(this.#client.query as (query: pg.Submittable, done: unknown) => void)(new Flight(config, opens, closes), done)
    })
  }

  #has({ name }: { name: string }): boolean {
    return (this.#client as unknown as { connection: Wire }).connection.parsedStatements[name] !== undefined
  }
}
