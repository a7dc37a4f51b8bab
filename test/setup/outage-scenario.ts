/**
 * Database outage scenario: the database is killed, stopped and frozen while two servers and a worker, as separate
 * processes, handle writes and reads and send webhooks. Short in the tests, long as
 * `npm run bench -- database-outage`.
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

/** `killed` and `crashed` (one of its processes) recover by themselves immediately; the others after the given milliseconds. */
export type Outage = 'killed' | 'crashed' | { stopped: number } | { frozen: number }

export interface OutageResult {
  /** Responses to writes and reads, by status. */
  responses: Record<string, number>
  /**
   * Errors without Retry-After, requests without a response (with the reason), and the longest response time in ms.
   */
  withoutRetryAfter: number
  unanswered: string[]
  longestResponseMs: number
  /** Acknowledged changes, those of them that are missing, and those without their event. */
  acknowledged: number
  lost: string[]
  withoutEvent: string[]
  /** Events that the receiver never accepted, and deliveries by status. */
  neverAccepted: string[]
  statuses: Record<string, number>
  /** Output of the processes that exited during the scenario. */
  ended: string[]
}

/** Response timeout in milliseconds. */
const RESPONSE_TIMEOUT = 60_000

/**
 * Runs the scenario.
 * @param changesBetween how many changes are to be acknowledged before each outage and after the last
 */
export async function runOutageScenario(outages: readonly Outage[], changesBetween: number): Promise<OutageResult> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outage-'))
  const postgres = await createBreakablePostgres(folder)
  await postgres.start()
  const receiver = await startWebhookReceiver()
  let fleet: TestCluster | undefined
  try {
    await migrate(postgres.url)
    fleet = await startCluster(postgres.url)
    return await runScenario(outages, changesBetween, postgres, fleet, receiver)
  } finally {
    await fleet?.close()
    await receiver.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function runScenario(
  outages: readonly Outage[],
  changesBetween: number,
  postgres: BreakablePostgres,
  fleet: TestCluster,
  receiver: Awaited<ReturnType<typeof startWebhookReceiver>>,
): Promise<OutageResult> {
  const accepted = new Set<string>()
  receiver.respond = (res, { event }) => {
    receiver.requests.length = 0
    accepted.add(event.data.target.id)
    res.writeHead(204).end()
  }
  const tenant = await createTenant(fleet.app, 'Outage')
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
    const answer = await Promise.race([request, sleep(RESPONSE_TIMEOUT, 'no answer', { ref: false })]).catch(
      (error) => error,
    )
    result.longestResponseMs = Math.max(result.longestResponseMs, Math.round(performance.now() - began))
    if (typeof answer?.status !== 'number') result.unanswered.push(String(answer?.cause ?? answer))
    else result.responses[answer.status] = (result.responses[answer.status] ?? 0) + 1
    if (answer.status === 503 && !/^\d+$/.test(answer.headers.get('retry-after'))) result.withoutRetryAfter += 1
    return answer
  }
  const writer = async (api: ApiClient) => {
    while (running) {
      const made = await measureRequest(
        api.post(`${tenant.I}/users`, { username_type: 'unique', username: `u${nextUserNumber++}` }),
      )
      if (made.status === 201) acknowledged.push(made.body.data.id)
      else await sleep(20)
      await measureRequest(made.status === 201 ? api.get(`${tenant.I}/users/${made.body.data.id}`) : api.get(tenant.I))
    }
  }
  const writers = [0, 1, 2, 3].map((n) => writer(fleet.clientAt(n % 2, tenant.owner)))
  const waitForMoreChanges = () => {
    const target = acknowledged.length + changesBetween
    return waitUntil('enough changes are acknowledged', () => acknowledged.length >= target, { limit: 300_000 })
  }
  await waitForMoreChanges()
  // A worker that is still starting would fail without the database, so wait until it delivers.
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
  result.ended = fleet.processes
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
