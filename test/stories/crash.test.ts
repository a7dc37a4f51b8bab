import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { makeTenant, must } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { endProcess, type Process, startProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'

let folder: string
let process: Process

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'gatehouse-crash-'))
})
afterAll(async () => {
  await endProcess(process)
  rmSync(folder, { recursive: true, force: true })
})

test('kill -9 under writes, then a start that has every acknowledged write', async () => {
  process = await startProcess({ DATA_DIR: folder })
  const app = { ...process } as unknown as TestApp
  const { owner, I } = await makeTenant(app, 'Crash')
  const acknowledged: { id: string; username: string }[] = []
  let rounds = 0
  for (const enough of [5, 40, 90]) {
    let running = true
    const api = { ...owner, ...apiOn(process, owner.authorization!) }
    const writers = [1, 2, 3, 4].map(async (writer) => {
      for (let n = 0; running; n++) {
        const username = `u${rounds}-${writer}-${n}@example.com`
        const answer = await api.post(`${I}/users`, { username_type: 'email', username }).catch(() => undefined)
        if (answer?.status === 201) acknowledged.push({ id: answer.body.data.id, username })
        if (!answer) return
      }
    })
    // Killed in the middle of things: each writer has a request under way.
    while (acknowledged.length < enough) await sleep(1)
    process.child.kill('SIGKILL')
    running = false
    await Promise.all(writers)
    expect(await process.ended).toBe('SIGKILL')
    process = await startProcess(process.env)
    rounds += 1
  }
  const after = apiOn(process, owner.authorization!)
  const found = new Map<string, string>()
  for (let cursor: string | null = null, more = true; more; ) {
    const page = must(await after.get(`${I}/users?limit=100${cursor ? `&cursor=${cursor}` : ''}`), 200)
    for (const user of page.data) found.set(user.id, user.status)
    cursor = page.next_cursor
    more = page.has_more
  }
  expect(acknowledged.filter(({ id }) => !found.has(id))).toEqual([])
  const sample = acknowledged.at(-1)!
  expect(must(await after.get(`${I}/users/${sample.id}`), 200).data.username).toBe(sample.username)
}, 120_000)

function apiOn({ baseUrl }: Process, authorization: string) {
  const [id = '', ...rest] = Buffer.from(authorization.replace('Basic ', ''), 'base64').toString().split(':')
  return apiAs(baseUrl, { id, secret: rest.join(':') })
}
