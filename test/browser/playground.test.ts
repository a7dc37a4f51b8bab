/** The GraphQL playground in Chromium, which enforces its Content Security Policy (CSP). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { createAccount, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { launchBrowser, type MonitoredPage, openMonitoredPage } from './monitored-page.js'

let app: TestApp
let browser: Browser
let key: string
let accountId: string
let owner: ApiClient

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  browser = await launchBrowser()
  const account = await createAccount(app, 'Playground')
  accountId = account.accountId
  owner = account.owner
  key = Buffer.from(account.owner.authorization!.slice('Basic '.length), 'base64').toString()
}, 60_000)

afterAll(async () => {
  await browser?.close()
  await app?.close()
})

async function open(options = {}): Promise<MonitoredPage> {
  const monitored = await openMonitoredPage(browser, app.baseUrl, options)
  await monitored.page.goto(`${app.baseUrl}/playground`)
  // The editors load after the page, and accept input when they have rendered their lines.
  await monitored.page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  return monitored
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Credential').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText(accountId).waitFor()
}

/** A script expression for the models of the editors. GraphiQL exposes the Monaco editor as `__MONACO`. */
const models = 'globalThis.__MONACO.editor.getModels()'

/**
 * Waits until the text of an editor satisfies a condition, and returns the text. The text is read from the model of the
 * editor, because the DOM contains only the visible lines. The loop runs outside the page, because `waitForFunction`
 * needs eval, which the CSP forbids.
 * @param file the last part of the path of the model, such as `operation.graphql`
 */
async function textOf(page: Page, file: string, condition: (text: string) => boolean): Promise<string> {
  const texts = `${models}.map((model) => [model.uri.path, model.getValue()])`
  for (const deadline = Date.now() + 15_000; ; await page.waitForTimeout(50)) {
    const found = ((await page.evaluate(texts)) as [string, string][]).find(([path]) => path.endsWith(file))
    if (found && condition(found[1])) return found[1]
    if (Date.now() > deadline) throw new Error(`${file} contains: ${found?.[1]}`)
  }
}

const response = async (page: Page): Promise<AnyJson> =>
  JSON.parse(await textOf(page, 'response.json', (text) => text !== '')) as AnyJson

const example = (page: Page, title: string) =>
  page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: title })

describe('with an API key', () => {
  test('examples run by keyboard, with ids from earlier responses', async () => {
    const { page, problems, requests } = await open()
    // The Tab key first moves the focus to the credential field.
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.id')).toBe('credential')
    await page.keyboard.type(key)
    await page.keyboard.press('Enter')
    await page.getByRole('status').getByText(accountId).waitFor()
    expect(await page.getByLabel('Credential').inputValue()).toBe('')

    await example(page, 'Who am I').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    expect((await response(page)).data.me).toMatchObject({ type: 'api_key', accountId })

    await page.keyboard.press('Control+m')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.ariaLabel')).toContain('Execute query')

    await example(page, 'Create an issuer').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    const issuer = (await response(page)).data.createIssuer
    expect(issuer.id).toMatch(/^iss_/)

    await example(page, 'Create a single-page client').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).data.createClient).toMatchObject({ confidential: false })

    await example(page, 'Update an issuer').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).data.updateIssuer).toMatchObject({ id: issuer.id })

    expect(requests.some((url) => url.includes('graphql.worker'))).toBe(true)
    expect(requests.some((url) => url.includes('json.worker'))).toBe(true)
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('the schema can be browsed, and documents are validated and formatted', async () => {
    const { page, problems } = await open()
    await signIn(page)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByText('A GraphQL schema provides a root type').waitFor()
    await page.getByRole('link', { name: 'Query', exact: true }).click()
    await page.getByRole('link', { name: 'accounts', exact: true }).waitFor()

    const editor = page.getByRole('region', { name: 'Operation Editor' })
    await editor.locator('.monaco-editor').click()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('{ me { nonsense id } }', { delay: 5 })
    // A web worker validates the document against the schema.
    await editor.locator('.squiggly-error').first().waitFor()
    // A script sets the text, because the editor would add closing brackets to typed text.
    await page.evaluate(
      `${models}.find((model) => model.uri.path.endsWith('operation.graphql')).setValue('{ me { id } }')`,
    )
    await page.getByRole('button', { name: 'Prettify query' }).click()
    await textOf(page, 'operation.graphql', (text) => text.trim() === '{\n  me {\n    id\n  }\n}')
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('nothing is stored in the browser', async () => {
    const { page, problems } = await open()
    await signIn(page)
    await example(page, 'Set a password').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    await response(page)
    // GraphiQL would store its state after half a second.
    await page.waitForTimeout(800)
    const stored = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    )
    expect(stored).toBe(JSON.stringify([{}, {}, '', `${app.baseUrl}/playground`]))
    await page.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('status').getByText('Paste a credential').waitFor()
    await page.getByRole('button', { name: 'Execute query' }).click()
    await textOf(page, 'response.json', (text) => text.includes('A credential is required'))
    expect(problems).toEqual([])
    await page.context().close()
  })
})

