/** D35 in the console, in a real Chromium: the checklist of an issuer, and each finding at the setting that it is about. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { makeTenant, makeUser, must, type Tenant } from '../setup/actors.js'
import { barriersOn } from './barriers.js'
import { type ConsoleWorld, screenshots, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let page: Page
let unexpected: () => string[]
let tenant: Tenant
let methodId: string

beforeAll(async () => {
  world = await startConsole()
  tenant = await makeTenant(world.app, 'Acme')
  const { owner, I } = tenant
  await makeUser(tenant, 'ada@example.com')
  const security = { mfa_required: true, password_policy: { minimum: 12 }, mfa_require: true }
  must(await owner.patch(I, { settings: { signup: { mode: 'open' }, security } }), 200)
  const settings = { provider: 'acme', client_id: 'c', client_secret: 's', redirect_uri: 'https://app.example.com/' }
  const method = { name: 'Acme login', method: 'oauth2', first_factor_only: true, settings }
  methodId = must(await owner.post(`${I}/auth-methods`, method), 201).data.id
  const opened = await world.open({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpected
}, 60_000)
afterAll(() => world?.close())

const at = (path: string) => `${world.app.baseUrl}/console/accounts/${tenant.accountId}${path}`
const ofIssuer = (path: string) => at(`/issuers/${tenant.issuerId}${path}`)
const checklist = () => page.getByRole('list', { name: 'Findings' })
const item = (code: string) => page.locator(`li[data-code="${code}"]`)
const note = (code: string) => page.locator(`[role="note"][data-code="${code}"]`)

/** What is on the page is open to everybody, fits a phone, and is what the pictures show. */
async function fine(name: string): Promise<void> {
  expect(await barriersOn(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
  await screenshots(page, name)
}

test('the overview of an issuer lists what health finds, errors first, each with its fix and the way to it', async () => {
  await signIn(page, ofIssuer(''))
  await checklist().getByText('“Acme login” is enabled and is not offered').waitFor()
  const codes = () =>
    checklist()
      .locator('li')
      .evaluateAll((all) => all.map((one) => one.getAttribute('data-code')))
  expect(await codes()).toEqual([
    'AUTH_METHOD_NOT_READY',
    'AUTH_METHOD_REDIRECT_URI',
    'SIGN_UP_WITHOUT_METHOD',
    'MFA_USERS_WITHOUT_FACTOR',
    'SETTING_WITHOUT_EFFECT',
    'SETTING_WITHOUT_EFFECT',
    'MFA_WITHOUT_METHOD',
  ])
  await item('AUTH_METHOD_NOT_READY').getByText('add its endpoints to the settings').waitFor()
  await fine('health-overview')
})

test('a finding is shown at its setting, with the fix; one without a field stands above the forms', async () => {
  await item('MFA_USERS_WITHOUT_FACTOR')
    .getByRole('link', { name: /^Review/ })
    .click()
  await page.waitForURL(ofIssuer('/settings/security'))
  const field = page
    .locator('.gh-fields > * > *', { has: page.getByLabel('Ask everybody for a second factor') })
    .first()
  await field.getByText('1 active user has no second factor').waitFor()
  await field.getByText('Ask these users to sign in and set up a second factor').waitFor()
  await field.getByText('no authentication method for a second factor is enabled').waitFor()
  const idle = note('SETTING_WITHOUT_EFFECT')
  await idle.getByText('settings.security.mfa_require has no effect').waitFor()
  await idle.getByText('settings.security.password_policy.minimum has no effect').waitFor()
  expect(await field.locator('[data-code="SETTING_WITHOUT_EFFECT"]').count()).toBe(0)
  await fine('health-settings')

  await page.goto(ofIssuer('/settings/sign-up'))
  await note('SIGN_UP_WITHOUT_METHOD').getByText('Set enabled_signup of an authentication method to true').waitFor()
  await note('SIGN_UP_WITHOUT_METHOD').getByRole('link', { name: 'Open authentication methods' }).click()
  await page.waitForURL(ofIssuer('/authentication'))
})

test('a method that is not ready says so on its page, until what the fix says is done', async () => {
  await page.goto(ofIssuer(''))
  await item('AUTH_METHOD_NOT_READY')
    .getByRole('link', { name: /^Review/ })
    .click()
  await page.waitForURL(ofIssuer(`/authentication/${methodId}`))
  await note('AUTH_METHOD_NOT_READY').getByText('add its endpoints to the settings').waitFor()
  await note('AUTH_METHOD_REDIRECT_URI').getByText('register that address with the provider').waitFor()
  await fine('health-method')
  await page.getByRole('switch', { name: 'People can sign in with it' }).click()
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await note('AUTH_METHOD_NOT_READY').waitFor({ state: 'hidden' })
})

test('the overview of an account has its own findings; an issuer without any says so', async () => {
  const { body } = await world.app.operator.graphql('{ me { id } accounts { data { id ownerUserId } } }')
  const { ownerUserId } = body.data.accounts.data.find((one: { ownerUserId: string | null }) => one.ownerUserId)
  must(await world.app.operator.patch(tenant.A, { owner_user_id: ownerUserId }), 200)
  await page.goto(at(''))
  await item('SINGLE_ADMINISTRATOR').getByText('Add another administrator').waitFor()
  await fine('health-account')
  await item('SINGLE_ADMINISTRATOR')
    .getByRole('link', { name: /^Review/ })
    .click()
  await note('SINGLE_ADMINISTRATOR').waitFor()

  const sound = must(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Sound' }), 201).data
  await page.goto(at(`/issuers/${sound.id}`))
  await checklist().getByText('No problems found.').waitFor()
  await fine('health-none')
  expect(unexpected()).toEqual([])
})
