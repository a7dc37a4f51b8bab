/**
 * The database of a deployment that has none: a real PostgreSQL in DATA_DIR, started and stopped with us.
 *
 * One Gatehouse per DATA_DIR. The lock is an advisory lock held by one connection: it cannot go stale, for it ends with
 * the process that holds the connection, however that ends. The server outlives a killed Gatehouse; the next one takes
 * the lock and adopts it. The server is in a process group of its own, so that Ctrl-C reaches us alone and we may drain
 * before it stops.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, openSync, readFileSync, realpathSync, renameSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client, type ClientConfig, escapeIdentifier } from 'pg'
import { onWindows } from './postgres-binaries.js'
import {
  type Cluster,
  inCluster,
  isAlive,
  isServer,
  openCluster,
  owner,
  readServer,
  socketFolder,
} from './postgres-cluster.js'

export type EmbeddedPostgres = {
  /** A postgres:// address for node-pg and Prisma's adapter. */
  url: string
  /** Stops the server (its fast shutdown) and waits until it is gone. Connections that are still open break. */
  stop(): Promise<void>
}

/** Another Gatehouse runs on this folder. Its server can still be used by who needs no lock: the command line. */
export class InUse extends Error {
  url: string | undefined
}

/** Long enough for recovery after a crash; in milliseconds. */
const startLimitMs = 120_000
const stopLimitMs = 30_000
const lockKey = 72707370

