/**
 * Events of tokens commit with what makes the token, before it is answered: nothing has to be flushed when a process
 * stops, and nothing that was answered is lost when it is killed.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import pg from 'pg'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { createTestDatabase, secretKey } from '../setup/database.js'
import { endProcess, type Process, startProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'

/** Callers at the same time, each waiting for its answer. */
const CALLERS = 8
/** Tokens that are had before the process is told to end. */
const BEFORE = 60

let database: { url: string; drop(): Promise<void> }
let db: pg.Client
let process: Process
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  db = new pg.Client({ connectionString: database.url })
  await db.connect()
  process = await startProcess({ DATABASE_URL: database.url, SECRET_KEY: secretKey })
  tenant = await makeTenant(process as unknown as TestApp, 'Tokens')
})
afterAll(async () => {
  await endProcess(process, 'SIGKILL')
  await db.end()
  await database.drop()
})

test.each(['SIGTERM', 'SIGKILL'] as const)(
  '%s while tokens are issued: every one that was answered has its event',
  async (signal) => {
    const agent = must(await tenant.owner.post(`${tenant.I}/agents`, { name: signal }), 201).data
    const { secret } = must(
      await tenant.owner.post(`${tenant.I}/agents/${agent.id}/verifiers`, { type: 'secret', name: null }),
      201,
    ).data
    const answered: number[] = []
    let down = false
    const call = async (): Promise<void> => {
      while (!down) {
        const answer = await fetch(`${process.idpUrl}/${tenant.I.split('/').at(-1)}/token`, {
          method: 'POST',
          body: new URLSearchParams({ grant_type: 'client_credentials', client_id: agent.id, client_secret: secret }),
        }).catch(() => undefined)
        if (!answer) return
        answered.push(answer.status)
        await answer.arrayBuffer().catch(() => undefined)
      }
    }
    const callers = Array.from({ length: CALLERS }, call)
    while (answered.length < BEFORE) await sleep(5)
    const end = await endProcess(process, signal)
    down = true
    await Promise.all(callers)
    expect(end).toBe(signal === 'SIGTERM' ? 0 : signal)
    expect(new Set(answered)).toEqual(new Set([200]))
    const { rows } = await db.query(
      `SELECT count(*)::int AS told FROM events WHERE agent_id = $1 AND type = 'agent.authentication.succeeded'`,
      [agent.id],
    )
    // Of those that were killed before their answer some were written down; of those answered, all.
    expect(rows[0].told).toBeGreaterThanOrEqual(answered.length)
    expect(rows[0].told).toBeLessThanOrEqual(answered.length + CALLERS)
    if (signal === 'SIGTERM') expect(rows[0].told).toBe(answered.length)
    process = await startProcess(process.env)
  },
)
