/**
 * Top-up scenario: each payment is sent several times concurrently to two servers. The two servers and a worker are
 * killed in turn while the facilitator settles payments, and some responses of the facilitator are lost. The tests run
 * a short form of the scenario, and `npm run bench -- topup-crash` runs a long form.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { createAccount, expectStatus } from './actors.js'
import { startCluster } from './cluster.js'
import { createPayer, NETWORK, type Payer, startFacilitator } from './facilitator.js'
import { waitUntil } from './wait-until.js'

export interface TopupScenarioResult {
  /** Number of responses by HTTP status. `none` counts requests whose connection ended without a response. */
  answers: Record<string, number>
  /** Number of transfers on the simulated blockchain. */
  transfers: number
  /** Transfers without exactly one ledger entry of their amount, as `<network>:<transaction> <amount>`. */
  notCreditedOnce: string[]
  /** Ledger entries without a transfer of their amount, as `<network>:<transaction> <amount>`. */
  withoutTransfer: string[]
  /** Payment references of responses with status 200 that have no ledger entry. */
  lost: string[]
  /** Number of ledger entries whose balance is not the sum of the amounts so far. */
  wrongBalances: number
  /** Number of top-up attempts by final state. */
  states: Record<string, number>
  /** Number of kills of the first server, of the second server and of the worker. */
  kills: number[]
}

export interface TopupScenarioOptions {
  payments: number
  /** Number of concurrent requests for each payment, with the same PAYMENT-SIGNATURE. */
  concurrentSends: number
  /** Total number of kills of the two servers and the worker. */
  kills: number
}

/** Runs the scenario on a database with all migrations. */
export async function runTopupScenario(
  databaseUrl: string,
  options: TopupScenarioOptions,
): Promise<TopupScenarioResult> {
  const { payments, concurrentSends, kills } = options
  const facilitator = await startFacilitator()
  const cluster = await startCluster(databaseUrl, facilitator.env)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  try {
    const { owner, accountId } = await createAccount(cluster.app)
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
      kills: cluster.killCounts,
    }
    const payers: Payer[] = []
    const acknowledged = new Set<string>()
    const pay = async () => {
      while (payers.length < payments) {
        const payer = createPayer()
        // Each payment has its own amount in micro-USD: 1, 2, 3 and so on.
        const amount = payers.push(payer)
        // The facilitator settles every tenth payment without sending the response.
        if (amount % 10 === 0) facilitator.queueBehaviors(payer, 'settle', 'lose_answer')
        const headers = { 'payment-signature': payer.createPaymentHeader(amount) }
        const send = (index: number) =>
          cluster
            .clientAt(index % 2, owner)
            .post(`${A}/credits/topups`, { amount_μusd: amount }, headers)
            .catch(() => undefined)
        const responses = await Promise.all(Array.from({ length: concurrentSends }, (_, index) => send(index)))
        for (const response of responses) {
          const name = String(response?.status ?? 'none')
          result.answers[name] = (result.answers[name] ?? 0) + 1
          if (response?.status === 200) acknowledged.add(response.body.data.payment_reference)
        }
        // Both servers are down or restarting.
        if (responses.every((response) => response === undefined)) await sleep(1000)
      }
    }
    const killProcesses = async () => {
      for (let turn = 0; turn < kills; turn++) {
        const killThreshold = (payments * (turn + Math.random())) / kills
        await waitUntil('enough payments have begun', () => payers.length >= killThreshold, {
          interval: 1,
          limit: 300_000,
        })
        // Waits for a random time, so that the kill happens in any step of a payment.
        await sleep(Math.random() * 30)
        await cluster.killNext()
      }
    }
    await Promise.all([pay(), pay(), killProcesses()])
    await cluster.waitUntilRestarted()

    // Makes the jobs due now that a killed worker had leased.
    await rows("UPDATE jobs SET run_at = 1 WHERE task = 'reconcile_topup'")
    const openAttemptsSql = "SELECT 1 FROM topup_attempts WHERE state IN ('settling', 'settled', 'unknown') LIMIT 1"
    const skipDelays = () =>
      // Makes unresolved payments due now, without waiting for the lease and the delay of the job.
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
    await cluster.close()
    await facilitator.close()
  }
}
