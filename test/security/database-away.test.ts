/** When the database is away the answer is 503 with Retry-After, and recovery needs no hand (security rules 24, 27). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { populate, publicClient, type World } from '../contract/world.js'
import { makeTenant, must } from '../setup/actors.js'
import { createTestDatabase } from '../setup/database.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { WayToDatabase } from '../setup/way-to-database.js'

let database: Awaited<ReturnType<typeof createTestDatabase>>
let way: WayToDatabase
let app: TestApp
let world: World
beforeAll(async () => {
  database = await createTestDatabase()
  way = new WayToDatabase(database.url)
  app = await startApp({ databaseUrl: await way.open() })
  world = await populate(await makeTenant(app))
})
afterAll(async () => {
  await app.close()
  await way.cut()
  await database.drop()
})

test('each face answers 503 with Retry-After while it is away, and works again once it is back', async () => {
  const { owner, I, A } = world
  await way.cut()
  for (const answer of [
    await owner.get(A),
    await owner.get(I),
    await owner.post(`${I}/clients`, publicClient()),
    await owner.patch(I, { description: 'x' }),
    await owner.post(`${I}/clients`, publicClient(), { 'idempotency-key': 'away' }),
  ]) {
    expect({ status: answer.status, body: answer.body }).toEqual({
      status: 503,
      body: { error: 'unavailable', error_description: expect.any(String), request_id: expect.any(String) },
    })
    expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(answer.text).not.toMatch(/ECONN|127\.0\.0\.1|postgres/i)
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

  await way.open()
  expect((await owner.get(I)).status).toBe(200)
  must(await owner.post(`${I}/clients`, publicClient(), { 'idempotency-key': 'away' }), 201)
  expect((await fetch(`${app.baseUrl}/readyz`)).status).toBe(200)
})

test('connections that end in the middle of the work make 503s, never 500s, and nothing half done', async () => {
  const { owner, I } = world
  let going = true
  const bodies = Array.from({ length: 60 }, () => publicClient())
  const work = Promise.all(bodies.map((body) => owner.post(`${I}/clients`, body)))
  const killing = (async () => {
    const killer = await createKiller()
    while (going) await killer.strike()
    await killer.end()
  })()
  const answers = await work
  going = false
  await killing
  expect(
    answers.filter(({ status }) => status !== 201 && status !== 503).map(({ status, text }) => ({ status, text })),
  ).toEqual([])
  const events = await app.gatehouse.tools.prisma.event.count({
    where: { type: 'client.created', accountId: world.accountId },
  })
  const clients = await app.gatehouse.tools.prisma.client.count({ where: { accountId: world.accountId } })
  expect(events).toBe(clients)
  for (const [i, { status }] of answers.entries()) {
    if (status === 201) expect(must(await owner.get(`${I}/clients?name=${bodies[i]!.name}`), 200).data).toHaveLength(1)
  }
})

async function createKiller() {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  return {
    strike: async () => {
      await client.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
      )
      await client.query('SELECT pg_sleep(0.02)')
    },
    end: () => client.end(),
  }
}

test('a row that somebody holds locked is 503 after a while, not a hang and not a 500', async () => {
  const { default: pg } = await import('pg')
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT 1 FROM issuers WHERE id = $1 FOR UPDATE', [world.issuerId])
    const answer = await world.owner.patch(world.I, { description: 'locked' })
    expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 503, error: 'unavailable' })
  } finally {
    await client.query('ROLLBACK')
    await client.end()
  }
  expect((await world.owner.patch(world.I, { description: 'free' })).status).toBe(200)
})
