/**
 * Session check (docs/contract.md#session-check): oidc-client-ts monitors the session with the check-session iframe.
 */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { PASSWORD, Realm, type TestClient } from '../idp/realm.js'
import { expectStatus } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let realm: Realm
let browser: Browser
let application: Server
let origin: string
let client: TestClient

const library = readFileSync(
  new URL('../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
)

/** The page of an application with oidc-client-ts, which writes the events of the library into the page. */
const page = (settings: object) => `<!doctype html><link rel="icon" href="data:,"><h1>Notebook</h1>
<p id="user"></p><p id="events"></p>
<script src="/library.js"></script>
<script>
  const append = (id, text) => { document.getElementById(id).textContent += text + ';' }
  const manager = new oidc.UserManager(${JSON.stringify(settings)})
  manager.events.addUserSignedOut(() => append('events', 'signed out'))
  manager.events.addUserSessionChanged(() => append('events', 'changed'))
  ;(async () => {
    if (location.pathname === '/silent') return manager.signinSilentCallback()
    if (location.pathname === '/') return manager.signinRedirect()
    if (location.search.includes('code=')) {
      const user = await manager.signinRedirectCallback()
      append('user', user.profile.sub)
      append('user', user.session_state ? 'monitored' : 'not monitored')
    } else append('user', 'signed out')
  })().catch((error) => append('user', 'failed: ' + error.message))
</script>`

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Northwind')
  application = createServer((req, res) => {
    if (req.url === '/library.js') {
      res.setHeader('content-type', 'text/javascript').end(library)
      return
    }
    const settings = {
      authority: realm.url,
      client_id: client.id,
      redirect_uri: `${origin}/callback`,
      silent_redirect_uri: `${origin}/silent`,
      post_logout_redirect_uri: `${origin}/goodbye`,
      response_type: 'code',
      scope: 'openid',
      monitorSession: true,
      checkSessionIntervalInSeconds: 1,
      automaticSilentRenew: false,
      loadUserInfo: false,
    }
    res.setHeader('content-type', 'text/html').end(page(settings))
  })
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(application.address() as AddressInfo).port}`
  client = await realm.createClient({
    application_type: 'spa',
    redirect_uris: [`${origin}/callback`, `${origin}/silent`],
    post_logout_redirect_uris: [`${origin}/goodbye`],
  })
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  await new Promise((done) => application.close(done))
})

/** Creates a user and signs the user in at the application, whose page then monitors the session. */
async function openMonitoredSession(username: string) {
  const userId = await realm.createUser(username)
  const monitored = await openMonitoredPage(browser, origin, {})
  const { page } = monitored
  await page.goto(`${origin}/`)
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForFunction("document.getElementById('user')?.textContent !== ''")
  expect(await page.locator('#user').textContent()).toBe(`${userId};monitored;`)
  // The request of the iframe shows that the iframe has been loaded.
  await page.waitForResponse((response) => response.url() === `${realm.url}/check-session`)
  expect(await logTextOf(page)).toBe('')
  return { ...monitored, userId }
}
const logTextOf = (page: Page) => page.locator('#events').textContent()
const waitForLog = (page: Page, text: string) =>
  page.waitForFunction(`document.getElementById('events')?.textContent.includes(${JSON.stringify(text)})`)

test('the application detects a logout in another tab', async () => {
  const { page, problems } = await openMonitoredSession('ada@example.com')
  const tab = await page.context().newPage()
  await tab.goto(`${realm.url}/logout?client_id=${client.id}`)
  await tab.getByRole('button', { name: 'Sign out' }).click()
  await tab.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await waitForLog(page, 'signed out')
  const errors = problems.filter((problem) => problem.startsWith('policy') || problem.startsWith('threw'))
  expect(errors).toEqual([])
  await page.context().close()
})

test('the application detects that an administrator revoked the session', async () => {
  const { page, userId } = await openMonitoredSession('grace@example.com')
  const { owner, I } = realm.tenant
  const { data } = expectStatus(await owner.get(`${I}/users/${userId}/sessions`), 200)
  expectStatus(await owner.post(`${I}/sessions/${data[0].id}/revoke`, { reason: 'admin_action' }), 200)
  await waitForLog(page, 'signed out')
  await page.context().close()
})
