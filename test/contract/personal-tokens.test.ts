/**
 * Personal tokens (docs/contract.md#personal-tokens, docs/contract.md#personal-token-endpoints,
 * docs/contract.md#tokens-and-claims, docs/contract.md#access-tokens-at-the-core-api,
 * docs/contract.md#restrictions-of-keys-and-tokens, docs/contract.md#key-operations-and-status-transitions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { withForgedSignature } from '../setup/forged-jwt.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { eventsOfTarget, rowsAsText, storedIdempotentResponses } from './stored-rows.js'
import { uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000
const ADMIN = { BOOTSTRAP_ADMIN_EMAIL: 'root@example.com', BOOTSTRAP_ADMIN_PASSWORD: 'correct horse battery staple' }

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp({ env: ADMIN })
  tenant = await createTenant(app)
})
afterAll(() => app.close())

const createUser = async (more: object = {}, { owner, I }: Tenant = tenant): Promise<string> =>
  expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('user'), ...more }), 201)
    .data.id
const pathOf = (userId: string) => `${tenant.I}/users/${userId}/tokens`
const body = (more: object = {}) => ({ type: 'personal_token', name: 'script', restrictions: {}, ...more })
const create = async (userId: string, more: object = {}): Promise<AnyJson> =>
  expectStatus(await tenant.owner.post(pathOf(userId), body(more)), 201).data
const at = (id: string) => `${tenant.A}/tokens/${id}`
const as = (token: AnyJson): ApiClient => createApiClient(app.baseUrl, token.token_plain)
const errorFieldsOf = (response: AnyJson) => response.body.details?.map(({ field }: AnyJson) => field)
const me = async (api: ApiClient) => (await api.graphql('{ me { type id accountId issuerId scopes } }')).body.data?.me
const statusWith = async (token: AnyJson, userId: string) => (await as(token).get(`${tenant.I}/users/${userId}`)).status
const reader = { scopes: ['issuers.users:read'] }

describe('creation', () => {
  test('POST returns the token once, a JWT by RFC 9068 signed with the current key of the issuer', async () => {
    const user = await createUser(reader)
    const given = {
      description: 'nightly',
      tags: ['ci'],
      metadata: { a: 1 },
      restrictions: { scopes: ['issuers.users:read'] },
    }
    const before = app.clock.now()
    const response = await tenant.owner.post(pathOf(user), body(given))
    expect(response.status).toBe(201)
    const { token_plain, ...shown } = response.body.data
    expect(shown).toEqual({
      ...given,
      id: expect.stringMatching(/^tok_[0-9a-z]{26}$/),
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      user_id: user,
      type: 'personal_token',
      name: 'script',
      scopes: ['issuers.users:read'],
      audience: app.baseUrl,
      expires_at: shown.created_at + 21 * DAY,
      status: 'active',
      status_at: null,
      status_by: null,
      status_reason: null,
      created_at: expect.any(Number),
      updated_at: shown.created_at,
    })
    expect(shown.created_at).toBeGreaterThanOrEqual(before)
    expect(expectStatus(await tenant.owner.get(at(shown.id)), 200)).toEqual({ data: shown })
    expect(expectStatus(await tenant.owner.get(pathOf(user)), 200).data).toEqual([shown])

    const issuer = `${app.idpUrl}/${tenant.issuerId}`
    const keys = createRemoteJWKSet(new URL(`${issuer}/jwks.json`))
    const { payload, protectedHeader } = await jwtVerify(token_plain, keys, {
      issuer,
      audience: app.baseUrl,
      typ: 'at+jwt',
      currentDate: new Date(app.clock.now() + 1000),
    })
    const current = await app.gatehouse.database.prisma.signingKey.findFirst({
      where: { issuerId: tenant.issuerId, alg: 'ES256' },
      orderBy: { signsFrom: 'asc' },
    })
    expect(protectedHeader).toEqual({ alg: 'ES256', typ: 'at+jwt', kid: current!.kid })
    const iat = Math.floor(shown.created_at / 1000)
    expect(payload).toEqual({
      iss: issuer,
      sub: user,
      aud: app.baseUrl,
      exp: iat + 21 * 86_400,
      iat,
      nbf: iat,
      jti: shown.id,
      client_id: shown.id,
      scope: 'issuers.users:read',
    })
  })

  test.each([
    [{ type: undefined }, 'type'],
    [{ type: 'api_key' }, 'type'],
    [{ name: '' }, 'name'],
    [{ restrictions: undefined }, 'restrictions'],
    [{ restrictions: null }, 'restrictions'],
    [{ restrictions: { color: 'red' } }, 'restrictions.color'],
    [{ restrictions: { scopes: 'x' } }, 'restrictions.scopes'],
    [{ restrictions: { ip_allowlist: ['localhost'] } }, 'restrictions.ip_allowlist[0]'],
    [{ restrictions: { issuer_ids: ['iss_other'] } }, 'restrictions.issuer_ids[0]'],
    [{ restrictions: { org_ids: ['org_other'] } }, 'restrictions.org_ids[0]'],
    [{ audience: 'two words' }, 'audience'],
    [{ audience: '' }, 'audience'],
    [{ expires_at: 1 }, 'expires_at'],
    [{ expires_at: 'soon' }, 'expires_at'],
    [{ secret: 'mine' }, 'secret'],
    [{ scopes: [] }, 'scopes'],
  ])('an invalid field is 400: %j', async (more, field) => {
    const refused = await tenant.owner.post(pathOf(await createUser()), body(more))
    expect([refused.status, errorFieldsOf(refused)]).toEqual([400, [field]])
  })

  test('exp is at most 21 days after issuance, and expires_at shows the clamped time', async () => {
    const user = await createUser()
    const now = app.clock.now()
    for (const expires_at of [now + 22 * DAY, now + 400 * DAY, null]) {
      const token = await create(user, { expires_at })
      const { exp, iat } = decodeJwt(token.token_plain) as { exp: number; iat: number }
      expect(exp - iat).toBe(21 * 86_400)
      expect(token.expires_at).toBe(token.created_at + 21 * DAY)
    }
    const short = await create(user, { expires_at: now + DAY })
    expect(short.expires_at).toBe(now + DAY)
    expect(decodeJwt(short.token_plain).exp).toBe(Math.ceil((now + DAY) / 1000))
  })

  test('an unknown or deleted user or a user of another tenant is 404, an inactive user is 400', async () => {
    const other = await createTenant(app, 'Other')
    const gone = await createUser()
    expectStatus(await tenant.owner.delete(`${tenant.I}/users/${gone}`), 202)
    for (const id of [`usr_${'0'.repeat(26)}`, gone, await createUser({}, other)]) {
      expect((await tenant.owner.post(pathOf(id), body())).status).toBe(404)
      expect((await tenant.owner.get(pathOf(id))).status).toBe(404)
    }
    expect((await tenant.owner.post(pathOf(await createUser({ status: 'blocked' })), body())).status).toBe(400)
  })

  test('at most 50 active tokens per user, also under 20 parallel requests: 429', async () => {
    const user = await createUser()
    const soon = app.clock.now() + 60_000
    const created: AnyJson[] = []
    for (let i = 0; i < 45; i++) created.push(await create(user, i === 0 ? { expires_at: soon } : {}))
    const responses = await Promise.all(Array.from({ length: 20 }, () => tenant.owner.post(pathOf(user), body())))
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(5).fill(201), ...Array(15).fill(429)])
    expect(responses.find(({ status }) => status === 429)!.body.error).toBe('too_many_requests')
    // Revoked and expired tokens do not count towards the limit.
    expectStatus(await tenant.owner.delete(at(created[1].id)), 204)
    await create(user)
    expect((await tenant.owner.post(pathOf(user), body())).status).toBe(429)
    app.clock.advance(60_000)
    await create(user)
    expect((await tenant.owner.post(pathOf(user), body())).status).toBe(429)
  })

  test('a repeated POST with one Idempotency-Key runs again; no token is stored, logged or recorded in an event', async () => {
    const user = await createUser()
    const headers = { 'idempotency-key': uniqueName('key') }
    const first = expectStatus(await tenant.owner.post(pathOf(user), body(), headers), 201).data
    const again = await tenant.owner.post(pathOf(user), body(), headers)
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, null])
    expect(again.body.data.id).not.toBe(first.id)
    const mutation = `mutation ($a: ID!, $i: ID!, $u: ID!, $k: String) { createPersonalToken(accountId: $a, issuerId: $i, userId: $u,
      input: {type: personal_token, name: "g", restrictions: {}}, idempotencyKey: $k) { id tokenPlain } }`
    const variables = { a: tenant.accountId, i: tenant.issuerId, u: user, k: uniqueName('key') }
    const run = async () => (await tenant.owner.graphql(mutation, variables)).body.data.createPersonalToken
    const [one, two] = [await run(), await run()]
    expect(one.id).not.toBe(two.id)
    const signature = (jwt: string) => jwt.split('.')[2]!
    const events = await eventsOfTarget(app, first.id)
    expect(events).toMatchObject([
      {
        type: 'personal_token.created',
        userId: user,
        issuerId: tenant.issuerId,
        data: { name: 'script', audience: app.baseUrl },
      },
    ])
    const row = await app.gatehouse.database.prisma.personalToken.findUnique({ where: { id: first.id } })
    for (const text of [
      await storedIdempotentResponses(app),
      rowsAsText(events),
      rowsAsText(row),
      (await tenant.owner.get(at(first.id))).text,
    ]) {
      for (const jwt of [first.token_plain, again.body.data.token_plain, one.tokenPlain]) {
        expect(text).not.toContain(signature(jwt))
      }
    }
  })
})

describe('use', () => {
  test('at the Core API its auth_type is personal_token, and events show auth_type token', async () => {
    const user = await createUser({ scopes: ['issuers.users:manage'] })
    const token = await create(user)
    expect(await me(as(token))).toEqual({
      type: 'personal_token',
      id: token.id,
      accountId: tenant.accountId,
      issuerId: tenant.issuerId,
      scopes: ['issuers.users:manage'],
    })
    const created = expectStatus(
      await as(token).post(`${tenant.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
      201,
    ).data
    expect(await eventsOfTarget(app, created.id)).toMatchObject([
      { type: 'user.created', authType: 'token', actor: { type: 'personal_token', id: token.id, name: 'script' } },
    ])
  })

  test('its authority is that of the user, limited to restrictions.scopes and to the issuer of the user', async () => {
    const user = await createUser({
      scopes: ['issuers.users:read', 'issuers.clients:manage', 'issuers:read', 'orders:read'],
    })
    const full = await create(user)
    expect(decodeJwt(full.token_plain)['scope']).toBe(
      'issuers.users:read issuers.clients:manage issuers:read orders:read',
    )
    const cut = await create(user, {
      restrictions: { scopes: ['issuers.users:manage', 'issuers.clients:read', 'issuers.agents:read'] },
    })
    expect(decodeJwt(cut.token_plain)['scope']).toBe('issuers.users:read issuers.clients:read')
    expect((await as(full).get(tenant.I)).status).toBe(200)
    expect((await as(full).get(`${tenant.I}/clients`)).status).toBe(200)
    expect((await as(cut).get(tenant.I)).status).toBe(403)
    expect((await as(cut).get(`${tenant.I}/clients`)).status).toBe(200)
    expect((await as(cut).post(`${tenant.I}/clients`, {})).status).toBe(403)
    expect((await as(cut).get(`${tenant.I}/agents`)).status).toBe(403)
    for (const path of [tenant.A, `${tenant.A}/issuers`, `${tenant.A}/api-keys`, at(full.id)]) {
      expect((await as(full).get(path)).status).toBe(404)
    }
    const none = await create(user, { restrictions: { scopes: [] } })
    expect(decodeJwt(none.token_plain)).not.toHaveProperty('scope')
    expect(await statusWith(none, user)).toBe(403)
  })

  test('scopes that the user loses are lost immediately; scopes that the user gains are not added', async () => {
    const user = await createUser(reader)
    const token = await create(user)
    expect(await statusWith(token, user)).toBe(200)
    expectStatus(await tenant.owner.patch(`${tenant.I}/users/${user}`, { scopes: ['issuers.clients:read'] }), 200)
    expect(await statusWith(token, user)).toBe(403)
    expect((await as(token).get(`${tenant.I}/clients`)).status).toBe(403)
  })

  test('restrictions.issuer_ids, org_ids and ip_allowlist limit its access', async () => {
    const user = await createUser(reader)
    expect(await statusWith(await create(user, { restrictions: { issuer_ids: [tenant.issuerId] } }), user)).toBe(200)
    expect(await statusWith(await create(user, { restrictions: { issuer_ids: [] } }), user)).toBe(404)
    expect(await statusWith(await create(user, { restrictions: { org_ids: [] } }), user)).toBe(404)
    expect(await statusWith(await create(user, { restrictions: { ip_allowlist: ['127.0.0.0/8', '::1'] } }), user)).toBe(
      200,
    )
    const elsewhere = await create(user, { restrictions: { ip_allowlist: ['203.0.113.0/24'] } })
    expect(await statusWith(elsewhere, user)).toBe(403)
  })

  test('a token for another audience, a modified token and one of another issuer are 401', async () => {
    const user = await createUser(reader)
    expect(await statusWith(await create(user, { audience: 'https://orders.example' }), user)).toBe(401)
    const { token_plain: jwt } = await create(user)
    const [head, , signature] = jwt.split('.')
    const claims = Buffer.from(JSON.stringify({ ...decodeJwt(jwt), scope: 'svc:all' })).toString('base64url')
    expect(decodeProtectedHeader(jwt).alg).toBe('ES256')
    for (const changed of [
      `${head}.${claims}.${signature}`,
      withForgedSignature(jwt),
      `${head}.${jwt.split('.')[1]}.`,
    ]) {
      expect((await createApiClient(app.baseUrl, changed).get(`${tenant.I}/users/${user}`)).status).toBe(401)
    }
  })

  test('it is not a token of a client: userinfo and introspection refuse it', async () => {
    const token = await create(await createUser({ scopes: ['openid', 'profile'] }))
    expect(decodeJwt(token.token_plain)['scope']).toBe('openid profile')
    const userinfo = await fetch(`${app.idpUrl}/${tenant.issuerId}/userinfo`, {
      headers: { authorization: `Bearer ${token.token_plain}` },
    })
    expect(userinfo.status).toBe(401)
    const client = {
      name: 'C',
      type: 'internal',
      confidential: true,
      settings: { openid: { application_type: 'm2m', grant_types: ['client_credentials'] } },
    }
    const { id, secret } = expectStatus(await tenant.owner.post(`${tenant.I}/clients`, client), 201).data
    const introspection = await fetch(`${app.idpUrl}/${tenant.issuerId}/introspect`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}` },
      body: new URLSearchParams({ token: token.token_plain }),
    })
    expect(await introspection.json()).toEqual({ active: false })
  })
})

describe('revocation', () => {
  test('revoke is permanent and immediate; repeated, it returns the token unchanged', async () => {
    const user = await createUser(reader)
    const token = await create(user)
    expect(await statusWith(token, user)).toBe(200)
    const revoked = await tenant.owner.post(`${at(token.id)}/revoke`, { by: 'ops', reason: 'leaked' })
    expect(revoked.status).toBe(200)
    expect(revoked.headers.get('etag')).toBe(`"${revoked.body.data.updated_at}"`)
    expect(revoked.body.data).toMatchObject({ status: 'revoked', status_by: 'ops', status_reason: 'leaked' })
    expect(revoked.body.data).not.toHaveProperty('token_plain')
    expect(await statusWith(token, user)).toBe(401)
    const again = await tenant.owner.post(`${at(token.id)}/revoke`, { reason: 'again' })
    expect([again.status, again.body]).toEqual([200, revoked.body])
    expect((await tenant.owner.delete(at(token.id))).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data.status).toBe('revoked')
    expect((await tenant.owner.post(`${at(token.id)}/revoke`, { color: 'red' })).status).toBe(400)
    const events = await eventsOfTarget(app, token.id)
    expect(events.map(({ type }) => type)).toEqual(['personal_token.created', 'personal_token.revoked'])
  })

  test('DELETE revokes immediately, checks If-Match, and is 404 when repeated', async () => {
    const user = await createUser(reader)
    const token = await create(user)
    expect((await tenant.owner.delete(at(token.id), { 'if-match': '"1"' })).status).toBe(412)
    expect((await tenant.owner.delete(at(token.id), { 'if-match': `W/"${token.updated_at}"` })).status).toBe(400)
    expect(await statusWith(token, user)).toBe(200)
    expectStatus(await tenant.owner.delete(at(token.id), { 'if-match': `"${token.updated_at}"` }), 204)
    expect(await statusWith(token, user)).toBe(401)
    expect((await tenant.owner.delete(at(token.id))).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data).toMatchObject({ status: 'revoked' })
    expect((await tenant.owner.patch(at(token.id), {})).status).toBe(405)
  })

  test('20 parallel revocations are all 200, with one event', async () => {
    const token = await create(await createUser())
    const responses = await Promise.all(Array.from({ length: 20 }, () => tenant.owner.post(`${at(token.id)}/revoke`)))
    expect(responses.map(({ status }) => status)).toEqual(Array(20).fill(200))
    expect(new Set(responses.map(({ text }) => text)).size).toBe(1)
    expect(await eventsOfTarget(app, token.id)).toHaveLength(2)
  })

  test('deleting the user revokes its tokens', async () => {
    const user = await createUser(reader)
    const tokens = [await create(user), await create(user)]
    expectStatus(await tenant.owner.delete(`${tenant.I}/users/${user}`), 202)
    for (const token of tokens) {
      expect((await as(token).get(tenant.I)).status).toBe(401)
      expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data).toMatchObject({ status: 'revoked' })
      expect((await eventsOfTarget(app, token.id)).at(-1)).toMatchObject({
        type: 'personal_token.revoked',
        userId: user,
      })
    }
  })

  test.each([
    ['blocked', 'blocked'],
    ['suspended', 'suspended'],
  ])(
    'while its user is %s, a token is %s and refused; it is valid again when the user is active',
    async (status, shown) => {
      const user = await createUser(reader)
      const token = await create(user)
      const list = async (filter: string) =>
        expectStatus(await tenant.owner.get(`${pathOf(user)}?status=${filter}`), 200).data.length
      expectStatus(await tenant.owner.patch(`${tenant.I}/users/${user}`, { status }), 200)
      expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data.status).toBe(shown)
      expect([await list(shown), await list('active')]).toEqual([1, 0])
      expect(await statusWith(token, user)).toBe(401)
      expectStatus(await tenant.owner.patch(`${tenant.I}/users/${user}`, { status: 'active' }), 200)
      expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data.status).toBe('active')
      expect([await list(shown), await list('active')]).toEqual([0, 1])
      expect(await statusWith(token, user)).toBe(200)
    },
  )

  test('expired is computed: refused and listed as expired at that time, removed after 31 days like revoked tokens', async () => {
    const user = await createUser(reader)
    const token = await create(user, { expires_at: app.clock.now() + 60_000 })
    const revoked = await create(user)
    expect(await statusWith(token, user)).toBe(200)
    app.clock.advance(60_000)
    expect(await statusWith(token, user)).toBe(401)
    expectStatus(await tenant.owner.post(`${at(revoked.id)}/revoke`), 200)
    expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data.status).toBe('expired')
    const ids = async (query: string) =>
      expectStatus(await tenant.owner.get(`${pathOf(user)}${query}`), 200).data.map(({ id }: AnyJson) => id)
    expect(await ids('?status=expired')).toEqual([token.id])
    expect(await ids('?status=revoked')).toEqual([revoked.id])
    expect(await ids('?status=active')).toEqual([])
    expect(await ids('')).toEqual([revoked.id, token.id])
    app.clock.advance(31 * DAY)
    expect(await ids('')).toEqual([])
    for (const id of [token.id, revoked.id]) expect((await tenant.owner.get(at(id))).status).toBe(404)
  })
})

describe('lists', () => {
  test('newest first; the cursor is a token id', async () => {
    const user = await createUser()
    const created: string[] = []
    for (let i = 0; i < 3; i++) created.unshift((await create(user)).id)
    const first = expectStatus(await tenant.owner.get(`${pathOf(user)}?limit=2`), 200)
    expect(first.data.map(({ id }: AnyJson) => id)).toEqual(created.slice(0, 2))
    expect(first).toMatchObject({ has_more: true, next_cursor: created[1] })
    const second = expectStatus(await tenant.owner.get(`${pathOf(user)}?limit=2&cursor=${created[1]}`), 200)
    expect(second.data.map(({ id }: AnyJson) => id)).toEqual(created.slice(2))
    expect(second.next_cursor).toBeNull()
    for (const query of ['?cursor=x', '?cursor=ak_00000000000000000000000000', '?limit=101', '?status=gone']) {
      expect((await tenant.owner.get(pathOf(user) + query)).status).toBe(400)
    }
  })
})

describe('a caller cannot create or revoke tokens stronger than itself', () => {
  test('a token with a scope that the caller lacks is 403, whether named or inherited from the user', async () => {
    const user = await createUser({ scopes: ['issuers.users:read', 'issuers.clients:read'] })
    const weak = await createRestrictedKey(tenant, { scopes: ['issuers.users.tokens:manage', 'issuers.users:read'] })
    for (const restrictions of [{}, { scopes: ['issuers.clients:read'] }]) {
      const refused = await weak.post(pathOf(user), body({ restrictions }))
      expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
    }
    expectStatus(await weak.post(pathOf(user), body({ restrictions: { scopes: ['issuers.users:read'] } })), 201)
  })

  test('revoking or deleting a token with more authority than the caller is 403', async () => {
    const user = await createUser({ scopes: ['issuers.clients:read'] })
    const token = await create(user)
    const weak = await createRestrictedKey(tenant, { scopes: ['issuers.users.tokens:manage'] })
    for (const refused of [await weak.post(`${at(token.id)}/revoke`), await weak.delete(at(token.id))]) {
      expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
    }
    expect(expectStatus(await tenant.owner.get(at(token.id)), 200).data.status).toBe('active')
    const own = await create(await createUser(), { restrictions: { scopes: [] } })
    expectStatus(await weak.post(`${at(own.id)}/revoke`), 200)
  })

  test('a console user can act on its own accounts; only an operator or the user itself can create its tokens', async () => {
    const console = await app.gatehouse.database.prisma.deployment.findUnique({ where: { name: 'console' } })
    const { account_id, issuer_id } = console!.value as { account_id: string; issuer_id: string }
    const A = `/v1/accounts/${account_id}`
    const { data } = expectStatus(await app.operator.get(`${A}/issuers/${issuer_id}/users`), 200)
    const root = data[0].id
    const path = `${A}/issuers/${issuer_id}/users/${root}/tokens`
    const user = expectStatus(
      await app.operator.post(`${A}/issuers/${issuer_id}/users`, { username_type: 'unique', username: 'ann' }),
      201,
    ).data.id
    expectStatus(await app.operator.patch(tenant.A, { owner_user_id: user }), 200)

    const key = expectStatus(
      await app.operator.post(`${A}/api-keys`, {
        name: 'k',
        restrictions: { scopes: ['issuers.users.tokens:manage', 'accounts:read'] },
      }),
      201,
    ).data
    const clerk = createApiClient(app.baseUrl, { id: key.id, secret: key.secret_plain })
    const annPath = `${A}/issuers/${issuer_id}/users/${user}/tokens`
    const refused = await clerk.post(annPath, body({ restrictions: { scopes: ['accounts:read'] } }))
    expect([refused.status, refused.body.error]).toEqual([403, 'forbidden'])

    const ann = as(
      expectStatus(
        await app.operator.post(annPath, body({ restrictions: { scopes: ['accounts:read', 'issuers:read'] } })),
        201,
      ).data,
    )
    expect(expectStatus(await ann.get('/v1/accounts'), 200).data.map(({ id }: AnyJson) => id)).toEqual([
      tenant.accountId,
    ])
    expect((await ann.get(tenant.I)).status).toBe(200)
    expect((await ann.get(`${tenant.I}/users`)).status).toBe(403)
    expect((await ann.get(A)).status).toBe(404)

    const rootToken = expectStatus(await app.operator.post(path, body()), 201).data
    expect(decodeJwt(rootToken.token_plain)['scope']).toBe('svc:all')
    expect((await as(rootToken).get(tenant.A)).status).toBe(200)
    expectStatus(await as(rootToken).post(`${A}/tokens/${rootToken.id}/revoke`), 200)
    expect((await as(rootToken).get(tenant.A)).status).toBe(401)
  })
})
