/** The settings of clients and their recent errors in the console, in Chromium (docs/contract.md#refused-requests). */
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
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { waitUntil } from '../setup/wait-until.js'

let fixture: ConsoleFixture
let page: Page
let unexpected: () => string[]
let issuerPath: string
let client: AnyJson

const at = (path: string) => `${fixture.app.baseUrl}/console${path}`
const settingsOf = async (path: string) => expectStatus(await fixture.app.operator.get(`/v1${path}`), 200).data.settings
const createClient = async (body: object) =>
  expectStatus(await fixture.app.operator.post(`/v1${issuerPath}/clients`, { type: 'external', ...body }), 201).data
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()

const setClientAssertions = async (enabled: boolean) => {
  const settings = { security: { openid_policy: { client_assertions: { enabled } } } }
  expectStatus(await fixture.app.operator.patch(`/v1${issuerPath}`, { settings }), 200)
}

async function expectAccessibleAndFits(): Promise<void> {
  expect(await accessibilityViolations(page)).toEqual([])
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
}

beforeAll(async () => {
  fixture = await startConsoleFixture()
  const response = await fixture.app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input: { name: 'Acme' } },
  )
  const accountId = response.body.data.createAccount.account.id
  const { id } = expectStatus(
    await fixture.app.operator.post(`/v1/accounts/${accountId}/issuers`, { name: 'Customers' }),
    201,
  ).data
  issuerPath = `/accounts/${accountId}/issuers/${id}`
  client = await createClient({
    name: 'Shop',
    confidential: true,
    settings: { openid: { redirect_uris: ['https://shop.example.com/callback'] } },
  })
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
  await signInAsAdministrator(page, at(`${issuerPath}/clients`))
  await heading('Clients')
}, 60_000)
afterAll(() => fixture?.close())

