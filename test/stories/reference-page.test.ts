/** The page /docs in Chromium, which enforces its Content Security Policy (CSP). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import type { Page } from 'playwright-core'
import { accessibilityViolations } from '../browser/accessibility.js'
import { ADMIN, type ConsoleFixture, saveScreenshots, startConsoleFixture } from '../browser/console-fixture.js'

let fixture: ConsoleFixture

beforeAll(async () => {
  fixture = await startConsoleFixture()
}, 60_000)
afterAll(() => fixture?.close())

async function openDocs(suffix = '', options = {}) {
  const opened = await fixture.openPage(options)
  await opened.page.goto(`${fixture.app.baseUrl}/docs${suffix}`)
  await opened.page.getByRole('heading', { level: 1 }).waitFor()
  return opened
}

/** Opens the form of an operation. */
async function tryOperation(page: Page, id: string) {
  const operation = page.locator(`#${id}`)
  await page.evaluate(`location.hash = '${id}'`)
  await operation.getByRole('button', { name: 'Try it' }).click()
  return operation
}

const statusOf = (page: Page, id: string, text: string) =>
  page.locator(`#${id}`).getByRole('status').getByText(text).waitFor()

test('search finds operations and fields, and shows which fields match', async () => {
  const { page, unexpectedProblems } = await openDocs()
  await page.keyboard.press('/')
  await page.keyboard.type('no such thing')
  await page.getByText('No operation matches').waitFor()
  await page.getByRole('searchbox').fill('confidential client')
  await page.getByText(/^\d+ of \d+ operations$/).waitFor()
  const shown = page.locator('.op[data-method]:visible')
  expect(await shown.evaluateAll((all) => all.map(({ id }) => id))).toEqual(
    expect.arrayContaining(['listClients', 'createClient', 'getClient']),
  )
  expect(await page.locator('#listUsers').isVisible()).toBe(false)
  expect(await page.locator('#getClient summary').first().textContent()).toContain('has confidential')

  await page.getByRole('searchbox').fill('post issuers secret')
  await page.keyboard.press('Enter')
  expect(await page.locator('.op[open]').getAttribute('id')).toBe('rotateClientSecret')
  expect(unexpectedProblems()).toEqual([])
  await page.context().close()
})

