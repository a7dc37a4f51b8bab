/** Through another provider in a real Chromium: its cookie rules decide whether somebody comes back. */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import Provider from 'oidc-provider'
import type { Browser } from 'playwright-core'
import { Codes, FakeOidc, FakeServer, SECRET } from '../idp/login/providers.js'
import { type Method, WaysIn } from '../idp/login/ways-in.js'
import { Realm } from '../idp/setup.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'
import { startStrictBrowser, watchedPage } from './watched-page.js'

let app: TestApp
let ways: WaysIn
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
  const realm = await Realm.make(app, 'Northwind')
  application = createServer((_, res) =>
    res.setHeader('content-type', 'text/html').end('<link rel="icon" href="data:,"><h1>Notebook</h1>'),
  )
  await new Promise<void>((done) => application.listen(0, '127.0.0.1', done))
  callback = `http://127.0.0.1:${(application.address() as AddressInfo).port}/callback`
  const client = await realm.client({ application_type: 'spa', redirect_uris: [callback] })
  ways = new WaysIn(realm, client)
  browser = await startStrictBrowser()
}, 60_000)
afterAll(async () => {
  await browser?.close()
  await app?.close()
  for (const server of [application, upstream]) await new Promise((done) => server?.close(done))
})

const start = () => ways.realm.authorizeUrl(ways.client, { ...challenge, redirect_uri: callback })

/** The application got a code that is good for tokens. */
async function tokensOf(url: string): Promise<number> {
  const code = new URL(url).searchParams.get('code')!
  const answer = await ways.realm.exchange(ways.client, { code, code_verifier: verifier, redirect_uri: callback })
  return answer.status
}

test('a stock oidc-provider on another site: its pages, and back', async () => {
  const [port] = await freePorts(1)
  // localhost and 127.0.0.1 are two sites.
  const url = `http://localhost:${port}`
  const method = await ways.oidc(url, { name: 'Stock' })
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

  const { page, faults } = await watchedPage(browser, new URL(ways.realm.url).origin, { javaScriptEnabled: false })
  await page.goto(start())
  await page.getByRole('button', { name: 'Continue with Stock' }).click()
  await page.getByPlaceholder('Enter any login').fill('grace')
  await page.getByPlaceholder('and password').fill('any')
  await page.getByRole('button', { name: 'Sign-in' }).click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { name: 'Notebook' }).waitFor()
  expect(await tokensOf(page.url())).toBe(200)
  const users = await ways.users()
  expect(users).toMatchObject([{ username: 'grace@stock.example', verifiers: [{ type: 'oauth', name: 'Stock' }] }])
  const expected = [`asked ${url}`, `asked ${callback}`, 'asked data:', 'console: ', 'asked https://fonts']
  expect(faults.filter((fault) => !expected.some((begin) => fault.startsWith(begin)))).toEqual([])
  await page.context().close()
})

test('a form that another site posts back (as Apple does) comes without cookies, and its browser is known all the same', async () => {
  const signer = new FakeOidc()
  const codes = new Codes()
  let method: Method | undefined
  // Apple's own protocol but for its secret: that is tested elsewhere.
  const site = new FakeServer({
    ...signer.paths,
    '/authorize': (asked) => {
      const said = codes.issue(asked)
      const answer = new URL((said as { location: string }).location).searchParams
      const inputs = [...answer].map(([name, value]) => `<input type="hidden" name="${name}" value="${value}">`)
      const action = asked.params.get('redirect_uri')
      return {
        headers: { 'content-type': 'text/html' },
        text: `<h1>Apple</h1><form method="post" action="${action}">${inputs.join('')}<button>Allow</button></form>`,
      }
    },
  })
  await site.open('localhost')
  signer.url = site.url
  Object.assign(signer, { codes })
  try {
    signer.person = { sub: 'form', email: 'form@stock.example', email_verified: true }
    method = await ways.oidc(site.url, { name: 'Form' })
    const { page } = await watchedPage(browser, new URL(ways.realm.url).origin, {})
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
    expect(await tokensOf(page.url())).toBe(200)
    expect((await ways.users()).at(-1)).toMatchObject({ username: 'form@stock.example' })
    await page.context().close()
  } finally {
    await site.close()
  }
})
