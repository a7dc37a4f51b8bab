/**
 * Measures webhooks (docs/contract.md#webhook-delivery-rules): the deliveries per CPU second of the worker, to a
 * receiver in its own process; the CPU time of recording an event, with and without a webhook; and the time from an
 * event to the first attempt to deliver it.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGatehouse } from '../src/app.js'
import { readConfig } from '../src/config.js'
import { newRow } from '../src/kernel/ids.js'
import type { Gatehouse } from '../src/platform/context.js'
import { systemContext } from '../src/platform/jobs/periodic-jobs.js'
import { startDatabaseServer } from '../src/platform/postgres/database-server.js'
import { transaction } from '../src/platform/postgres/transaction.js'
import { recordEvent } from '../src/resources/events/record-event.js'
import { startWebhookDelivery } from '../src/resources/webhooks/delivery-worker.js'
import { createWebhook } from '../src/resources/webhooks/webhooks.js'
import { bootstrap } from '../src/setup/bootstrap.js'
import { median } from './load.js'
import { createFolder, removeFolder } from './server.js'

const WARM_UP = 4000
const DELIVERIES = 20_000
/** The number of mutations of each kind in each round. */
const EVENTS = 500
const ROUNDS = 12
const SINGLE = 40

/**
 * The program of the receiver, which responds with 204 immediately. For each line on its standard input it prints the
 * number of requests and the time of the last one.
 */
const receiverText = `
  let count = 0, last = 0
  const server = require('http').createServer((req, res) => {
    req.resume().on('end', () => { count++; last = Date.now(); res.writeHead(204).end() })
  })
  server.keepAliveTimeout = 60000
  server.listen(0, '127.0.0.1', () => console.log(server.address().port))
  process.stdin.on('data', () => console.log(JSON.stringify([count, last])))`

async function startCountingReceiver() {
  const child: ChildProcess = spawn(process.execPath, ['-e', receiverText], { stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout! })[Symbol.asyncIterator]()
  const port = (await lines.next()).value as string
  return {
    url: `http://127.0.0.1:${port}/`,
    async count(): Promise<[count: number, last: number]> {
      child.stdin!.write('?\n')
      return JSON.parse((await lines.next()).value as string)
    },
    stop: () => void child.kill(),
  }
}

const measureCpu = async (work: () => Promise<void>): Promise<{ cpu: number; wall: number }> => {
  const [before, began] = [process.cpuUsage(), performance.now()]
  await work()
  const { user, system } = process.cpuUsage(before)
  return { cpu: (user + system) / 1000, wall: performance.now() - began }
}

/** Creates an account with the given number of webhooks. */
async function createAccountWithWebhooks(gatehouse: Gatehouse, webhooks: number, url: string): Promise<string> {
  const context = systemContext(gatehouse)
  const row = newRow('acc', gatehouse.now())
  await context.db.account.create({ data: { ...row, name: 'Bench' } })
  for (let n = 0; n < webhooks; n++) await createWebhook(context, { accountId: row.id }, { url })
  return row.id
}

/** Updates an account in the same way as GraphQL mutations: a transaction with the change of a row and its event. */
async function runMutations(gatehouse: Gatehouse, accountId: string, count: number, withEvent = true): Promise<void> {
  for (let n = 0; n < count; n++) {
    await transaction(systemContext(gatehouse), async (inside) => {
      await inside.db.account.update({ where: { id: accountId }, data: { description: `d${n}` }, select: { id: true } })
      if (!withEvent) return
      const changes = { description: { old: `d${n - 1}`, new: `d${n}` } }
      await recordEvent(inside, 'account.updated', { accountId, target: { type: 'account', id: accountId }, changes })
    })
  }
}

