/**
 * The tale of money: payments are sent several times at once to two servers, which are killed like their worker while the
 * facilitator settles and sometimes loses its answer. Short in the tests, long as `npm run bench -- topup-crash`.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { makeAccount, must } from './actors.js'
import { NETWORK, newPayer, type Payer, startFacilitator } from './facilitator.js'
import { startFleet } from './fleet.js'

export interface TopupTaleResult {
  /** Answers by status; those of requests that were cut off are `none`. */
  answers: Record<string, number>
  /** Transfers that the chain has, and of them those without exactly one credit of their amount. */
  transfers: number
  notOnce: string[]
  /** Credits without a transfer. */
  withoutTransfer: string[]
  /** Payments that were acknowledged and have no credit. */
  lost: string[]
  /** Entries whose balance is not the sum up to them. */
  wrongBalances: number
  /** Payments by what became of them in the end. */
  states: Record<string, number>
  kills: number[]
}

export interface TopupTaleOptions {
  payments: number
  /** How often each payment is sent at once. */
  racers: number
  /** How often one of the three processes is killed on the way. */
  kills: number
}

/** Tells it, on a database with all migrations. */
export async function tellTopups(databaseUrl: string, options: TopupTaleOptions): Promise<TopupTaleResult> {
  const { payments, racers, kills } = options
  const facilitator = await startFacilitator()
  const fleet = await startFleet(databaseUrl, facilitator.env)
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const rows = async (text: string) => (await database.query(text)).rows
  try {
    const { owner, accountId } = await makeAccount(fleet.app)
    const A = `/v1/accounts/${accountId}`
    must(await owner.post(`${A}/payment-methods`, { type: 'x402' }), 201)
    const result: TopupTaleResult = {
      answers: {},
      transfers: 0,
      notOnce: [],
      withoutTransfer: [],
      lost: [],
      wrongBalances: 0,
      states: {},
      kills: fleet.kills,
    }
    const payers: Payer[] = []
    const acknowledged = new Set<string>()
    const pay = async () => {
      while (payers.length < payments) {
        const payer = newPayer()
        const amount = payers.push(payer)
        // One in ten settles, and nobody hears of it.
        if (amount % 10 === 0) facilitator.tell(payer, 'settle', 'lose_answer')
        const headers = { 'payment-signature': payer.pay(amount) }
        const send = (racer: number) =>
          fleet
            .at(racer % 2, owner)
            .post(`${A}/credits/topups`, { amount_μusd: amount }, headers)
            .catch(() => undefined)
        const answers = await Promise.all(Array.from({ length: racers }, (_, racer) => send(racer)))
        for (const answer of answers) {
          const name = String(answer?.status ?? 'none')
          result.answers[name] = (result.answers[name] ?? 0) + 1
          if (answer?.status === 200) acknowledged.add(answer.body.data.payment_reference)
        }
        // Nobody there.
        if (answers.every((answer) => answer === undefined)) await sleep(1000)
      }
    }
    const killer = async () => {
      for (let turn = 0; turn < kills; turn++) {
        const when = (payments * (turn + Math.random())) / kills
        while (payers.length < when) await sleep(1)
        await sleep(Math.random() * 30)
        await fleet.strike()
      }
    }
    await Promise.all([pay(), pay(), killer()])
    await fleet.whole()

    // What a dead worker had in hand is free again.
    await rows("UPDATE jobs SET run_at = 1 WHERE task = 'reconcile_topup'")
    const open = "SELECT 1 FROM topup_attempts WHERE state IN ('settling', 'settled', 'unknown') LIMIT 1"
    for (const end = performance.now() + 60_000; (await rows(open)).length > 0; await sleep(200)) {
      if (performance.now() > end) break
      // As if the time had passed that a payment is left alone.
      await rows(`UPDATE topup_attempts SET settling_until = 0 WHERE state IN ('settling', 'unknown');
        UPDATE jobs SET run_at = 1 WHERE task = 'reconcile_topup' AND attempts = 0;
        SELECT pg_notify('gatehouse', 'jobs:reconcile_topup')`)
    }
    const entries = await rows(
      'SELECT network, transaction_id, amount_micro_usd AS amount, balance_micro_usd AS balance FROM ledger_entries ORDER BY id',
    )
    const credits = entries.map((entry) => `${entry.network}:${entry.transaction_id} ${entry.amount}`)
    const transfers = payers.flatMap((payer) => facilitator.transfers(payer))
    const done = transfers.map(({ transaction, value }) => `${NETWORK}:${transaction} ${value}`)
    let sum = 0
    result.transfers = done.length
    result.notOnce = done.filter((one) => credits.filter((other) => other === one).length !== 1)
    result.withoutTransfer = credits.filter((one) => !done.includes(one))
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
