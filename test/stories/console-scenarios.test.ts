/** Actions in the console and their effects on applications and users, in Chromium. */
import { readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import bcrypt from 'bcrypt'
import type { Page } from 'playwright-core'
import { accessibilityViolations } from '../browser/accessibility.js'
import {
  ADMIN,
  addEntry,
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from '../browser/console-fixture.js'
import { expectStatus } from '../setup/actors.js'
import { createApiClient } from '../setup/api.js'
import { totpCode } from '../setup/totp.js'

let fixture: ConsoleFixture
let page: Page
let unexpected: () => string[]
let accountId: string
let issuerPath: string
const violations: string[] = []

beforeAll(async () => {
  fixture = await startConsoleFixture()
  const response = await fixture.app.operator.graphql(
    'mutation { createAccount(input: { name: "Acme" }) { account { id } } }',
    {},
  )
  accountId = response.body.data.createAccount.account.id
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
}, 60_000)
afterAll(() => fixture?.close())

const at = (path: string) => `${fixture.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const dialog = (name: string) => page.getByRole('dialog', { name })

const takeScreenshot = (name: string) => saveScreenshots(page, name)

/** Makes the sign-in at the issuer ten minutes older, and signs in to the console again by single sign-on. */
async function ageSignInByTenMinutes(): Promise<void> {
  const { prisma } = fixture.app.gatehouse.database
  await prisma.$executeRawUnsafe(`UPDATE idp_artifacts SET payload = jsonb_set(payload, '{loginTs}',
    to_jsonb((payload->>'loginTs')::bigint - 600)) WHERE kind = 'Session' AND payload ? 'loginTs'`)
  // A password that is newer than the sign-in would end the sign-in.
  await prisma.$executeRawUnsafe('UPDATE verifiers SET secret_set_at = secret_set_at - 3600000')
  await page.goto(at(`/sign-in?return_to=/console/accounts/${accountId}`))
  await heading('Acme')
}

test('creating a key requires a recent sign-in, which happens in a popup and keeps unsaved input', async () => {
  await signInAsAdministrator(page, at(`/accounts/${accountId}`))
  await heading('Acme')
  await ageSignInByTenMinutes()
  await page.goto(at(`/accounts/${accountId}/api-keys?new=1`))
  await dialog('Create API key').getByLabel('Name').fill('Importer')
  await dialog('Create API key').getByLabel('issuers.users:read').check()
  await dialog('Create API key').getByRole('button', { name: 'Create key' }).click()

  const again = dialog('Sign in again')
  await again.waitFor()
  violations.push(...(await accessibilityViolations(page)))
  await takeScreenshot('step-up')
  await page.keyboard.press('Escape')
  await again.getByRole('button', { name: 'Cancel' }).click()
  await dialog('Create API key').getByText('This needs a more recent sign-in').waitFor()
  await dialog('Create API key').getByRole('button', { name: 'Create key' }).click()
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
  expect(expectStatus(await fixture.app.operator.get(`/v1/accounts/${accountId}/api-keys/${id}`), 200).data.name).toBe(
    'Importer',
  )
  expect(expectStatus(await createApiClient(fixture.app.baseUrl, { id, secret }).get('/v1/accounts'), 403).error).toBe(
    'insufficient_scope',
  )
  await dialog('Your API key').getByRole('button', { name: "I've saved it" }).click()
  await heading('Importer')
  expect(unexpected()).toEqual([])
})

const library = readFileSync(
  new URL('../../../node_modules/oidc-client-ts/dist/browser/oidc-client-ts.min.js', import.meta.url),
)
/** The page of an application with oidc-client-ts, which signs in, calls userinfo and refreshes its tokens. */
const application = (settings: object) => `<!doctype html><link rel="icon" href="data:,"><h1>Notebook</h1>
<button>Who am I?</button><p role="status"></p>
<script src="/library.js"></script>
<script>
  const status = document.querySelector('p')
  const manager = new oidc.UserManager(${JSON.stringify(settings)})
  document.querySelector('button').onclick = async () => {
    status.textContent = ''
    const { access_token } = await manager.getUser()
    const response = await fetch(${JSON.stringify('ISSUER')} + '/userinfo', { headers: { authorization: 'Bearer ' + access_token } })
    let renewed = 'renewed'
    try { await manager.signinSilent() } catch (error) { renewed = error.error }
    status.textContent = response.status + ' ' + renewed
  }
  ;(async () => {
    if (location.pathname === '/') return manager.signinRedirect()
    const { profile } = await manager.signinRedirectCallback()
    status.textContent = 'You are ' + profile.sub
  })().catch((error) => { status.textContent = 'failed: ' + error.message })
</script>`

/** Serves the page of the application. `configure` sets the settings of oidc-client-ts. */
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

test('after an issuer, client and user are created, the user signs in; suspending the session ends the access of the application', async () => {
  const notebook = await startApplication()
  const press = (name: string) => page.getByRole('button', { name }).first().click()
  const follow = (name: string) => page.getByRole('navigation', { name: 'Main' }).getByRole('link', { name }).click()
  try {
    await page.goto(at(`/accounts/${accountId}/issuers?new=1`))
    await dialog('Create issuer').getByLabel('Name').fill('Customers')
    await page.keyboard.press('Enter')
    await heading('Customers')
    const issuerId = page.url().split('/').at(-1)!
    issuerPath = `/accounts/${accountId}/issuers/${issuerId}`

    await follow('Clients')
    await press('Create client')
    await dialog('Create client').getByRole('radio', { name: 'Single-page app' }).click()
    await dialog('Create client').getByLabel('Name').fill('Notebook')
    const redirectUris = dialog('Create client').getByLabel('Redirect URIs', { exact: true })
    await addEntry(redirectUris, `${notebook.origin}/callback`)
    await dialog('Create client').getByRole('button', { name: 'Create client' }).click()
    await heading('Notebook')
    const clientId = page.url().split('/').at(-1)!
    notebook.configure({ authority: `${fixture.app.idpUrl}/${issuerId}`, client_id: clientId })

    await follow('Users')
    await press('Create user')
    await dialog('Create user').getByLabel('Username').fill('grace@example.com')
    await dialog('Create user').getByLabel('Full name').fill('Grace Hopper')
    await dialog('Create user').getByLabel('Password', { exact: true }).fill(ADMIN.password)
    await dialog('Create user').getByRole('button', { name: 'Create user' }).click()
    await heading('Grace Hopper')
    const userPath = new URL(page.url()).pathname
    const userId = userPath.split('/').at(-1)!

    const { page: userPage } = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
    const status = userPage.getByRole('status')
    const whoAmI = async () => {
      await userPage.getByRole('button', { name: 'Who am I?' }).click()
      await userPage.waitForFunction("document.querySelector('p').textContent !== ''")
      return status.textContent()
    }
    await userPage.goto(`${notebook.origin}/`)
    await userPage.getByLabel('Username or email').fill('grace@example.com')
    await userPage.getByLabel('Password').fill(ADMIN.password)
    await userPage.keyboard.press('Enter')
    await status.getByText(`You are ${userId}`).waitFor()
    expect(await whoAmI()).toBe('200 renewed')

    await page
      .getByRole('navigation', { name: /^Sections of/ })
      .getByRole('link', { name: 'Sessions' })
      .click()
    await page.getByRole('button', { name: /^Session of/ }).click()
    await page.getByRole('menuitem', { name: 'Suspend …' }).click()
    await dialog('Suspend session').getByRole('button', { name: 'Suspend' }).click()
    await page.getByText('Session suspended').waitFor()
    expect(await whoAmI()).toBe('401 invalid_grant')

    await page.getByRole('button', { name: /^Session of/ }).click()
    await page.getByRole('menuitem', { name: 'Reactivate' }).click()
    await page.getByText('Session reactivated').waitFor()
    expect(await whoAmI()).toBe('200 renewed')
    await userPage.context().close()
    expect(unexpected()).toEqual([])
  } finally {
    notebook.close()
  }
})

test('an import starts with a dry run, can be continued after the page was left, and skips existing users', async () => {
  const record = (name: string, more: object = {}) =>
    JSON.stringify({ user_id: `auth0|${name}`, email: `${name}@example.com`, password_hash: hash, ...more })
  const hash = await bcrypt.hash(ADMIN.password, 4)
  const many = Array.from({ length: 1200 }, (_, n) => record(`person-${n}`))
  const invalid = [
    record('twin', { email: 'person-3@example.com' }),
    '{"email": nothing}',
    record('keyed', { mfa_factors: [{ sms: {} }] }),
  ]
  const buffer = gzipSync([...many, ...invalid].join('\n'))
  const choose = async () => {
    await page.goto(at(`${issuerPath}/users/import`))
    await heading('Import users')
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: 'File' }).click(),
    ])
    await chooser.setFiles({ name: 'auth0.ndjson.gz', mimeType: 'application/gzip', buffer })
    await page.getByRole('button', { name: 'Start dry run' }).click()
  }
  const title = (name: string) => page.getByRole('heading', { level: 2, name }).waitFor()

  await page.goto(at(`${issuerPath}/users`))
  await page.getByRole('link', { name: 'Import', exact: true }).click()
  await choose()
  await title('Would import 1,200 of 1,203 users')
  const refused = page.getByRole('table', { name: 'Refused lines' })
  expect(await refused.getByRole('row').count()).toBe(4)
  violations.push(...(await accessibilityViolations(page)))
  await takeScreenshot('import')
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

  // The server never gets the second batch, and the user leaves the page.
  let batches = 0
  await page.route('**/console/graphql', async (route) => {
    const isImportBatch = route.request().postData()?.includes('"dryRun":false')
    if (!isImportBatch || ++batches < 2) await route.continue()
  })
  page.once('dialog', (prompt) => void prompt.accept())
  await page.getByRole('button', { name: 'Import 1,200 users' }).click()
  await page.getByText(/^500 read/).waitFor()
  await page.goto(at(`${issuerPath}/users`))
  await page.unroute('**/console/graphql')

  await choose()
  await title('Would import 700 of 1,203 users')
  await page.getByText('500 users, skipped').waitFor()
  await page.getByRole('button', { name: 'Import 700 users' }).click()
  await title('Imported 700 of 1,203 users')
  await takeScreenshot('imported')
  const [ids] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download ID mapping' }).click(),
  ])
  const mapping = readFileSync(await ids.path(), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(mapping).toHaveLength(700)
  expect(mapping[0]).toEqual({
    external_id: expect.stringMatching(/^auth0\|/),
    user_id: expect.stringMatching(/^usr_/),
  })
  await page.getByRole('link', { name: 'Open users' }).click()
  await page.getByRole('table', { name: 'Users' }).waitFor()
  expect(unexpected()).toEqual([])
})

test('signing in to the console with a password and a TOTP code', async () => {
  const { operator, clock } = fixture.app
  const { user, home } = await (await page.request.get(at('/session'))).json()
  const I = `/v1/accounts/${home.accountId}/issuers/${home.issuerId}`
  expectStatus(await operator.post(`${I}/auth-methods`, { name: 'Codes', method: 'totp' }), 201)
  const verifiers = `${I}/users/${user.id}/verifiers`
  const enrollment = { type: 'totp_enrollment', name: null, issuer_name: 'Gatehouse' }
  const { enrollment_id, secret } = expectStatus(await operator.post(verifiers, enrollment), 201).data
  const proof = { enrollment_id, code: totpCode(secret, clock.now(), -1) }
  expectStatus(await operator.post(`${verifiers}/complete-enrollment`, proof), 200)

  await page.context().clearCookies()
  await signInAsAdministrator(page, at(`/accounts/${accountId}`))
  const code = page.getByRole('textbox', { name: 'Code' })
  await code.fill('000000')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').waitFor()
  await code.fill(totpCode(secret, clock.now()))
  await page.keyboard.press('Enter')
  await heading('Acme')
})

test('no page had accessibility violations', () => {
  expect(violations).toEqual([])
})
