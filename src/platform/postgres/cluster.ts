/**
 * The files of the embedded PostgreSQL: creates its data directory (the cluster) and reads the state of a running
 * server.
 *
 * DATA_DIR has mode 0700 and may be below other private directories. If Gatehouse runs as root, the server runs as
 * another user, who cannot access those directories. Therefore the child process gets the cluster as its working
 * directory before its user changes, and uses the path /proc/self/cwd for the cluster. PostgreSQL never changes its
 * working directory, so that path remains valid and the server needs no access to the parent directories.
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
import { createPrivateDirectory } from '../directories.js'
import { type Binaries, type ChildUser, childEnvironment, childUser, findBinaries, onWindows } from './binaries.js'

export type Cluster = {
  /** The absolute path of DATA_DIR. */
  dataDir: string
  /** The data directory of the cluster: `DATA_DIR/postgres`. */
  folder: string
  /** The user that runs the server. */
  user: ChildUser
  binaries: Binaries
  /**
   * The password of the owner role on Windows, where the server listens on TCP and every user of the machine can
   * connect. Null on other systems.
   */
  password: string | null
}

/** The name of the role that owns the cluster, and of the database. */
export const clusterOwner = 'gatehouse'

/**
 * Opens the cluster in DATA_DIR, and creates it if it does not exist. A new cluster is created under a temporary name
 * and then renamed, so that a killed process does not leave an incomplete cluster.
 *
 * @param path the path of DATA_DIR
 * @param log receives messages for the operator
 * @throws Error when there are no suitable binaries, when initdb fails, or when root runs Gatehouse on a system other
 *   than Linux
 */
export async function openCluster(path: string, log: (message: string) => void): Promise<Cluster> {
  createPrivateDirectory(resolve(path))
  const dataDir = realpathSync(resolve(path))
  restrictPermissions(dataDir)
  const folder = join(dataDir, 'postgres')
  const user = childUser(folder)
  if (user.uid !== undefined && process.platform !== 'linux') {
    throw new Error('The embedded PostgreSQL cannot run as root. Start Gatehouse as another user, or set DATABASE_URL.')
  }
  const version = join(folder, 'PG_VERSION')
  const existingMajor = existsSync(version) ? Number(readFileSync(version, 'utf8')) : undefined
  const binaries = findBinaries(dataDir, user, existingMajor)
  const cluster = { dataDir, folder, user, binaries, password: onWindows ? readOrCreatePassword(dataDir) : null }
  if (existingMajor === undefined) {
    log(`creating a database in ${dataDir} (PostgreSQL ${binaries.major})`)
    await initializeCluster(cluster)
  }
  return cluster
}

/** Sets the mode 0700, unless another user owns the directory. */
function restrictPermissions(folder: string): void {
  if (statSync(folder).uid === (process.getuid?.() ?? -1)) chmodSync(folder, 0o700)
}

function readOrCreatePassword(dataDir: string): string {
  const file = join(dataDir, 'postgres-password')
  if (!existsSync(file)) writeFileSync(file, randomBytes(32).toString('base64url'), { mode: 0o600, flag: 'wx' })
  return readFileSync(file, 'utf8')
}

/** Returns the path that the child process uses for the cluster, and the options for `spawn`. */
export function clusterSpawnTarget({ folder, user }: Pick<Cluster, 'folder' | 'user'>): {
  name: string
  options: SpawnOptions
} {
  const name = user.uid === undefined ? folder : '/proc/self/cwd'
  return { name, options: { ...user, cwd: folder, env: childEnvironment, windowsHide: true } }
}

async function initializeCluster({ dataDir, folder, user, binaries, password }: Cluster): Promise<void> {
  removeLeftovers(dataDir)
  const tempDir = join(dataDir, `postgres.new-${process.pid}`)
  mkdirSync(tempDir, { mode: 0o700 })
  if (user.uid !== undefined) chownSync(tempDir, user.uid, user.gid ?? user.uid)
  const { name, options } = clusterSpawnTarget({ folder: tempDir, user })
  // The C collation compares bytes, which IDs and keyset pagination require. Since version 17, PostgreSQL has a builtin
  // locale provider, whose C.UTF-8 also compares bytes and converts the case of all letters.
  const locale = binaries.major >= 17 ? ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'] : []
  const access =
    password === null
      ? ['--auth-local=trust', '--auth-host=reject']
      : ['--auth=scram-sha-256', `--pwfile=${join(dataDir, 'postgres-password')}`]
  const args = [
    '-D',
    name,
    '-U',
    clusterOwner,
    '--encoding=UTF8',
    '--locale=C',
    '--no-instructions',
    ...locale,
    ...access,
  ]
  try {
    await run(join(binaries.bin, 'initdb'), args, options)
    renameSync(tempDir, folder)
  } catch (error) {
    // Renaming to a non-empty directory fails, so if there is a cluster now, another process has created it.
    if (!existsSync(join(folder, 'PG_VERSION'))) throw error
  } finally {
    rmSync(tempDir, { recursive: true, force: true, maxRetries: 3 })
  }
}

/** Removes incomplete clusters of processes that no longer exist or had the same process ID. */
function removeLeftovers(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = Number(/^postgres\.new-(\d+)$/.exec(name)?.[1])
    if (pid && (pid === process.pid || !isAlive(pid))) {
      rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3 })
    }
  }
}

function run(file: string, args: string[], options: SpawnOptions): Promise<void> {
  return new Promise((done, fail) => {
    const child = spawn(file, args, { ...options, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
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

/**
 * Reads the state of the server from postmaster.pid.
 * @returns null if the file cannot be read or contains no process ID; `port` is NaN and `ready` is false while their
 *   lines are missing
 */
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
 * Returns true when the process is the server of this cluster. After a crash the process ID in postmaster.pid may
 * belong to an unrelated process, which is common in containers. On Linux the server is therefore identified by its
 * working directory; on other systems any process with the ID counts.
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

/** Returns true when a process with this ID exists, even if it belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** The path of a socket can have 107 bytes on Linux and 103 bytes on other systems. */
const maxSocketFolderLength = 103 - '/.s.PGSQL.5432'.length

/**
 * Returns the directory of the server's socket. It is the directory of the cluster, so that the mode of DATA_DIR
 * restricts who can connect. If the path of the cluster is too long for a socket, it is a symbolic link to that
 * directory, which grants no access to it.
 *
 * @param folder the directory of the cluster
 * @returns the path, and a function that removes the link
 */
export function socketFolder(folder: string): { path: string; remove(): void } {
  if (Buffer.byteLength(folder) <= maxSocketFolderLength) return { path: folder, remove: () => undefined }
  const root = tmpdir().length > 60 ? '/tmp' : tmpdir()
  const name = join(root, `gatehouse-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  const path = isOurLink(name, folder) ? name : existsLink(name) ? `${name}-${randomBytes(4).toString('hex')}` : name
  if (!existsLink(path)) symlinkSync(folder, path)
  return { path, remove: () => rmSync(path, { force: true }) }
}

const existsLink = (path: string) => lstatSync(path, { throwIfNoEntry: false }) !== undefined

/**
 * Returns true when the path is a link to the target that the current user owns. Other users can create files in the
 * temporary directory too.
 */
function isOurLink(path: string, target: string): boolean {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  return stats?.isSymbolicLink() === true && stats.uid === process.getuid?.() && readlinkSync(path) === target
}
