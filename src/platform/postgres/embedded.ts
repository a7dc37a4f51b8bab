/**
 * The embedded database: a PostgreSQL server in DATA_DIR that starts and stops with Gatehouse.
 *
 * Only one Gatehouse process can use a DATA_DIR. The process holds an advisory lock on one connection, which PostgreSQL
 * releases when the process ends for any reason. If Gatehouse is killed, the server keeps running. The next Gatehouse
 * process acquires the lock and uses the running server. The server has a separate process group, so that Ctrl-C
 * reaches only Gatehouse, which finishes its requests before it stops the server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, escapeIdentifier } from 'pg'
import { limits } from '../../kernel/limits.js'
import { onWindows } from './binaries.js'
import {
  type Cluster,
  clusterOwner,
  clusterSpawnTarget,
  isAlive,
  isServer,
  openCluster,
  readServer,
  socketFolder,
} from './cluster.js'

export type EmbeddedPostgres = {
  /** The postgres:// URL of the database, for node-pg and Prisma's adapter. */
  url: string
  /**
   * Stops the server with a fast shutdown, which terminates open connections, and waits until it has stopped. On
   * Windows it kills the server instead.
   */
  stop(): Promise<void>
}

/** The error when another Gatehouse process uses the DATA_DIR. */
export class DataDirInUseError extends Error {
  /** The URL of the database that the other process uses. Commands that need no lock can connect to it. */
  url: string | undefined
}

const advisoryLockKey = 72707370

const serverSettings: Record<string, string> = {
  listen_addresses: onWindows ? '127.0.0.1' : '',
  unix_socket_directories: onWindows ? '' : '.',
  unix_socket_permissions: '0700',
  max_connections: '100',
  shared_buffers: '64MB',
  max_wal_size: '256MB',
  wal_level: 'minimal',
  max_wal_senders: '0',
  max_logical_replication_workers: '0',
  jit: 'off',
  fsync: 'on',
  synchronous_commit: 'on',
  // The server log must not contain statements, parameters or row values (docs/contract.md#erasure). The verbosity is
  // terse, because DETAIL contains row values. Gatehouse logs the errors of its statements itself.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  log_min_error_statement: 'panic',
  log_statement: 'none',
  log_min_duration_statement: '-1',
  log_min_duration_sample: '-1',
  log_transaction_sample_rate: '0',
  log_parameter_max_length: '0',
  log_parameter_max_length_on_error: '0',
  log_checkpoints: 'off',
}

