/**
 * Webhook crash scenario: two servers and a worker, each in its own process, are killed in turn while they handle
 * writes, and a receiver refuses 30 percent of the requests. The tests run a short form of the scenario, and `npm run
 * bench -- webhooks-crash` runs a long form.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { Webhook } from 'standardwebhooks'
import { createTenant, expectStatus } from './actors.js'
import { startCluster, WORKER_INDEX } from './cluster.js'
import { waitUntil } from './wait-until.js'
import { startWebhookReceiver } from './webhook-receiver.js'

export interface WebhookScenarioResult {
  /** Number of users whose creation was acknowledged with 201. */
  acknowledged: number
  /** Ids of acknowledged users without a `user.created` event. */
  withoutEvent: string[]
  /** Number of `user.created` events without the user. */
  withoutChange: number
  /** Number of `user.created` events without exactly one delivery. */
  withoutDelivery: number
  /** Ids of users whose `user.created` event the receiver never accepted. */
  neverAccepted: string[]
  /** Number of deliveries by status at the end. */
  statuses: Record<string, number>
  /** Number of requests that the receiver accepted. */
  accepted: number
  /** Number of events that the receiver accepted more than once. */
  duplicates: number
  /** Number of events that the receiver accepted with different ids or bodies. */
  inconsistent: number
  /** Number of requests with a wrong signature or `webhook-id`. */
  invalidSignatures: number
  /** Number of kills of the first server, of the second server and of the worker. */
  kills: number[]
  /** Milliseconds from the last kill until everything was delivered. */
  settledAfterMs: number
}

export interface WebhookScenarioOptions {
  /** Number of users to create; each creation causes one event. */
  events: number
  /** Total number of SIGKILLs, sent to the two servers and the worker in turn. */
  kills: number
  /** Milliseconds after the last kill within which all deliveries must be delivered. */
  settleTimeout: number
  /** If true, all leases end after the last kill and failed deliveries become due immediately. */
  skipWaiting?: boolean
}

/** Runs the scenario on a database with all migrations. */
export async function runWebhookScenario(
  databaseUrl: string,
  options: WebhookScenarioOptions,
): Promise<WebhookScenarioResult> {
  const { events, kills, settleTimeout } = options
  const receiver = await startWebhookReceiver()
  let count = 0
  let invalidSignatures = 0
  let verifier: Webhook | undefined
  /** Accepted requests, by the user id in the event. */
  const accepted = new Map<string, { times: number; ids: Set<string>; bodies: Set<string> }>()
  receiver.respond = (res, { event, body, headers }) => {
    receiver.requests.length = 0
    if (headers['webhook-id'] !== event.id || !isSigned(verifier, body, headers)) invalidSignatures += 1
    // Refuses 30 percent of the requests but never five consecutive ones, so that the circuit breaker does not open.
    if ([0, 4, 7].includes(count++ % 10)) return void res.writeHead(count % 2 ? 500 : 503).end()
    const user = event.data.target.id
    const seen = accepted.get(user) ?? { times: 0, ids: new Set(), bodies: new Set() }
    seen.times += 1
    seen.ids.add(headers['webhook-id']!)
    seen.bodies.add(body)
    accepted.set(user, seen)
    res.writeHead(204).end()
  }
  const cluster = await startCluster(databaseUrl)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  try {
    const tenant = await createTenant(cluster.app, 'Webhooks')
    const body = { url: `${receiver.url}/in`, event_types: ['user.created'], auth: 'signature' }
    verifier = new Webhook(
      expectStatus(await tenant.owner.post(`${tenant.A}/webhooks`, body), 201).data.signature_secret_plain,
    )

    const acknowledged: string[] = []
    let number = 0
    let killedAt = performance.now()
    /**
     * `count` at the last kill of the worker. The next kill waits for another request, so that the worker is sending.
     */
    let countAtLastWorkerKill = 0
    const writers = [0, 1, 2, 3].map(async (writer) => {
      while (acknowledged.length < events) {
        const user = { username_type: 'unique', username: `u${writer}-${number++}` }
        const response = await cluster
          .clientAt(writer % 2, tenant.owner)
          .post(`${tenant.I}/users`, user)
          .catch(() => undefined)
        if (response?.status === 201) acknowledged.push(response.body.data.id)
        if (!response) await sleep(50)
      }
    })
    const killProcesses = async () => {
      for (let turn = 0; turn < kills; turn++) {
        // The changes are divided into as many equal parts as there are kills, with one kill at a random time of each.
        const killThreshold = (events * (turn + Math.random())) / kills
        await waitUntil(
          'enough changes are acknowledged and the worker sends',
          () =>
            acknowledged.length >= killThreshold &&
            (cluster.nextToKill !== WORKER_INDEX || count > countAtLastWorkerKill),
          { interval: 5, limit: 300_000 },
        )
        await sleep(Math.random() * 30)
        if (cluster.nextToKill === WORKER_INDEX) countAtLastWorkerKill = count
        killedAt = performance.now()
        await cluster.killNext()
      }
    }
    await Promise.all([...writers, killProcesses()])
    await cluster.waitUntilRestarted()
    if (options.skipWaiting) await rows('UPDATE webhook_delivery_queues SET lease_expires_at = 0')
    const makeEverythingDue = () =>
      rows(`UPDATE webhook_deliveries SET next_attempt_at = 1 WHERE status = 'failing' AND next_attempt_at > 1;
        SELECT pg_notify('gatehouse', 'webhook:' || webhook_id) FROM webhook_delivery_queues`)

    const statuses = async () =>
      Object.fromEntries(
        (await rows('SELECT status, count(*)::int AS count FROM webhook_deliveries GROUP BY 1')).map((row) => [
          row.status,
          row.count,
        ]),
      )
    await waitUntil(
      'every delivery is delivered',
      async () => {
        if (Object.keys(await statuses()).join() === 'delivered') return true
        if (options.skipWaiting) await makeEverythingDue()
        return false
      },
      { interval: 200, limit: settleTimeout },
    )
    const recordedEvents = await rows(`
      SELECT e.target->>'id' AS id, u.id AS change, (SELECT count(*)::int FROM webhook_deliveries d WHERE d.event_id = e.id) AS deliveries
      FROM events e LEFT JOIN users u ON u.id = e.target->>'id'
      WHERE e.type = 'user.created' AND e.account_id = '${tenant.accountId}'`)
    const withEvent = new Set(recordedEvents.map((row) => row.id))
    const all = [...accepted.values()]
    return {
      acknowledged: acknowledged.length,
      withoutEvent: acknowledged.filter((user) => !withEvent.has(user)),
      withoutChange: recordedEvents.filter(({ change }) => change === null).length,
      withoutDelivery: recordedEvents.filter(({ deliveries }) => deliveries !== 1).length,
      neverAccepted: [...withEvent].filter((user) => !accepted.has(user)),
      statuses: await statuses(),
      accepted: all.reduce((sum, { times }) => sum + times, 0),
      duplicates: all.filter(({ times }) => times > 1).length,
      inconsistent: all.filter(({ ids, bodies }) => ids.size > 1 || bodies.size > 1).length,
      invalidSignatures,
      kills: cluster.killCounts,
      settledAfterMs: Math.round(performance.now() - killedAt),
    }
  } finally {
    await database.end()
    await cluster.close()
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
