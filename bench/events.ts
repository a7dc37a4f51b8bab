/**
 * Measures event queries in a table with 10,000,000 events: list pages with each filter, and counts over 30 days.
 * Compares the times for an account with 9,000,000 events with those for an account with 10,000 events. Option: the
 * total number of events (10,000,000).
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { lowestIdAt } from '../src/kernel/ids.js'
import { DAY, HOUR } from '../src/kernel/time.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { countText } from '../src/resources/events/event-counts.js'
import { createFolder, removeFolder, type Server, startServer } from './server.js'

const MANY = 10_000_000
const FEW = 10_000
const ROUNDS = 60
const DAYS = 30
/** Rows per INSERT statement. */
const BATCH_SIZE = 100_000

/** @returns the cost of each page and count for the small and the large account, and their ratio */
export async function bench([count]: string[]): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const server = await startServer(folder)
  try {
    return await measure(folder, server, Number(count ?? MANY))
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(folder: string, server: Server, count: number): Promise<Record<string, unknown>[]> {
  const call = createApiClient(server)
  const createAccount = async (name: string): Promise<string> => {
    const query = `mutation { createAccount(input: {name: "${name}"}) { account { id } } }`
    const { data } = await call('/graphql', { query })
    return (data as { createAccount: { account: { id: string } } }).createAccount.account.id
  }
  const [few, many] = [await createAccount('Few'), await createAccount('Many')]
  const { url } = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  // If a measurement fails, the database stops while this connection is open, and the connection emits an error event.
  db.on('error', () => {})
  await db.connect()
  await seedEvents(db, [few, many], count)
  await db.query('VACUUM ANALYZE events, event_hours, event_counts')
  const requestPaths = [await createRequestPaths(db, few), await createRequestPaths(db, many)]
  await db.end()
  const pageResults = await measureInterleaved(
    requestPaths.map(({ pages }) => pages),
    ROUNDS,
    call,
  )
  const countResults = await measureInterleaved(
    requestPaths.map(({ counts }) => counts),
    5,
    call,
  )
  return [...pageResults, ...countResults]
}

/** The request paths by their labels in the report. */
type PathsByName = Record<string, string>

async function createRequestPaths(
  db: pg.Client,
  accountId: string,
): Promise<{ pages: PathsByName; counts: PathsByName }> {
  const now = Date.now()
  const today = Math.floor(now / DAY) * DAY
  const eventIdAt = async (part: number): Promise<string> => {
    const text = 'SELECT id FROM events WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT 1'
    const { rows } = await db.query(text, [accountId, lowestIdAt('evt', now - part * DAYS * DAY)])
    return rows[0].id
  }
  const [middle, last] = [await eventIdAt(0.5), await eventIdAt(0.99)]
  const five = 'issuer.deleted,note.created,user.created,user.login.failed,session.created'
  const days = `after=${today - 29 * DAY}&before=${today + DAY}`
  const pages: PathsByName = {
    'first page': '',
    'page in the middle': `?cursor=${middle}`,
    'last pages': `?cursor=${last}`,
    'by issuer': '?issuer_id=iss_1',
    'by client, in the middle': `?client_id=cli_3&cursor=${middle}`,
    'by user': '?user_id=usr_77',
    'by a frequent type': '?event_types=user.login.succeeded',
    'by a rare type': '?event_types=issuer.deleted',
    'by five types': `?event_types=${five}`,
    'by issuer and a rare type': '?issuer_id=iss_1&event_types=issuer.deleted',
    'by issuer and five types': `?issuer_id=iss_1&event_types=${five}`,
    'by issuer and client': '?issuer_id=iss_1&client_id=cli_3',
    'by client and a rare type': '?client_id=cli_3&event_types=client.updated',
    'by client and a type it never has': '?client_id=cli_3&event_types=agent.updated',
    'by client, a rare and a frequent type': '?client_id=cli_3&event_types=client.updated,session.created',
    'by issuer, client and a rare type': '?issuer_id=iss_1&client_id=cli_3&event_types=client.updated',
    'by user and a type': '?user_id=usr_77&event_types=user.created',
    'by user and client': '?user_id=usr_77&client_id=cli_3',
    'by user and a type they never have': '?user_id=usr_77&event_types=client.updated',
    'between two moments': `?after=${today - 10 * DAY}&before=${today - 9 * DAY}`,
    'one event': `/${middle}`,
    '30 days by type': `/aggregate?group_by=type&${days}`,
    'the last 30 times 24 hours by type': `/aggregate?group_by=type&after=${now - 30 * DAY}`,
    'between two odd moments by type': `/aggregate?group_by=type&after=${now - 29.3 * DAY}&before=${now - HOUR / 3}`,
    '30 days by type and day': `/aggregate?group_by=type&interval=day&${days}`,
    '30 days by type and hour': `/aggregate?group_by=type&interval=hour&${days}`,
  }
  // The queries that read thousands of events run separately, because they evict the pages of other queries from
  // memory.
  const counts: PathsByName = {
    'one user by type': '/aggregate?group_by=type&user_id=usr_77',
    'one day by type, with different users': `/aggregate?group_by=type&count_unique=user_id&after=${today - DAY}&before=${today}`,
    '30 days by client': `/aggregate?group_by=client_id&${days}`,
    '30 days, different users': `/aggregate?count_unique=user_id&${days}`,
  }
  const withEventsPath = (asked: PathsByName): PathsByName =>
    Object.fromEntries(Object.entries(asked).map(([name, path]) => [name, `/v1/accounts/${accountId}/events${path}`]))
  return { pages: withEventsPath(pages), counts: withEventsPath(counts) }
}

function createApiClient({ baseUrl, authorization }: Server) {
  return async (path: string, body?: object) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: unknown }
  }
}

