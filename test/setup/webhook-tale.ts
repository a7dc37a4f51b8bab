/**
 * The tale of what must not get lost: two servers and a worker, processes of their own, are killed again and again while
 * they are changed and a receiver refuses three in ten of what it is told. Short in the tests, long as
 * `npm run bench -- webhooks-crash`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { makeTenant, must } from './actors.js'
import { startFleet, WORKER } from './fleet.js'
import { startReceiver } from './receiver.js'

export interface TaleResult {
  /** Changes that were acknowledged, and of them those without their event. */
  acknowledged: number
  withoutEvent: string[]
  /** Events whose change is not there, events without exactly one delivery, and events that the receiver never accepted. */
  withoutChange: number
  withoutDelivery: number
  neverAccepted: string[]
  /** Deliveries by status when all is over. */
  statuses: Record<string, number>
  /** Requests that the receiver accepted, and events that it accepted more than once. */
  accepted: number
  duplicates: number
  /** Events that came with different ids or bodies, and requests whose signature or `webhook-id` is wrong. */
  different: number
  forged: number
  /** How often each process was killed: the two servers and the worker. */
  kills: number[]
  /** Milliseconds from the last kill until everything was delivered. */
  settledAfter: number
}

export interface TaleOptions {
  /** How many changes are to be acknowledged. */
  events: number
  /** How often one of the three processes is ended by SIGKILL on the way; each has its turn in every three. */
  kills: number
  /** Milliseconds for everything to arrive after the last kill. */
  patience: number
  /** After the last kill nothing waits for its time: leases have ended, and what failed is due again. */
  hurry?: boolean
}

/** Tells it, on a database with all migrations. */
export async function tellTale(databaseUrl: string, options: TaleOptions): Promise<TaleResult> {
  const { events, kills, patience } = options
  const receiver = await startReceiver()
  let count = 0
  let forged = 0
  let signature: Webhook | undefined
  /** By the user that an event tells of. */
  const accepted = new Map<string, { times: number; ids: Set<string>; bodies: Set<string> }>()
  receiver.answer = (res, { told, body, headers }) => {
    receiver.notices.length = 0
    if (headers['webhook-id'] !== told.id || !isSigned(signature, body, headers)) forged += 1
    // Three in ten, never five in a row: the circuit breaker has its own tests.
    if ([0, 4, 7].includes(count++ % 10)) return void res.writeHead(count % 2 ? 500 : 503).end()
    const user = told.data.target.id
    const seen = accepted.get(user) ?? { times: 0, ids: new Set(), bodies: new Set() }
    seen.times += 1
    seen.ids.add(headers['webhook-id']!)
    seen.bodies.add(body)
    accepted.set(user, seen)
    res.writeHead(204).end()
  }
  const fleet = await startFleet(databaseUrl)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  try {
    const tenant = await makeTenant(fleet.app, 'Tale')
    const body = { url: `${receiver.url}/in`, event_types: ['user.created'], auth: 'signature' }
    signature = new Webhook(
      must(await tenant.owner.post(`${tenant.A}/webhooks`, body), 201).data.signature_secret_plain,
    )

    const acknowledged: string[] = []
    let number = 0
    let killedAt = performance.now()
    /** What had come when the worker began: it is killed in the middle of sending. */
    let sent = 0
    const writers = [0, 1, 2, 3].map(async (writer) => {
      while (acknowledged.length < events) {
        const user = { username_type: 'unique', username: `u${writer}-${number++}` }
        const answer = await fleet
          .at(writer % 2, tenant.owner)
          .post(`${tenant.I}/users`, user)
          .catch(() => undefined)
        if (answer?.status === 201) acknowledged.push(answer.body.data.id)
        if (!answer) await sleep(50)
      }
    })
    const killer = async () => {
      for (let turn = 0; turn < kills; turn++) {
        // Anywhere in its part of the way, and anywhere in what is under way then.
        const when = (events * (turn + Math.random())) / kills
        while (acknowledged.length < when || (fleet.next === WORKER && count === sent)) await sleep(5)
        await sleep(Math.random() * 30)
        if (fleet.next === WORKER) sent = count
        killedAt = performance.now()
        await fleet.strike()
      }
    }
    await Promise.all([...writers, killer()])
    await fleet.whole()
    if (options.hurry) await rows('UPDATE webhook_lanes SET held_until = 0')
    const hurry = () =>
      rows(`UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'failing' AND next_attempt_at > 1;
        SELECT pg_notify('gatehouse', 'webhook:' || webhook_id) FROM webhook_lanes`)

    const statuses = async () =>
      Object.fromEntries(
        (await rows('SELECT status, count(*)::int AS count FROM webhook_deliveries GROUP BY 1')).map((row) => [
          row.status,
          row.count,
        ]),
      )
    for (const end = performance.now() + patience; performance.now() < end; await sleep(200)) {
      if (Object.keys(await statuses()).join() === 'delivered') break
      if (options.hurry) await hurry()
    }
    const told = await rows(`
      SELECT e.target->>'id' AS id, u.id AS change, (SELECT count(*)::int FROM webhook_deliveries d WHERE d.event_id = e.id) AS deliveries
      FROM events e LEFT JOIN users u ON u.id = e.target->>'id'
      WHERE e.type = 'user.created' AND e.account_id = '${tenant.accountId}'`)
    const withEvent = new Set(told.map((row) => row.id))
    const all = [...accepted.values()]
    return {
      acknowledged: acknowledged.length,
      withoutEvent: acknowledged.filter((user) => !withEvent.has(user)),
      withoutChange: told.filter(({ change }) => change === null).length,
      withoutDelivery: told.filter(({ deliveries }) => deliveries !== 1).length,
      neverAccepted: [...withEvent].filter((user) => !accepted.has(user)),
      statuses: await statuses(),
      accepted: all.reduce((sum, { times }) => sum + times, 0),
      duplicates: all.filter(({ times }) => times > 1).length,
      different: all.filter(({ ids, bodies }) => ids.size > 1 || bodies.size > 1).length,
      forged,
      kills: fleet.kills,
      settledAfter: Math.round(performance.now() - killedAt),
    }
  } finally {
    await database.end()
    await fleet.close()
    await receiver.close()
  }
}

function isSigned(signature: Webhook | undefined, body: string, headers: Record<string, string>): boolean {
  try {
    signature?.verify(body, headers)
    return signature !== undefined
  } catch {
    return false
  }
}
