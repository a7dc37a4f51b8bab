/** One lane while it is held: takes what is due, has a few attempts under way, writes what came of them in portions. */
import { setTimeout as sleep } from 'node:timers/promises'
import { SECOND } from '../../kernel/time.js'
import type { Context } from '../../platform/context.js'
import { attempt, type Parcel, type Receiver, type Result } from './attempt.js'
import { FAILURES_TO_OPEN, type Hold, type Lane, LEASE, putBack, settle, takeDue } from './lanes.js'
import { openSecrets } from './secrets.js'
import { moveWebhook } from './webhooks.js'

/** The places for attempts that all lanes of a process share. */
export interface Places {
  /** Takes one; if there is none, `retry` is called when one gets free. */
  enter(retry: () => void): boolean
  leave(): void
}

export interface Drive {
  /** Everything that was due is done, or nothing may be sent any more. Resolves to whether there may be more already. */
  readonly ended: Promise<boolean>
  /** The webhook was changed. */
  changed(): void
  /** There may be something new to send. */
  more(): void
  /** Starts no more attempts. */
  stop(): void
}

/** Attempts under way for one webhook; and while its receiver takes longer than this to answer (milliseconds). */
const PLACES = 16
const FEW_PLACES = 4
const SLOW = SECOND
/** Deliveries taken at once: as many as are done in half a second, within these. */
const LARGEST_TAKE = 256
const TAKE_TIME = 500
/** How long a result waits for others to be written with, and how often the lease is renewed without any. */
const WRITE_AFTER = 250
const RENEW_AFTER = 5 * SECOND
/** So many failed attempts in a row make a webhook `failing` (decisions D4). */
const FAILURES_TO_FAIL = 20

/** Starts to send for a lane that this holder has taken. */
export function drive(context: Context, holder: string, lane: Lane, places: Places): Drive {
  const { webhookId } = lane
  const buffer: Parcel[] = []
  const results: Result[] = []
  let receiver: Receiver = { webhookId, url: '', secrets: {} }
  let sealed = ''
  let underWay = 0
  let limit = PLACES
  /** Failed attempts in a row, as far as this process knows. */
  let streak = 0
  let halted = true
  let stopping = false
  let news = false
  let again = false
  let wake = (): void => {}

  function fill(): void {
    while (!halted && buffer.length > 0 && underWay < limit && places.enter(fill)) launch(buffer.shift()!)
  }
  function launch(parcel: Parcel): void {
    underWay++
    const began = performance.now()
    void attempt(context, receiver, parcel).then((result) => {
      underWay--
      places.leave()
      results.push(result)
      limit = performance.now() - began > SLOW ? FEW_PLACES : PLACES
      streak = result.status === 'delivered' ? 0 : streak + 1
      // What the breaker will say when it hears of it.
      if (streak >= FAILURES_TO_OPEN) halted = true
      fill()
      const low = buffer.length === 0 && underWay <= limit / 2
      if (underWay === 0 || low || results.length >= LARGEST_TAKE) wake()
      else if (results.length === 1) setTimeout(() => wake(), WRITE_AFTER).unref()
    })
  }

  /** Until something is to be done, or the time to renew the lease has come. */
  function something(): Promise<void> {
    const stuck = underWay === 0 && (buffer.length === 0 || results.length > 0)
    if (news || stuck) return Promise.resolve()
    return new Promise((done) => {
      const timer = setTimeout(done, RENEW_AFTER)
      timer.unref()
      wake = () => {
        clearTimeout(timer)
        done()
      }
    })
  }

  /** Writes what came; a database that is away for a while is waited for, within the lease. */
  async function write(release: boolean): Promise<Hold | undefined> {
    const portion = results.splice(0)
    for (const began = performance.now(); ; ) {
      try {
        const hold = await settle(context, holder, lane, portion, release)
        if (hold) await tell(hold, portion)
        return hold
      } catch (error) {
        halted = true
        context.log.warn({ err: error, webhook: webhookId }, 'results of webhook deliveries wait to be written')
        if (performance.now() - began > LEASE) return undefined
        await sleep(SECOND, undefined, { ref: false })
      }
    }
  }

  /** The status follows from the deliveries (decisions D4). */
  async function tell({ status, failures }: Hold, portion: readonly Result[]): Promise<void> {
    const last = portion.findLast((result) => result.status !== 'failing')?.status
    try {
      if (status === 'active' && (failures >= FAILURES_TO_FAIL || last === 'failed')) {
        const why = { consecutive_failures: failures, last_error: portion.at(-1)?.error ?? null }
        await moveWebhook(context, webhookId, ['active', 'failing'], why)
      } else if (status === 'failing' && failures === 0 && last === 'delivered') {
        await moveWebhook(context, webhookId, ['failing', 'active'], {})
      }
    } catch (error) {
      context.log.warn({ err: error, webhook: webhookId }, 'the status of a webhook could not be changed')
    }
  }

  async function run(): Promise<boolean> {
    let appetite = PLACES
    let tookAt = 0
    for (;;) {
      news = false
      const hold = await write(false)
      const inForce = hold !== undefined && ['active', 'failing'].includes(hold.status)
      if (!inForce || stopping || hold.openUntil > context.now()) {
        halted = true
        const untried = buffer.splice(0)
        // Of a lane that was lost, another one has them by now.
        if (hold) await putBack(context, untried)
        if (underWay === 0 && results.length === 0) {
          if (hold) await write(true)
          return false
        }
        await something()
        continue
      }
      if (hold.secrets !== sealed) receiver = { ...receiver, secrets: openSecrets(context, hold.secrets) }
      sealed = hold.secrets
      receiver = { ...receiver, url: hold.url }
      // After its window the breaker lets one through; what comes of that one decides.
      const probing = hold.openFor > 0
      streak = hold.failures
      halted = false
      if (buffer.length === 0 && (probing ? underWay === 0 : underWay < limit)) {
        const passed = performance.now() - tookAt
        if (tookAt > 0)
          appetite = passed < TAKE_TIME ? Math.min(LARGEST_TAKE, appetite * 2) : Math.max(PLACES, appetite >> 1)
        tookAt = performance.now()
        again = false
        buffer.push(...(await takeDue(context, lane, probing ? 1 : appetite)))
        if (buffer.length === 0 && underWay === 0 && results.length === 0) {
          await write(true)
          return again
        }
      }
      if (probing) streak = 0
      fill()
      await something()
    }
  }

  return {
    ended: run(),
    changed() {
      news = true
      wake()
    },
    more() {
      again = true
      if (buffer.length === 0 && underWay < limit) wake()
    },
    stop() {
      stopping = true
      halted = true
      news = true
      wake()
    },
  }
}
