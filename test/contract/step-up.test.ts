/**
 * Recent sign-in at the console (docs/contract.md#recent-sign-in, RFC 9470): which operations require a recent sign-in,
 * and of which callers.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { TestBrowser } from '../idp/browser.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const ADMIN = { username: 'ada@example.com', password: 'correct horse battery staple' }
const STALE = 'INSUFFICIENT_USER_AUTHENTICATION'

let app: TestApp
let browser: TestBrowser
let accountId: string
/** The id of the user who owns the system account before the tests. */
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
  const { accounts } = (await graphqlRequest('{ accounts { data { id ownerUserId } } }')).data
  ;({ id: accountId, ownerUserId: ownerId } = accounts.data[0])
  const { home } = (await (await browser.request(`${app.baseUrl}/console/session`)).json()) as AnyJson
  const at = `accountId: "${accountId}"`
  const user = `createUser(${at}, issuerId: "${home.issuerId}", input: { usernameType: email, username: "eve@example.com" }) { id }`
  otherUserId = (await graphqlRequest(`mutation { ${user} }`)).data.createUser.id
  const webhook = `createWebhook(${at}, input: { url: "https://hooks.example/x", auth: "bearer" }) { id }`
  webhookId = (await graphqlRequest(`mutation { ${webhook} }`)).data.createWebhook.id
})
afterAll(() => app.close())

/** Sends a GraphQL request with the cookies and headers of a page of the console. */
async function graphqlRequest(query: string): Promise<AnyJson> {
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
  return response.json() as Promise<AnyJson>
}

/**
 * Returns the error code of a mutation. `A`, `I`, `OTHER` and `WEBHOOK` in its text are replaced by arguments and ids.
 * Most of the other ids do not exist, so that a mutation that passes the check fails with NOT_FOUND.
 */
const codeOf = async (mutation: string): Promise<string | undefined> => {
  const ids: Record<string, string> = {
    A: `accountId: "${accountId}"`,
    I: `accountId: "${accountId}", issuerId: "iss_x"`,
    OTHER: otherUserId,
    WEBHOOK: webhookId,
  }
  const text = mutation.replace(/\b(A|I|OTHER|WEBHOOK)\b/g, (name) => ids[name]!)
  const { errors } = await graphqlRequest(`mutation { ${text} }`)
  return errors?.[0]?.extensions.code
}

/** Runs a function when the sign-in is six minutes old, which is more than the maximum of five. */
async function afterSignInExpires<T>(run: () => Promise<T>): Promise<T> {
  app.clock.advance(6 * 60_000)
  try {
    return await run()
  } finally {
    app.clock.advance(-6 * 60_000)
  }
}

test.each([
  ['creating an account key', 'createApiKey(A, input: { name: "", restrictions: {} }) { id }'],
  [
    'creating an organization key',
    'createOrganizationApiKey(I, orgId: "o", input: { name: "x", restrictions: {}, type: api_key }) { id }',
  ],
  [
    'creating a personal token',
    'createPersonalToken(I, userId: "u", input: { name: "x", restrictions: {}, type: personal_token }) { id }',
  ],
  ['creating an agent secret', 'createAgentVerifier(I, agentId: "a", input: { type: secret }) { id }'],
  ['creating an account with its first key', 'createAccount(input: { ownerUserId: "usr_x" }) { apiKey { id } }'],
  ['rotating an account key', 'rotateApiKey(A, keyId: "k") { id }'],
  ['rotating an organization key', 'rotateOrganizationApiKey(I, orgId: "o", keyId: "k") { id }'],
  ['rotating a client secret', 'rotateClientSecret(I, clientId: "c") { id }'],
  [
    'changing the host of a webhook',
    'updateWebhook(A, webhookId: "WEBHOOK", input: { url: "https://else.example" }) { id }',
  ],
  ['rotating the secrets of a webhook', 'updateWebhook(A, webhookId: "WEBHOOK", input: { auth: "signature" }) { id }'],
  ['deleting an issuer', 'deleteIssuer(I)'],
])('five minutes after the sign-in, %s requires a new sign-in', async (_, mutation) => {
  expect(await afterSignInExpires(() => codeOf(mutation))).toBe(STALE)
  expect(await codeOf(mutation)).not.toBe(STALE)
})

