/**
 * Compares prisma/models with prisma/migrations, for developers and for the test that keeps the two equal.
 *
 * Prisma's own `migrate` command downloads a native engine, which an offline machine cannot do. The same engine exists
 * as a WebAssembly package; it requires a driver adapter, here one for an in-memory PGlite. Nothing here runs in
 * production.
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

/** The package's root: this file runs from dist/test/setup. */
export const packageRoot = fileURLToPath(new URL('../../../', import.meta.url))
const migrationsFolder = join(packageRoot, 'prisma', 'migrations')

/**
 * Below this line, a migration.sql contains SQL that Prisma's models cannot express (triggers, functions, expression
 * indexes). It is written by hand, kept by a rewrite, and hidden from the comparison.
 */
export const handWrittenMark = "-- Beyond Prisma's models"

/** Splits a migration into Prisma's part and the hand-written block (mark included, empty when there is none). */
export function splitMigration(sql: string): { generated: string; handWritten: string } {
  const at = sql.split('\n').findIndex((line) => line.startsWith(handWrittenMark))
  if (at < 0) return { generated: sql, handWritten: '' }
  const lines = sql.split('\n')
  return { generated: lines.slice(0, at).join('\n'), handWritten: lines.slice(at).join('\n') }
}

/** The names of the folders in prisma/migrations, oldest first. */
export function migrationNames(folder = migrationsFolder): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => entry.name)
    .sort()
}

/**
 * The SQL that changes a database with all migrations to match the models; empty if they match.
 *
 * @param options.models the folder of *.prisma files, prisma by default
 * @param options.migrations the folder of migrations, prisma/migrations by default
 * @param options.before only migrations older than this name count
 * @throws Error with Prisma's own message when a model or a migration is not valid
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
 * Drops from a script the indexes that it would make again just as they are. The engine compares the predicates of
 * partial indexes as text, but PostgreSQL stores `a IN ('x')` as `a = ANY (ARRAY['x'::text])`; so PostgreSQL itself is
 * asked whether the new index differs from the old.
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

/** Node has it, but only the browser's type library declares it. */
declare const WebAssembly: {
  instantiate(code: Uint8Array, imports: object): Promise<{ instance: { exports: Record<string, () => void> } }>
}

let shadowDatabase: Promise<PGlite> | undefined

/** Making one takes longer than a comparison, so it is kept and emptied. */
async function emptyShadowDatabase(): Promise<PGlite> {
  shadowDatabase ??= PGlite.create()
  const shadow = await shadowDatabase
  await shadow.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public')
  return shadow
}

/** Call after the last comparison: an open shadow database keeps the process alive. */
export async function closeShadowDatabase(): Promise<void> {
  await (await shadowDatabase)?.close()
  shadowDatabase = undefined
}

type Bindings = typeof import('@prisma/schema-engine-wasm/schema_engine_bg')
let linkedBindings: Promise<Bindings> | undefined

/**
 * Links the engine's module, once: its bindings keep views of one memory. Its own entry file is not used because
 * importing .wasm needs a flag of node.
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

/** Receives the panic message of the engine; without it the error is only "unreachable". */
function throwEnginePanic(message: string): never {
  throw new Error(`Prisma's schema engine: ${message}`)
}

/** The engine opens the database proper too but, in a comparison, reads nothing from it: one PGlite serves as both. */
function adapterFactory(shadow: PGlite): SqlMigrationAwareDriverAdapterFactory {
  const connect = async () => pgliteAdapter(shadow)
  return { provider: 'postgres', adapterName: 'pglite', connect, connectToShadowDb: connect }
}

/** The part of a driver adapter that the comparison uses: reading the system catalog and running scripts. */
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
    startTransaction: () => Promise.reject(new Error('the comparison opens no transaction')),
    getConnectionInfo: () => ({ schemaName: 'public', supportsRelationJoins: true }),
    dispose: async () => undefined,
  }
}

const toParameter = (kinds: ArgType[]) => (value: unknown, at: number) =>
  kinds[at]?.scalarType === 'datetime' && typeof value === 'string' ? new Date(value) : value

/** Column types of the system catalog; other types are read as text. */
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

/** Errors must arrive in the engine's own shape, or it hides them behind «an unknown error». */
async function withDriverErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    const { code = 'N/A', severity = 'ERROR', message, detail, column, hint } = error as DatabaseError
    throw new DriverAdapterError({ kind: 'postgres', code, severity, message, detail, column, hint })
  }
}
type DatabaseError = Error & { code?: string; severity?: string; detail?: string; column?: string; hint?: string }
