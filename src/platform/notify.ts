/**
 * News between processes, by PostgreSQL's LISTEN and NOTIFY: who changes something that others keep in memory announces
 * it inside the transaction of the change; who keeps it listens. News is a hint, never a truth: after a broken
 * connection everything kept counts as stale.
 */
import { EventEmitter } from 'node:events'
import pg from 'pg'
import { SECOND } from '../kernel/time.js'
import type { Context } from './context.js'
import type { Tools } from './database.js'
import type { Log } from './log.js'

/** What can be kept in memory, and so can go stale. */
export type Topic = 'issuer' | 'client' | 'api_key' | 'account' | 'spare_keys' | 'jobs' | 'event' | 'webhook'

/** What a listener is told. */
export interface Listener {
  /** A change of this thing was committed, in whatever process. */
  onNotice(topic: Topic, id: string): void
  /**
   * This process is about to commit such a change. Between this and the notice what is kept may be old: until then ask
   * the database, so that whoever made the change sees it with the very next request.
   */
  onPending?(topic: Topic, id: string): void
  /** The connection broke and stands again: notices may have been missed. */
  onReconnect(): void
}

export interface Subscription {
  /** False while the connection is down: nothing kept may be trusted without asking. */
  connected(): boolean
  close(): Promise<void>
}

const CHANNEL = 'gatehouse'
/** How often a quiet connection is asked for a sign of life (milliseconds). */
const HEARTBEAT = 20 * SECOND
const LONGEST_WAIT = 5 * SECOND

/** Listeners of this process, by the database they listen to. */
const local = new WeakMap<Tools, EventEmitter>()

const emitterOf = (tools: Tools): EventEmitter => {
  let emitter = local.get(tools)
  if (!emitter) {
    emitter = new EventEmitter().setMaxListeners(0)
    local.set(tools, emitter)
  }
  return emitter
}

/**
 * Tells every process that this thing changed, when and if the transaction in progress commits.
 * @throws whatever the database throws
 */
export async function announce(context: Context, topic: Topic, id: string): Promise<void> {
  emitterOf(context.tools).emit('pending', topic, id)
  await context.db.$executeRawUnsafe(`SELECT pg_notify('${CHANNEL}', $1)`, `${topic}:${id}`)
}

/** Hints of this process that wait to be sent together, by the database that they go to. */
const waiting = new WeakMap<Tools, Set<string>>()
/** How long the first of them waits (milliseconds). */
const HINT_WAIT = 20

/**
 * Tells every process that there may be something new, outside of any transaction: a transaction that notifies takes
 * a lock of the whole server while it commits, which nothing that happens all the time may do. A hint may get lost
 * with its process; who waits for it looks without one now and then.
 */
export function hint(tools: Tools, topic: Topic, id: string): void {
  const notice = `${topic}:${id}`
  const others = waiting.get(tools)
  if (others) return void others.add(notice)
  const notices = new Set([notice])
  waiting.set(tools, notices)
  setTimeout(() => {
    waiting.delete(tools)
    const text = `SELECT pg_notify('${CHANNEL}', notice) FROM unnest($1::text[]) AS notice`
    tools.query('hint', text, [[...notices]]).catch(() => {})
  }, HINT_WAIT).unref()
}

/**
 * Listens on a connection of its own, which is made anew by itself whenever it breaks. Returns at once; notices count
 * from the moment that `connected` is true, and everything kept before that is stale.
 */
export function listen(tools: Tools, log: Log, listener: Listener): Subscription {
  const { connectionString, application_name: name } = tools.pool.options
  const emitter = emitterOf(tools)
  const onPending = (topic: Topic, id: string): void => listener.onPending?.(topic, id)
  emitter.on('pending', onPending)

  let client: pg.Client | undefined
  let connected = false
  let closed = false
  let attempts = 0
  let timer: NodeJS.Timeout | undefined

  const later = (work: () => void, wait: number): void => {
    clearTimeout(timer)
    timer = setTimeout(work, wait)
    timer.unref()
  }

  function lost(of: pg.Client): void {
    if (client !== of) return
    client = undefined
    connected = false
    of.end().catch(() => {})
    if (closed) return
    if (attempts === 0) log.warn('lost the connection for notices; trying again')
    later(() => void connect(), Math.min(LONGEST_WAIT, 50 * 2 ** attempts++))
  }

  async function connect(): Promise<void> {
    if (closed) return
    const own = new pg.Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: 5 * SECOND,
      query_timeout: 5 * SECOND,
      application_name: `${name} notices`,
    })
    client = own
    own.on('error', () => lost(own))
    own.on('end', () => lost(own))
    own.on('notification', ({ payload = '' }) => {
      const at = payload.indexOf(':')
      listener.onNotice(payload.slice(0, at) as Topic, payload.slice(at + 1))
    })
    try {
      await own.connect()
      await own.query(`LISTEN ${CHANNEL}`)
    } catch {
      return lost(own)
    }
    attempts = 0
    connected = true
    listener.onReconnect()
    beat(own)
  }

  /** A half-open connection never says so by itself. */
  function beat(own: pg.Client): void {
    later(() => {
      own.query('SELECT 1').then(
        () => client === own && !closed && beat(own),
        () => lost(own),
      )
    }, HEARTBEAT)
  }

  void connect()
  return {
    connected: () => connected,
    async close() {
      closed = true
      clearTimeout(timer)
      emitter.off('pending', onPending)
      const own = client
      client = undefined
      connected = false
      await own?.end().catch(() => {})
    },
  }
}
