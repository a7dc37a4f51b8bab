/**
 * Query coalescing (docs/decisions/0030): combines concurrent queries of the same kind into one statement, so that
 * under load several requests share the cost of a statement. Results are not cached. A statement is sent after all its
 * requests were made, so a result is never older than its request.
 */
import { limits } from '../../kernel/limits.js'

/** The query of a single request. `batchSql` builds the statement for many requests from it. */
export interface BatchQuery {
  /** The name of the prepared statement. Each name must always have the same text. */
  readonly name: string
  /** A SELECT with the parameters $1, $2, … in the order of `types`. */
  readonly text: string
  /** The PostgreSQL types of the parameters. */
  readonly types: readonly ('text' | 'bigint' | 'boolean')[]
  /**
   * Whether requests with the same parameters in a batch share one result object. Only for results that no caller
   * modifies.
   */
  readonly shared?: boolean
}

type Values = readonly unknown[]
type Row = Record<string, unknown>

type RunStatement = (name: string, text: string, values: unknown[]) => Promise<Row[]>

/**
 * Returns the text of the statement for many requests. Its parameters are arrays with the values of all requests. The
 * column `request_number` of a row is the number of the request in these arrays, from 1.
 */
export function batchSql({ text, types }: BatchQuery): string {
  // The sub-SELECTs hide the lengths of the arrays from the planner. Otherwise the planner would estimate that a custom
  // plan for each length is cheaper than the generic plan, and planning takes longer than the query
  // (docs/decisions/0044).
  const lists = types.map((type, at) => `(SELECT $${at + 1}::${type}[])`).join(', ')
  const names = types.map((_, at) => `p${at + 1}`).join(', ')
  const lateralSql = text.replace(/\$(\d+)/g, 'requests.p$1')
  return `SELECT requests.request_number, result.* FROM unnest(${lists}) WITH ORDINALITY AS requests(${names}, request_number)
    CROSS JOIN LATERAL (${lateralSql}) AS result`
}

/**
 * Combines concurrent requests of a query.
 * @param run runs one prepared statement and returns its rows
 * @returns a function that runs the query for one request with these parameters and returns the rows of the request
 */
export function coalesce(query: BatchQuery, run: RunStatement): (values: Values) => Promise<Row[]> {
  const { name, types, shared = false } = query
  const text = batchSql(query)
  return inBatches<Values, Row[]>({
    ...(shared ? { keyOf: (values) => JSON.stringify(values) } : {}),
    async runBatch(batch) {
      const lists = types.map((_, at) => batch.map((values) => values[at]))
      const results: Row[][] = batch.map(() => [])
      for (const { request_number: requestNumber, ...row } of await run(name, text, lists))
        results[Number(requestNumber) - 1]!.push(row)
      return results
    },
  })
}

export interface Batches<Request, Result> {
  /** Runs one statement for all requests. Returns the results in the order of the requests. */
  runBatch(batch: Request[]): Promise<Result[]>
  /** Returns a key for a request. Waiting requests with the same key share one result. */
  keyOf?(request: Request): string
  /** Returns keys of which each may occur only once in a batch, such as the IDs of rows that the statement updates. */
  exclusiveKeysOf?(request: Request): readonly string[]
}

interface PendingRequest<Request, Result> {
  request: Request
  exclusiveKeys: readonly string[]
  promise: Promise<Result>
  resolve(result: Result): void
  reject(error: unknown): void
}