/**
 * Starts the embedded server, or uses a server that still runs because its Gatehouse process was killed. Creates the
 * database if it does not exist. Starts the server again if it exits.
 *
 * @param dataDir the path of DATA_DIR, which is created with mode 0700 if it does not exist
 * @param log receives messages for the operator
 * @param options.settings additional server settings, for tests
 * @throws DataDirInUseError when another Gatehouse process uses DATA_DIR
 * @throws Error when no binaries are found, or when the server does not start
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: (message: string) => void,
  options: { settings?: Record<string, string> } = {},
): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataDir, log)
  const socket = onWindows ? null : socketFolder(cluster.folder)
  const port = onWindows ? (readServer(cluster)?.port ?? (await freePort())) : 5432
  const address = { host: socket?.path ?? '127.0.0.1', port, user: clusterOwner, password: cluster.password ?? '' }
  const args = serverArgs(cluster, { ...serverSettings, port: String(port), ...options.settings })
  let stopping = false
  let lock: Client
  let reconnecting: Promise<void> | undefined
  // While this process had lost the server, another one may have started to use the data directory.
  let usedByOther = false

  async function connectLocked(): Promise<void> {
    lock = await startAndLock(cluster, address, args, log, () => stopping)
    lock.on('end', () => {
      if (!stopping) reconnecting = reconnect()
    })
  }
  async function reconnect(): Promise<void> {
    log('lost the connection to the embedded PostgreSQL; reconnecting, and starting the server again if it has exited')
    for (let wait = 100; !stopping; wait = Math.min(wait * 2, 1000)) {
      try {
        await connectLocked()
        usedByOther = false
        return
      } catch (error) {
        if (stopping) return
        usedByOther = error instanceof DataDirInUseError
        log((error as Error).message)
        await sleep(wait)
      }
    }
  }

  try {
    await connectLocked()
    await createDatabaseIfMissing(lock!)
  } catch (error) {
    if (error instanceof DataDirInUseError) error.url = toUrl(address)
    else socket?.remove()
    throw error
  }
  return {
    url: toUrl(address),
    async stop() {
      stopping = true
      // Otherwise a reconnection in progress would start the server again and hold the lock.
      await reconnecting
      if (!usedByOther) await stopServer(cluster)
      await lock.end().catch(() => undefined)
      socket?.remove()
    },
  }
}

function toUrl({ host, port, user, password }: { host: string; port: number; user: string; password: string }): string {
  if (onWindows) return `postgres://${user}:${password}@${host}:${port}/${clusterOwner}?sslmode=disable`
  return `postgres://${user}@localhost/${clusterOwner}?host=${encodeURIComponent(host)}&port=${port}&sslmode=disable`
}

function serverArgs(cluster: Cluster, all: Record<string, string>): string[] {
  return [
    '-D',
    clusterSpawnTarget(cluster).name,
    ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]),
  ]
}

/** Connects to the server, starts it if necessary, and acquires the advisory lock on the returned connection. */
async function startAndLock(
  cluster: Cluster,
  address: ClientConfig,
  args: string[],
  log: (message: string) => void,
  isStopping: () => boolean,
) {
  const deadline = performance.now() + limits.embeddedPostgresStartTimeout
  let started = false
  for (let attempt = 0; performance.now() < deadline && !isStopping(); ) {
    const client = await connect(address)
    if (client === 'absent') {
      const server = readServer(cluster)
      if (server && isServer(cluster, server.pid)) {
        await sleep(10)
      } else {
        // The process ID in postmaster.pid belongs to an unrelated process. With this file, the new server would report
        // that a server is already running.
        if (server && isAlive(server.pid)) rmSync(join(cluster.folder, 'postmaster.pid'), { force: true })
        const failure = await startServer(cluster, args, deadline)
        started = failure === null
        // A start can fail because another process starts the server at the same time, or because processes of a killed
        // server are still exiting. Therefore it is repeated.
        if (failure !== null && ++attempt === 5) throw new Error(`the embedded PostgreSQL does not start: ${failure}`)
        if (failure !== null) await sleep(100 * attempt)
      }
    } else if (client === 'busy') {
      await sleep(10)
    } else {
      await acquireLock(client, cluster)
      if (started || hasSameArgs(cluster, args)) {
        if (!started) log(`using the PostgreSQL that already runs in ${cluster.dataDir}`)
        return client
      }
      // The running server has other settings or other binaries.
      log(`restarting the PostgreSQL that already runs in ${cluster.dataDir}`)
      await stopServer(cluster)
      await client.end().catch(() => undefined)
    }
  }
  if (isStopping()) throw new Error('the embedded PostgreSQL is being stopped')
  throw new Error(
    `the embedded PostgreSQL in ${cluster.dataDir} did not accept connections within ${limits.embeddedPostgresStartTimeout / 1000} s`,
  )
}

/**
 * @returns a connection; `absent` when no server is listening; `busy` while the server starts or stops
 * @throws Error when the connection fails for another reason
 */
async function connect(address: ClientConfig): Promise<Client | 'absent' | 'busy'> {
  const client = new Client({
    ...address,
    database: 'postgres',
    ssl: false,
    application_name: `gatehouse ${process.pid}`,
    connectionTimeoutMillis: limits.embeddedPostgresConnectTimeout,
    keepAlive: true,
  })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    const { code = '', message } = error as Error & { code?: string }
    if (code === 'ENOENT' || code === 'ECONNREFUSED') return 'absent'
    // SQLSTATE 57P01 to 57P03: the server is shutting down, has crashed or is starting up.
    if (/^57P0/.test(code) || code === 'ECONNRESET' || code === 'EPIPE' || /terminated/.test(message)) return 'busy'
    throw new Error(`cannot connect to the embedded PostgreSQL: ${message}`, { cause: error })
  }
}

