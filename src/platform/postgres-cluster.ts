/**
 * The files of an embedded PostgreSQL: its data folder (the cluster), made once, and what they tell of a running server.
 *
 * DATA_DIR is closed to everybody (0700) and may lie below closed folders, yet as root the server runs as another user.
 * The child therefore gets the cluster as its working directory, entered before the user changes, and knows it as
 * /proc/self/cwd: PostgreSQL never leaves that folder, so the name stays true, and no folder above needs opening.
 */
import { type SpawnOptions, spawn } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { makeFolder } from './folders.js'
import {
  type Binaries,
  type ChildUser,
  childEnvironment,
  childUser,
  findBinaries,
  onWindows,
} from './postgres-binaries.js'

export type Cluster = {
  dataDir: string
  /** DATA_DIR/postgres */
  folder: string
  user: ChildUser
  binaries: Binaries
  /** Only where the connection is TCP (Windows), open to every user of the machine. */
  password: string | null
}

/** The role that owns everything, and the database. */
export const owner = 'gatehouse'

/**
 * Finds or makes the cluster of a data folder. A cluster appears under its name only when it is whole: it is made under
 * another and renamed, so a process killed meanwhile leaves nothing that looks like a database.
 *
 * @throws Error when there are no programs to run it, or they are of another major version, or initdb fails
 */
export async function openCluster(path: string, log: (message: string) => void): Promise<Cluster> {
  makeFolder(resolve(path))
  const dataDir = realpathSync(resolve(path))
  closeToOthers(dataDir)
  const folder = join(dataDir, 'postgres')
  const user = childUser(folder)
  if (user.uid !== undefined && process.platform !== 'linux') {
    throw new Error('PostgreSQL does not run as root: start Gatehouse as an ordinary user, or set DATABASE_URL')
  }
  const version = join(folder, 'PG_VERSION')
  const made = existsSync(version) ? Number(readFileSync(version, 'utf8')) : undefined
  const binaries = findBinaries(dataDir, user, made)
  const cluster = { dataDir, folder, user, binaries, password: onWindows ? keepPassword(dataDir) : null }
  if (made === undefined) {
    log(`making a database in ${dataDir} (PostgreSQL ${binaries.major})`)
    await make(cluster)
  }
  return cluster
}

/** A folder of another user keeps the mode that its owner gave it. */
function closeToOthers(folder: string): void {
  if (statSync(folder).uid === (process.getuid?.() ?? -1)) chmodSync(folder, 0o700)
}

function keepPassword(dataDir: string): string {
  const file = join(dataDir, 'postgres-password')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8')
}

/** How to name the cluster to a program, and the options to start that program with. */
export function inCluster({ folder, user }: Pick<Cluster, 'folder' | 'user'>): { name: string; options: SpawnOptions } {
  const name = user.uid === undefined ? folder : '/proc/self/cwd'
  return { name, options: { ...user, cwd: folder, env: childEnvironment, windowsHide: true } }
}

async function make({ dataDir, folder, user, binaries, password }: Cluster): Promise<void> {
  removeLeftovers(dataDir)
  const fresh = join(dataDir, `postgres.new-${process.pid}`)
  mkdirSync(fresh, { mode: 0o700 })
  if (user.uid !== undefined) chownSync(fresh, user.uid, user.gid ?? user.uid)
  const { name, options } = inCluster({ folder: fresh, user })
  // The C collation compares as bytes, as our ids and keyset pages want it; version 17 has it for UTF-8 without a library.
  const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const access =
    password === null
      ? ['--auth-local=trust', '--auth-host=reject']
      : ['--auth=scram-sha-256', `--pwfile=${join(dataDir, 'postgres-password')}`]
  const words = ['-D', name, '-U', owner, '--encoding=UTF8', '--locale=C', '--no-instructions', ...locale, ...access]
  try {
    await run(join(binaries.bin, 'initdb'), words, options)
    renameSync(fresh, folder)
  } catch (error) {
    // Another process may have made the cluster first; renaming onto a full folder fails.
    if (!existsSync(join(folder, 'PG_VERSION'))) throw error
  } finally {
    rmSync(fresh, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Half-made clusters of processes that are gone. */
function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = Number(/^postgres\.new-(\d+)$/.exec(name)?.[1])
    if (pid && (pid === process.pid || !isAlive(pid))) {
      rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

function run(file: string, words: string[], options: SpawnOptions): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(file, words, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    child.stdout?.on('data', (text) => (output += text))
    child.stderr?.on('data', (text) => (output += text))
    child.on('error', fail)
    child.on('close', (code) => {
      if (code === 0) return done()
      const hint = /user does not exist/.test(output)
        ? ' (give this user an entry in /etc/passwd, or set DATABASE_URL)'
        : ''
      fail(new Error(`${file} failed: ${output.trim().split('\n').slice(-3).join(' ')}${hint}`))
    })
  })
}

export type ServerProcess = { pid: number; port: number; ready: boolean }

/** What the server wrote of itself in postmaster.pid; null when there is no such file, or not yet a whole one. */
export function readServer({ folder }: Cluster): ServerProcess | null {
  let lines: string[]
  try {
    lines = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return null
  }
  const pid = Number(lines[0])
  return pid > 0 ? { pid, port: Number(lines[3]), ready: lines[7]?.trim() === 'ready' } : null
}

/**
 * Whether the process that the file names is this cluster's server. After a crash its number may have gone to another
 * process, which is common in containers; a server is known by its working directory.
 */
export function isServer({ folder }: Cluster, pid: number): boolean {
  if (process.platform !== 'linux') return isAlive(pid)
  try {
    const [here, there] = [statSync(folder), statSync(`/proc/${pid}/cwd`)]
    return here.ino === there.ino && here.dev === there.dev
  } catch {
    return false
  }
}

/** @returns whether a process of this number exists, whoever owns it */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The longest path of a socket is 107 bytes on Linux, 103 elsewhere. */
const longestSocketFolder = 103 - '/.s.PGSQL.5432'.length

/**
 * The folder by which clients reach the server's socket: the cluster itself (so that the closed DATA_DIR guards the
 * connection), or a link to it where that name is too long. The link gives no rights: what it leads to stays closed.
 *
 * @returns the folder, and what undoes the link
 */
export function socketFolder(folder: string): { path: string; remove(): void } {
  if (Buffer.byteLength(folder) <= longestSocketFolder) return { path: folder, remove: () => undefined }
  const root = tmpdir().length > 60 ? '/tmp' : tmpdir()
  const name = join(root, `gatehouse-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  const path = isOurLink(name, folder) ? name : existsLink(name) ? `${name}-${randomBytes(4).toString('hex')}` : name
  if (!existsLink(path)) symlinkSync(folder, path)
  return { path, remove: () => rmSync(path, { force: true }) }
}

const existsLink = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/** Names in a shared folder can be taken by others beforehand. */
function isOurLink(path: string, target: string): boolean {
  const facts = lstatSync(path, { throwIfNoEntry: false })
  return facts?.isSymbolicLink() === true && facts.uid === process.getuid?.() && readlinkSync(path) === target
}
