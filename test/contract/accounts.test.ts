import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createAccount, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let tenant: Tenant

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app, 'Acme')
})
afterAll(() => app.close())

test('GET /v1/accounts lists the accounts that the caller can access', async () => {
  const other = await createAccount(app, 'Other')
  const own = await tenant.owner.get('/v1/accounts')
  expect(own.status).toBe(200)
  expect(own.body.data.map((account: { id: string }) => account.id)).toEqual([tenant.accountId])
  expect(own.body).toMatchObject({ next_cursor: null, has_more: false })
  const all = await app.operator.get('/v1/accounts')
  expect(all.body.data.map((account: { id: string }) => account.id)).toEqual(
    expect.arrayContaining([tenant.accountId, other.accountId]),
  )
  expect(all.headers.get('etag')).toBeNull()
})

test('a 200 response with one resource is {data} with a strong ETag of updated_at', async () => {
  const response = await tenant.owner.get(tenant.A)
  expect(response.status).toBe(200)
  expect(Object.keys(response.body)).toEqual(['data'])
  expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
  expect(response.body.data).toMatchObject({ id: tenant.accountId, name: 'Acme', billing_mode: 'ungated', domains: [] })
})

test('a request without a credential is 401 with both challenges', async () => {
  const response = await createApiClient(app.baseUrl).get(tenant.A)
  expect(response.status).toBe(401)
  expect(response.body).toMatchObject({ error: 'unauthorized', request_id: expect.stringMatching(/^req_/) })
  expect(response.headers.get('www-authenticate')).toContain('Basic realm="gatehouse"')
  expect(response.headers.get('www-authenticate')).toContain('resource_metadata=')
})

/** Creates a user of the console issuer and returns the id. */
async function consoleUser(name: string): Promise<string> {
  const { data } = expectStatus(await app.operator.get('/v1/accounts'), 200)
  const system = data.find((account: AnyJson) => account.name === 'System').id
  const [issuer] = expectStatus(await app.operator.get(`/v1/accounts/${system}/issuers`), 200).data
  const path = `/v1/accounts/${system}/issuers/${issuer.id}/users`
  return expectStatus(await app.operator.post(path, { username_type: 'email', username: `${name}@example.com` }), 201)
    .data.id
}

test('PATCH changes name, description, logo_url, metadata and the owner; billing_mode is read-only', async () => {
  const owner_user_id = await consoleUser('owner')
  const body = {
    name: 'Acme Inc.',
    description: '# md',
    logo_url: 'https://acme.example/l.png',
    metadata: { a: { b: 1 } },
    owner_user_id,
  }
  const { data } = expectStatus(await tenant.owner.patch(tenant.A, body), 200)
  expect(data).toMatchObject({ ...body, billing_mode: 'ungated' })
  // PATCH replaces the metadata of an account and does not merge it (docs/contract.md#common-field-rules).
  expect(
    expectStatus(await tenant.owner.patch(tenant.A, { metadata: { c: null }, name: null }), 200).data,
  ).toMatchObject({
    metadata: { c: null },
    name: null,
    logo_url: body.logo_url,
  })
  for (const bad of [
    { billing_mode: 'gated' },
    { metadata: null },
    { owner_user_id: null },
    { name: '' },
    { logo_url: 'x' },
  ]) {
    expect({ bad, status: (await tenant.owner.patch(tenant.A, bad)).status }).toEqual({ bad, status: 400 })
  }
  expectStatus(await tenant.owner.patch(tenant.A, { name: 'Acme' }), 200)
})

test('the owner must be an active user of the console issuer', async () => {
  const { data: own } = expectStatus(
    await tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username: 'tenant-user' }),
    201,
  )
  const gone = await consoleUser('gone')
  const { data } = expectStatus(await app.operator.get('/v1/accounts'), 200)
  const system = `/v1/accounts/${data.find((account: AnyJson) => account.name === 'System').id}`
  const [issuer] = expectStatus(await app.operator.get(`${system}/issuers`), 200).data
  expectStatus(await app.operator.patch(`${system}/issuers/${issuer.id}/users/${gone}`, { status: 'suspended' }), 200)
  for (const owner_user_id of [own.id, gone, `usr_${'0'.repeat(26)}`, '', 'x']) {
    const response = await tenant.owner.patch(tenant.A, { owner_user_id })
    expect({ owner_user_id, status: response.status, field: response.body.details?.[0].field }).toEqual({
      owner_user_id,
      status: 400,
      field: 'owner_user_id',
    })
  }
})

