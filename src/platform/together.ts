/**
 * Questions that many requests have for the database at the same moment, put in one statement. Nothing is kept: a
 * statement is sent after every question in it was asked, so an answer is never older than its question. Under load a
 * request then costs a fraction of a statement; alone it costs one.
 */

import { ApiError } from '../kernel/errors.js'

/** A question as SQL for one asker; the batch is made of it. */
export interface Question {
  /** Of the prepared statement; one name, one text. */
  readonly name: string
  /** A SELECT with parameters $1, $2, … in the order of `types`. */
  readonly text: string
  readonly types: readonly ('text' | 'bigint' | 'boolean')[]
  /** Askers with the same values get the same rows: only where nobody changes what they get. */
  readonly shared?: boolean
}

type Values = readonly unknown[]
type Row = Record<string, unknown>

/** Runs one prepared statement and answers its rows. */
type Run = (name: string, text: string, values: unknown[]) => Promise<Row[]>

interface Waiting {
  values: Values
  promise: Promise<Row[]>
  resolve(rows: Row[]): void
  reject(error: unknown): void
}

/** Questions that come while a statement is under way wait for the next one, unless it takes this long (milliseconds). */
const PATIENCE = 20
/** Slow statements of one kind at once, at most. */
const UNDER_WAY = 4
/** Questions in one statement, at most. */
const MOST = 100

/** The same question for many askers, each of whom finds their rows by `asker`, counted from 1. */
export function batchText({ text, types }: Question): string {
  const lists = types.map((type, at) => `$${at + 1}::${type}[]`).join(', ')
  const names = types.map((_, at) => `p${at + 1}`).join(', ')
  const own = text.replace(/\$(\d+)/g, 'asked.p$1')
  return `SELECT asked.asker, answer.* FROM unnest(${lists}) WITH ORDINALITY AS asked(${names}, asker)
    CROSS JOIN LATERAL (${own}) AS answer`
}

/** @returns a function that asks the question with its values and answers the rows of that asker */
export function together(question: Question, run: Run): (values: Values) => Promise<Row[]> {
  const { name, types, shared = false } = question
  const text = batchText(question)
  let waiting: Waiting[] = []
  const known = new Map<string, Waiting>()
  let underWay = 0
  let sentAt = 0
  let scheduled = false

  const maySend = (): boolean => underWay === 0 || (underWay < UNDER_WAY && performance.now() - sentAt > PATIENCE)

  function send(): void {
    scheduled = false
    if (waiting.length === 0 || !maySend()) return
    const batch = waiting.slice(0, MOST)
    waiting = waiting.slice(MOST)
    known.clear()
    underWay++
    sentAt = performance.now()
    void settle(batch)
  }

  async function answer(batch: Waiting[]): Promise<void> {
    const lists = types.map((_, at) => batch.map(({ values }) => values[at]))
    const rows = await run(name, text, lists)
    const answers: Row[][] = batch.map(() => [])
    for (const { asker, ...row } of rows) answers[Number(asker) - 1]!.push(row)
    for (const [at, { resolve }] of batch.entries()) resolve(answers[at]!)
  }

  async function settle(batch: Waiting[]): Promise<void> {
    try {
      await answer(batch)
    } catch (error) {
      await failed(batch, error)
    } finally {
      underWay--
      send()
    }
  }

  /** What the database refuses to one asker must not be refused to the others. */
  async function failed(batch: Waiting[], error: unknown): Promise<void> {
    if (batch.length === 1 || error instanceof ApiError) for (const { reject } of batch) reject(error)
    else await Promise.all(batch.map((one) => answer([one]).catch(one.reject)))
  }

  return (values) => {
    const key = shared ? JSON.stringify(values) : ''
    const same = shared ? known.get(key) : undefined
    if (same) return same.promise
    let settlers!: Pick<Waiting, 'resolve' | 'reject'>
    const promise = new Promise<Row[]>((resolve, reject) => {
      settlers = { resolve, reject }
    })
    const one = { values, promise, ...settlers }
    waiting.push(one)
    if (shared) known.set(key, one)
    // What else has arrived by now is read before this runs.
    if (!scheduled && maySend()) {
      scheduled = true
      setImmediate(send)
    }
    return promise
  }
}
