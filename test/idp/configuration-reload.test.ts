/**
 * A change of an issuer applies without a restart: immediately in the process that made it, and in other processes when
 * they have received the notification.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { contextFor } from '../../src/platform/context.js'
import { listen, notify, type Subscription } from '../../src/platform/postgres/notifications.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { claimKeyPairs, publishInitialKeys, refillSpareKeys } from '../../src/resources/issuers/signing-keys.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { Realm } from './realm.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm

beforeAll(async () => {
  app = await startApp()
  second = await app.startSecondApp()
  realm = await Realm.create(app)
  twin = new Realm(second, realm.tenant)
})
afterAll(() => app.close())

const inContext = () =>
  contextFor(app.gatehouse, system, { id: 'req_test', ip: null, userAgent: null, method: null, path: null })

const nameAt = async (place: Realm, client: { id: string; secret: string | undefined }) => {
  const { page } = await place.openSignInPage(client)
  return /<span>([^<]+)<\/span>/.exec(page.html)?.[1]
}

test('a change applies to the next request of this process, and soon in another process', async () => {
  const client = await realm.createClient()
  expect(await nameAt(realm, client)).toBe('Tenant issuer')
  expect(await nameAt(twin, client)).toBe('Tenant issuer')
  for (let round = 0; round < 10; round++) {
    const name = `Round ${round}`
    expectStatus(
      await realm.tenant.owner.patch(realm.tenant.I, { settings: { branding: { display_name: name } } }),
      200,
    )
    expect(await nameAt(realm, client)).toBe(name)
  }
  await waitUntil('the other process shows the new name', async () => (await nameAt(twin, client)) === 'Round 9')
})

test('the process that notifies of a change reads the issuer from the database until the notification arrives', async () => {
  const client = await realm.createClient()
  const before = await nameAt(realm, client)
  await app.gatehouse.database.pool.query(
    `UPDATE issuers SET settings = jsonb_set(settings, '{branding}', '{"display_name": "On its way"}') WHERE id = $1`,
    [realm.tenant.issuerId],
  )
  expect(await nameAt(realm, client)).toBe(before)
  const failed = transaction(inContext(), async (tx) => {
    await notify(tx, 'issuer', realm.tenant.issuerId)
    throw new Error('rollback, so that no notification is sent')
  })
  await expect(failed).rejects.toThrow('no notification is sent')
  expect(await nameAt(realm, client)).toBe('On its way')
})

test('new signing keys are published and used without a restart, in both processes; tokens of old keys stay valid', async () => {
  await realm.createUser('keys@example.com')
  const client = await realm.createClient({}, { confidential: true })
  const kids = async (place: Realm): Promise<string[]> =>
    ((await (await fetch(`${place.url}/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
  const before = await realm.signInForTokens(client, 'keys@example.com')
  const old = await kids(realm)
  await transaction(inContext(), async (tx) => {
    await publishInitialKeys(tx, realm.tenant, await claimKeyPairs(tx))
    await notify(tx, 'issuer', realm.tenant.issuerId)
  })
  const fresh = (await kids(realm)).filter((kid) => !old.includes(kid))
  expect(fresh).toHaveLength(6)
  await waitUntil('the other process publishes the new keys', async () => (await kids(twin)).length === 12)
  const after = await realm.refresh(client, before.refresh_token)
  expect(fresh).toContain(kidOf(after.body.access_token))
  expect(fresh).toContain(kidOf(after.body.id_token))
  expect((await realm.userinfo(before.access_token)).status).toBe(200)
})

test('requests in flight while an issuer changes all succeed', async () => {
  const machine = {
    application_type: 'm2m',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    post_logout_redirect_uris: [],
  }
  const client = await realm.createClient(machine, { confidential: true, settings: { scopes: ['a:read'] } })
  const ask = () => realm.postForm('/token', client, { grant_type: 'client_credentials' })
  let changing = true
  const changes = (async () => {
    for (let round = 0; round < 6; round++)
      expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { description: `${round}` }), 200)
    changing = false
  })()
  const statuses: number[] = []
  while (changing) statuses.push(...(await Promise.all([ask(), ask(), ask()])).map(({ status }) => status))
  await changes
  expect(statuses.length).toBeGreaterThan(5)
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('the commit sends the notification, a rollback does not; a broken connection is restored and logged', async () => {
  const heard: string[] = []
  const pending: string[] = []
  let reconnects = 0
  const subscription: Subscription = listen(app.gatehouse.database, app.gatehouse.log, {
    // Notifications of earlier changes may still arrive, so only those with the topic `client` count.
    onNotification: (topic, id) => topic === 'client' && heard.push(`${topic}:${id}`),
    onPending: (topic, id) => pending.push(`${topic}:${id}`),
    onReconnect: () => reconnects++,
  })
  try {
    await waitUntil('the listener is connected', () => subscription.connected())
    const failed = transaction(inContext(), async (tx) => {
      await notify(tx, 'client', 'rolled back')
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    await notify(inContext(), 'client', 'first')
    await waitUntil('a notification has arrived', () => heard.length > 0)
    expect(heard).toEqual(['client:first'])
    expect(pending).toEqual(['client:rolled back', 'client:first'])
    await app.gatehouse.database.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gatehouse% listen' AND datname = current_database()`,
    )
    await waitUntil('the listener is connected again', () => reconnects === 2 && subscription.connected())
    await notify(inContext(), 'client', 'second')
    await waitUntil('the second notification has arrived', () => heard.includes('client:second'))
  } finally {
    await subscription.close()
  }
})

test('a change without a notification applies after ten seconds, when the process checks the version', async () => {
  const client = await realm.createClient()
  await nameAt(realm, client)
  await app.gatehouse.database.pool.query(
    `UPDATE issuers SET settings = jsonb_set(settings, '{branding}', '{"display_name": "Unannounced"}') WHERE id = $1`,
    [realm.tenant.issuerId],
  )
  app.clock.advance(11_000)
  expect(await nameAt(realm, client)).toBe('Unannounced')
})

test('issuers that are created concurrently get different keys; the key pool refills', async () => {
  const { prisma } = app.gatehouse.database
  await prisma.spareKey.deleteMany()
  await Promise.all([refillSpareKeys(inContext(), 1), refillSpareKeys(inContext(), 1)])
  await waitUntil('the pool has six spare keys', async () => (await prisma.spareKey.count()) >= 6)
  expect(await prisma.spareKey.count()).toBe(6)
  const { owner, A } = realm.tenant
  const created = await Promise.all(
    [1, 2, 3].map(
      async (n) => expectStatus(await owner.post(`${A}/issuers`, { name: `parallel ${n}` }), 201).data.id as string,
    ),
  )
  const keys = await prisma.signingKey.findMany({ where: { issuerId: { in: created } } })
  expect(keys).toHaveLength(18)
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(18)
  expect(await prisma.spareKey.count()).toBe(0)
  for (const { privateJwk } of keys) expect(privateJwk).toMatch(/^[0-9a-f]{8}\.[\w-]+$/)
})
