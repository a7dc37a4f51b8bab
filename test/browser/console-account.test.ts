/** What belongs to an account, and how its issuers let people in, in the console and a real Chromium (issue 6 item 1). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { systemContext } from '../../src/platform/jobs.js'
import { rotateKeys } from '../../src/resources/issuers/key-rotation.js'
import { must } from '../setup/actors.js'
import { apiAs, type Loose } from '../setup/api.js'
import { type Receiver, startReceiver } from '../setup/receiver.js'
import { barriersOn } from './barriers.js'
import { type ConsoleWorld, screenshots, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let receiver: Receiver
let page: Page
let unexpected: () => string[]
let accountId: string
let issuerId: string
/** `/v1/accounts/…` and the console's own address of the same. */
let A: string
let account: string
let issuer: string

beforeAll(async () => {
  receiver = await startReceiver()
  world = await startConsole({ ALLOW_PRIVATE_NETWORKS: 'true' }, true)
  const made = await world.app.operator.graphql(
    'mutation ($input: CreateAccountInput!) { createAccount(input: $input) { account { id } } }',
    { input: { name: 'Acme' } },
  )
  accountId = made.body.data.createAccount.account.id
  A = `/v1/accounts/${accountId}`
  issuerId = must(await world.app.operator.post(`${A}/issuers`, { name: 'Customers' }), 201).data.id
  const opened = await world.open({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpected
  account = `${world.app.baseUrl}/console/accounts/${accountId}`
  issuer = `${account}/issuers/${issuerId}`
  await signIn(page, `${account}/api-keys`)
  await page.getByRole('heading', { level: 1, name: 'API keys' }).waitFor()
}, 60_000)
afterAll(async () => {
  await world?.close()
  await receiver?.close()
})

const barriers: string[] = []

/** The page is there, keeps nobody out and fits a phone. */
async function fine(name: string): Promise<void> {
  await page.getByRole('heading', { level: 1, name }).waitFor()
  barriers.push(...(await barriersOn(page)))
  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
  await page.setViewportSize({ width: 1280, height: 860 })
}

const dialog = (name: string | RegExp) => page.getByRole('dialog', { name })
const press = (name: string | RegExp) => page.getByRole('button', { name }).first().click()

/** Closes the dialogue with secrets. @returns them */
async function secrets(name: string): Promise<string[]> {
  const shown = await dialog(name)
    .locator('[data-secret]')
    .first()
    .waitFor()
    .then(() => dialog(name).locator('[data-secret]').allTextContents())
  await dialog(name).getByRole('button', { name: 'I have kept it' }).click()
  return shown
}

test('an API key may do what was ticked, is cut down further, blocked and revoked', async () => {
  await fine('API keys')
  await press('New API key')
  await dialog('New API key').getByLabel('Name').fill('Importer')
  await dialog('New API key').getByRole('button', { name: 'Make key' }).click()
  await dialog('New API key').getByText('Scopes is needed.').waitFor()
  await dialog('New API key').getByLabel('issuers.users:read').check()
  barriers.push(...(await barriersOn(page)))
  await dialog('New API key').getByRole('button', { name: 'Make key' }).click()
  const [id = '', secret = ''] = await secrets('Your API key')
  const key = apiAs(world.app.baseUrl, { id, secret })
  must(await key.get(`${A}/issuers/${issuerId}/users`), 200)
  must(await key.get(`${A}/issuers/${issuerId}/clients`), 403)

  await fine('Importer')
  expect(await page.content()).not.toContain(secret)
  await page.getByRole('combobox', { name: /^Only from these addresses/ }).fill('203.0.113.0/24')
  await page.keyboard.press('Enter')
  await press('Save changes')
  await page.getByText('Key saved').waitFor()
  expect(must(await world.app.operator.get(`${A}/api-keys/${id}`), 200).data.restrictions).toEqual({
    scopes: ['issuers.users:read'],
    ip_allowlist: ['203.0.113.0/24'],
  })

  await press('Rotate secret')
  await press('Make a new secret')
  expect((await secrets('The new secret'))[0]).not.toBe(secret)
  await press('Block key')
  await dialog('Block this key').getByRole('button', { name: 'Block key' }).click()
  await press('Unblock')
  await page.getByText('Key is active again').waitFor()
  await press('Revoke key')
  const revoke = dialog('Revoke this key')
  expect(await revoke.getByRole('button', { name: 'Revoke key' }).isDisabled()).toBe(true)
  await revoke.getByRole('textbox').fill('Importer')
  await revoke.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('Key revoked').waitFor()
  expect(must(await world.app.operator.get(`${A}/api-keys/${id}`), 200).data.status).toBe('revoked')
})

test('a webhook shows its secret once, is tested, delivers again, and is deleted', async () => {
  await page.goto(`${account}/webhooks`)
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor()
  await press('New webhook')
  await dialog('New webhook').getByLabel('Address').fill(`${receiver.url}/told`)
  await dialog('New webhook').getByLabel('Name').fill('Warehouse')
  await dialog('New webhook').getByRole('combobox', { name: 'Events' }).fill('client.cr')
  await page.getByRole('option', { name: 'client.created' }).click()
  await page.keyboard.press('Tab')
  await dialog('New webhook').getByRole('button', { name: 'Make webhook' }).click()
  expect((await secrets('Your webhook’s secrets'))[0]).toMatch(/^whsec_/)

  await page.getByRole('heading', { level: 1, name: 'Warehouse' }).waitFor()
  await press('Send test event')
  const table = page.getByRole('table', { name: 'Deliveries' })
  await table.getByText('delivered').waitFor()
  expect(receiver.at('/told').map(({ told }) => told['type'])).toEqual(['webhook.test'])
  await fine('Warehouse')
  await table.getByRole('button', { name: /^webhook\.test dlv/ }).click()
  await dialog('webhook.test').getByText('204').waitFor()
  await dialog('webhook.test').getByRole('button', { name: 'Redeliver' }).click()
  await page.getByText('It is on its way again').waitFor()
  await press('Redeliver a span of time …')
  const span = dialog('Redeliver a span of time')
  await span.getByRole('combobox', { name: 'Which' }).click()
  await page.getByRole('option', { name: 'What was accepted' }).click()
  await span.getByRole('button', { name: 'Redeliver' }).click()
  await page
    .getByText(/on (its|their) way again$/)
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
  await page.getByRole('heading', { name: 'No webhook yet' }).waitFor()
})

test('events come live, none is lost during a pause, and they are filtered, read and counted', async () => {
  const addUser = async (username: string) =>
    must(await world.app.operator.post(`${A}/issuers/${issuerId}/users`, { username_type: 'unique', username }), 201)
  await page.goto(`${account}/events/live?eventTypes=user.created`)
  await page.getByText('Listening').waitFor()
  await addUser('first')
  const live = page.getByRole('table', { name: 'Live events' })
  await live.getByText('user.created').waitFor()
  await press('Pause')
  await addUser('second')
  await addUser('third')
  await press('Go on')
  await live.getByText('user.created').nth(2).waitFor()
  expect(await live.getByText('user.created').count()).toBe(3)
  barriers.push(...(await barriersOn(page)))

  await page.getByRole('link', { name: 'Charts' }).click()
  await page.getByRole('list', { name: 'Events by type' }).getByText('user.created').waitFor()
  await fine('Events')
  await page.goto(`${account}/events?eventTypes=user.created&issuerId=${issuerId}`)
  const all = page.getByRole('table', { name: 'Events' })
  await all.getByText('user.created').nth(2).waitFor()
  expect(await all.getByRole('row').count()).toBe(4)
  await fine('Events')
  await all.getByText('user.created').first().click()
  await page.getByText('A user was made.').waitFor()
  await fine('user.created')
})

test('a domain shows the record to set, says when it is not there, and is given to an issuer', async () => {
  await page.goto(`${account}/domains?new=1`)
  await dialog('Add a domain').getByLabel('Domain').fill('login.example.com')
  await dialog('Add a domain').getByRole('button', { name: 'Add domain' }).click()
  await page.getByText('_gatehouse-challenge.login.example.com', { exact: true }).waitFor()
  await fine('login.example.com')
  await press('Verify')
  await page
    .getByRole('alert')
    .getByText(/TXT|record/)
    .waitFor()

  await world.app.gatehouse.tools.prisma.domain.updateMany({ data: { verified: true, verifiedAt: Date.now() } })
  await page.reload()
  await page.getByRole('combobox', { name: 'Given to' }).click()
  await page.getByRole('option', { name: 'Customers' }).click()
  await page.getByText('Domain given to the issuer').waitFor()
  const [domain] = must(await world.app.operator.get(`${A}/domains`), 200).data
  expect(domain.issuer_id).toBe(issuerId)
  await press('Remove domain')
  await dialog('Remove this domain').getByRole('textbox').fill('login.example.com')
  await dialog('Remove this domain').getByRole('button', { name: 'Remove domain' }).click()
  await page.getByRole('heading', { name: 'No domain yet' }).waitFor()
})

test('credits say what is left and how to add to it; a payment method is added and removed', async () => {
  await page.goto(`${account}/credits`)
  await page.getByText('$0.00', { exact: true }).waitFor()
  await page.getByText('PAYMENT-SIGNATURE').first().waitFor()
  await fine('Credits')
  await page.getByRole('link', { name: 'Payment methods' }).first().click()
  await press('Add payment method')
  await dialog('Add a payment method').getByLabel('Label').fill('Treasury')
  await dialog('Add a payment method').getByRole('button', { name: 'Add' }).click()
  await page.getByRole('table', { name: 'Payment methods' }).getByText('Treasury').waitFor()
  await fine('Payment methods')
  await press('Treasury: actions')
  await page.getByRole('menuitem', { name: 'Remove …' }).click()
  await dialog('Remove the payment method').getByRole('textbox').fill('Treasury')
  await dialog('Remove the payment method').getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('table', { name: 'Payment methods' }).getByText('removed').waitFor()
})

test('an administrator is added with scopes, suspended and removed', async () => {
  const { app } = world
  const system: Loose = must(await app.operator.get('/v1/accounts'), 200).data.at(-1)
  const [home] = must(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const user = { username_type: 'email', username: 'helper@example.com', profile: { name: 'Helper' } }
  const { data } = must(await app.operator.post(`/v1/accounts/${system.id}/issuers/${home.id}/users`, user), 201)
  await page.goto(`${account}/administrators`)
  await fine('Administrators')
  await press('Add administrator')
  await dialog('Add an administrator').getByLabel('User id').fill(data.id)
  await dialog('Add an administrator').getByLabel('webhooks:read').check()
  await dialog('Add an administrator').getByRole('button', { name: 'Add administrator' }).click()
  await fine('Helper')
  await page.goto(`${account}/administrators`)
  const list = page.getByRole('table', { name: 'Administrators' })
  await page.getByRole('searchbox', { name: 'Search by username, name or email' }).fill('nobody')
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('searchbox').fill('help')
  await list.getByText('Helper').waitFor()
  await fine('Administrators')
  await list.getByText('Helper').click()
  await fine('Helper')
  await page.getByRole('combobox', { name: /^Status/ }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await press('Save changes')
  await page.getByText('Administrator saved').waitFor()
  await press('Remove administrator')
  await dialog('Remove this administrator').getByRole('textbox').fill('Helper')
  await dialog('Remove this administrator').getByRole('button', { name: 'Remove administrator' }).click()
  await page.getByRole('heading', { level: 1, name: 'Administrators' }).waitFor()
  await page.getByRole('table', { name: 'Administrators' }).or(page.getByText('Nobody but the owner')).waitFor()
  expect(await page.getByText('Helper').count()).toBe(0)
})

test('a method of each sort is added with its own fields, switched off and deleted', async () => {
  const methods = async (): Promise<Loose[]> =>
    must(await world.app.operator.get(`${A}/issuers/${issuerId}/auth-methods`), 200).data
  await page.goto(`${issuer}/authentication?new=1`)
  const add = dialog('Add a method')
  await add.getByRole('radio', { name: 'Passkey' }).click()
  await add.getByRole('button', { name: 'Add method' }).click()
  await fine('Passkey')
  await page.goto(`${issuer}/authentication?new=1`)
  await add.getByRole('radio', { name: 'OpenID Connect' }).click()
  await add.getByLabel('Name').fill('Staff')
  await add.getByRole('textbox', { name: /^Issuer/ }).fill('https://login.example.com')
  await add.getByLabel('Client id').fill('gatehouse')
  await add.getByLabel('Client secret').fill('very secret')
  barriers.push(...(await barriersOn(page)))
  await add.getByRole('button', { name: 'Add method' }).click()
  await page.getByText('Register this callback there').waitFor()
  await fine('Staff')
  await page.getByLabel('People can sign in with it').uncheck()
  await press('Save changes')
  await page.getByText('Method saved').waitFor()
  expect((await methods()).find(({ name }) => name === 'Staff')).toMatchObject({
    enabled_login: false,
    settings: { issuer_url: 'https://login.example.com', client_id: 'gatehouse', client_secret_set: true },
  })
  // D35: the settings of the contract are enough; what is missing is said where it can be added.
  await page.goto(`${issuer}/authentication?new=1`)
  await add.getByRole('radio', { name: 'OAuth 2.0' }).click()
  await add.getByLabel('Name').fill('Acme')
  await add.getByLabel('Provider').fill('acme-corp')
  await add.getByLabel('Client id').fill('gatehouse')
  await add.getByLabel('Client secret').fill('very secret')
  await add.getByLabel('Callback registered there').fill('https://idp.example.com/callback')
  await add.getByRole('button', { name: 'Add method' }).click()
  await page.getByText('is not offered on the sign-in page').waitFor()
  await page.getByText(/authorization_endpoint, token_endpoint and userinfo_endpoint are missing/).waitFor()
  await screenshots(page, 'method-not-ready')
  await fine('Acme')
  for (const [label, path] of [
    ['Authorization endpoint', 'authorize'],
    ['Token endpoint', 'token'],
    ['Userinfo endpoint', 'me'],
  ] as const)
    await page.getByLabel(label).fill(`https://acme.example/${path}`)
  const provider = page.locator('form', { has: page.getByLabel('Client secret') })
  await provider.getByLabel('Client secret').fill('very secret')
  await provider.getByRole('button', { name: 'Save changes' }).click()
  await page.getByText('is not offered on the sign-in page').waitFor({ state: 'hidden' })
  await press('Delete method')
  await dialog('Delete this method').getByRole('textbox').fill('Acme')
  await dialog('Delete this method').getByRole('button', { name: 'Delete method' }).click()
  await page.getByRole('table', { name: 'Authentication methods' }).getByText('Staff').first().click()

  await press('Delete method')
  await dialog('Delete this method').getByRole('textbox').fill('Staff')
  await dialog('Delete this method').getByRole('button', { name: 'Delete method' }).click()
  await page.getByRole('table', { name: 'Authentication methods' }).getByText('Passkey').first().waitFor()
  expect((await methods()).map(({ method }) => method)).toEqual(['passkey'])
  await fine('Authentication')
})

test('signing keys say where they are, when they change, and when they did', async () => {
  await page.goto(`${issuer}/signing-keys`)
  await page.getByRole('heading', { name: 'No rotation yet' }).waitFor()
  await rotateKeys(systemContext(world.app.gatehouse), issuerId)
  await page.reload()
  await page.getByRole('table', { name: 'Rotations' }).getByText('On request').waitFor()
  const { keys } = (await (await fetch(`${world.app.idpUrl}/${issuerId}/jwks.json`)).json()) as { keys: Loose[] }
  await page.getByText(`${world.app.idpUrl}/${issuerId}/jwks.json`).waitFor()
  expect(new Set(keys.map(({ alg }) => alg))).toEqual(new Set(['ES256', 'EdDSA', 'RS256']))
  await fine('Signing keys')
})

test('no page of this story wrote an error, asked another host, broke its policy or keeps anybody out', () => {
  expect(unexpected()).toEqual([])
  expect(barriers).toEqual([])
})
