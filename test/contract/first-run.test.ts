/** The setup link and the session that it creates (docs/contract.md#first-start). */
import { afterEach, describe, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { expectStatus } from '../setup/actors.js'
import { createApiClient } from '../setup/api.js'
import { freePorts, startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', new_password: 'correct horse battery staple' }
const ME = '{ me { type id } accounts { data { id } } }'

let app: TestApp
afterEach(() => app?.close())

/** Posts a form of the setup page with the token of the setup link. */
const post = (browser: TestBrowser, form: Record<string, string>) => {
  const token = new URL(app.setupLink!).searchParams.get('token')!
  const body = new URLSearchParams({ token, ...form })
  return browser.request(`${app.gatehouse.config.baseUrl}/setup`, { method: 'POST', body })
}

async function graphqlRequest(browser: TestBrowser, query = ME) {
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

const sessions = () => app.gatehouse.database.prisma.session.findMany()

describe('the session of the new administrator', () => {
  test('is an ordinary console session: listed, with operator access, ended by a revocation', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    const created = await post(browser, ADMIN)
    expect(created.status).toBe(200)
    expect(await created.text()).not.toContain('eyJ')
    const { status, body } = await graphqlRequest(browser)
    expect({ status, me: body.data?.me }).toMatchObject({ status: 200, me: { type: 'user' } })

    const [session, ...others] = await sessions()
    expect(others).toEqual([])
    expect(session).toMatchObject({ userId: body.data!.me.id, status: 'active', amr: ['pwd'] })
    const account = await graphqlRequest(
      browser,
      'mutation { createAccount(input: {name: "Acme"}) { account { id } } }',
    )
    expect(account.body).toMatchObject({ data: { createAccount: { account: { id: expect.stringMatching(/^acc_/) } } } })
    const path = `/v1/accounts/${session!.accountId}/issuers/${session!.issuerId}/sessions/${session!.id}`
    expectStatus(await app.operator.post(`${path}/revoke`, { reason: 'admin_action' }), 200)
    expect((await graphqlRequest(browser)).status).toBe(401)
  })

  test('ends after an hour; then the console redirects to the sign-in page of the issuer', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    await post(browser, ADMIN)
    expect((await graphqlRequest(browser)).status).toBe(200)
    app.clock.advance(61 * 60_000)
    expect((await graphqlRequest(browser)).status).toBe(401)
    expect(await app.gatehouse.database.prisma.consoleSession.count()).toBe(0)
  })

  test('signing out ends the session at the console and at the issuer', async () => {
    app = await startApp()
    const browser = new TestBrowser()
    await post(browser, ADMIN)
    await browser.open(`${app.baseUrl}/console/sign-out`, { method: 'POST', headers: { origin: app.baseUrl } })
    expect((await graphqlRequest(browser)).status).toBe(401)
    expect(await sessions()).toMatchObject([{ status: 'revoked' }])
  })

  test('is not created with a used link, a wrong token or an invalid password', async () => {
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
    expect((await graphqlRequest(late)).status).toBe(401)
  })

  test('is not created with the email of another user: the form says so, and the link stays valid', async () => {
    const key = { id: `ak_${'1'.repeat(26)}`, secret: 'y'.repeat(40) }
    app = await startApp({ env: { BOOTSTRAP_API_KEY: `${key.id}:${key.secret}` } })
    const { id, accountId } = await app.gatehouse.database.prisma.issuer.findFirstOrThrow()
    const body = { username_type: 'email', username: ADMIN.username }
    expectStatus(
      await createApiClient(app.baseUrl, key).post(`/v1/accounts/${accountId}/issuers/${id}/users`, body),
      201,
    )
    const refused = await post(new TestBrowser(), ADMIN)
    expect([refused.status, refused.headers.get('content-type')]).toEqual([409, 'text/html; charset=utf-8'])
    expect(await refused.text()).toMatch(/Another user has this email\. Enter another one\..*<form/s)
    expect((await post(new TestBrowser(), { ...ADMIN, username: 'other@example.com' })).status).toBe(200)
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

  test('is offered if the setup page and the issuer have the same host name, and not on an IP address', async () => {
    app = await startApp()
    expect(await pageOf()).not.toContain('name="credential"')
    await app.close()
    await onNames()
    expect(await pageOf()).toContain('name="credential"')
  })

  test('with an invalid response creates no administrator, and the link stays valid', async () => {
    await onNames()
    const ceremony = /name="ceremony" value="([^"]+)"/.exec(await pageOf())![1]!
    const attestation = '{"attestationObject":"oA","clientDataJSON":"e30"}'
    const credentials = [
      'nonsense',
      '[]',
      '{}',
      `{"id":"AAAA","rawId":"AAAA","type":"public-key","response":${attestation}}`,
    ]
    for (const credential of credentials) {
      for (const submitted of [ceremony, 'nothing of ours', '']) {
        const response = await post(new TestBrowser(), { username: ADMIN.username, credential, ceremony: submitted })
        expect({ credential, submitted, status: response.status }).toEqual({ credential, submitted, status: 400 })
        expect(await response.text()).toContain('passkey could not be verified')
      }
    }
    expect(await app.gatehouse.database.prisma.user.count()).toBe(0)
    expect((await fetch(app.setupLink!)).status).toBe(200)
  })
})
