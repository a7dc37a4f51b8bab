/**
 * Measures long lists: the first page, a page in the middle, the last page, and user searches. Compares their times
 * with the first page of a list with 1,000 rows, and those of filtered lists and notes with the first page of the same
 * list. Every table also has rows of other tenants that are newer than the rows of the list. Options: the number of
 * users (1,000,000), and the number of rows in each other list (300,000).
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { issuerTables, type SeedScope, seedTable, usersTable } from './seed.js'
import { createFolder, removeFolder, type Server, startServer } from './server.js'

const MANY_USERS = 1_000_000
const MANY = 300_000
const FEW = 1_000
const ROUNDS = 100

type SendRequest = () => Promise<unknown>
/** Requests whose times are compared. The first one is the reference for the ratios of the others. */
type MeasurementGroup = [figure: string, asks: [page: string, ask: SendRequest][]]

/** @returns the cost of one page at each position, and its ratio to the reference */
export async function bench([userCount, count]: string[]): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const server = await startServer(folder)
  try {
    return await measure(folder, server, Number(userCount ?? MANY_USERS), Number(count ?? MANY))
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(folder: string, server: Server, manyUsers: number, many: number) {
  const call = createApiClient(server)
  const accounts = await call('GET', '/v1/accounts')
  const createSeedScope = async (): Promise<SeedScope> => {
    const accountId = accounts.data[0]!.id
    const issuerId = (await call('POST', `/v1/accounts/${accountId}/issuers`, { name: 'Bench' })).data.id
    const I = `/v1/accounts/${accountId}/issuers/${issuerId}`
    const orgId = (await call('POST', `${I}/organizations`, { name: 'Bench' })).data.id
    const userId = (await call('POST', `${I}/users`, { username_type: 'unique', username: 'bench' })).data.id
    return { accountId, issuerId, orgId, userId, webhookId: '' }
  }
  const [large, newer, small] = [await createSeedScope(), await createSeedScope(), await createSeedScope()]
  const { url } = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  // Notes belong to accounts, so the notes of other tenants need another account.
  const foreignAccountScope = (one: SeedScope): SeedScope => ({ ...one, accountId: `acc_of_${one.issuerId}` })
  const ids: Record<string, string[]> = { users: await seedTable(db, folder, usersTable, large, manyUsers) }
  await seedTable(db, folder, usersTable, newer, many)
  await seedTable(db, folder, usersTable, small, FEW)
  for (const kind of issuerTables(ids['users']!)) {
    const own = kind.table === 'notes' ? foreignAccountScope : (one: SeedScope) => one
    const rows = Math.min(many, manyUsers)
    ids[kind.table] = await seedTable(db, folder, kind, large, rows)
    await seedTable(db, folder, kind, own(newer), rows)
    if (kind.table !== 'notes') await seedTable(db, folder, kind, small, FEW)
  }
  await db.query('VACUUM ANALYZE')

  const I = ({ accountId, issuerId }: SeedScope) => `/v1/accounts/${accountId}/issuers/${issuerId}`
  const O = (one: SeedScope) => `${I(one)}/organizations/${one.orgId}`
  const get = (path: string): SendRequest => {
    const mark = path.includes('?') ? '&' : '?'
    return () => call('GET', `${path}${mark}limit=50`)
  }
  /** Returns the measured pages of a list. `filter` is a query string without the leading question mark. */
  const listPages = (table: string, path: (one: SeedScope) => string, filter = ''): MeasurementGroup => {
    const rows = ids[table]!
    const at = (n: number) => get(`${path(large)}?cursor=${rows[n]}${filter && `&${filter}`}`)
    return [
      `${path(large).split('/').at(-1)}${filter && `?${filter}`}`,
      [
        // The small list has less than one page of filtered rows, so its unfiltered first page is the reference.
        ...(filter === '' ? [[`first of ${FEW}`, get(path(small))] as [string, SendRequest]] : []),
        ['first', get(`${path(large)}${filter && `?${filter}`}`)],
        ['middle', at(Math.floor(rows.length / 2))],
        // The long list has full pages of filtered rows, although the filter matches only one row in a hundred.
        ['last', at(filter === '' || filter === 'status=active' ? 51 : 5_101)],
      ],
    ]
  }
  const clients = (one: SeedScope) => `${I(one)}/clients`
  const organizations = (one: SeedScope) => `${I(one)}/organizations`
  const agents = (one: SeedScope) => `${I(one)}/agents`
  const members = (one: SeedScope) => `${O(one)}/members`
  const groups: MeasurementGroup[] = [
    listPages('users', (one) => `${I(one)}/users`),
    listPages('users', (one) => `${I(one)}/users`, 'status=active'),
    listPages('clients', clients),
    listPages('clients', clients, 'status=disabled'),
    listPages('organizations', organizations),
    listPages('organizations', organizations, 'status=suspended'),
    listPages('agents', agents),
    listPages('agents', agents, 'status=blocked'),
    listPages('organization_members', members),
    listPages('organization_members', members, 'status=suspended'),
    listPages('organization_invitations', (one) => `${O(one)}/invitations`),
    listPages('sessions', (one) => `${I(one)}/users/${one.userId}/sessions`),
    notePages(large.accountId, ids['notes']!, get),
    relationQueries(call, large, small),
    searchQueries(call, large, get(`${I(small)}/users`)),
  ]
  await db.end()
  return measureInterleaved(groups)
}

/**
 * Returns the measured pages of the notes, whose cursors have a different format. No account has few notes, so the
 * first page of the long list is the reference.
 */
function notePages(accountId: string, ids: string[], get: (path: string) => SendRequest): MeasurementGroup {
  const path = `/v1/accounts/${accountId}/notes`
  const time = (n: number) => Number.parseInt([...ids[n]!.slice(5, 15)].map(base32).join(''), 2)
  const at = (n: number) => get(`${path}?cursor=false:${time(n)}:${ids[n]}`)
  return [
    'notes',
    [
      ['first', get(path)],
      ['middle', at(Math.floor(ids.length / 2))],
      ['last', at(51)],
      ['first of an author', get(`${path}?created_by=author%207`)],
    ],
  ]
}
const base32 = (digit: string) => '0123456789abcdefghjkmnpqrstvwxyz'.indexOf(digit).toString(2).padStart(5, '0')

/** Returns queries for the first pages of three lists of an issuer, in one GraphQL document. */
function relationQueries(call: Call, large: SeedScope, small: SeedScope): MeasurementGroup {
  const query = `query ($accountId: ID!, $issuerId: ID!) { issuer(accountId: $accountId, issuerId: $issuerId) {
    clients(limit: 50) { data { id } } organizations(limit: 50) { data { id } } agents(limit: 50) { data { id } } } }`
  const queryFor = ({ accountId, issuerId }: SeedScope) => {
    return () => call('POST', '/graphql', { query, variables: { accountId, issuerId } })
  }
  const pages: [string, SendRequest][] = [
    [`of ${FEW}`, queryFor(small)],
    ['of many', queryFor(large)],
  ]
  return ['GraphQL: clients, organizations and agents of an issuer', pages]
}

function searchQueries(call: Call, { accountId, issuerId }: SeedScope, base: SendRequest): MeasurementGroup {
  const query =
    'query ($a: ID!, $i: ID!, $s: String) { users(accountId: $a, issuerId: $i, search: $s) { data { id } } }'
  const words = ['ada.lovelace500', 'ada lovelace 5', 'lovelace', 'a', 'unknown']
  const search = (text: string): [string, SendRequest] => {
    return [`"${text}"`, () => call('POST', '/graphql', { query, variables: { a: accountId, i: issuerId, s: text } })]
  }
  return ['search of users', [[`list of ${FEW}`, base], ...words.map(search)]]
}

type Call = ReturnType<typeof createApiClient>

function createApiClient({ baseUrl, authorization }: Server) {
  return async (method: string, path: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: { id: string }[] & { id: string } }
  }
}

/** Runs the requests of a group alternately, so that other load of the machine affects all of them equally. */
export async function measureInterleaved(groups: MeasurementGroup[]): Promise<Record<string, unknown>[]> {
  const figures: Record<string, unknown>[] = []
  for (const [list, asks] of groups) {
    const times = asks.map((): number[] => [])
    for (let round = -20; round < ROUNDS; round++) {
      for (const [n, [, ask]] of asks.entries()) {
        const began = performance.now()
        // A request that fails, for example by a timeout, is reported with the time Infinity and not repeated.
        if (times[n]!.includes(Number.POSITIVE_INFINITY)) continue
        const answers = await ask().then(
          () => true,
          () => false,
        )
        if (!answers) times[n]!.push(Number.POSITIVE_INFINITY)
        if (round >= 0 && answers) times[n]!.push(performance.now() - began)
      }
    }
    const medians = times.map((all) => all.sort((a, b) => a - b)[Math.floor(all.length / 2)]!)
    for (const [n, [page]] of asks.entries())
      figures.push({
        list,
        page,
        'median ms': medians[n]!.toFixed(2),
        ratio: (medians[n]! / medians[0]!).toFixed(2),
      })
  }
  return figures
}
