/** A new PostgreSQL database for each test file. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'

/** The SECRET_KEY of test deployments. Tests of SECRET_KEY use other values. */
export const testSecretKey = Buffer.alloc(32, 7).toString('base64')

/** Returns the URL with another database name. */
export function withDatabaseName(url: string, name: string): string {
  const address = new URL(url)
  address.pathname = `/${name}`
  return address.href
}

/** Returns the URL of the database server that `globalSetup` started or found in TEST_DATABASE_URL. */
export function testServerUrl(): string {
  const url = process.env['GATEHOUSE_TEST_SERVER']
  if (url === undefined)
    throw new Error('GATEHOUSE_TEST_SERVER is not set. Run tests with npm test, which starts the database server.')
  return url
}

/**
 * Creates a database with all migrations, as a copy of the template database.
 *
 * @param options.empty true for a database without any migration
 * @returns `url` of the database, and `drop`, which closes open connections and deletes the database
 */
export async function createTestDatabase(
  options: { empty?: boolean } = {},
): Promise<{ url: string; drop(): Promise<void> }> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const template = options.empty ? 'template0' : process.env['GATEHOUSE_TEST_TEMPLATE']
  // FILE_COPY takes a quarter of the time of the default, WAL_LOG.
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