describe('domains of an account: PATCH replaces the set', () => {
  const hosts = (response: { body: AnyJson }) => response.body.data.domains.map(({ host }: AnyJson) => host).sort()
  const set = (...list: string[]) => tenant.owner.patch(tenant.A, { domains: list.map((host) => ({ host })) })

  test('new hosts start unverified, missing ones are removed, remaining ones keep their token', async () => {
    const first = await set('login.acme.example', 'ID.Acme.Example', 'login.acme.example')
    expect(first.status).toBe(200)
    expect(hosts(first)).toEqual(['id.acme.example', 'login.acme.example'])
    expect(first.body.data.domains[0]).toEqual({
      id: expect.stringMatching(/^dom_/),
      host: expect.any(String),
      verified: false,
      verified_at: null,
      issuer_id: null,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
      verification: {
        type: 'dns_txt',
        name: `_gatehouse-challenge.${first.body.data.domains[0].host}`,
        value: expect.stringMatching(/^gatehouse-verify=[0-9a-f]{32}$/),
      },
    })
    const kept = first.body.data.domains.find(({ host }: AnyJson) => host === 'login.acme.example')
    const second = await set('login.acme.example', 'bücher.example')
    expect(hosts(second)).toEqual(['login.acme.example', 'xn--bcher-kva.example'])
    expect(second.body.data.domains).toContainEqual(kept)
    expect((await tenant.owner.get(tenant.A)).body).toEqual(second.body)
    expect(hosts(await tenant.owner.patch(tenant.A, { description: 'untouched' }))).toEqual(hosts(second))
    expect(hosts(await set())).toEqual([])
  })

  test('an invalid domain name is 400 and changes nothing', async () => {
    expectStatus(await set('stays.acme.example'), 200)
    for (const host of [
      '',
      ' ',
      'localhost',
      'com',
      '127.0.0.1',
      '[::1]',
      '::1',
      'a..example',
      '-a.example',
      'a_b.example',
      'https://a.example',
      'a.example/path',
      'user@a.example',
      'a.example:8080',
      'a.example?x',
      'a.example#x',
      'a b.example',
      '*.a.example',
      `${'a'.repeat(64)}.example`,
      `${'a.'.repeat(130)}example`,
      'a.example\\x',
      '0x7f.1',
    ]) {
      const response = await set('new.acme.example', host)
      expect({ host, status: response.status, field: response.body.details?.[0].field }).toEqual({
        host,
        status: 400,
        field: 'domains[1].host',
      })
    }
    for (const domains of [null, 'x', ['a.example'], [{}], [{ host: 'a.example', verified: true }], [null]]) {
      expect({ domains, status: (await tenant.owner.patch(tenant.A, { domains })).status }).toEqual({
        domains,
        status: 400,
      })
    }
    expect(hosts(await tenant.owner.get(tenant.A))).toEqual(['stays.acme.example'])
  })

  test('at most 20 domains, also under parallel requests', async () => {
    const many = (count: number, word: string) => Array.from({ length: count }, (_, i) => `${word}${i}.acme.example`)
    expect((await set(...many(21, 'x'))).status).toBe(400)
    expect((await set(...many(20, 'y'))).status).toBe(200)
    await Promise.all(['p', 'q', 'r', 's'].map((word) => set(...many(12, word))))
    expect(hosts(await tenant.owner.get(tenant.A))).toHaveLength(12)
  })

  test('a host that another account has verified is 409', async () => {
    const other = await createAccount(app, 'Elsewhere')
    const path = `/v1/accounts/${other.accountId}`
    expectStatus(await other.owner.patch(path, { domains: [{ host: 'shared.example' }] }), 200)
    expect((await set('shared.example')).status).toBe(200)
    await set()
    await app.gatehouse.database.prisma.domain.updateMany({
      where: { host: 'shared.example' },
      data: { verified: true },
    })
    const response = await set('mine.example', 'shared.example')
    expect({ status: response.status, error: response.body.error }).toEqual({ status: 409, error: 'conflict' })
    expect(hosts(await tenant.owner.get(tenant.A))).toEqual([])
    expect(response.text).not.toContain(other.accountId)
  })
})

test('an operator can access every account, and its events name the operator', async () => {
  expectStatus(await app.operator.patch(tenant.A, { description: 'by the operator' }), 200)
  const [event] = await app.gatehouse.database.prisma.event.findMany({
    where: { accountId: tenant.accountId, type: 'account.updated' },
    orderBy: { id: 'desc' },
    take: 1,
  })
  expect(event!.actor).toMatchObject({ type: 'api_key', operator: true })
})

test('accounts have no POST and no DELETE', async () => {
  expect((await app.operator.post('/v1/accounts', { name: 'x' })).status).toBe(405)
  expect((await app.operator.delete(tenant.A)).status).toBe(405)
})