/** @throws DataDirInUseError that names the directory and the process that uses it */
async function acquireLock(client: Client, { dataDir }: Cluster): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const { rows } = await client.query<{ acquired: boolean }>('SELECT pg_try_advisory_lock($1) AS acquired', [
      advisoryLockKey,
    ])
    if (rows[0]?.acquired) return
    const { rows: lockOwners } = await client.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
       WHERE locktype = 'advisory' AND objid = $1 AND granted`,
      [advisoryLockKey],
    )
    const pid = Number(lockOwners[0]?.name.replace('gatehouse ', ''))
    // If the process that held the lock was killed, the server needs a moment to detect its end.
    if (attempt < 50 && !(pid && isAlive(pid))) {
      await sleep(20)
      continue
    }
    await client.end()
    throw new DataDirInUseError(
      `${dataDir} is in use by another Gatehouse (process ${pid || 'unknown'}); stop that process first`,
    )
  }
}

async function createDatabaseIfMissing(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [clusterOwner])
  if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(clusterOwner)}`)
}

/**
 * Starts the server and waits until it is ready.
 * @returns null on success; after a failure its reason, such as the last lines of the server's log
 */
async function startServer(cluster: Cluster, args: string[], deadline: number): Promise<string | null> {
  const logFile = join(cluster.dataDir, 'postgres.log')
  if (existsSync(logFile) && statSync(logFile).size > limits.maxEmbeddedPostgresLogBytes)
    renameSync(logFile, `${logFile}.1`)
  // The server writes to a file instead of a pipe, because it may run longer than this process.
  const output = openSync(logFile, 'a', 0o600)
  const logOffset = statSync(logFile).size
  let child: ChildProcess
  let failure: string | null = null
  try {
    const stdio = ['ignore' as const, output, output]
    child = spawn(program(cluster), args, { ...clusterSpawnTarget(cluster).options, detached: true, stdio })
  } finally {
    closeSync(output)
  }
  child.on('error', (error) => (failure = error.message))
  const onExit = (): void => {
    failure ??= readFileSync(logFile).subarray(logOffset).toString().trim().split('\n').slice(-3).join(' ')
  }
  child.on('exit', onExit)
  child.unref()
  while (failure === null && performance.now() < deadline) {
    const server = readServer(cluster)
    if (server?.ready && (server.pid === child.pid || onWindows)) {
      // `reconnect` handles a later exit of the server. The log file may not exist at that time.
      child.off('exit', onExit)
      return null
    }
    await sleep(5)
  }
  return failure ?? 'it is not ready yet'
}

const program = ({ binaries }: Cluster) => join(binaries.bin, 'postgres')

/** Returns true when the running server has this binary and these arguments, according to postmaster.opts. */
function hasSameArgs(cluster: Cluster, args: string[]): boolean {
  const line = [realpathSync(program(cluster)), ...args.map((word) => `"${word}"`)].join(' ')
  try {
    return readFileSync(join(cluster.folder, 'postmaster.opts'), 'utf8').trim() === line
  } catch {
    return false
  }
}

async function stopServer(cluster: Cluster): Promise<void> {
  const server = readServer(cluster)
  if (!server || !isServer(cluster, server.pid)) return
  // SIGINT requests a fast shutdown. On Windows the signal kills the process, and the next start runs crash recovery.
  process.kill(server.pid, 'SIGINT')
  const deadline = performance.now() + limits.embeddedPostgresStopTimeout
  // The loop waits for the removal of postmaster.pid, because the process ID may exist longer: a server that this
  // process did not start may remain as a zombie process.
  while (readServer(cluster)?.pid === server.pid && isServer(cluster, server.pid)) {
    if (performance.now() > deadline) process.kill(server.pid, 'SIGQUIT')
    await sleep(10)
  }
}

function freePort(): Promise<number> {
  return new Promise((done) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => done(typeof address === 'object' && address ? address.port : 0))
    })
  })
}
