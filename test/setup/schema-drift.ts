/**
 * Compares the models in prisma/ with prisma/migrations, for `npm run migration` and for the test that requires them to
 * be equal.
 *
 * The command `prisma migrate` downloads a native schema engine, which fails on an offline machine. This module uses
 * the schema engine from a WebAssembly package instead. The engine requires a driver adapter, which this module
 * implements for an in-memory PGlite. Production code does not use this module.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { PGlite, types } from '@electric-sql/pglite'
import {
  type ArgType,
  bindMigrationAwareSqlAdapterFactory,
  type ColumnType,
  ColumnTypeEnum,
  DriverAdapterError,
  type SqlDriverAdapter,
  type SqlMigrationAwareDriverAdapterFactory,
  type SqlQuery,
  type SqlResultSet,
} from '@prisma/driver-adapter-utils'
import type { DiffTarget, SchemaEngine } from '@prisma/schema-engine-wasm'

/** The root folder of the package. The compiled file is in dist/test/setup. */
export const packageRoot = fileURLToPath(new URL('../../../', import.meta.url))
const migrationsFolder = join(packageRoot, 'prisma', 'migrations')

/**
 * Begins the hand-written last part of a migration.sql: SQL for objects that Prisma's models cannot express (triggers,
 * functions, expression indexes). The comparison ignores this part, and rewriting a migration keeps this part.
 */
export const handWrittenMark = "-- Beyond Prisma's models"

/** Splits a migration before the line that begins with `handWrittenMark`. Without the line, `handWritten` is empty. */
export function splitMigration(sql: string): { generated: string; handWritten: string } {
  const at = sql.split('\n').findIndex((line) => line.startsWith(handWrittenMark))
  if (at < 0) return { generated: sql, handWritten: '' }
  const lines = sql.split('\n')
  return { generated: lines.slice(0, at).join('\n'), handWritten: lines.slice(at).join('\n') }
}

/** Returns the names of the folders in prisma/migrations, oldest first. */
export function migrationNames(folder = migrationsFolder): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/**
 * Returns the SQL that changes a database with the migrations to match the models; empty if nothing differs.
 *
 * @param options.models the folder with *.prisma files, prisma/ by default
 * @param options.migrations the folder of migrations, prisma/migrations by default
 * @param options.before uses only migrations whose names sort before this one; by default all
 * @throws Error with the message of Prisma for an invalid model or migration
 */
export async function pendingChanges(
  options: { models?: string; migrations?: string; before?: string } = {},
): Promise<string> {
  const { models = join(packageRoot, 'prisma'), migrations = migrationsFolder, before } = options
  const files = readModels(models)
  const names = migrationNames(migrations).filter((name) => before === undefined || name < before)
  const from: DiffTarget = {
    tag: 'migrations',
    baseDir: migrations,
    lockfile: { path: 'migration_lock.toml', content: 'provider = "postgresql"\n' },
    shadowDbInitScript: '',
    migrationDirectories: names.map((name) => ({
      path: name,
      migrationFile: {
        path: 'migration.sql',
        content: {
          tag: 'ok' as const,
          value: splitMigration(readFileSync(join(migrations, name, 'migration.sql'), 'utf8')).generated,
        },
      },
    })),
  }
  const shadow = await emptyShadowDatabase()
  const engine = await openEngine(
    files.map(({ path, content }) => [path, content]),
    shadow,
  )
  try {
    const { stdout } = await engine.diff({
      from,
      to: { tag: 'schemaDatamodel', files },
      script: true,
      exitCode: null,
      filters: { externalTables: [], externalEnums: [] },
    })
    const sql = (stdout ?? '').trim()
    return sql === '-- This is an empty migration.' ? '' : await withoutUnchangedIndexes(sql, shadow)
  } finally {
    engine.free()
  }
}

/**
 * Removes from a script the indexes that the script drops and creates again with the same definition. The engine
 * compares the predicates of partial indexes as text, but PostgreSQL stores `a IN ('x')` as `a = ANY
 * (ARRAY['x'::text])`. Therefore this function runs the statements in PGlite and compares the stored definitions before
 * and after.
 */
async function withoutUnchangedIndexes(script: string, shadow: PGlite): Promise<string> {
  let steps = script.split(/\n\n(?=-- )/)
  const dropped = steps.flatMap((step) => /^-- DropIndex\nDROP INDEX "([^"]+)";$/.exec(step)?.[1] ?? [])
  for (const name of dropped) {
    const pair = steps.filter((step) => step.startsWith('-- ') && isAboutIndex(step, name))
    const definition = async () =>
      (await shadow.query('SELECT indexdef FROM pg_indexes WHERE indexname = $1', [name])).rows[0]
    const before = await definition()
    await shadow.exec('BEGIN')
    await shadow.exec(pair.join('\n'))
    const after = await definition()
    await shadow.exec('ROLLBACK')
    if (isDeepStrictEqual(before, after)) steps = steps.filter((step) => !pair.includes(step))
  }
  return steps.join('\n\n')
}

const isAboutIndex = (step: string, name: string) =>
  new RegExp(`^-- (Drop|Create)Index\\n(DROP|CREATE( UNIQUE)?) INDEX "${name}"`).test(step)

function readModels(folder: string): { path: string; content: string }[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.prisma'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
    .map((path) => ({ path, content: readFileSync(path, 'utf8') }))
}

