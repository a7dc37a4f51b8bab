/** Issuers, clients, users, lists, search and sessions in the console, in Chromium. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { version } from '../../src/platform/package-info.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { accessibilityViolations } from './accessibility.js'
import {
  ADMIN,
  addEntry,
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from './console-fixture.js'

let fixture: ConsoleFixture
let page: Page
let unexpected: () => string[]
let accountId: string

beforeAll(async () => {
  fixture = await startConsoleFixture()
  const input = { name: 'Acme', description: 'Sells everything.' }
  const response = await fixture.app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input },
  )
  accountId = response.body.data.createAccount.account.id
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 }, acceptDownloads: true })
  page = opened.page
  unexpected = opened.unexpectedProblems
}, 60_000)
afterAll(() => fixture?.close())

const at = (path: string) => `${fixture.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

const violations: string[] = []

/** Collects accessibility violations. The last test expects that there are none. */
async function expectAccessible(): Promise<void> {
  violations.push(...(await accessibilityViolations(page)))
}

/** Expects that the page fits a phone, without horizontal scrolling. */
async function expectFitsPhone(): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
}

let issuerPath: string
let issuerId: string

test('a deep link redirects to the sign-in and back', async () => {
  await signInAsAdministrator(page, at(`/accounts/${accountId}`))
  await heading('Acme')
  expect(page.url()).toBe(at(`/accounts/${accountId}`))
  await expectAccessible()
  await expectFitsPhone()
})

test('an issuer can be created, and its settings saved', async () => {
  await page.getByRole('link', { name: 'Create issuer' }).click()
  const dialog = page.getByRole('dialog', { name: 'Create issuer' })
  await dialog.getByRole('button', { name: 'Create issuer' }).click()
  await dialog.getByText('Name is required.').waitFor()
  await dialog.getByLabel('Name').fill('Customers')
  await expectAccessible()
  await page.keyboard.press('Enter')
  await heading('Customers')
  issuerPath = new URL(page.url()).pathname.slice('/console'.length)
  issuerId = issuerPath.split('/').at(-1)!
  await expectAccessible()

  await page.goto(at(`${issuerPath}/settings/branding`))
  await page.getByLabel('Display name').fill('Acme shop')
  await page.getByLabel('Primary color').fill('#0f766e')
  await page.getByRole('figure', { name: 'Preview of the sign-in page' }).getByText('Acme shop').waitFor()
  await expectAccessible()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  const { settings } = expectStatus(await fixture.app.operator.get(`/v1${issuerPath}`), 200).data
  expect(settings.branding).toEqual({ display_name: 'Acme shop', theme: { primary_color: '#0f766e' } })
  expect(settings.security).toBeDefined()

  await page.goto(at(`${issuerPath}/settings/security`))
  await page.getByRole('combobox', { name: /^Allowed CORS origins/ }).fill('not an origin')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await page.getByText(/must be an origin such as/).waitFor()
  await expectAccessible()

  // Saves the rules for the redirect URIs of clients.
  await page.reload()
  const form = page.locator('form', { has: page.getByLabel('Allow loopback redirect URIs') })
  await form.getByLabel('Allow loopback redirect URIs').uncheck()
  await form.getByRole('combobox', { name: /^Allowed hosts/ }).fill('*.example.com')
  await page.keyboard.press('Enter')
  await form.scrollIntoViewIfNeeded()
  await saveScreenshots(page, 'redirect-uri-rules')
  await form.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  const rulesNow = async () =>
    expectStatus(await fixture.app.operator.get(`/v1${issuerPath}`), 200).data.settings.security.redirect_uri_rules
  expect(await rulesNow()).toEqual({ allow_loopback: false, allowed_hosts: ['*.example.com'] })
  // An empty list of allowed hosts allows any host again.
  await form.getByRole('combobox', { name: /^Allowed hosts/ }).focus()
  await page.keyboard.press('Backspace')
  await form.getByLabel('Allow loopback redirect URIs').check()
  const saved = page.waitForResponse(
    async (response) => (await response.request().postData())?.includes('updateIssuer') === true,
  )
  await form.getByRole('button', { name: 'Save changes' }).click()
  await saved
  expect(await rulesNow()).toEqual({ allow_loopback: true })
})

