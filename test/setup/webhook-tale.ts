/**
 * The tale of what must not get lost: two servers with their workers are killed again and again while they are changed
 * and a receiver refuses a third of what it is told. Short in the tests, long as `npm run bench -- webhooks-crash`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makeTenant, must } from './actors.js'
import { apiAs } from './api.js'
import { endProcess, type Process, startProcess } from './process.js'
import { startReceiver } from './receiver.js'
import type { TestApp } from './start-app.js'

export interface TaleResult {
  /** Changes that were acknowledged, and of them those without their event, and those that the receiver never accepted. */
  acknowledged: number
  withoutEvent: string[]
  neverAccepted: string[]
  /** Deliveries by status when all is over. */
  statuses: Record<string, number>
  /** Requests that the receiver accepted, and events that it accepted more than once. */
  accepted: number
  duplicates: number
  /** Bodies that differ though their id is the same. */
  different: number
  kills: number
  /** Milliseconds from the last kill until everything was delivered. */
  settledAfter: number
}

/**
 * Tells it.
 * @param events how many changes are to be acknowledged
 * @param kills how often one of the two processes, in turn, is ended by SIGKILL on the way
 * @param patience milliseconds for everything to arrive after the last kill
 */
export async function tellTale(
  databaseUrl: string,
  { events, kills, patience }: { events: number; kills: number; patience: number },
): Promise<TaleResult> {
  const receiver = await startReceiver()
  let count = 0
  const accepted = new Map<string, { times: number; bodies: Set<string>; user: string }>()
  receiver.answer = (res, { told, body }) => {
    receiver.notices.length = 0
    // Three in ten, never five in a row: the circuit breaker has its own tests.
    if ([0, 4, 7].includes(count++ % 10)) return void res.writeHead(count % 2 ? 500 : 503).end()
    const seen = accepted.get(told.id) ?? { times: 0, bodies: new Set(), user: told.data.target.id }
    seen.times += 1
    seen.bodies.add(body)
    accepted.set(told.id, seen)
    res.writeHead(204).end()
  }
  const secret = Buffer.alloc(32, 3).toString('base64')
  const settings = { DATABASE_URL: databaseUrl, SECRET_KEY: secret, ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'error' }
  const first = await startProcess(settings)
  const { PORT: _, IDP_PORT: __, ...shared } = first.env
  const processes: Process[] = [first, await startProcess(shared)]
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  try {
    const tenant = await makeTenant(first as unknown as TestApp, 'Tale')
    const [id = '', ...rest] = Buffer.from(tenant.owner.authorization!.slice(6), 'base64').toString().split(':')
    const at = ({ env }: Process) => apiAs(`http://127.0.0.1:${env['PORT']}`, { id, secret: rest.join(':') })
    const body = { url: `${receiver.url}/in`, event_types: ['user.created'], auth: 'none' }
    must(await tenant.owner.post(`${tenant.A}/webhooks`, body), 201)

    const acknowledged: string[] = []
    let killed = 0
    let number = 0
    let killedAt = performance.now()
    const writers = [0, 1, 2, 3].map(async (writer) => {
      while (acknowledged.length < events) {
        const user = { username_type: 'unique', username: `u${writer}-${number++}` }
        const answer = await at(processes[writer % 2]!)
          .post(`${tenant.I}/users`, user)
          .catch(() => undefined)
        if (answer?.status === 201) acknowledged.push(answer.body.data.id)
        if (!answer) await sleep(50)
      }
    })
    const killer = async () => {
      for (; killed < kills; killed++) {
        while (acknowledged.length < (events * (killed + 0.5)) / kills) await sleep(5)
        const which = killed % 2
        const victim = processes[which]!
        victim.child.kill('SIGKILL')
        killedAt = performance.now()
        await victim.ended
        processes[which] = await startProcess(victim.env)
      }
    }
    await Promise.all([...writers, killer()])

    const rows = async (text: string) => (await database.query(text)).rows
    const statuses = async () =>
      Object.fromEntries(
        (await rows('SELECT status, count(*)::int AS count FROM webhook_deliveries GROUP BY 1')).map((row) => [
          row.status,
          row.count,
        ]),
      )
    for (const end = performance.now() + patience; performance.now() < end; await sleep(200)) {
      if (Object.keys(await statuses()).join() === 'delivered') break
    }
    const told = await rows(`SELECT target->>'id' AS id FROM events WHERE type = 'user.created'`)
    const withEvent = new Set(told.map((row) => row.id))
    const arrived = new Set([...accepted.values()].map(({ user }) => user))
    const all = [...accepted.values()]
    return {
      acknowledged: acknowledged.length,
      withoutEvent: acknowledged.filter((user) => !withEvent.has(user)),
      neverAccepted: acknowledged.filter((user) => !arrived.has(user)),
      statuses: await statuses(),
      accepted: all.reduce((sum, { times }) => sum + times, 0),
      duplicates: all.filter(({ times }) => times > 1).length,
      different: all.filter(({ bodies }) => bodies.size > 1).length,
      kills: killed,
      settledAfter: Math.round(performance.now() - killedAt),
    }
  } finally {
    await database.end()
    await Promise.all(processes.map((process) => endProcess(process, 'SIGKILL')))
    await receiver.close()
  }
}
