/** Transactions. Code that writes more than one row must run in a transaction. */
import { limits } from '../../kernel/limits.js'
import type { Context, PreCommitStatement } from '../context.js'
import { type Database, type DatabaseHandle, openingTransaction } from './database.js'
import { isRetryable, translateDatabaseError } from './errors.js'
import type { TransactionConnection } from './transaction-connection.js'

/**
 * The error with which `externalCall` rolls back the current transaction. `transaction` makes the call and repeats it.
 */
class ExternalCallRequired extends Error {
  constructor(
    readonly key: string,
    readonly call: () => Promise<unknown>,
  ) {
    super('The transaction is repeated after an external call.')
  }
}

/**
 * Makes an external call, which may take seconds, without holding a database connection. In a transaction (such as the
 * transaction around an operation with Idempotency-Key or a price), rolls the transaction back, makes the call, and
 * repeats the transaction. In the repeated transaction, this function returns the result of the call.
 * @param key identifies the call: within a transaction, all calls with the same key have the same result
 */
export async function externalCall<T>(context: Context, key: string, call: () => Promise<T>): Promise<T> {
  if (context.db === context.database.prisma) return call()
  if (context.externalResults?.has(key)) return context.externalResults.get(key) as T
  throw new ExternalCallRequired(key, call)
}

/** The statements that run right before COMMIT: each `PreCommitStatement` once, with all its items. */
class PreCommitStatements {
  #isOpen = true
  readonly #itemsByStatement = new Map<PreCommitStatement<unknown>, unknown[]>()

  add(statement: PreCommitStatement<unknown>, item: unknown): void {
    if (!this.#isOpen)
      throw new Error(
        'A statement was added after the transaction began to commit. Await all work inside the transaction.',
      )
    const items = this.#itemsByStatement.get(statement)
    if (items) items.push(item)
    else this.#itemsByStatement.set(statement, [item])
  }

  /** Runs the statements and COMMIT. Returns the callbacks to call after the commit. */
  async commit(connection: TransactionConnection, tools: DatabaseHandle): Promise<(() => void)[]> {
    this.#isOpen = false
    const statements = [...this.#itemsByStatement].map(([{ name, text, values }, all]) => ({
      name,
      text,
      values: values(all),
    }))
    const final = statements.pop()
    const results: unknown[][] = []
    for (const statement of statements) results.push((await connection.query(statement)).rows)
    results.push(await connection.commit(final))
    return [...this.#itemsByStatement].map(
      ([{ onCommitted }, all], at) =>
        () =>
          onCommitted(tools, all, results[at]!),
    )
  }
}

/**
 * Runs `work` in a transaction. If the context already has a transaction, `work` runs in it. After a serialization
 * failure, a deadlock or an external call (`externalCall`) the transaction is repeated, so `work` must have no side
 * effects outside the database.
 * @param work receives the context of the transaction, which it must use for all its queries
 * @throws ApiError unavailable when the database is unavailable
 */
export async function transaction<T>(context: Context, work: (context: Context) => Promise<T>): Promise<T> {
  if (context.db !== context.database.prisma) return work(context)
  const externalResults = new Map<string, unknown>()
  for (let attempt = 1; ; ) {
    const preCommit = new PreCommitStatements()
    const afterCommitSteps: (() => void)[] = []
    const own: { connection?: TransactionConnection } = {}
    let committed: { value: T } | undefined
    const run = async (db: Database): Promise<void> => {
      const connection = own.connection!
      const tx: Context = {
        ...context,
        db,
        query: async (name, text, values) => (await connection.query({ name, text, values })).rows,
        loaders: new Map(),
        beforeCommit: async (statement, one) => preCommit.add(statement as PreCommitStatement<unknown>, one),
        afterCommit: (step) => void afterCommitSteps.push(step),
        externalResults,
      }
      const value = await work(tx)
      afterCommitSteps.push(...(await preCommit.commit(connection, context.database)))
      committed = { value }
    }
    const options = { maxWait: limits.databaseConnectTimeout, timeout: limits.databaseTransactionTimeout }
    try {
      await openingTransaction.run(own, () => context.database.prisma.$transaction(run, options))
    } catch (error) {
      // If `committed` is set, COMMIT has succeeded and only Prisma's timeout has expired in the meantime.
      if (committed) context.log.debug({ err: error }, 'a transaction committed when its timeout expired')
      else if (error instanceof ExternalCallRequired && externalResults.size < limits.maxExternalCallsPerTransaction)
        externalResults.set(error.key, await error.call())
      else if (!isRetryable(error) || attempt++ === limits.maxTransactionRetries) throw translateDatabaseError(error)
    }
    if (committed) {
      for (const step of afterCommitSteps) step()
      return committed.value
    }
  }
}
