/** Sign-in with upstream providers on another site, in Chromium, which applies the SameSite rules of cookies. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import Provider from 'oidc-provider'
import type { Browser } from 'playwright-core'
import { type Method, UpstreamFixture } from '../idp/login/upstream-fixture.js'
import { AuthorizationCodes, FakeOidc, FakeServer, SECRET } from '../idp/login/upstream-providers.js'
import { Realm } from '../idp/realm.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let fixture: UpstreamFixture
let browser: Browser
let application: Server
let upstream: Server
let callback: string
const verifier = randomBytes(32).toString('base64url')
const challenge = {
  code_challenge: createHash('sha256').update(verifier).digest('base64url'),
  code_challenge_method: 'S256',
}

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' } })
  const realm = await Realm.create(app, 'Northwind')
  application = createServer((_, res) =>
    res.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><h1>Notebook</h1>'),
  )
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  const client = await realm.createClient({ application_type: 'spa', redirect_uris: [callback] })
  fixture = new UpstreamFixture(realm, client)
  browser = await launchBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  for (const server of [application, upstream]) await new Promise((done) => server?.close(done))
})

const start = () => fixture.realm.authorizeUrl(fixture.client, { ...challenge, redirect_uri: callback })

/** Exchanges the code in a redirect URI. @returns the status of the token response */
async function exchangeStatus(url: string): Promise<number> {
  const code = new URL(url).searchParams.get('code')!
  const response = await fixture.realm.exchangeCode(fixture.client, {
    code,
    code_verifier: verifier,
    redirect_uri: callback,
  })
  return response.status
}

test('a sign-in at an oidc-provider on another site', async () => {
  const [port] = await freePorts(1)
  // For a browser, localhost and 127.0.0.1 are different sites.
  const url = `http://localhost:${port}`
  const method = await fixture.addOidcMethod(url, { name: 'Stock' })
  const provider = new Provider(url, {
    clients: [{ client_id: 'us', client_secret: SECRET, redirect_uris: [method.callback_url] }],
    claims: { openid: ['sub'], email: ['email', 'email_verified'] },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@stock.example`, email_verified: true }),
    }),
    cookies: { keys: ['some key of the upstream'] },
  })
  upstream = createServer(provider.callback())
  await new Promise<void>((done) => upstream.listen(port, 'localhost', done))

  const { page, problems } = await openMonitoredPage(browser, new URL(fixture.realm.url).origin, {
    javaScriptEnabled: false,
  })
  await page.goto(start())
  await page.getByRole('button', { name: 'Continue with Stock' }).click()
  await page.getByPlaceholder('Enter any login').fill('grace')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  expect(await exchangeStatus(page.url())).toBe(200)
  const users = await fixture.listUsers()
  expect(users).toMatchObject([{ username: 'grace@stock.example', verifiers: [{ type: 'oauth', name: 'Stock' }] }])
  const expected = [
    `requested ${url}`,
    `requested ${callback}`,
    'requested data:',
    'console: ',
    'requested https://fonts',
  ]
  expect(problems.filter((problem) => !expected.some((prefix) => problem.startsWith(prefix)))).toEqual([])
  await page.context().close()
})

test('a cross-site form_post response (as from Apple) has no cookies, and the sign-in still completes', async () => {
  const signer = new FakeOidc()
  const codes = new AuthorizationCodes()
  let method: Method | undefined
  // The protocol of Apple, except for its client secret, which upstream-kinds.test.ts tests.
  const site = new FakeServer({
    ...signer.paths,
    '/authorize': (request) => {
      const issued = codes.issue(request)
      const response = new URL((issued as { location: string }).location).searchParams
      const inputs = [...response].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
      const action = request.params.get('redirect_uri')
      return {
        headers: { 'content-type': 'text/html' },
        text: `<h1>Apple</h1><form method="post" action="${action}">${inputs.join('')}<button>Allow</button></form>`,
      }
    },
  })
  await site.pending('localhost')
  signer.url = site.url
  Object.assign(signer, { codes })
  try {
    signer.userClaims = { sub: 'form', email: 'form@stock.example', email_verified: true }
    method = await fixture.addOidcMethod(site.url, { name: 'Form' })
    const { page } = await openMonitoredPage(browser, new URL(fixture.realm.url).origin, {})
    const posted: Promise<string | undefined>[] = []
    page.on('request', (request) => {
      if (request.method() === 'POST' && request.url() === method!.callback_url)
        posted.push(request.allHeaders().then(({ cookie }) => cookie))
    })
    await page.goto(start())
    await page.getByRole('button', { name: 'Continue with Form' }).click()
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.getByRole('heading', { name: 'Notebook' }).waitFor()
    expect(await Promise.all(posted)).toEqual([undefined])
    expect(await exchangeStatus(page.url())).toBe(200)
    expect((await fixture.listUsers()).at(-1)).toMatchObject({ username: 'form@stock.example' })
    await page.context().close()
  } finally {
    await site.close()
  }
})
