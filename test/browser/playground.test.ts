/** The playground in a real browser, under its real policy, on a running product. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Browser, Page } from 'playwright-core'
import { makeAccount, must } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { startStrictBrowser, type Watched, watchedPage } from './watched-page.js'

let app: TestApp
let browser: Browser
let key: string
let accountId: string
let owner: Api

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  browser = await startStrictBrowser()
  const made = await makeAccount(app, 'Playground')
  accountId = made.accountId
  owner = made.owner
  key = Buffer.from(made.owner.authorization!.slice('Basic '.length), 'base64').toString()
}, 60_000)

afterAll(async () => {
  await browser?.close()
  await app?.close()
})

async function open(options = {}): Promise<Watched> {
  const watched = await watchedPage(browser, app.baseUrl, options)
  await watched.page.goto(`${app.baseUrl}/playground`)
  // The editors arrive after the page, and can be typed into once they draw lines.
  await watched.page.locator('[aria-label="Operation Editor"] .view-line').first().waitFor()
  return watched
}

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('Credential').fill(key)
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText(accountId).waitFor()
}

/** GraphiQL leaves its editor where a page's script can reach it. */
const models = 'globalThis.__MONACO.editor.getModels()'

/**
 * The text of one of the editors once it fulfils a wish; what is on the screen is only the visible lines of it. Asked
 * for again and again from here, because waiting inside the page takes an eval, which the policy refuses.
 */
async function textOf(page: Page, file: string, wish: (text: string) => boolean): Promise<string> {
  const texts = `${models}.map((model) => [model.uri.path, model.getValue()])`
  for (const deadline = Date.now() + 15_000; ; await page.waitForTimeout(50)) {
    const found = ((await page.evaluate(texts)) as [string, string][]).find(([path]) => path.endsWith(file))
    if (found && wish(found[1])) return found[1]
    if (Date.now() > deadline) throw new Error(`${file} holds: ${found?.[1]}`)
  }
}

const response = async (page: Page): Promise<Loose> =>
  JSON.parse(await textOf(page, 'response.json', (text) => text !== '')) as Loose

const example = (page: Page, title: string) =>
  page.getByRole('region', { name: 'Examples' }).getByRole('button', { name: title })

describe('with a key', () => {
  test('examples run by keyboard, each with the ids of the answers before it', async () => {
    const { page, faults, requests } = await open()
    // The first stop of the keyboard is the credential.
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

    await example(page, 'Make an issuer').focus()
    await page.keyboard.press('Enter')
    await page.keyboard.press('Control+Enter')
    const issuer = (await response(page)).data.createIssuer
    expect(issuer.id).toMatch(/^iss_/)

    await example(page, 'Register a single-page client').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).data.createClient).toMatchObject({ confidential: false })

    await example(page, 'Change an issuer').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).data.updateIssuer).toMatchObject({ id: issuer.id })

    expect(requests.some((url) => url.includes('graphql.worker'))).toBe(true)
    expect(requests.some((url) => url.includes('json.worker'))).toBe(true)
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('the schema can be read, documents are checked and tidied', async () => {
    const { page, faults } = await open()
    await signIn(page)
    await page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    await page.getByText('A GraphQL schema provides a root type').waitFor()
    await page.getByRole('link', { name: 'Query', exact: true }).click()
    await page.getByRole('link', { name: 'accounts', exact: true }).waitFor()

    const editor = page.getByRole('region', { name: 'Operation Editor' })
    await editor.locator('.monaco-editor').click()
    await page.keyboard.press('Control+A')
    await page.keyboard.type('{ me { nonsense id } }', { delay: 5 })
    // From the worker, with the schema.
    await editor.locator('.squiggly-error').first().waitFor()
    // Not typed: the editor closes brackets by itself.
    await page.evaluate(
      `${models}.find((model) => model.uri.path.endsWith('operation.graphql')).setValue('{ me { id } }')`,
    )
    await page.getByRole('button', { name: 'Prettify query' }).click()
    await textOf(page, 'operation.graphql', (text) => text.trim() === '{\n  me {\n    id\n  }\n}')
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('nothing of it stays in the browser', async () => {
    const { page, faults } = await open()
    await signIn(page)
    await example(page, 'Give the user a password').click()
    await page.getByRole('button', { name: 'Execute query' }).click()
    await response(page)
    // GraphiQL writes its state down half a second later.
    await page.waitForTimeout(800)
    const kept = await page.evaluate(
      'JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href])',
    )
    expect(kept).toBe(JSON.stringify([{}, {}, '', `${app.baseUrl}/playground`]))
    await page.getByRole('button', { name: 'Forget' }).click()
    await page.getByRole('status').getByText('Paste a credential').waitFor()
    await page.getByRole('button', { name: 'Execute query' }).click()
    await textOf(page, 'response.json', (text) => text.includes('A credential is needed'))
    expect(faults).toEqual([])
    await page.context().close()
  })
})