test('creating a server app shows its secret once and its id in the snippet; the secret can be rotated', async () => {
  await page.getByRole('link', { name: 'Clients' }).click()
  await heading('Clients')
  await expectAccessible()
  await page.getByRole('button', { name: 'Create client' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create client' })
  await dialog.getByRole('radio', { name: 'Server app' }).click()
  await dialog.getByLabel('Name').fill('Back office')
  await addEntry(dialog.getByLabel('Redirect URIs', { exact: true }), 'https://office.example.com/callback')
  await expectAccessible()
  await dialog.getByRole('button', { name: 'Create client' }).click()

  const secretDialog = page.getByRole('dialog', { name: 'Client secret' })
  await secretDialog.waitFor()
  const [id, secret] = await secretDialog.locator('[data-secret]').allTextContents()
  await page.keyboard.press('Escape')
  expect(await secretDialog.isVisible()).toBe(true)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    secretDialog.getByRole('button', { name: 'Download' }).click(),
  ])
  expect(readFileSync(await download.path(), 'utf8')).toBe(`Client ID: ${id}\nClient secret: ${secret}\n`)
  await expectAccessible()
  await secretDialog.getByRole('button', { name: "I've saved it" }).click()

  await heading('Back office')
  await page.getByText(`clientID: '${id}'`).waitFor()
  expect(await page.content()).not.toContain(secret!)
  await expectAccessible()
  await expectFitsPhone()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('button', { name: 'Create new secret' }).click()
  const rotated = page.getByRole('dialog', { name: 'New secret' })
  expect(await rotated.locator('[data-secret]').textContent()).not.toBe(secret)
  await rotated.getByRole('button', { name: "I've saved it" }).click()
})