/** Returns a function that combines concurrent requests into batches. */
export function inBatches<Request, Result>(batches: Batches<Request, Result>): (request: Request) => Promise<Result> {
  const { runBatch, keyOf, exclusiveKeysOf } = batches
  type Pending = PendingRequest<Request, Result>
  let queue: Pending[] = []
  const pendingByKey = new Map<string, Pending>()
  let inFlight = 0
  let sentAt = 0
  let scheduled = false
  let overdueTimer: NodeJS.Timeout | undefined

  const canSend = (): boolean =>
    inFlight === 0 ||
    (inFlight < limits.maxConcurrentCoalescedStatements && performance.now() - sentAt > limits.maxCoalescingWait)

  function send(): void {
    scheduled = false
    clearTimeout(overdueTimer)
    overdueTimer = undefined
    if (queue.length === 0) return
    if (!canSend()) {
      scheduleOverdueSend()
      return
    }
    const batch = takeBatch()
    pendingByKey.clear()
    inFlight++
    sentAt = performance.now()
    void settle(batch)
    // Requests that did not fit in the batch must not wait for the end of a slow statement.
    if (queue.length > 0) scheduleOverdueSend()
  }

  /** Sends waiting requests after `limits.maxCoalescingWait` even if no further request arrives. */
  function scheduleOverdueSend(): void {
    if (inFlight < limits.maxConcurrentCoalescedStatements)
      overdueTimer ??= setTimeout(send, limits.maxCoalescingWait + 1)
  }

  /**
   * Takes up to `limits.maxCoalescedRequests` requests from the front of the queue. Skips requests that share an
   * exclusive key with an earlier request of the batch.
   */
  function takeBatch(): Pending[] {
    const takenKeys = new Set<string>()
    const batch: Pending[] = []
    const remaining: Pending[] = []
    for (const pending of queue) {
      const fits =
        batch.length < limits.maxCoalescedRequests && !pending.exclusiveKeys.some((key) => takenKeys.has(key))
      if (fits) for (const key of pending.exclusiveKeys) takenKeys.add(key)
      ;(fits ? batch : remaining).push(pending)
    }
    queue = remaining
    return batch
  }

  async function settle(batch: Pending[]): Promise<void> {
    try {
      const answers = await runBatch(batch.map(({ request }) => request))
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at]!)
    } catch (error) {
      // One invalid request must not fail the other requests of the batch. The failed statement changed nothing, so
      // each request can run again in a statement of its own.
      if (batch.length > 1 && isRefusal(error)) await Promise.all(batch.map((pending) => runAlone(pending)))
      else if (isDeadlock(error)) await runAlone(batch[0]!)
      else for (const { reject } of batch) reject(error)
    } finally {
      inFlight--
      send()
    }
  }

  async function runAlone({ request, resolve, reject }: Pending): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return resolve((await runBatch([request]))[0]!)
      } catch (error) {
        if (!isDeadlock(error) || attempt === limits.maxCoalescedAttempts) return reject(error)
      }
    }
  }

  return (request) => {
    const requestKey = keyOf?.(request)
    const existing = requestKey === undefined ? undefined : pendingByKey.get(requestKey)
    if (existing) return existing.promise
    let settlers!: Pick<Pending, 'resolve' | 'reject'>
    const promise = new Promise<Result>((resolve, reject) => {
      settlers = { resolve, reject }
    })
    const pending = { request, exclusiveKeys: exclusiveKeysOf?.(request) ?? [], promise, ...settlers }
    queue.push(pending)
    if (requestKey !== undefined) pendingByKey.set(requestKey, pending)
    // With `setImmediate`, requests that have already arrived on other connections are read first and join the batch.
    if (!scheduled && canSend()) {
      scheduled = true
      setImmediate(send)
    } else if (!scheduled) {
      scheduleOverdueSend()
    }
    return promise
  }
}

const sqlStateOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  // The codes of broken connections, such as EPIPE, have no digits.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : ''
}

/**
 * Returns true when the database rejected the statement, for example because of its content, a deadlock or a lock
 * timeout. Returns false for an outage, a lack of resources or a statement timeout (SQLSTATE classes 08, 53 and 57).
 */
const isRefusal = (error: unknown): boolean => /^(?!08|53|57)./.test(sqlStateOf(error))
const isDeadlock = (error: unknown): boolean => ['40P01', '40001'].includes(sqlStateOf(error))
