/**
 * Health findings in the console (docs/contract.md#configuration-health): the list of findings, and findings at their
 * settings.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { accessibilityViolations } from './accessibility.js'
import { type ConsoleFixture, saveScreenshots, signInAsAdministrator, startConsoleFixture } from './console-fixture.js'

let fixture: ConsoleFixture
let page: Page
let unexpected: () => string[]
let tenant: Tenant
let methodId: string

beforeAll(async () => {
  fixture = await startConsoleFixture()
  tenant = await createTenant(fixture.app, 'Acme')
  const { owner, I } = tenant
  await createUser(tenant, 'ada@example.com')
  const security = { mfa_required: true, password_policy: { minimum: 12 }, mfa_require: true }
  expectStatus(await owner.patch(I, { settings: { signup: { mode: 'open' }, security } }), 200)
  const settings = { provider: 'acme', client_id: 'c', client_secret: 's', redirect_uri: 'https://app.example.com/' }
  const method = { name: 'Acme login', method: 'oauth2', first_factor_only: true, settings }
  methodId = expectStatus(await owner.post(`${I}/auth-methods`, method), 201).data.id
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
}, 60_000)
afterAll(() => fixture?.close())

const at = (path: string) => `${fixture.app.baseUrl}/console/accounts/${tenant.accountId}${path}`
const ofIssuer = (path: string) => at(`/issuers/${tenant.issuerId}${path}`)
const checklist = () => page.getByRole('list', { name: 'Findings' })
const item = (code: string) => page.locator(`li[data-code="${code}"]`)
const note = (code: string) => page.locator(`[role="note"][data-code="${code}"]`)

/** Expects no accessibility violations and that the page fits a phone, and saves screenshots. */
async function expectAccessible(name: string): Promise<void> {
  expect(await accessibilityViolations(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
  await saveScreenshots(page, name)
}

test('the overview of an issuer lists findings, errors first, each with its fix and a link', async () => {
  await signInAsAdministrator(page, ofIssuer(''))
  await checklist().getByText('“Acme login” is enabled, but the sign-in page does not offer it').waitFor()
  const codes = () =>
    checklist()
      .locator('li')
      .evaluateAll((all) => all.map((element) => element.getAttribute('data-code')))
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
  await expectAccessible('health-overview')
})

test('a finding is shown with its fix at the field of its setting; if there is no field, it is shown above the forms', async () => {
  await item('MFA_USERS_WITHOUT_FACTOR')
    .getByRole('link', { name: /^Review/ })
    .click()
  await page.waitForURL(ofIssuer('/settings/security'))
  const field = page
    .locator('.gh-fields > * > *', { has: page.getByLabel('Require multi-factor authentication') })
    .first()
  await field.getByText('1 active user has no second factor').waitFor()
  await field.getByText('Ask these users to sign in and set up a second factor').waitFor()
  await field.getByText('no authentication method for a second factor is enabled').waitFor()
  const withoutEffect = note('SETTING_WITHOUT_EFFECT')
  await withoutEffect.getByText('settings.security.mfa_require has no effect').waitFor()
  await withoutEffect.getByText('settings.security.password_policy.minimum has no effect').waitFor()
  expect(await field.locator('[data-code="SETTING_WITHOUT_EFFECT"]').count()).toBe(0)
  await expectAccessible('health-settings')

  await page.goto(ofIssuer('/settings/sign-up'))
  await note('SIGN_UP_WITHOUT_METHOD').getByText('Set enabled_signup of an authentication method to true').waitFor()
  await note('SIGN_UP_WITHOUT_METHOD').getByRole('link', { name: 'Open authentication methods' }).click()
  await page.waitForURL(ofIssuer('/authentication'))
})

test('the page of an authentication method shows that it is not ready, until the fix is applied', async () => {
  await page.goto(ofIssuer(''))
  await item('AUTH_METHOD_NOT_READY')
    .getByRole('link', { name: /^Review/ })
    .click()
  await page.waitForURL(ofIssuer(`/authentication/${methodId}`))
  await note('AUTH_METHOD_NOT_READY').getByText('add its endpoints to the settings').waitFor()
  await note('AUTH_METHOD_REDIRECT_URI').getByText('register that URL with the provider').waitFor()
  await expectAccessible('health-method')
  await page.getByRole('switch', { name: 'Enable for sign-in' }).click()
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await note('AUTH_METHOD_NOT_READY').waitFor({ state: 'hidden' })
})

test('the overview of an account shows findings of the account; an issuer without findings says so', async () => {
  const { body } = await fixture.app.operator.graphql('{ me { id } accounts { data { id ownerUserId } } }')
  const { ownerUserId } = body.data.accounts.data.find((account: { ownerUserId: string | null }) => account.ownerUserId)
  expectStatus(await fixture.app.operator.patch(tenant.A, { owner_user_id: ownerUserId }), 200)
  await page.goto(at(''))
  await item('SINGLE_ADMINISTRATOR').getByText('Add another administrator').waitFor()
  await expectAccessible('health-account')
  await item('SINGLE_ADMINISTRATOR')
    .getByRole('link', { name: /^Review/ })
    .click()
  await note('SINGLE_ADMINISTRATOR').waitFor()

  const sound = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Sound' }), 201).data
  await page.goto(at(`/issuers/${sound.id}`))
  await checklist().getByText('No problems found.').waitFor()
  await expectAccessible('health-none')
  expect(unexpected()).toEqual([])
})
