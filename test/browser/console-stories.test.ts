/** What an administrator does in the console and others notice, in a real Chromium (issue 6, tests). */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import type { Page } from 'playwright-core'
import { must } from '../setup/actors.js'
import { apiAs } from '../setup/api.js'
import { totpCode } from '../setup/totp.js'
import { barriersOn } from './barriers.js'
import { ADMIN, type ConsoleWorld, screenshots, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let page: Page
let unexpected: () => string[]
let accountId: string
let issuerPath: string
const barriers: string[] = []

beforeAll(async () => {
  world = await startConsole()
  const made = await world.app.operator.graphql(
    'mutation { createAccount(input: { name: "Acme" }) { account { id } } }',
    {},
  )
  accountId = made.body.data.createAccount.account.id
  const opened = await world.open({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpected
}, 60_000)
afterAll(() => world?.close())

const at = (path: string) => `${world.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const dialog = (name: string) => page.getByRole('dialog', { name })

const picture = (name: string) => screenshots(page, name)

/** The sign-in of this browser happened ten minutes ago; the console hears of it as if it opened just now. */
async function tenMinutesLater(): Promise<void> {
  const { prisma } = world.app.gatehouse.tools
  await prisma.$executeRawUnsafe(`UPDATE idp_artifacts SET payload = jsonb_set(payload, '{loginTs}',
    to_jsonb((payload->>'loginTs')::bigint - 600)) WHERE kind = 'Session' AND payload ? 'loginTs'`)
  // A password that is newer than the sign-in would ask for another one by itself.
  await prisma.$executeRawUnsafe('UPDATE verifiers SET secret_set_at = secret_set_at - 3600000')
  await page.goto(at(`/sign-in?return_to=/console/accounts/${accountId}`))
  await heading('Acme')
}

test('a key is made after a second sign-in in a window of its own, and nothing typed is lost', async () => {
  await signIn(page, at(`/accounts/${accountId}`))
  await heading('Acme')
  await tenMinutesLater()
  await page.goto(at(`/accounts/${accountId}/api-keys?new=1`))
  await dialog('New API key').getByLabel('Name').fill('Importer')
  await dialog('New API key').getByLabel('issuers.users:read').check()
  await dialog('New API key').getByRole('button', { name: 'Make key' }).click()

  const again = dialog('Sign in again')
  await again.waitFor()
  barriers.push(...(await barriersOn(page)))
  await picture('step-up')
  await page.keyboard.press('Escape')
  await again.getByRole('button', { name: 'Not now' }).click()
  await dialog('New API key').getByText('Your sign-in is too long ago').waitFor()
  await dialog('New API key').getByRole('button', { name: 'Make key' }).click()
  const [popup] = await Promise.all([
    page.context().waitForEvent('page'),
    again.getByRole('button', { name: 'Sign in again' }).click(),
  ])
  await again.getByRole('status').waitFor()
  await popup.getByLabel('Username or email').fill(ADMIN.email)
  await popup.getByLabel('Password').fill(ADMIN.password)
  await Promise.all([popup.waitForEvent('close'), popup.keyboard.press('Enter')])

  await dialog('Your API key').waitFor()
  const [id = '', secret = ''] = await dialog('Your API key').locator('[data-secret]').allTextContents()
  expect(must(await world.app.operator.get(`/v1/accounts/${accountId}/api-keys/${id}`), 200).data.name).toBe('Importer')
  expect(must(await apiAs(world.app.baseUrl, { id, secret }).get('/v1/accounts'), 403).error).toBe('insufficient_scope')
  await dialog('Your API key').getByRole('button', { name: 'I have kept it' }).click()
  await heading('Importer')
  expect(unexpected()).toEqual([])
})

/** An application as its developers write it with a stock library: signs in, and asks who it is. */
const library = readFileSync(
  new URL('../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
)
const application = (settings: object) => `<!doctype html><link rel="icon" href="data:,"><h1>Notebook</h1>
<button>Who am I?</button><p role="status"></p>
<script src="/library.js"></script>
<script>
  const status = document.querySelector('p')
  const manager = new oidc.UserManager(${JSON.stringify(settings)})
  document.querySelector('button').onclick = async () => {
    status.textContent = ''
    const { access_token } = await manager.getUser()
    const answer = await fetch(${JSON.stringify('ISSUER')} + '/userinfo', { headers: { authorization: 'Bearer ' + access_token } })
    let renewed = 'renewed'
    try { await manager.signinSilent() } catch (error) { renewed = error.error }
    status.textContent = answer.status + ' ' + renewed
  }
  ;(async () => {
    if (location.pathname === '/') return manager.signinRedirect()
    const { profile } = await manager.signinRedirectCallback()
    status.textContent = 'You are ' + profile.sub
  })().catch((error) => { status.textContent = 'failed: ' + error.message })
</script>`

async function startApplication(): Promise<{ origin: string; configure(settings: object): void; close(): void }> {
  let html = ''
  const server: Server = createServer((req, res) => {
    if (req.url === '/library.js') res.setHeader('content-type', 'text/javascript').end(library)
    else res.setHeader('content-type', 'text/html').end(html)
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    origin,
    configure({ authority, ...more }: { authority: string }) {
      html = application({ authority, redirect_uri: `${origin}/callback`, scope: 'openid', ...more }).replace(
        'ISSUER',
        authority,
      )
    },
    close: () => server.close(),
  }
}

test('issuer, client and user are made, the user signs in, and the application loses a session that is suspended', async () => {
  const notebook = await startApplication()
  const press = (name: string) => page.getByRole('button', { name }).first().click()
  const follow = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()
  try {
    await page.goto(at(`/accounts/${accountId}/issuers?new=1`))
    await dialog('New issuer').getByLabel('Name').fill('Customers')
    await page.keyboard.press('Enter')
    await heading('Customers')
    const issuerId = page.url().split('/').at(-1)!
    issuerPath = `/accounts/${accountId}/issuers/${issuerId}`

    await follow('Clients')
    await press('New client')
    await dialog('New client').getByRole('radio', { name: 'Single-page app' }).click()
    await dialog('New client').getByLabel('Name').fill('Notebook')
    await dialog('New client').getByLabel('Callbacks').fill(`${notebook.origin}/callback`)
    await page.keyboard.press('Enter')
    await dialog('New client').getByRole('button', { name: 'Make client' }).click()
    await heading('Notebook')
    const clientId = page.url().split('/').at(-1)!
    notebook.configure({ authority: `${world.app.idpUrl}/${issuerId}`, client_id: clientId })

    await follow('Users')
    await press('New user')
    await dialog('New user').getByLabel('Username').fill('grace@example.com')
    await dialog('New user').getByLabel('Full name').fill('Grace Hopper')
    await dialog('New user').getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await dialog('New user').getByRole('button', { name: 'Make user' }).click()
    await heading('Grace Hopper')
    const userPath = new URL(page.url()).pathname
    const userId = userPath.split('/').at(-1)!

    const { page: theirs } = await world.open({ viewport: { width: 1280, height: 860 } })
    const status = theirs.getByRole('status')
    const whoAmI = async () => {
      await theirs.getByRole('button', { name: 'Who am I?' }).click()
      await theirs.waitForFunction("document.querySelector('p').textContent !== ''")
      return status.textContent()
    }
    await theirs.goto(`${notebook.origin}/`)
    await theirs.getByLabel('Username or email').fill('grace@example.com')
    await theirs.getByLabel('Password').fill(ADMIN.password)
    await theirs.keyboard.press('Enter')
    await status.getByText(`You are ${userId}`).waitFor()
    expect(await whoAmI()).toBe('200 renewed')

    await page
      .getByRole('navigation', { name: /^Parts of/ })
      .getByRole('link', { name: 'Sessions' })
      .click()
    await page.getByRole('button', { name: /^Session of/ }).click()
    await page.getByRole('menuitem', { name: 'Suspend …' }).click()
    await dialog('Suspend the session').getByRole('button', { name: 'Suspend' }).click()
    await page.getByText('Session suspended').waitFor()
    expect(await whoAmI()).toBe('401 invalid_grant')

    await page.getByRole('button', { name: /^Session of/ }).click()
    await page.getByRole('menuitem', { name: 'Reactivate' }).click()
    await page.getByText('Session is active again').waitFor()
    expect(await whoAmI()).toBe('200 renewed')
    await theirs.context().close()
    expect(unexpected()).toEqual([])
  } finally {
    notebook.close()
  }
})

test('users are imported: rehearsed first, gone on with after the page was left, known when they come again', async () => {
  const record = (name: string, more: object = {}) =>
    JSON.stringify({ user_id: `auth0|${name}`, email: `${name}@example.com`, password_hash: hash, ...more })
  const hash = await bcrypt.hash(ADMIN.password, 4)
  const many = Array.from({ length: 1200 }, (_, n) => record(`person-${n}`))
  const faulty = [
    record('twin', { email: 'person-3@example.com' }),
    '{"email": nothing}',
    record('keyed', { mfa_factors: [{ sms: {} }] }),
  ]
  const buffer = gzipSync([...many, ...faulty].join('\n'))
  const choose = async () => {
    await page.goto(at(`${issuerPath}/users/import`))
    await heading('Import users')
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'File' }).click(),
    ])
    await chooser.setFiles({ name: 'auth0.ndjson.gz', mimeType: 'application/gzip', buffer })
    await page.getByRole('button', { name: 'Rehearse' }).click()
  }
  const title = (name: string) => page.getByRole('heading', { level: 2, name }).waitFor()

  await page.goto(at(`${issuerPath}/users`))
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  await choose()
  await title('Would import 1,200 of 1,203 users')
  const refused = page.getByRole('table', { name: 'Refused lines' })
  expect(await refused.getByRole('row').count()).toBe(4)
  barriers.push(...(await barriersOn(page)))
  await picture('import')
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Refused lines' }).click(),
  ])
  const rows = readFileSync(await download.path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(rows.map(({ line, external_id, reason }) => [line, external_id, reason])).toEqual([
    [1201, 'auth0|twin', 'username_taken'],
    [1202, null, 'invalid_json'],
    [1203, 'auth0|keyed', 'unsupported_credential'],
  ])

  // The second portion never arrives, and somebody closes the page.
  let portions = 0
  await page.route('**/console/graphql', async (route) => {
    const isPortion = route.request().postData()?.includes('"dryRun":false')
    if (!isPortion || ++portions < 2) await route.continue()
  })
  page.once('dialog', (asked) => void asked.accept())
  await page.getByRole('button', { name: 'Import 1,200 users' }).click()
  await page.getByText(/^500 read/).waitFor()
  await page.goto(at(`${issuerPath}/users`))
  await page.unroute('**/console/graphql')

  await choose()
  await title('Would import 700 of 1,203 users')
  await page.getByText('500 users, left alone').waitFor()
  await page.getByRole('button', { name: 'Import 700 users' }).click()
  await title('Imported 700 of 1,203 users')
  await picture('imported')
  const [ids] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Old and new ids' }).click(),
  ])
  const kept = readFileSync(await ids.path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(kept).toHaveLength(700)
  expect(kept[0]).toEqual({ external_id: expect.stringMatching(/^auth0\|/), user_id: expect.stringMatching(/^usr_/) })
  await page.getByRole('link', { name: 'To the users' }).click()
  await page.getByRole('table', { name: 'Users' }).waitFor()
  expect(unexpected()).toEqual([])
})

test('the console is entered with a password and a code', async () => {
  const { operator, clock } = world.app
  const { user, home } = await (await page.request.get(at('/session'))).json()
  const I = `/v1/accounts/${home.accountId}/issuers/${home.issuerId}`
  must(await operator.post(`${I}/auth-methods`, { name: 'Codes', method: 'totp' }), 201)
  const verifiers = `${I}/users/${user.id}/verifiers`
  const enrolment = { type: 'totp_enrollment', name: null, issuer_name: 'Gatehouse' }
  const { enrollment_id, secret } = must(await operator.post(verifiers, enrolment), 201).data
  const proof = { enrollment_id, code: totpCode(secret, clock.now(), -1) }
  must(await operator.post(`${verifiers}/complete-enrollment`, proof), 200)

  await page.context().clearCookies()
  await signIn(page, at(`/accounts/${accountId}`))
  const code = page.getByRole('textbox', { name: 'Code' })
  await code.fill('000000')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await code.fill(totpCode(secret, clock.now()))
  await page.keyboard.press('Enter')
  await heading('Acme')
})

test('no page of these stories keeps anybody out', () => {
  expect(barriers).toEqual([])
})
