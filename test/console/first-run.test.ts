/** The setup link and the session that it begins (issue 6 item 2, decisions part 0). */
import { afterEach, describe, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { must } from '../setup/actors.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', new_password: 'correct horse battery staple' }
const ME = '{ me { type id } accounts { data { id } } }'

let app: TestApp
afterEach(() => app?.close())

/** What a form of the setup page sends. */
const post = (browser: TestBrowser, form: Record<string, string>) => {
  const token = new URL(app.setupLink!).searchParams.get('token')!
  const body = new URLSearchParams({ token, ...form })
  return browser.request(`${app.gatehouse.config.baseUrl}/setup`, { method: 'POST', body })
}

async function ask(browser: TestBrowser, query = ME) {
  const { baseUrl } = app.gatehouse.config
  const response = await browser.request(`${baseUrl}/console/graphql`, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'x-gatehouse-console': '1',
      origin: new URL(baseUrl).origin,
    },
    body: JSON.stringify({ query }),
  })
  return { status: response.status, body: (await response.json()) as { data?: { me: { id: string } } } }
}

const sessions = () => app.gatehouse.tools.prisma.session.findMany()

describe('the session of the new administrator', () => {
  test('is an ordinary one of the console: listed, an operator’s, and over when it is revoked', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    const made = await post(browser, ADMIN)
    expect(made.status).toBe(200)
    expect(await made.text()).not.toContain('eyJ')
    const { status, body } = await ask(browser)
    expect({ status, me: body.data?.me }).toMatchObject({ status: 200, me: { type: 'user' } })

    const [session, ...others] = await sessions()
    expect(others).toEqual([])
    expect(session).toMatchObject({ userId: body.data!.me.id, status: 'active', amr: ['pwd'] })
    const account = await ask(browser, 'mutation { createAccount(input: {name: "Acme"}) { account { id } } }')
    expect(account.body).toMatchObject({ data: { createAccount: { account: { id: expect.stringMatching(/^acc_/) } } } })
    const path = `/v1/accounts/${session!.accountId}/issuers/${session!.issuerId}/sessions/${session!.id}`
    must(await app.operator.post(`${path}/revoke`, { reason: 'admin_action' }), 200)
    expect((await ask(browser)).status).toBe(401)
  })

  test('ends after an hour: then the ordinary sign-in follows', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    await post(browser, ADMIN)
    expect((await ask(browser)).status).toBe(200)
    app.clock.advance(61 * 60_000)
    expect((await ask(browser)).status).toBe(401)
    expect(await app.gatehouse.tools.prisma.consoleSession.count()).toBe(0)
  })

  test('signing out ends it here and at the issuer', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    await post(browser, ADMIN)
    await browser.open(`${app.baseUrl}/console/sign-out`, { method: 'POST', headers: { origin: app.baseUrl } })
    expect((await ask(browser)).status).toBe(401)
    expect(await sessions()).toMatchObject([{ status: 'revoked' }])
  })

  test('is not there for whoever comes too late, or has no link', async () => {
    app = await startApp()
    const late = new TestBrowser()
    for (const form of [
      { ...ADMIN, token: 'x'.repeat(43) },
      { ...ADMIN, new_password: 'password' },
    ]) {
      expect([400, 410]).toContain((await post(late, form)).status)
    }
    await post(new TestBrowser(), ADMIN)
    expect((await post(late, ADMIN)).status).toBe(410)
    expect((await ask(late)).status).toBe(401)
  })
})

describe('a passkey', () => {
  const onNames = async () => {
    const [port, idpPort] = await freePorts(2)
    const BASE_URL = `http://localhost:${port}`
    app = await startApp({
      env: { PORT: String(port), IDP_PORT: String(idpPort), BASE_URL, IDP_URL: `http://localhost:${idpPort}` },
    })
  }
  const pageOf = async () => (await fetch(app.setupLink!)).text()

  test('is offered where the issuer’s pages have the same name, and not on an address', async () => {
    app = await startApp()
    expect(await pageOf()).not.toContain('name="credential"')
    await app.close()
    await onNames()
    expect(await pageOf()).toContain('name="credential"')
  })

  test.each([
    ['no JSON', 'nonsense'],
    ['no object', '[]'],
    ['empty', '{}'],
    [
      'not an answer',
      '{"id":"AAAA","rawId":"AAAA","type":"public-key","response":{"attestationObject":"oA","clientDataJSON":"e30"}}',
    ],
  ])('that does not answer what was asked makes nobody: %s', async (_, credential) => {
    await onNames()
    const ceremony = /name="ceremony" value="([^"]+)"/.exec(await pageOf())![1]!
    for (const sealed of [ceremony, 'nothing of ours', '']) {
      const answer = await post(new TestBrowser(), { username: ADMIN.username, credential, ceremony: sealed })
      expect(answer.status).toBe(400)
      expect(await answer.text()).toContain('passkey does not fit')
    }
    expect(await app.gatehouse.tools.prisma.user.count()).toBe(0)
    expect((await fetch(app.setupLink!)).status).toBe(200)
  })
})
