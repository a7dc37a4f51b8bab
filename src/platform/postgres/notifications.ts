/**
 * Cache invalidation between processes with PostgreSQL LISTEN and NOTIFY. A transaction that changes cached data sends
 * a notification, and all processes listen. Notifications can be lost: after a broken connection every cached value is
 * stale.
 */
import { EventEmitter } from 'node:events'
import pg from 'pg'
import { limits } from '../../kernel/limits.js'
import type { Context } from '../context.js'
import type { Log } from '../log.js'
import type { DatabaseHandle } from './database.js'

/** The kinds of changes that processes are notified of. */
export type Channel = 'issuer' | 'client' | 'api_key' | 'account' | 'spare_keys' | 'jobs' | 'event' | 'webhook'

/** The callbacks of a listener. */
export interface Listener {
  /** A change was committed in any process. */
  onNotification(channel: Channel, id: string): void
  /**
   * A transaction of this process is about to commit a change. Until the notification arrives, cached values may be
   * old: read from the database, so that the client that made the change sees it in its next request.
   */
  onPending?(channel: Channel, id: string): void
  /** The connection was lost and restored: notifications may have been missed. */
  onReconnect(): void
}

export interface Subscription {
  /** False while the connection is down: cached values must not be used. */
  connected(): boolean
  close(): Promise<void>
}

const PG_CHANNEL = 'gatehouse'

/** The listeners in this process, by database. */
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
 * @throws the error of the database
 */
export async function notify(context: Context, channel: Channel, id: string): Promise<void> {
  emitterOf(context.database).emit('pending', channel, id)
  await context.db.$executeRawUnsafe(`SELECT pg_notify('${PG_CHANNEL}', $1)`, `${channel}:${id}`)
}

/** Notifications that wait to be sent in one statement, by database. */
const pendingNotifications = new WeakMap<DatabaseHandle, Set<string>>()

/**
 * Notifies all processes of a possible change, outside of a transaction. For frequent changes: a transaction with
 * NOTIFY takes a server-wide lock during its commit. The notification is lost if this process crashes, so listeners
 * must also poll.
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
 * Listens on a separate connection, which reconnects automatically. Returns immediately. Notifications arrive only
 * while `connected` is true; values cached before are stale.
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
    if (attempts === 0) log.warn('lost the LISTEN connection; reconnecting')
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

  /** Detects half-open connections, which report no error. */
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
