/**
 * Account API keys (docs/contract.md#api-keys, docs/contract.md#api-key-endpoints,
 * docs/contract.md#api-key-credentials, docs/contract.md#restrictions-of-keys-and-tokens,
 * docs/contract.md#key-operations-and-status-transitions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  createPersonalTokenClient,
  createRestrictedKey,
  createTenant,
  expectStatus,
  type Tenant,
} from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

const MINUTE = 60_000
const DAY = 86_400_000

let app: TestApp
let tenant: Tenant
let keys: string
beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  keys = `${tenant.A}/api-keys`
})
afterAll(() => app.close())

const errorFieldsOf = (response: { body: AnyJson }): string[] =>
  (response.body.details ?? []).map(({ field }: AnyJson) => field)
const create = async (more: object = {}) =>
  expectStatus(await tenant.owner.post(keys, { name: uniqueName('key'), restrictions: {}, ...more }), 201).data
const as = ({ id, secret_plain }: { id: string; secret_plain: string }): ApiClient =>
  createApiClient(app.baseUrl, { id, secret: secret_plain })
const statusWith = async (api: ApiClient) => (await api.get(`${tenant.A}/issuers`)).status

test('the secret is shown only in the response to the creation, and only its SHA-256 is stored', async () => {
  const body = {
    name: 'Whole',
    description: 'd',
    tags: ['a', 'b'],
    restrictions: { scopes: ['issuers:read'] },
    expires_at: app.clock.now() + DAY,
    metadata: { m: 1 },
  }
  const key = await create(body)
  expect(key).toEqual({
    ...body,
    id: expect.stringMatching(/^ak_[0-9a-z]{26}$/),
    account_id: tenant.accountId,
    scopes: ['issuers:read'],
    status: 'active',
    status_at: null,
    status_by: null,
    status_reason: null,
    secret_plain: expect.stringMatching(/^[\w-]{43}$/),
    secret_hint: key.secret_plain.slice(-4),
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  const { secret_plain, ...shown } = key
  expect((await tenant.owner.get(`${keys}/${key.id}`)).body.data).toEqual(shown)
  for (const { text } of [
    await tenant.owner.get(keys),
    await tenant.owner.get(`${keys}/${key.id}`),
    await tenant.owner.patch(`${keys}/${key.id}`, { name: 'Other' }),
  ]) {
    expect(text).not.toContain(secret_plain)
    expect(text).not.toMatch(/secrets|hash|secret_plain/)
  }
  const [row] = await app.gatehouse.database.query<{ text: string }>(
    'key-row',
    'SELECT k::text AS text FROM api_keys k WHERE id = $1',
    [key.id],
  )
  expect(row!.text).not.toContain(secret_plain)
})

test('a secret supplied by the caller has 32 to 256 printable characters and may contain colons', async () => {
  for (const secret of ['s'.repeat(32), `${'a:'.repeat(128)}`, '%2b+ /=~'.replace(' ', '').repeat(6)]) {
    const key = await create({ secret })
    expect(key).toMatchObject({ secret_plain: secret, secret_hint: secret.slice(-4) })
    expect(await statusWith(as(key))).toBe(200)
  }
  for (const secret of ['', 's'.repeat(31), 's'.repeat(257), `${'s'.repeat(40)} `, 'ü'.repeat(40)]) {
    const response = await tenant.owner.post(keys, { name: 'k', restrictions: {}, secret })
    expect({ secret, status: response.status, fields: errorFieldsOf(response) }).toEqual({
      secret,
      status: 400,
      fields: ['secret'],
    })
  }
})

describe('restrictions', () => {
  test.each<[unknown, string]>([
    [{ unknown: 1 }, 'restrictions.unknown'],
    [{ scopes: 'issuers:read' }, 'restrictions.scopes'],
    [{ scopes: [1] }, 'restrictions.scopes[0]'],
    [{ scopes: ['a b'] }, 'restrictions.scopes[0]'],
    [{ scopes: null }, 'restrictions.scopes'],
    [{ issuer_ids: 'x' }, 'restrictions.issuer_ids'],
    [{ org_ids: [null] }, 'restrictions.org_ids[0]'],
    [{ ip_allowlist: ['x'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['203.0.113.0/33'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['203.0.113.256'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['10'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['10.1'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['0x7f000001'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['127.000.000.001'] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: [''] }, 'restrictions.ip_allowlist[0]'],
    [{ ip_allowlist: ['::1%eth0'] }, 'restrictions.ip_allowlist[0]'],
    [[], 'restrictions'],
    ['svc:all', 'restrictions'],
    [null, 'restrictions'],
  ])('restrictions %j are 400', async (restrictions, field) => {
    const response = await tenant.owner.post(keys, { name: 'k', restrictions })
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({ status: 400, fields: [field] })
  })

  test('ip_allowlist accepts IPv4 and IPv6 addresses and ranges; other addresses get 403', async () => {
    for (const [ip_allowlist, status] of [
      [['127.0.0.1'], 200],
      [['127.0.0.0/8'], 200],
      [['203.0.113.0/24', '127.0.0.1/32'], 200],
      [['0.0.0.0/0'], 200],
      [['::ffff:127.0.0.1'], 200],
      [['203.0.113.0/24'], 403],
      [['::/0'], 403],
      [['::1'], 403],
      [[], 403],
    ] as const) {
      const key = await create({ restrictions: { ip_allowlist } })
      const response = await as(key).get(`${tenant.A}/issuers`)
      expect({ ip_allowlist, status: response.status }).toEqual({ ip_allowlist, status })
      if (status === 403) expect(response.body.error).toBe('forbidden')
      expectStatus(await tenant.owner.delete(`${keys}/${key.id}`), 204)
    }
  })

  test('X-Forwarded-For of an untrusted proxy is ignored', async () => {
    const key = await create({ restrictions: { ip_allowlist: ['203.0.113.7'] } })
    expect(
      (
        await as(key).get(`${tenant.A}/issuers`, {
          'x-forwarded-for': '203.0.113.7',
          forwarded: 'for=203.0.113.7',
          'x-real-ip': '203.0.113.7',
        })
      ).status,
    ).toBe(403)
  })

  test('a key without scopes has all scopes, with scopes only those, with an empty list none', async () => {
    const [all, some, none] = [
      await create(),
      await create({ restrictions: { scopes: ['issuers:read'] } }),
      await create({ restrictions: { scopes: [] } }),
    ]
    expect([await statusWith(as(all)), await statusWith(as(some)), await statusWith(as(none))]).toEqual([200, 200, 403])
    expect([all.scopes, some.scopes, none.scopes]).toEqual([null, ['issuers:read'], []])
    expect((await as(some).get(keys)).status).toBe(403)
  })

  test('PATCH scopes writes restrictions.scopes and takes effect immediately; null removes the restriction', async () => {
    const key = await create({ restrictions: { scopes: ['issuers:read'], ip_allowlist: ['127.0.0.1'] } })
    const path = `${keys}/${key.id}`
    expect(expectStatus(await tenant.owner.patch(path, { scopes: [] }), 200).data).toMatchObject({
      scopes: [],
      restrictions: { scopes: [], ip_allowlist: ['127.0.0.1'] },
    })
    expect(await statusWith(as(key))).toBe(403)
    expect(expectStatus(await tenant.owner.patch(path, { scopes: null }), 200).data).toMatchObject({
      scopes: null,
      restrictions: { ip_allowlist: ['127.0.0.1'] },
    })
    expect(await statusWith(as(key))).toBe(200)
    expect(expectStatus(await tenant.owner.patch(path, { restrictions: {} }), 200).data.restrictions).toEqual({})
  })
})

describe('states', () => {
  const act = (id: string, action: string, body: object = {}) => tenant.owner.post(`${keys}/${id}/${action}`, body)

  test('block and unblock take effect immediately; the actor, time and reason are stored', async () => {
    const key = await create()
    expect(expectStatus(await act(key.id, 'block', { by: 'desk', reason: 'leak' }), 200).data).toMatchObject({
      status: 'blocked',
      status_by: 'desk',
      status_reason: 'leak',
      status_at: expect.any(Number),
    })
    expect(await statusWith(as(key))).toBe(401)
    expect((await act(key.id, 'block')).status).toBe(400)
    expect((await act(key.id, 'rotate')).status).toBe(400)
    expect(expectStatus(await act(key.id, 'unblock'), 200).data.status).toBe('active')
    expect(await statusWith(as(key))).toBe(200)
    expect((await act(key.id, 'unblock')).status).toBe(400)
  })

  test('revoke is permanent; repeating it changes nothing; GET shows the key for 31 days', async () => {
    const key = await create()
    const first = expectStatus(await act(key.id, 'revoke', { by: 'desk', reason: 'over' }), 200)
    expect(first.data).toMatchObject({ status: 'revoked', status_by: 'desk', status_reason: 'over' })
    expect(expectStatus(await act(key.id, 'revoke', { reason: 'again' }), 200)).toEqual(first)
    expect(await statusWith(as(key))).toBe(401)
    for (const [action, status] of [
      ['unblock', 400],
      ['block', 400],
      ['rotate', 400],
    ] as const)
      expect({ action, status: (await act(key.id, action)).status }).toEqual({ action, status })
    expect((await tenant.owner.patch(`${keys}/${key.id}`, { name: 'x' })).status).toBe(400)
    expect((await tenant.owner.delete(`${keys}/${key.id}`)).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(`${keys}/${key.id}`), 200).data.status).toBe('revoked')
    app.clock.advance(31 * DAY + 1)
    expect((await tenant.owner.get(`${keys}/${key.id}`)).status).toBe(404)
    expect(
      expectStatus(await tenant.owner.get(`${keys}?status=revoked`), 200).data.map(({ id }: AnyJson) => id),
    ).not.toContain(key.id)
  })

  test('DELETE revokes the key; a second DELETE is 404', async () => {
    const key = await create()
    expect((await tenant.owner.delete(`${keys}/${key.id}`)).status).toBe(204)
    expect(await statusWith(as(key))).toBe(401)
    expect((await tenant.owner.delete(`${keys}/${key.id}`)).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(`${keys}/${key.id}`), 200).data.status).toBe('revoked')
  })

  test('expired is computed: at expires_at the key is refused and shows the status', async () => {
    const key = await create({ expires_at: app.clock.now() + MINUTE })
    app.clock.advance(MINUTE - 2000)
    expect(await statusWith(as(key))).toBe(200)
    app.clock.advance(2000)
    expect(await statusWith(as(key))).toBe(401)
    expect(expectStatus(await tenant.owner.get(`${keys}/${key.id}`), 200).data.status).toBe('expired')
    for (const action of ['block', 'unblock', 'rotate'])
      expect({ action, status: (await act(key.id, action)).status }).toEqual({ action, status: 400 })
    expect(expectStatus(await tenant.owner.patch(`${keys}/${key.id}`, { expires_at: null }), 200).data).toMatchObject({
      status: 'active',
      expires_at: null,
    })
    expect(await statusWith(as(key))).toBe(200)
    for (const expires_at of [-1, 1.5, '1', 253_402_300_800_000])
      expect((await tenant.owner.patch(`${keys}/${key.id}`, { expires_at })).status).toBe(400)
  })

  test('the list filters by every status and refuses unknown ones', async () => {
    const [active, blocked, revoked, expired] = [
      await create(),
      await create(),
      await create(),
      await create({ expires_at: app.clock.now() + 60_000 }),
    ]
    expectStatus(await act(blocked.id, 'block'), 200)
    expectStatus(await act(revoked.id, 'revoke'), 200)
    app.clock.advance(60_000)
    const ids = async (query: string) =>
      expectStatus(await tenant.owner.get(`${keys}?limit=100${query}`), 200).data.map(({ id }: AnyJson) => id)
    for (const [status, id] of [
      ['active', active.id],
      ['blocked', blocked.id],
      ['revoked', revoked.id],
      ['expired', expired.id],
    ] as const) {
      const found = await ids(`&status=${status}`)
      expect(found).toContain(id)
      for (const other of [active, blocked, revoked, expired])
        if (other.id !== id) expect(found).not.toContain(other.id)
      const shown = expectStatus(await tenant.owner.get(`${keys}?limit=100&status=${status}`), 200).data
      expect(new Set(shown.map((key: AnyJson) => key.status))).toEqual(new Set([status]))
    }
    expect(await ids('&status=suspended')).toEqual([])
    expect((await tenant.owner.get(`${keys}?status=none`)).status).toBe(400)
  })
})

describe('rotation', () => {
  test('the response has the new secret; the old one stays valid for exactly 15 minutes', async () => {
    const key = await create()
    const rotated = expectStatus(await tenant.owner.post(`${keys}/${key.id}/rotate`), 200).data
    expect(rotated.secret_plain).not.toBe(key.secret_plain)
    expect(rotated.secret_hint).toBe(rotated.secret_plain.slice(-4))
    expect([await statusWith(as(key)), await statusWith(as(rotated))]).toEqual([200, 200])
    app.clock.advance(15 * MINUTE - 2000)
    expect([await statusWith(as(key)), await statusWith(as(rotated))]).toEqual([200, 200])
    app.clock.advance(2000)
    expect([await statusWith(as(key)), await statusWith(as(rotated))]).toEqual([401, 200])
  })

  test('a second rotation does not extend the validity of the first secret', async () => {
    const key = await create()
    expectStatus(await tenant.owner.post(`${keys}/${key.id}/rotate`), 200)
    app.clock.advance(10 * MINUTE)
    expectStatus(await tenant.owner.post(`${keys}/${key.id}/rotate`), 200)
    expect(await statusWith(as(key))).toBe(200)
    app.clock.advance(5 * MINUTE)
    expect(await statusWith(as(key))).toBe(401)
  })

  test('new_secret and hint are accepted; an invalid secret is 400 with its field', async () => {
    const key = await create()
    const own = 'o'.repeat(40)
    expect(
      expectStatus(await tenant.owner.post(`${keys}/${key.id}/rotate`, { new_secret: own, hint: 'mine' }), 200).data,
    ).toMatchObject({ secret_plain: own, secret_hint: 'mine' })
    for (const body of [{ new_secret: 'short' }, { new_secret: 7 }, { hint: 'x'.repeat(33) }, { secret: own }]) {
      const response = await tenant.owner.post(`${keys}/${key.id}/rotate`, body)
      expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
        status: 400,
        fields: [Object.keys(body)[0]],
      })
    }
  })
})

describe('a caller cannot grant scopes that it lacks', () => {
  test('a key cannot create a stronger key or strengthen an existing one', async () => {
    const weak = await createRestrictedKey(tenant, {
      scopes: ['api_keys:write', 'api_keys:delete', 'api_keys:read', 'issuers:read'],
    })
    for (const restrictions of [
      {},
      { scopes: ['svc:all'] },
      { scopes: ['issuers:write'] },
      { scopes: ['issuers:read', 'accounts:read'] },
      { scopes: ['api_keys:manage'] },
    ]) {
      const response = await weak.post(keys, { name: 'k', restrictions })
      expect({ restrictions, status: response.status, error: response.body.error }).toEqual({
        restrictions,
        status: 403,
        error: 'insufficient_scope',
      })
    }
    const key = expectStatus(
      await weak.post(keys, { name: 'k', restrictions: { scopes: ['issuers:read', 'my:own'] } }),
      201,
    ).data
    for (const body of [
      { scopes: null },
      { scopes: ['svc:all'] },
      { restrictions: {} },
      { restrictions: { scopes: ['issuers:write'] } },
    ]) {
      expect({ body, status: (await weak.patch(`${keys}/${key.id}`, body)).status }).toEqual({ body, status: 403 })
      expect({ body, status: (await weak.patch(`${keys}/${weak.keyId}`, body)).status }).toEqual({ body, status: 403 })
    }
    expectStatus(await weak.patch(`${keys}/${key.id}`, { scopes: [] }), 200)
  })

  test('a weaker key cannot change, rotate, unblock or revoke a stronger one', async () => {
    const weak = await createRestrictedKey(tenant, { scopes: ['api_keys:manage', 'issuers:read'] })
    const strong = await create()
    const path = `${keys}/${strong.id}`
    for (const attempt of [
      () => weak.patch(path, { name: 'mine' }),
      () => weak.patch(path, { scopes: [] }),
      () => weak.post(`${path}/rotate`),
      () => weak.post(`${path}/rotate`, { new_secret: 'x'.repeat(40) }),
      () => weak.post(`${path}/revoke`),
      () => weak.delete(path),
    ]) {
      const response = await attempt()
      expect({ status: response.status, error: response.body.error }).toEqual({
        status: 403,
        error: 'insufficient_scope',
      })
      expect(response.text).not.toContain('secret_plain')
    }
    expectStatus(await tenant.owner.post(`${path}/block`), 200)
    expect((await weak.post(`${path}/unblock`)).status).toBe(403)
    expect(expectStatus(await tenant.owner.get(path), 200).data.status).toBe('blocked')
  })
})

describe('restrictions are part of authority: a key cannot grant access that its own restrictions exclude', () => {
  const here = ['127.0.0.0/8', '::1']
  const soon = () => app.clock.now() + 3_600_000

  test('IP addresses', async () => {
    const bound = await createRestrictedKey(tenant, { ip_allowlist: here })
    const good = [['127.0.0.1'], ['127.128.0.0/9', '::1/128'], []].map((ip_allowlist) => ({ ip_allowlist }))
    const wide = [['0.0.0.0/0'], ['127.0.0.1', '203.0.113.9'], ['::/0'], ['126.0.0.0/7']]
    const bad = [{}, ...wide.map((ip_allowlist) => ({ ip_allowlist }))]
    for (const narrower of good) expectStatus(await bound.post(keys, { name: 'k', restrictions: narrower }), 201)
    const own = expectStatus(await bound.post(keys, { name: 'k', restrictions: good[0] }), 201).data
    const unrestricted = await create({ restrictions: {} })
    for (const wider of bad) {
      for (const attempt of [
        () => bound.post(keys, { name: 'k', restrictions: wider }),
        () => bound.patch(`${keys}/${own.id}`, { restrictions: wider }),
        () => bound.patch(`${keys}/${bound.keyId}`, { restrictions: wider }),
      ]) {
        const { status, body } = await attempt()
        expect({ wider, status, error: body.error }).toEqual({ wider, status: 403, error: 'forbidden' })
      }
    }
    for (const attempt of [
      () => bound.patch(`${keys}/${unrestricted.id}`, { name: 'mine' }),
      () => bound.patch(`${keys}/${unrestricted.id}`, { restrictions: good[0] }),
      () => bound.post(`${keys}/${unrestricted.id}/rotate`),
      () => bound.post(`${keys}/${unrestricted.id}/revoke`),
    ]) {
      expect((await attempt()).status).toBe(403)
    }
    expectStatus(await bound.post(`${keys}/${unrestricted.id}/block`), 200)
    expect((await bound.post(`${keys}/${unrestricted.id}/unblock`)).status).toBe(403)
    expectStatus(await bound.post(`${keys}/${own.id}/rotate`), 200)
    expectStatus(await bound.patch(`${keys}/${bound.keyId}`, { name: 'still me' }), 200)
  })

  test('expiry: a key cannot outlive the key that creates or changes it', async () => {
    const expires_at = soon()
    const bound = await createRestrictedKey(tenant, {}, { expires_at })
    const post = (at?: number) => bound.post(keys, { name: 'k', restrictions: {}, expires_at: at })
    expect([(await post()).status, (await post(expires_at + 1)).status]).toEqual([403, 403])
    const { id } = expectStatus(await post(expires_at), 201).data
    for (const path of [`${keys}/${id}`, `${keys}/${bound.keyId}`]) {
      for (const at of [null, expires_at + 1]) {
        expect([at, (await bound.patch(path, { expires_at: at })).status]).toEqual([at, 403])
      }
      expectStatus(await bound.patch(path, { expires_at: expires_at - 1 }), 200)
    }
    const lasting = await create({ restrictions: {} })
    expect((await bound.post(`${keys}/${lasting.id}/rotate`)).status).toBe(403)
  })

  test('a personal token follows the same rule, and expires with the key that creates it unless it names an earlier time', async () => {
    const { id } = expectStatus(
      await tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username: 'p' }),
      201,
    ).data
    const tokens = `${tenant.I}/users/${id}/tokens`
    const body = (restrictions: object, expires_at?: number) => {
      return { type: 'personal_token', name: 't', restrictions, expires_at }
    }
    const expires_at = soon()
    const bound = await createRestrictedKey(tenant, { ip_allowlist: here }, { expires_at })
    expect((await bound.post(tokens, body({}))).status).toBe(403)
    expect((await bound.post(tokens, body({ ip_allowlist: here }, expires_at + 1))).status).toBe(403)
    const key = expectStatus(await bound.post(tokens, body({ ip_allowlist: ['127.0.0.1'] })), 201).data
    expect(key.expires_at).toBe(expires_at)
    expectStatus(await tenant.owner.post(tokens, body({})), 201)
  })

  test('a personal token cannot create a key that is less restricted than the token', async () => {
    const { id } = expectStatus(
      await tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username: 'q', scopes: ['svc:all'] }),
      201,
    ).data
    const org = expectStatus(await tenant.owner.post(`${tenant.I}/organizations`, {}), 201).data
    const path = `${tenant.I}/organizations/${org.id}/api-keys`
    const script = await createPersonalTokenClient(tenant, id, { ip_allowlist: here })
    const body = (restrictions: object, expires_at?: number) => ({
      type: 'api_key',
      name: 'k',
      restrictions,
      expires_at,
    })
    expect((await script.post(path, body({}, soon()))).status).toBe(403)
    expect((await script.post(path, body({ ip_allowlist: here }))).status).toBe(403)
    expectStatus(await script.post(path, body({ ip_allowlist: here }, soon())), 201)
  })
})

describe('an account has at most 100 keys', () => {
  test('20 parallel creations at 95 keys create five; the others are 429; a revoked key does not count', async () => {
    const { owner, A } = await createTenant(app, 'Full')
    const body = { name: 'k', restrictions: { scopes: [] } }
    // The account has one key already, which is the key of its owner.
    for (let i = 0; i < 94; i++) expectStatus(await owner.post(`${A}/api-keys`, body), 201)
    const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${A}/api-keys`, body)))
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(201), ...Array(15).fill(429)])
    const refused = responses.find(({ status }) => status === 429)!
    expect(refused.body).toMatchObject({ error: 'too_many_requests' })
    const key = responses.find(({ status }) => status === 201)!.body.data.id
    expectStatus(await owner.delete(`${A}/api-keys/${key}`), 204)
    expectStatus(await owner.post(`${A}/api-keys`, body), 201)
  })
})

test('the Authorization header has a scheme in any case and one or more spaces; it is split at the first colon, and its parts are not URL-decoded', async () => {
  const key = await create({ secret: `a+b%20c:${'d'.repeat(32)}` })
  const bare = createApiClient(app.baseUrl)
  const send = async (authorization: string) => (await bare.get(`${tenant.A}/issuers`, { authorization })).status
  const good = Buffer.from(`${key.id}:${key.secret_plain}`).toString('base64')
  for (const authorization of [`Basic ${good}`, `basic ${good}`, `BASIC   ${good}`, `Basic ${good.replace(/=+$/, '')}`])
    expect({ authorization, status: await send(authorization) }).toEqual({ authorization, status: 200 })
  const bad = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`
  for (const authorization of [
    bad(`${key.id}:${key.secret_plain} `),
    bad(` ${key.id}:${key.secret_plain}`),
    bad(`${key.id.toUpperCase()}:${key.secret_plain}`),
    bad(`${key.id}:${decodeURIComponent(key.secret_plain)}`),
    `Basic ${good}, Basic ${good}`,
    `Basic ${good} x`,
    good,
  ]) {
    expect({ authorization, status: await send(authorization) }).toEqual({ authorization, status: 401 })
  }
})
