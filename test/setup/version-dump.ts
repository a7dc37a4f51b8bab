/**
 * `npm run version-dump` writes test/stories/upgrade/<last migration>.json.gz: every row of a deployment of this version
 * that has rows in each table. The upgrade test starts a later version on it. Run it before a change of the schema that
 * renames or rewrites data; never rewrite an older dump.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { readConfig } from '../../src/config.js'
import { openSession } from '../../src/console-host/sessions.js'
import { systemContext } from '../../src/platform/jobs.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { enqueue } from '../../src/platform/queue.js'
import { sha256 } from '../../src/platform/secrets.js'
import { routes } from '../../src/rest/routes.js'
import { openStore } from '../../src/store.js'
import { fresh, pathOf, populate, queries } from '../contract/world.js'
import { PASSWORD, Realm } from '../idp/setup.js'
import { until } from '../resources/hooks.js'
import { makeTenant, must } from './actors.js'
import { demonstrate } from './demonstration.js'
import { newPayer, startFacilitator } from './facilitator.js'
import { startReceiver } from './receiver.js'
import { startApp, type TestApp, testClock } from './start-app.js'
import { readTables, type VersionDump } from './version-rows.js'
import { ethereumWallet } from './wallets.js'

const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-dump-'))
const store = await openStore(readConfig({ DATA_DIR: dataDir }), () => {})
const db = new pg.Client({ connectionString: store.url })
try {
  await db.connect()
  const known = await live()
  const { rows } = await db.query('SELECT max(migration_name) AS name FROM _prisma_migrations')
  const tables = await readTables(db)
  const empty = Object.entries(tables).flatMap(([name, { rows: text }]) => (text === '[]' ? [name] : []))
  if (empty.length > 0) throw new Error(`these tables have no rows: ${empty.join(', ')}`)
  const folder = join(packageRoot, 'test', 'stories', 'upgrade')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${rows[0].name}.json.gz`)
  writeFileSync(
    file,
    gzipSync(JSON.stringify({ migration: rows[0].name, ...known, tables } satisfies VersionDump), { level: 9 }),
  )
  console.log(file)
} finally {
  await db.end()
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
}

/** A deployment in which everything has been used once. */
async function live(): Promise<Omit<VersionDump, 'migration' | 'tables'>> {
  const facilitator = await startFacilitator()
  const receiver = await startReceiver()
  const clock = testClock()
  clock.advance(-14 * 86_400_000)
  const limits = { core_read: { quota: 1_000_000, window: 60 }, core_write: { quota: 1_000_000, window: 60 } }
  const app = await startApp({
    databaseUrl: store.url,
    clock,
    roles: ['core', 'idp', 'worker'],
    env: { ...facilitator.env, RATE_LIMITS: JSON.stringify(limits), ALLOW_PRIVATE_NETWORKS: 'true' },
  })
  try {
    await demonstrate(app)
    return await fillOtherTables(app, receiver.url)
  } finally {
    await app.close()
    await receiver.close()
    await facilitator.close()
  }
}

async function fillOtherTables(app: TestApp, receiverUrl: string): Promise<Omit<VersionDump, 'migration' | 'tables'>> {
  const { prisma } = app.gatehouse.tools
  const tenant = await makeTenant(app, 'Everything')
  const { owner, A, I, accountId, issuerId } = tenant
  const { ids } = await populate(tenant)
  must(await owner.post(`${A}/webhooks`, { url: `${receiverUrl}/in`, event_types: ['note.created'] }), 201)
  const content = `[[user:${ids.user_id}]], says @[Ada](${ids.user_id})`
  must(await owner.post(`${A}/notes`, { subject_type: 'issuer', subject_id: issuerId, content }), 201)
  must(await owner.post(`${A}/issuers`, { name: 'Once' }, { 'idempotency-key': fresh('key') }), 201)
  const enrollment = { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }
  must(await owner.post(`${I}/users/${ids.user_id}/verifiers`, enrollment), 201)

  const realm = new Realm(app, tenant)
  await realm.user('ada@example.com')
  const client = await realm.client({ grant_types: ['authorization_code', 'refresh_token'] })
  const { access_token } = await realm.tokens(client, 'ada@example.com', { scope: 'openid profile' })
  const { page, browser } = await realm.begin(client)
  await browser.submit(page, { username: 'ada@example.com', password: 'not the password' })
  await realm.begin(client)
  await realm.post('/revoke', client, { token: access_token })

  const { network, address } = ethereumWallet()
  const { id: agentId } = must(await owner.post(`${I}/agents`, { name: 'Trader', scopes: ['orders:read'] }), 201).data
  must(await owner.post(`${I}/agents/${agentId}/verifiers`, { type: 'wallet', name: null, network, address }), 201)
  await realm.post('/agents/challenge', undefined, { client_id: agentId, network, address })

  const context = systemContext(app.gatehouse)
  const record = { format: 'gatehouse.user', id: 'old-1', username_type: 'email', username: 'grace@example.com' }
  const records = [{ line: 1, text: JSON.stringify(record) }]
  const input = { source: 'gatehouse', dryRun: false, last: true, records }
  const importUsers =
    'mutation ($a: ID!, $i: ID!, $input: ImportUsersInput!) { importUsers(accountId: $a, issuerId: $i, input: $input) { __typename } }'
  must(await owner.graphql(importUsers, { a: accountId, i: issuerId, input }), 200)
  // The tokens of another application stand for those of the console.
  await openSession(context, { access: access_token, refresh: 'refresh', id: 'id', expiresAt: context.now() } as never)

  const payment = newPayer().pay(5_000_000)
  must(await owner.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, { 'payment-signature': payment }), 200)
  await until(async () => (await prisma.webhookDay.count()) > 0 && (await prisma.job.count()) === 0)
  await until(async () => (await prisma.eventHour.count()) > 0 && (await prisma.eventCount.count()) > 0)

  // Mail that waits.
  const sealed = app.gatehouse.sealer.seal(
    JSON.stringify({ to: 'ada@example.com', subject: 'Hello', text: 'Hello', html: 'Hello' }),
  )
  const payload = { id: 'mail_1', sealed, expiresAt: context.now() + 86_400_000, recipient: sha256('ada@example.com') }
  await enqueue(context, 'mail', [payload], context.now() + 3_600_000)

  const { refresh_token } = await realm.tokens(client, 'ada@example.com', { scope: 'openid profile' })
  const answers: VersionDump['answers'] = {}
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    const path =
      pathOf(route, ids) + (queries[route.operation] ? `?${new URLSearchParams(queries[route.operation]!(ids))}` : '')
    answers[path] = must(await owner.get(path), 200)
  }
  const [keyId = '', secret = ''] = atob(owner.authorization!.replace('Basic ', '')).split(':')
  return {
    at: app.clock.now(),
    baseUrl: app.baseUrl,
    idpUrl: app.idpUrl,
    owner: { id: keyId, secret },
    issuerId,
    client,
    user: { username: 'ada@example.com', password: PASSWORD },
    refreshToken: refresh_token,
    answers,
  }
}
