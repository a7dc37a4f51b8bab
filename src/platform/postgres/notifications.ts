/**
 * Notifications between processes with PostgreSQL LISTEN and NOTIFY, for cache invalidation and to wake up workers. A
 * transaction that changes cached data sends a notification, and all processes listen. While the connection of a
 * process is broken, the process misses notifications, so all its cached values may be stale after that.
 */
import { EventEmitter } from 'node:events'
import pg from 'pg'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import type { Log } from '../log.js'
import type { DatabaseHandle } from './database.js'

/** The kinds of changes that have notifications. */
export type Channel = 'issuer' | 'client' | 'api_key' | 'account' | 'spare_keys' | 'jobs' | 'event' | 'webhook'

/** The callbacks of a listener. */
export interface Listener {
  /** Called when a change was committed, or may have been committed, in this or another process. */
  onNotification(channel: Channel, id: string): void
  /**
   * Called when a transaction of this process sends a notification, before it commits or rolls back. If it commits,
   * until `onNotification` is called for the change, the listener must read from the database instead of its cache, so
   * that the caller who made the change sees it in the next request.
   */
  onPending?(channel: Channel, id: string): void
  /**
   * Called when the connection is opened for the first time, and again when it is opened after a loss. Notifications
   * may have been missed before that.
   */
  onReconnect(): void
}

export interface Subscription {
  /** Returns false while there is no connection. Cached values must not be used during that time. */
  connected(): boolean
  close(): Promise<void>
}

const PG_CHANNEL = 'gatehouse'

/** Emitters of the event `pending` for the listeners in this process, by database. */
const localEmitters = new WeakMap<DatabaseHandle, EventEmitter>()

const emitterOf = (tools: DatabaseHandle): EventEmitter => {
  let emitter = localEmitters.get(tools)
  if (!emitter) {
    emitter = new EventEmitter().setMaxListeners(0)
    localEmitters.set(tools, emitter)
  }
  return emitter
}

/**
 * Notifies all processes of a change when the current transaction commits.
 * @param id the ID of the changed resource
 */
export async function notify(context: Context, channel: Channel, id: string): Promise<void> {
  emitterOf(context.database).emit('pending', channel, id)
  await context.db.$executeRawUnsafe(`SELECT pg_notify('${PG_CHANNEL}', $1)`, `${channel}:${id}`)
}

/** The payloads of notifications that wait to be sent with one statement, by database. */
const pendingNotifications = new WeakMap<DatabaseHandle, Set<string>>()

/**
 * Notifies all processes of a possible change, outside of a transaction. For frequent changes, because the commit of a
 * transaction with NOTIFY takes a lock on the whole server. If this process crashes, the notification may be lost, so
 * listeners must also poll.
 */
export function notifyChange(tools: DatabaseHandle, channel: Channel, id: string): void {
  const payload = `${channel}:${id}`
  const pending = pendingNotifications.get(tools)
  if (pending) return void pending.add(payload)
  const payloads = new Set([payload])
  pendingNotifications.set(tools, payloads)
  setTimeout(() => {
    pendingNotifications.delete(tools)
    const text = `SELECT pg_notify('${PG_CHANNEL}', notice) FROM unnest($1::text[]) AS notice`
    tools.query('notify-changes', text, [[...payloads]]).catch(() => {})
  }, limits.notificationBatchDelay).unref()
}

/**
 * Listens on a separate connection, which is opened again after a failure. Returns immediately. Notifications arrive
 * only while `connected` returns true.
 */
export function listen(tools: DatabaseHandle, log: Log, listener: Listener): Subscription {
  const { connectionString, application_name: name } = tools.pool.options
  const emitter = emitterOf(tools)
  const onPending = (channel: Channel, id: string): void => listener.onPending?.(channel, id)
  emitter.on('pending', onPending)

  let client: pg.Client | undefined
  let connected = false
  let closed = false
  let attempts = 0
  let timer: NodeJS.Timeout | undefined

  const schedule = (work: () => void, wait: number): void => {
    clearTimeout(timer)
    timer = setTimeout(work, wait)
    timer.unref()
  }

  function disconnected(lostClient: pg.Client): void {
    if (client !== lostClient) return
    client = undefined
    connected = false
    lostClient.end().catch(() => {})
    if (closed) return
    if (attempts === 0) log.warn('there is no connection for notifications; reconnecting')
    schedule(() => void connect(), Math.min(limits.maxNotificationReconnectDelay, 50 * 2 ** attempts++))
  }

  async function connect(): Promise<void> {
    if (closed) return
    const newClient = new pg.Client({
      connectionString,
      keepAlive: true,
      connectionTimeoutMillis: limits.notificationQueryTimeout,
      query_timeout: limits.notificationQueryTimeout,
      application_name: `${name} listen`,
    })
    client = newClient
    newClient.on('error', () => disconnected(newClient))
    newClient.on('end', () => disconnected(newClient))
    newClient.on('notification', ({ payload = '' }) => {
      const at = payload.indexOf(':')
      listener.onNotification(payload.slice(0, at) as Channel, payload.slice(at + 1))
    })
    try {
      await newClient.connect()
      await newClient.query(`LISTEN ${PG_CHANNEL}`)
    } catch {
      return disconnected(newClient)
    }
    attempts = 0
    connected = true
    listener.onReconnect()
    scheduleHeartbeat(newClient)
  }

  /** Detects half-open connections, which emit no error event. */
  function scheduleHeartbeat(own: pg.Client): void {
    schedule(() => {
      own.query('SELECT 1').then(
        () => client === own && !closed && scheduleHeartbeat(own),
        () => disconnected(own),
      )
    }, limits.notificationHeartbeatInterval)
  }

  void connect()
  return {
    connected: () => connected,
    async close() {
      closed = true
      clearTimeout(timer)
      emitter.off('pending', onPending)
      const openClient = client
      client = undefined
      connected = false
      await openClient?.end().catch(() => {})
    },
  }
}
