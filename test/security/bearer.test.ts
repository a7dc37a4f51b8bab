/** Access tokens at the Core API (spec 5.1, decisions D6, security rules 8, 11, 12). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { confidentialClient, fresh, makeWorld, type World } from '../contract/world.js'
import { must } from '../setup/actors.js'
import { apiAs, type Loose } from '../setup/api.js'
import { forged } from '../setup/forged.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let world: World
let theirs: World
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  theirs = await makeWorld(app)
})
afterAll(() => app.close())

interface Machine {
  id: string
  secret: string
  path: string
}

/** A machine of the issuer that may ask for tokens for the Core API. */
async function machine(scopes: string[], of: World = world): Promise<Machine> {
  const settings = {
    openid: { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [app.baseUrl] },
    scopes,
  }
  const { id, secret } = must(await of.owner.post(`${of.I}/clients`, confidentialClient({ settings })), 201).data
  return { id, secret, path: `${of.I}/clients/${id}` }
}

async function tokenOf({ id, secret }: Machine, more: Record<string, string> = {}, of: World = world): Promise<string> {
  const response = await fetch(`${app.idpUrl}/${of.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: app.baseUrl, ...more }),
  })
  const body = (await response.json()) as Loose
  if (response.status !== 200) throw new Error(JSON.stringify(body))
  return body.access_token
}

async function expectDead(token: string): Promise<void> {
  for (const answer of [
    await apiAs(app.baseUrl, token).get(`${world.I}/users`),
    await apiAs(app.baseUrl, token).graphql('{ me { id } }'),
  ]) {
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toMatch(/Bearer realm="gatehouse", error="invalid_token"/)
  }
}

test('a machine does what it was granted, below its own issuer, and nothing elsewhere', async () => {
  const api = apiAs(app.baseUrl, await tokenOf(await machine(['issuers.users:read', 'orders:read'])))
  expect((await api.get(`${world.I}/users`)).status).toBe(200)
  const other = must(await world.owner.post(`${world.A}/issuers`, { name: 'Other' }), 201).data.id
  for (const [path, status] of [
    [`${world.I}/clients`, 403],
    [world.I, 403],
    [`${world.I}/users/${world.ids.user_id}/verifiers`, 403],
    [world.A, 404],
    [`${world.A}/issuers`, 404],
    [`${world.A}/api-keys`, 404],
    ['/v1/accounts', 404],
    [`${world.A}/issuers/${other}/users`, 404],
    [`${theirs.I}/users`, 404],
    [`${theirs.A}/issuers/${world.issuerId}/users`, 404],
  ] as const) {
    expect({ path, status: (await api.get(path)).status }).toEqual({ path, status })
  }
  expect((await api.post(`${world.I}/users`, { username_type: 'unique', username: fresh('u') })).status).toBe(403)
  const { body } = await api.graphql('{ me { type id accountId issuerId scopes } }')
  expect(body.data.me).toMatchObject({
    type: 'client',
    accountId: world.accountId,
    issuerId: world.issuerId,
    scopes: ['issuers.users:read'],
  })
})

test('even svc:all ends at the issuer', async () => {
  const api = apiAs(app.baseUrl, await tokenOf(await machine(['svc:all'])))
  expect([(await api.get(world.I)).status, (await api.get(`${world.I}/clients`)).status]).toEqual([200, 200])
  expect([
    (await api.get(world.A)).status,
    (await api.post(`${world.A}/api-keys`, { name: 'k', restrictions: {} })).status,
    (await api.get('/v1/accounts')).status,
  ]).toEqual([404, 404, 404])
  const made = await api.graphql('mutation { createAccount(input: {name: "x"}) { account { id } } }')
  expect(made.body.errors[0].extensions.status).toBe(403)
  const relation = await api.graphql('query ($a: ID!) { account(accountId: $a) { id issuers { data { id } } } }', {
    a: world.accountId,
  })
  expect(relation.body.errors[0].extensions.status).toBe(404)
})

test('a token is cut down to its own scope, and authority comes from the tables, not from the token', async () => {
  const it = await machine(['issuers.users:read', 'issuers.clients:read'])
  const narrow = apiAs(app.baseUrl, await tokenOf(it, { scope: 'issuers.users:read' }))
  expect([(await narrow.get(`${world.I}/users`)).status, (await narrow.get(`${world.I}/clients`)).status]).toEqual([
    200, 403,
  ])
  const wide = apiAs(app.baseUrl, await tokenOf(it))
  expect((await wide.get(`${world.I}/clients`)).status).toBe(200)
  must(await world.owner.patch(it.path, { settings: { scopes: ['issuers.users:read'] } }), 200)
  expect([(await wide.get(`${world.I}/users`)).status, (await wide.get(`${world.I}/clients`)).status]).toEqual([
    200, 403,
  ])
})

test('a token for somebody else is none here: the audience must be this deployment', async () => {
  const it = await machine(['issuers.users:read'])
  const response = await fetch(`${app.idpUrl}/${world.issuerId}/token`, {
    method: 'POST',
    headers: { authorization: `Basic ${Buffer.from(`${it.id}:${it.secret}`).toString('base64')}` },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  })
  await expectDead(((await response.json()) as Loose).access_token)
})

test('expired, of a disabled client, of a deleted client, of a disabled issuer: 401', async () => {
  const it = await machine(['issuers.users:read'])
  const token = await tokenOf(it)
  const api = apiAs(app.baseUrl, token)
  must(await world.owner.patch(it.path, { status: 'disabled' }), 200)
  await expectDead(token)
  must(await world.owner.patch(it.path, { status: 'active' }), 200)
  expect((await api.get(`${world.I}/users`)).status).toBe(200)
  must(await world.owner.patch(world.I, { status: 'disabled' }), 200)
  await expectDead(token)
  must(await world.owner.patch(world.I, { status: 'active' }), 200)
  expect((await api.get(`${world.I}/users`)).status).toBe(200)
  must(await world.owner.delete(it.path), 204)
  await expectDead(token)
  const late = await tokenOf(await machine(['issuers.users:read']))
  app.clock.advance(1800_000)
  await expectDead(late)
})

test('a token that was touched, or made by somebody else, is none', async () => {
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
    forged(`${head}.${body}.${signature}`),
    `${head}.${body}.${signature}=`,
    `${head}.${body}.${signature}.x`,
    `${head}.${body}`,
    '.',
    '..',
    'x'.repeat(7000),
  ]) {
    await expectDead(bad)
  }
  // The untouched one is good, and the other tenant's is good only there.
  expect((await apiAs(app.baseUrl, token).get(`${world.I}/users`)).status).toBe(200)
  expect((await apiAs(app.baseUrl, foreign).get(`${world.I}/users`)).status).toBe(404)
  expect((await apiAs(app.baseUrl, foreign).get(`${theirs.I}/users`)).status).toBe(200)
})

test('RFC 9728: the API says where its tokens come from', async () => {
  const answer = await apiAs(app.baseUrl).get('/.well-known/oauth-protected-resource')
  expect(answer.body).toMatchObject({
    resource: app.baseUrl,
    authorization_servers: [expect.stringContaining(`${app.idpUrl}/iss_`)],
    bearer_methods_supported: ['header'],
  })
})
