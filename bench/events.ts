/**
 * What the trail of an account with 9,000,000 events costs against that of one with 10,000, among 10,000,000 of both and
 * others: pages of lists with each filter, and counts of 30 days. Options: the number of events in all.
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { firstIdOf } from '../src/kernel/ids.js'
import { DAY, HOUR } from '../src/kernel/time.js'
import { countText } from '../src/resources/events/counting.js'
import { openStore } from '../src/store.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'

const MANY = 10_000_000
const FEW = 10_000
const ROUNDS = 60
const DAYS = 30
/** Rows that one statement makes. */
const PORTION = 100_000

/** @returns the cost of each page and count for an account with few events and one with many, and how they compare */
export async function bench([count]: string[]): Promise<Record<string, unknown>[]> {
  const folder = makeFolder()
  const server = await startServer(folder)
  try {
    return await measure(folder, server, Number(count ?? MANY))
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(folder: string, server: Server, count: number): Promise<Record<string, unknown>[]> {
  const call = caller(server)
  const account = async (name: string): Promise<string> => {
    const query = `mutation { createAccount(input: {name: "${name}"}) { account { id } } }`
    const { data } = await call('/graphql', { query })
    return (data as { createAccount: { account: { id: string } } }).createAccount.account.id
  }
  const [few, many] = [await account('Few'), await account('Many')]
  const { url } = await openStore(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  // When a measurement fails the database stops before this connection ends.
  db.on('error', () => {})
  await db.connect()
  await seed(db, [few, many], count)
  await db.query('VACUUM ANALYZE events, event_hours, event_counts')
  const asked = [await questions(db, few), await questions(db, many)]
  await db.end()
  const often = await inTurns(
    asked.map(({ pages }) => pages),
    ROUNDS,
    call,
  )
  const seldom = await inTurns(
    asked.map(({ counts }) => counts),
    5,
    call,
  )
  return [...often, ...seldom]
}

/** Addresses by what they show. */
type Asked = Record<string, string>

async function questions(db: pg.Client, accountId: string): Promise<{ pages: Asked; counts: Asked }> {
  const now = Date.now()
  const today = Math.floor(now / DAY) * DAY
  const at = async (part: number): Promise<string> => {
    const text = 'SELECT id FROM events WHERE account_id = $1 AND id > $2 ORDER BY id LIMIT 1'
    const { rows } = await db.query(text, [accountId, firstIdOf('evt', now - part * DAYS * DAY)])
    return rows[0].id
  }
  const [middle, last] = [await at(0.5), await at(0.99)]
  const five = 'issuer.deleted,note.created,user.created,user.login.failed,session.created'
  const days = `after=${today - 29 * DAY}&before=${today + DAY}`
  const pages: Asked = {
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
  // Apart: what reads events by the thousand leaves nobody else's in memory.
  const counts: Asked = {
    'one user by type': '/aggregate?group_by=type&user_id=usr_77',
    'one day by type, with different users': `/aggregate?group_by=type&count_unique=user_id&after=${today - DAY}&before=${today}`,
    '30 days by client': `/aggregate?group_by=client_id&${days}`,
    '30 days, different users': `/aggregate?count_unique=user_id&${days}`,
  }
  const of = (asked: Asked): Asked =>
    Object.fromEntries(Object.entries(asked).map(([name, path]) => [name, `/v1/accounts/${accountId}/events${path}`]))
  return { pages: of(pages), counts: of(counts) }
}

function caller({ baseUrl, authorization }: Server) {
  return async (path: string, body?: object) => {
    const answer = await fetch(`${baseUrl}${path}`, {
      headers: { authorization, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: unknown }
  }
}

/** By turns, so that a busy moment of the machine hits all of them. @returns medians and the least, in milliseconds */
async function inTurns(
  [few, many]: Asked[],
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
const facts = [
  '{"type":"user","id":"usr_1","name":"Somebody"}',
  '{"type":"user","id":"usr_1"}',
  '{"ip_address":"192.0.2.7","user_agent":"Mozilla/5.0 (X11; Linux x86_64)","request_id":"req_1","method":"POST","path":"/"}',
]

/** The moment in an id, as kernel/ids writes it: 48 bits in ten digits of base 32. */
const timeDigits = Array.from({ length: 10 }, (_, n) => {
  return `substr('0123456789abcdefghjkmnpqrstvwxyz', ((at >> ${45 - 5 * n}) & 31)::int + 1, 1)`
}).join(' || ')

/**
 * Events $1 to $2 of $3, from the moment $4 on, every $5 milliseconds. `mixed` spreads the numbers, so that what every
 * thousandth event has is as mixed as what all have. One event of 151 is of a type of its own, and so on: seldom, but a
 * page of them even among 10,000. One frequent type never has a client.
 */
const fillText = `
  INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, client_id, auth_type, actor, target, context,
    place)
  SELECT 'evt_' || ${timeDigits} || lpad(n::text, 16, '0'),
    CASE mixed % 151 WHEN 0 THEN 'issuer.deleted' WHEN 1 THEN 'client.updated' ELSE ($6::text[])[mixed % 10 + 1] END,
    at,
    CASE WHEN n % ceil($3::numeric / ${FEW})::bigint = 0 THEN $7 WHEN n % 10 = 9 THEN 'acc_' || n % 7 ELSE $8 END,
    'iss_' || (mixed >> 4) % 4,
    'usr_' || CASE mixed % 151 WHEN 2 THEN 77 ELSE mixed % 100003 END,
    CASE WHEN mixed % 10 <> 8 THEN 'cli_' || (mixed >> 8) % 20 END,
    ('{user,api_key,unauthenticated}'::text[])[mixed % 3 + 1],
    ${facts.map((json) => `'${json}'::jsonb`).join(', ')},
    (SELECT event_place())
  FROM (
    SELECT n, n * 2654435761 & 4294967295 AS mixed, floor($4::float8 + n * $5::float8)::bigint AS at
    FROM generate_series($1::bigint, $2::bigint) AS n) numbered`

/**
 * 30 days of events in the order of time, of four issuers, 20 clients and 100,000 users, and their counts. The tables
 * are not logged: that spares the disk while they are filled and makes no difference to who reads them.
 */
async function seed(db: pg.Client, [few, many]: string[], count: number): Promise<void> {
  const first = Date.now() - DAYS * DAY
  const hold = `UPDATE periodic_jobs SET held_until = $1, holder = 'bench' WHERE name = 'count-events'`
  await db.query(hold, [Date.now() + DAY])
  await db.query(`SET statement_timeout = 0; SET synchronous_commit = off; SET maintenance_work_mem = '1GB';
    SET work_mem = '512MB'`)
  await db.query('SELECT make_event_partition($1)', [first])
  const { rows: tables } = await db.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relkind = 'r' AND relname ~ '^(event_hours|event_counts|events_\\d.*)$'`,
  )
  for (const { name } of tables) await db.query(`ALTER TABLE ${name} SET UNLOGGED`)
  const { rows: indexes } = await db.query<{ name: string; text: string }>(
    `SELECT indexname AS name, indexdef AS text FROM pg_indexes
     WHERE tablename = 'events' AND indexname NOT IN ('events_pkey', 'events_by_place')`,
  )
  for (const { name } of indexes) await db.query(`DROP INDEX ${name}`)
  for (let from = 0; from < count; from += PORTION) {
    const to = Math.min(from + PORTION, count) - 1
    await db.query(fillText, [from, to, count, first, (DAYS * DAY) / count, types, few, many])
    const { rows } = await db.query('SELECT counted_to AS "from", event_horizon() AS horizon FROM event_progress')
    await db.query(countText, [rows[0].from, rows[0].horizon])
  }
  for (const { text } of indexes) await db.query(text.replace(' ON ONLY ', ' ON '))
  await db.query('ANALYZE events')
  await db.query(hold, [0])
}
