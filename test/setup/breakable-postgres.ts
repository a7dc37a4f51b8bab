/** A PostgreSQL server for one test, which the test can kill, stop and freeze. It does not run on Windows. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import pg from 'pg'
import { clusterOwner, clusterSpawnTarget, openCluster, socketFolder } from '../../src/platform/postgres/cluster.js'
import { waitUntil } from './wait-until.js'

export interface BreakablePostgres {
  url: string
  /** Starts the server and waits until it accepts connections. */
  start(): Promise<void>
  /** Sends SIGKILL to the postmaster and to all processes that pg_stat_activity lists. */
  kill(): Promise<void>
  /** Sends SIGKILL to one backend process of Gatehouse. PostgreSQL then ends all connections and recovers by itself. */
  killBackend(): Promise<void>
  /** Sends SIGQUIT: an immediate shutdown, which ends all connections without a checkpoint. */
  stop(): Promise<void>
  /**
   * Sends SIGSTOP to the same processes as `kill`. Connections stay open without a response.
   * @returns a function that continues the processes
   */
  freeze(): Promise<() => void>
}

/** @param folder where the data of the server is stored; the caller removes it */
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
        // PostgreSQL does not start while processes of the killed server still run, so start it again if it exited.
        if (!child || child.exitCode !== null || child.signalCode !== null) {
          const args = ['-D', name, ...serverSettings.flatMap((setting) => ['-c', setting])]
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
