/**
 * API keys of organizations (docs/contract.md#api-keys, docs/contract.md#api-key-endpoints,
 * docs/contract.md#api-key-credentials, docs/contract.md#restrictions-of-keys-and-tokens,
 * docs/contract.md#key-operations-and-status-transitions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { createRestrictedKey, createTenant, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, sendRouteRequest, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let owner: ApiClient
let O: string

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app, 'Acme')
  owner = fixture.owner
  O = `${fixture.I}/organizations/${fixture.ids.org_id}`
})
afterAll(() => app.close())

const organization = async (): Promise<string> => {
  const { id } = expectStatus(await owner.post(`${fixture.I}/organizations`, { name: uniqueName('Org') }), 201).data
  return `${fixture.I}/organizations/${id}`
}
const create = async (more: object = {}, at = O): Promise<AnyJson> =>
  expectStatus(
    await owner.post(`${at}/api-keys`, { type: 'api_key', name: uniqueName('key'), restrictions: {}, ...more }),
    201,
  ).data
const as = (key: AnyJson): ApiClient => createApiClient(app.baseUrl, { id: key.id, secret: key.secret_plain })
const idsOf = (response: AnyJson): string[] => expectStatus(response, 200).data.map((row: { id: string }) => row.id)

describe('creating', () => {
  test('type api_key is required; the secret is shown only in this response', async () => {
    const key = await create({ description: 'd', tags: ['t'], metadata: { a: 1 } })
    expect(key).toMatchObject({
      id: expect.stringMatching(/^ak_/),
      account_id: fixture.accountId,
      issuer_id: fixture.issuerId,
      org_id: fixture.ids.org_id,
      type: 'api_key',
      status: 'active',
      scopes: null,
      restrictions: {},
      secret_hint: key.secret_plain.slice(-4),
    })
    const read = await owner.get(`${O}/api-keys/${key.id}`)
    expect(read.text).not.toContain(key.secret_plain)
    expect(Object.keys(expectStatus(read, 200).data)).not.toContain('secret_plain')
    for (const type of [undefined, null, 'personal_token', '']) {
      const response = await owner.post(`${O}/api-keys`, { name: 'k', restrictions: {}, type })
      expect({ type, status: response.status, field: response.body.details[0].field }).toEqual({
        type,
        status: 400,
        field: 'type',
      })
    }
    expect((await owner.post(`${fixture.A}/api-keys`, { name: 'k', restrictions: {}, type: 'api_key' })).status).toBe(
      400,
    )
    const events = await app.gatehouse.database.prisma.event.findMany({ where: { type: 'api_key.created' } })
    expect(events.find(({ target }) => (target as AnyJson).id === key.id)).toMatchObject({
      orgId: fixture.ids.org_id,
      issuerId: fixture.issuerId,
    })
    expect(JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(key.secret_plain)
  })

  test('the response is never replayed, with or without an Idempotency-Key', async () => {
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    const headers = { 'idempotency-key': uniqueName('once') }
    const [one, two] = [
      await owner.post(`${O}/api-keys`, body, headers),
      await owner.post(`${O}/api-keys`, body, headers),
    ]
    expect(expectStatus(one, 201).data.id).not.toBe(expectStatus(two, 201).data.id)
  })

  test('restrictions that name another issuer or organization are 400, on POST and on PATCH', async () => {
    const elsewhere = (await organization()).split('/').at(-1)!
    const { id } = await create()
    for (const [field, restrictions] of [
      ['restrictions.org_ids[1]', { org_ids: [fixture.ids.org_id, elsewhere] }],
      ['restrictions.issuer_ids[0]', { issuer_ids: [`iss_${'0'.repeat(26)}`] }],
    ] as const) {
      const posted = await owner.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions })
      const patched = await owner.patch(`${O}/api-keys/${id}`, { restrictions })
      for (const response of [posted, patched]) {
        expect({ status: response.status, field: response.body.details[0].field }).toEqual({ status: 400, field })
      }
    }
    await create({ restrictions: { issuer_ids: [fixture.issuerId], org_ids: [fixture.ids.org_id] } })
  })

  test('a caller cannot create a key that is stronger than the caller', async () => {
    const weak = await createRestrictedKey(fixture, {
      scopes: ['issuers.organizations.api_keys:manage', 'issuers.organizations:read'],
    })
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    expect((await weak.post(`${O}/api-keys`, body)).status).toBe(403)
    expectStatus(
      await weak.post(`${O}/api-keys`, { ...body, restrictions: { scopes: ['issuers.organizations:read'] } }),
      201,
    )
    const strong = await create()
    for (const response of [
      await weak.post(`${O}/api-keys/${strong.id}/rotate`),
      await weak.patch(`${O}/api-keys/${strong.id}`, { name: 'x' }),
      await weak.delete(`${O}/api-keys/${strong.id}`),
      await weak.post(`${O}/api-keys/${strong.id}/revoke`),
    ]) {
      expect([response.status, response.body.error]).toEqual([403, 'insufficient_scope'])
    }
  })

  test('an organization has at most 100 keys: the next is 429, also under 20 parallel requests; organizations are counted separately', async () => {
    const at = await organization()
    const { prisma } = app.gatehouse.database
    const first = await create({}, at)
    const row = await prisma.apiKey.findUniqueOrThrow({ where: { id: first.id } })
    const copies = Array.from({ length: 89 }, (_, i) => ({
      ...row,
      id: `ak_${String(i).padStart(26, '0')}`,
      restrictions: {},
      secrets: [],
      metadata: {},
    }))
    await prisma.apiKey.createMany({ data: copies })
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${at}/api-keys`, body)))
    const statuses = responses.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(10).fill(201), ...Array(10).fill(429)])
    expectStatus(await owner.post(`${at}/api-keys/${first.id}/revoke`), 200)
    expectStatus(await owner.post(`${at}/api-keys`, body), 201)
    await create()
    expectStatus(await owner.post(`${fixture.A}/api-keys`, { name: 'k', restrictions: {} }), 201)
  })
})

describe('the principal is the organization, and its access is limited to the organization', () => {
  test('a key can access its organization and all resources below it', async () => {
    const api = as(await create())
    expectStatus(await api.get(O), 200)
    expectStatus(await api.patch(O, { description: 'self-service' }), 200)
    expectStatus(await api.get(`${O}/members`), 200)
    expectStatus(await api.get(`${O}/groups`), 200)
    const own = expectStatus(
      await api.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} }),
      201,
    ).data
    expectStatus(await as(own).get(O), 200)
    const me = expectStatus(await api.graphql('{ me { type accountId issuerId scopes } }'), 200)
    expect(me.data.me).toEqual({
      type: 'api_key',
      accountId: fixture.accountId,
      issuerId: fixture.issuerId,
      scopes: ['svc:all'],
    })
  })

  test('every other route is 404', async () => {
    const api = as(await create())
    for (const route of routes.filter(({ path }) => !path.includes('/organizations/{org_id}'))) {
      const response = await sendRouteRequest(api, route, fixture.ids)
      expect([route.method, route.path, response.status]).toEqual([route.method, route.path, 404])
    }
  })

  test('resources of another organization are 404, whichever id of the path is replaced', async () => {
    const there = await createTenantFixture(app, 'Other')
    const sibling = await organization()
    const siblingId = sibling.split('/').at(-1)!
    const api = as(await create())
    for (const route of routes.filter(({ path }) => path.includes('/organizations/{org_id}'))) {
      for (const ids of [
        there.ids,
        { ...fixture.ids, org_id: siblingId },
        { ...fixture.ids, org_id: there.ids.org_id },
        { ...there.ids, org_id: fixture.ids.org_id },
        { ...fixture.ids, issuer_id: there.ids.issuer_id },
      ]) {
        const response = await sendRouteRequest(api, route, ids)
        expect([route.method, route.path, response.status]).toEqual([route.method, route.path, 404])
      }
    }
  })

  test('a key is limited to its scopes; reduced scopes apply immediately', async () => {
    const scopes = ['issuers.organizations:read', 'issuers.organizations.members:read']
    const key = await create({ restrictions: { scopes } })
    expectStatus(await as(key).get(`${O}/members`), 200)
    expect((await as(key).get(`${O}/groups`)).status).toBe(403)
    expectStatus(await owner.patch(`${O}/api-keys/${key.id}`, { scopes: ['issuers.organizations:read'] }), 200)
    expect((await as(key).get(`${O}/members`)).status).toBe(403)
  })

  test("keys of accounts and of organizations are not found at each other's paths", async () => {
    const key = await create()
    expect((await owner.get(`${fixture.A}/api-keys/${key.id}`)).status).toBe(404)
    expect((await owner.get(`${O}/api-keys/${fixture.ids.key_id}`)).status).toBe(404)
    expect(idsOf(await owner.get(`${fixture.A}/api-keys?limit=100`))).not.toContain(key.id)
    expect(idsOf(await owner.get(`${O}/api-keys?limit=100`))).not.toContain(fixture.ids.key_id)
    const sibling = await organization()
    for (const call of [owner.get, owner.delete]) expect((await call(`${sibling}/api-keys/${key.id}`)).status).toBe(404)
  })
})

describe('states', () => {
  test('block, unblock, rotate with 15 minutes of overlap and revoke work as for account keys', async () => {
    const key = await create()
    const path = `${O}/api-keys/${key.id}`
    expect(expectStatus(await owner.post(`${path}/block`, { by: 'desk', reason: 'lost' }), 200).data).toMatchObject({
      status: 'blocked',
      status_by: 'desk',
      status_reason: 'lost',
    })
    expectStatus(await as(key).get(O), 401)
    expectStatus(await owner.post(`${path}/rotate`), 400)
    expectStatus(await owner.post(`${path}/unblock`), 200)
    expectStatus(await owner.post(`${path}/unblock`), 400)
    expectStatus(await as(key).get(O), 200)
    const renewed = expectStatus(await owner.post(`${path}/rotate`, { hint: 'new' }), 200).data
    expect(renewed.secret_hint).toBe('new')
    expectStatus(await as(key).get(O), 200)
    app.clock.advance(15 * 60_000)
    expectStatus(await as(key).get(O), 401)
    expectStatus(await as(renewed).get(O), 200)
    expectStatus(await owner.post(`${path}/revoke`, { reason: 'over' }), 200)
    expectStatus(await owner.post(`${path}/revoke`), 200)
    expectStatus(await as(renewed).get(O), 401)
    expectStatus(await owner.delete(path), 404)
    expect(expectStatus(await owner.get(path), 200).data.status).toBe('revoked')
    const types = await app.gatehouse.database.prisma.event.findMany({
      where: { orgId: fixture.ids.org_id },
      orderBy: { id: 'asc' },
    })
    const own = types.filter(({ target }) => (target as AnyJson).id === key.id).map(({ type }) => type)
    expect(own).toEqual(['created', 'blocked', 'unblocked', 'rotated', 'revoked'].map((word) => `api_key.${word}`))
  })

  test('suspended is computed while the organization is suspended: the key is refused immediately and valid again afterwards', async () => {
    const at = await organization()
    const active = await create({}, at)
    const blocked = await create({}, at)
    const expired = await create({ expires_at: app.clock.now() + 1000 }, at)
    app.clock.advance(1000)
    expectStatus(await owner.post(`${at}/api-keys/${blocked.id}/block`), 200)
    const statuses = async () =>
      Object.fromEntries(
        expectStatus(await owner.get(`${at}/api-keys`), 200).data.map((row: AnyJson) => [row.id, row.status]),
      )
    const by = async (status: string) => idsOf(await owner.get(`${at}/api-keys?status=${status}`))
    expect(await statuses()).toEqual({ [active.id]: 'active', [blocked.id]: 'blocked', [expired.id]: 'expired' })
    expect([await by('active'), await by('suspended')]).toEqual([[active.id], []])

    expectStatus(await owner.patch(at, { status: 'suspended' }), 200)
    expectStatus(await as(active).get(at), 401)
    expect(await statuses()).toEqual({ [active.id]: 'suspended', [blocked.id]: 'blocked', [expired.id]: 'expired' })
    expect([await by('active'), await by('suspended')]).toEqual([[], [active.id]])
    expect([await by('blocked'), await by('expired')]).toEqual([[blocked.id], [expired.id]])
    expectStatus(await owner.post(`${at}/api-keys/${active.id}/rotate`), 400)
    const here = { a: fixture.accountId, i: fixture.issuerId, o: at.split('/').at(-1) }
    const text =
      'query ($a: ID!, $i: ID!, $o: ID!) { organizationApiKeys(accountId: $a, issuerId: $i, orgId: $o) { data { id status } } }'
    expect((await owner.graphql(text, here)).body.data.organizationApiKeys.data).toContainEqual({
      id: active.id,
      status: 'suspended',
    })

    expectStatus(await owner.patch(at, { status: 'active' }), 200)
    expectStatus(await as(active).get(at), 200)
    expect((await statuses())[active.id]).toBe('active')
  })

  test('the list is newest first, the cursor is a key id', async () => {
    const at = await organization()
    const created: string[] = []
    for (let i = 0; i < 3; i++) created.unshift((await create({}, at)).id)
    const first = await owner.get(`${at}/api-keys?limit=2`)
    expect(idsOf(first)).toEqual(created.slice(0, 2))
    expect(first.body.next_cursor).toBe(created[1])
    expect(idsOf(await owner.get(`${at}/api-keys?cursor=${created[1]}`))).toEqual(created.slice(2))
    expect((await owner.get(`${fixture.I}/organizations/org_${'0'.repeat(26)}/api-keys`)).status).toBe(404)
  })
})

test('an organization key of the system account is not an operator', async () => {
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}/organizations`
  const { id } = expectStatus(await app.operator.post(I, {}), 201).data
  const body = { type: 'api_key', name: 'k', restrictions: {} }
  const key = as(expectStatus(await app.operator.post(`${I}/${id}/api-keys`, body), 201).data)
  expectStatus(await key.get(`${I}/${id}`), 200)
  const tenant = await createTenant(app, 'Tenant')
  for (const path of ['/v1/accounts', A, tenant.A, tenant.I]) expect((await key.get(path)).status).toBe(404)
  const response = await key.graphql('mutation { createAccount(input: {}) { account { id } } }')
  expect(response.body.errors[0].extensions.status).toBe(403)
})