describe('subscriptions', () => {
  const subscription = (id: string) =>
    `subscription { eventAdded(accountId: "${id}", eventTypes: ["issuer.created"]) { id type target { id } } }`
  const write = (page: Page, document: string) =>
    page.evaluate(
      `${models}.find((model) => model.uri.path.endsWith('operation.graphql')).setValue(${JSON.stringify(document)})`,
    )
  const createIssuer = async (): Promise<string> =>
    expectStatus(await owner.post(`/v1/accounts/${accountId}/issuers`, { name: 'Live' }), 201).data.id

  test('events arrive as they occur, until the query is stopped and the connection closed', async () => {
    const { page, problems } = await open()
    await signIn(page)
    await write(page, subscription(accountId))
    const [streamResponse] = await Promise.all([
      page.waitForResponse((response) => response.headers()['content-type']?.startsWith('text/event-stream') === true),
      page.getByRole('button', { name: 'Execute query' }).click(),
    ])
    for (const _ of [1, 2]) {
      const id = await createIssuer()
      const shown = JSON.parse(await textOf(page, 'response.json', (now) => now.includes(id))) as AnyJson
      expect(shown.data.eventAdded).toMatchObject({ type: 'issuer.created', target: { id } })
    }
    const closed = page.waitForEvent('requestfailed', (request) => request === streamResponse.request())
    await page.getByRole('button', { name: 'Stop query' }).click()
    await closed
    const last = await createIssuer()
    expect(await textOf(page, 'response.json', () => true)).not.toContain(last)
    expect(problems).toEqual([])
    await page.context().close()
  })
})

describe('without a valid credential', () => {
  test('says that a credential is required and sends no request', async () => {
    const { page, problems, requests } = await open()
    await page.getByRole('status').getByText('Paste a credential').waitFor()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).errors[0].message).toContain('A credential is required')
    await page.getByText('How to get a credential').click()
    await page.getByText('gatehouse account create').waitFor()
    expect(requests.filter((url) => url.endsWith('/graphql'))).toEqual([])
    expect(problems).toEqual([])
    await page.context().close()
  })

  test('a wrong API key is refused with the reason and can be corrected', async () => {
    const { page, problems } = await open()
    await page.getByLabel('Credential').fill(`${key}x`)
    await page.getByRole('button', { name: 'Use', exact: true }).click()
    await page.getByRole('status').getByText('Not accepted').waitFor()
    expect(await page.getByLabel('Credential').inputValue()).toBe(`${key}x`)
    // The only problem is that Chromium reports the response with status 401.
    expect(problems).toEqual([expect.stringContaining('401')])
    await signIn(page)
    await page.context().close()
  })

  test('an invalid token is sent as a Bearer token and refused', async () => {
    const { page } = await open()
    const sent = page.waitForRequest('**/graphql')
    await page.getByLabel('Credential').fill('eyJhbGciOiJub25lIn0.e30.')
    await page.keyboard.press('Enter')
    expect((await (await sent).allHeaders())['authorization']).toBe('Bearer eyJhbGciOiJub25lIn0.e30.')
    await page.getByRole('status').getByText('Not accepted').waitFor()
    await page.context().close()
  })
})

test('the page fits a phone, and an example can be run', async () => {
  const { page, problems } = await open({ viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true })
  await signIn(page)
  await page.getByRole('button', { name: 'Show Examples' }).tap()
  await example(page, 'Who am I').tap()
  await page.getByRole('button', { name: 'Execute query' }).tap()
  expect((await response(page)).data.me.accountId).toBe(accountId)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  expect(problems).toEqual([])
  await page.context().close()
})
