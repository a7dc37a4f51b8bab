/**
 * Prepares a PostgreSQL server for the test run. Its template database has all migrations and a pool of spare signing
 * keys. A test file copies the template (`createTestDatabase`), which is twenty times faster than running the
 * migrations. A new issuer takes its signing keys from the pool, which saves a third of a second of CPU time.
 */
import { spawn } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { systemClock } from '../../src/kernel/time.js'
import { createEncryptor } from '../../src/platform/crypto/secrets.js'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/platform/postgres/embedded.js'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { signingAlgorithms } from '../../src/resources/issuer-keys.js'
import { createKeyPair } from '../../src/resources/issuers/signing-keys.js'
import { testSecretKey, withDatabaseName } from './database.js'

/** What `globalTeardown`, which runs in the same process, has to undo. */
export const teardown: { tasks: (() => Promise<void>)[] } = { tasks: [] }

/**
 * Uses the server of TEST_DATABASE_URL, whose role must have CREATEDB, or starts an embedded server. Passes the URL of
 * the server and the name of the template database to the Jest workers as environment variables.
 */
export default async function globalSetup(): Promise<void> {
  const externalUrl = process.env['TEST_DATABASE_URL']
  const url = externalUrl ?? (await startServerForRun())
  // Several test runs may use an external server at the same time, so each run has its own template.
  const template = externalUrl === undefined ? 'gatehouse_template' : `gatehouse_template_${process.pid}`
  await executeSql(url, `CREATE DATABASE ${template}`)
  if (externalUrl !== undefined)
    teardown.tasks.push(() => executeSql(url, `DROP DATABASE IF EXISTS ${template} WITH (FORCE)`))
  const keys = createSpareKeys()
  await migrate(withDatabaseName(url, template))
  await executeSql(
    withDatabaseName(url, template),
    `INSERT INTO spare_keys (kid, alg, public_jwk, private_jwk, created_at)
     SELECT kid, alg, "publicJwk", "privateJwk", "createdAt" FROM jsonb_to_recordset($1)
     AS pair (kid uuid, alg text, "publicJwk" jsonb, "privateJwk" text, "createdAt" bigint)`,
    [await keys],
  )
  process.env['GATEHOUSE_TEST_SERVER'] = url
  process.env['GATEHOUSE_TEST_TEMPLATE'] = template
}

/**
 * For how many issuers the template contains spare keys: enough for most test files. The periodic job
 * `refill-signing-key-pool` creates keys only when the spare keys are not enough for eight issuers.
 */
const SPARE_KEY_ISSUERS = 24

/** Returns the rows of `spare_keys` as JSON. They are stored in dist/, because creating them takes several seconds. */
async function createSpareKeys(): Promise<string> {
  const file = fileURLToPath(new URL('../../spare-keys.json', import.meta.url))
  if (existsSync(file)) return readFileSync(file, 'utf8')
  const context = { encryptor: createEncryptor([Buffer.from(testSecretKey, 'base64')]), now: systemClock }
  const algorithms = Array.from({ length: 2 * SPARE_KEY_ISSUERS }, () => signingAlgorithms).flat()
  const pairs = JSON.stringify(await Promise.all(algorithms.map((alg) => createKeyPair(context, alg))))
  writeFileSync(`${file}.${process.pid}`, pairs, { mode: 0o600 })
  renameSync(`${file}.${process.pid}`, file)
  return pairs
}

async function startServerForRun(): Promise<string> {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'gatehouse-run-')))
  chmodSync(folder, 0o700)
  startCleanupWatchdog(folder)
  // The data of this server is not needed after the run, so it need not survive a crash.
  const settings = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_connections: '200' }
  const server: EmbeddedPostgres = await startEmbeddedPostgres(folder, () => undefined, { settings })
  teardown.tasks.push(() => server.stop())
  return server.url
}

/**
 * Starts a process that stops the server and removes the folder when the test run has ended. `globalTeardown` does not
 * run after Ctrl-C, a crash or SIGKILL. The end of the test run closes the standard input of the process.
 */
function startCleanupWatchdog(folder: string): void {
  const script = `
    const { readFileSync, rmSync } = require('node:fs')
    process.stdin.resume().on('end', () => {
      try { process.kill(Number(readFileSync(process.argv[1] + '/postgres/postmaster.pid', 'utf8').split('\\n')[0]), 'SIGQUIT') } catch {}
      setTimeout(() => rmSync(process.argv[1], { recursive: true, force: true, maxRetries: 10 }), 300)
    })`
  const watchdog = spawn(process.execPath, ['-e', script, folder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  watchdog.unref()
  ;(watchdog.stdin as unknown as { unref(): void }).unref()
  teardown.tasks.push(async () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
}

async function executeSql(url: string, statement: string, values: unknown[] = []): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(statement, values)
  } finally {
    await client.end()
  }
}