/** Node.js has WebAssembly, but only the type library `dom` declares it. */
declare const WebAssembly: {
  instantiate(code: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, () => void> } }>
}

let shadowDatabase: Promise<PGlite> | undefined

/** Returns an empty database. All comparisons use one PGlite, because creating one takes longer than a comparison. */
async function emptyShadowDatabase(): Promise<PGlite> {
  shadowDatabase ??= PGlite.create()
  const shadow = await shadowDatabase
  await shadow.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  return shadow
}

/**
 * Closes the database of the comparisons. Must be called after the last one, because an open PGlite keeps the process
 * alive.
 */
export async function closeShadowDatabase(): Promise<void> {
  await (await shadowDatabase)?.close()
  shadowDatabase = undefined
}

type Bindings = typeof import('@prisma/schema-engine-wasm/schema_engine_bg')
let linkedBindings: Promise<Bindings> | undefined

/**
 * Instantiates the WebAssembly module of the schema engine. Called once, because the bindings belong to one instance.
 * The entry file of the package is not used, because Node.js imports .wasm files only with a flag.
 */
async function linkEngine(): Promise<Bindings> {
  const name = '@prisma/schema-engine-wasm/schema_engine_bg'
  const bindings = await import('@prisma/schema-engine-wasm/schema_engine_bg')
  const wasmFile = join(dirname(createRequire(import.meta.url).resolve(name)), 'schema_engine_bg.wasm')
  const { instance } = await WebAssembly.instantiate(readFileSync(wasmFile), { './schema_engine_bg.js': bindings })
  bindings.__wbg_set_wasm(instance.exports)
  instance.exports['__wbindgen_start']?.()
  return bindings
}

async function openEngine(datamodels: [string, string][], shadow: PGlite): Promise<SchemaEngine> {
  linkedBindings ??= linkEngine()
  const { SchemaEngine } = await linkedBindings
  Object.assign(globalThis, { PRISMA_WASM_PANIC_REGISTRY: { set_message: throwEnginePanic } })
  const quiet = () => undefined
  return SchemaEngine.new({ datamodels }, quiet, bindMigrationAwareSqlAdapterFactory(adapterFactory(shadow)))
}

/** The schema engine calls this function with the message of a panic. The engine's own error is only "unreachable". */
function throwEnginePanic(message: string): never {
  throw new Error(`Prisma's schema engine: ${message}`)
}

/** One PGlite is the main and the shadow database, because a comparison reads nothing from the main database. */
function adapterFactory(shadow: PGlite): SqlMigrationAwareDriverAdapterFactory {
  const connect = async () => pgliteAdapter(shadow)
  return { provider: 'postgres', adapterName: 'pglite', connect, connectToShadowDb: connect }
}

/** Implements the methods of a driver adapter that a comparison uses: reading system catalogs and running scripts. */
function pgliteAdapter(database: PGlite): SqlDriverAdapter {
  const queryRaw = ({ sql, args, argTypes }: SqlQuery): Promise<SqlResultSet> =>
    withDriverErrors(async () => {
      const result = await database.query<unknown[]>(sql, args.map(toParameter(argTypes)), {
        rowMode: 'array',
        parsers,
      })
      return {
        columnNames: result.fields.map((field) => field.name),
        columnTypes: result.fields.map((field) => columnTypes[field.dataTypeID] ?? ColumnTypeEnum.Text),
        rows: result.rows,
      }
    })
  return {
    provider: 'postgres',
    adapterName: 'pglite',
    queryRaw,
    executeRaw: ({ sql, args, argTypes }) =>
      withDriverErrors(async () => (await database.query(sql, args.map(toParameter(argTypes)))).affectedRows ?? 0),
    executeScript: (script) => withDriverErrors(async () => void (await database.exec(script))),
    startTransaction: () => Promise.reject(new Error('a comparison of schemas uses no transaction')),
    getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
    dispose: async () => undefined,
  }
}

const toParameter = (kinds: ArgType[]) => (value: unknown, at: number) =>
  kinds[at]?.scalarType === 'datetime' && typeof value === 'string' ? new Date(value) : value

/** Prisma's column types by PostgreSQL type OID, for columns of the system catalogs. Other types are read as text. */
const columnTypes: Record<number, ColumnType> = {
  [types.BOOL]: ColumnTypeEnum.Boolean,
  [types.CHAR]: ColumnTypeEnum.Character,
  [types.INT2]: ColumnTypeEnum.Int32,
  [types.INT4]: ColumnTypeEnum.Int32,
  [types.INT8]: ColumnTypeEnum.Int64,
  [types.OID]: ColumnTypeEnum.Int64,
  1002: ColumnTypeEnum.CharacterArray,
  1003: ColumnTypeEnum.TextArray,
  1005: ColumnTypeEnum.Int32Array,
  1007: ColumnTypeEnum.Int32Array,
  1009: ColumnTypeEnum.TextArray,
  1015: ColumnTypeEnum.TextArray,
  1016: ColumnTypeEnum.Int64Array,
}
const asText = (value: string) => value
const parsers = { [types.INT8]: asText, [types.OID]: asText, [types.JSON]: asText, [types.JSONB]: asText }

/** Converts errors to DriverAdapterError, because the schema engine reports others as "an unknown error". */
async function withDriverErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const { code = 'N/A', severity = 'ERROR', message, detail, column, hint } = error as DatabaseError
    throw new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint })
  }
}
type DatabaseError = Error & { code?: string; severity?: string; detail?: string; column?: string; hint?: string }
