/** People in the console, in a real Chromium: organizations, agents, the approval desk, notes. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import { barriersOn } from './barriers.js'
import { ADMIN, type ConsoleWorld, signIn, startConsole } from './console-world.js'

let world: ConsoleWorld
let tenant: Tenant
let page: Page
let unexpected: () => string[]
let issuer: string
let grace: string

beforeAll(async () => {
  world = await startConsole()
  tenant = await makeTenant(world.app, 'Acme')
  issuer = `/accounts/${tenant.accountId}/issuers/${tenant.issuerId}`
  grace = await person('grace', 'Grace Hopper')
  const opened = await world.open({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpected
}, 60_000)
afterAll(() => world?.close())

async function person(username: string, name: string, more: object = {}): Promise<string> {
  const body = { username_type: 'unique', username, profile: { name }, ...more }
  return must(await tenant.owner.post(`${tenant.I}/users`, body), 201).data.id
}

const at = (path: string) => `${world.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const tab = (name: string) =>
  page
    .getByRole('navigation', { name: /^Parts of/ })
    .getByRole('link', { name })
    .click()
const said = (text: string) => page.getByText(text).first().waitFor()

const barriers: string[] = []

/** Notes what seriously keeps people out, in light and in dark, and whether a phone has to scroll sideways. */
async function usable(name: string): Promise<void> {
  barriers.push(...(await barriersOn(page)).map((text) => `${name}: ${text}`))
  await page.setViewportSize({ width: 390, height: 844 })
  if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
    barriers.push(`${name}: too wide for phones`)
  await page.setViewportSize({ width: 1280, height: 860 })
}

/** @returns what the dialogue for secrets shows, after closing it */
async function secretsOf(title: string): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: title })
  await dialog.waitFor()
  const secrets = await dialog.locator('[data-secret]').allTextContents()
  await dialog.getByRole('button', { name: 'I have kept it' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await page.content()).not.toContain(secrets.at(-1)!)
  return secrets
}

let orgId: string

