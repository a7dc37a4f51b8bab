/**
 * `npm run version-dump` writes test/stories/upgrade/<last migration>.json.gz: all rows of a deployment of this version
 * with rows in each table. The upgrade test starts a later version on each dump. Run this script before a schema change
 * that renames or rewrites data. Do not change the dump of an older version.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { readConfig } from '../src/config.js'
import { createConsoleSession } from '../src/console-host/sessions.js'
import { sha256 } from '../src/platform/crypto/secrets.js'
import { systemContext } from '../src/platform/jobs/periodic-jobs.js'
import { enqueue } from '../src/platform/jobs/queue.js'
import { packageRoot } from '../src/platform/package-info.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { routes } from '../src/rest/routes.js'
import { createTenantResources, requiredQueries, routePath, uniqueName } from '../test/contract/tenant-fixture.js'
import { PASSWORD, Realm } from '../test/idp/realm.js'
import { createTenant, expectStatus } from '../test/setup/actors.js'
import { createDemoData } from '../test/setup/demo-data.js'
import { createPayer, startFacilitator } from '../test/setup/facilitator.js'
import { createTestClock, startApp, type TestApp } from '../test/setup/start-app.js'
import { readTables, type VersionDump } from '../test/setup/version-rows.js'
import { waitUntil } from '../test/setup/wait-until.js'
import { ethereumWallet } from '../test/setup/wallets.js'
import { startWebhookReceiver } from '../test/setup/webhook-receiver.js'

const dataDir = mkdtempSync(join(tmpdir(), 'gatehouse-dump-'))
const store = await startDatabaseServer(readConfig({ DATA_DIR: dataDir }), () => {})
const db = new pg.Client({ connectionString: store.url })
try {
  await db.connect()
  const deployment = await createUsedDeployment()
  const { rows } = await db.query('SELECT max(migration_name) AS name FROM _prisma_migrations')
  const tables = await readTables(db)
  const empty = Object.entries(tables).flatMap(([name, { rows: text }]) => (text === '[]' ? [name] : []))
  if (empty.length > 0)
    throw new Error(`These tables have no rows: ${empty.join(', ')}. Add rows in createUsedDeployment.`)
  const folder = join(packageRoot, 'test', 'stories', 'upgrade')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${rows[0].name}.json.gz`)
  writeFileSync(
    file,
    gzipSync(JSON.stringify({ migration: rows[0].name, ...deployment, tables } satisfies VersionDump), { level: 9 }),
  )
  console.log(file)
} finally {
  await db.end()
  await store.close()
  rmSync(dataDir, { recursive: true, force: true })
}

/** Creates a deployment with rows in every table. @returns the data that the upgrade test needs besides the rows */
async function createUsedDeployment(): Promise<Omit<VersionDump, 'migration' | 'tables'>> {
  const facilitator = await startFacilitator()
  const receiver = await startWebhookReceiver()
  const clock = createTestClock()
  clock.advance(-14 * 86_400_000)
  const limits = { core_read: { quota: 1_000_000, window: 60 }, core_write: { quota: 1_000_000, window: 60 } }
  const app = await startApp({
    databaseUrl: store.url,
    clock,
    roles: ['core', 'idp', 'worker'],
    env: { ...facilitator.env, RATE_LIMITS: JSON.stringify(limits), ALLOW_PRIVATE_NETWORKS: 'true' },
  })
  try {
    await createDemoData(app)
    return await fillOtherTables(app, receiver.url)
  } finally {
    await app.close()
    await receiver.close()
    await facilitator.close()
  }
}

