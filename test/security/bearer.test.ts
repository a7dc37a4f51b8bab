/**
 * Access tokens at the Core API (docs/contract.md#core-api-authentication,
 * docs/contract.md#access-tokens-at-the-core-api, docs/contract.md#token-checks-at-the-core-api,
 * docs/contract.md#liveness-of-principals, docs/contract.md#liveness-of-access-tokens).
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { confidentialClient, createTenantFixture, type TenantFixture, uniqueName } from '../contract/tenant-fixture.js'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { withForgedSignature } from '../setup/forged-jwt.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
/** Another tenant. */
let theirs: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  theirs = await createTenantFixture(app)
})
afterAll(() => app.close())

interface Machine {
  id: string
  secret: string
  /** Path of the client below `/v1`. */
  path: string
}

/** Creates a machine client that may request tokens for the Core API. */
async function machine(scopes: string[], of: TenantFixture = fixture): Promise<Machine> {
  const settings = {
    openid: { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [app.baseUrl] },
    scopes,
  }
  const { id, secret } = expectStatus(
    await of.owner.post(`${of.I}/clients`, confidentialClient({ settings })),
    201,
  ).data
  return { id, secret, path: `${of.I}/clients/${id}` }
}

async function tokenOf(
  { id, secret }: Machine,
  more: Record<string, string> = {},
  of: TenantFixture = fixture,
): Promise<string> {
  const response = await fetch(`${app.idpUrl}/${of.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl, ...more }),
  })
  const body = (await response.json()) as AnyJson
  if (response.status !== 200) throw new Error(JSON.stringify(body))
  return body.access_token
}

async function expectTokenRejected(token: string): Promise<void> {
  for (const response of [
    await createApiClient(app.baseUrl, token).get(`${fixture.I}/users`),
    await createApiClient(app.baseUrl, token).graphql('{ me { id } }'),
  ]) {
    expect(response.status).toBe(401)
    expect(response.headers.get('www-authenticate')).toMatch(/Bearer realm="gatehouse", error="invalid_token"/)
  }
}

test('a machine client has its granted scopes on its own issuer, and no access elsewhere', async () => {
  const api = createApiClient(app.baseUrl, await tokenOf(await machine(['issuers.users:read', 'orders:read'])))
  expect((await api.get(`${fixture.I}/users`)).status).toBe(200)
  const other = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Other' }), 201).data.id
  for (const [path, status] of [
    [`${fixture.I}/clients`, 403],
    [fixture.I, 403],
    [`${fixture.I}/users/${fixture.ids.user_id}/verifiers`, 403],
    [fixture.A, 404],
    [`${fixture.A}/issuers`, 404],
    [`${fixture.A}/api-keys`, 404],
    ['/v1/accounts', 404],
    [`${fixture.A}/issuers/${other}/users`, 404],
    [`${theirs.I}/users`, 404],
    [`${theirs.A}/issuers/${fixture.issuerId}/users`, 404],
  ] as const) {
    expect({ path, status: (await api.get(path)).status }).toEqual({ path, status })
  }
  expect((await api.post(`${fixture.I}/users`, { username_type: 'unique', username: uniqueName('u') })).status).toBe(
    403,
  )
  const { body } = await api.graphql('{ me { type id accountId issuerId scopes } }')
  expect(body.data.me).toMatchObject({
    type: 'client',
    accountId: fixture.accountId,
    issuerId: fixture.issuerId,
    scopes: ['issuers.users:read'],
  })
})

test('svc:all is limited to the issuer', async () => {
  const api = createApiClient(app.baseUrl, await tokenOf(await machine(['svc:all'])))
  expect([(await api.get(fixture.I)).status, (await api.get(`${fixture.I}/clients`)).status]).toEqual([200, 200])
  expect([
    (await api.get(fixture.A)).status,
    (await api.post(`${fixture.A}/api-keys`, { name: 'k', restrictions: {} })).status,
    (await api.get('/v1/accounts')).status,
  ]).toEqual([404, 404, 404])
  const creation = await api.graphql('mutation { createAccount(input: {name: "x"}) { account { id } } }')
  expect(creation.body.errors[0].extensions.status).toBe(403)
  const relation = await api.graphql('query ($a: ID!) { account(accountId: $a) { id issuers { data { id } } } }', {
    a: fixture.accountId,
  })
  expect(relation.body.errors[0].extensions.status).toBe(404)
})

test('a client has only the scopes that both the token and the current settings of the client contain', async () => {
  const client = await machine(['issuers.users:read', 'issuers.clients:read'])
  const narrow = createApiClient(app.baseUrl, await tokenOf(client, { scope: 'issuers.users:read' }))
  expect([(await narrow.get(`${fixture.I}/users`)).status, (await narrow.get(`${fixture.I}/clients`)).status]).toEqual([
    200, 403,
  ])
  const wide = createApiClient(app.baseUrl, await tokenOf(client))
  expect((await wide.get(`${fixture.I}/clients`)).status).toBe(200)
  expectStatus(await fixture.owner.patch(client.path, { settings: { scopes: ['issuers.users:read'] } }), 200)
  expect([(await wide.get(`${fixture.I}/users`)).status, (await wide.get(`${fixture.I}/clients`)).status]).toEqual([
    200, 403,
  ])
})

test('a token for another audience is refused', async () => {
  const client = await machine(['issuers.users:read'])
  const response = await fetch(`${app.idpUrl}/${fixture.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${client.id}:${client.secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  await expectTokenRejected(((await response.json()) as AnyJson).access_token)
})

test('a token is 401 if it is expired, its client is disabled or deleted, or its issuer is disabled', async () => {
  const client = await machine(['issuers.users:read'])
  const token = await tokenOf(client)
  const api = createApiClient(app.baseUrl, token)
  expectStatus(await fixture.owner.patch(client.path, { status: 'disabled' }), 200)
  await expectTokenRejected(token)
  expectStatus(await fixture.owner.patch(client.path, { status: 'active' }), 200)
  expect((await api.get(`${fixture.I}/users`)).status).toBe(200)
  expectStatus(await fixture.owner.patch(fixture.I, { status: 'disabled' }), 200)
  await expectTokenRejected(token)
  expectStatus(await fixture.owner.patch(fixture.I, { status: 'active' }), 200)
  expect((await api.get(`${fixture.I}/users`)).status).toBe(200)
  expectStatus(await fixture.owner.delete(client.path), 204)
  await expectTokenRejected(token)
  const expired = await tokenOf(await machine(['issuers.users:read']))
  app.clock.advance(1800_000)
  await expectTokenRejected(expired)
})

test('a modified token, or a token with a signature of another issuer, is refused', async () => {
  const token = await tokenOf(await machine(['issuers.users:read']))
  const [head = '', body = '', signature = ''] = token.split('.')
  const decode = (part: string) => JSON.parse(Buffer.from(part, 'base64url').toString())
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const foreign = await tokenOf(await machine(['issuers.users:read'], theirs), {}, theirs)
  const [foreignHead = '', , foreignSignature = ''] = foreign.split('.')
  for (const bad of [
    `${head}.${encode({ ...decode(body), scope: 'svc:all' })}.${signature}`,
    `${head}.${encode({ ...decode(body), exp: decode(body).exp + 1 })}.${signature}`,
    `${encode({ ...decode(head), alg: 'none' })}.${body}.`,
    `${encode({ ...decode(head), alg: 'HS256' })}.${body}.${signature}`,
    `${encode({ ...decode(head), typ: 'JWT' })}.${body}.${signature}`,
    `${encode({ ...decode(head), kid: decode(foreignHead).kid })}.${body}.${signature}`,
    `${encode({ ...decode(head), kid: '-'.repeat(36) })}.${body}.${signature}`,
    `${foreignHead}.${body}.${foreignSignature}`,
    withForgedSignature(`${head}.${body}.${signature}`),
    `${head}.${body}.${signature}=`,
    `${head}.${body}.${signature}.x`,
    `${head}.${body}`,
    '.',
    '..',
    'x'.repeat(7000),
  ]) {
    await expectTokenRejected(bad)
  }
  // The unmodified token is valid. The token of the other tenant is valid only on the issuer of that tenant.
  expect((await createApiClient(app.baseUrl, token).get(`${fixture.I}/users`)).status).toBe(200)
  expect((await createApiClient(app.baseUrl, foreign).get(`${fixture.I}/users`)).status).toBe(404)
  expect((await createApiClient(app.baseUrl, foreign).get(`${theirs.I}/users`)).status).toBe(200)
})

test('RFC 9728: the API publishes its authorization servers', async () => {
  const response = await createApiClient(app.baseUrl).get('/.well-known/oauth-protected-resource')
  expect(response.body).toMatchObject({
    resource: app.baseUrl,
    authorization_servers: [expect.stringContaining(`${app.idpUrl}/iss_`)],
    bearer_methods_supported: ['header'],
  })
})
