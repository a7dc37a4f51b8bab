/**
 * `npm run migration -- <name>` writes prisma/migrations/<yyyymmddhhmmss>_<name>/migration.sql with the difference
 * between the models and the last migration. `npm run migration -- --rewrite <folder>` regenerates the generated part
 * of the newest migration and keeps the hand-written SQL below the mark. Do not rewrite a migration that a release
 * contains.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { parseArgs } from 'node:util'
import {
  closeShadowDatabase,
  handWrittenMark,
  migrationNames,
  packageRoot,
  pendingChanges,
  splitMigration,
} from '../test/setup/schema-drift.js'

const emptyHandWrittenBlock = `${handWrittenMark}: triggers, functions and indexes, written by hand and kept by a rewrite.\n`

/**
 * Writes a migration.
 *
 * @param target a new name in snake case, or an existing migration to rewrite
 * @param root the directory that contains prisma/; by default the package
 * @returns the path of the written file, or null for a new migration when models and migrations are in sync
 * @throws Error for an invalid name, a migration to rewrite that is not the newest, or a clock behind the newest one
 */
export async function writeMigration(
  target: { name: string } | { rewrite: string },
  root = packageRoot,
): Promise<string | null> {
  const models = join(root, 'prisma')
  const migrations = join(models, 'migrations')
  mkdirSync(migrations, { recursive: true })
  const folder =
    'rewrite' in target
      ? requireNewestMigration(basename(target.rewrite), migrations)
      : newMigrationFolder(target.name, migrations)
  const sql = await pendingChanges({ models, migrations, before: folder })
  if (sql === '' && 'name' in target) return null
  const file = join(migrations, folder, 'migration.sql')
  const handWritten = existsSync(file) ? splitMigration(readFileSync(file, 'utf8')).handWritten : ''
  mkdirSync(join(migrations, folder), { recursive: true })
  writeFileSync(file, `${sql}\n\n${handWritten || emptyHandWrittenBlock}`)
  const lock = join(migrations, 'migration_lock.toml')
  if (!existsSync(lock)) writeFileSync(lock, 'provider = "postgresql"\n')
  return file
}

/** Returns the folder if it is the newest migration. An older migration would repeat the changes of the newer ones. */
function requireNewestMigration(folder: string, migrations: string): string {
  const newest = migrationNames(migrations).at(-1)
  if (folder !== newest)
    throw new Error(`Only the newest migration can be rewritten: ${newest ?? 'there is none yet'}.`)
  return folder
}

/** Returns the folder of a new migration. Migrations run in the order of their names, so a new name must sort last. */
function newMigrationFolder(name: string, migrations: string): string {
  if (!/^[a-z][a-z0-9_]*$/.test(name))
    throw new Error('The name of the migration must be in snake_case, such as add_user_region.')
  const folder = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}_${name}`
  const newest = migrationNames(migrations).at(-1) ?? ''
  if (folder <= newest)
    throw new Error(`The clock of this machine is behind the newest migration, ${newest}. Set the clock.`)
  return folder
}

if (import.meta.filename === process.argv[1]) {
  const { values, positionals } = parseArgs({ options: { rewrite: { type: 'string' } }, allowPositionals: true })
  try {
    const target = values.rewrite === undefined ? { name: positionals[0] ?? '' } : { rewrite: values.rewrite }
    const file = await writeMigration(target)
    console.log(file === null ? 'models and migrations are in sync: nothing to write' : `wrote ${file}`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await closeShadowDatabase()
  }
}
