/** An empty PostgreSQL database for each test file. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** SECRET_KEY for test databases, except in tests of secret keys. */
export const testSecretKey = Buffer.alloc(32, 7).toString('base64')

/** The address of another database on the same server. */
export function withDatabaseName(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}

/** The server that the run's setup started or was given. */
export function testServerUrl(): string {
  const url = process.env['GATEHOUSE_TEST_SERVER']
  if (url === undefined) throw new Error('run tests with npm test: its setup starts the database server')
  return url
}

/**
 * Creates a database with all migrations applied, a copy of the run's template.
 *
 * @param options.empty without the schema
 * @returns its address, and `drop`, which ends connections that are still open
 */
export async function createTestDatabase(
  options: { empty?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = options.empty ? 'template0' : process.env['GATEHOUSE_TEST_TEMPLATE']
  // Copying the files takes a quarter of the time of copying through the log, the default.
  await runStatement(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`)
  return {
    url: withDatabaseName(testServerUrl(), name),
    drop: () => runStatement(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`),
  }
}

async function runStatement(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: testServerUrl() })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