/**
 * Runs the requests alternately, so that other load of the machine affects all of them equally.
 * @returns the medians of their times in milliseconds, the minimum for the large account, and the ratio of the medians
 */
async function measureInterleaved(
  [few, many]: PathsByName[],
  rounds: number,
  call: (path: string) => Promise<unknown>,
): Promise<Record<string, unknown>[]> {
  const paths = Object.entries(few!).flatMap(([name, path]) => [path, many![name]!])
  const times = paths.map((): number[] => [])
  for (let round = -rounds / 4; round < rounds; round++) {
    for (const [n, path] of paths.entries()) {
      const began = performance.now()
      await call(path)
      if (round >= 0) times[n]!.push(performance.now() - began)
    }
  }
  for (const list of times) list.sort((a, b) => a - b)
  const medians = times.map((list) => list[Math.floor(list.length / 2)]!)
  return Object.keys(few!).map((figure, n) => {
    const [one, other] = [medians[2 * n]!, medians[2 * n + 1]!]
    return {
      figure,
      [`ms of ${FEW}`]: one.toFixed(2),
      'ms of many': other.toFixed(2),
      'least of many': times[2 * n + 1]![0]!.toFixed(2),
      ratio: (other / one).toFixed(2),
    }
  })
}

const types = [
  'user.login.succeeded',
  'session.created',
  'session.terminated',
  'user.verification.succeeded',
  'user.login.failed',
  'user.updated',
  'user.created',
  'note.created',
  'agent.updated',
  'token.revoked',
]
const sampleValues = [
  '{"type":"user","id":"usr_1","name":"Somebody"}',
  '{"type":"user","id":"usr_1"}',
  '{"ip_address":"192.0.2.7","user_agent":"Mozilla/5.0 (X11; Linux x86_64)","request_id":"req_1","method":"POST","path":"/"}',
]

