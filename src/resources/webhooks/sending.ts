/**
 * Sends what is due (spec 6.2). Every webhook that something waits for has a lane of its own in this process, with few
 * places for attempts under way and fewer still while its receiver is slow, so that a slow or dead receiver delays
 * nobody but itself. Notices say where to look; without one, the table is looked at now and then.
 */
import { randomUUID } from 'node:crypto'
import { SECOND } from '../../kernel/time.js'
import type { Context, Gatehouse } from '../../platform/context.js'
import { type Jobs, systemContext } from '../../platform/jobs.js'
import { listen } from '../../platform/notify.js'
import { type Drive, drive, type Places } from './driving.js'
import { holdLanes, type Lane, waitingLanes } from './lanes.js'

/** Attempts under way in one process. */
const ALL_PLACES = 512
/** Without a notice, and where nothing is planned, the table is looked at this often; and never more often than that. */
const LOOK = 5 * SECOND
const SHORTEST_LOOK = 100
/** How soon again when there was more to take than could be. */
const LOOK_FOR_PLACES = 500

/** The places of a process; lanes that found none are served one after the other when some get free. */
function openPlaces(count: number): Places & { free(): number } {
  const waiting = new Set<() => void>()
  let free = count
  return {
    free: () => free,
    enter(retry) {
      if (free === 0) {
        waiting.add(retry)
        return false
      }
      free--
      return true
    },
    leave() {
      free++
      const [first] = waiting
      if (!first) return
      waiting.delete(first)
      first()
    },
  }
}

interface Sender {
  /** Takes what lanes there are to take and starts to send. @returns how many lanes were taken */
  take(where: { accounts?: readonly string[]; webhooks?: readonly string[] }): Promise<number>
  /** Looks through all that waits. @returns when to look again, in milliseconds from now, and how many lanes were taken */
  look(): Promise<{ wait: number; taken: number }>
  /** A webhook has changed, or an account has something new. */
  heard(id: string): void
  /** Every lane that is under way ends. */
  ended(): Promise<void>
  /** Starts no more attempts. */
  stop(): void
}

function openSender(gatehouse: Gatehouse): Sender {
  const holder = randomUUID()
  const places = openPlaces(ALL_PLACES)
  const drives = new Map<string, { drive: Drive; lane: Lane }>()
  const context: Context = systemContext(gatehouse)
  let stopped = false

  function start(lane: Lane): void {
    const under = drive(systemContext(gatehouse), holder, lane, places)
    drives.set(lane.webhookId, { drive: under, lane })
    void under.ended
      .catch((error) => {
        // Its lease ends by itself, and then somebody takes over.
        gatehouse.log.error({ err: error, webhook: lane.webhookId }, 'sending to a webhook broke off')
        return false
      })
      .then((more) => {
        if (drives.get(lane.webhookId)?.drive === under) drives.delete(lane.webhookId)
        if (more && !stopped) void take({ webhooks: [lane.webhookId] }).catch(() => 0)
      })
  }

  async function take(where: { accounts?: readonly string[]; webhooks?: readonly string[] }): Promise<number> {
    if (stopped || places.free() === 0) return 0
    const lanes = await holdLanes(context, holder, where)
    for (const lane of lanes) start(lane)
    return lanes.length
  }

  return {
    take,
    async look() {
      const waiting = await waitingLanes(context, holder)
      const now = gatehouse.now()
      const due = waiting.filter(({ at }) => at <= now).map(({ webhookId }) => webhookId)
      const taken = due.length === 0 ? 0 : await take({ webhooks: due })
      const next = waiting.find(({ at }) => at > now)?.at
      if (taken < due.length) return { taken, wait: LOOK_FOR_PLACES }
      return { taken, wait: next === undefined ? LOOK : Math.max(SHORTEST_LOOK, Math.min(LOOK, next - now)) }
    },
    heard(id) {
      for (const { drive: under, lane } of drives.values()) {
        if (lane.webhookId === id) under.changed()
        if (lane.accountId === id) under.more()
      }
    },
    async ended() {
      while (drives.size > 0) await Promise.allSettled([...drives.values()].map(({ drive: under }) => under.ended))
    },
    stop() {
      stopped = true
      for (const { drive: under } of drives.values()) under.stop()
    },
  }
}

/** Sends until stopped; stopping waits for the attempts under way. */
export function startSending(gatehouse: Gatehouse): Jobs {
  const sender = openSender(gatehouse)
  const heard = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let looking: Promise<void> | undefined
  let stopped = false
  let lookAt = 0

  const plan = (wait: number): void => {
    if (stopped) return
    clearTimeout(timer)
    timer = setTimeout(go, wait)
    timer.unref()
  }
  function go(): void {
    if (looking || stopped) return
    looking = round()
      .catch((error) => {
        gatehouse.log.warn({ err: error }, 'webhooks cannot be looked at; trying again')
        lookAt = gatehouse.now() + SECOND
      })
      .then(() => {
        looking = undefined
        plan(heard.size > 0 ? 0 : Math.max(0, Math.min(LOOK, lookAt - gatehouse.now())))
      })
  }
  async function round(): Promise<void> {
    if (heard.size > 0) {
      const ids = [...heard]
      heard.clear()
      await sender.take({ accounts: ids, webhooks: ids })
    }
    if (gatehouse.now() < lookAt && lookAt - gatehouse.now() <= LOOK) return
    const { wait } = await sender.look()
    lookAt = gatehouse.now() + wait
  }

  const subscription = listen(gatehouse.tools, gatehouse.log, {
    onNotice: (topic, id) => {
      if (topic !== 'webhook') return
      sender.heard(id)
      heard.add(id)
      go()
    },
    onReconnect: () => {
      lookAt = 0
      go()
    },
  })
  plan(0)
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      sender.stop()
      await subscription.close()
      await looking
      await sender.ended()
    },
  }
}

/** Sends everything that is due, and what falls due by it, then returns: for the command line and for tests. */
export async function sendDue(gatehouse: Gatehouse): Promise<void> {
  const sender = openSender(gatehouse)
  while ((await sender.look()).taken > 0) await sender.ended()
}
