/**
 * Query plans of lists (docs/decisions/0012 and 0021): each list reads an index that begins with the parent of the
 * list, regardless of rows of other tenants. The statements are those that the application sends.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { idTimestamp } from '../../src/kernel/ids.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { addLedgerEntry } from '../../src/resources/payments/credits.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let other: Tenant
/** The id and secret of an API key that the configuration sets. The time in this id is not the creation time. */
const firstKey = { id: `ak_${'0'.repeat(26)}`, secret: 'x'.repeat(40) }

beforeAll(async () => {
  app = await startApp({ roles: ['core'], env: { BOOTSTRAP_API_KEY: `${firstKey.id}:${firstKey.secret}` } })
  fixture = await createTenantFixture(app)
  other = await createTenant(app, 'Other')
  const entry = { accountId: fixture.accountId, type: 'adjustment', amountMicroUsd: 5, description: null } as const
  for (const _ of [1, 2]) await transaction(systemContext(app.gatehouse), (tx) => addLedgerEntry(tx, entry))
})
afterAll(() => app.close())

/** The path and query of a list, the table that it reads, and the name of the index that it must use. */
const lists: [path: string, query: string, table: string, index: RegExp][] = [
  ['A/issuers', '', 'issuers', /^issuers_of_account/],
  ['I/clients', '', 'clients', /^clients_not_deleted/],
  ['I/clients', 'status=disabled', 'clients', /^clients_issuer_id_status|^clients_not_deleted/],
  ['I/users', '', 'users', /^users_list/],
  ['I/users', 'status=suspended', 'users', /^users_list_by_status/],
  ['I/approvals', '', 'users', /^users_list_by_status/],
  ['I/organizations', '', 'organizations', /^organizations_issuer_id_created_at/],
  ['I/organizations', 'status=suspended', 'organizations', /^organizations_issuer_id_(status_)?created_at/],
  ...['sso_enabled', 'sso_only', 'mfa_required', 'invitation_enabled'].map((flag): [string, string, string, RegExp] => [
    'I/organizations',
    `${flag}=true`,
    'organizations',
    /^organizations_/,
  ]),
  ['I/agents', '', 'agents', /^agents_issuer_id_created_at/],
  ['I/agents', 'status=blocked', 'agents', /^agents_issuer_id_/],
  ['I/agents', 'model=m', 'agents', /^agents_issuer_id_/],
  ['I/agents', 'provider=p', 'agents', /^agents_issuer_id_/],
  ['I/agents', 'has_verifiers=true', 'agents', /^agents_issuer_id_/],
  ['O/members', '', 'organization_members', /^organization_members_org_id_created_at/],
  ['O/members', 'status=suspended', 'organization_members', /^organization_members_org_id_(status_)?created_at/],
  ['O/groups', '', 'organization_groups', /^organization_groups_org_id_created_at/],
  ['O/invitations', '', 'organization_invitations', /^organization_invitations_org_id_created_at/],
  ['O/api-keys', '', 'api_keys', /^api_keys_of_org/],
  ['A/api-keys', '', 'api_keys', /^api_keys_of_account/],
  ['U/tokens', '', 'personal_tokens', /^personal_tokens_user_id_created_at/],
  ['U/sessions', '', 'sessions', /^sessions_of_user/],
  ['A/payment-methods', '', 'payment_methods', /^payment_methods_account_id_created_at/],
  ['A/credits/ledger', '', 'ledger_entries', /^ledger_entries_account_id_created_at/],
  ['A/notes', '', 'notes', /^notes_account_id_pinned/],
  ['A/notes', 'created_by=usr_x', 'notes', /^notes_/],
  ['A/notes', 'subject_type=user&subject_id=usr_x', 'notes', /^notes_/],
]

function pathFor(short: string): string {
  const { A, I, ids } = fixture
  const parents: Record<string, string> = {
    A,
    I,
    O: `${I}/organizations/${ids.org_id}`,
    U: `${I}/users/${ids.user_id}`,
  }
  return short.replace(/^[AIOU]/, (letter) => parents[letter]!)
}

/** Returns the statements with their values that a function sends to read a page from a table. */
async function statementsDuring(table: string, work: () => Promise<unknown>): Promise<[string, unknown[]][]> {
  const sent: [string, unknown[]][] = []
  const query = pg.Client.prototype.query
  pg.Client.prototype.query = function (this: pg.Client, ...given: AnyJson[]) {
    const text: string = given[0]?.text ?? given[0]
    const from = new RegExp(`FROM (?:"public"\\.)?"?${table}"?\\b(?:[^;]*)\\bORDER BY[^;]*\\bLIMIT`)
    if (from.test(text)) sent.push([text, given[0].values ?? given[1] ?? []])
    return (query as AnyJson).apply(this, given)
  } as typeof query
  try {
    await work()
  } finally {
    pg.Client.prototype.query = query
  }
  return sent
}

