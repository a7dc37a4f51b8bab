/** A PostgreSQL server of a test's own that can be killed, stopped and frozen. Not on Windows. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { inCluster, openCluster, owner, socketFolder } from '../../src/platform/postgres-cluster.js'

export interface BreakablePostgres {
  url: string
  /** Starts the server and waits until it takes connections. */
  start(): Promise<void>
  /** SIGKILL to the postmaster and to every other process of the server. */
  kill(): Promise<void>
  /** SIGKILL to one process that serves a connection: the server ends all of them and recovers by itself. */
  killBackend(): Promise<void>
  /** Ends at once, without saying goodbye to anybody. */
  stop(): Promise<void>
  /** SIGSTOP to everything: connections stay open and nobody answers; until `thaw`. */
  freeze(): Promise<() => void>
}

/** @param folder of the test, which removes it */
export async function makeBreakablePostgres(folder: string): Promise<BreakablePostgres> {
  const cluster = await openCluster(folder, () => undefined)
  const { path: host } = socketFolder(cluster.folder)
  const url = `postgres://${owner}@localhost/postgres?host=${encodeURIComponent(host)}&port=5432&sslmode=disable`
  const { name, options } = inCluster(cluster)
  const words = ['listen_addresses=', 'unix_socket_directories=.', 'max_connections=100', 'log_min_messages=panic']
  let child: ChildProcess

  async function pids(where = 'true'): Promise<number[]> {
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    const text = `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND ${where} ORDER BY random()`
    const { rows } = await client.query<{ pid: number }>(text)
    await client.end()
    return rows.map(({ pid }) => pid)
  }
  const signal = (pid: number, what: NodeJS.Signals): void => {
    try {
      process.kill(pid, what)
    } catch {}
  }
  async function end(what: NodeJS.Signals): Promise<void> {
    const exit = once(child, 'exit')
    signal(child.pid!, what)
    await exit
  }

  return {
    url,
    async start() {
      for (const until = performance.now() + 60_000; performance.now() < until; await sleep(50)) {
        // Parts of a server that was killed may still be about to end; then the new one does not start.
        if (!child || child.exitCode !== null || child.signalCode !== null) {
          const args = ['-D', name, ...words.flatMap((word) => ['-c', word])]
          child = spawn(join(cluster.binaries.bin, 'postgres'), args, { ...options, stdio: 'ignore' })
        }
        const ready = await pids().catch(() => undefined)
        if (ready) return
      }
      throw new Error('PostgreSQL does not start')
    },
    async kill() {
      const others = await pids()
      const dead = end('SIGKILL')
      for (const pid of others) signal(pid, 'SIGKILL')
      await dead
    },
    async killBackend() {
      const [pid] = await pids("application_name LIKE 'gatehouse keys %' AND application_name NOT LIKE '% notices'")
      if (pid !== undefined) signal(pid, 'SIGKILL')
    },
    stop: () => end('SIGQUIT'),
    async freeze() {
      const all = [child.pid!, ...(await pids())]
      for (const pid of all) signal(pid, 'SIGSTOP')
      return () => {
        for (const pid of all) signal(pid, 'SIGCONT')
      }
    },
  }
}
