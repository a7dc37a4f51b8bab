/**
 * What a page of the console's lists costs where there are very many rows: the console's own operations, first page,
 * middle page and searches, against the first page of a list with a hundredth of that. Newer rows of others stand in every table.
 * Option: the number of rows (1,000,000).
 */
import { readFileSync } from 'node:fs'
import { type FragmentDefinitionNode, Kind, type OperationDefinitionNode, parse, print } from 'graphql'
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { packageRoot } from '../src/platform/package-root.js'
import { openStore } from '../src/store.js'
import { inTurns } from './lists.js'
import { accounts, below, others, type Place, seed, users } from './seed.js'
import { makeFolder, removeFolder, type Server, startServer } from './server.js'

const MANY = 1_000_000
const PAGE = 25

/** @returns the cost of one page of each, and how it compares */
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

type Variables = Record<string, unknown>

async function measure(folder: string, server: Server, many: number) {
  const ask = caller(server)
  const place = async (): Promise<Place> => {
    const { createAccount } = await ask(
      'mutation { createAccount(input: {name: "Bench"}) { account { id } apiKey { id } } }',
      {},
    )
    const accountId = createAccount.account.id
    const inAccount = { a: accountId }
    const { createIssuer } = await ask(
      'mutation ($a: ID!) { createIssuer(accountId: $a, input: {name: "Bench"}) { id } }',
      inAccount,
    )
    const at = { ...inAccount, i: createIssuer.id }
    const { createOrganization, createUser } = await ask(
      `mutation ($a: ID!, $i: ID!) {
        createOrganization(accountId: $a, issuerId: $i, input: {name: "Bench"}) { id }
        createUser(accountId: $a, issuerId: $i, input: {usernameType: unique, username: "bench"}) { id } }`,
      at,
    )
    const { createWebhook } = await ask(
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
  const [large, newer, small] = [await place(), await place(), await place()]
  const { url } = await openStore(readConfig({ DATA_DIR: folder }), () => {}, true)
  const db = new pg.Client({ connectionString: url })
  await db.connect()
  const few = Math.ceil(many / 100)
  const ids = await fill(db, folder, large, many)
  await fill(db, folder, newer, few)
  await fill(db, folder, small, few)
  await seed(db, folder, accounts, large, many)
  await db.query('VACUUM ANALYZE')
  await db.end()

  const list = (
    file: string,
    name: string,
    variables: (one: Place) => Variables,
    searches: string[] = [],
    more: Variables = {},
  ) => {
    const text = documentOf(file, name)
    const of = (one: Place, extra: Variables) => () => ask(text, { ...variables(one), limit: PAGE, ...more, ...extra })
    const middle = ids[tables[name] ?? '']
    const cursor = middle?.[Math.floor(middle.length / 2)]
    const filters = Object.values(more).filter((value) => typeof value === 'string')
    return [
      `${name}${filters.length > 0 ? ` (${filters.join(', ')})` : ''}`,
      [
        [`first of ${few}`, of(small, {})],
        ['first', of(large, {})],
        ...(cursor ? [['middle', of(large, { cursor })]] : []),
        ...searches.map((search) => [`"${search}"`, of(large, { search })]),
      ],
    ] as Parameters<typeof inTurns>[0][number]
  }
  const A = ({ accountId }: Place) => ({ accountId })
  const I = (one: Place) => ({ ...A(one), issuerId: one.issuerId })
  const O = (one: Place) => ({ ...I(one), orgId: one.orgId, named: true })
  const U = (one: Place) => ({ ...I(one), userId: one.userId })
  const W = (one: Place) => ({ ...A(one), webhookId: one.webhookId })
  const bare = ({ named: _, ...rest }: Variables) => rest
  return inTurns([
    list('accounts', 'accounts', () => ({}), ['account 5', 'account 77777', 'nothing']),
    list('issuers', 'issuers', A, ['issuer 5', 'issuer 77777', 'nothing']),
    list('clients', 'clients', I, ['c', 'client 5', 'client 77777', 'nothing']),
    list('clients', 'clients', I, ['client 5'], { status: 'disabled' }),
    list('users', 'users', I, ['a', 'ada lovelace 5', 'ada.lovelace500', 'nothing']),
    list('users', 'users', I, [], { status: 'suspended' }),
    list('approvals', 'approvals', I, ['a', 'ada lovelace 5', 'nothing']),
    list('organizations', 'organizations', I, ['o', 'organization 77777', 'nothing']),
    list('organizations', 'organizations', I, [], { status: 'suspended' }),
    list('organizations', 'organizationMembers', O, ['a', 'ada lovelace 5', 'ada.lovelace500', 'nothing']),
    list('organizations', 'organizationGroups', (one) => bare(O(one)), ['group 5', 'group 77777', 'nothing']),
    list('organizations', 'organizationInvitations', (one) => bare(O(one)), ['guest5', 'guest77777', 'nothing']),
    list('organizations', 'organizationInvitations', (one) => bare(O(one)), ['guest5'], { status: 'pending' }),
    list('agents', 'agents', I, ['agent 5', 'agent 77777', 'nothing']),
    list('sessions', 'sessions', U),
    list('sessions', 'sessions', U, [], { status: 'suspended' }),
    list('notes', 'notes', A),
    list('notes', 'notes', A, [], { subjectType: 'org' }),
    list('webhooks', 'webhookDeliveries', W),
    list('webhooks', 'webhookDeliveries', W, [], { status: 'failed' }),
    list('webhooks', 'webhookDeliveries', W, [], { eventType: 'user.deleted' }),
    list('payments', 'ledgerEntries', A),
  ])
}

/** Whose ids are cursors of which operation. */
const tables: Record<string, string> = {
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

/** So many rows of everything that is listed below an account. @returns the ids by table, the oldest first */
async function fill(db: pg.Client, folder: string, place: Place, count: number): Promise<Record<string, string[]>> {
  const ids: Record<string, string[]> = { users: await seed(db, folder, users, place, count) }
  for (const kind of [...others(ids['users']!), ...below]) ids[kind.table] = await seed(db, folder, kind, place, count)
  // One in a hundred, the oldest of them: what a list newest first finds last.
  await db.query(
    `UPDATE users SET status = CASE WHEN right(id, 1) < '8' THEN 'pending_approval' ELSE 'suspended' END
     WHERE issuer_id = $1 AND id < $2 AND id > $3`,
    [place.issuerId, ids['users']![Math.floor(count / 50)], place.userId],
  )
  return ids
}

/** An operation of the console with the fragments that it names, as text. */
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

function caller({ baseUrl, authorization }: Server) {
  // biome-ignore lint/suspicious/noExplicitAny: what is read out of an answer is the benchmark's own claim
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
