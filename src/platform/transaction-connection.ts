/**
 * The connection of one transaction, with fewer round trips: BEGIN goes out with the first statement and COMMIT with
 * the last one, in one flight of the extended query protocol. After an error PostgreSQL skips what is left of a flight,
 * so that a statement whose BEGIN failed does nothing, and what failed is not committed.
 * @see https://www.postgresql.org/docs/current/protocol-flow.html
 */
import pg from 'pg'
import { unavailable } from '../kernel/errors.js'

/** One prepared statement; one name, one text. */
export interface Statement {
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

  constructor(
    config: pg.QueryConfig,
    opens: boolean,
    closes: boolean,
    done: (error?: Error, result?: unknown) => void,
  ) {
    super(config, done)
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

/** A connection of the pool, from the moment that Prisma takes it for a transaction until it lets go of it. */
export class TransactionConnection {
  readonly #client: pg.PoolClient
  #begun = false
  #beginning: Promise<unknown> | undefined
  #over = false

  constructor(client: pg.PoolClient) {
    this.#client = client
  }

  /** Runs a statement of the transaction, as a client of the driver does. */
  async query(config: pg.QueryConfig): Promise<pg.QueryResult | typeof nothing> {
    if (config.text === 'BEGIN') return nothing
    if (config.text === 'COMMIT') return this.commit().then(() => nothing)
    if (config.text === 'ROLLBACK') return this.#rollback().then(() => nothing)
    return this.#run(config, false)
  }

  /** Commits, with a last statement in the same flight. @returns the rows of that statement */
  async commit(last?: Statement): Promise<unknown[]> {
    if (this.#over && !last) return []
    let rows: unknown[] = []
    const closes = last !== undefined && this.#has(commit)
    if (last) ({ rows } = await this.#run(last, closes))
    if (this.#begun && !closes) {
      const { command } = await this.#client.query(commit)
      if (command !== 'COMMIT') throw new Error('A statement had failed, so that nothing was committed.')
    }
    this.#over = true
    return rows
  }

  release(error?: Error | boolean): void {
    this.#over = true
    this.#client.release(error)
  }

  on(event: 'error', listener: (error: Error) => void): void {
    this.#client.on(event, listener)
  }

  removeListener(event: 'error', listener: (error: Error) => void): void {
    this.#client.removeListener(event, listener)
  }

  async #rollback(): Promise<void> {
    if (this.#over) return
    this.#over = true
    if (this.#begun) await this.#client.query('ROLLBACK')
  }

  async #run(config: pg.QueryConfig, closes: boolean): Promise<pg.QueryResult> {
    // Prisma ends what takes too long under the hands of who still works in it.
    if (this.#over) throw unavailable()
    if (this.#begun) {
      await this.#beginning
      return closes ? this.#fly(config, false, closes) : this.#client.query(config)
    }
    this.#begun = true
    const opens = this.#has(begin)
    const first = opens
      ? this.#fly(config, opens, closes)
      : this.#client.query(begin).then(() => this.#fly(config, opens, closes))
    // Nothing may follow what did not begin: it would stand outside of any transaction.
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
      this.#client.query(new Flight(config, opens, closes, done))
    })
  }

  #has({ name }: { name: string }): boolean {
    return (this.#client as unknown as { connection: Wire }).connection.parsedStatements[name] !== undefined
  }
}
