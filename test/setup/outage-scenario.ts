/**
 * Database outage scenario: the database server is killed, stopped and frozen while two servers and a worker, each in
 * its own process, handle writes and reads and send webhooks. The tests run a short form of the scenario.
 * `npm run bench -- database-outage` runs a long form.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { createTenant, expectStatus } from './actors.js'
import type { AnyJson, ApiClient } from './api.js'
import { type BreakablePostgres, createBreakablePostgres } from './breakable-postgres.js'
import { startCluster, type TestCluster } from './cluster.js'
import { waitUntil } from './wait-until.js'
import { startWebhookReceiver } from './webhook-receiver.js'

export type Outage =
  /** All processes of the database server are killed. The server is restarted immediately. */
  | 'killed'
  /** One process of the database server is killed. The server recovers by itself. */
  | 'crashed'
  /** The database server is stopped, and restarted after this number of milliseconds. */
  | { stopped: number }
  /** The processes of the database server are paused for this number of milliseconds. */
  | { frozen: number }

export interface OutageResult {
  /** Number of responses to writes and reads, by HTTP status. */
  responses: Record<string, number>
  /** Number of responses with status 503 that have no valid Retry-After. */
  withoutRetryAfter: number
  /** The reason of each request without a response. */
  unanswered: string[]
  longestResponseMs: number
  /** Number of users whose creation was acknowledged with 201. */
  acknowledged: number
  /** Ids of acknowledged users that are not in the database. */
  lost: string[]
  /** Ids of users without a `user.created` event. */
  withoutEvent: string[]
  /** Ids of users whose `user.created` event the receiver never accepted. */
  neverAccepted: string[]
  /** Number of webhook deliveries, by status. */
  statuses: Record<string, number>
  /** Output of the processes that exited during the scenario. */
  ended: string[]
}

/** Milliseconds after which a request counts as unanswered. */
const RESPONSE_TIMEOUT = 60_000

/**
 * Runs the scenario.
 * @param changesBetween number of changes that must be acknowledged before each outage and after the last outage
 */
export async function runOutageScenario(outages: readonly Outage[], changesBetween: number): Promise<OutageResult> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outage-'))
  const postgres = await createBreakablePostgres(folder)
  await postgres.start()
  const receiver = await startWebhookReceiver()
  let cluster: TestCluster | undefined
  try {
    await migrate(postgres.url)
    cluster = await startCluster(postgres.url)
    return await runScenario(outages, changesBetween, postgres, cluster, receiver)
  } finally {
    await cluster?.close()
    await receiver.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runScenario(
  outages: readonly Outage[],
  changesBetween: number,
  postgres: BreakablePostgres,
  cluster: TestCluster,
  receiver: Awaited<ReturnType<typeof startWebhookReceiver>>,
): Promise<OutageResult> {
  const accepted = new Set<string>()
  receiver.respond = (res, { event }) => {
    receiver.requests.length = 0
    accepted.add(event.data.target.id)
    res.writeHead(204).end()
  }
  const tenant = await createTenant(cluster.app, 'Outage')
  const body = { url: `${receiver.url}/in`, event_types: ['user.created'], auth: 'none' }
  expectStatus(await tenant.owner.post(`${tenant.A}/webhooks`, body), 201)

  const result: OutageResult = {
    responses: {},
    withoutRetryAfter: 0,
    unanswered: [],
    longestResponseMs: 0,
    acknowledged: 0,
    lost: [],
    withoutEvent: [],
    neverAccepted: [],
    statuses: {},
    ended: [],
  }
  const acknowledged: string[] = []
  let running = true
  let nextUserNumber = 0
  const measureRequest = async (request: Promise<AnyJson>): Promise<AnyJson> => {
    const began = performance.now()
    const response = await Promise.race([request, sleep(RESPONSE_TIMEOUT, 'no response', { ref: false })]).catch(
      (error) => error,
    )
    result.longestResponseMs = Math.max(result.longestResponseMs, Math.round(performance.now() - began))
    if (typeof response?.status !== 'number') result.unanswered.push(String(response?.cause ?? response))
    else result.responses[response.status] = (result.responses[response.status] ?? 0) + 1
    if (response.status === 503 && !/^\d+$/.test(response.headers.get('retry-after'))) result.withoutRetryAfter += 1
    return response
  }
  const writer = async (api: ApiClient) => {
    while (running) {
      const created = await measureRequest(
        api.post(`${tenant.I}/users`, { username_type: 'unique', username: `u${nextUserNumber++}` }),
      )
      if (created.status === 201) acknowledged.push(created.body.data.id)
      else await sleep(20)
      await measureRequest(
        created.status === 201 ? api.get(`${tenant.I}/users/${created.body.data.id}`) : api.get(tenant.I),
      )
    }
  }
  const writers = [0, 1, 2, 3].map((n) => writer(cluster.clientAt(n % 2, tenant.owner)))
  const waitForMoreChanges = () => {
    const target = acknowledged.length + changesBetween
    return waitUntil('enough changes are acknowledged', () => acknowledged.length >= target, { limit: 300_000 })
  }
  await waitForMoreChanges()
  // If a worker cannot reach the database while it starts, it exits. So wait for a delivery before the first outage.
  await waitUntil('the worker delivers', () => accepted.size > 0, { limit: 60_000 })
  for (const outage of outages) {
    await causeOutage(postgres, outage)
    await waitForMoreChanges()
  }
  running = false
  await Promise.all(writers)

  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  await waitUntil(
    'every delivery is delivered',
    async () => {
      const counts = await rows('SELECT status, count(*)::int AS count FROM webhook_deliveries GROUP BY 1')
      result.statuses = Object.fromEntries(counts.map(({ status, count }) => [status, count]))
      return Object.keys(result.statuses).join() === 'delivered'
    },
    { interval: 200, limit: RESPONSE_TIMEOUT, details: () => JSON.stringify(result.statuses) },
  )
  const users = new Set((await rows('SELECT id FROM users')).map((row) => row.id))
  const eventUserIds = (await rows(`SELECT target->>'id' AS id FROM events WHERE type = 'user.created'`)).map(
    (row) => row.id,
  )
  await database.end()
  result.acknowledged = acknowledged.length
  result.lost = acknowledged.filter((user) => !users.has(user))
  result.withoutEvent = [...users].filter((user) => !eventUserIds.includes(user))
  result.neverAccepted = eventUserIds.filter((user) => !accepted.has(user))
  result.ended = cluster.processes
    .filter(({ child }) => child.exitCode !== null || child.signalCode !== null)
    .map((process) => process.output())
  return result
}

async function causeOutage(postgres: BreakablePostgres, outage: Outage): Promise<void> {
  if (outage === 'crashed') return postgres.killBackend()
  if (outage === 'killed') {
    await postgres.kill()
  } else if ('frozen' in outage) {
    const thaw = await postgres.freeze()
    await sleep(outage.frozen)
    return thaw()
  } else {
    await postgres.stop()
    await sleep(outage.stopped)
  }
  await postgres.start()
}
