import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createTenant, expectStatus } from '../setup/actors.js'
import { createApiClient } from '../setup/api.js'
import { type GatehouseProcess, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let folder: string
let process: GatehouseProcess

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-crash-'))
})
afterAll(async () => {
  await stopProcess(process)
  rmSync(folder, { recursive: true, force: true })
})

test('after kill -9 during writes, all acknowledged writes exist after the next start', async () => {
  process = await startProcess({ DATA_DIR: folder })
  const app = { ...process } as unknown as TestApp
  const { owner, I } = await createTenant(app, 'Crash')
  const acknowledged: { id: string; username: string }[] = []
  let rounds = 0
  for (const target of [5, 40, 90]) {
    let running = true
    const api = { ...owner, ...apiOn(process, owner.authorization!) }
    const writers = [1, 2, 3, 4].map(async (writer) => {
      for (let n = 0; running; n++) {
        const username = `u${rounds}-${writer}-${n}@example.com`
        const response = await api.post(`${I}/users`, { username_type: 'email', username }).catch(() => undefined)
        if (response?.status === 201) acknowledged.push({ id: response.body.data.id, username })
        if (!response) return
      }
    })
    await waitUntil(`${target} writes are acknowledged`, () => acknowledged.length >= target, { interval: 1 })
    // Kills the process while the writers have requests in progress.
    process.child.kill('SIGKILL')
    running = false
    await Promise.all(writers)
    expect(await process.exited).toBe('SIGKILL')
    process = await startProcess(process.env)
    rounds += 1
  }
  const after = apiOn(process, owner.authorization!)
  const found = new Map<string, string>()
  for (let cursor: string | null = null, more = true; more; ) {
    const page = expectStatus(await after.get(`${I}/users?limit=100${cursor ? `&cursor=${cursor}` : ''}`), 200)
    for (const user of page.data) found.set(user.id, user.status)
    cursor = page.next_cursor
    more = page.has_more
  }
  expect(acknowledged.filter(({ id }) => !found.has(id))).toEqual([])
  const sample = acknowledged.at(-1)!
  expect(expectStatus(await after.get(`${I}/users/${sample.id}`), 200).data.username).toBe(sample.username)
}, 120_000)

function apiOn({ baseUrl }: GatehouseProcess, authorization: string) {
  const [id = '', ...rest] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':')
  return createApiClient(baseUrl, { id, secret: rest.join(':') })
}
