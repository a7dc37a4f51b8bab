/**
 * People who sign in, over and over, from a process of their own that gives way to all others: in truth they sit at
 * other machines. Told what to do by the first message and to stop by the next, it says how many came in.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { constants, setPriority } from 'node:os'
import { fileURLToPath } from 'node:url'
import { TestBrowser } from '../test/idp/browser.js'
import { PASSWORD, Realm, type TestClient } from '../test/idp/setup.js'
import type { TestApp } from '../test/setup/start-app.js'

export interface Logins {
  idpUrl: string
  issuerId: string
  client: TestClient
  /** One for each of those who sign in at once. */
  usernames: string[]
}

/** Starts them. @returns a function that stops them and answers how many signed in */
export function startLogins(logins: Logins): () => Promise<number> {
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

async function run({ idpUrl, issuerId, client, usernames }: Logins): Promise<void> {
  const tenant = { issuerId } as Realm['tenant']
  const realm = new Realm({ idpUrl } as TestApp, tenant)
  let going = true
  let count = 0
  process.once('message', () => {
    going = false
  })
  await Promise.all(
    usernames.map(async (username) => {
      while (going) {
        const { page, browser } = await realm.begin(client, {}, new TestBrowser())
        await browser.submit(page, { username, password: PASSWORD })
        count++
      }
    }),
  )
  process.send!(count)
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [logins] = (await once(process, 'message')) as [Logins]
  await run(logins)
}
