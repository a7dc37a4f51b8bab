import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, afterEach, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { startEmbeddedPostgres } from '../../src/platform/postgres/embedded.js'
import { waitUntil } from '../setup/wait-until.js'

// Most tests use the same cluster, because creating one is slow. The path contains a space, which must work.
const root = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse embedded ')))
const home = join(root, 'data')
const children: ChildProcess[] = []
const folders = new Set<string>()
const messages: string[] = []

async function start(folder = home, settings: Record<string, string> = {}) {
  folders.add(folder)
  messages.length = 0
  return await startEmbeddedPostgres(folder, (message) => messages.push(message), { settings })
}

const serverPid = (folder = home) =>
  Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])

async function runQuery(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    return Object.values((await client.query(sql)).rows[0] ?? {})[0]
  } finally {
    await client.end()
  }
}

const launcher = new URL('../../src/platform/postgres/embedded.js', import.meta.url).href
const program = `
  const { startEmbeddedPostgres } = await import(process.argv[1])
  process.on('SIGINT', () => console.log('draining'))
  const { url, stop } = await startEmbeddedPostgres(process.argv[2], () => undefined)
  console.log(url)
  process.on('SIGTERM', () => stop().then(() => process.exit(0)))
  setInterval(() => undefined, 1000)`

/** Starts another process that uses the data folder. */
function spawnOther(folder: string, options: { uid?: number; gid?: number } = {}): ChildProcess {
  folders.add(folder)
  const args = ['--input-type=module', '-e', program, launcher, folder]
  const child = spawn(process.execPath, args, {
    ...options,
    cwd: '/',
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  children.push(child)
  return child
}

async function nextLine(child: ChildProcess): Promise<string> {
  const [text] = (await Promise.race([once(child.stdout!, 'data'), once(child.stderr!, 'data')])) as [Buffer]
  return text.toString().trim()
}

async function kill9(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

afterEach(async () => {
  for (const child of children.splice(0)) if (child.exitCode === null && child.signalCode === null) await kill9(child)
  for (const folder of folders) {
    if (existsSync(join(folder, 'postgres', 'postmaster.pid'))) await (await start(folder)).stop()
  }
})
afterAll(() => rmSync(root, { recursive: true, force: true, maxRetries: 10 }))

describe('the embedded PostgreSQL', () => {
  test('creates its data folder for the owner only, and keeps the data after a restart', async () => {
    chmodSync(root, 0o700)
    const first = await start()
    await runQuery(first.url, 'CREATE TABLE kept AS SELECT 42 AS answer')
    await first.stop()
    const second = await start()
    expect(await runQuery(second.url, 'SELECT answer FROM kept')).toBe(42)
    await second.stop()
    expect((statSync(home).mode & 0o777).toString(8)).toBe('700')
    expect(existsSync(join(home, 'postgres', 'postmaster.pid'))).toBe(false)
  })

  test('is crash-safe and does not listen on the network', async () => {
    const { url, stop } = await start()
    for (const [name, value] of [
      ['fsync', 'on'],
      ['full_page_writes', 'on'],
      ['synchronous_commit', 'on'],
      ['listen_addresses', ''],
      ['server_encoding', 'UTF8'],
    ]) {
      expect([name, await runQuery(url, `SHOW ${name}`)]).toEqual([name, value])
    }
    await stop()
  })

  test('adopts the server that a killed process left behind', async () => {
    const other = spawnOther(home)
    await nextLine(other)
    const pid = serverPid()
    await kill9(other)
    const { url, stop } = await start()
    expect(messages).toEqual([`using the PostgreSQL that already runs in ${home}`])
    expect(serverPid()).toBe(pid)
    expect(await runQuery(url, 'SELECT 1')).toBe(1)
    await stop()
  })

  test('restarts an adopted server that has other settings', async () => {
    const other = spawnOther(home)
    await nextLine(other)
    await kill9(other)
    const { url, stop } = await start(home, { max_connections: '50' })
    expect(await runQuery(url, 'SHOW max_connections')).toBe('50')
    await stop()
  })

  test('allows one process per data folder: a second process fails, and a kill releases the lock', async () => {
    const other = spawnOther(home)
    await nextLine(other)
    const refusal = `${home} is in use by another Gatehouse (process ${other.pid}); stop that process first`
    await expect(start()).rejects.toThrow(refusal)
    await kill9(other)
    await (await start()).stop()
  })

  test('allows one process per data folder, also when several processes start in parallel', async () => {
    const starts = await Promise.all([1, 2, 3].map(async () => nextLine(spawnOther(home))))
    expect(starts.filter((line) => line.startsWith('postgres://'))).toHaveLength(1)
  })

  test('replaces an incomplete cluster of a killed process', async () => {
    const folder = join(root, 'half')
    const other = spawnOther(folder)
    const half = join(folder, `postgres.new-${other.pid}`)
    await waitUntil('initdb has begun', () => existsSync(join(half, 'PG_VERSION')), { interval: 2 })
    await kill9(other)
    expect(existsSync(join(folder, 'postgres'))).toBe(false)
    const { url, stop } = await start(folder)
    expect(await runQuery(url, 'SELECT 1')).toBe(1)
    await stop()
    expect(readdirSync(folder).sort()).toEqual(['postgres', 'postgres.log'])
  })

  test('rejects a cluster of another major version with a clear error', async () => {
    const folder = join(root, 'old')
    mkdirSync(join(folder, 'postgres'), { recursive: true })
    writeFileSync(join(folder, 'postgres', 'PG_VERSION'), '9\n')
    await expect(start(folder)).rejects.toThrow(/created by PostgreSQL 9, .* DATABASE_URL/)
    folders.delete(folder)
  })

  test('starts when the process ID in postmaster.pid belongs to another process', async () => {
    const { uid } = statSync(join(home, 'postgres'))
    const unrelated = spawn('sleep', ['60'], uid === process.getuid?.() ? {} : { uid })
    children.push(unrelated)
    writeFileSync(
      join(home, 'postgres', 'postmaster.pid'),
      `${unrelated.pid}\n/elsewhere\n1\n5432\n.\n\n0 0\nready   \n`,
    )
    const { url, stop } = await start()
    expect(await runQuery(url, 'SELECT 1')).toBe(1)
    await stop()
  })

  test('restarts a server that exits', async () => {
    const { url, stop } = await start()
    process.kill(serverPid(), 'SIGKILL')
    await waitUntil('the server accepts queries again', () => runQuery(url, 'SELECT 1').catch(() => null))
    await expect(start()).rejects.toThrow('in use')
    await stop()
  })

  test('the server log contains no statements, parameters or row values', async () => {
    const { url, stop } = await start()
    const value = 'zq7kanari'
    await runQuery(url, 'CREATE TABLE IF NOT EXISTS people (name TEXT UNIQUE)')
    const failing = [`INSERT INTO people SELECT '${value}' FROM generate_series(1, 2)`, `SELECT '${value}'::int`, value]
    for (const text of failing) await expect(runQuery(url, text)).rejects.toThrow()
    const client = new pg.Client({ connectionString: url })
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query('SELECT pg_backend_pid() AS pid')
    const running = client.query(`SELECT '${value}', pg_sleep(60)`)
    process.kill(rows[0].pid, 'SIGKILL')
    await expect(running).rejects.toThrow()
    const log = () => readFileSync(join(home, 'postgres.log'), 'utf8')
    await waitUntil('the log names the signal', () => log().includes('was terminated by signal 9'))
    expect(log()).not.toContain(value)
    // A server that is still handling the crash takes up to 30 seconds to stop.
    await waitUntil('the server answers again', () => runQuery(url, 'SELECT 1').catch(() => null))
    await stop()
  })

  test('Ctrl-C does not stop the server while the process finishes its requests', async () => {
    const other = spawnOther(home)
    const url = await nextLine(other)
    const pid = serverPid()
    const line = nextLine(other)
    process.kill(-other.pid!, 'SIGINT')
    expect(await line).toBe('draining')
    // If the SIGINT had reached the server, it would shut down before it accepted this connection.
    expect(await runQuery(url, 'SELECT 1')).toBe(1)
    expect(serverPid()).toBe(pid)
    const ended = once(other, 'exit')
    other.kill('SIGTERM')
    expect(await ended).toEqual([0, null])
  })

  test('works in a folder whose path is too long for a Unix socket, and removes its symbolic link', async () => {
    const folder = join(root, 'long '.repeat(30))
    const { url, stop } = await start(folder)
    const link = new URL(url).searchParams.get('host')!
    expect(link.length).toBeLessThan(90)
    expect(await runQuery(url, 'SELECT 1')).toBe(1)
    await stop()
    expect(existsSync(link)).toBe(false)
  })

  const canSwitchUser = process.getuid?.() === 0 && canRead(fileURLToPath(launcher), 65534)
  ;(canSwitchUser ? test : test.skip)('runs as a user other than root', async () => {
    const folder = join(tmpdir(), `gatehouse-ordinary-${process.pid}`)
    mkdirSync(folder, { mode: 0o700 })
    chownSync(folder, 65534, 65534)
    try {
      const other = spawnOther(folder, { uid: 65534, gid: 65534 })
      const url = await nextLine(other)
      expect(await runQuery(url, 'SELECT 1')).toBe(1)
      const ended = once(other, 'exit')
      other.kill('SIGTERM')
      await ended
    } finally {
      folders.delete(folder)
      rmSync(folder, { recursive: true, force: true })
    }
  })
})

function canRead(path: string, uid: number): boolean {
  return (
    spawnSync(process.execPath, ['-e', `require('node:fs').accessSync(${JSON.stringify(path)})`], { uid, cwd: '/' })
      .status === 0
  )
}
