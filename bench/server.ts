/** Starts a Gatehouse process for a benchmark, with the embedded database in a temporary folder. */
import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { newId } from '../src/kernel/ids.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'

const cli = fileURLToPath(new URL('../src/cli.js', import.meta.url))

/**
 * The options of the script `start` in package.json. A small young generation of the heap saves tens of megabytes of
 * memory in an idle process.
 */
const flags = ['--max-semi-space-size=8']
/**
 * The folder into which each server writes a CPU profile, from the environment variable PROFILES; undefined for none.
 */
const profiles = process.env['PROFILES']
if (profiles) flags.push('--cpu-prof', `--cpu-prof-dir=${profiles}`)

export interface Server {
  baseUrl: string
  idpUrl: string
  authorization: string
  /** The time from the start of the process until /readyz returned 200, in milliseconds. */
  readyAfterMs: number
  /** Returns the resident memory of the Node.js process in MB. */
  memoryMb(): number
  /** Returns the number of transactions that the database has committed. A single statement counts as a transaction. */
  commits(): Promise<number>
  /** Returns the CPU seconds that the Node.js process has used, in user and system mode. */
  cpuSeconds(): number
  stop(): Promise<void>
}

export const createFolder = (): string => mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
export const removeFolder = (folder: string): void => rmSync(folder, { recursive: true, force: true })

/** Starts Gatehouse and waits until it is ready. */
export async function startServer(dataDir: string, env: Record<string, string> = {}): Promise<Server> {
  const port = 20_000 + (process.pid % 10_000)
  const key = `${newId('ak', Date.now())}:${randomBytes(32).toString('hex')}`
  const baseUrl = `http://127.0.0.1:${port}`
  const idpUrl = `http://127.0.0.1:${port + 10_000}`
  const started = performance.now()
  const child: ChildProcess = spawn(process.execPath, [...flags, cli, 'start'], {
    env: {
      PATH: process.env['PATH'] ?? '',
      DATA_DIR: dataDir,
      PORT: String(port),
      IDP_PORT: String(port + 10_000),
      BASE_URL: baseUrl,
      IDP_URL: idpUrl,
      BOOTSTRAP_API_KEY: key,
      RATE_LIMITS: 'off',
      LOG_LEVEL: 'warn',
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const pid = child.pid!
  for (;;) {
    if (child.exitCode !== null) throw new Error(`Gatehouse exited with code ${child.exitCode}.`)
    const ready = await fetch(`${baseUrl}/readyz`).then(
      (answer) => answer.ok,
      () => false,
    )
    if (ready) break
    await sleep(5)
  }
  const readyAfter = performance.now() - started
  return {
    baseUrl,
    idpUrl,
    authorization: `Basic ${Buffer.from(key).toString('base64')}`,
    readyAfterMs: readyAfter,
    memoryMb: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    commits: async () => {
      const { url } = await startDatabaseServer(readConfig({ DATA_DIR: dataDir }), () => {}, true)
      const client = new pg.Client(url)
      await client.connect()
      // A PostgreSQL backend reports its statistics at most once a second.
      await sleep(1100)
      const text = 'SELECT xact_commit::int AS count FROM pg_stat_database WHERE datname = current_database()'
      const { rows } = await client.query<{ count: number }>(text)
      await client.end()
      return rows[0]!.count
    },
    cpuSeconds: () => {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
      return (Number(fields[11]) + Number(fields[12])) / 100
    },
    stop: () =>
      new Promise((done) => {
        child.once('exit', () => done())
        child.kill('SIGINT')
      }),
  }
}