test('"Works with" picks the application type, the signing algorithm and the example redirect URI', async () => {
  await page.getByRole('button', { name: 'Create client' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create client' })
  const worksWith = dialog.getByRole('combobox', { name: 'Works with' })
  await worksWith.click()
  await page.getByRole('option', { name: 'Spring Security' }).click()
  await dialog.getByText('Spring Security accepts only ID tokens with RS256').waitFor()
  expect(await dialog.getByRole('radio', { name: 'Server app' }).isChecked()).toBe(true)
  const redirectUris = dialog.getByLabel('Redirect URIs', { exact: true })
  expect(await redirectUris.getAttribute('placeholder')).toBe('http://localhost:8080/login/oauth2/code/gatehouse')
  await saveScreenshots(page, 'create-client')
  await expectAccessibleAndFits()

  // Another type contradicts the choice.
  await dialog.getByRole('radio', { name: 'Native app' }).click()
  await dialog.getByText('RS256 works everywhere').waitFor()
  await waitUntil('the choice is reset', async () => (await worksWith.inputValue()) === 'Other, or not sure')
  await worksWith.click()
  await page.getByRole('option', { name: 'Spring Security' }).click()
  await dialog.getByLabel('Name').fill('Orders')
  await addEntry(redirectUris, 'http://localhost:8080/login/oauth2/code/gatehouse')
  await dialog.getByRole('button', { name: 'Create client' }).click()
  await page.getByRole('dialog', { name: 'Client secret' }).getByRole('button', { name: "I've saved it" }).click()
  await heading('Orders')
  const created = expectStatus(
    await fixture.app.operator.get(`/v1${new URL(page.url()).pathname.replace('/console', '')}`),
    200,
  ).data
  expect(created).toMatchObject({
    confidential: true,
    settings: { openid: { application_type: 'web', response_signature_alg: 'RS256' } },
  })
})

test('the card "Works with" compares the settings of a client and sets the algorithm', async () => {
  await page.goto(at(`${issuerPath}/clients/${client.id}`))
  await page.getByRole('combobox', { name: 'Works with' }).click()
  await page.getByRole('option', { name: 'Kubernetes' }).click()
  const checks = page.getByRole('list', { name: 'Settings for Kubernetes' })
  await checks.getByText('The signing algorithm is ES256; Kubernetes needs RS256.').waitFor()
  await checks.getByText('needs a client of the type “Native app”').waitFor()
  await page.getByRole('combobox', { name: 'Works with' }).click()
  await page.getByRole('option', { name: 'Spring Security' }).click()
  await page.getByRole('list', { name: 'Settings for Spring Security' }).scrollIntoViewIfNeeded()
  await saveScreenshots(page, 'works-with')
  await expectAccessibleAndFits()
  await page.getByRole('button', { name: 'Use RS256' }).click()
  await page.getByText('The signing algorithm is RS256.').waitFor()
  expect((await settingsOf(`${issuerPath}/clients/${client.id}`)).openid.response_signature_alg).toBe('RS256')
  await page.getByRole('button', { name: 'Use RS256' }).waitFor({ state: 'detached' })
})

test('recent errors are empty at first; an error shows its reason, and its redirect URI can be added', async () => {
  await page.goto(at(`${issuerPath}/clients/${client.id}`))
  const list = page.getByRole('list', { name: 'Recent errors' })
  await list.getByText('No errors.').waitFor()
  await list.scrollIntoViewIfNeeded()
  await saveScreenshots(page, 'recent-errors-empty')

  const sent = 'https://shop.example.com/signin-oidc'
  const url = `${fixture.app.idpUrl}/${issuerPath.split('/').at(-1)}`
  const authorize = new URL(`${url}/authorize`)
  authorize.search = `${new URLSearchParams({ client_id: client.id, response_type: 'code', scope: 'openid', redirect_uri: sent })}`
  const response = await fetch(authorize)
  expect(response.status).toBe(400)
  await fetch(`${url}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${btoa(`${client.id}:wrong-secret`)}` },
    body: new URLSearchParams({ grant_type: 'authorization_code', code: 'x' }),
  })
  await waitUntil('the errors are shown', async () => {
    await page.getByRole('button', { name: 'Refresh' }).click()
    return (await list.getByRole('listitem').count()) === 2 && (await list.getByText('No errors.').count()) === 0
  })
  await list
    .getByText(
      `redirect_uri did not match ${sent}; allowed is https://shop.example.com/callback. The difference is the path.`,
    )
    .waitFor()
  await list.getByText(response.headers.get('x-request-id')!).waitFor()
  await list.getByText('The client secret is wrong.').waitFor()
  await saveScreenshots(page, 'recent-errors')
  await expectAccessibleAndFits()

  // The button opens the form with the redirect URI as an unsaved change.
  await list.getByRole('button', { name: 'Add this redirect URI' }).click()
  const form = page.locator('form', { has: page.getByLabel('Back-channel logout URI') })
  await form.getByText(sent).waitFor()
  await saveScreenshots(page, 'redirect-uri-prefilled')
  const { openid } = await settingsOf(`${issuerPath}/clients/${client.id}`)
  expect(openid.redirect_uris).toEqual(['https://shop.example.com/callback'])
  await form.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Client saved').waitFor()
  expect((await settingsOf(`${issuerPath}/clients/${client.id}`)).openid.redirect_uris).toEqual([
    'https://shop.example.com/callback',
    sent,
  ])
  // The change is not repeated.
  await page.reload()
  await form.getByText(sent).waitFor()
  expect(await form.getByText(sent).count()).toBe(1)
  expect(await form.getByRole('button', { name: 'Save changes' }).isEnabled()).toBe(false)
})

