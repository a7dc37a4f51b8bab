/** Changes of issuers reach what is served, in this process at once, in others by notice, without a restart. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { system } from '../../src/kernel/context.js'
import { contextFor } from '../../src/platform/context.js'
import { transaction } from '../../src/platform/database.js'
import { announce, listen, type Subscription } from '../../src/platform/notify.js'
import { giveSigningKeys, refillSpareKeys, takeKeyPairs } from '../../src/resources/issuers/signing-keys.js'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { Realm } from './setup.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm

beforeAll(async () => {
  app = await startApp()
  second = await app.second()
  realm = await Realm.make(app)
  twin = new Realm(second, realm.tenant)
})
afterAll(() => app.close())

const inContext = () =>
  contextFor(app.gatehouse, system, { id: 'req_test', ip: null, userAgent: null, method: null, path: null })

async function until(true_: () => Promise<boolean> | boolean, limit = 3000): Promise<void> {
  const end = Date.now() + limit
  while (!(await true_())) {
    if (Date.now() > end) throw new Error('it did not come true in time')
    await new Promise((done) => setTimeout(done, 10))
  }
}

const nameAt = async (place: Realm, client: { id: string; secret: string | undefined }) => {
  const { page } = await place.begin(client)
  return /<span>([^<]+)<\/span>/.exec(page.html)?.[1]
}

test('a change is seen by the very next request here, and soon in another process', async () => {
  const client = await realm.client()
  expect(await nameAt(realm, client)).toBe('Tenant issuer')
  expect(await nameAt(twin, client)).toBe('Tenant issuer')
  for (let round = 0; round < 10; round++) {
    const name = `Round ${round}`
    must(await realm.tenant.owner.patch(realm.tenant.I, { settings: { branding: { display_name: name } } }), 200)
    expect(await nameAt(realm, client)).toBe(name)
  }
  await until(async () => (await nameAt(twin, client)) === 'Round 9')
})

test('between a change and its notice memory is not believed', async () => {
  const client = await realm.client()
  const before = await nameAt(realm, client)
  await app.gatehouse.tools.pool.query(
    `UPDATE issuers SET settings = jsonb_set(settings, '{branding}', '{"display_name": "On its way"}') WHERE id = $1`,
    [realm.tenant.issuerId],
  )
  expect(await nameAt(realm, client)).toBe(before)
  const failed = transaction(inContext(), async (inside) => {
    await announce(inside, 'issuer', realm.tenant.issuerId)
    throw new Error('so that no notice ever comes')
  })
  await expect(failed).rejects.toThrow('no notice')
  expect(await nameAt(realm, client)).toBe('On its way')
})

test('new signing keys are published and used without a restart, in both processes; tokens of old keys stay good', async () => {
  await realm.user('keys@example.com')
  const client = await realm.client({}, { confidential: true })
  const kids = async (place: Realm): Promise<string[]> =>
    ((await (await fetch(`${place.url}/jwks.json`)).json()) as { keys: { kid: string }[] }).keys.map(({ kid }) => kid)
  const kidOf = (token: string): string => JSON.parse(Buffer.from(token.split('.')[0]!, 'base64url').toString()).kid
  const before = await realm.tokens(client, 'keys@example.com')
  const old = await kids(realm)
  await transaction(inContext(), async (inside) => {
    await giveSigningKeys(inside, realm.tenant, await takeKeyPairs(inside))
    await announce(inside, 'issuer', realm.tenant.issuerId)
  })
  const fresh = (await kids(realm)).filter((kid) => !old.includes(kid))
  expect(fresh).toHaveLength(6)
  await until(async () => (await kids(twin)).length === 12)
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
  const client = await realm.client(machine, { confidential: true, settings: { scopes: ['a:read'] } })
  const ask = () => realm.post('/token', client, { grant_type: 'client_credentials' })
  let changing = true
  const changes = (async () => {
    for (let round = 0; round < 6; round++)
      must(await realm.tenant.owner.patch(realm.tenant.I, { description: `${round}` }), 200)
    changing = false
  })()
  const statuses: number[] = []
  while (changing) statuses.push(...(await Promise.all([ask(), ask(), ask()])).map(({ status }) => status))
  await changes
  expect(statuses.length).toBeGreaterThan(5)
  expect(new Set(statuses)).toEqual(new Set([200]))
})

test('a notice is sent by the commit, not by a rolled back transaction; a broken connection is made anew and said so', async () => {
  const heard: string[] = []
  const pending: string[] = []
  let reconnects = 0
  const subscription: Subscription = listen(app.gatehouse.tools, app.gatehouse.log, {
    // Hints of events before may still be on their way.
    onNotice: (topic, id) => topic === 'client' && heard.push(`${topic}:${id}`),
    onPending: (topic, id) => pending.push(`${topic}:${id}`),
    onReconnect: () => reconnects++,
  })
  try {
    await until(() => subscription.connected())
    const failed = transaction(inContext(), async (inside) => {
      await announce(inside, 'client', 'rolled back')
      throw new Error('no')
    })
    await expect(failed).rejects.toThrow('no')
    await announce(inContext(), 'client', 'first')
    await until(() => heard.length > 0)
    expect(heard).toEqual(['client:first'])
    expect(pending).toEqual(['client:rolled back', 'client:first'])
    await app.gatehouse.tools.pool.query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'gatehouse% notices' AND datname = current_database()`,
    )
    await until(() => reconnects === 2 && subscription.connected())
    await announce(inContext(), 'client', 'second')
    await until(() => heard.includes('client:second'))
  } finally {
    await subscription.close()
  }
})

test('what changed while nobody listened is found by the version check', async () => {
  const client = await realm.client()
  await nameAt(realm, client)
  await app.gatehouse.tools.pool.query(
    `UPDATE issuers SET settings = jsonb_set(settings, '{branding}', '{"display_name": "Unannounced"}') WHERE id = $1`,
    [realm.tenant.issuerId],
  )
  app.clock.advance(11_000)
  expect(await nameAt(realm, client)).toBe('Unannounced')
})

test('issuers made at the same moment draw different keys; the pool refills', async () => {
  const { prisma } = app.gatehouse.tools
  await prisma.spareKey.deleteMany()
  await Promise.all([refillSpareKeys(inContext(), 1), refillSpareKeys(inContext(), 1)])
  await until(async () => (await prisma.spareKey.count()) >= 6)
  expect(await prisma.spareKey.count()).toBe(6)
  const { owner, A } = realm.tenant
  const made = await Promise.all(
    [1, 2, 3].map(
      async (n) => must(await owner.post(`${A}/issuers`, { name: `parallel ${n}` }), 201).data.id as string,
    ),
  )
  const keys = await prisma.signingKey.findMany({ where: { issuerId: { in: made } } })
  expect(keys).toHaveLength(18)
  expect(new Set(keys.map(({ kid }) => kid)).size).toBe(18)
  expect(await prisma.spareKey.count()).toBe(0)
  for (const { privateJwk } of keys) expect(privateJwk).toMatch(/^[0-9a-f]{8}\.[\w-]+$/)
})