const settings: Record<string, string> = {
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
  // Its log holds no statement, parameter or value of a row (decision D36): errors of statements are ours to report,
  // and DETAIL, which has the values of rows and the statement of a process that died, is left out.
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
 * Starts the embedded server, or adopts the one that a killed process left behind, making the database first if there
 * is none. A server that dies is started again.
 *
 * @param dataDir made when absent, and closed to other users (mode 0700)
 * @param log receives a line for each thing worth telling
 * @param options.settings server settings over ours, for tests
 * @throws Error in one line when another process uses the folder, no programs are found, or the server will not start
 */
export async function startEmbeddedPostgres(
  dataDir: string,
  log: (message: string) => void,
  options: { settings?: Record<string, string> } = {},
): Promise<EmbeddedPostgres> {
  const cluster = await openCluster(dataDir, log)
  const socket = onWindows ? null : socketFolder(cluster.folder)
  const port = onWindows ? (readServer(cluster)?.port ?? (await freePort())) : 5432
  const address = { host: socket?.path ?? '127.0.0.1', port, user: owner, password: cluster.password ?? '' }
  const words = serverWords(cluster, { ...settings, port: String(port), ...options.settings })
  let stopping = false
  let lock: Client

  async function open(): Promise<void> {
    lock = await openLocked(cluster, address, words, log)
    lock.on('end', () => void (stopping || reopen()))
  }
  async function reopen(): Promise<void> {
    log('lost the embedded PostgreSQL, starting it again')
    for (let wait = 100; !stopping; wait = Math.min(wait * 2, 5000)) {
      try {
        return await open()
      } catch (error) {
        log((error as Error).message)
        await sleep(wait)
      }
    }
  }

  try {
    await open()
    await makeDatabase(lock!)
  } catch (error) {
    if (error instanceof InUse) error.url = toUrl(address)
    else socket?.remove()
    throw error
  }
  return {
    url: toUrl(address),
    async stop() {
      stopping = true
      await stopServer(cluster)
      await lock.end().catch(() => undefined)
      socket?.remove()
    },
  }
}

function toUrl({ host, port, user, password }: { host: string; port: number; user: string; password: string }): string {
  if (onWindows) return `postgres://${user}:${password}@${host}:${port}/${owner}?sslmode=disable`
  return `postgres://${user}@localhost/${owner}?host=${encodeURIComponent(host)}&port=${port}&sslmode=disable`
}

function serverWords(cluster: Cluster, all: Record<string, string>): string[] {
  return ['-D', inCluster(cluster).name, ...Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}

/** Connects, starting the server if need be, and takes the lock of the folder on that connection. */
async function openLocked(cluster: Cluster, address: ClientConfig, words: string[], log: (message: string) => void) {
  const deadline = performance.now() + startLimitMs
  let started = false
  for (let attempt = 0; performance.now() < deadline; ) {
    const client = await connect(address)
    if (client === 'absent') {
      const server = readServer(cluster)
      if (server && isServer(cluster, server.pid)) {
        await sleep(10)
      } else {
        // Of a number that went to another process the server would believe that it is its predecessor, still running.
        if (server && isAlive(server.pid)) rmSync(join(cluster.folder, 'postmaster.pid'), { force: true })
        const failure = await startServer(cluster, words, deadline)
        started = failure === null
        // Two may start at once and one of them lose, or parts of a killed server may still be about to end.
        if (failure !== null && ++attempt === 5) throw new Error(`the embedded PostgreSQL does not start: ${failure}`)
        if (failure !== null) await sleep(100 * attempt)
      }
    } else if (client === 'busy') {
      await sleep(10)
    } else {
      await takeLock(client, cluster)
      if (started || sameWords(cluster, words)) {
        if (!started) log(`adopted the PostgreSQL that runs in ${cluster.dataDir} already`)
        return client
      }
      // It was started with other settings or by another version's programs.
      log(`restarting the PostgreSQL that runs in ${cluster.dataDir} already`)
      await stopServer(cluster)
      await client.end().catch(() => undefined)
    }
  }
  throw new Error(`the embedded PostgreSQL in ${cluster.dataDir} did not answer within ${startLimitMs / 1000} s`)
}

/** @returns a connection; `absent` when nothing listens; `busy` while the server starts or stops */
async function connect(address: ClientConfig): Promise<Client | 'absent' | 'busy'> {
  const client = new Client({
    ...address,
    database: 'postgres',
    ssl: false,
    application_name: `gatehouse ${process.pid}`,
    connectionTimeoutMillis: 10_000,
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
    // 57P01 to 57P03: shutting down, crashed, starting up.
    if (/^57P0/.test(code) || code === 'ECONNRESET' || code === 'EPIPE' || /terminated/.test(message)) return 'busy'
    throw new Error(`cannot connect to the embedded PostgreSQL: ${message}`, { cause: error })
  }
}

/** @throws Error naming the folder and the process that has it */
async function takeLock(client: Client, { dataDir }: Cluster): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    const { rows } = await client.query<{ held: boolean }>('SELECT pg_try_advisory_lock($1) AS held', [lockKey])
    if (rows[0]?.held) return
    const { rows: holders } = await client.query<{ name: string }>(
      `SELECT application_name AS name FROM pg_locks JOIN pg_stat_activity USING (pid)
       WHERE locktype = 'advisory' AND objid = $1 AND granted`,
      [lockKey],
    )
    const pid = Number(holders[0]?.name.replace('gatehouse ', ''))
    // The server takes a moment to notice that a killed holder is gone.
    if (attempt < 50 && !(pid && isAlive(pid))) {
      await sleep(20)
      continue
    }
    await client.end()
    throw new InUse(`${dataDir} is in use by another Gatehouse (process ${pid || 'unknown'}); stop it first`)
  }
}

async function makeDatabase(client: Client): Promise<void> {
  const { rowCount } = await client.query('SELECT FROM pg_database WHERE datname = $1', [owner])
  if (rowCount === 0) await client.query(`CREATE DATABASE ${escapeIdentifier(owner)}`)
}

/** Starts the server and waits until it is ready. @returns null, or why it ended: the last lines of its log */
async function startServer(cluster: Cluster, words: string[], deadline: number): Promise<string | null> {
  const logFile = join(cluster.dataDir, 'postgres.log')
  if (existsSync(logFile) && statSync(logFile).size > 5_000_000) renameSync(logFile, `${logFile}.1`)
  // A file, not a pipe to us: the server must be able to write when we are gone.
  const output = openSync(logFile, 'a', 0o600)
  const began = statSync(logFile).size
  let child: ChildProcess
  let failure: string | null = null
  try {
    const stdio = ['ignore' as const, output, output]
    child = spawn(program(cluster), words, { ...inCluster(cluster).options, detached: true, stdio })
  } finally {
    closeSync(output)
  }
  child.on('error', (error) => (failure = error.message))
  const onExit = (): void => {
    failure ??= readFileSync(logFile).subarray(began).toString().trim().split('\n').slice(-3).join(' ')
  }
  child.on('exit', onExit)
  child.unref()
  while (failure === null && performance.now() < deadline) {
    const server = readServer(cluster)
    if (server?.ready && (server.pid === child.pid || onWindows)) {
      // How it ends one day is told elsewhere, and its folder may be gone by then.
      child.off('exit', onExit)
      return null
    }
    await sleep(5)
  }
  return failure ?? 'it is not ready yet'
}

const program = ({ binaries }: Cluster) => join(binaries.bin, 'postgres')

/** Whether the running server was started just as we would start it; it keeps its command line in a file. */
function sameWords(cluster: Cluster, words: string[]): boolean {
  const line = [realpathSync(program(cluster)), ...words.map((word) => `"${word}"`)].join(' ')
  try {
    return readFileSync(join(cluster.folder, 'postmaster.opts'), 'utf8').trim() === line
  } catch {
    return false
  }
}

async function stopServer(cluster: Cluster): Promise<void> {
  const server = readServer(cluster)
  if (!server || !isServer(cluster, server.pid)) return
  // SIGINT: end sessions, write a checkpoint, leave. On Windows it is an immediate end; recovery mends it at the start.
  process.kill(server.pid, 'SIGINT')
  const deadline = performance.now() + stopLimitMs
  // The file goes last; an adopted server may stay as a zombie where nobody collects it, so its number tells nothing.
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