test.each([
  ['updating a key', 'updateApiKey(A, keyId: "k", input: {}) { id }'],
  ['revoking a key', 'revokeApiKey(A, keyId: "k") { id }'],
  [
    'updating a webhook without new secrets',
    'updateWebhook(A, webhookId: "WEBHOOK", input: { description: "x" }) { id }',
  ],
  ['creating an issuer', 'createIssuer(A, input: { name: "" }) { id }'],
  ['deleting a client', 'deleteClient(I, clientId: "c")'],
])('%s requires no new sign-in', async (_, mutation) => {
  expect(await afterSignInExpires(() => codeOf(mutation))).not.toBe(STALE)
})

test('changing the authentication method or the keys of a client requires a new sign-in, like rotating its secret', async () => {
  const { home } = (await (await browser.request(`${app.baseUrl}/console/session`)).json()) as AnyJson
  const at = `accountId: "${home.accountId}", issuerId: "${home.issuerId}"`
  const settings = 'settings: { openid: { token_endpoint_auth_method: "client_secret_post" } }'
  const input = 'name: "x", type: internal, confidential: true, settings: {}'
  const { data } = await graphqlRequest(`mutation { createClient(${at}, input: { ${input} }) { id } }`)
  const update = (values: string) =>
    codeOf(`updateClient(${at}, clientId: "${data.createClient.id}", input: { ${values} }) { id }`)
  expect(await afterSignInExpires(() => update(settings))).toBe(STALE)
  expect(await afterSignInExpires(() => update('name: "y"'))).toBeUndefined()
  expect(await update(settings)).toBeUndefined()
  // The method stays the same.
  expect(await afterSignInExpires(() => update(settings))).toBeUndefined()
})

test('an update that keeps the owner of an account is not a transfer', async () => {
  const { errors } = await afterSignInExpires(() =>
    graphqlRequest(
      `mutation { updateAccount(accountId: "${accountId}", input: { ownerUserId: "${ownerId}" }) { id } }`,
    ),
  )
  expect(errors).toBeUndefined()
})

test('a new owner requires a new sign-in', async () => {
  const mutation = 'updateAccount(A, input: { ownerUserId: "OTHER" }) { id }'
  expect(await afterSignInExpires(() => codeOf(mutation))).toBe(STALE)
  const { data } = await graphqlRequest(`{ account(accountId: "${accountId}") { ownerUserId } }`)
  expect(data.account.ownerUserId).toBe(ownerId)
})

test('permissions ignore the age of the sign-in, so that the console offers the operation', async () => {
  const { data } = await afterSignInExpires(() =>
    graphqlRequest(`{ permissions(accountId: "${accountId}") { mutations } }`),
  )
  expect(data.permissions.mutations).toEqual(expect.arrayContaining(['createApiKey', 'rotateApiKey']))
})

test('the error names the maximum age, ends no session, and is the challenge of RFC 9470 in REST', async () => {
  const mutation = `mutation { createApiKey(accountId: "${accountId}", input: { name: "x", restrictions: {} }) { id } }`
  const refused = await afterSignInExpires(() => graphqlRequest(mutation))
  expect(refused.errors[0].extensions).toMatchObject({ code: STALE, status: 401, max_age: 300 })
  expect((await graphqlRequest('{ me { type } }')).data.me.type).toBe('user')

  const [row] = await app.gatehouse.database.prisma.consoleSession.findMany()
  const { access } = JSON.parse(app.gatehouse.encryptor.decrypt(row!.tokens))
  const response = await afterSignInExpires(() =>
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

test('callers without an interactive sign-in are exempt', async () => {
  const path = `/v1/accounts/${accountId}/api-keys`
  const response = await afterSignInExpires(() => app.operator.post(path, { name: 'Automation', restrictions: {} }))
  expect(expectStatus(response, 201).data.secret_plain).toBeTruthy()
})
