/**
 * Simulates users who sign in repeatedly. The simulation runs in a child process with a low priority, because real
 * browsers run on other machines and take no processor time from the server. The first message to the child process
 * contains the options. The second message stops the sign-ins, and the child process responds with the number of
 * completed sign-ins.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { TestBrowser } from '../test/idp/browser.js'
import { PASSWORD, Realm, type TestClient } from '../test/idp/realm.js'
import type { TestApp } from '../test/setup/start-app.js'

export interface LoginLoadOptions {
  idpUrl: string
  issuerId: string
  client: TestClient
  /** The usernames of the users. Each user signs in repeatedly, concurrently with the other users. */
  usernames: string[]
}

/**
 * Starts the sign-ins.
 * @returns a function that stops them and returns the number of completed sign-ins
 */
export function startLoginLoad(logins: LoginLoadOptions): () => Promise<number> {
  const child = fork(fileURLToPath(import.meta.url), { env: { PATH: process.env['PATH'] ?? '' } })
  setPriority(child.pid!, constants.priority.PRIORITY_LOW)
  child.send(logins)
  return async () => {
    child.send('stop')
    const [count] = (await once(child, 'message')) as [number]
    child.disconnect()
    return count
  }
}

async function run({ idpUrl, issuerId, client, usernames }: LoginLoadOptions): Promise<void> {
  const tenant = { issuerId } as Realm['tenant']
  const realm = new Realm({ idpUrl } as TestApp, tenant)
  let running = true
  let count = 0
  process.once('message', () => {
    running = false
  })
  await Promise.all(
    usernames.map(async (username) => {
      while (running) {
        const { page, browser } = await realm.openSignInPage(client, {}, new TestBrowser())
        await browser.submit(page, { username, password: PASSWORD })
        count++
      }
    }),
  )
  process.send!(count)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [logins] = (await once(process, 'message')) as [LoginLoadOptions]
  await run(logins)
}
