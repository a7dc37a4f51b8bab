/** A platform team's first hour in the console, in a real Chromium (issue 6 item 1). */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { barriersOn } from './barriers.js'
import { ADMIN, type ConsoleWorld, screenshots, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let page: Page
let unexpected: () => string[]
let accountId: string

beforeAll(async () => {
  world = await startConsole()
  const input = { name: 'Acme', description: 'Sells everything.' }
  const made = await world.app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input },
  )
  accountId = made.body.data.createAccount.account.id
  const opened = await world.open({ viewport: { width: 1280, height: 860 }, acceptDownloads: true })
  page = opened.page
  unexpected = opened.unexpected
}, 60_000)
afterAll(() => world?.close())

const at = (path: string) => `${world.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

const barriers: string[] = []

/** Notes what seriously keeps people out, in light and in dark; the last test looks at the notes. */
async function accessible(): Promise<void> {
  barriers.push(...(await barriersOn(page)))
}

/** What is on the page fits into it, also on a phone. */
async function fitsPhones(): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
}

let issuerPath: string
let issuerId: string

test('a deep link leads to the issuer and, signed in, back to itself', async () => {
  await signIn(page, at(`/accounts/${accountId}`))
  await heading('Acme')
  expect(page.url()).toBe(at(`/accounts/${accountId}`))
  await accessible()
  await fitsPhones()
})

test('an issuer is made, and its settings are saved', async () => {
  await page.getByRole('link', { name: 'New issuer' }).click()
  const dialog = page.getByRole('dialog', { name: 'New issuer' })
  await dialog.getByRole('button', { name: 'Make issuer' }).click()
  await dialog.getByText('Name is needed.').waitFor()
  await dialog.getByLabel('Name').fill('Customers')
  await accessible()
  await page.keyboard.press('Enter')
  await heading('Customers')
  issuerPath = new URL(page.url()).pathname.slice('/console'.length)
  issuerId = issuerPath.split('/').at(-1)!
  await accessible()

  await page.goto(at(`${issuerPath}/settings/branding`))
  await page.getByLabel('Name that people see').fill('Acme shop')
  await page.getByLabel('Primary colour').fill('#0f766e')
  await page.getByRole('figure', { name: 'Preview of the sign-in page' }).getByText('Acme shop').waitFor()
  await accessible()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  const { settings } = must(await world.app.operator.get(`/v1${issuerPath}`), 200).data
  expect(settings.branding).toEqual({ display_name: 'Acme shop', theme: { primary_color: '#0f766e' } })
  expect(settings.security).toBeDefined()

  await page.goto(at(`${issuerPath}/settings/security`))
  await page.getByRole('combobox', { name: /^Origins that may call/ }).fill('not an origin')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await page.getByText(/must be an origin such as/).waitFor()
  await accessible()

  // D34: which redirect URIs clients may have.
  await page.reload()
  const form = page.locator('form', { has: page.getByLabel('Allow loopback redirect URIs') })
  await form.getByLabel('Allow loopback redirect URIs').uncheck()
  await form.getByRole('combobox', { name: /^Allowed hosts/ }).fill('*.example.com')
  await page.keyboard.press('Enter')
  await form.scrollIntoViewIfNeeded()
  await screenshots(page, 'redirect-uri-rules')
  await form.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  const rulesNow = async () =>
    must(await world.app.operator.get(`/v1${issuerPath}`), 200).data.settings.security.redirect_uri_rules
  expect(await rulesNow()).toEqual({ allow_loopback: false, allowed_hosts: ['*.example.com'] })
  // An empty list allows any host again.
  await form.getByRole('combobox', { name: /^Allowed hosts/ }).focus()
  await page.keyboard.press('Backspace')
  await form.getByLabel('Allow loopback redirect URIs').check()
  const saved = page.waitForResponse(
    async (answer) => (await answer.request().postData())?.includes('updateIssuer') === true,
  )
  await form.getByRole('button', { name: 'Save changes' }).click()
  await saved
  expect(await rulesNow()).toEqual({ allow_loopback: true })
})

test('a server app is registered: its secret is shown once, the snippet holds its id, the secret can be rotated', async () => {
  await page.getByRole('link', { name: 'Clients' }).click()
  await heading('Clients')
  await accessible()
  await page.getByRole('button', { name: 'New client' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New client' })
  // A list takes nothing in while the dialog has yet to move the cursor to its first field.
  await dialog.locator(':focus').waitFor()
  await dialog.getByRole('radio', { name: 'Server app' }).click()
  await dialog.getByLabel('Name').fill('Back office')
  await dialog.getByLabel('Callbacks').fill('https://office.example.com/callback')
  await page.keyboard.press('Enter')
  await accessible()
  await dialog.getByRole('button', { name: 'Make client' }).click()

  const secretDialog = page.getByRole('dialog', { name: 'Your client’s secret' })
  await secretDialog.waitFor()
  const [id, secret] = await secretDialog.locator('[data-secret]').allTextContents()
  await page.keyboard.press('Escape')
  expect(await secretDialog.isVisible()).toBe(true)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    secretDialog.getByRole('button', { name: 'Download' }).click(),
  ])
  expect(readFileSync(await download.path(), 'utf8')).toBe(`Client id: ${id}\nClient secret: ${secret}\n`)
  await accessible()
  await secretDialog.getByRole('button', { name: 'I have kept it' }).click()

  await heading('Back office')
  await page.getByText(`clientID: '${id}'`).waitFor()
  expect(await page.content()).not.toContain(secret!)
  await accessible()
  await fitsPhones()
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('button', { name: 'Make a new secret' }).click()
  const rotated = page.getByRole('dialog', { name: 'The new secret' })
  expect(await rotated.locator('[data-secret]').textContent()).not.toBe(secret)
  await rotated.getByRole('button', { name: 'I have kept it' }).click()
})

test('two people change the same thing: the later one sees both versions and chooses', async () => {
  await page.getByRole('navigation', { name: 'Parts of Back office' }).getByRole('link', { name: 'Settings' }).click()
  const name = page.getByRole('textbox', { name: /^Name/ })
  await name.fill('Mine')
  await page.getByLabel('Description').fill('Only for us')
  const { owner, path } = await otherPerson()
  must(await owner.patch(path, { name: 'Theirs' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).first().click()

  const dialog = page.getByRole('dialog', { name: 'Changed by someone else' })
  await dialog.waitFor()
  expect(await dialog.getByRole('row', { name: /^Name/ }).textContent()).toBe('NameTheirsMine')
  expect(await dialog.getByRole('row', { name: /^Description/ }).textContent()).toBe('Description–Only for us')
  await accessible()
  await dialog.getByRole('button', { name: 'Save mine over it' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(must(await owner.get(path), 200).data).toMatchObject({ name: 'Mine', description: 'Only for us' })

  await name.fill('Mine again')
  must(await owner.patch(path, { name: 'Theirs again' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await dialog.getByRole('button', { name: 'Discard mine' }).click()
  await heading('Theirs again')
  expect(await name.inputValue()).toBe('Theirs again')
  expect(must(await owner.get(path), 200).data.name).toBe('Theirs again')
})

async function otherPerson() {
  const clientId = new URL(page.url()).pathname.split('/').at(-2)
  return { owner: world.app.operator, path: `/v1${issuerPath}/clients/${clientId}` }
}

test('a user is made, found, given another password, suspended and deleted', async () => {
  await page.goto(at(`${issuerPath}/users?new=1`))
  const dialog = page.getByRole('dialog', { name: 'New user' })
  await dialog.getByLabel('Username').fill('grace@example.com')
  await dialog.getByLabel('Full name').fill('Grace Hopper')
  await dialog.getByLabel('Password', { exact: true }).fill(ADMIN.password)
  await dialog.getByRole('button', { name: 'Make user' }).click()
  await heading('Grace Hopper')
  const userPath = new URL(page.url()).pathname.slice('/console'.length)
  await accessible()
  await page.getByRole('link', { name: 'Ways to sign in' }).click()
  await page.getByRole('table', { name: 'Ways to sign in' }).getByText('Password').first().waitFor()
  await accessible()

  await page.getByRole('link', { name: 'Users' }).first().click()
  await page.getByRole('table', { name: 'Users' }).getByText('Grace Hopper').waitFor()
  await page.getByRole('searchbox').fill('nobody')
  await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
  expect(new URL(page.url()).searchParams.get('search')).toBe('nobody')
  await page.getByRole('searchbox').fill('grace@')
  await page.getByRole('table', { name: 'Users' }).getByText('Grace Hopper').click()
  await heading('Grace Hopper')

  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await page.getByLabel('Why').fill('On leave')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('User saved').waitFor()
  expect(must(await world.app.operator.get(`/v1${userPath}`), 200).data).toMatchObject({
    status: 'suspended',
    status_reason: 'On leave',
  })

  await page.getByRole('button', { name: 'Delete user' }).click()
  const confirm = page.getByRole('dialog', { name: 'Delete this user' })
  expect(await confirm.getByRole('button', { name: 'Delete user' }).isDisabled()).toBe(true)
  await confirm.getByRole('textbox').fill('grace@example.com')
  await confirm.getByRole('button', { name: 'Delete user' }).click()
  await page.getByRole('heading', { name: 'Nobody is here yet' }).waitFor()
})

test('a list of many is paged, and the back button pages back', async () => {
  for (let n = 1; n <= 30; n++) {
    const body = { username_type: 'unique', username: `person${n}`, profile: { name: `Person ${n}` } }
    must(await world.app.operator.post(`/v1${issuerPath}/users`, body), 201)
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

test('what is not among the newest is found by the server: in a list, in the palette, among the accounts', async () => {
  const { operator } = world.app
  must(await operator.post(`/v1${issuerPath}/organizations`, { name: 'Zebra crossing' }), 201)
  const many = 'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }'
  for (let n = 1; n <= 30; n++) {
    must(await operator.post(`/v1${issuerPath}/organizations`, { name: `Newer ${n}` }), 201)
    await operator.graphql(many, { input: { name: `Tenant ${n}` } })
  }
  await page.goto(at(`${issuerPath}/organizations`))
  const table = page.getByRole('table', { name: 'Organizations' })
  await table.getByText('Newer 30', { exact: true }).waitFor()
  expect(await table.getByText('Zebra crossing').count()).toBe(0)
  await page.getByRole('searchbox', { name: 'Search by name or id' }).fill('zeb')
  await table.getByText('Zebra crossing').waitFor()
  expect(await table.getByText('Newer 30', { exact: true }).count()).toBe(0)
  await accessible()
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

test('the palette goes anywhere by keyboard', async () => {
  await page.keyboard.press('Control+k')
  await page.locator('input[aria-label="Find anything"]').fill('Person 7')
  await page.getByRole('button', { name: /Person 7/ }).waitFor()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await heading('Person 7')
  await page.keyboard.press('Control+k')
  await page.locator('input[aria-label="Find anything"]').fill('System')
  await page.getByRole('button', { name: /System/ }).waitFor()
  await accessible()
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await heading('System')
})

test('only what the caller’s scopes allow is offered', async () => {
  const { page: theirs, unexpected: trouble } = await world.open({ viewport: { width: 1280, height: 860 } })
  const { app } = world
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [own] = must(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const I = `/v1/accounts/${system.id}/issuers/${own.id}`
  const user = must(
    await app.operator.post(`${I}/users`, { username_type: 'email', username: 'reader@example.com' }),
    201,
  )
  const password = { type: 'password', name: null, password: ADMIN.password }
  must(await app.operator.post(`${I}/users/${user.data.id}/verifiers`, password), 201)
  const account: Loose = must(await app.operator.get(`/v1/accounts/${accountId}`), 200).data
  const member = { member_id: user.data.id, scopes: ['accounts:read', 'issuers:read', 'issuers.clients:read'] }
  must(await app.operator.post(`${I}/organizations/${account.admin_org_id}/members`, member), 201)

  await theirs.goto(at(`${issuerPath}/clients`))
  await theirs.getByLabel('Username or email').fill('reader@example.com')
  await theirs.getByLabel('Password').fill(ADMIN.password)
  await theirs.keyboard.press('Enter')
  await theirs.getByRole('table', { name: 'Clients' }).getByText('Theirs again').click()
  await theirs.getByRole('heading', { level: 1, name: 'Theirs again' }).waitFor()
  expect(await theirs.getByRole('button', { name: 'Rotate secret' }).count()).toBe(0)
  expect(await theirs.getByRole('navigation', { name: 'Main' }).getByRole('link', { name: 'Users' }).count()).toBe(0)
  await theirs.goto(at(`${issuerPath}/users`))
  await theirs.getByRole('heading', { name: 'There is nothing here for you' }).waitFor()
  expect(trouble()).toEqual([])
  await theirs.context().close()
})

test('a session that ends elsewhere leads to the sign-in, and that back to the same page', async () => {
  await page.goto(at(`${issuerPath}/clients`))
  await page.getByRole('table', { name: 'Clients' }).waitFor()
  await world.app.gatehouse.tools.prisma.consoleSession.deleteMany()
  await page.getByRole('link', { name: 'Users' }).first().click()
  // The issuer still knows who this is, and asks nothing.
  await page.getByRole('table', { name: 'Users' }).waitFor()
  expect(new URL(page.url()).pathname).toBe(`/console${issuerPath}/users`)
  const refusals = unexpected().filter(
    (fault) => !/status of 401|the server responded with a status of 401/.test(fault),
  )
  expect(refusals).toEqual([])
})

test('signing out ends at the issuer, who asks again', async () => {
  await page.getByRole('button', { name: /: menu/ }).click()
  await page.getByRole('menuitem', { name: 'Sign out' }).click()
  await page.getByLabel('Password').waitFor()
  expect(new URL(page.url()).origin).toBe(world.app.idpUrl)
  await page.goto(at(`/accounts/${accountId}`))
  await page.getByLabel('Password').waitFor()
  expect(issuerId).toMatch(/^iss_/)
})

test('no page of this story keeps anybody out', () => {
  expect(barriers).toEqual([])
})
