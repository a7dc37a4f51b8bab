/**
 * What many requests want of the database at the same moment, put in one statement. Nothing is kept: a statement is
 * sent after everything in it was asked, so an answer is never older than its question. Under load a request then costs
 * a fraction of a statement; alone it costs one.
 */

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

/** The same question for many askers, each of whom finds their rows by `asker`, counted from 1. */
export function batchText({ text, types }: Question): string {
  // Behind a SELECT the planner does not see how many they are: otherwise a plan for just so many always looks cheaper to
  // it than the one that it keeps, and it plans each time, for longer than the answer takes (docs/decisions/0055).
  const lists = types.map((type, at) => `(SELECT $${at + 1}::${type}[])`).join(', ')
  const names = types.map((_, at) => `p${at + 1}`).join(', ')
  const own = text.replace(/\$(\d+)/g, 'asked.p$1')
  return `SELECT asked.asker, answer.* FROM unnest(${lists}) WITH ORDINALITY AS asked(${names}, asker)
    CROSS JOIN LATERAL (${own}) AS answer`
}

/** @returns a function that asks the question with its values and answers the rows of that asker */
export function together(question: Question, run: Run): (values: Values) => Promise<Row[]> {
  const { name, types, shared = false } = question
  const text = batchText(question)
  return inBatches<Values, Row[]>({
    ...(shared ? { nameOf: (values) => JSON.stringify(values) } : {}),
    async answer(batch) {
      const lists = types.map((_, at) => batch.map((values) => values[at]))
      const answers: Row[][] = batch.map(() => [])
      for (const { asker, ...row } of await run(name, text, lists)) answers[Number(asker) - 1]!.push(row)
      return answers
    },
  })
}

export interface Batches<Asked, Answer> {
  /** One statement for all of these; answers in their order. */
  answer(batch: Asked[]): Promise<Answer[]>
  /** What has the same name at the same moment is asked once. */
  nameOf?(asked: Asked): string
  /** Things of which a statement may hold each only once. */
  thingsOf?(asked: Asked): readonly string[]
}

interface Waiting<Asked, Answer> {
  asked: Asked
  things: readonly string[]
  promise: Promise<Answer>
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** What comes while a statement is under way waits for the next one, unless it takes this long (milliseconds). */
const PATIENCE = 20
/** Slow statements of one kind at once, at most. */
const UNDER_WAY = 4
/** Askers in one statement, at most. */
const MOST = 100
/** How often somebody is asked for alone who lost a deadlock. */
const ATTEMPTS = 5

/** Gathers what is asked at the same moment. */
export function inBatches<Asked, Answer>(batches: Batches<Asked, Answer>): (asked: Asked) => Promise<Answer> {
  const { answer, nameOf, thingsOf } = batches
  type One = Waiting<Asked, Answer>
  let waiting: One[] = []
  const known = new Map<string, One>()
  let underWay = 0
  let sentAt = 0
  let scheduled = false
  let overdue: NodeJS.Timeout | undefined

  const maySend = (): boolean => underWay === 0 || (underWay < UNDER_WAY && performance.now() - sentAt > PATIENCE)

  function send(): void {
    scheduled = false
    clearTimeout(overdue)
    overdue = undefined
    if (waiting.length === 0) return
    if (!maySend()) {
      remind()
      return
    }
    const batch = take()
    known.clear()
    underWay++
    sentAt = performance.now()
    void settle(batch)
  }

  /** Nobody waits for a slow statement because nobody else comes to ask. */
  function remind(): void {
    if (underWay < UNDER_WAY) overdue ??= setTimeout(send, PATIENCE + 1)
  }

  /** From the front, as many as fit together. */
  function take(): One[] {
    const taken = new Set<string>()
    const batch: One[] = []
    const left: One[] = []
    for (const one of waiting) {
      const fits = batch.length < MOST && !one.things.some((thing) => taken.has(thing))
      if (fits) for (const thing of one.things) taken.add(thing)
      ;(fits ? batch : left).push(one)
    }
    waiting = left
    return batch
  }

  async function settle(batch: One[]): Promise<void> {
    try {
      const answers = await answer(batch.map(({ asked }) => asked))
      for (const [at, { resolve }] of batch.entries()) resolve(answers[at]!)
    } catch (error) {
      // What the database refuses to one must not be refused to the others. It has done nothing of it.
      if (batch.length > 1 && isRefusal(error)) await Promise.all(batch.map((one) => alone(one)))
      else if (isDeadlock(error)) await alone(batch[0]!)
      else for (const { reject } of batch) reject(error)
    } finally {
      underWay--
      send()
    }
  }

  async function alone({ asked, resolve, reject }: One): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return resolve((await answer([asked]))[0]!)
      } catch (error) {
        if (!isDeadlock(error) || attempt === ATTEMPTS) return reject(error)
      }
    }
  }

  return (asked) => {
    const name = nameOf?.(asked)
    const same = name === undefined ? undefined : known.get(name)
    if (same) return same.promise
    let settlers!: Pick<One, 'resolve' | 'reject'>
    const promise = new Promise<Answer>((resolve, reject) => {
      settlers = { resolve, reject }
    })
    const one = { asked, things: thingsOf?.(asked) ?? [], promise, ...settlers }
    waiting.push(one)
    if (name !== undefined) known.set(name, one)
    // What else has arrived by now is read before this runs.
    if (!scheduled && maySend()) {
      scheduled = true
      setImmediate(send)
    } else if (!scheduled) {
      remind()
    }
    return promise
  }
}

const stateOf = (error: unknown): string => {
  const { code } = (error ?? {}) as { code?: unknown }
  // A broken connection has codes too, without digits: EPIPE.
  return typeof code === 'string' && /^(?=.*\d)[0-9A-Z]{5}$/.test(code) ? code : ''
}

/** The database runs and has refused the statement as a whole, in good time. */
const isRefusal = (error: unknown): boolean => /^(?!08|53|57)./.test(stateOf(error))
const isDeadlock = (error: unknown): boolean => ['40P01', '40001'].includes(stateOf(error))
