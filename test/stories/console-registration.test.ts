/** Dynamic client registration in the console, in Chromium: the policy of an issuer and its initial access tokens. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityViolations } from '../browser/accessibility.js'
import {
  addEntry,
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from '../browser/console-fixture.js'
import { publicMetadata } from '../idp/registration-fixture.js'
import { expectStatus } from '../setup/actors.js'

let fixture: ConsoleFixture
let page: Page
let unexpected: () => string[]
/** The path of the issuer in /v1. */
let I: string
let issuerUrl: string

beforeAll(async () => {
  fixture = await startConsoleFixture()
  const { operator, baseUrl, idpUrl } = fixture.app
  const response = await operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input: { name: 'Acme' } },
  )
  const accountId = response.body.data.createAccount.account.id
  const { id } = expectStatus(await operator.post(`/v1/accounts/${accountId}/issuers`, { name: 'Customers' }), 201).data
  I = `/v1/accounts/${accountId}/issuers/${id}`
  issuerUrl = `${idpUrl}/${id}`
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
  await signInAsAdministrator(page, `${baseUrl}/console/accounts/${accountId}/issuers/${id}/settings/registration`)
  await page.getByRole('heading', { name: 'Dynamic client registration' }).waitFor()
}, 60_000)
afterAll(() => fixture?.close())

const dialog = (name: string) => page.getByRole('dialog', { name })
const registerClient = (token: string) =>
  fetch(`${issuerUrl}/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(publicMetadata()),
  })

test('an administrator allows registration, creates an initial access token, sees its uses and revokes it', async () => {
  // 1. The policy. Its details are shown once registration is allowed.
  await page.getByLabel('Require an initial access token').waitFor({ state: 'detached' })
  await page.getByLabel('Allow dynamic client registration').check({ force: true })
  expect(await page.getByLabel('Require an initial access token').isChecked()).toBe(true)
  await addEntry(page.getByRole('combobox', { name: /^Allowed scopes/ }), 'notes:read')
  await addEntry(page.getByRole('combobox', { name: /^Allowed resources/ }), 'https://mcp.example.com/mcp')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  const { settings } = expectStatus(await fixture.app.operator.get(I), 200).data
  expect(settings.security.openid_policy.dynamic_registration).toMatchObject({
    enabled: true,
    allowed_scopes: ['notes:read'],
    allowed_resources: ['https://mcp.example.com/mcp'],
  })

  // 2. A token, which is shown once.
  await page.getByRole('button', { name: 'Create initial access token' }).first().click()
  await dialog('Create initial access token').getByLabel('Name').fill('Partner portal')
  await dialog('Create initial access token').getByLabel('Clients').fill('3')
  expect(await accessibilityViolations(page)).toEqual([])
  await saveScreenshots(page, 'registration-create')
  await dialog('Create initial access token').getByRole('button', { name: 'Create initial access token' }).click()
  const token = (await dialog('Initial access token').locator('[data-secret]').textContent())!
  await saveScreenshots(page, 'registration-token')
  await dialog('Initial access token').getByRole('button', { name: "I've saved it" }).click()
  expect((await registerClient(token)).status).toBe(201)

  // 3. The list shows the use.
  await page.reload()
  const table = page.getByRole('table', { name: 'Initial access tokens' })
  await table.getByText('1 of 3').waitFor()
  expect(await page.content()).not.toContain(token)
  expect(await accessibilityViolations(page)).toEqual([])
  await page.getByRole('heading', { name: 'Dynamic client registration' }).waitFor()
  await saveScreenshots(page, 'registration')
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })

  // 4. Revocation.
  await table.getByRole('button', { name: 'Revoke Partner portal' }).click()
  await dialog('Revoke initial access token').getByRole('button', { name: 'Revoke initial access token' }).click()
  await table.getByText('revoked').waitFor()
  expect((await registerClient(token)).status).toBe(401)
  expect(unexpected()).toEqual([])
})