/** @returns the figures with their target values */
export async function bench(): Promise<Record<string, unknown>[]> {
  const folder = createFolder()
  const config = readConfig({ DATA_DIR: folder, ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'warn' })
  const store = await startDatabaseServer(config, () => {})
  const gatehouse = createGatehouse(config, store.url)
  await bootstrap(systemContext(gatehouse))
  const receiver = await startCountingReceiver()
  const rows: Record<string, unknown>[] = []

  const none = await createAccountWithWebhooks(gatehouse, 0, receiver.url)
  const one = await createAccountWithWebhooks(gatehouse, 1, receiver.url)
  const kinds = [
    ['no event', none, false],
    ['an event, no webhook', none, true],
    ['an event, one webhook', one, true],
  ] as const
  // Warm-up: the JIT compiler recompiles functions during the first thousands of iterations.
  for (const [, accountId, withEvent] of kinds) await runMutations(gatehouse, accountId, WARM_UP, withEvent)
  const rounds: number[][] = []
  for (let round = 0; round < ROUNDS; round++) {
    const costs: number[] = []
    for (const [, accountId, withEvent] of kinds) {
      costs.push((await measureCpu(() => runMutations(gatehouse, accountId, EVENTS, withEvent))).cpu / EVENTS)
    }
    rounds.push(costs)
  }
  for (const [at, [kind]] of kinds.entries()) {
    const cost = median(rounds.map((costs) => costs[at]!))
    const added = median(rounds.map((costs) => costs[at]! - costs[0]!))
    rows.push({
      figure: `CPU of a mutation with ${kind}`,
      value: `${cost.toFixed(3)} ms (+${added.toFixed(3)})`,
      bound: '+ 0.15 ms',
    })
  }

  const waitForRequests = async (count: number): Promise<void> => {
    while ((await receiver.count())[0] < count) await sleep(50)
  }
  /** Creates deliveries for a new account, most of them with one statement that copies the deliveries of its events. */
  const createDeliveries = async (count: number, webhooks: number): Promise<void> => {
    const accountId = await createAccountWithWebhooks(gatehouse, webhooks, receiver.url)
    const events = Math.min(200, count / webhooks)
    await runMutations(gatehouse, accountId, events)
    const text = `INSERT INTO webhook_deliveries (id, account_id, webhook_id, event_id, event_at, event_type, status,
        next_attempt_at, created_at, updated_at)
      SELECT 'dlv_' || substr(md5(d.id || n), 1, 26), account_id, webhook_id, event_id, event_at, event_type, 'pending',
        next_attempt_at, created_at, updated_at
      FROM webhook_deliveries d, generate_series(1, ${count / webhooks / events - 1}) n WHERE account_id = $1`
    await gatehouse.database.query(`make-${count}-${webhooks}`, text, [accountId])
  }
  for (const webhooks of [1, 20]) {
    const before = (await receiver.count())[0]
    await gatehouse.database.query('none', 'DELETE FROM webhook_deliveries', [])
    await createDeliveries(WARM_UP, webhooks)
    let sender = startWebhookDelivery(gatehouse)
    await waitForRequests(before + WARM_UP)
    await sender.stop()
    await createDeliveries(DELIVERIES, webhooks)
    const { cpu, wall } = await measureCpu(async () => {
      sender = startWebhookDelivery(gatehouse)
      await waitForRequests(before + WARM_UP + DELIVERIES)
      await sender.stop()
    })
    rows.push({
      figure: `${DELIVERIES} deliveries to ${webhooks} webhook${webhooks > 1 ? 's' : ''}`,
      value: `${Math.round(DELIVERIES / (cpu / 1000))} per CPU second, ${Math.round(DELIVERIES / (wall / 1000))} per second`,
      bound: '1,500 per CPU second',
    })
  }

  const sender = startWebhookDelivery(gatehouse)
  await sleep(1000)
  const delays: number[] = []
  for (let n = 0; n < SINGLE; n++) {
    const [before] = await receiver.count()
    await runMutations(gatehouse, one, 1)
    const committed = Date.now()
    await waitForRequests(before + 1)
    delays.push((await receiver.count())[1] - committed)
    await sleep(50)
  }
  await sender.stop()
  delays.sort((a, b) => a - b)
  rows.push({
    figure: 'first attempt after the commit, idle',
    value: `p50 ${delays[SINGLE / 2]} ms, p99 ${delays.at(-1)} ms`,
    bound: 'p50 < 1000 ms',
  })
  receiver.stop()
  await gatehouse.outbound.close()
  await gatehouse.database.close()
  await store.close()
  removeFolder(folder)
  return rows
}
