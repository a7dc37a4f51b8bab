/** What a person at the console signs in again for (decisions D25, RFC 9470): who it is asked of, and of whom not. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', password: 'correct horse battery staple' }
const STALE = 'INSUFFICIENT_USER_AUTHENTICATION'

let app: TestApp
let browser: TestBrowser
let accountId: string
/** Of the system account, which nobody has changed yet. */
let ownerId: string
let otherUserId: string
let webhookId: string

beforeAll(async () => {
  app = await startApp({
    env: { BOOTSTRAP_ADMIN_EMAIL: ADMIN.username, BOOTSTRAP_ADMIN_PASSWORD: ADMIN.password },
  })
  browser = new TestBrowser('https://')
  const page = await browser.submit(await browser.open(`${app.baseUrl}/console`), ADMIN)
  expect(page.status).toBe(200)
  const { accounts } = (await ask('{ accounts { data { id ownerUserId } } }')).data
  ;({ id: accountId, ownerUserId: ownerId } = accounts.data[0])
  const { home } = (await (await browser.request(`${app.baseUrl}/console/session`)).json()) as Loose
  const at = `accountId: "${accountId}"`
  const user = `createUser(${at}, issuerId: "${home.issuerId}", input: { usernameType: email, username: "eve@example.com" }) { id }`
  otherUserId = (await ask(`mutation { ${user} }`)).data.createUser.id
  const webhook = `createWebhook(${at}, input: { url: "https://hooks.example/x", auth: "bearer" }) { id }`
  webhookId = (await ask(`mutation { ${webhook} }`)).data.createWebhook.id
})
afterAll(() => app.close())

/** GraphQL as a page of the console sends it. */
async function ask(query: string): Promise<Loose> {
  const response = await browser.request(`${app.baseUrl}/console/graphql`, {
    method: 'POST',
    body: JSON.stringify({ query }),
    headers: {
      accept: 'application/json',
      'content-type': 'application/json',
      'x-gatehouse-console': '1',
      origin: app.baseUrl,
    },
  })
  return response.json() as Promise<Loose>
}

/** The place's own ids name nothing: who is let through hears that, which is how it shows. */
const codeOf = async (mutation: string): Promise<string | undefined> => {
  const ids: Record<string, string> = {
    A: `accountId: "${accountId}"`,
    I: `accountId: "${accountId}", issuerId: "iss_x"`,
    OTHER: otherUserId,
    WEBHOOK: webhookId,
  }
  const text = mutation.replace(/\b(A|I|OTHER|WEBHOOK)\b/g, (name) => ids[name]!)
  const { errors } = await ask(`mutation { ${text} }`)
  return errors?.[0]?.extensions.code
}

/** Runs something six minutes after the sign-in. */
async function later<T>(run: () => Promise<T>): Promise<T> {
  app.clock.advance(6 * 60_000)
  try {
    return await run()
  } finally {
    app.clock.advance(-6 * 60_000)
  }
}

test.each([
  ['a key of the account', 'createApiKey(A, input: { name: "", restrictions: {} }) { id }'],
  [
    'a key of an organization',
    'createOrganizationApiKey(I, orgId: "o", input: { name: "x", restrictions: {}, type: api_key }) { id }',
  ],
  [
    'a personal token',
    'createPersonalToken(I, userId: "u", input: { name: "x", restrictions: {}, type: personal_token }) { id }',
  ],
  ["an agent's secret", 'createAgentVerifier(I, agentId: "a", input: { type: secret }) { id }'],
  ['an account with its first key', 'createAccount(input: { ownerUserId: "nobody" }) { apiKey { id } }'],
  ['another secret of a key', 'rotateApiKey(A, keyId: "k") { id }'],
  ["another secret of an organization's key", 'rotateOrganizationApiKey(I, orgId: "o", keyId: "k") { id }'],
  ['another secret of a client', 'rotateClientSecret(I, clientId: "c") { id }'],
  [
    "a webhook's secret for another host",
    'updateWebhook(A, webhookId: "WEBHOOK", input: { url: "https://else.example" }) { id }',
  ],
  ['other secrets of a webhook', 'updateWebhook(A, webhookId: "WEBHOOK", input: { auth: "signature" }) { id }'],
  ['the end of an issuer', 'deleteIssuer(I)'],
])('five minutes after the sign-in, %s takes another one', async (_, mutation) => {
  expect(await later(() => codeOf(mutation))).toBe(STALE)
  expect(await codeOf(mutation)).not.toBe(STALE)
})

test.each([
  ['a change of a key', 'updateApiKey(A, keyId: "k", input: {}) { id }'],
  ['the end of a key', 'revokeApiKey(A, keyId: "k") { id }'],
  ['a webhook that keeps its secrets', 'updateWebhook(A, webhookId: "WEBHOOK", input: { description: "x" }) { id }'],
  ['a new issuer', 'createIssuer(A, input: { name: "" }) { id }'],
  ['the end of a client', 'deleteClient(I, clientId: "c")'],
])('%s does not', async (_, mutation) => {
  expect(await later(() => codeOf(mutation))).not.toBe(STALE)
})

test('an account named with the owner that it has is not given away', async () => {
  const { errors } = await later(() =>
    ask(`mutation { updateAccount(accountId: "${accountId}", input: { ownerUserId: "${ownerId}" }) { id } }`),
  )
  expect(errors).toBeUndefined()
})

test('another owner takes another sign-in', async () => {
  const mutation = 'updateAccount(A, input: { ownerUserId: "OTHER" }) { id }'
  expect(await later(() => codeOf(mutation))).toBe(STALE)
  const { data } = await ask(`{ account(accountId: "${accountId}") { ownerUserId } }`)
  expect(data.account.ownerUserId).toBe(ownerId)
})

test('what somebody may do is told with the sign-in as old as it is, so that it is offered', async () => {
  const { data } = await later(() => ask(`{ permissions(accountId: "${accountId}") { mutations } }`))
  expect(data.permissions.mutations).toEqual(expect.arrayContaining(['createApiKey', 'rotateApiKey']))
})

test('the refusal names the age, ends nobody’s session, and is the challenge of RFC 9470 in REST', async () => {
  const mutation = `mutation { createApiKey(accountId: "${accountId}", input: { name: "x", restrictions: {} }) { id } }`
  const refused = await later(() => ask(mutation))
  expect(refused.errors[0].extensions).toMatchObject({ code: STALE, status: 401, max_age: 300 })
  expect((await ask('{ me { type } }')).data.me.type).toBe('user')

  const [row] = await app.gatehouse.tools.prisma.consoleSession.findMany()
  const { access } = JSON.parse(app.gatehouse.sealer.open(row!.tokens))
  const response = await later(() =>
    fetch(`${app.baseUrl}/v1/accounts/${accountId}/api-keys`, {
      method: 'POST',
      body: JSON.stringify({ name: 'x', restrictions: {} }),
      headers: { authorization: `Bearer ${access}`, 'content-type': 'application/json' },
    }),
  )
  expect(response.status).toBe(401)
  expect(response.headers.get('www-authenticate')).toBe(
    'Bearer error="insufficient_user_authentication", acr_values="urn:svc:method:passkey", max_age="300"',
  )
  expect(await response.json()).toMatchObject({ error: 'insufficient_user_authentication', max_age: 300 })
})

test('programs, which have no sign-in to repeat, are not asked', async () => {
  const path = `/v1/accounts/${accountId}/api-keys`
  const answer = await later(() => app.operator.post(path, { name: 'made by a program', restrictions: {} }))
  expect(must(answer, 201).data.secret_plain).toBeTruthy()
})
