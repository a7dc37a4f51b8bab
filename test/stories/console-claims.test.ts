/** Custom claims and the token preview in the console, in Chromium (docs/contract.md#custom-claims). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityViolations } from '../browser/accessibility.js'
import {
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from '../browser/console-fixture.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'

let fixture: ConsoleFixture
let tenant: Tenant
let page: Page
let unexpected: () => string[]
let issuer: string
let clientId: string

beforeAll(async () => {
  fixture = await startConsoleFixture()
  tenant = await createTenant(fixture.app, 'Acme')
  issuer = `/accounts/${tenant.accountId}/issuers/${tenant.issuerId}`
  const user = {
    username_type: 'email',
    username: 'grace@example.com',
    profile: { name: 'Grace Hopper' },
    metadata: { department: 'Navy' },
  }
  const { id: userId } = expectStatus(await tenant.owner.post(`${tenant.I}/users`, user), 201).data
  const organization = { name: 'Hopper Industries', default_member_scopes: ['orders:read'] }
  const { id: orgId } = expectStatus(await tenant.owner.post(`${tenant.I}/organizations`, organization), 201).data
  expectStatus(await tenant.owner.post(`${tenant.I}/organizations/${orgId}/members`, { member_id: userId }), 201)
  const settings = { openid: { redirect_uris: ['https://shop.example.com/callback'] } }
  const client = { name: 'Web shop', type: 'internal', confidential: true, settings }
  clientId = expectStatus(await tenant.owner.post(`${tenant.I}/clients`, client), 201).data.id
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
}, 60_000)
afterAll(() => fixture?.close())

const at = (path: string) => `${fixture.app.baseUrl}/console${path}`
const button = (name: string) => page.getByRole('button', { name, exact: true })
const userPicker = () => page.getByPlaceholder('Type a name, username or email')
const claimRow = (number: number) => page.getByRole('group', { name: `Claim ${number}`, exact: true })
const storedClaims = async (path: string) =>
  expectStatus(await tenant.owner.get(path), 200).data.settings.openid?.claims
const violations: string[] = []

/** Collects accessibility violations, and pages that do not fit a phone. The last test expects that there are none. */
async function expectAccessible(name: string): Promise<void> {
  violations.push(...(await accessibilityViolations(page)).map((text) => `${name}: ${text}`))
  await page.setViewportSize({ width: 390, height: 844 })
  if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
    violations.push(`${name}: too wide for phones`)
  await page.setViewportSize({ width: 1280, height: 860 })
}

async function select(label: string, option: string, within: ReturnType<typeof claimRow> | Page = page) {
  await within
    .getByRole('combobox', { name: label })
    .or(within.getByRole('textbox', { name: label }))
    .first()
    .click()
  await page.getByRole('option', { name: option }).click()
}

test('claims of a client are added with a source, and with one click for groups and roles', async () => {
  await signInAsAdministrator(page, at(`${issuer}/clients/${clientId}/claims`))
  await page.getByText('No custom claims.').waitFor()
  await button('Add claim').click()
  await button('Save changes').click()
  await page.getByText('Claim 1 needs a name.').waitFor()
  await claimRow(1).getByLabel('Name').fill('department')
  await claimRow(1).getByLabel('Key').fill('department')
  await claimRow(1).getByLabel('Userinfo').uncheck()
  await button('Add groups claim').click()
  await button('Add roles claim').click()
  await button('Add groups claim').waitFor({ state: 'detached' })
  await button('Save changes').click()
  await page.getByText('Client saved').waitFor()
  expect(await storedClaims(`${tenant.I}/clients/${clientId}`)).toEqual([
    { name: 'department', source: 'user.metadata.department', in: ['id_token', 'access_token'] },
    { name: 'groups', source: 'groups', in: ['id_token', 'access_token', 'userinfo'] },
    { name: 'roles', source: 'scopes', in: ['id_token', 'access_token', 'userinfo'] },
  ])
  await expectAccessible('claims of a client')
})

test('an error of the server is at the field', async () => {
  await claimRow(1).getByLabel('Name').fill('sub')
  await button('Save changes').click()
  await page.getByText('Entry 1 sub is a registered claim name; choose another name, such as app_sub.').waitFor()
  await button('Discard changes').click()
})

test('the preview shows the claims of a user, and what was left out', async () => {
  await userPicker().fill('Grace')
  await page.getByRole('option', { name: 'Grace Hopper' }).click()
  await button('Preview token').click()
  const region = page.getByRole('region', { name: 'Token preview' })
  await region.getByText('Left out', { exact: true }).waitFor()
  const list = region.getByRole('listitem')
  expect(await list.allTextContents()).toEqual([
    'groups: Left out of access_token, id_token, userinfo. The source has no value for this user.',
    'roles: Left out of access_token, id_token, userinfo. The source needs a selected organization that the client may see.',
  ])
  expect(await region.getByText('"department": "Navy"').count()).toBe(2)
  await select('Organization', 'Hopper Industries')
  await button('Preview token').click()
  await region.getByText('"roles": [').first().waitFor()
  await region.getByText('"email": "grace@example.com"').waitFor()
  await expectAccessible('token preview')
  await saveScreenshots(page, 'claims-client')
  await region.getByText('Userinfo', { exact: true }).scrollIntoViewIfNeeded()
  await saveScreenshots(page, 'token-preview')
})

test('claims of an issuer are edited and removed, and previewed for a client', async () => {
  await page.goto(at(`${issuer}/settings/claims`))
  await button('Add claim').click()
  await claimRow(1).getByLabel('Name').fill('tenant')
  await select('Source', 'Name of the organization', claimRow(1))
  await claimRow(1).getByLabel('Key').waitFor({ state: 'detached' })
  await button('Add groups claim').click()
  await button('Save changes').click()
  await page.getByText('Issuer saved').waitFor()
  await page.getByRole('button', { name: 'Remove claim 2' }).click()
  await claimRow(1).getByLabel('Name').fill('organization')
  await button('Save changes').click()
  await button('Discard changes').waitFor({ state: 'hidden' })
  expect(await storedClaims(tenant.I)).toEqual([
    { name: 'organization', source: 'organization.name', in: ['id_token', 'access_token', 'userinfo'] },
  ])
  await select('Client', 'Web shop')
  await userPicker().fill('Grace')
  await page.getByRole('option', { name: 'Grace Hopper' }).click()
  await page.getByLabel('Scope').fill('orders:read')
  await button('Preview token').click()
  await page.getByText('Has no known scope; request openid or a scope of the client.').waitFor()
  await page.getByLabel('Scope').fill('openid')
  await button('Preview token').click()
  await page.getByRole('region', { name: 'Token preview' }).getByText('"department": "Navy"').first().waitFor()
  await expectAccessible('claims of an issuer')
  await saveScreenshots(page, 'claims-issuer')
})

test('the pages are accessible, fit a phone and have no problems', () => {
  expect(violations).toEqual([])
  expect(unexpected()).toEqual([])
})