test('an organization is made, and its settings are saved without losing what no field shows', async () => {
  await signIn(page, at(`${issuer}/organizations`))
  await page.getByRole('heading', { name: 'No organization yet' }).waitFor()
  await page.getByRole('button', { name: 'New organization' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New organization' })
  await dialog.getByLabel('Name').fill('Hopper Industries')
  await page.keyboard.press('Enter')
  await heading('Hopper Industries')
  orgId = new URL(page.url()).pathname.split('/').at(-1)!
  await usable('organization')
  const path = `${tenant.I}/organizations/${orgId}`
  must(await tenant.owner.patch(path, { security: { mfa_required: false, own: 1 } }), 200)
  await page.goto(at(`${issuer}/organizations/${orgId}/settings`))
  await page.getByRole('switch', { name: 'Members need a second factor' }).check({ force: true })
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await said('Organization saved')
  expect(must(await tenant.owner.get(path), 200).data.security).toEqual({ mfa_required: true, own: 1 })

  must(await tenant.owner.patch(path, { social_links: [{ type: 'web', url: 'https://old.example', own: 1 }] }), 200)
  await page.goto(at(`${issuer}/organizations/${orgId}/settings`))
  await page.getByLabel('Links, 1: address').fill('https://hopper.example')
  await page.getByRole('button', { name: 'Add link' }).click()
  await page.getByLabel('Links, 2: what it is').fill('github')
  await page.getByRole('button', { name: 'Save changes' }).nth(2).click()
  await said('Each link needs an address')
  await page.getByLabel('Links, 2: address').fill('https://github.com/hopper')
  await usable('organization settings')
  await page.getByRole('button', { name: 'Save changes' }).nth(2).click()
  await said('Organization saved')
  expect(must(await tenant.owner.get(path), 200).data.social_links).toEqual([
    { type: 'web', url: 'https://hopper.example', own: 1 },
    { type: 'github', url: 'https://github.com/hopper' },
  ])
})

test('an organization that somebody else has changed is saved as one chooses', async () => {
  await tab('Overview')
  const path = `${tenant.I}/organizations/${orgId}`
  await page.getByLabel('Description').fill('Ours')
  must(await tenant.owner.patch(path, { description: 'Theirs' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Changed by someone else' })
  expect(await dialog.getByRole('row', { name: /^Description/ }).textContent()).toBe('DescriptionTheirsOurs')
  await dialog.getByRole('button', { name: 'Save mine over it' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(must(await tenant.owner.get(path), 200).data.description).toBe('Ours')
})

test('a group is made, and a member found by name joins with scopes of its own and of the group', async () => {
  await tab('Groups')
  await page.getByRole('button', { name: 'New group' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New group' })
  await dialog.getByLabel('Name').fill('Purchasing')
  await dialog.getByRole('combobox', { name: 'Scopes' }).fill('orders:write')
  await dialog.getByRole('button', { name: 'Make group' }).click()
  await page.getByRole('heading', { name: 'Purchasing' }).waitFor()

  await tab('Members')
  await page.getByRole('button', { name: 'Add member' }).first().click()
  const adding = page.getByRole('dialog', { name: 'Add a member' })
  await adding.getByRole('button', { name: 'Add member' }).click()
  await adding.getByText('Choose who is to join.').first().waitFor()
  await adding.getByRole('combobox', { name: 'User' }).fill('grace')
  await page.getByRole('option', { name: 'Grace Hopper' }).click()
  await adding.getByRole('combobox', { name: 'Scopes of its own' }).fill('orders:approve')
  await adding.getByRole('combobox', { name: 'Groups' }).click()
  await page.getByRole('option', { name: 'Purchasing' }).click()
  await page.keyboard.press('Tab')
  await adding.getByRole('button', { name: 'Add member' }).click()
  const table = page.getByRole('table', { name: 'Members' })
  await table.getByText('Grace Hopper').waitFor()
  await table.getByText('orders:write', { exact: true }).waitFor()
  await table.getByText('orders:approve', { exact: true }).waitFor()
  await usable('members')

  await page.getByRole('button', { name: 'Member Grace Hopper' }).click()
  await page.getByRole('menuitem', { name: 'Change role' }).click()
  const role = page.getByRole('dialog', { name: 'Role of Grace Hopper' })
  await role.getByLabel('Title').fill('Rear Admiral')
  await role.getByRole('button', { name: 'Save changes' }).click()
  await table.getByText('Rear Admiral').waitFor()
  await page.getByRole('button', { name: 'Member Grace Hopper' }).click()
  await page.getByRole('menuitem', { name: 'Suspend' }).click()
  await table.getByText('suspended').waitFor()
})

test('somebody is invited by email, invited again, and the invitation is withdrawn', async () => {
  await tab('Invitations')
  await page.getByRole('button', { name: 'Invite somebody' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Invite somebody' })
  await dialog.getByLabel('Email address').fill('jean@example.com')
  await dialog.getByRole('button', { name: 'Send invitation' }).click()
  const table = page.getByRole('table', { name: 'Invitations' })
  await table.getByText('jean@example.com').waitFor()
  await usable('invitations')
  await page.getByRole('button', { name: 'Invitation of jean@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Send again' }).click()
  await said('Sent to jean@example.com again')
  await page.getByRole('button', { name: 'Invitation of jean@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Withdraw' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Withdraw' }).click()
  await table.getByText('revoked').waitFor()
})

test('a key of the organization shows its secret once, is rotated, blocked and revoked', async () => {
  await tab('API keys')
  await page.getByRole('button', { name: 'New key' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New API key' })
  await dialog.getByLabel('Name').fill('Order service')
  await dialog.getByLabel('issuers.organizations.members:read').check()
  await dialog.getByRole('button', { name: 'Make key' }).click()
  const [id, secret] = await secretsOf('Your organization’s key')
  await page.getByRole('heading', { name: 'Order service' }).waitFor()
  expect(page.url()).toBe(at(`${issuer}/organizations/${orgId}/keys/${id}`))
  await usable('organization key')
  const key = async () => must(await tenant.owner.get(`${tenant.I}/organizations/${orgId}/api-keys/${id}`), 200).data
  expect((await key()).restrictions).toEqual({ scopes: ['issuers.organizations.members:read'] })
  await page.getByRole('combobox', { name: /^Only from these addresses/ }).fill('203.0.113.0/24')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await said('Key saved')
  expect((await key()).restrictions).toEqual({
    scopes: ['issuers.organizations.members:read'],
    ip_allowlist: ['203.0.113.0/24'],
  })
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('button', { name: 'Make a new secret' }).click()
  expect(await secretsOf('The new secret')).not.toContain(secret)
  await page.getByRole('button', { name: 'Block', exact: true }).click()
  await page.getByRole('button', { name: 'Unblock' }).waitFor()
  await page.getByRole('button', { name: 'Revoke key' }).click()
  const confirm = page.getByRole('dialog', { name: 'Revoke this key' })
  await confirm.getByRole('textbox').fill('Order service')
  await confirm.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('revoked').first().waitFor()
})

test('an agent is made, given a secret and a wallet, and blocked with a reason', async () => {
  await page.goto(at(`${issuer}/agents`))
  await page.getByRole('heading', { name: 'No agent yet' }).waitFor()
  await page.getByRole('button', { name: 'New agent' }).first().click()
  await page.getByRole('dialog').getByLabel('Name').fill('Invoice reader')
  await page.keyboard.press('Enter')
  await heading('Invoice reader')
  await page.getByRole('button', { name: 'Make a secret' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Make secret' }).click()
  await secretsOf('The agent’s secret')
  await page.getByRole('button', { name: 'Add a wallet' }).click()
  const wallet = page.getByRole('dialog', { name: 'Add a wallet' })
  await wallet.getByLabel('Network').fill('eip155:1')
  await wallet.getByLabel('Address').fill('0x1')
  await wallet.getByRole('button', { name: 'Add wallet' }).click()
  await wallet.getByText(/40 hexadecimal digits/).waitFor()
  await wallet.getByLabel('Address').fill(`0x${'ab'.repeat(20)}`)
  await wallet.getByRole('button', { name: 'Add wallet' }).click()
  await page.getByRole('table', { name: 'Verifiers' }).getByText('Wallet').first().waitFor()
  await usable('agent verifiers')
  await tab('Connect')
  await page.getByText('grant_type=client_credentials').waitFor()
  await tab('Settings')
  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await page.getByText('Why is needed.').waitFor()
  await page.getByLabel('Why').fill('Under review')
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await said('Agent saved')
  await page.goto(at(`${issuer}/agents?hasVerifiers=true`))
  await page.getByRole('table', { name: 'Agents' }).getByText('Invoice reader').waitFor()
  await usable('agents')
})

test('the approval desk is worked by keyboard: one is let in, one turned down with a reason, one stays', async () => {
  const waiting = { requires_approval: true, signup_reason: 'I was told to ask.' }
  const ids: string[] = []
  for (const name of ['Ada Byron', 'Alan Turing', 'Edsger Dijkstra']) {
    ids.push(await person(name.split(' ')[1]!, name, waiting))
  }
  const status = async (n: number) => must(await tenant.owner.get(`${tenant.I}/users/${ids[n]}`), 200).data
  await page.goto(at(`${issuer}/approvals`))
  await page.getByRole('heading', { level: 2, name: 'Ada Byron' }).waitFor()
  await usable('approvals')
  await page.getByRole('heading', { level: 2, name: 'Ada Byron' }).waitFor()
  await page.keyboard.press('j')
  await page.getByRole('heading', { level: 2, name: 'Alan Turing' }).waitFor()
  expect(new URL(page.url()).searchParams.get('user')).toBe(ids[1])
  await page.keyboard.press('k')
  await page.getByRole('heading', { level: 2, name: 'Ada Byron' }).waitFor()
  await page.getByRole('button', { name: 'Approve' }).waitFor()
  await page.keyboard.press('a')
  await page.locator('form[aria-label="Approve Ada Byron"] button[type=submit]:focus').waitFor()
  await page.keyboard.press('Enter')
  await said('Ada Byron is let in')
  await page.getByRole('heading', { level: 2, name: 'Alan Turing' }).waitFor()
  await page.getByRole('button', { name: 'Deny' }).waitFor()
  await page.keyboard.press('d')
  await page.locator('textarea:focus').waitFor()
  await page.keyboard.press('Control+Enter')
  await page.getByText('Say why: the person is told.').waitFor()
  await page.keyboard.type('We do not know you.')
  await usable('approvals denial')
  await page.keyboard.press('Control+Enter')
  await said('Alan Turing is turned down')
  await page.getByRole('heading', { level: 2, name: 'Edsger Dijkstra' }).waitFor()
  expect([(await status(0)).status, (await status(1)).status, (await status(2)).status]).toEqual([
    'active',
    'blocked',
    'pending_approval',
  ])
})

test('a note proposes people as they are typed, shows no HTML, and is found from what it mentions', async () => {
  await page.goto(at(`${issuer}/organizations/${orgId}/notes`))
  const text = page.getByRole('textbox', { name: 'New note about Hopper Industries' })
  await text.pressSequentially('**Ask** @grace')
  await page.getByRole('option', { name: /Grace Hopper/ }).waitFor()
  await usable('note being written')
  // The next letters come at once with it, as of somebody who types fast.
  await page.evaluate(`
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
    document.execCommand('insertText', false, 'about')`)
  await text.pressSequentially(' <img src=x>')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('article').getByRole('link', { name: '@Grace Hopper' }).waitFor()
  await page.getByText('about <img src=x>').waitFor()
  await usable('notes of an organization')
  await page.getByRole('button', { name: /^Note by .*: menu/ }).click()
  await page.getByRole('menuitem', { name: 'Pin to the top' }).click()
  await page.getByRole('article').getByText('Pinned').waitFor()

  await page.getByRole('article').getByRole('link', { name: '@Grace Hopper' }).click()
  await heading('Grace Hopper')
  await tab('Notes')
  await page.getByRole('heading', { name: 'Pointing here' }).waitFor()
  await page.goto(at(`/accounts/${tenant.accountId}/notes?pinned=true`))
  await page.getByRole('table', { name: 'Notes' }).getByText('Ask @Grace Hopper about').click()
  await page.getByLabel('Text').fill('Settled.')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await said('Note saved')
  await page.goto(at(`/accounts/${tenant.accountId}/notes`))
  const list = page.getByRole('table', { name: 'Notes' })
  await list.getByText('Settled.').waitFor()
  await page.getByRole('searchbox', { name: 'Search by how it begins, or id' }).fill('nobody wrote this')
  await page.getByText('Nothing matches').waitFor()
  await page.getByRole('searchbox').fill('settl')
  await list.getByText('Settled.').waitFor()
  await usable('notes')
})

test('a user’s page leads to its organizations, makes a personal token shown once, and tells what happened', async () => {
  await page.goto(at(`${issuer}/users/${grace}/organizations`))
  await page.getByRole('table', { name: 'Organizations' }).getByText('Hopper Industries').waitFor()
  await tab('Personal tokens')
  await page.getByRole('button', { name: 'New token' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'New personal token' })
  await dialog.getByLabel('Name').fill('Nightly export')
  await dialog.getByRole('button', { name: 'Make token' }).click()
  await secretsOf('The token')
  await page.getByRole('button', { name: 'Revoke Nightly export' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('table', { name: 'Personal tokens' }).getByText('revoked').waitFor()
  await usable('personal tokens')
  await tab('Events')
  await page.getByRole('table', { name: 'Events' }).getByText('user.created').waitFor()
  await usable('events of a user')
})

test('a user of many organizations has all of them, page by page', async () => {
  const many = await person('many', 'Many Hats')
  for (let at = 0; at < 27; at++) {
    const { id } = must(await tenant.owner.post(`${tenant.I}/organizations`, { name: `Club ${at}` }), 201).data
    must(await tenant.owner.post(`${tenant.I}/organizations/${id}/members`, { member_id: many }), 201)
  }
  await page.goto(at(`${issuer}/users/${many}/organizations`))
  const table = page.getByRole('table', { name: 'Organizations' })
  await table.getByText('Club 26', { exact: true }).waitFor()
  expect(await table.getByText('Club 1', { exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Next' }).click()
  await table.getByText('Club 0', { exact: true }).waitFor()
  await table.getByText('Club 1', { exact: true }).waitFor()
  await usable('organizations of a user')
})

test('who may only read organizations and the queue is offered nothing else', async () => {
  const { operator } = world.app
  const [system] = must(await operator.get('/v1/accounts'), 200).data.slice(-1)
  const [own] = must(await operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const I = `/v1/accounts/${system.id}/issuers/${own.id}`
  const name = { username_type: 'email', username: 'reader@example.com' }
  const { id } = must(await operator.post(`${I}/users`, name), 201).data
  const password = { type: 'password', name: null, password: ADMIN.password }
  must(await operator.post(`${I}/users/${id}/verifiers`, password), 201)
  const { admin_org_id } = must(await operator.get(`/v1/accounts/${tenant.accountId}`), 200).data
  const reads = ['organizations', 'organizations.members', 'approvals'].map((stem) => `issuers.${stem}:read`)
  const member = { member_id: id, scopes: ['accounts:read', 'issuers:read', ...reads] }
  must(await operator.post(`${I}/organizations/${admin_org_id}/members`, member), 201)

  const { page: theirs, unexpected: trouble } = await world.open({ viewport: { width: 1280, height: 860 } })
  await theirs.goto(at(`${issuer}/organizations/${orgId}/members`))
  await theirs.getByLabel('Username or email').fill('reader@example.com')
  await theirs.getByLabel('Password').fill(ADMIN.password)
  await theirs.keyboard.press('Enter')
  await theirs.getByRole('table', { name: 'Members' }).getByText('Rear Admiral').waitFor()
  // The name is for those who may see users.
  expect(await theirs.getByText('Grace Hopper').count()).toBe(0)
  const tabs = await theirs
    .getByRole('navigation', { name: /^Parts of/ })
    .getByRole('link')
    .allTextContents()
  expect(tabs).toEqual(['Overview', 'Members', 'Invitations', 'Settings'])
  expect(await theirs.getByRole('button', { name: 'Add member' }).count()).toBe(0)
  expect(await theirs.getByRole('button', { name: /^Member / }).count()).toBe(0)
  await theirs.goto(at(`${issuer}/approvals`))
  await theirs.getByText('You may look, but not decide.').waitFor()
  await theirs.keyboard.press('a')
  expect(await theirs.getByRole('form').count()).toBe(0)
  await theirs.goto(at(`${issuer}/agents`))
  await theirs.getByRole('heading', { name: 'There is nothing here for you' }).waitFor()
  expect(trouble()).toEqual([])
  await theirs.context().close()
})

test('no page of this story keeps anybody out, and none did what it should not', () => {
  expect(barriers).toEqual([])
  expect(unexpected()).toEqual([])
})