describe('what is subscribed to', () => {
  const text = (id: string) =>
    `subscription { eventAdded(accountId: "${id}", eventTypes: ["issuer.created"]) { id type target { id } } }`
  const write = (page: Page, document: string) =>
    page.evaluate(
      `${models}.find((model) => model.uri.path.endsWith('operation.graphql')).setValue(${JSON.stringify(document)})`,
    )
  const issue = async (): Promise<string> =>
    must(await owner.post(`/v1/accounts/${accountId}/issuers`, { name: 'Live' }), 201).data.id

  test('comes as it happens, event by event, until it is stopped; then the server knows it', async () => {
    const { page, faults } = await open()
    await signIn(page)
    await write(page, text(accountId))
    const [asked] = await Promise.all([
      page.waitForResponse((answer) => answer.headers()['content-type']?.startsWith('text/event-stream') === true),
      page.getByRole('button', { name: 'Execute query' }).click(),
    ])
    for (const _ of [1, 2]) {
      const id = await issue()
      const shown = JSON.parse(await textOf(page, 'response.json', (now) => now.includes(id))) as Loose
      expect(shown.data.eventAdded).toMatchObject({ type: 'issuer.created', target: { id } })
    }
    const closed = page.waitForEvent('requestfailed', (request) => request === asked.request())
    await page.getByRole('button', { name: 'Stop query' }).click()
    await closed
    const last = await issue()
    expect(await textOf(page, 'response.json', () => true)).not.toContain(last)
    expect(faults).toEqual([])
    await page.context().close()
  })
})

describe('without one', () => {
  test('says what is missing and asks the server nothing', async () => {
    const { page, faults, requests } = await open()
    await page.getByRole('status').getByText('Paste a credential').waitFor()
    await page.getByRole('button', { name: 'Execute query' }).click()
    expect((await response(page)).errors[0].message).toContain('A credential is needed')
    await page.getByText('How to get a credential').click()
    await page.getByText('gatehouse account create').waitFor()
    expect(requests.filter((url) => url.endsWith('/graphql'))).toEqual([])
    expect(faults).toEqual([])
    await page.context().close()
  })

  test('a wrong one is refused with the reason, and can be mended', async () => {
    const { page, faults } = await open()
    await page.getByLabel('Credential').fill(`${key}x`)
    await page.getByRole('button', { name: 'Use', exact: true }).click()
    await page.getByRole('status').getByText('Not accepted').waitFor()
    expect(await page.getByLabel('Credential').inputValue()).toBe(`${key}x`)
    // The refusal itself is what Chromium reports, and the only thing.
    expect(faults).toEqual([expect.stringContaining('401')])
    await signIn(page)
    await page.context().close()
  })

  test('a token of nobody is refused as a token', async () => {
    const { page } = await open()
    const sent = page.waitForRequest('**/graphql')
    await page.getByLabel('Credential').fill('eyJhbGciOiJub25lIn0.e30.')
    await page.keyboard.press('Enter')
    expect((await (await sent).allHeaders())['authorization']).toBe('Bearer eyJhbGciOiJub25lIn0.e30.')
    await page.getByRole('status').getByText('Not accepted').waitFor()
    await page.context().close()
  })
})

test('fits a phone: nothing is wider than the screen, and an example can be run', async () => {
  const { page, faults } = await open({ viewport: { width: 390, height: 844 }, colorScheme: 'dark', hasTouch: true })
  await signIn(page)
  await page.getByRole('button', { name: 'Show Examples' }).tap()
  await example(page, 'Who am I').tap()
  await page.getByRole('button', { name: 'Execute query' }).tap()
  expect((await response(page)).data.me.accountId).toBe(accountId)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
  expect(faults).toEqual([])
  await page.context().close()
})
