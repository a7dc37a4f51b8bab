/** The purge jobs remove expired rows in batches and keep all other rows. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { schedule } from '../../src/schedule.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000
/** Number of expired rows in each test, which is more than two batches. */
const ROWS = 5000
/** Maximum number of rows that one DELETE of a purge job removes. */
const BATCH_SIZE = 2000

let app: TestApp
let mine: Tenant
let places: Record<string, string>

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await createTenant(app, 'Mine')
  const make = async (path: string, body: object): Promise<string> =>
    expectStatus(await mine.owner.post(path, body), 201).data.id
  places = {
    account_id: mine.accountId,
    issuer_id: mine.I.split('/').at(-1)!,
    user_id: await make(`${mine.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    org_id: await make(`${mine.I}/organizations`, {}),
    webhook_id: await make(`${mine.A}/webhooks`, { url: 'https://hooks.example.com/', auth: 'none' }),
  }
  await app.gatehouse.database.pool.query(`
    CREATE TABLE batches (name TEXT, rows INT);
    CREATE FUNCTION record_batch() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO batches SELECT TG_TABLE_NAME, count(*) FROM gone;
      RETURN NULL;
    END $$`)
})
afterAll(() => app.close())

const ago = (days: number): string => String(Date.now() - days * DAY)
const at = (moment: string, more: Record<string, string> = {}) => ({ expires_at: moment, ...more })

/** The tables, the job that purges each one, and the columns that make a row expired, as SQL expressions. */
// biome-ignore format: a table
const kinds: [table: string, job: string, row: () => Record<string, string>][] = [
  // Soft-deleted rows are kept for 31 days (docs/contract.md#limits).
  ['clients', 'purge-clients', () => ({ status: `'deleted'`, deleted_at: ago(31) })],
  ['webhooks', 'purge-webhooks', () => ({ status: `'deleted'`, deleted_at: ago(31) })],
  ['api_keys', 'purge-api-keys', () => ({ status: `'revoked'`, status_at: ago(31) })],
  ['personal_tokens', 'purge-personal-tokens', () => ({ status: `'revoked'`, status_at: ago(31), expires_at: String(Date.now() + DAY) })],
  ['personal_tokens', 'purge-personal-tokens', () => ({ status: `'active'`, ...at(ago(31)) })],
  // Delivery records are kept for 14 days.
  ['webhook_deliveries', 'purge-deliveries', () => ({ created_at: ago(14) })],
  ['webhook_daily_counts', 'purge-deliveries', () => ({ day: '-n' })],
  // Idempotency records are removed when they expire.
  ['idempotent_requests', 'purge-idempotency', () => at(ago(0))],
  // Rows of the IdP are removed when they expire, login failures after one day. Sessions are kept for 31 more days.
  ['idp_artifacts', 'purge-expired', () => at(ago(0))],
  ['login_states', 'purge-expired', () => at(ago(0))],
  ['revoked_tokens', 'purge-expired', () => at(ago(0))],
  ['login_failures', 'purge-expired', () => ({ user_id: `'usr_' || n`, updated_at: ago(1.01) })],
  ['sessions', 'purge-expired', () => at(ago(31.01), { status: `'expired'` })],
  ['sessions', 'purge-expired', () => at(ago(31.01), { status: `'revoked'` })],
  ['enrollments', 'purge-enrollments', () => at(ago(0))],
  ['agent_challenges', 'purge-challenges', () => at(ago(0))],
  ['organization_invitations', 'purge-invitations', () => at(ago(31))],
  ['initial_access_tokens', 'purge-initial-access-tokens', () => ({ hash: `'h' || n || random()`, ...at(ago(31)) })],
  ['rate_limits', 'purge-rate-limits', () => ({ updated_at: ago(1) })],
  ['jobs', 'purge-failed-jobs', () => ({ failed_at: ago(7) })],
]

/** SQL expressions for columns that are NOT NULL without a default, by column type. */
const byType: Record<string, string> = {
  text: `'x' || n`,
  bigint: String(Date.now()),
  integer: '0',
  boolean: 'false',
  jsonb: `'{}'::jsonb`,
  ARRAY: `'{}'`,
  uuid: 'gen_random_uuid()',
  'double precision': '0',
}

async function seed(table: string, row: Record<string, string>): Promise<void> {
  const { rows: columns } = await app.gatehouse.database.pool.query<{ name: string; type: string; needed: boolean }>(
    `SELECT column_name AS name, data_type AS type, is_nullable = 'NO' AND column_default IS NULL AS needed
     FROM information_schema.columns WHERE table_name = $1`,
    [table],
  )
  const values = columns
    .filter(({ name, needed }) => needed || name in row)
    .map(({ name, type }) => [name, row[name] ?? (places[name] ? `'${places[name]}'` : byType[type])])
  const text = `INSERT INTO ${table} (${values.map(([name]) => name)})
    SELECT ${values.map(([, value]) => value)} FROM generate_series(1, ${ROWS}) AS n`
  await app.gatehouse.database.pool.query(text)
}

const count = async (table: string): Promise<number> =>
  Number((await app.gatehouse.database.pool.query(`SELECT count(*) FROM ${table}`)).rows[0].count)
const run = (job: string) => schedule.find(({ name }) => name === job)!.run(systemContext(app.gatehouse))

test.each(kinds)('expired rows of %s are removed in batches by %s', async (table, job, row) => {
  const { pool } = app.gatehouse.database
  await run(job)
  const standing = await count(table)
  await seed(table, row())
  await pool.query(`TRUNCATE batches;
    CREATE TRIGGER record_batch AFTER DELETE ON ${table} REFERENCING OLD TABLE AS gone
    FOR EACH STATEMENT EXECUTE FUNCTION record_batch()`)
  await run(job)
  await pool.query(`DROP TRIGGER record_batch ON ${table}`)
  expect(await count(table)).toBe(standing)
  const { rows } = await pool.query('SELECT sum(rows)::int AS gone, max(rows) AS most FROM batches WHERE name = $1', [
    table,
  ])
  expect(rows[0].gone).toBe(ROWS)
  expect(rows[0].most).toBeLessThanOrEqual(BATCH_SIZE)
})

test('a run that is stopped leaves the remaining expired rows to the next run', async () => {
  await seed('revoked_tokens', at(ago(0)))
  const stop = new AbortController()
  const began = schedule.find(({ name }) => name === 'purge-expired')!.run(systemContext(app.gatehouse, stop.signal))
  stop.abort()
  await began
  expect(await count('revoked_tokens')).toBeGreaterThanOrEqual(ROWS - BATCH_SIZE)
  await run('purge-expired')
  expect(await count('revoked_tokens')).toBe(0)
})