test('an operation describes its parameters, body and response, and links lead to schemas and errors', async () => {
  const { page, unexpectedProblems } = await openDocs('#createClient')
  const operation = page.locator('#createClient')
  const body = operation.getByRole('table', { name: 'Body' })
  const type = body.getByRole('row').filter({ has: page.getByRole('rowheader', { name: /^type/ }) })
  expect(await type.textContent()).toContain('internal: An application of your own organization.')
  expect(await type.getByRole('rowheader').textContent()).toBe('type required')
  await operation.getByText('Fields of ClientWithSecret').click()
  await operation.getByRole('table', { name: 'ClientWithSecret' }).getByRole('rowheader', { name: 'secret' }).waitFor()
  const client = operation.getByRole('table', { name: 'Client', exact: true })
  await client.getByRole('rowheader', { name: 'updated_at' }).waitFor()
  expect(await accessibilityViolations(page)).toEqual([])
  await saveScreenshots(page, 'docs-operation')

  await page.setViewportSize({ width: 390, height: 844 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  await operation.getByRole('link', { name: 'ClientWithSecret' }).first().click()
  await page.locator('#schema-ClientWithSecret[open]').waitFor()
  await operation.getByRole('link', { name: '409 Conflict' }).click()
  expect(await page.locator('#status-409').textContent()).toContain('conflict')
  expect(unexpectedProblems()).toEqual([])
  await page.context().close()
})

test('the language of the samples is chosen by keyboard and remembered', async () => {
  const { page, unexpectedProblems } = await openDocs('#createClient')
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write'], { origin: fixture.app.baseUrl })
  const operation = page.locator('#createClient')
  await operation.getByRole('tab', { name: 'curl', selected: true }).focus()
  await page.keyboard.press('ArrowRight')
  await page.keyboard.press('ArrowRight')
  await operation.getByRole('tab', { name: 'Python', selected: true }).waitFor()
  expect(await operation.getByText('curl -X POST').isVisible()).toBe(false)
  await operation.getByRole('button', { name: 'Copy Python' }).click()
  await operation.getByText('Copied').waitFor()
  expect(await page.evaluate('navigator.clipboard.readText()')).toContain('response = requests.post(')

  await page.goto(`${fixture.app.baseUrl}/docs?q=user#getUser`)
  await page.locator('#getUser').getByRole('tab', { name: 'Python', selected: true }).waitFor()
  expect(await page.locator('#getUser').getByText('requests.get(').isVisible()).toBe(true)
  expect(unexpectedProblems()).toEqual([])
  await page.context().close()
})

test('the GraphQL twin of an operation opens in the playground', async () => {
  const { page, unexpectedProblems } = await openDocs('#listClients')
  const operation = page.locator('#listClients')
  await operation.getByText('GraphQL', { exact: true }).first().click()
  expect(await operation.getByRole('region', { name: 'GraphQL' }).textContent()).toContain('query listClients(')
  await operation.getByRole('link', { name: 'Open in the playground' }).click()
  await page.locator('[aria-label="Operation Editor"]').getByText('query listClients(').first().waitFor()
  expect(unexpectedProblems()).toEqual([])
  await page.context().close()
})

test('without scripts everything can be read', async () => {
  const { page } = await openDocs('', { javaScriptEnabled: false })
  await page.locator('#createClient > summary').click()
  const operation = page.locator('#createClient')
  for (const text of ['curl -X POST', "method: 'POST'", 'requests.post('])
    expect(await operation.getByText(text).isVisible()).toBe(true)
  expect(await operation.getByRole('link', { name: 'ClientWithSecret' }).first().isVisible()).toBe(true)
  expect(await page.getByRole('button', { name: 'Try it' }).count()).toBe(0)
  expect(await page.getByRole('searchbox').count()).toBe(0)
  await page.context().close()
})

test('"Try it" sends requests with the console session, after a click and for deletions after a confirmation', async () => {
  const { page, requests, unexpectedProblems } = await openDocs('#listIssuers')
  const { baseUrl } = fixture.app
  expect(requests.filter((url) => url.startsWith('http'))).toEqual([`${baseUrl}/docs`])
  await page.locator('#listIssuers').getByRole('button', { name: 'Try it' }).click()
  await page.locator('#listIssuers').getByText('You are not signed in.').waitFor()
  await page.locator('#listIssuers').getByRole('link', { name: 'Sign in to the console' }).click()
  await page.getByLabel('Username or email').fill(ADMIN.email)
  await page.getByLabel('Password').fill(ADMIN.password)
  await page.keyboard.press('Enter')
  await page.waitForURL(`${baseUrl}/docs#listIssuers`)

  const list = await tryOperation(page, 'listIssuers')
  expect(await list.getByLabel('account_id').inputValue()).toMatch(/^acc_/)
  await list.getByLabel('limit').fill('1')
  await list.getByRole('button', { name: 'Send request' }).click()
  await statusOf(page, 'listIssuers', '200 OK')
  expect(JSON.parse((await list.getByRole('region', { name: 'Response body' }).textContent())!).data).toHaveLength(1)
  await list.getByText('Headers', { exact: true }).last().click()
  expect(await list.getByRole('region', { name: 'Response headers' }).textContent()).toContain('x-request-id: req_')

  const create = await tryOperation(page, 'createIssuer')
  await create.getByRole('textbox', { name: 'Body' }).fill('{"name": ')
  await create.getByRole('button', { name: 'Send request' }).click()
  await statusOf(page, 'createIssuer', 'The body is not valid JSON')
  await create.getByRole('textbox', { name: 'Body' }).fill('{"name": "From the reference"}')
  await create.getByRole('button', { name: 'Send request' }).click()
  await statusOf(page, 'createIssuer', '201 Created')
  const { data: issuer } = JSON.parse((await create.getByRole('region', { name: 'Response body' }).textContent())!)
  expect(await accessibilityViolations(page)).toEqual([])
  await saveScreenshots(page, 'docs-try-it')

  // The id and the ETag of the response fill the forms of other operations.
  const read = await tryOperation(page, 'getIssuer')
  expect(await read.getByLabel('issuer_id').inputValue()).toBe(issuer.id)
  await read.getByRole('button', { name: 'Send request' }).click()
  await statusOf(page, 'getIssuer', '200 OK')
  const note = await tryOperation(page, 'createNote')
  expect(await note.getByRole('textbox', { name: 'Body' }).inputValue()).toContain(`"issuer_id": "${issuer.id}"`)
  const remove = await tryOperation(page, 'deleteIssuer')
  expect(await remove.getByLabel('If-Match').inputValue()).toBe(`"${issuer.updated_at}"`)
  await remove.getByRole('button', { name: 'Send request' }).click()
  await page.getByRole('dialog').getByText(`/issuers/${issuer.id} `).waitFor()
  await page.getByRole('button', { name: 'Cancel' }).click()
  expect(
    requests.filter((url) => url.endsWith(`/console/v1/accounts/${issuer.account_id}/issuers/${issuer.id}`)),
  ).toHaveLength(1)
  await remove.getByRole('button', { name: 'Send request' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Delete an issuer' }).click()
  await statusOf(page, 'deleteIssuer', '204 No Content')

  const stored = await page.evaluate('JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie])')
  expect(stored).toBe(JSON.stringify([{}, {}, '']))
  expect(requests.filter((url) => url.startsWith(baseUrl) && url.includes('eyJ'))).toEqual([])
  expect(unexpectedProblems()).toEqual([])

  await page.context().clearCookies()
  await read.getByRole('button', { name: 'Send request' }).click()
  await read.getByText('Your console session has ended.').waitFor()
  await page.context().close()
})
