/** Resources of an account, authentication methods and signing keys in the console, in Chromium. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { rotateKeys } from '../../src/resources/issuers/key-rotation.js'
import { accessibilityViolations } from '../browser/accessibility.js'
import {
  addEntry,
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from '../browser/console-fixture.js'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startWebhookReceiver, type WebhookReceiver } from '../setup/webhook-receiver.js'

let fixture: ConsoleFixture
let receiver: WebhookReceiver
let page: Page
let unexpected: () => string[]
let accountId: string
let issuerId: string
/** The path of the account in /v1. */
let A: string
/** The URL of the account in the console. */
let account: string
/** The URL of the issuer in the console. */
let issuer: string

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  fixture = await startConsoleFixture({ ALLOW_PRIVATE_NETWORKS: 'true' }, true)
  const response = await fixture.app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input: { name: 'Acme' } },
  )
  accountId = response.body.data.createAccount.account.id
  A = `/v1/accounts/${accountId}`
  issuerId = expectStatus(await fixture.app.operator.post(`${A}/issuers`, { name: 'Customers' }), 201).data.id
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
  account = `${fixture.app.baseUrl}/console/accounts/${accountId}`
  issuer = `${account}/issuers/${issuerId}`
  await signInAsAdministrator(page, `${account}/api-keys`)
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
}, 60_000)
afterAll(async () => {
  await fixture?.close()
  await receiver?.close()
})

const violations: string[] = []

/** Waits for the page with this heading, collects accessibility violations, and expects that it fits a phone. */
async function expectAccessible(name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
  violations.push(...(await accessibilityViolations(page)))
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
}

const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()

/** Reads the secrets in a dialog, and closes the dialog. @returns the secrets */
async function secrets(name: string): Promise<string[]> {
  const shown = await dialog(name)
    .locator('[data-secret]')
    .first()
    .waitFor()
    .then(() => dialog(name).locator('[data-secret]').allTextContents())
  await dialog(name).getByRole('button', { name: "I've saved it" }).click()
  return shown
}

test('an API key has the selected scopes, and can be restricted, rotated, blocked and revoked', async () => {
  await expectAccessible('API keys')
  await press('Create API key')
  await dialog('Create API key').getByLabel('Name').fill('Importer')
  await dialog('Create API key').getByRole('button', { name: 'Create key' }).click()
  await dialog('Create API key').getByText('Scopes is required.').waitFor()
  await dialog('Create API key').getByLabel('issuers.users:read').check()
  violations.push(...(await accessibilityViolations(page)))
  await dialog('Create API key').getByRole('button', { name: 'Create key' }).click()
  const [id = '', secret = ''] = await secrets('Your API key')
  const key = createApiClient(fixture.app.baseUrl, { id, secret })
  expectStatus(await key.get(`${A}/issuers/${issuerId}/users`), 200)
  expectStatus(await key.get(`${A}/issuers/${issuerId}/clients`), 403)

  await expectAccessible('Importer')
  expect(await page.content()).not.toContain(secret)
  await addEntry(page.getByRole('combobox', { name: /^Allowed IP addresses/ }), '203.0.113.0/24')
  await press('Save changes')
  await page.getByText('Key saved').waitFor()
  expect(expectStatus(await fixture.app.operator.get(`${A}/api-keys/${id}`), 200).data.restrictions).toEqual({
    scopes: ['issuers.users:read'],
    ip_allowlist: ['203.0.113.0/24'],
  })

  await press('Rotate secret')
  await press('Create new secret')
  expect((await secrets('New secret'))[0]).not.toBe(secret)
  await press('Block key')
  await dialog('Block this key').getByRole('button', { name: 'Block key' }).click()
  await press('Unblock')
  await page.getByText('Key unblocked').waitFor()
  await press('Revoke key')
  const revoke = dialog('Revoke this key')
  expect(await revoke.getByRole('button', { name: 'Revoke key' }).isDisabled()).toBe(true)
  await revoke.getByRole('textbox').fill('Importer')
  await revoke.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('Key revoked').waitFor()
  expect(expectStatus(await fixture.app.operator.get(`${A}/api-keys/${id}`), 200).data.status).toBe('revoked')
})