interface PlanNode {
  'Node Type': string
  'Index Name'?: string
  'Relation Name'?: string
  'Sort Key'?: string[]
  'Actual Rows'?: number
  'Rows Removed by Filter'?: number
  Plans?: PlanNode[]
}
const nodesOf = (node: PlanNode): PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)]

async function plansOf(settings: string, options: string, sent: [string, unknown[]][]): Promise<PlanNode[]> {
  const client = await app.gatehouse.database.pool.connect()
  try {
    await client.query(settings)
    const plans: PlanNode[] = []
    for (const [text, values] of sent) {
      const { rows } = await client.query(`EXPLAIN (${options}FORMAT JSON) ${text}`, values)
      plans.push(...nodesOf(rows[0]['QUERY PLAN'][0].Plan))
    }
    return plans
  } finally {
    client.release(true)
  }
}

describe('an index provides the order of each list, on the first and later pages, without a sort', () => {
  test.each(lists)('%s %s', async (short, query, table, index) => {
    const path = `${pathFor(short)}?limit=1${query && `&${query}`}`
    const { next_cursor } = expectStatus(await fixture.owner.get(path), 200)
    for (const cursor of ['', ...(next_cursor ? [`&cursor=${next_cursor}`] : [])]) {
      const sent = await statementsDuring(table, () => fixture.owner.get(path + cursor))
      expect(sent.length).toBeGreaterThan(0)
      // Without these settings, PostgreSQL would scan and sort a table of this size.
      const plan = await plansOf(
        'SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off',
        '',
        sent,
      )
      const scans = plan.filter((node) => node['Relation Name'] === table && node['Index Name'] !== undefined)
      expect(scans.map((node) => node['Index Name']).filter((name) => index.test(name!))).not.toEqual([])
      const sorts = plan.filter((node) => node['Sort Key']?.some((key) => /created_at|COLLATE/.test(key)))
      expect(sorts.map((node) => node['Sort Key'])).toEqual([])
    }
  })
})

test('newer rows of other tenants are not read', async () => {
  const { pool } = app.gatehouse.database
  const now = app.clock.now()
  const insert = (accountId: string, issuerId: string, from: number, to: number) =>
    pool.query(
      `INSERT INTO clients (id, account_id, issuer_id, name, type, confidential, settings, status, created_at, updated_at)
       SELECT 'cli_' || lpad(n::text, 26, '0'), $1, $2, 'Client', 'external', false, '{}', 'active', $5::bigint + n, 0
       FROM generate_series($3::int, $4::int) n`,
      [accountId, issuerId, from, to, now],
    )
  await insert(fixture.accountId, fixture.issuerId, 1, 4000)
  await insert(other.accountId, other.issuerId, 4001, 12_000)
  await pool.query('ANALYZE clients')
  const { A, I, accountId, issuerId } = fixture
  const relation = `query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { clients(limit: 50) { data { id } } } }`
  for (const ask of [
    () => fixture.owner.get(`${I}/clients`),
    () => fixture.owner.graphql(relation, { a: accountId, i: issuerId }),
  ]) {
    const sent = await statementsDuring('clients', ask)
    expect(sent.length).toBeGreaterThan(0)
    for (const node of await plansOf('SELECT 1', 'ANALYZE, ', sent))
      expect((node['Actual Rows'] ?? 0) + (node['Rows Removed by Filter'] ?? 0)).toBeLessThan(200)
  }
  await pool.query(`DELETE FROM clients WHERE id LIKE 'cli\\_0000%'`)
  expectStatus(await fixture.owner.get(A), 200)
})

test('the time in an id equals created_at, where a list relies on it for its order', async () => {
  for (const table of new Set(lists.map(([, , name]) => name))) {
    if (['users', 'sessions', 'notes', 'api_keys'].includes(table)) continue
    const { rows } = await app.gatehouse.database.pool.query(`SELECT id, created_at FROM ${table}`)
    expect(rows.length).toBeGreaterThan(0)
    expect(rows.filter(({ id, created_at }) => idTimestamp(id) !== created_at)).toEqual([])
  }
})

test('a key with an id chosen by the operator is sorted by its creation time, and no page omits it', async () => {
  const owner = createApiClient(app.baseUrl, firstKey)
  const system = await app.gatehouse.database.prisma.account.findFirstOrThrow({ where: { system: true } })
  const path = `/v1/accounts/${system.id}/api-keys`
  const ids = [firstKey.id]
  for (let n = 0; n < 3; n++) {
    ids.unshift(
      expectStatus(await owner.post(path, { name: uniqueName('key'), restrictions: { scopes: [] } }), 201).data.id,
    )
    app.clock.advance(1)
  }
  const seen: string[] = []
  for (let cursor = ''; ; ) {
    const page = expectStatus(await owner.get(`${path}?limit=1${cursor}`), 200)
    seen.push(...page.data.map(({ id }: AnyJson) => id))
    if (page.next_cursor === null) break
    cursor = `&cursor=${page.next_cursor}`
  }
  expect(seen).toEqual(ids)
})
