/**
 * People who sign in, over and over, in a thread of their own: what they cost the client must not look like a delay of
 * the server. Started with the realm's address and a client; told to stop by any message, it says how many came in.
 */
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { TestBrowser } from '../test/idp/browser.js'
import { PASSWORD, Realm, type TestClient } from '../test/idp/setup.js'
import type { TestApp } from '../test/setup/start-app.js'

export interface Logins {
  idpUrl: string
  issuerId: string
  client: TestClient
  username: string
  atOnce: number
}

/** Starts them. @returns a function that stops them and answers how many signed in */
export function startLogins(logins: Logins): () => Promise<number> {
  const worker = new Worker(new URL(import.meta.url), { workerData: logins })
  return () =>
    new Promise((done, failed) => {
      worker.once('message', (count: number) => done(count))
      worker.once('error', failed)
      worker.postMessage('stop')
    })
}

async function run({ idpUrl, issuerId, client, username, atOnce }: Logins): Promise<void> {
  const tenant = { issuerId } as Realm['tenant']
  const realm = new Realm({ idpUrl } as TestApp, tenant)
  let going = true
  let count = 0
  parentPort!.once('message', () => {
    going = false
  })
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (going) {
        const { page, browser } = await realm.begin(client, {}, new TestBrowser())
        await browser.submit(page, { username, password: PASSWORD })
        count++
      }
    }),
  )
  parentPort!.postMessage(count)
}

if (!isMainThread) await run(workerData as Logins)
