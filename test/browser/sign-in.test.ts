/** Sign-in and sign-out on the hosted pages, in Chromium. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Browser } from 'playwright-core'
import { PASSWORD, Realm, type TestClient } from '../idp/realm.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let realm: Realm
let browser: Browser
let application: Server
let callback: string
let client: TestClient
const verifier = randomBytes(32).toString('base64url')
const challenge = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
}

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Northwind')
  await realm.createUser('ada@example.com')
  application = createServer((_, res) =>
    res.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><h1>Notebook</h1>'),
  )
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  client = await realm.createClient({
    application_type: 'spa',
    redirect_uris: [callback],
    post_logout_redirect_uris: [callback],
  })
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  await new Promise((done) => application.close(done))
})

test.each([
  { javaScriptEnabled: true, colorScheme: 'light' as const, viewport: { width: 1280, height: 800 } },
  { javaScriptEnabled: false, colorScheme: 'dark' as const, viewport: { width: 360, height: 640 } },
])('a wrong password, then sign-in and sign-out: %j', async (options) => {
  const { page, problems, requests } = await openMonitoredPage(browser, new URL(realm.url).origin, options)
  await page.goto(realm.authorizeUrl(client, { ...challenge, redirect_uri: callback }))

  // The test uses only the keyboard and the labels of the fields.
  await page.getByLabel('Username or email').fill('ada@example.com')
  await page.keyboard.press('Tab')
  await page.keyboard.type('not the password')
  await page.keyboard.press('Enter')
  const alert = page.getByRole('alert')
  await alert.waitFor()
  expect(await alert.textContent()).toContain('do not match')
  expect(await page.getByLabel('Username or email').inputValue()).toBe('ada@example.com')
  expect(await page.getByLabel('Password').getAttribute('aria-invalid')).toBe('true')
  const box = (await page.locator('main').boundingBox())!
  expect(box.x).toBeGreaterThanOrEqual(0)
  expect(box.x + box.width).toBeLessThanOrEqual(options.viewport.width)

  // After the error, the focus is on the password field.
  await page.keyboard.type(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  const back = new URL(page.url())
  expect(back.href.startsWith(callback)).toBe(true)
  const tokens = await realm.exchangeCode(client, {
    code: back.searchParams.get('code')!,
    code_verifier: verifier,
    redirect_uri: callback,
  })
  expect(tokens.status).toBe(200)

  await page.goto(
    `${realm.url}/logout?${new URLSearchParams({ client_id: client.id, post_logout_redirect_uri: callback })}`,
  )
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  expect((await realm.refresh(client, tokens.body.refresh_token)).body.error).toBe('invalid_grant')

  // Requests to the application are expected. A request of a data: URL is no network request.
  const expected = ['requested data:', `requested ${callback}`]
  expect(problems.filter((problem) => !expected.some((prefix) => problem.startsWith(prefix)))).toEqual([])
  expect(requests.some((url) => url.startsWith(`${realm.url}/interaction/`))).toBe(true)
  await page.context().close()
})

test('a logout form on another site signs the user out after confirmation, although its request has no cookies', async () => {
  const { page } = await openMonitoredPage(browser, new URL(callback).origin, {})
  await page.goto(realm.authorizeUrl(client, { ...challenge, redirect_uri: callback }))
  await page.getByLabel('Username or email').fill('ada@example.com')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()

  // For the browser, localhost is another site than 127.0.0.1, although it is the same server.
  await page.goto(callback.replace('127.0.0.1', 'localhost'))
  await page.setContent(`<form method="post" action="${realm.url}/logout">
    <input name="client_id" value="${client.id}"><input name="post_logout_redirect_uri" value="${callback}">
    <button>Leave</button></form>`)
  await page.getByRole('button', { name: 'Leave' }).click()
  await page.getByRole('heading', { name: 'Do you want to sign out?' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  await page.goto(realm.authorizeUrl(client, { ...challenge, redirect_uri: callback }))
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await page.context().close()
})

test('the sign-in page cannot be framed', async () => {
  const { page } = await openMonitoredPage(browser, new URL(callback).origin, {})
  await page.goto(callback)
  await page.setContent(
    `<iframe src="${realm.authorizeUrl(client, { ...challenge, redirect_uri: callback })}"></iframe>`,
  )
  await page.waitForTimeout(500)
  const framed = page.frames().filter((frame) => frame !== page.mainFrame())
  for (const frame of framed) expect(await frame.content()).not.toContain('Sign in')
  await page.context().close()
})
