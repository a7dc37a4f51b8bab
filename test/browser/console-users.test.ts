/** Organizations, agents, approvals, notes and the pages of users in the console, in Chromium. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { createClientKey } from '../setup/client-assertions.js'
import { accessibilityViolations } from './accessibility.js'
import {
  ADMIN,
  addEntry,
  type ConsoleFixture,
  saveScreenshots,
  signInAsAdministrator,
  startConsoleFixture,
} from './console-fixture.js'

let fixture: ConsoleFixture
let tenant: Tenant
let page: Page
let unexpected: () => string[]
let issuer: string
let grace: string

beforeAll(async () => {
  fixture = await startConsoleFixture()
  tenant = await createTenant(fixture.app, 'Acme')
  issuer = `/accounts/${tenant.accountId}/issuers/${tenant.issuerId}`
  grace = await createPerson('grace', 'Grace Hopper')
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  page = opened.page
  unexpected = opened.unexpectedProblems
}, 60_000)
afterAll(() => fixture?.close())

/** Creates an administrator of the account with these scopes, signs in as this administrator, and opens a page. */
async function openPageAsAdministratorWith(scopes: string[], path: string) {
  const { operator } = fixture.app
  const [system] = expectStatus(await operator.get('/v1/accounts'), 200).data.slice(-1)
  const [own] = expectStatus(await operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const I = `/v1/accounts/${system.id}/issuers/${own.id}`
  const username = `admin-${scopes.length}@example.com`
  const { id } = expectStatus(await operator.post(`${I}/users`, { username_type: 'email', username }), 201).data
  const password = { type: 'password', name: null, password: ADMIN.password }
  expectStatus(await operator.post(`${I}/users/${id}/verifiers`, password), 201)
  const { admin_org_id } = expectStatus(await operator.get(`/v1/accounts/${tenant.accountId}`), 200).data
  const member = { member_id: id, scopes: ['accounts:read', 'issuers:read', ...scopes] }
  expectStatus(await operator.post(`${I}/organizations/${admin_org_id}/members`, member), 201)
  const opened = await fixture.openPage({ viewport: { width: 1280, height: 860 } })
  await opened.page.goto(at(path))
  await opened.page.getByLabel('Username or email').fill(username)
  await opened.page.getByLabel('Password').fill(ADMIN.password)
  await opened.page.keyboard.press('Enter')
  return opened
}

async function createPerson(username: string, name: string, more: object = {}): Promise<string> {
  const body = { username_type: 'unique', username, profile: { name }, ...more }
  return expectStatus(await tenant.owner.post(`${tenant.I}/users`, body), 201).data.id
}

const at = (path: string) => `${fixture.app.baseUrl}/console${path}`
const heading = (name: string) => page.getByRole('heading', { level: 1, name }).waitFor()
const tab = (name: string) =>
  page
    .getByRole('navigation', { name: /^Sections of/ })
    .getByRole('link', { name })
    .click()
const waitForText = (text: string) => page.getByText(text).first().waitFor()

const violations: string[] = []

/** Collects accessibility violations, and pages that do not fit a phone. The last test expects that there are none. */
async function expectAccessible(name: string): Promise<void> {
  violations.push(...(await accessibilityViolations(page)).map((text) => `${name}: ${text}`))
  await page.setViewportSize({ width: 390, height: 844 })
  if (!(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')))
    violations.push(`${name}: too wide for phones`)
  await page.setViewportSize({ width: 1280, height: 860 })
}

/** Reads the secrets in a dialog, closes the dialog, and expects that the page no longer contains the last secret. */
async function secretsOf(title: string): Promise<string[]> {
  const dialog = page.getByRole('dialog', { name: title, exact: true })
  await dialog.waitFor()
  const secrets = await dialog.locator('[data-secret]').allTextContents()
  await dialog.getByRole('button', { name: "I've saved it" }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(await page.content()).not.toContain(secrets.at(-1)!)
  return secrets
}

let orgId: string

test('saving the settings of an organization keeps values that have no field', async () => {
  await signInAsAdministrator(page, at(`${issuer}/organizations`))
  await page.getByRole('heading', { name: 'No organizations yet' }).waitFor()
  await page.getByRole('button', { name: 'Create organization' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create organization' })
  await dialog.getByLabel('Name').fill('Hopper Industries')
  await page.keyboard.press('Enter')
  await heading('Hopper Industries')
  orgId = new URL(page.url()).pathname.split('/').at(-1)!
  await expectAccessible('organization')
  const path = `${tenant.I}/organizations/${orgId}`
  expectStatus(await tenant.owner.patch(path, { security: { mfa_required: false, own: 1 } }), 200)
  await page.goto(at(`${issuer}/organizations/${orgId}/settings`))
  await page.getByRole('switch', { name: 'Require multi-factor authentication' }).check({ force: true })
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await waitForText('Organization saved')
  expect(expectStatus(await tenant.owner.get(path), 200).data.security).toEqual({ mfa_required: true, own: 1 })

  expectStatus(
    await tenant.owner.patch(path, { social_links: [{ type: 'web', url: 'https://old.example', own: 1 }] }),
    200,
  )
  await page.goto(at(`${issuer}/organizations/${orgId}/settings`))
  await page.getByLabel('Links, 1: URL').fill('https://hopper.example')
  await page.getByRole('button', { name: 'Add link' }).click()
  await page.getByLabel('Links, 2: type').fill('github')
  await page.getByRole('button', { name: 'Save changes' }).nth(2).click()
  await waitForText('Each link needs a URL')
  await page.getByLabel('Links, 2: URL').fill('https://github.com/hopper')
  await expectAccessible('organization settings')
  await page.getByRole('button', { name: 'Save changes' }).nth(2).click()
  await waitForText('Organization saved')
  expect(expectStatus(await tenant.owner.get(path), 200).data.social_links).toEqual([
    { type: 'web', url: 'https://hopper.example', own: 1 },
    { type: 'github', url: 'https://github.com/hopper' },
  ])
})

test('after a conflict, an organization can be overwritten', async () => {
  await tab('Overview')
  const path = `${tenant.I}/organizations/${orgId}`
  await page.getByLabel('Description').fill('Ours')
  expectStatus(await tenant.owner.patch(path, { description: 'Theirs' }), 200)
  await page.getByRole('button', { name: 'Save changes' }).click()
  const dialog = page.getByRole('dialog', { name: 'Changed by someone else' })
  expect(await dialog.getByRole('row', { name: /^Description/ }).textContent()).toBe('DescriptionTheirsOurs')
  await dialog.getByRole('button', { name: 'Overwrite with my changes' }).click()
  await dialog.waitFor({ state: 'hidden' })
  expect(expectStatus(await tenant.owner.get(path), 200).data.description).toBe('Ours')
})

test('a member found by name joins with additional scopes and those of a group', async () => {
  await tab('Groups')
  await page.getByRole('button', { name: 'Create group' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create group' })
  await dialog.getByLabel('Name').fill('Purchasing')
  await dialog.getByRole('combobox', { name: 'Scopes' }).fill('orders:write')
  await dialog.getByRole('button', { name: 'Create group' }).click()
  await page.getByRole('heading', { name: 'Purchasing' }).waitFor()

  await tab('Members')
  await page.getByRole('button', { name: 'Add member' }).first().click()
  const adding = page.getByRole('dialog', { name: 'Add member' })
  await adding.getByRole('button', { name: 'Add member' }).click()
  await adding.getByText('Select a user.').first().waitFor()
  await adding.getByRole('combobox', { name: 'User' }).fill('grace')
  await page.getByRole('option', { name: 'Grace Hopper' }).click()
  await adding.getByRole('combobox', { name: 'Additional scopes' }).fill('orders:approve')
  await adding.getByRole('combobox', { name: 'Groups' }).click()
  await page.getByRole('option', { name: 'Purchasing' }).click()
  await page.keyboard.press('Tab')
  await adding.getByRole('button', { name: 'Add member' }).click()
  const table = page.getByRole('table', { name: 'Members' })
  await table.getByText('Grace Hopper').waitFor()
  await table.getByText('orders:write', { exact: true }).waitFor()
  await table.getByText('orders:approve', { exact: true }).waitFor()
  await expectAccessible('members')

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

test('an invitation can be sent, resent and revoked', async () => {
  await tab('Invitations')
  await page.getByRole('button', { name: 'Invite member' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Invite member' })
  await dialog.getByLabel('Email address').fill('jean@example.com')
  await dialog.getByRole('button', { name: 'Send invitation' }).click()
  const table = page.getByRole('table', { name: 'Invitations' })
  await table.getByText('jean@example.com').waitFor()
  await expectAccessible('invitations')
  await page.getByRole('button', { name: 'Invitation to jean@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Resend' }).click()
  await waitForText('Invitation to jean@example.com resent')
  await page.getByRole('button', { name: 'Invitation to jean@example.com' }).click()
  await page.getByRole('menuitem', { name: 'Revoke' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await table.getByText('revoked').waitFor()
})

test('an organization API key shows its secret once, and can be restricted, rotated, blocked and revoked', async () => {
  await tab('API keys')
  await page.getByRole('button', { name: 'Create key' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create API key' })
  await dialog.getByLabel('Name').fill('Order service')
  await dialog.getByLabel('issuers.organizations.members:read').check()
  await dialog.getByRole('button', { name: 'Create key' }).click()
  const [id, secret] = await secretsOf('Organization API key')
  await page.getByRole('heading', { name: 'Order service' }).waitFor()
  expect(page.url()).toBe(at(`${issuer}/organizations/${orgId}/keys/${id}`))
  await expectAccessible('organization key')
  const key = async () =>
    expectStatus(await tenant.owner.get(`${tenant.I}/organizations/${orgId}/api-keys/${id}`), 200).data
  expect((await key()).restrictions).toEqual({ scopes: ['issuers.organizations.members:read'] })
  await addEntry(page.getByRole('combobox', { name: /^Allowed IP addresses/ }), '203.0.113.0/24')
  await page.getByRole('button', { name: 'Save changes' }).first().click()
  await waitForText('Key saved')
  expect((await key()).restrictions).toEqual({
    scopes: ['issuers.organizations.members:read'],
    ip_allowlist: ['203.0.113.0/24'],
  })
  await page.getByRole('button', { name: 'Rotate secret' }).click()
  await page.getByRole('button', { name: 'Create new secret' }).click()
  expect(await secretsOf('New secret')).not.toContain(secret)
  await page.getByRole('button', { name: 'Block', exact: true }).click()
  await page.getByRole('button', { name: 'Unblock' }).waitFor()
  await page.getByRole('button', { name: 'Revoke key' }).click()
  const confirm = page.getByRole('dialog', { name: 'Revoke this key' })
  await confirm.getByRole('textbox').fill('Order service')
  await confirm.getByRole('button', { name: 'Revoke key' }).click()
  await page.getByText('revoked').first().waitFor()
})

test('an agent can be created, get a secret, public keys and a wallet, and be suspended with a reason', async () => {
  await page.goto(at(`${issuer}/agents`))
  await page.getByRole('heading', { name: 'No agents yet' }).waitFor()
  await page.getByRole('button', { name: 'Create agent' }).first().click()
  await page.getByRole('dialog').getByLabel('Name').fill('Invoice reader')
  await page.keyboard.press('Enter')
  await heading('Invoice reader')
  await page.getByRole('button', { name: 'Create secret' }).first().click()
  await page.getByRole('dialog').getByRole('button', { name: 'Create secret' }).click()
  await secretsOf('Agent secret')
  await page.getByRole('button', { name: 'Add public key' }).click()
  const publicKey = page.getByRole('dialog', { name: 'Add public key' })
  const addPublicKey = () => publicKey.getByRole('button', { name: 'Add public key' }).click()
  const jwks = publicKey.getByLabel('Public keys')
  await addPublicKey()
  await publicKey.getByText('Public keys is required.').waitFor()
  await jwks.fill(JSON.stringify({ keys: [createClientKey().jwk] }))
  // The field formats its text and grows when it loses the focus, which moves the button.
  await jwks.blur()
  await addPublicKey()
  await publicKey.getByText(/settings\.security\.openid_policy\.client_assertions\.enabled/).waitFor()
  const settings = { security: { openid_policy: { client_assertions: { enabled: true } } } }
  expectStatus(await tenant.owner.patch(tenant.I, { settings }), 200)
  await addPublicKey()
  const credentials = page.getByRole('table', { name: 'Credentials' })
  await credentials.getByText('Public key').first().waitFor()
  await page.getByRole('button', { name: 'Add public key' }).click()
  await publicKey.getByLabel('JWKS URL').fill('https://agents.example.com/jwks.json')
  await jwks.waitFor({ state: 'hidden' })
  await addPublicKey()
  await credentials.getByText('https://agents.example.com/jwks.json').waitFor()
  await page.getByRole('button', { name: 'Add wallet' }).click()
  const wallet = page.getByRole('dialog', { name: 'Add wallet' })
  await wallet.getByLabel('Network').fill('eip155:1')
  await wallet.getByLabel('Address').fill('0x1')
  await wallet.getByRole('button', { name: 'Add wallet' }).click()
  await wallet.getByText(/40 hexadecimal digits/).waitFor()
  await wallet.getByLabel('Address').fill(`0x${'ab'.repeat(20)}`)
  await wallet.getByRole('button', { name: 'Add wallet' }).click()
  await page.getByRole('table', { name: 'Credentials' }).getByText('Wallet').first().waitFor()
  await expectAccessible('agent verifiers')
  await tab('Connect')
  await page.getByText('grant_type=client_credentials').waitFor()
  await tab('Settings')
  await page.getByRole('combobox', { name: 'Status' }).click()
  await page.getByRole('option', { name: 'Suspended' }).click()
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await page.getByText('Reason is required.').waitFor()
  await page.getByLabel('Reason').fill('Under review')
  await page.getByRole('button', { name: 'Save changes' }).nth(1).click()
  await waitForText('Agent saved')
  await page.goto(at(`${issuer}/agents?hasVerifiers=true`))
  await page.getByRole('table', { name: 'Agents' }).getByText('Invoice reader').waitFor()
  await expectAccessible('agents')
})

test('sign-ups can be approved, and denied with a reason, by keyboard', async () => {
  const pending = { requires_approval: true, signup_reason: 'A colleague sent me.' }
  const ids: string[] = []
  for (const name of ['Ada Byron', 'Alan Turing', 'Edsger Dijkstra']) {
    ids.push(await createPerson(name.split(' ')[1]!, name, pending))
  }
  const status = async (n: number) => expectStatus(await tenant.owner.get(`${tenant.I}/users/${ids[n]}`), 200).data
  await page.goto(at(`${issuer}/approvals`))
  await page.getByRole('heading', { level: 2, name: 'Ada Byron' }).waitFor()
  await expectAccessible('approvals')
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
  await waitForText('Ada Byron approved')
  await page.getByRole('heading', { level: 2, name: 'Alan Turing' }).waitFor()
  await page.getByRole('button', { name: 'Deny' }).waitFor()
  await page.keyboard.press('d')
  await page.locator('textarea:focus').waitFor()
  await page.keyboard.press('Control+Enter')
  await page.getByText('Enter a reason. It is shown to the user.').waitFor()
  await page.keyboard.type('We do not know you.')
  await expectAccessible('approvals denial')
  await page.keyboard.press('Control+Enter')
  await waitForText('Alan Turing denied')
  await page.getByRole('heading', { level: 2, name: 'Edsger Dijkstra' }).waitFor()
  expect([(await status(0)).status, (await status(1)).status, (await status(2)).status]).toEqual([
    'active',
    'blocked',
    'pending_approval',
  ])
})

test('the note editor suggests users, HTML is shown as text, and the page of a mentioned user lists the note', async () => {
  await page.goto(at(`${issuer}/organizations/${orgId}/notes`))
  const text = page.getByRole('textbox', { name: 'New note about Hopper Industries' })
  await text.pressSequentially('**Ask** @grace')
  await page.getByRole('option', { name: /Grace Hopper/ }).waitFor()
  await expectAccessible('note being written')
  // The script inserts the next text immediately after Enter, before the page can react, as a fast user does.
  await page.evaluate(`
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))
    document.execCommand('insertText', false, 'about')`)
  await text.pressSequentially(' <img src=x>')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('article').getByRole('link', { name: '@Grace Hopper' }).waitFor()
  await page.getByText('about <img src=x>').waitFor()
  await expectAccessible('notes of an organization')
  await page.getByRole('button', { name: /^Note by .*: menu/ }).click()
  await page.getByRole('menuitem', { name: 'Pin to the top' }).click()
  await page.getByRole('article').getByText('Pinned').waitFor()

  await page.getByRole('article').getByRole('link', { name: '@Grace Hopper' }).click()
  await heading('Grace Hopper')
  await tab('Notes')
  await page.getByRole('heading', { name: 'References' }).waitFor()
  await page.goto(at(`/accounts/${tenant.accountId}/notes?pinned=true`))
  await page.getByRole('table', { name: 'Notes' }).getByText('Ask @Grace Hopper about').click()
  await page.getByLabel('Text').fill('Settled.')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await waitForText('Note saved')
  await page.goto(at(`/accounts/${tenant.accountId}/notes`))
  const list = page.getByRole('table', { name: 'Notes' })
  await list.getByText('Settled.').waitFor()
  await page.getByRole('searchbox', { name: 'Search by first words or ID' }).fill('no such note')
  await page.getByText('No results').waitFor()
  await page.getByRole('searchbox').fill('settl')
  await list.getByText('Settled.').waitFor()
  await expectAccessible('notes')
})

test('the Markdown of a note is rendered; HTML, images and links with other schemes remain text', async () => {
  const content = [
    '# Terms',
    '**Signed *by* `ada`** with @[Grace](usr_1) and [[org:org_1|Acme]],\nsee [the text](https://example.com/a "A") or \\[[org:o]].',
    '<b onclick="x">HTML</b> ![image](https://example.com/i.png) [run](javascript:alert(1)) [file](data:text/html,x)',
    '- one\n  - two\n\n3. three\n\n> quoted [by @[Bo](usr_2)](mailto:bo@example.com)\n\n```html\n<b>[[user:usr_1]]</b>\n```',
    // A parser that recurses without a limit fails.
    '>'.repeat(5000),
  ].join('\n\n')
  const note = { content, subject_type: 'org', subject_id: orgId, issuer_id: tenant.issuerId }
  const { id } = expectStatus(await tenant.owner.post(`/v1/accounts/${tenant.accountId}/notes`, note), 201).data
  await page.goto(at(`/accounts/${tenant.accountId}/notes/${id}`))
  await page.getByRole('article').getByText('HTML').waitFor()
  await page.getByRole('article').locator('strong').waitFor()
  const html = await page.evaluate<string>(`{
    const body = document.querySelector('article strong').closest('div').cloneNode(true)
    for (const icon of body.querySelectorAll('svg')) icon.remove()
    for (const quote of body.querySelectorAll('blockquote:not(:has(p))')) quote.remove()
    for (const element of body.querySelectorAll('*'))
      for (const { name } of [...element.attributes])
        if (!['href', 'start', 'rel'].includes(name)) element.removeAttribute(name)
    body.innerHTML
  }`)
  const [rel, base] = ['noopener noreferrer nofollow', `/console${issuer}`]
  expect(html.split(/(?<=<\/(?:p|ul|ol|blockquote|pre)>)(?=<(?:p|ul|ol|blockquote|pre))/)).toEqual([
    '<p>Terms</p>',
    `<p><strong>Signed <em>by</em> <code>ada</code></strong> with <a href="${base}/users/usr_1">@Grace</a> and ` +
      `<a href="${base}/organizations/org_1">Acme</a>,\nsee <a href="https://example.com/a" rel="${rel}">the text</a> ` +
      'or [[org:o]].</p>',
    `<p>&lt;b onclick="x"&gt;HTML&lt;/b&gt; !<a href="https://example.com/i.png" rel="${rel}">image</a> ` +
      '[run](javascript:alert(1)) [file](data:text/html,x)</p>',
    '<ul><li>one<ul><li>two</li></ul></li></ul>',
    '<ol start="3"><li>three</li></ol>',
    `<blockquote><p>quoted <a href="mailto:bo@example.com" rel="${rel}">by @Bo</a></p></blockquote>`,
    '<pre><code>&lt;b&gt;[[user:usr_1]]&lt;/b&gt;\n</code></pre>',
  ])
  await expectAccessible('note with Markdown')
  expectStatus(await tenant.owner.delete(`/v1/accounts/${tenant.accountId}/notes/${id}`), 204)
})

test('the page of a user shows organizations and events, and creates a personal token that is shown once', async () => {
  await page.goto(at(`${issuer}/users/${grace}/organizations`))
  await page.getByRole('table', { name: 'Organizations' }).getByText('Hopper Industries').waitFor()
  await tab('Personal tokens')
  await page.getByRole('button', { name: 'Create token' }).first().click()
  const dialog = page.getByRole('dialog', { name: 'Create personal token' })
  await dialog.getByLabel('Name').fill('Nightly export')
  await dialog.getByRole('button', { name: 'Create token' }).click()
  await secretsOf('Personal token')
  await page.getByRole('button', { name: 'Revoke Nightly export' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click()
  await page.getByRole('table', { name: 'Personal tokens' }).getByText('revoked').waitFor()
  await expectAccessible('personal tokens')
  await tab('Events')
  await page.getByRole('table', { name: 'Events' }).getByText('user.created').waitFor()
  await expectAccessible('events of a user')
})

test('the organizations of a user are paged', async () => {
  const many = await createPerson('many', 'Many Hats')
  for (let at = 0; at < 27; at++) {
    const { id } = expectStatus(await tenant.owner.post(`${tenant.I}/organizations`, { name: `Club ${at}` }), 201).data
    expectStatus(await tenant.owner.post(`${tenant.I}/organizations/${id}/members`, { member_id: many }), 201)
  }
  await page.goto(at(`${issuer}/users/${many}/organizations`))
  const table = page.getByRole('table', { name: 'Organizations' })
  await table.getByText('Club 26', { exact: true }).waitFor()
  expect(await table.getByText('Club 1', { exact: true }).count()).toBe(0)
  await page.getByRole('button', { name: 'Next' }).click()
  await table.getByText('Club 0', { exact: true }).waitFor()
  await table.getByText('Club 1', { exact: true }).waitFor()
  await expectAccessible('organizations of a user')
})

test('the email address of a user can be marked as verified with issuers.users.verifiers:write', async () => {
  const id = await createPerson('mary', 'Mary Jackson', { profile: { email: 'mary@example.com' } })
  await page.goto(at(`${issuer}/users/${id}`))
  await page.getByLabel('Email address is verified').check()
  await expectAccessible('profile of a user')
  await saveScreenshots(page, 'user-profile')
  await page.getByRole('button', { name: 'Save changes' }).click()
  await waitForText('User saved')
  expect(expectStatus(await tenant.owner.get(`${tenant.I}/users/${id}`), 200).data.email_verified).toBe(true)

  const scopes = ['issuers.users:read', 'issuers.users:write']
  const { page: writerPage } = await openPageAsAdministratorWith(scopes, `${issuer}/users/${id}`)
  await writerPage.getByRole('button', { name: 'Save changes' }).waitFor()
  expect(await writerPage.getByLabel('Email address is verified').count()).toBe(0)
  await writerPage.context().close()
})

test('an administrator with read scopes for organizations and approvals sees only their pages, without actions', async () => {
  const scopes = ['organizations', 'organizations.members', 'approvals'].map((stem) => `issuers.${stem}:read`)
  const path = `${issuer}/organizations/${orgId}/members`
  const { page: readerPage, unexpectedProblems } = await openPageAsAdministratorWith(scopes, path)
  await readerPage.getByRole('table', { name: 'Members' }).getByText('Rear Admiral').waitFor()
  // The reader has no permission to read users, so the name of the member is hidden.
  expect(await readerPage.getByText('Grace Hopper').count()).toBe(0)
  const tabs = await readerPage
    .getByRole('navigation', { name: /^Sections of/ })
    .getByRole('link')
    .allTextContents()
  expect(tabs).toEqual(['Overview', 'Members', 'Invitations', 'Settings'])
  expect(await readerPage.getByRole('button', { name: 'Add member' }).count()).toBe(0)
  expect(await readerPage.getByRole('button', { name: /^Member / }).count()).toBe(0)
  await readerPage.goto(at(`${issuer}/approvals`))
  await readerPage.getByText('You do not have permission to approve or deny sign-ups.').waitFor()
  await readerPage.keyboard.press('a')
  expect(await readerPage.getByRole('form').count()).toBe(0)
  await readerPage.goto(at(`${issuer}/agents`))
  await readerPage.getByRole('heading', { name: 'You do not have access' }).waitFor()
  expect(unexpectedProblems()).toEqual([])
  await readerPage.context().close()
})

test('no page had accessibility violations or other problems', () => {
  expect(violations).toEqual([])
  expect(unexpected()).toEqual([])
})
