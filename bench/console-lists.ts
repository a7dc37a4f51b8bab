/**
 * Measures the lists of the console on large tables. Runs the operations of the console for the first page, a page in
 * the middle and searches, and compares their times with the first page of a list with one hundredth of the rows. Every
 * table except that of accounts also has newer rows of other tenants. Option: the number of rows (1,000,000).
 */
import { readFileSync } from 'node:fs'
import { type FragmentDefinitionNode, Kind, type OperationDefinitionNode, parse, print } from 'graphql'
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { packageRoot } from '../src/platform/package-info.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { measureInterleaved } from './lists.js'
import { accountsTable, consoleTables, issuerTables, type SeedScope, seedTable, usersTable } from './seed.js'
import { createFolder, removeFolder, type Server, startServer } from './server.js'

const MANY = 1_000_000
const PAGE = 25

/** @returns the cost of one page of each list and the ratio to the small list */
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

type Variables = Record<string, unknown>

async function measure(folder: string, server: Server, rowCount: number) {
  const runQuery = createGraphqlClient(server)
  const createSeedScope = async (): Promise<SeedScope> => {
    const { createAccount } = await runQuery(
      'mutation { createAccount(input: {name: "Bench"}) { account { id } apiKey { id } } }',
      {},
    )
    const accountId = createAccount.account.id
    const inAccount = { a: accountId }
    const { createIssuer } = await runQuery(
      'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "Bench"}) { id } }',
      inAccount,
    )
    const at = { ...inAccount, i: createIssuer.id }
    const { createOrganization, createUser } = await runQuery(
      `mutation ($a: ID!, $i: ID!) {
        createOrganization(accountId: $a, issuerId: $i, input: {name: "Bench"}) { id }
        createUser(accountId: $a, issuerId: $i, input: {usernameType: unique, username: "bench"}) { id } }`,
      at,
    )
    const { createWebhook } = await runQuery(
      'mutation ($a: ID!) { createWebhook(accountId: $a, input: {url: "https://example.com/hook"}) { id } }',
      inAccount,
    )
    return {
      accountId,
      issuerId: createIssuer.id,
      orgId: createOrganization.id,
      userId: createUser.id,
      webhookId: createWebhook.id,
    }
  }
  const [large, newer, small] = [await createSeedScope(), await createSeedScope(), await createSeedScope()]
  const { url } = await startDatabaseServer(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const smallRowCount = Math.ceil(rowCount / 100)
  const ids = await seedAllTables(db, folder, large, rowCount)
  await seedAllTables(db, folder, newer, smallRowCount)
  await seedAllTables(db, folder, small, smallRowCount)
  await seedTable(db, folder, accountsTable, large, rowCount)
  await db.query('VACUUM ANALYZE')
  await db.end()

  const measurementGroup = (
    file: string,
    name: string,
    variables: (one: SeedScope) => Variables,
    searches: string[] = [],
    extraVariables: Variables = {},
  ) => {
    const text = documentOf(file, name)
    const requestFor = (one: SeedScope, extra: Variables) => () =>
      runQuery(text, { ...variables(one), limit: PAGE, ...extraVariables, ...extra })
    const middle = ids[tableOfOperation[name] ?? '']
    const cursor = middle?.[Math.floor(middle.length / 2)]
    const filters = Object.values(extraVariables).filter((value) => typeof value === 'string')
    return [
      `${name}${filters.length > 0 ? ` (${filters.join(', ')})` : ''}`,
      [
        [`first of ${smallRowCount}`, requestFor(small, {})],
        ['first', requestFor(large, {})],
        ...(cursor ? [['middle', requestFor(large, { cursor })]] : []),
        ...searches.map((search) => [`"${search}"`, requestFor(large, { search })]),
      ],
    ] as Parameters<typeof measureInterleaved>[0][number]
  }
  const A = ({ accountId }: SeedScope) => ({ accountId })
  const I = (one: SeedScope) => ({ ...A(one), issuerId: one.issuerId })
  const O = (one: SeedScope) => ({ ...I(one), orgId: one.orgId, named: true })
  const U = (one: SeedScope) => ({ ...I(one), userId: one.userId })
  const W = (one: SeedScope) => ({ ...A(one), webhookId: one.webhookId })
  const withoutNamed = ({ named: _, ...rest }: Variables) => rest
  return measureInterleaved([
    measurementGroup('accounts', 'accounts', () => ({}), ['account 5', 'account 77777', 'nothing']),
    measurementGroup('issuers', 'issuers', A, ['issuer 5', 'issuer 77777', 'nothing']),
    measurementGroup('clients', 'clients', I, ['c', 'client 5', 'client 77777', 'nothing']),
    measurementGroup('clients', 'clients', I, ['client 5'], { status: 'disabled' }),
    measurementGroup('users', 'users', I, ['a', 'ada lovelace 5', 'ada.lovelace500', 'nothing']),
    measurementGroup('users', 'users', I, [], { status: 'suspended' }),
    measurementGroup('approvals', 'approvals', I, ['a', 'ada lovelace 5', 'nothing']),
    measurementGroup('organizations', 'organizations', I, ['o', 'organization 77777', 'nothing']),
    measurementGroup('organizations', 'organizations', I, [], { status: 'suspended' }),
    measurementGroup('organizations', 'organizationMembers', O, ['a', 'ada lovelace 5', 'ada.lovelace500', 'nothing']),
    measurementGroup('organizations', 'organizationGroups', (one) => withoutNamed(O(one)), [
      'group 5',
      'group 77777',
      'nothing',
    ]),
    measurementGroup('organizations', 'organizationInvitations', (one) => withoutNamed(O(one)), [
      'guest5',
      'guest77777',
      'nothing',
    ]),
    measurementGroup('organizations', 'organizationInvitations', (one) => withoutNamed(O(one)), ['guest5'], {
      status: 'pending',
    }),
    measurementGroup('agents', 'agents', I, ['agent 5', 'agent 77777', 'nothing']),
    measurementGroup('sessions', 'sessions', U),
    measurementGroup('sessions', 'sessions', U, [], { status: 'suspended' }),
    measurementGroup('notes', 'notes', A),
    measurementGroup('notes', 'notes', A, [], { subjectType: 'org' }),
    measurementGroup('webhooks', 'webhookDeliveries', W),
    measurementGroup('webhooks', 'webhookDeliveries', W, [], { status: 'failed' }),
    measurementGroup('webhooks', 'webhookDeliveries', W, [], { eventType: 'user.deleted' }),
    measurementGroup('payments', 'ledgerEntries', A),
  ])
}

/** The table whose identifiers are the cursors of each operation. */
const tableOfOperation: Record<string, string> = {
  issuers: 'issuers',
  clients: 'clients',
  users: 'users',
  organizations: 'organizations',
  organizationMembers: 'organization_members',
  organizationGroups: 'organization_groups',
  organizationInvitations: 'organization_invitations',
  agents: 'agents',
  sessions: 'sessions',
  webhookDeliveries: 'webhook_deliveries',
  ledgerEntries: 'ledger_entries',
}

/**
 * Inserts the given number of rows into every table that is listed below an account.
 * @returns the identifiers by table, oldest first
 */
async function seedAllTables(
  db: pg.Client,
  folder: string,
  scope: SeedScope,
  count: number,
): Promise<Record<string, string[]>> {
  const ids: Record<string, string[]> = { users: await seedTable(db, folder, usersTable, scope, count) }
  for (const kind of [...issuerTables(ids['users']!), ...consoleTables])
    ids[kind.table] = await seedTable(db, folder, kind, scope, count)
  // One user in fifty waits for approval or is suspended. These users are the oldest, which a list with the newest rows
  // first reads last.
  await db.query(
    `UPDATE users SET status = CASE WHEN right(id, 1) < '8' THEN 'pending_approval' ELSE 'suspended' END
     WHERE issuer_id = $1 AND id < $2 AND id > $3`,
    [scope.issuerId, ids['users']![Math.floor(count / 50)], scope.userId],
  )
  return ids
}

/** Returns the text of a console operation with the fragments that it uses. */
function documentOf(file: string, name: string): string {
  const { definitions } = parse(readFileSync(`${packageRoot}/graphql/console/${file}.graphql`, 'utf8'))
  const operation = definitions.find(
    (one): one is OperationDefinitionNode => one.kind === Kind.OPERATION_DEFINITION && one.name?.value === name,
  )
  const parts = [print(operation!)]
  const fragments = definitions.filter((one): one is FragmentDefinitionNode => one.kind === Kind.FRAGMENT_DEFINITION)
  for (let found = true; found; ) {
    const next = fragments.find((one) => parts.join().includes(`...${one.name.value}`) && !parts.includes(print(one)))
    found = next !== undefined
    if (next) parts.push(print(next))
  }
  return parts.join('\n')
}

function createGraphqlClient({ baseUrl, authorization }: Server) {
  // biome-ignore lint/suspicious/noExplicitAny: the benchmark knows the shape of the responses that it reads
  return async (query: string, variables: Variables): Promise<any> => {
    const headers = { authorization, 'content-type': 'application/json' }
    const answer = await fetch(`${baseUrl}/graphql`, {
      method: 'POST',
      headers,
      body: JSON.stringify({ query, variables }),
    })
    const { data, errors } = (await answer.json()) as { data: unknown; errors?: { message: string }[] }
    if (errors) throw new Error(`${errors[0]!.message} in ${query}`)
    return data
  }
}
