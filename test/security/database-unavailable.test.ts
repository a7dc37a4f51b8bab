/**
 * While the database is unavailable, responses are 503 with Retry-After. The servers recover without a restart
 * (docs/contract.md#timeouts-and-unavailability, docs/contract.md#serialization-failures).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTenantResources, publicClient, type TenantFixture } from '../contract/tenant-fixture.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import { createTestDatabase } from '../setup/database.js'
import { DatabaseProxy } from '../setup/database-proxy.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let proxy: DatabaseProxy
let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  database = await createTestDatabase()
  proxy = new DatabaseProxy(database.url)
  app = await startApp({ databaseUrl: await proxy.open() })
  fixture = await createTenantResources(await createTenant(app))
})
afterAll(async () => {
  await app.close()
  await proxy.disconnect()
  await database.drop()
})

test('each API responds 503 with Retry-After while the database is unavailable, and recovers', async () => {
  const { owner, I, A } = fixture
  await proxy.disconnect()
  for (const response of [
    await owner.get(A),
    await owner.get(I),
    await owner.post(`${I}/clients`, publicClient()),
    await owner.patch(I, { description: 'x' }),
    await owner.post(`${I}/clients`, publicClient(), { 'idempotency-key': 'away' }),
  ]) {
    expect({ status: response.status, body: response.body }).toEqual({
      status: 503,
      body: { error: 'unavailable', error_description: expect.any(String), request_id: expect.any(String) },
    })
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(response.text).not.toMatch(/ECONN|127\.0\.0\.1|postgres/i)
  }
  const graphql = await owner.graphql('{ me { id } }')
  expect(graphql.status).toBe(503)
  expect(graphql.body.errors[0].extensions).toMatchObject({ code: 'UNAVAILABLE', status: 503 })
  expect(graphql.headers.get('retry-after')).not.toBeNull()
  const ready = await fetch(`${app.baseUrl}/readyz`)
  expect({ status: ready.status, checks: ((await ready.json()) as { checks: object }).checks }).toMatchObject({
    status: 503,
    checks: { database: false },
  })
  expect((await fetch(`${app.baseUrl}/healthz`)).status).toBe(200)

  await proxy.open()
  expect((await owner.get(I)).status).toBe(200)
  expectStatus(await owner.post(`${I}/clients`, publicClient(), { 'idempotency-key': 'away' }), 201)
  expect((await fetch(`${app.baseUrl}/readyz`)).status).toBe(200)
})

test('connections that end during a transaction cause 503, never 500, and no partial change', async () => {
  const { owner, I } = fixture
  let running = true
  const bodies = Array.from({ length: 60 }, () => publicClient())
  const work = Promise.all(bodies.map((body) => owner.post(`${I}/clients`, body)))
  const killing = (async () => {
    const killer = await createConnectionKiller()
    while (running) await killer.terminateConnections()
    await killer.end()
  })()
  const responses = await work
  running = false
  await killing
  expect(
    responses.filter(({ status }) => status !== 201 && status !== 503).map(({ status, text }) => ({ status, text })),
  ).toEqual([])
  const events = await app.gatehouse.database.prisma.event.count({
    where: { type: 'client.created', accountId: fixture.accountId },
  })
  const clients = await app.gatehouse.database.prisma.client.count({ where: { accountId: fixture.accountId } })
  expect(events).toBe(clients)
  for (const [i, { status }] of responses.entries()) {
    if (status === 201)
      expect(expectStatus(await owner.get(`${I}/clients?name=${bodies[i]!.name}`), 200).data).toHaveLength(1)
  }
})

async function createConnectionKiller() {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  return {
    terminateConnections: async () => {
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      await client.query('SELECT pg_sleep(0.02)')
    },
    end: () => client.end(),
  }
}

test('a row that another transaction keeps locked causes 503 after the lock timeout, not a hang or a 500', async () => {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM issuers WHERE id = $1 FOR UPDATE', [fixture.issuerId])
    const response = await fixture.owner.patch(fixture.I, { description: 'locked' })
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 503, error: 'unavailable' })
  } finally {
    await client.query('ROLLBACK')
    await client.end()
  }
  expect((await fixture.owner.patch(fixture.I, { description: 'free' })).status).toBe(200)
})
