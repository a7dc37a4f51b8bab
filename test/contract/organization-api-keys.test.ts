/** API keys of organizations (spec 2.11, 4.8, 5.1, section 3, decisions D5, D8, D22). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { routes } from '../../src/rest/routes.js'
import { keyWith, makeTenant, must } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, makeWorld, send, type World } from './world.js'

let app: TestApp
let world: World
let owner: Api
let O: string

beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app, 'Acme')
  owner = world.owner
  O = `${world.I}/organizations/${world.ids.org_id}`
})
afterAll(() => app.close())

const organization = async (): Promise<string> => {
  const { id } = must(await owner.post(`${world.I}/organizations`, { name: fresh('Org') }), 201).data
  return `${world.I}/organizations/${id}`
}
const make = async (more: object = {}, at = O): Promise<Loose> =>
  must(await owner.post(`${at}/api-keys`, { type: 'api_key', name: fresh('key'), restrictions: {}, ...more }), 201).data
const as = (key: Loose): Api => apiAs(app.baseUrl, { id: key.id, secret: key.secret_plain })
const idsOf = (answer: Loose): string[] => must(answer, 200).data.map((row: { id: string }) => row.id)

describe('creating', () => {
  test('type api_key is required; the secret is in the answer, once', async () => {
    const made = await make({ description: 'd', tags: ['t'], metadata: { a: 1 } })
    expect(made).toMatchObject({
      id: expect.stringMatching(/^ak_/),
      account_id: world.accountId,
      issuer_id: world.issuerId,
      org_id: world.ids.org_id,
      type: 'api_key',
      status: 'active',
      scopes: null,
      restrictions: {},
      secret_hint: made.secret_plain.slice(-4),
    })
    const read = await owner.get(`${O}/api-keys/${made.id}`)
    expect(read.text).not.toContain(made.secret_plain)
    expect(Object.keys(must(read, 200).data)).not.toContain('secret_plain')
    for (const type of [undefined, null, 'personal_token', '']) {
      const answer = await owner.post(`${O}/api-keys`, { name: 'k', restrictions: {}, type })
      expect({ type, status: answer.status, field: answer.body.details[0].field }).toEqual({
        type,
        status: 400,
        field: 'type',
      })
    }
    expect((await owner.post(`${world.A}/api-keys`, { name: 'k', restrictions: {}, type: 'api_key' })).status).toBe(400)
    const events = await app.gatehouse.tools.prisma.event.findMany({ where: { type: 'api_key.created' } })
    expect(events.find(({ target }) => (target as Loose).id === made.id)).toMatchObject({
      orgId: world.ids.org_id,
      issuerId: world.issuerId,
    })
    expect(JSON.stringify(events, (_, v) => (typeof v === 'bigint' ? Number(v) : v))).not.toContain(made.secret_plain)
  })

  test('it is never replayed, whatever the Idempotency-Key', async () => {
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    const headers = { 'idempotency-key': fresh('once') }
    const [one, two] = [
      await owner.post(`${O}/api-keys`, body, headers),
      await owner.post(`${O}/api-keys`, body, headers),
    ]
    expect(must(one, 201).data.id).not.toBe(must(two, 201).data.id)
  })

  test('restrictions that name another issuer or organization are 400, on POST and on PATCH', async () => {
    const elsewhere = (await organization()).split('/').at(-1)!
    const { id } = await make()
    for (const [field, restrictions] of [
      ['restrictions.org_ids[1]', { org_ids: [world.ids.org_id, elsewhere] }],
      ['restrictions.issuer_ids[0]', { issuer_ids: [`iss_${'0'.repeat(26)}`] }],
    ] as const) {
      const posted = await owner.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions })
      const patched = await owner.patch(`${O}/api-keys/${id}`, { restrictions })
      for (const answer of [posted, patched]) {
        expect({ status: answer.status, field: answer.body.details[0].field }).toEqual({ status: 400, field })
      }
    }
    await make({ restrictions: { issuer_ids: [world.issuerId], org_ids: [world.ids.org_id] } })
  })

  test('nobody makes a key stronger than themselves', async () => {
    const weak = await keyWith(world, {
      scopes: ['issuers.organizations.api_keys:manage', 'issuers.organizations:read'],
    })
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    expect((await weak.post(`${O}/api-keys`, body)).status).toBe(403)
    must(await weak.post(`${O}/api-keys`, { ...body, restrictions: { scopes: ['issuers.organizations:read'] } }), 201)
    const strong = await make()
    for (const answer of [
      await weak.post(`${O}/api-keys/${strong.id}/rotate`),
      await weak.patch(`${O}/api-keys/${strong.id}`, { name: 'x' }),
      await weak.delete(`${O}/api-keys/${strong.id}`),
      await weak.post(`${O}/api-keys/${strong.id}/revoke`),
    ]) {
      expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])
    }
  })

  test('an organization has at most 100: the next is 429, also under 20 parallel requests; each organization its own', async () => {
    const at = await organization()
    const { prisma } = app.gatehouse.tools
    const first = await make({}, at)
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
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${at}/api-keys`, body)))
    const statuses = answers.map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(10).fill(201), ...Array(10).fill(429)])
    must(await owner.post(`${at}/api-keys/${first.id}/revoke`), 200)
    must(await owner.post(`${at}/api-keys`, body), 201)
    await make()
    must(await owner.post(`${world.A}/api-keys`, { name: 'k', restrictions: {} }), 201)
  })
})

describe('the principal is the organization, its reach the subtree of the organization', () => {
  test('it reaches its organization and what lies below', async () => {
    const api = as(await make())
    must(await api.get(O), 200)
    must(await api.patch(O, { description: 'by itself' }), 200)
    must(await api.get(`${O}/members`), 200)
    must(await api.get(`${O}/groups`), 200)
    const own = must(await api.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} }), 201).data
    must(await as(own).get(O), 200)
    const me = must(await api.graphql('{ me { type accountId issuerId scopes } }'), 200)
    expect(me.data.me).toEqual({
      type: 'api_key',
      accountId: world.accountId,
      issuerId: world.issuerId,
      scopes: ['svc:all'],
    })
  })

  test('and nothing else: every other route of the table is 404', async () => {
    const api = as(await make())
    for (const route of routes.filter(({ path }) => !path.includes('/organizations/{org_id}'))) {
      const answer = await send(api, route, world.ids)
      expect([route.method, route.path, answer.status]).toEqual([route.method, route.path, 404])
    }
  })

  test("nor another organization's, whatever the place of the swapped id", async () => {
    const there = await makeWorld(app, 'Other')
    const sibling = await organization()
    const siblingId = sibling.split('/').at(-1)!
    const api = as(await make())
    for (const route of routes.filter(({ path }) => path.includes('/organizations/{org_id}'))) {
      for (const ids of [
        there.ids,
        { ...world.ids, org_id: siblingId },
        { ...world.ids, org_id: there.ids.org_id },
        { ...there.ids, org_id: world.ids.org_id },
        { ...world.ids, issuer_id: there.ids.issuer_id },
      ]) {
        const answer = await send(api, route, ids)
        expect([route.method, route.path, answer.status]).toEqual([route.method, route.path, 404])
      }
    }
  })

  test('within its scopes: reduced ones apply at once', async () => {
    const scopes = ['issuers.organizations:read', 'issuers.organizations.members:read']
    const key = await make({ restrictions: { scopes } })
    must(await as(key).get(`${O}/members`), 200)
    expect((await as(key).get(`${O}/groups`)).status).toBe(403)
    must(await owner.patch(`${O}/api-keys/${key.id}`, { scopes: ['issuers.organizations:read'] }), 200)
    expect((await as(key).get(`${O}/members`)).status).toBe(403)
  })

  test('keys of accounts and of organizations are not found at each other’s places', async () => {
    const key = await make()
    expect((await owner.get(`${world.A}/api-keys/${key.id}`)).status).toBe(404)
    expect((await owner.get(`${O}/api-keys/${world.ids.key_id}`)).status).toBe(404)
    expect(idsOf(await owner.get(`${world.A}/api-keys?limit=100`))).not.toContain(key.id)
    expect(idsOf(await owner.get(`${O}/api-keys?limit=100`))).not.toContain(world.ids.key_id)
    const sibling = await organization()
    for (const call of [owner.get, owner.delete]) expect((await call(`${sibling}/api-keys/${key.id}`)).status).toBe(404)
  })
})

describe('states', () => {
  test('block, unblock, rotate with 15 minutes of overlap, revoke, as for keys of accounts', async () => {
    const key = await make()
    const path = `${O}/api-keys/${key.id}`
    expect(must(await owner.post(`${path}/block`, { by: 'desk', reason: 'lost' }), 200).data).toMatchObject({
      status: 'blocked',
      status_by: 'desk',
      status_reason: 'lost',
    })
    must(await as(key).get(O), 401)
    must(await owner.post(`${path}/rotate`), 400)
    must(await owner.post(`${path}/unblock`), 200)
    must(await owner.post(`${path}/unblock`), 400)
    must(await as(key).get(O), 200)
    const renewed = must(await owner.post(`${path}/rotate`, { hint: 'new' }), 200).data
    expect(renewed.secret_hint).toBe('new')
    must(await as(key).get(O), 200)
    app.clock.advance(15 * 60_000)
    must(await as(key).get(O), 401)
    must(await as(renewed).get(O), 200)
    must(await owner.post(`${path}/revoke`, { reason: 'over' }), 200)
    must(await owner.post(`${path}/revoke`), 200)
    must(await as(renewed).get(O), 401)
    must(await owner.delete(path), 404)
    expect(must(await owner.get(path), 200).data.status).toBe('revoked')
    const types = await app.gatehouse.tools.prisma.event.findMany({
      where: { orgId: world.ids.org_id },
      orderBy: { id: 'asc' },
    })
    const own = types.filter(({ target }) => (target as Loose).id === key.id).map(({ type }) => type)
    expect(own).toEqual(['created', 'blocked', 'unblocked', 'rotated', 'revoked'].map((word) => `api_key.${word}`))
  })

  test('suspended is computed while the organization is suspended: refused at once, good again with it', async () => {
    const at = await organization()
    const active = await make({}, at)
    const blocked = await make({}, at)
    const expired = await make({ expires_at: app.clock.now() + 1000 }, at)
    app.clock.advance(1000)
    must(await owner.post(`${at}/api-keys/${blocked.id}/block`), 200)
    const statuses = async () =>
      Object.fromEntries(must(await owner.get(`${at}/api-keys`), 200).data.map((row: Loose) => [row.id, row.status]))
    const by = async (status: string) => idsOf(await owner.get(`${at}/api-keys?status=${status}`))
    expect(await statuses()).toEqual({ [active.id]: 'active', [blocked.id]: 'blocked', [expired.id]: 'expired' })
    expect([await by('active'), await by('suspended')]).toEqual([[active.id], []])

    must(await owner.patch(at, { status: 'suspended' }), 200)
    must(await as(active).get(at), 401)
    expect(await statuses()).toEqual({ [active.id]: 'suspended', [blocked.id]: 'blocked', [expired.id]: 'expired' })
    expect([await by('active'), await by('suspended')]).toEqual([[], [active.id]])
    expect([await by('blocked'), await by('expired')]).toEqual([[blocked.id], [expired.id]])
    must(await owner.post(`${at}/api-keys/${active.id}/rotate`), 400)
    const here = { a: world.accountId, i: world.issuerId, o: at.split('/').at(-1) }
    const text =
      'query ($a: ID!, $i: ID!, $o: ID!) { organizationApiKeys(accountId: $a, issuerId: $i, orgId: $o) { data { id status } } }'
    expect((await owner.graphql(text, here)).body.data.organizationApiKeys.data).toContainEqual({
      id: active.id,
      status: 'suspended',
    })

    must(await owner.patch(at, { status: 'active' }), 200)
    must(await as(active).get(at), 200)
    expect((await statuses())[active.id]).toBe('active')
  })

  test('the list is newest first, the cursor a key id', async () => {
    const at = await organization()
    const made: string[] = []
    for (let i = 0; i < 3; i++) made.unshift((await make({}, at)).id)
    const first = await owner.get(`${at}/api-keys?limit=2`)
    expect(idsOf(first)).toEqual(made.slice(0, 2))
    expect(first.body.next_cursor).toBe(made[1])
    expect(idsOf(await owner.get(`${at}/api-keys?cursor=${made[1]}`))).toEqual(made.slice(2))
    expect((await owner.get(`${world.I}/organizations/org_${'0'.repeat(26)}/api-keys`)).status).toBe(404)
  })
})

test("an organization's key of the system account is no operator", async () => {
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}/organizations`
  const { id } = must(await app.operator.post(I, {}), 201).data
  const body = { type: 'api_key', name: 'k', restrictions: {} }
  const key = as(must(await app.operator.post(`${I}/${id}/api-keys`, body), 201).data)
  must(await key.get(`${I}/${id}`), 200)
  const tenant = await makeTenant(app, 'Tenant')
  for (const path of ['/v1/accounts', A, tenant.A, tenant.I]) expect((await key.get(path)).status).toBe(404)
  const made = await key.graphql('mutation { createAccount(input: {}) { account { id } } }')
  expect(made.body.errors[0].extensions.status).toBe(403)
})