/** SQL that encodes the timestamp of an identifier as src/kernel/ids.ts does: 48 bits in ten base-32 digits. */
const timeDigits = Array.from({ length: 10 }, (_, n) => {
  return `substr('0123456789abcdefghjkmnpqrstvwxyz', ((at >> ${45 - 5 * n}) & 31)::int + 1, 1)`
}).join(' || ')

/**
 * Inserts the events number $1 to $2 of $3. The first one is at the time $4, and the others follow every $5
 * milliseconds. `mixed` is a hash of the number, so that every thousandth event has the same mix of values as all
 * events. One in 151 events has the type issuer.deleted, and one in 151 the type client.updated, so an account with
 * 10,000 events has enough of each for a full page. Events of one frequent type never have a client.
 */
const insertEventsSql = `
  INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, client_id, auth_type, actor, target, context,
    commit_position)
  SELECT 'evt_' || ${timeDigits} || lpad(n::text, 16, '0'),
    CASE mixed % 151 WHEN 0 THEN 'issuer.deleted' WHEN 1 THEN 'client.updated' ELSE ($6::text[])[mixed % 10 + 1] END,
    at,
    CASE WHEN n % ceil($3::numeric / ${FEW})::bigint = 0 THEN $7 WHEN n % 10 = 9 THEN 'acc_' || n % 7 ELSE $8 END,
    'iss_' || (mixed >> 4) % 4,
    'usr_' || CASE mixed % 151 WHEN 2 THEN 77 ELSE mixed % 100003 END,
    CASE WHEN mixed % 10 <> 8 THEN 'cli_' || (mixed >> 8) % 20 END,
    ('{user,api_key,unauthenticated}'::text[])[mixed % 3 + 1],
    ${sampleValues.map((json) => `'${json}'::jsonb`).join(', ')},
    (SELECT event_commit_position())
  FROM (
    SELECT n, n * 2654435761 & 4294967295 AS mixed, floor($4::float8 + n * $5::float8)::bigint AS at
    FROM generate_series($1::bigint, $2::bigint) AS n) numbered`

/**
 * Creates the events of 30 days in the order of their times, and their counts. The events have four issuers, 20 clients
 * and 100,000 users. The tables are unlogged, which saves disk writes during the inserts and does not affect reads.
 */
async function seedEvents(db: pg.Client, [few, many]: string[], count: number): Promise<void> {
  const first = Date.now() - DAYS * DAY
  const leaseCountJobSql = `UPDATE periodic_jobs SET lease_expires_at = $1, lease_owner = 'bench' WHERE name = 'count-events'`
  await db.query(leaseCountJobSql, [Date.now() + DAY])
  await db.query(`SET statement_timeout = 0; SET synchronous_commit = off; SET maintenance_work_mem = '1GB';
    SET work_mem = '512MB'`)
  await db.query('SELECT create_event_partition($1)', [first])
  const { rows: tables } = await db.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^(event_hours|event_counts|events_\\d.*)$'`,
  )
  for (const { name } of tables) await db.query(`ALTER TABLE ${name} SET UNLOGGED`)
  const { rows: indexes } = await db.query<{ name: string; text: string }>(
    `SELECT indexname AS name, indexdef AS text FROM pg_indexes
     WHERE tablename = 'events' AND indexname NOT IN ('events_pkey', 'events_by_commit_position')`,
  )
  for (const { name } of indexes) await db.query(`DROP INDEX ${name}`)
  for (let from = 0; from < count; from += BATCH_SIZE) {
    const to = Math.min(from + BATCH_SIZE, count) - 1
    await db.query(insertEventsSql, [from, to, count, first, (DAYS * DAY) / count, types, few, many])
    const { rows } = await db.query(
      'SELECT counted_up_to AS "from", event_commit_horizon() AS horizon FROM event_progress',
    )
    await db.query(countText, [rows[0].from, rows[0].horizon])
  }
  for (const { text } of indexes) await db.query(text.replace(' ON ONLY ', ' ON '))
  await db.query('ANALYZE events')
  await db.query(leaseCountJobSql, [0])
}
