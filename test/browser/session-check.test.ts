/** oidc-client-ts, a stock library in a real Chromium, signs in and watches the session by the check-session iframe. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { PASSWORD, Realm, type TestClient } from '../idp/setup.js'
import { must } from '../setup/actors.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

let app: TestApp
let realm: Realm
let browser: Browser
let application: Server
let origin: string
let client: TestClient

const library = readFileSync(
  new URL('../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
)

/** The application: one page, whose script is written with nothing but the library. */
const page = (settings: object) => `<!doctype html><link rel="icon" href="data:,"><h1>Notebook</h1>
<p id="who"></p><p id="heard"></p>
<script src="/library.js"></script>
<script>
  const say = (id, text) => { document.getElementById(id).textContent += text + ';' }
  const manager = new oidc.UserManager(${JSON.stringify(settings)})
  manager.events.addUserSignedOut(() => say('heard', 'signed out'))
  manager.events.addUserSessionChanged(() => say('heard', 'changed'))
  ;(async () => {
    if (location.pathname === '/silent') return manager.signinSilentCallback()
    if (location.pathname === '/') return manager.signinRedirect()
    if (location.search.includes('code=')) {
      const user = await manager.signinRedirectCallback()
      say('who', user.profile.sub)
      say('who', user.session_state ? 'watched' : 'unwatched')
    } else say('who', 'nobody')
  })().catch((error) => say('who', 'failed: ' + error.message))
</script>`

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Northwind')
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
  client = await realm.client({
    application_type: 'spa',
    redirect_uris: [`${origin}/callback`, `${origin}/silent`],
    post_logout_redirect_uris: [`${origin}/goodbye`],
  })
  browser = await startStrictBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  await new Promise((done) => application.close(done))
})

/** Signs somebody new in; the application's page is left open and watches. */
async function watching(username: string) {
  const userId = await realm.user(username)
  const watched = await watchedPage(browser, origin, {})
  const { page } = watched
  await page.goto(`${origin}/`)
  await page.getByLabel('Username or email').fill(username)
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.waitForFunction("document.getElementById('who')?.textContent !== ''")
  expect(await page.locator('#who').textContent()).toBe(`${userId};watched;`)
  // The iframe is there and has asked.
  await page.waitForResponse((response) => response.url() === `${realm.url}/check-session`)
  expect(await heardBy(page)).toBe('')
  return { ...watched, userId }
}
const heardBy = (page: Page) => page.locator('#heard').textContent()
const hears = (page: Page, text: string) =>
  page.waitForFunction(`document.getElementById('heard')?.textContent.includes(${JSON.stringify(text)})`)

test('a logout in another tab is noticed', async () => {
  const { page, faults } = await watching('ada@example.com')
  const tab = await page.context().newPage()
  await tab.goto(`${realm.url}/logout?client_id=${client.id}`)
  await tab.getByRole('button', { name: 'Sign out' }).click()
  await tab.getByRole('heading', { name: 'You are signed out' }).waitFor()
  await hears(page, 'signed out')
  const broken = faults.filter((fault) => fault.startsWith('policy') || fault.startsWith('threw'))
  expect(broken).toEqual([])
  await page.context().close()
})

test('an administrator’s revocation is noticed, though nothing changed in the browser', async () => {
  const { page, userId } = await watching('grace@example.com')
  const { owner, I } = realm.tenant
  const { data } = must(await owner.get(`${I}/users/${userId}/sessions`), 200)
  must(await owner.post(`${I}/sessions/${data[0].id}/revoke`, { reason: 'admin_action' }), 200)
  await hears(page, 'signed out')
  await page.context().close()
})
