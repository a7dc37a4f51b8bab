/** A PostgreSQL server for one test that can be killed, stopped and frozen. Not on Windows. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { clusterOwner, clusterSpawnTarget, openCluster, socketFolder } from '../../src/platform/postgres/cluster.js'
import { waitUntil } from './wait-until.js'

export interface BreakablePostgres {
  url: string
  /** Starts the server and waits until it takes connections. */
  start(): Promise<void>
  /** SIGKILL to the postmaster and to every other process of the server. */
  kill(): Promise<void>
  /** SIGKILL to one process that serves a connection: the server ends all of them and recovers by itself. */
  killBackend(): Promise<void>
  /** Stops immediately, without closing connections (immediate shutdown). */
  stop(): Promise<void>
  /** SIGSTOP to all processes: connections stay open without a response until `thaw`. */
  freeze(): Promise<() => void>
}

/** @param folder of the test, which removes it */
export async function createBreakablePostgres(folder: string): Promise<BreakablePostgres> {
  const cluster = await openCluster(folder, () => undefined)
  const { path: host } = socketFolder(cluster.folder)
  const url = `postgres://${clusterOwner}@localhost/postgres?host=${encodeURIComponent(host)}&port=5432&sslmode=disable`
  const { name, options } = clusterSpawnTarget(cluster)
  const serverSettings = [
    'listen_addresses=',
    'unix_socket_directories=.',
    'max_connections=100',
    'log_min_messages=panic',
  ]
  let child: ChildProcess

  async function pids(condition = 'true'): Promise<number[]> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    const text = `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${condition} ORDER BY random()`
    const { rows } = await client.query<{ pid: number }>(text)
    await client.end()
    return rows.map(({ pid }) => pid)
  }
  const signal = (pid: number, signalName: NodeJS.Signals): void => {
    try {
      process.kill(pid, signalName)
    } catch {}
  }
  async function terminate(signalName: NodeJS.Signals): Promise<void> {
    const exit = once(child, 'exit')
    signal(child.pid!, signalName)
    await exit
  }

  return {
    url,
    async start() {
      const tryToStart = async () => {
        // A new server does not start while processes of the killed one are still ending, so try again.
        if (!child || child.exitCode !== null || child.signalCode !== null) {
          const args = ['-D', name, ...serverSettings.flatMap((word) => ['-c', word])]
          child = spawn(join(cluster.binaries.bin, 'postgres'), args, { ...options, stdio: 'ignore' })
        }
        return pids().catch(() => undefined)
      }
      await waitUntil('PostgreSQL accepts connections', tryToStart, { limit: 60_000, interval: 50 })
    },
    async kill() {
      const others = await pids()
      const dead = terminate('SIGKILL')
      for (const pid of others) signal(pid, 'SIGKILL')
      await dead
    },
    async killBackend() {
      const [pid] = await pids("application_name LIKE 'gatehouse keys %' AND application_name NOT LIKE '% listen'")
      if (pid !== undefined) signal(pid, 'SIGKILL')
    },
    stop: () => terminate('SIGQUIT'),
    async freeze() {
      const all = [child.pid!, ...(await pids())]
      for (const pid of all) signal(pid, 'SIGSTOP')
      return () => {
        for (const pid of all) signal(pid, 'SIGCONT')
      }
    },
  }
}
