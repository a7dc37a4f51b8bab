/**
 * Combined filters of the audit log (docs/contract.md#event-endpoints): each combination returns exactly the matching
 * events, and a page reads no more than its own rows (docs/decisions/0027).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { lowestIdAt } from '../../src/kernel/ids.js'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { confidentialClient } from './tenant-fixture.js'

let app: TestApp
let owner: ApiClient
let A: string

const COUNT = 3000
const FIRST = Date.UTC(2026, 10, 1)

const metadata = 'https://client.example/metadata.json'

interface Row extends Record<string, unknown> {
  id: string
  created_at: number
}
/** All events, newest first. */
let rows: Row[]
let sets: Record<string, string>[]

/**
 * Creates the events of two issuers. Each issuer has its own client, and both have the client `metadata`. A value that
 * is frequent in one issuer is rare in the other.
 */
function createRows([issuerA, issuerB]: string[], [clientA, clientB]: string[]): Row[] {
  const created = Array.from({ length: COUNT }, (_, n) => {
    const issuer = n % 3 === 0 ? issuerB : issuerA
    const client = n % 7 === 0 ? metadata : n % 5 === 0 ? null : issuer === issuerA ? clientA : clientB
    const usual = client === clientA ? 'session.created' : 'user.updated'
    const at = FIRST + n * 400_000
    return {
      id: lowestIdAt('evt', at).slice(0, -10) + String(n).padStart(10, '0'),
      created_at: at,
      issuer_id: n % 11 === 0 ? null : issuer,
      user_id: n % 97 === 0 ? 'usr_b' : n % 10 === 1 ? 'usr_a' : null,
      client_id: client,
      type: n === 40 || n === 2001 ? 'issuer.created' : n % 101 === 0 ? 'note.created' : usual,
    }
  })
  return created.reverse()
}

/** Returns all combinations of the filters, in which each filter has one of its values or is absent. */
function combined(filters: Record<string, string[]>): Record<string, string>[] {
  return Object.entries(filters).reduce<Record<string, string>[]>(
    (before, [name, values]) => before.flatMap((set) => [set, ...values.map((value) => ({ ...set, [name]: value }))]),
    [{}],
  )
}

const fits = (row: Row, { event_types, ...same }: AnyJson): boolean =>
  (event_types === undefined || event_types.split(',').includes(row['type'])) &&
  Object.entries(same).every(([name, value]) => row[name] === value)

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  const account = await createAccount(app)
  owner = account.owner
  A = `/v1/accounts/${account.accountId}`
  const issuers: string[] = []
  const clients: string[] = []
  for (const name of ['a', 'b']) {
    const { id } = expectStatus(await owner.post(`${A}/issuers`, { name }), 201).data
    issuers.push(id)
    clients.push(expectStatus(await owner.post(`${A}/issuers/${id}/clients`, confidentialClient()), 201).data.id)
  }
  rows = createRows(issuers, clients)
  sets = combined({
    issuer_id: [...issuers, 'iss_none'],
    client_id: [...clients, metadata],
    user_id: ['usr_a', 'usr_b'],
    event_types: ['user.updated', 'issuer.created,user.updated', 'domain.deleted'],
  })
  const { pool } = app.gatehouse.database
  await pool.query('DELETE FROM events WHERE account_id = $1', [account.accountId])
  for (const id of [account.accountId, 'acc_other'])
    await pool.query(
      `INSERT INTO events (id, created_at, issuer_id, user_id, client_id, type, account_id, auth_type, actor, target, context)
       SELECT id, created_at, issuer_id, user_id, client_id, type, $2, 'user', $3, $3, '{}'
       FROM jsonb_to_recordset($1) AS r(id text, created_at bigint, issuer_id text, user_id text, client_id text, type text)`,
      [JSON.stringify(rows), id, '{"type":"user","id":"usr_a"}'],
    )
  await pool.query('ANALYZE events')
})
afterAll(() => app.close())

/** Returns the statement on events that a function sends, with its values. */
async function statementDuring(work: () => Promise<unknown>): Promise<[string, unknown[]]> {
  const sent: [string, unknown[]][] = []
  const { pool } = app.gatehouse.database
  const query = pool.query
  pool.query = (given: AnyJson) => {
    if (given.text.includes('FROM events')) sent.push([given.text, given.values])
    return Reflect.apply(query, pool, [given])
  }
  try {
    await work()
  } finally {
    pool.query = query
  }
  expect(sent).toHaveLength(1)
  return sent[0]!
}

interface PlanNode {
  'Relation Name'?: string
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]
const rowsRead = (node: PlanNode): number =>
  (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops']

const list = async (query: AnyJson): Promise<AnyJson> =>
  expectStatus(await owner.get(`${A}/events?${new URLSearchParams(query)}`), 200)

test('every combination of filters returns the events that match all of them, newest first', async () => {
  for (const set of sets) {
    const expected = rows.filter((row) => fits(row, set))
    const middle = expected[Math.floor(expected.length / 2)]
    const later = middle && { cursor: middle.id, after: FIRST + COUNT * 100_000 }
    for (const query of later ? [{}, later] : [{}]) {
      const left =
        query === later ? expected.filter(({ id, created_at: at }) => id < later.cursor && at >= later.after) : expected
      const page = await list({ ...set, ...query, limit: 100 })
      const ids = page.data.map(({ id }: AnyJson) => id)
      expect({ set, query, ids }).toEqual({ set, query, ids: left.slice(0, 100).map(({ id }) => id) })
      expect(page.has_more).toBe(left.length > 100)
    }
  }
})

test.each(['force_custom_plan', 'force_generic_plan'])(
  'a page reads at most its size for each type, or all rows of one user or document (%s)',
  async (mode) => {
    const limit = 10
    const client = await app.gatehouse.database.pool.connect()
    try {
      // Without these settings, PostgreSQL would scan a table of this size sequentially.
      await client.query(`SET plan_cache_mode = ${mode}; SET enable_seqscan = off; SET enable_bitmapscan = off`)
      for (const set of sets) {
        const [text, values] = await statementDuring(() => list({ ...set, limit }))
        await client.query(`PREPARE page AS ${text}`)
        const given = values.map((value) => (Array.isArray(value) ? `{${value}}` : String(value))).map(pg.escapeLiteral)
        const { rows: lines } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE page(${given})`)
        await client.query('DEALLOCATE page')
        const read = nodesOf(lines[0]['QUERY PLAN'][0].Plan).filter((node) =>
          node['Relation Name']?.startsWith('events'),
        )
        const looked = read.reduce((sum, node) => sum + rowsRead(node), 0)
        const types = set['event_types']?.split(',').length ?? 1
        // With a filter on the user, a page can read all events of that user. With a metadata document client and an
        // issuer, it can read all events of that client, which can belong to several issuers (docs/decisions/0027).
        const whole = set['user_id']
          ? 'user_id'
          : set['client_id'] === metadata && set['issuer_id']
            ? 'client_id'
            : null
        const own = whole ? rows.filter((row) => row[whole] === set[whole]).length : 0
        expect({ set, looked, few: looked <= (own || 5 * (limit + 1) * types) + limit + 1 }).toEqual({
          set,
          looked,
          few: true,
        })
      }
    } finally {
      client.release(true)
    }
  },
)
