/**
 * The tale of a database that goes away: it is killed, stopped and frozen under two servers and a worker, which are
 * processes of their own and go on, while they are written to and read and send webhooks. Short in the tests, long as
 * `npm run bench -- database-outage`.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { migrate } from '../../src/platform/migrate.js'
import { makeTenant, must } from './actors.js'
import type { Api, Loose } from './api.js'
import { type BreakablePostgres, makeBreakablePostgres } from './breakable-postgres.js'
import { type Fleet, startFleet } from './fleet.js'
import { startReceiver } from './receiver.js'

/** `killed` and `crashed` (one of its processes) come back by themselves, at once; the others after a while. */
export type Outage = 'killed' | 'crashed' | { stopped: number } | { frozen: number }

export interface OutageResult {
  /** Answers by status, of writes and reads. */
  answers: Record<string, number>
  /** Refusals without Retry-After, requests without any answer (with why), and the longest wait for one in milliseconds. */
  withoutRetryAfter: number
  unanswered: string[]
  longest: number
  /** Changes that were acknowledged, those of them that are not there, and those without their event. */
  acknowledged: number
  lost: string[]
  withoutEvent: string[]
  /** Events that the receiver never accepted, and deliveries by status. */
  neverAccepted: string[]
  statuses: Record<string, number>
  /** What the processes said that ended meanwhile. */
  ended: string[]
}

/** No answer within this time is none (milliseconds). */
const PATIENCE = 60_000

/**
 * Tells it.
 * @param between how many changes are to be acknowledged before each outage and after the last
 */
export async function tellOutages(outages: readonly Outage[], between: number): Promise<OutageResult> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-outage-'))
  const postgres = await makeBreakablePostgres(folder)
  await postgres.start()
  const receiver = await startReceiver()
  let fleet: Fleet | undefined
  try {
    await migrate(postgres.url)
    fleet = await startFleet(postgres.url)
    return await tell(outages, between, postgres, fleet, receiver)
  } finally {
    await fleet?.close()
    await receiver.close()
    await postgres.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function tell(
  outages: readonly Outage[],
  between: number,
  postgres: BreakablePostgres,
  fleet: Fleet,
  receiver: Awaited<ReturnType<typeof startReceiver>>,
): Promise<OutageResult> {
  const accepted = new Set<string>()
  receiver.answer = (res, { told }) => {
    receiver.notices.length = 0
    accepted.add(told.data.target.id)
    res.writeHead(204).end()
  }
  const tenant = await makeTenant(fleet.app, 'Outage')
  const body = { url: `${receiver.url}/in`, event_types: ['user.created'], auth: 'none' }
  must(await tenant.owner.post(`${tenant.A}/webhooks`, body), 201)

  const result: OutageResult = {
    answers: {},
    withoutRetryAfter: 0,
    unanswered: [],
    longest: 0,
    acknowledged: 0,
    lost: [],
    withoutEvent: [],
    neverAccepted: [],
    statuses: {},
    ended: [],
  }
  const acknowledged: string[] = []
  let going = true
  let number = 0
  const ask = async (request: Promise<Loose>): Promise<Loose> => {
    const began = performance.now()
    const answer = await Promise.race([request, sleep(PATIENCE, 'no answer', { ref: false })]).catch((error) => error)
    result.longest = Math.max(result.longest, Math.round(performance.now() - began))
    if (typeof answer?.status !== 'number') result.unanswered.push(String(answer?.cause ?? answer))
    else result.answers[answer.status] = (result.answers[answer.status] ?? 0) + 1
    if (answer.status === 503 && !/^\d+$/.test(answer.headers.get('retry-after'))) result.withoutRetryAfter += 1
    return answer
  }
  const writer = async (api: Api) => {
    while (going) {
      const made = await ask(api.post(`${tenant.I}/users`, { username_type: 'unique', username: `u${number++}` }))
      if (made.status === 201) acknowledged.push(made.body.data.id)
      else await sleep(20)
      await ask(made.status === 201 ? api.get(`${tenant.I}/users/${made.body.data.id}`) : api.get(tenant.I))
    }
  }
  const writers = [0, 1, 2, 3].map((n) => writer(fleet.at(n % 2, tenant.owner)))
  const more = async () => {
    for (const enough = acknowledged.length + between; acknowledged.length < enough; ) await sleep(5)
  }
  await more()
  // A worker that is still starting would not start.
  while (accepted.size === 0) await sleep(20)
  for (const outage of outages) {
    await happen(postgres, outage)
    await more()
  }
  going = false
  await Promise.all(writers)

  const database = new pg.Client({ connectionString: postgres.url })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  for (const end = performance.now() + PATIENCE; performance.now() < end; await sleep(200)) {
    const counts = await rows('SELECT status, count(*)::int AS count FROM webhook_deliveries GROUP BY 1')
    result.statuses = Object.fromEntries(counts.map(({ status, count }) => [status, count]))
    if (Object.keys(result.statuses).join() === 'delivered') break
  }
  const users = new Set((await rows('SELECT id FROM users')).map((row) => row.id))
  const told = (await rows(`SELECT target->>'id' AS id FROM events WHERE type = 'user.created'`)).map((row) => row.id)
  await database.end()
  result.acknowledged = acknowledged.length
  result.lost = acknowledged.filter((user) => !users.has(user))
  result.withoutEvent = [...users].filter((user) => !told.includes(user))
  result.neverAccepted = told.filter((user) => !accepted.has(user))
  result.ended = fleet.processes
    .filter(({ child }) => child.exitCode !== null || child.signalCode !== null)
    .map((process) => process.output())
  return result
}

async function happen(postgres: BreakablePostgres, outage: Outage): Promise<void> {
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