test('a webhook shows its secret once, and can be tested, redelivered, disabled and deleted', async () => {
  await page.goto(`${account}/webhooks`)
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
  await press('Create webhook')
  await dialog('Create webhook').getByLabel('URL').fill(`${receiver.url}/events`)
  await dialog('Create webhook').getByLabel('Name').fill('Warehouse')
  await dialog('Create webhook').getByRole('combobox', { name: 'Events' }).fill('client.cr')
  await page.getByRole('option', { name: 'client.created' }).click()
  await page.keyboard.press('Tab')
  await dialog('Create webhook').getByRole('button', { name: 'Create webhook' }).click()
  expect((await secrets('Webhook secrets'))[0]).toMatch(/^whsec_/)

  await page.getByRole('heading', { level: 1, name: 'Warehouse' }).waitFor()
  await press('Send test event')
  const table = page.getByRole('table', { name: 'Deliveries' })
  await table.getByText('delivered').waitFor()
  expect(receiver.requestsTo('/events').map(({ event }) => event['type'])).toEqual(['webhook.test'])
  await expectAccessible('Warehouse')
  await table.getByRole('button', { name: /^webhook\.test dlv/ }).click()
  await dialog('webhook.test').getByText('204').waitFor()
  await dialog('webhook.test').getByRole('button', { name: 'Redeliver' }).click()
  await page.getByText('Redelivery queued').waitFor()
  await press('Redeliver time range …')
  const span = dialog('Redeliver time range')
  await span.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Accepted' }).click()
  await span.getByRole('button', { name: 'Redeliver' }).click()
  await page
    .getByText(/redeliver(y|ies) queued$/i)
    .last()
    .waitFor()

  await page.getByRole('link', { name: 'Settings' }).last().click()
  await page.getByRole('combobox', { name: /^Status/ }).click()
  await page.getByRole('option', { name: 'Disabled' }).click()
  await press('Save changes')
  await page.getByText('Webhook saved').waitFor()
  await press('Delete webhook')
  await dialog('Delete this webhook').getByRole('textbox').fill('Warehouse')
  await dialog('Delete this webhook').getByRole('button', { name: 'Delete webhook' }).click()
  await page.getByRole('heading', { name: 'No webhooks yet' }).waitFor()
})

test('events appear live, events during a pause are shown afterwards, and events can be filtered, opened and charted', async () => {
  const addUser = async (username: string) =>
    expectStatus(
      await fixture.app.operator.post(`${A}/issuers/${issuerId}/users`, { username_type: 'unique', username }),
      201,
    )
  await page.goto(`${account}/events/live?eventTypes=user.created`)
  await page.getByText('Listening').waitFor()
  await addUser('first')
  const live = page.getByRole('table', { name: 'Live events' })
  await live.getByText('user.created').waitFor()
  await press('Pause')
  await addUser('second')
  await addUser('third')
  await press('Resume')
  await live.getByText('user.created').nth(2).waitFor()
  expect(await live.getByText('user.created').count()).toBe(3)
  violations.push(...(await accessibilityViolations(page)))

  await page.getByRole('link', { name: 'Charts' }).click()
  await page.getByRole('list', { name: 'Events by type' }).getByText('user.created').waitFor()
  await expectAccessible('Events')
  await page.goto(`${account}/events?eventTypes=user.created&issuerId=${issuerId}`)
  const all = page.getByRole('table', { name: 'Events' })
  await all.getByText('user.created').nth(2).waitFor()
  expect(await all.getByRole('row').count()).toBe(4)
  await expectAccessible('Events')
  await all.getByText('user.created').first().click()
  await page.getByText('A user was created.').waitFor()
  await expectAccessible('user.created')
})

