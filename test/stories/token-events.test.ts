/**
 * The event of a token commits in the transaction that issues the token, before the response. Therefore a killed
 * process loses no event of a token that it returned.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { createTestDatabase, testSecretKey } from '../setup/database.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

/** Number of concurrent callers. Each has at most one request in progress. */
const CALLERS = 8
/** Number of tokens issued before the signal is sent. */
const BEFORE = 60

let database: { url: string; drop(): Promise<void> }
let db: pg.Client
let process: GatehouseProcess
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  process = await startProcess({ DATABASE_URL: database.url, SECRET_KEY: testSecretKey })
  tenant = await createTenant(process as unknown as TestApp, 'Tokens')
})
afterAll(async () => {
  await stopProcess(process, 'SIGKILL')
  await db.end()
  await database.drop()
})

test.each(['SIGTERM', 'SIGKILL'] as const)('each token that was returned before %s has its event', async (signal) => {
  const agent = expectStatus(await tenant.owner.post(`${tenant.I}/agents`, { name: signal }), 201).data
  const { secret } = expectStatus(
    await tenant.owner.post(`${tenant.I}/agents/${agent.id}/verifiers`, { type: 'secret', name: null }),
    201,
  ).data
  const statuses: number[] = []
  let stopped = false
  const call = async (): Promise<void> => {
    while (!stopped) {
      const response = await fetch(`${process.idpUrl}/${tenant.I.split('/').at(-1)}/token`, {
        method: 'POST',
        body: new URLSearchParams({ grant_type: 'client_credentials', client_id: agent.id, client_secret: secret }),
      }).catch(() => undefined)
      if (!response) return
      statuses.push(response.status)
      await response.arrayBuffer().catch(() => undefined)
    }
  }
  const callers = Array.from({ length: CALLERS }, call)
  await waitUntil(`${BEFORE} tokens are issued`, () => statuses.length >= BEFORE, { interval: 5 })
  const end = await stopProcess(process, signal)
  stopped = true
  await Promise.all(callers)
  expect(end).toBe(signal === 'SIGTERM' ? 0 : signal)
  expect(new Set(statuses)).toEqual(new Set([200]))
  const { rows } = await db.query(
    `SELECT count(*)::int AS recorded FROM events WHERE agent_id = $1 AND type = 'agent.authentication.succeeded'`,
    [agent.id],
  )
  // A request without a response, at most one for each caller, may have an event too.
  expect(rows[0].recorded).toBeGreaterThanOrEqual(statuses.length)
  expect(rows[0].recorded).toBeLessThanOrEqual(statuses.length + CALLERS)
  if (signal === 'SIGTERM') expect(rows[0].recorded).toBe(statuses.length)
  process = await startProcess(process.env)
})
