/**
 * Top-up scenario: each payment is sent several times concurrently to two servers, which are killed together with their
 * worker while the facilitator settles and sometimes loses its response. Short in the tests, long as
 * `npm run bench -- topup-crash`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createAccount, expectStatus } from './actors.js'
import { startCluster } from './cluster.js'
import { createPayer, NETWORK, type Payer, startFacilitator } from './facilitator.js'
import { waitUntil } from './wait-until.js'

export interface TopupScenarioResult {
  /** Responses by status; `none` counts requests whose connection ended without a response. */
  answers: Record<string, number>
  /** Transfers on the chain, and those of them without exactly one credit of their amount. */
  transfers: number
  notCreditedOnce: string[]
  /** Credits without a transfer. */
  withoutTransfer: string[]
  /** Payments that were acknowledged and have no credit. */
  lost: string[]
  /** Entries whose balance is not the running sum. */
  wrongBalances: number
  /** Payments by final state. */
  states: Record<string, number>
  kills: number[]
}

export interface TopupScenarioOptions {
  payments: number
  /** Number of concurrent requests with the same payment. */
  concurrentSends: number
  /** How often one of the three processes is killed on the way. */
  kills: number
}

/** Runs the scenario on a database with all migrations. */
export async function runTopupScenario(
  databaseUrl: string,
  options: TopupScenarioOptions,
): Promise<TopupScenarioResult> {
  const { payments, concurrentSends, kills } = options
  const facilitator = await startFacilitator()
  const fleet = await startCluster(databaseUrl, facilitator.env)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  try {
    const { owner, accountId } = await createAccount(fleet.app)
    const A = `/v1/accounts/${accountId}`
    expectStatus(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201)
    const result: TopupScenarioResult = {
      answers: {},
      transfers: 0,
      notCreditedOnce: [],
      withoutTransfer: [],
      lost: [],
      wrongBalances: 0,
      states: {},
      kills: fleet.killCounts,
    }
    const payers: Payer[] = []
    const acknowledged = new Set<string>()
    const pay = async () => {
      while (payers.length < payments) {
        const payer = createPayer()
        const amount = payers.push(payer)
        // One in ten settles, but its response is lost.
        if (amount % 10 === 0) facilitator.queueBehaviors(payer, 'settle', 'lose_answer')
        const headers = { 'payment-signature': payer.createPaymentHeader(amount) }
        const send = (racer: number) =>
          fleet
            .clientAt(racer % 2, owner)
            .post(`${A}/credits/topups`, { amount_μusd: amount }, headers)
            .catch(() => undefined)
        const answers = await Promise.all(Array.from({ length: concurrentSends }, (_, racer) => send(racer)))
        for (const answer of answers) {
          const name = String(answer?.status ?? 'none')
          result.answers[name] = (result.answers[name] ?? 0) + 1
          if (answer?.status === 200) acknowledged.add(answer.body.data.payment_reference)
        }
        // The server is down.
        if (answers.every((answer) => answer === undefined)) await sleep(1000)
      }
    }
    const killProcesses = async () => {
      for (let turn = 0; turn < kills; turn++) {
        const killThreshold = (payments * (turn + Math.random())) / kills
        await waitUntil('enough payments have begun', () => payers.length >= killThreshold, {
          interval: 1,
          limit: 300_000,
        })
        // A random point of the payment in progress.
        await sleep(Math.random() * 30)
        await fleet.killNext()
      }
    }
    await Promise.all([pay(), pay(), killProcesses()])
    await fleet.waitUntilRestarted()

    // Releases the leases of killed workers.
    await rows("UPDATE jobs SET run_at = 1 WHERE task = 'reconcile_topup'")
    const openAttemptsSql = "SELECT 1 FROM topup_attempts WHERE state IN ('settling', 'settled', 'unknown') LIMIT 1"
    const skipDelays = () =>
      // Simulates that the delay before a payment is resolved has passed.
      rows(`UPDATE topup_attempts SET settlement_lease_expires_at = 0 WHERE state IN ('settling', 'unknown');
        UPDATE jobs SET run_at = 1 WHERE task = 'reconcile_topup' AND attempts = 0;
        SELECT pg_notify('gatehouse', 'jobs:reconcile_topup')`)
    await waitUntil(
      'every attempt is resolved',
      async () => {
        if ((await rows(openAttemptsSql)).length === 0) return true
        await skipDelays()
        return false
      },
      { interval: 200, limit: 60_000 },
    )
    const entries = await rows(
      'SELECT network, transaction_id, amount_micro_usd AS amount, balance_micro_usd AS balance FROM ledger_entries ORDER BY id',
    )
    const credits = entries.map((entry) => `${entry.network}:${entry.transaction_id} ${entry.amount}`)
    const transfers = payers.flatMap((payer) => facilitator.transfers(payer))
    const settledTransfers = transfers.map(({ transaction, value }) => `${NETWORK}:${transaction} ${value}`)
    let sum = 0
    result.transfers = settledTransfers.length
    result.notCreditedOnce = settledTransfers.filter((one) => credits.filter((other) => other === one).length !== 1)
    result.withoutTransfer = credits.filter((one) => !settledTransfers.includes(one))
    result.lost = [...acknowledged].filter((reference) => !credits.some((one) => one.startsWith(`${reference} `)))
    for (const { amount, balance } of entries) {
      sum += Number(amount)
      if (Number(balance) !== sum) result.wrongBalances += 1
    }
    const states = await rows('SELECT state, count(*)::int AS count FROM topup_attempts GROUP BY 1')
    result.states = Object.fromEntries(states.map(({ state, count }) => [state, count]))
    return result
  } finally {
    await database.end()
    await fleet.close()
    await facilitator.close()
  }
}