test('the protocol settings of a client are saved under the keys of the contract', async () => {
  await page.goto(at(`${issuerPath}/clients/${client.id}/settings`))
  const form = page.locator('form', { has: page.getByLabel('Require DPoP-bound access tokens') })
  const method = form.getByRole('combobox', { name: 'Client authentication' })
  // The issuer must allow client assertions first.
  await method.click()
  await page.getByRole('option', { name: 'client_secret_post' }).waitFor()
  await page.getByRole('option', { name: 'private_key_jwt' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Escape')
  await page.getByText('Signed assertions (private_key_jwt) are off.').waitFor()
  await setClientAssertions(true)
  await page.reload()

  await method.click()
  await page.getByRole('option', { name: 'private_key_jwt' }).click()
  await form.getByLabel('JWKS URL').fill('https://shop.example.com/jwks.json')
  await form.getByLabel('Require pushed authorization requests').check()
  await form.getByLabel('Require DPoP-bound access tokens').check()
  await form.scrollIntoViewIfNeeded()
  await saveScreenshots(page, 'client-protocol')
  await expectAccessibleAndFits()
  await form.getByRole('button', { name: 'Save changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Use signed assertions?' })
  await dialog.getByText('The secrets of this client are deleted immediately.').waitFor()
  await dialog.getByRole('button', { name: 'Delete the secret' }).click()
  await page.getByText('Client saved').waitFor()
  expect((await settingsOf(`${issuerPath}/clients/${client.id}`)).openid).toMatchObject({
    token_endpoint_auth_method: 'private_key_jwt',
    jwks_uri: 'https://shop.example.com/jwks.json',
    require_pushed_authorization_requests: true,
    dpop_bound_access_tokens: true,
  })
  await page.getByRole('button', { name: 'Rotate secret' }).waitFor({ state: 'detached' })

  // With a secret again, the keys are removed.
  await method.click()
  await page.getByRole('option', { name: 'in the header or in the form' }).click()
  await form.getByRole('button', { name: 'Save changes' }).click()
  await waitUntil('the settings are removed', async () => {
    const { openid } = await settingsOf(`${issuerPath}/clients/${client.id}`)
    return !('token_endpoint_auth_method' in openid) && !('jwks_uri' in openid)
  })
  await page.getByRole('button', { name: 'Rotate secret' }).waitFor()
})

test('a public client has no authentication, and a machine-to-machine client no pushed requests', async () => {
  const spa = await createClient({
    name: 'Page',
    confidential: false,
    settings: { openid: { application_type: 'spa' } },
  })
  await page.goto(at(`${issuerPath}/clients/${spa.id}/settings`))
  const method = page.getByRole('combobox', { name: 'Client authentication' })
  await method.waitFor()
  expect(await method.inputValue()).toBe('None (public client)')
  const job = await createClient({ name: 'Job', confidential: true, settings: { openid: { application_type: 'm2m' } } })
  await page.goto(at(`${issuerPath}/clients/${job.id}/settings`))
  await page.getByLabel('Require DPoP-bound access tokens').waitFor()
  await page.getByLabel('Require pushed authorization requests').waitFor({ state: 'detached' })
})

test('FAPI 2.0 is switched on only after a confirmation', async () => {
  await setClientAssertions(false)
  await page.goto(at(`${issuerPath}/settings/protocol`))
  const profile = page.getByRole('combobox', { name: 'Security profile' })
  await profile.click()
  await page.getByRole('option', { name: 'FAPI 2.0' }).click()
  await page.getByRole('button', { name: 'Save changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Switch on FAPI 2.0?' })
  await dialog.getByText('push its authorization requests').waitFor()
  await saveScreenshots(page, 'issuer-protocol')
  expect(await accessibilityViolations(page)).toEqual([])
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect((await settingsOf(issuerPath)).security?.openid_policy?.profile).toBeUndefined()
  expect(await profile.inputValue()).toBe('FAPI 2.0')

  await page.getByRole('button', { name: 'Save changes' }).click()
  await dialog.getByRole('button', { name: 'Switch on FAPI 2.0' }).click()
  await page.getByText('Issuer saved').waitFor()
  expect((await settingsOf(issuerPath)).security.openid_policy.profile).toBe('fapi2')
  await expectAccessibleAndFits()
  await page.goto(at(`${issuerPath}/clients/${client.id}/settings`))
  await page.getByText('This issuer uses the FAPI 2.0 Security Profile').waitFor()
  await page.getByText('Signed assertions (private_key_jwt) are off.').waitFor({ state: 'detached' })
  await saveScreenshots(page, 'client-fapi')

  // Switching it off needs no confirmation.
  await page.goto(at(`${issuerPath}/settings/protocol`))
  await profile.click()
  await page.getByRole('option', { name: 'None' }).click()
  await page.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('Issuer saved').waitFor()
  expect((await settingsOf(issuerPath)).security.openid_policy.profile ?? null).toBeNull()
})

test('the pages had no errors and no violations of the content security policy', () => {
  expect(unexpected()).toEqual([])
})