async function fillOtherTables(app: TestApp, receiverUrl: string): Promise<Omit<VersionDump, 'migration' | 'tables'>> {
  const { prisma } = app.gatehouse.database
  const tenant = await createTenant(app, 'Everything')
  const { owner, A, I, accountId, issuerId } = tenant
  const { ids } = await createTenantResources(tenant)
  expectStatus(await owner.post(`${A}/webhooks`, { url: `${receiverUrl}/in`, event_types: ['note.created'] }), 201)
  const content = `[[user:${ids.user_id}]], says @[Ada](${ids.user_id})`
  expectStatus(await owner.post(`${A}/notes`, { subject_type: 'issuer', subject_id: issuerId, content }), 201)
  expectStatus(await owner.post(`${A}/issuers`, { name: 'Once' }, { 'idempotency-key': uniqueName('key') }), 201)
  const enrollment = { type: 'totp_enrollment', name: null, issuer_name: 'Acme' }
  expectStatus(await owner.post(`${I}/users/${ids.user_id}/verifiers`, enrollment), 201)

  const realm = new Realm(app, tenant)
  await realm.createUser('ada@example.com')
  const client = await realm.createClient({ grant_types: ['authorization_code', 'refresh_token'] })
  const { access_token } = await realm.signInForTokens(client, 'ada@example.com', { scope: 'openid profile' })
  const { page, browser } = await realm.openSignInPage(client)
  await browser.submit(page, { username: 'ada@example.com', password: 'not the password' })
  await realm.openSignInPage(client)
  await realm.postForm('/revoke', client, { token: access_token })

  const { network, address } = ethereumWallet()
  const { id: agentId } = expectStatus(
    await owner.post(`${I}/agents`, { name: 'Trader', scopes: ['orders:read'] }),
    201,
  ).data
  expectStatus(
    await owner.post(`${I}/agents/${agentId}/verifiers`, { type: 'wallet', name: null, network, address }),
    201,
  )
  await realm.postForm('/agents/challenge', undefined, { client_id: agentId, network, address })

  const context = systemContext(app.gatehouse)
  const record = { format: 'gatehouse.user', id: 'old-1', username_type: 'email', username: 'grace@example.com' }
  const records = [{ line: 1, text: JSON.stringify(record) }]
  const input = { source: 'gatehouse', dryRun: false, last: true, records }
  const importUsers =
    'mutation ($a: ID!, $i: ID!, $input: ImportUsersInput!) { importUsers(accountId: $a, issuerId: $i, input: $input) { __typename } }'
  expectStatus(await owner.graphql(importUsers, { a: accountId, i: issuerId, input }), 200)
  // The console session gets the tokens of another application, because this script does not sign in to the console.
  await createConsoleSession(context, {
    access: access_token,
    refresh: 'refresh',
    id: 'id',
    expiresAt: context.now(),
  } as never)

  const payment = createPayer().createPaymentHeader(5_000_000)
  expectStatus(
    await owner.post(`${A}/credits/topups`, { amount_μusd: 5_000_000 }, { 'payment-signature': payment }),
    200,
  )
  await waitUntil(
    'the webhook is delivered and the queue is empty',
    async () => (await prisma.webhookDailyCount.count()) > 0 && (await prisma.job.count()) === 0,
  )
  await waitUntil(
    'the events are counted',
    async () => (await prisma.eventHour.count()) > 0 && (await prisma.eventCount.count()) > 0,
  )

  // An email that is due in an hour, so that the table of queued jobs has a row.
  const encrypted = app.gatehouse.encryptor.encrypt(
    JSON.stringify({ to: 'ada@example.com', subject: 'Hello', text: 'Hello', html: 'Hello' }),
  )
  const payload = {
    id: 'mail_1',
    encrypted,
    expiresAt: context.now() + 86_400_000,
    recipient: sha256('ada@example.com'),
  }
  await enqueue(context, 'mail', [payload], context.now() + 3_600_000)

  const { refresh_token } = await realm.signInForTokens(client, 'ada@example.com', { scope: 'openid profile' })
  const answers: VersionDump['answers'] = {}
  for (const route of routes.filter(({ method }) => method === 'GET')) {
    const path =
      routePath(route, ids) +
      (requiredQueries[route.operation] ? `?${new URLSearchParams(requiredQueries[route.operation]!(ids))}` : '')
    answers[path] = expectStatus(await owner.get(path), 200)
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
