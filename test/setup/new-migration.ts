/**
 * `npm run migration -- <name>` writes prisma/migrations/<yyyymmddhhmmss>_<name>/migration.sql with what the models
 * have gained since the last migration; `npm run migration -- --rewrite <folder>` makes the generated part of that
 * folder anew (only before a release has applied it anywhere). What stands below the mark is kept.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  closeShadow,
  handWrittenMark,
  migrationNames,
  packageRoot,
  pendingChanges,
  splitMigration,
} from './schema-drift.js'

const emptyBlock = `${handWrittenMark}: triggers, functions and indexes, written by hand and kept by a rewrite.\n`

/**
 * Writes one migration and says where.
 *
 * @param target a new name in snake case, or an existing folder to rewrite
 * @param root the folder that holds prisma/; the package by default
 * @returns the path of the written file, or null when models and migrations agree already
 * @throws Error when the name is not usable or the folder is missing or not the newest
 */
export async function writeMigration(
  target: { name: string } | { rewrite: string },
  root = packageRoot,
): Promise<string | null> {
  const models = join(root, 'prisma')
  const migrations = join(models, 'migrations')
  mkdirSync(migrations, { recursive: true })
  const folder = 'rewrite' in target ? existing(basename(target.rewrite), migrations) : stamped(target.name, migrations)
  const sql = await pendingChanges({ models, migrations, before: folder })
  if (sql === '' && 'name' in target) return null
  const file = join(migrations, folder, 'migration.sql')
  const handWritten = existsSync(file) ? splitMigration(readFileSync(file, 'utf8')).handWritten : ''
  mkdirSync(join(migrations, folder), { recursive: true })
  writeFileSync(file, `${sql}\n\n${handWritten || emptyBlock}`)
  const lock = join(migrations, 'migration_lock.toml')
  if (!existsSync(lock)) writeFileSync(lock, 'provider = "postgresql"\n')
  return file
}

/** A rewrite of an older migration would repeat in it what the newer ones add. */
function existing(folder: string, migrations: string): string {
  const newest = migrationNames(migrations).at(-1)
  if (folder !== newest) throw new Error(`only the newest migration can be rewritten: ${newest ?? 'there is none yet'}`)
  return folder
}

/** Migrations run in the order of their names, so a new one must sort last. */
function stamped(name: string, migrations: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name)) throw new Error('give the migration a name in snake case: add_user_region')
  const folder = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  const newest = migrationNames(migrations).at(-1) ?? ''
  if (folder <= newest) throw new Error(`this machine's clock is behind the newest migration, ${newest}`)
  return folder
}

if (import.meta.filename === process.argv[1]) {
  const { values, positionals } = parseArgs({ options: { rewrite: { type: 'string' } }, allowPositionals: true })
  try {
    const target = values.rewrite === undefined ? { name: positionals[0] ?? '' } : { rewrite: values.rewrite }
    const file = await writeMigration(target)
    console.log(file === null ? 'models and migrations agree: nothing to write' : `wrote ${file}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await closeShadow()
  }
}