test('a domain shows its DNS record, reports a missing record, and can be assigned to an issuer and removed', async () => {
  await page.goto(`${account}/domains?new=1`)
  await dialog('Add domain').getByLabel('Domain').fill('login.example.com')
  await dialog('Add domain').getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('_gatehouse-challenge.login.example.com', { exact: true }).waitFor()
  await expectAccessible('login.example.com')
  await press('Verify')
  await page
    .getByRole('alert')
    .getByText(/TXT|record/)
    .waitFor()

  await fixture.app.gatehouse.database.prisma.domain.updateMany({ data: { verified: true, verifiedAt: Date.now() } })
  await page.reload()
  await page.getByRole('combobox', { name: 'Assigned to' }).click()
  await page.getByRole('option', { name: 'Customers' }).click()
  await page.getByText('Domain assigned').waitFor()
  const [domain] = expectStatus(await fixture.app.operator.get(`${A}/domains`), 200).data
  expect(domain.issuer_id).toBe(issuerId)
  await press('Remove domain')
  await dialog('Remove this domain').getByRole('textbox').fill('login.example.com')
  await dialog('Remove this domain').getByRole('button', { name: 'Remove domain' }).click()
  await page.getByRole('heading', { name: 'No domains yet' }).waitFor()
})

test('the credits page shows the balance and how to top up; a payment method can be added and removed', async () => {
  await page.goto(`${account}/credits`)
  await page.getByText('$0.00', { exact: true }).waitFor()
  await page.getByText('PAYMENT-SIGNATURE').first().waitFor()
  await expectAccessible('Credits')
  await page.getByRole('link', { name: 'Payment methods' }).first().click()
  await press('Add payment method')
  await dialog('Add payment method').getByLabel('Label').fill('Treasury')
  await dialog('Add payment method').getByRole('button', { name: 'Add' }).click()
  await page.getByRole('table', { name: 'Payment methods' }).getByText('Treasury').waitFor()
  await expectAccessible('Payment methods')
  await press('Treasury: actions')
  await page.getByRole('menuitem', { name: 'Remove …' }).click()
  await dialog('Remove payment method').getByRole('textbox').fill('Treasury')
  await dialog('Remove payment method').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('table', { name: 'Payment methods' }).getByText('removed').waitFor()
})

