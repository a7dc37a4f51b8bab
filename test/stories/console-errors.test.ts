/** The console when requests fail or are slow, and values that a save removes. */
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import type { Locator, Page, Route } from 'playwright-core'
import { accessibilityViolations } from '../browser/accessibility.js'
import { type ConsoleFixture, signInAsAdministrator, startConsoleFixture } from '../browser/console-fixture.js'
import { createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'

let fixture: ConsoleFixture
let page: Page
let tenant: Tenant

beforeAll(async () => {
  fixture = await startConsoleFixture()
  tenant = await createTenant(fixture.app, 'Acme')
  page = (await fixture.openPage({ viewport: { width: 1280, height: 860 } })).page
  await signInAsAdministrator(page, at(''))
  await page.getByRole('heading', { level: 1, name: 'Acme' }).waitFor()
}, 60_000)
afterEach(() => page.unrouteAll({ behavior: 'ignoreErrors' }))
afterAll(() => fixture?.close())

const at = (path: string) => `${fixture.app.baseUrl}/console/accounts/${tenant.accountId}${path}`
const ofIssuer = (path: string) => at(`/issuers/${tenant.issuerId}${path}`)

/**
 * Handles the GraphQL requests of one operation, until the returned function is called.
 * @param operation for example `query issuerHealth`
 */
async function intercept(operation: string, handle: (route: Route) => Promise<void>): Promise<() => Promise<void>> {
  const pattern = new RegExp(`${operation}\\b`)
  const url = '**/console/graphql'
  const handler = (route: Route) => (pattern.test(route.request().postData() ?? '') ? handle(route) : route.fallback())
  await page.route(url, handler)
  return () => page.unroute(url, handler)
}

/** Responds to the requests of one operation with an error. */
const failRequests = (operation: string) =>
  intercept(operation, (route) =>
    route.fulfill({
      json: { errors: [{ message: 'The database is unavailable.', extensions: { code: 'UNAVAILABLE', status: 503 } }] },
    }),
  )

test('findings that cannot be loaded are not reported as no problems, and can be loaded again', async () => {
  const restore = await failRequests('query issuerHealth')
  await page.goto(ofIssuer(''))
  const findings = page.getByRole('list', { name: 'Findings' })
  await findings.getByText('The findings could not be loaded. The database is unavailable.').waitFor()
  expect(await findings.getByText('No problems found.').count()).toBe(0)
  expect(await accessibilityViolations(page)).toEqual([])
  await restore()
  await findings.getByRole('button', { name: 'Try again' }).click()
  await findings.getByText('No problems found.').waitFor()
})

test('permissions that cannot be loaded are an error, not missing access, and can be loaded again', async () => {
  const restore = await failRequests('query permissions')
  await page.goto(ofIssuer('/clients'))
  await page.getByRole('alert').getByText('The database is unavailable.').waitFor()
  expect(await page.getByText('You do not have access').count()).toBe(0)
  await restore()
  await page.getByRole('button', { name: 'Try again' }).click()
  await page.getByRole('heading', { level: 1, name: 'Clients' }).waitFor()
})

test('the account switcher reports no results only after the accounts were loaded', async () => {
  let respond = () => {}
  const isReleased = new Promise<void>((done) => {
    respond = done
  })
  await intercept('query accounts', async (route) => {
    await isReleased
    await route.fallback()
  })
  await page.goto(at(''))
  await page.getByRole('button', { name: /switch/ }).click()
  const options = page.getByRole('listbox', { name: 'Accounts' })
  await options.getByText('Searching…').waitFor()
  expect(await options.getByText('No results').count()).toBe(0)
  respond()
  await options.getByRole('option', { name: 'Acme' }).waitFor()
})

test('an issuer whose password method cannot be created is created once, and opened', async () => {
  const restore = await failRequests('mutation createAuthMethod')
  await page.goto(at('/issuers?new=1'))
  const dialog = page.getByRole('dialog', { name: 'Create issuer' })
  await dialog.getByLabel('Name').fill('Partners')
  await dialog.getByRole('button', { name: 'Create issuer' }).click()
  await page.getByText('The database is unavailable.').waitFor()
  await page.getByRole('heading', { level: 1, name: 'Partners' }).waitFor()
  await restore()
  const { data } = expectStatus(await tenant.owner.get(`${tenant.A}/issuers`), 200)
  expect(data.filter(({ name }: { name: string }) => name === 'Partners')).toHaveLength(1)
})

test('a double click creates one issuer', async () => {
  await page.goto(at('/issuers?new=1'))
  const dialog = page.getByRole('dialog', { name: 'Create issuer' })
  await dialog.getByLabel('Name').fill('Suppliers')
  await dialog.getByRole('button', { name: 'Create issuer' }).dblclick()
  await page.getByRole('heading', { level: 1, name: 'Suppliers' }).waitFor()
  const { data } = expectStatus(await tenant.owner.get(`${tenant.A}/issuers`), 200)
  expect(data.filter(({ name }: { name: string }) => name === 'Suppliers')).toHaveLength(1)
})

test('keys that are removed from the metadata of users and organizations are removed by a save', async () => {
  const { owner, I } = tenant
  const metadata = { plan: 'pro', seats: { used: 1 }, old: null }
  const userId = await createUser(tenant, 'keys@example.com')
  const org = expectStatus(await owner.post(`${I}/organizations`, { name: 'Keys' }), 201).data
  for (const [id, list] of [
    [userId, 'users'],
    [org.id, 'organizations'],
  ] as const) {
    const path = `${I}/${list}/${id}`
    expectStatus(await owner.patch(path, { metadata }), 200)
    await page.goto(ofIssuer(`/${list}/${id}`))
    const form = page.locator('form', { has: page.getByLabel('Metadata') })
    await form.getByLabel('Metadata').fill('{"seats": {"used": 2}, "new": true}')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await page.getByText(list === 'users' ? 'User saved' : 'Organization saved').waitFor()
    expect(expectStatus(await owner.get(path), 200).data.metadata).toEqual({ seats: { used: 2 }, new: true })
    await form.getByLabel('Metadata').fill('')
    await form.getByRole('button', { name: 'Save changes' }).click()
    await form.getByRole('button', { name: 'Discard changes' }).waitFor({ state: 'hidden' })
    expect(expectStatus(await owner.get(path), 200).data.metadata).toEqual({})
  }
})

test.each([
  ['#e07b39', '#ffffff', 'rgb(17, 24, 39)', 'rgb(17, 24, 39)'],
  ['#1d4ed8', '#777777', 'rgb(255, 255, 255)', 'rgb(17, 24, 39)'],
  ['#ffffff', '#101010', 'rgb(17, 24, 39)', 'rgb(255, 255, 255)'],
])(
  'the preview of the primary color %s and the background %s has readable text',
  async (primary, background, ...colors) => {
    await page.goto(ofIssuer('/settings/branding'))
    await page.getByLabel('Primary color').fill(primary)
    await page.getByLabel('Background color').fill(background)
    const preview = page.getByRole('figure', { name: 'Preview of the sign-in page' })
    const colorOf = (text: Locator) =>
      text.evaluate((element) => element.ownerDocument.defaultView!.getComputedStyle(element).color)
    const texts = preview.getByText('Sign in', { exact: true })
    expect([await colorOf(texts.last()), await colorOf(texts.first())]).toEqual(colors)
  },
)