test('after a conflict, the second user sees both versions and chooses one', async () => {
  await page
    .getByRole('navigation', { name: 'Sections of Back office' })
    .getByRole('link', { name: 'Settings' })
    .click()
  const name = page.getByRole('textbox', { name: /^Name/ })
  await name.fill('Mine')
  await page.getByLabel('Description').fill('Only for us')
  const { owner, path } = await getOtherEditor()
  expectStatus(await owner.patch(path, { name: 'Theirs' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).first().click()

  const dialog = page.getByRole('dialog', { name: 'Changed by someone else' })
  await dialog.waitFor()
  expect(await dialog.getByRole('row', { name: /^Name/ }).textContent()).toBe('NameTheirsMine')
  expect(await dialog.getByRole('row', { name: /^Description/ }).textContent()).toBe('Description–Only for us')
  await expectAccessible()
  await dialog.getByRole('button', { name: 'Overwrite with my changes' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(expectStatus(await owner.get(path), 200).data).toMatchObject({ name: 'Mine', description: 'Only for us' })

  await name.fill('Mine again')
  expectStatus(await owner.patch(path, { name: 'Theirs again' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await dialog.getByRole('button', { name: 'Discard my changes' }).click()
  await heading('Theirs again')
  expect(await name.inputValue()).toBe('Theirs again')
  expect(expectStatus(await owner.get(path), 200).data.name).toBe('Theirs again')
})

async function getOtherEditor() {
  const clientId = new URL(page.url()).pathname.split('/').at(-2)
  return { owner: fixture.app.operator, path: `/v1${issuerPath}/clients/${clientId}` }
}

test('a user can be created, found, suspended and deleted', async () => {
  await page.goto(at(`${issuerPath}/users?new=1`))
  const dialog = page.getByRole('dialog', { name: 'Create user' })
  await dialog.getByLabel('Username').fill('grace@example.com')
  await dialog.getByLabel('Full name').fill('Grace Hopper')
  await dialog.getByLabel('Password', { exact: true }).fill(ADMIN.password)
  await dialog.getByRole('button', { name: 'Create user' }).click()
  await heading('Grace Hopper')
  const userPath = new URL(page.url()).pathname.slice('/console'.length)
  await expectAccessible()
  await page.getByRole('link', { name: 'Credentials' }).click()
  await page.getByRole('table', { name: 'Credentials' }).getByText('Password').first().waitFor()
  await expectAccessible()

  await page.getByRole('link', { name: 'Users' }).first().click()
  await page.getByRole('table', { name: 'Users' }).getByText('Grace Hopper').waitFor()
  await page.getByRole('searchbox').fill('unknown')
  await page.getByRole('heading', { name: 'No results' }).waitFor()
  expect(new URL(page.url()).searchParams.get('search')).toBe('unknown')
  await page.getByRole('searchbox').fill('grace@')
  await page.getByRole('table', { name: 'Users' }).getByText('Grace Hopper').click()
  await heading('Grace Hopper')

  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await page.getByLabel('Reason').fill('On leave')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('User saved').waitFor()
  expect(expectStatus(await fixture.app.operator.get(`/v1${userPath}`), 200).data).toMatchObject({
    status: 'suspended',
    status_reason: 'On leave',
  })

  await page.getByRole('button', { name: 'Delete user' }).click()
  const confirm = page.getByRole('dialog', { name: 'Delete this user' })
  expect(await confirm.getByRole('button', { name: 'Delete user' }).isDisabled()).toBe(true)
  await confirm.getByRole('textbox').fill('grace@example.com')
  await confirm.getByRole('button', { name: 'Delete user' }).click()
  await page.getByRole('heading', { name: 'No users yet' }).waitFor()
})

test('lists are paged, and the back button returns to the previous page', async () => {
  for (let n = 1; n <= 30; n++) {
    const body = { username_type: 'unique', username: `person${n}`, profile: { name: `Person ${n}` } }
    expectStatus(await fixture.app.operator.post(`/v1${issuerPath}/users`, body), 201)
  }
  await page.goto(at(`${issuerPath}/users`))
  const table = page.getByRole('table', { name: 'Users' })
  await table.getByText('Person 30', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await table.getByText('Person 1', { exact: true }).waitFor()
  await page.goBack()
  await table.getByText('Person 30', { exact: true }).waitFor()
  await page.goForward()
  await table.getByText('Person 1', { exact: true }).waitFor()
  await page.getByRole('button', { name: 'Previous' }).click()
  await table.getByText('Person 30', { exact: true }).waitFor()
})

test('lists, the command palette and the account switcher search on the server', async () => {
  const { operator } = fixture.app
  expectStatus(await operator.post(`/v1${issuerPath}/organizations`, { name: 'Zebra crossing' }), 201)
  const many = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }'
  for (let n = 1; n <= 30; n++) {
    expectStatus(await operator.post(`/v1${issuerPath}/organizations`, { name: `Newer ${n}` }), 201)
    await operator.graphql(many, { input: { name: `Tenant ${n}` } })
  }
  await page.goto(at(`${issuerPath}/organizations`))
  const table = page.getByRole('table', { name: 'Organizations' })
  await table.getByText('Newer 30', { exact: true }).waitFor()
  expect(await table.getByText('Zebra crossing').count()).toBe(0)
  await page.getByRole('searchbox', { name: 'Search by name or ID' }).fill('zeb')
  await table.getByText('Zebra crossing').waitFor()
  expect(await table.getByText('Newer 30', { exact: true }).count()).toBe(0)
  await expectAccessible()
  await page.keyboard.press('Control+k')
  await page.locator('input[aria-label="Find anything"]').fill('zebra')
  await page.getByRole('button', { name: /Zebra crossing/ }).click()
  await heading('Zebra crossing')
  await page.getByRole('button', { name: /switch/ }).click()
  await page.getByRole('option', { name: 'Tenant 30', exact: true }).waitFor()
  expect(await page.getByRole('option', { name: 'Tenant 1', exact: true }).count()).toBe(0)
  await page.getByRole('textbox', { name: 'Find an account' }).fill('tenant 1')
  await page.getByRole('option', { name: 'Tenant 1', exact: true }).waitFor()
  await page.keyboard.press('Escape')
  await page.goto(at(`${issuerPath}/users`))
  await heading('Users')
})

test('the command palette works by keyboard', async () => {
  await page.keyboard.press('Control+k')
  await page.locator('input[aria-label="Find anything"]').fill('Person 7')
  await page.getByRole('button', { name: /Person 7/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await heading('Person 7')
  await page.keyboard.press('Control+k')
  await page.locator('input[aria-label="Find anything"]').fill('System')
  await page.getByRole('button', { name: /System/ }).waitFor()
  await expectAccessible()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await heading('System')
})

test('the console shows only what the caller’s scopes allow', async () => {
  const { page: readerPage, unexpectedProblems } = await fixture.openPage({
    viewport: { width: 1280, height: 860 },
  })
  const { app } = fixture
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [own] = expectStatus(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const I = `/v1/accounts/${system.id}/issuers/${own.id}`
  const user = expectStatus(
    await app.operator.post(`${I}/users`, { username_type: 'email', username: 'reader@example.com' }),
    201,
  )
  const password = { type: 'password', name: null, password: ADMIN.password }
  expectStatus(await app.operator.post(`${I}/users/${user.data.id}/verifiers`, password), 201)
  const account: AnyJson = expectStatus(await app.operator.get(`/v1/accounts/${accountId}`), 200).data
  const member = { member_id: user.data.id, scopes: ['accounts:read', 'issuers:read', 'issuers.clients:read'] }
  expectStatus(await app.operator.post(`${I}/organizations/${account.admin_org_id}/members`, member), 201)

  await readerPage.goto(at(`${issuerPath}/clients`))
  await readerPage.getByLabel('Username or email').fill('reader@example.com')
  await readerPage.getByLabel('Password').fill(ADMIN.password)
  await readerPage.keyboard.press('Enter')
  await readerPage.getByRole('table', { name: 'Clients' }).getByText('Theirs again').click()
  await readerPage.getByRole('heading', { level: 1, name: 'Theirs again' }).waitFor()
  expect(await readerPage.getByRole('button', { name: 'Rotate secret' }).count()).toBe(0)
  expect(await readerPage.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Users' }).count()).toBe(
    0,
  )
  await readerPage.goto(at(`${issuerPath}/users`))
  await readerPage.getByRole('heading', { name: 'You do not have access' }).waitFor()
  expect(unexpectedProblems()).toEqual([])
  await readerPage.context().close()
})

test('a console session that was deleted redirects to the sign-in and back to the same page', async () => {
  await page.goto(at(`${issuerPath}/clients`))
  await page.getByRole('table', { name: 'Clients' }).waitFor()
  await fixture.app.gatehouse.database.prisma.consoleSession.deleteMany()
  await page.getByRole('link', { name: 'Users' }).first().click()
  // The browser session at the issuer still exists, so the issuer does not ask for credentials.
  await page.getByRole('table', { name: 'Users' }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`/console${issuerPath}/users`)
  const otherProblems = unexpected().filter(
    (problem) => !/status of 401|the server responded with a status of 401/.test(problem),
  )
  expect(otherProblems).toEqual([])
})

test('the user menu shows the version; signing out ends the session at the issuer', async () => {
  await page.getByRole('button', { name: /: menu/ }).click()
  await page.getByRole('menu').getByText(`Gatehouse ${version}`, { exact: true }).waitFor()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('Password').waitFor()
  expect(new URL(page.url()).origin).toBe(fixture.app.idpUrl)
  await page.goto(at(`/accounts/${accountId}`))
  await page.getByLabel('Password').waitFor()
  expect(issuerId).toMatch(/^iss_/)
})

test('no page had accessibility violations', () => {
  expect(violations).toEqual([])
})