test('an administrator can be added with scopes, suspended and removed', async () => {
  const { app } = fixture
  const system: AnyJson = expectStatus(await app.operator.get('/v1/accounts'), 200).data.at(-1)
  const [home] = expectStatus(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const user = { username_type: 'email', username: 'helper@example.com', profile: { name: 'Helper' } }
  const { data } = expectStatus(
    await app.operator.post(`/v1/accounts/${system.id}/issuers/${home.id}/users`, user),
    201,
  )
  await page.goto(`${account}/administrators`)
  await expectAccessible('Administrators')
  await press('Add administrator')
  await dialog('Add administrator').getByLabel('User id').fill(data.id)
  await dialog('Add administrator').getByLabel('webhooks:read').check()
  await dialog('Add administrator').getByRole('button', { name: 'Add administrator' }).click()
  await expectAccessible('Helper')
  await page.goto(`${account}/administrators`)
  const list = page.getByRole('table', { name: 'Administrators' })
  await page.getByRole('searchbox', { name: 'Search by username, name or email' }).fill('unknown')
  await page.getByText('No results').waitFor()
  await page.getByRole('searchbox').fill('help')
  await list.getByText('Helper').waitFor()
  await expectAccessible('Administrators')
  await list.getByText('Helper').click()
  await expectAccessible('Helper')
  await page.getByRole('combobox', { name: /^Status/ }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await press('Save changes')
  await page.getByText('Administrator saved').waitFor()
  await press('Remove administrator')
  await dialog('Remove this administrator').getByRole('textbox').fill('Helper')
  await dialog('Remove this administrator').getByRole('button', { name: 'Remove administrator' }).click()
  await page.getByRole('heading', { level: 1, name: 'Administrators' }).waitFor()
  await page.getByRole('table', { name: 'Administrators' }).or(page.getByText('No other administrators')).waitFor()
  expect(await page.getByText('Helper').count()).toBe(0)
})

test('authentication methods of each kind can be added with their fields, disabled and deleted', async () => {
  const methods = async (): Promise<AnyJson[]> =>
    expectStatus(await fixture.app.operator.get(`${A}/issuers/${issuerId}/auth-methods`), 200).data
  await page.goto(`${issuer}/authentication?new=1`)
  const add = dialog('Add method')
  await add.getByRole('radio', { name: 'Passkey' }).click()
  await add.getByRole('button', { name: 'Add method' }).click()
  await expectAccessible('Passkey')
  await page.goto(`${issuer}/authentication?new=1`)
  await add.getByRole('radio', { name: 'OpenID Connect' }).click()
  await add.getByLabel('Name').fill('Staff')
  await add.getByRole('textbox', { name: /^Issuer/ }).fill('https://login.example.com')
  await add.getByLabel('Client id').fill('gatehouse')
  await add.getByLabel('Client secret').fill('very secret')
  violations.push(...(await accessibilityViolations(page)))
  await add.getByRole('button', { name: 'Add method' }).click()
  await page.getByText('Redirect URI to register with the provider').waitFor()
  await expectAccessible('Staff')
  await page.getByLabel('Enable for sign-in').uncheck()
  await press('Save changes')
  await page.getByText('Method saved').waitFor()
  expect((await methods()).find(({ name }) => name === 'Staff')).toMatchObject({
    enabled_login: false,
    settings: { issuer_url: 'https://login.example.com', client_id: 'gatehouse', client_secret_set: true },
  })
  // An OAuth 2.0 method can be created without endpoints; its page says which settings are missing.
  await page.goto(`${issuer}/authentication?new=1`)
  await add.getByRole('radio', { name: 'OAuth 2.0' }).click()
  await add.getByLabel('Name').fill('Acme')
  await add.getByRole('textbox', { name: 'Provider', exact: true }).fill('acme-corp')
  await add.getByLabel('Client id').fill('gatehouse')
  await add.getByLabel('Client secret').fill('very secret')
  await add.getByLabel('Redirect URI registered with the provider').fill('https://idp.example.com/callback')
  await add.getByRole('button', { name: 'Add method' }).click()
  await page.getByText('the sign-in page does not offer it').waitFor()
  await page.getByText(/authorization_endpoint, token_endpoint and userinfo_endpoint are missing/).waitFor()
  await saveScreenshots(page, 'method-not-ready')
  await expectAccessible('Acme')
  for (const [label, path] of [
    ['Authorization endpoint', 'authorize'],
    ['Token endpoint', 'token'],
    ['Userinfo endpoint', 'me'],
  ] as const)
    await page.getByLabel(label).fill(`https://acme.example/${path}`)
  const provider = page.locator('form', { has: page.getByLabel('Client secret') })
  await provider.getByLabel('Client secret').fill('very secret')
  await provider.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('the sign-in page does not offer it').waitFor({ state: 'hidden' })
  await press('Delete method')
  await dialog('Delete this method').getByRole('textbox').fill('Acme')
  await dialog('Delete this method').getByRole('button', { name: 'Delete method' }).click()
  await page.getByRole('table', { name: 'Authentication methods' }).getByText('Staff').first().click()

  await press('Delete method')
  await dialog('Delete this method').getByRole('textbox').fill('Staff')
  await dialog('Delete this method').getByRole('button', { name: 'Delete method' }).click()
  await page.getByRole('table', { name: 'Authentication methods' }).getByText('Passkey').first().waitFor()
  expect((await methods()).map(({ method }) => method)).toEqual(['passkey'])
  await expectAccessible('Authentication')
})

test('the signing keys page shows the JWKS URL, the next rotation and past rotations', async () => {
  await page.goto(`${issuer}/signing-keys`)
  await page.getByRole('heading', { name: 'No rotations yet' }).waitFor()
  await rotateKeys(systemContext(fixture.app.gatehouse), issuerId)
  await page.reload()
  await page.getByRole('table', { name: 'Rotations' }).getByText('On request').waitFor()
  const { keys } = (await (await fetch(`${fixture.app.idpUrl}/${issuerId}/jwks.json`)).json()) as { keys: AnyJson[] }
  await page.getByText(`${fixture.app.idpUrl}/${issuerId}/jwks.json`).waitFor()
  expect(new Set(keys.map(({ alg }) => alg))).toEqual(new Set(['ES256', 'EdDSA', 'RS256']))
  await expectAccessible('Signing keys')
})

test('no page had errors, requests to other hosts, policy violations or accessibility violations', () => {
  expect(unexpected()).toEqual([])
  expect(violations).toEqual([])
})
