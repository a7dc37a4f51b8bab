/**
 * What a page of a long list costs: the first, the middle and the last page, against the first page where there are 1,000
 * rows, and searches among users. Rows of other tenants that are newer than all of the list's stand in every table.
 * Options: the number of users (1,000,000) and of rows in each other list (300,000).
 */
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { openStore } from '../src/store.js'
import { others, type Place, seed, users } from './seed.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'

const MANY_USERS = 1_000_000
const MANY = 300_000
const FEW = 1_000
const ROUNDS = 100

type Ask = () => Promise<unknown>
/** The first of them is what the others are compared with. */
type Group = [figure: string, asks: [page: string, ask: Ask][]]

/** @returns the cost of one page in each place, and how it compares */
export async function bench([userCount, count]: string[]): Promise<Record<string, unknown>[]> {
  const folder = makeFolder()
  const server = await startServer(folder)
  try {
    return await measure(folder, server, Number(userCount ?? MANY_USERS), Number(count ?? MANY))
  } finally {
    await server.stop()
    removeFolder(folder)
  }
}

async function measure(folder: string, server: Server, manyUsers: number, many: number) {
  const call = caller(server)
  const accounts = await call('GET', '/v1/accounts')
  const place = async (): Promise<Place> => {
    const accountId = accounts.data[0]!.id
    const issuerId = (await call('POST', `/v1/accounts/${accountId}/issuers`, { name: 'Bench' })).data.id
    const I = `/v1/accounts/${accountId}/issuers/${issuerId}`
    const orgId = (await call('POST', `${I}/organizations`, { name: 'Bench' })).data.id
    const userId = (await call('POST', `${I}/users`, { username_type: 'unique', username: 'bench' })).data.id
    return { accountId, issuerId, orgId, userId, webhookId: '' }
  }
  const [large, newer, small] = [await place(), await place(), await place()]
  const { url } = await openStore(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  // Notes belong to accounts: those of others need one that is not theirs.
  const stranger = (one: Place): Place => ({ ...one, accountId: `acc_of_${one.issuerId}` })
  const ids: Record<string, string[]> = { users: await seed(db, folder, users, large, manyUsers) }
  await seed(db, folder, users, newer, many)
  await seed(db, folder, users, small, FEW)
  for (const kind of others(ids['users']!)) {
    const own = kind.table === 'notes' ? stranger : (one: Place) => one
    const rows = Math.min(many, manyUsers)
    ids[kind.table] = await seed(db, folder, kind, large, rows)
    await seed(db, folder, kind, own(newer), rows)
    if (kind.table !== 'notes') await seed(db, folder, kind, small, FEW)
  }
  await db.query('VACUUM ANALYZE')

  const I = ({ accountId, issuerId }: Place) => `/v1/accounts/${accountId}/issuers/${issuerId}`
  const O = (one: Place) => `${I(one)}/organizations/${one.orgId}`
  const get = (path: string): Ask => {
    const mark = path.includes('?') ? '&' : '?'
    return () => call('GET', `${path}${mark}limit=50`)
  }
  /** The pages of a list; `filter` without its mark. */
  const pagesOf = (table: string, path: (one: Place) => string, filter = ''): Group => {
    const rows = ids[table]!
    const at = (n: number) => get(`${path(large)}?cursor=${rows[n]}${filter && `&${filter}`}`)
    return [
      `${path(large).split('/').at(-1)}${filter && `?${filter}`}`,
      [
        // A filter leaves less than a page of so few: its first page is the measure.
        ...(filter === '' ? [[`first of ${FEW}`, get(path(small))] as [string, Ask]] : []),
        ['first', get(`${path(large)}${filter && `?${filter}`}`)],
        ['middle', at(Math.floor(rows.length / 2))],
        // Full under the filters too, which leave one row in a hundred.
        ['last', at(filter === '' || filter === 'status=active' ? 51 : 5_101)],
      ],
    ]
  }
  const clients = (one: Place) => `${I(one)}/clients`
  const organizations = (one: Place) => `${I(one)}/organizations`
  const agents = (one: Place) => `${I(one)}/agents`
  const members = (one: Place) => `${O(one)}/members`
  const groups: Group[] = [
    pagesOf('users', (one) => `${I(one)}/users`),
    pagesOf('users', (one) => `${I(one)}/users`, 'status=active'),
    pagesOf('clients', clients),
    pagesOf('clients', clients, 'status=disabled'),
    pagesOf('organizations', organizations),
    pagesOf('organizations', organizations, 'status=suspended'),
    pagesOf('agents', agents),
    pagesOf('agents', agents, 'status=blocked'),
    pagesOf('organization_members', members),
    pagesOf('organization_members', members, 'status=suspended'),
    pagesOf('organization_invitations', (one) => `${O(one)}/invitations`),
    pagesOf('sessions', (one) => `${I(one)}/users/${one.userId}/sessions`),
    notes(large.accountId, ids['notes']!, get),
    relations(call, large, small),
    searches(call, large, get(`${I(small)}/users`)),
  ]
  await db.end()
  return inTurns(groups)
}

/** Notes have a cursor of their own; there is no account with few of them, so the first page is the measure. */
function notes(accountId: string, ids: string[], get: (path: string) => Ask): Group {
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

/** First pages of three lists below an issuer, in one GraphQL query. */
function relations(call: Call, large: Place, small: Place): Group {
  const query = `query ($accountId: ID!, $issuerId: ID!) { issuer(accountId: $accountId, issuerId: $issuerId) {
    clients(limit: 50) { data { id } } organizations(limit: 50) { data { id } } agents(limit: 50) { data { id } } } }`
  const ask = ({ accountId, issuerId }: Place) => {
    return () => call('POST', '/graphql', { query, variables: { accountId, issuerId } })
  }
  const pages: [string, Ask][] = [
    [`of ${FEW}`, ask(small)],
    ['of many', ask(large)],
  ]
  return ['GraphQL: clients, organizations and agents of an issuer', pages]
}

function searches(call: Call, { accountId, issuerId }: Place, base: Ask): Group {
  const query =
    'query ($a: ID!, $i: ID!, $s: String) { users(accountId: $a, issuerId: $i, search: $s) { data { id } } }'
  const words = ['ada.lovelace500', 'ada lovelace 5', 'lovelace', 'a', 'nobody']
  const search = (text: string): [string, Ask] => {
    return [`"${text}"`, () => call('POST', '/graphql', { query, variables: { a: accountId, i: issuerId, s: text } })]
  }
  return ['search of users', [[`list of ${FEW}`, base], ...words.map(search)]]
}

type Call = ReturnType<typeof caller>

function caller({ baseUrl, authorization }: Server) {
  return async (method: string, path: string, body?: object) => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${baseUrl}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`)
    return (await answer.json()) as { data: { id: string }[] & { id: string } }
  }
}

/** The pages of a group by turns, so that a busy moment of the machine hits all of them. */
export async function inTurns(groups: Group[]): Promise<Record<string, unknown>[]> {
  const figures: Record<string, unknown>[] = []
  for (const [list, asks] of groups) {
    const times = asks.map((): number[] => [])
    for (let round = -20; round < ROUNDS; round++) {
      for (const [n, [, ask]] of asks.entries()) {
        const began = performance.now()
        // What does not answer is told as never, and not asked again.
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
