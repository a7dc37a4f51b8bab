/**
 * Agents at the token endpoint with a secret (docs/contract.md#agents, docs/contract.md#client-credentials-grant,
 * docs/contract.md#grant-and-client-rules, docs/contract.md#event-records).
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { type AnyJson, createApiClient } from '../../setup/api.js'
import { eventsRecordedFromNow } from '../../setup/recorded-events.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { jwtClaims, jwtHeader, Realm, type TestClient } from '../realm.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm
let agent: TestClient
let agents: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  agents = `${realm.tenant.I}/agents`
  second = await app.startSecondApp()
  // The second process serves the issuer at another port.
  twin = new Realm(second, realm.tenant)
})
afterAll(() => app.close())
beforeEach(async () => {
  agent = await create(['orders:read', 'orders:write', 'openid'])
})

const owner = () => realm.tenant.owner
const addSecret = async (id: string): Promise<AnyJson> =>
  expectStatus(await owner().post(`${agents}/${id}/verifiers`, { type: 'secret', name: null }), 201).data
async function create(scopes: string[]): Promise<TestClient> {
  const { id } = expectStatus(await owner().post(agents, { name: 'Scribe', scopes }), 201).data
  return { id, secret: (await addSecret(id)).secret }
}
const requestToken = (params: Record<string, string> = {}, client = agent, at = realm) =>
  at.postForm('/token', client, { grant_type: 'client_credentials', ...params })
const posted = (client: TestClient, params: Record<string, string> = {}) =>
  realm.postForm('/token', undefined, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: client.secret!,
    ...params,
  })

describe('client credentials of an agent', () => {
  test('an access token of 5 minutes and nothing else; sub and client_id are the agent', async () => {
    const { status, body, headers } = await requestToken()
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 300,
      scope: 'orders:read orders:write',
      token_type: 'Bearer',
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(jwtHeader(body.access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
    const claims = jwtClaims(body.access_token)
    expect(claims).toEqual({
      iss: realm.url,
      sub: agent.id,
      aud: agent.id,
      exp: claims.iat + 300,
      iat: expect.any(Number),
      nbf: claims.iat,
      jti: expect.stringMatching(/^tok_/),
      client_id: agent.id,
      scope: 'orders:read orders:write',
    })
  })

  test.each<[string, Record<string, string>, number, string]>([
    ['omitted: the full set', {}, 200, 'orders:read orders:write'],
    ['one of them', { scope: 'orders:read' }, 200, 'orders:read'],
    ['openid is ignored', { scope: 'openid orders:read' }, 200, 'orders:read'],
    ['outside the set', { scope: 'orders:read orders:delete' }, 400, 'invalid_scope'],
    ['everything', { scope: 'svc:all' }, 400, 'invalid_scope'],
  ])('scope: %s', async (_, params, status, said) => {
    const response = await requestToken(params)
    expect([response.status, response.body.scope ?? response.body.error]).toEqual([status, said])
  })

  test.each([
    ['https://api.example.com/v2', 200, 'https://api.example.com/v2'],
    ['not a uri', 400, 'invalid_target'],
    ['https://api.example.com/#x', 400, 'invalid_target'],
    ['urn:gatehouse:audience:cli_x', 400, 'invalid_target'],
  ])('resource %s is %s %s', async (resource, status, said) => {
    const response = await requestToken({ resource })
    const got = response.status === 200 ? jwtClaims(response.body.access_token).aud : response.body.error
    expect([response.status, got]).toEqual([status, said])
  })

  test('resource is a single value', async () => {
    const twice: [string, string][] = [
      ['grant_type', 'client_credentials'],
      ['resource', 'https://a.example'],
      ['resource', 'https://b.example'],
    ]
    expect((await realm.postForm('/token', agent, twice)).body.error).toBe('invalid_target')
  })

  test('Basic and POST with any of the 20 secrets work; a wrong, foreign or missing secret is 401 invalid_client', async () => {
    const more = []
    for (let count = 1; count < 20; count++) more.push((await addSecret(agent.id)).secret)
    for (const secret of [agent.secret!, more[0]!, more[18]!]) {
      expect((await requestToken({}, { id: agent.id, secret })).status).toBe(200)
      expect((await posted({ id: agent.id, secret })).status).toBe(200)
    }
    const other = await create(['orders:read'])
    const unknownId = `agt_${'0'.repeat(26)}`
    for (const response of await Promise.all([
      requestToken({}, { id: agent.id, secret: 'x'.repeat(43) }),
      requestToken({}, { id: agent.id, secret: other.secret }),
      requestToken({}, { id: unknownId, secret: agent.secret }),
      posted({ id: agent.id, secret: 'x' }),
      realm.postForm('/token', undefined, { grant_type: 'client_credentials', client_id: agent.id }),
      requestToken({}, { id: agent.id.toUpperCase(), secret: agent.secret }),
    ])) {
      expect([response.status, response.body.error]).toEqual([401, 'invalid_client'])
      expect(response.headers.get('www-authenticate')).toMatch(/^Basic /)
    }
  })

  test('a removed secret is rejected immediately in every process; the other secrets stay valid', async () => {
    const { id, secret } = await addSecret(agent.id)
    const removed = { id: agent.id, secret }
    for (const at of [realm, twin]) expect((await requestToken({}, removed, at)).status).toBe(200)
    expect((await owner().delete(`${agents}/${agent.id}/verifiers/${id}`)).status).toBe(204)
    for (const at of [realm, twin]) {
      expect((await requestToken({}, removed, at)).body.error).toBe('invalid_client')
      expect((await requestToken({}, agent, at)).status).toBe(200)
    }
  })

  test.each(['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:token-exchange'])(
    'no other grant: %s',
    async (grant_type) => {
      const params = { code: 'x', refresh_token: 'x', subject_token: 'x', redirect_uri: 'https://a.example' }
      const response = await requestToken({ ...params, grant_type })
      expect([response.status, response.body.error]).toEqual([400, 'unauthorized_client'])
    },
  )

  test('an agent cannot sign users in', async () => {
    const page = await fetch(realm.authorizeUrl(agent), { redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
  })

  test('an agent of another issuer is unknown', async () => {
    const other = await Realm.create(app, 'Other')
    expect((await requestToken({}, agent, other)).body.error).toBe('invalid_client')
  })

  test('a disabled issuer issues no token', async () => {
    expectStatus(await owner().patch(realm.tenant.I, { status: 'disabled' }), 200)
    expect((await requestToken()).status).toBe(403)
    expectStatus(await owner().patch(realm.tenant.I, { status: 'active' }), 200)
  })
})

describe('a status that cannot authenticate: invalid_client, and its tokens are invalid, immediately in every process', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['suspended', () => owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' })],
    ['blocked', () => owner().patch(`${agents}/${agent.id}`, { status: 'blocked', status_reason: 'test' })],
    ['deleted', () => owner().delete(`${agents}/${agent.id}`)],
  ])('%s', async (_, end) => {
    const own = await create(['issuers.users:read'])
    const before = agent
    agent = own
    const { access_token } = (await requestToken({ resource: app.baseUrl })).body
    for (const at of [realm, twin]) expect((await requestToken({}, own, at)).status).toBe(200)
    const core = [createApiClient(app.baseUrl, access_token), createApiClient(second.baseUrl, access_token)]
    for (const api of core) expect((await api.get(`${realm.tenant.I}/users`)).status).toBe(200)
    expect((await realm.userinfo(access_token)).status).toBe(403)
    await end()
    expect((await realm.userinfo(access_token)).status).toBe(401)
    for (const at of [realm, twin]) {
      expect((await requestToken({}, own, at)).body.error).toBe('invalid_client')
      expect((await at.postForm('/introspect', own, { token: access_token })).status).toBe(401)
    }
    for (const api of core) expect((await api.get(`${realm.tenant.I}/users`)).status).toBe(401)
    agent = before
  })

  test('a suspended agent that is activated again can authenticate', async () => {
    const { access_token } = (await requestToken()).body
    expectStatus(await owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' }), 200)
    expect((await requestToken()).status).toBe(401)
    expectStatus(await owner().patch(`${agents}/${agent.id}`, { status: 'active' }), 200)
    expect((await requestToken()).status).toBe(200)
    expect((await realm.postForm('/introspect', agent, { token: access_token })).body.active).toBe(true)
  })

  test('fewer scopes apply at the next token', async () => {
    expectStatus(await owner().patch(`${agents}/${agent.id}`, { scopes: ['orders:read'] }), 200)
    for (const at of [realm, twin]) expect((await requestToken({}, agent, at)).body.scope).toBe('orders:read')
  })
})

describe('tokens of an agent at other endpoints', () => {
  test('the agent can introspect and revoke its own tokens; other clients cannot', async () => {
    const other = await create([])
    const { access_token: token } = (await requestToken()).body
    const claims = jwtClaims(token)
    const own = await realm.postForm('/introspect', agent, { token })
    expect(own.body).toEqual({
      active: true,
      scope: 'orders:read orders:write',
      client_id: agent.id,
      token_type: 'Bearer',
      sub: agent.id,
      aud: agent.id,
      iat: claims.iat,
      exp: claims.exp,
      iss: realm.url,
      jti: claims.jti,
    })
    expect((await realm.postForm('/introspect', other, { token })).body).toEqual({ active: false })
    expect((await realm.postForm('/revoke', other, { token })).status).toBe(200)
    expect((await realm.postForm('/introspect', agent, { token })).body.active).toBe(true)
    expect((await realm.postForm('/revoke', agent, { token })).status).toBe(200)
    expect((await realm.postForm('/introspect', agent, { token })).body).toEqual({ active: false })
    expect([401, 403]).toContain((await realm.userinfo((await requestToken()).body.access_token)).status)
  })

  test('at the Core API a token is limited to the scopes of the agent and to paths below the issuer', async () => {
    const own = await create(['issuers.users:read', 'issuers.clients:read', 'accounts:read'])
    const token = async (params: object) => (await requestToken({ ...params }, own)).body.access_token
    const full = createApiClient(app.baseUrl, await token({ resource: app.baseUrl }))
    const { I, A } = realm.tenant
    expect((await full.get(`${I}/users`)).status).toBe(200)
    expect((await full.get(`${I}/agents`)).status).toBe(403)
    expect((await full.get(A)).status).toBe(404)
    const foreign = await Realm.create(app, 'Elsewhere')
    expect((await full.get(`${foreign.tenant.I}/users`)).status).toBe(404)
    const narrow = createApiClient(app.baseUrl, await token({ resource: app.baseUrl, scope: 'issuers.clients:read' }))
    expect((await narrow.get(`${I}/users`)).status).toBe(403)
    expect((await narrow.get(`${I}/clients`)).status).toBe(200)
    expect((await createApiClient(app.baseUrl, await token({})).get(`${I}/users`)).status).toBe(401)
    const me = await full.graphql('{ me { type id issuerId scopes } }')
    expect(me.body.data.me).toMatchObject({ type: 'agent', id: own.id, issuerId: realm.tenant.issuerId })
    expectStatus(await owner().patch(`${agents}/${own.id}`, { scopes: ['issuers.clients:read'] }), 200)
    expect((await full.get(`${I}/users`)).status).toBe(403)
  })
})

describe('the audit log', () => {
  test('an issued token is an event with the verifier that matched, and updates the last use of the verifier', async () => {
    const { id, secret } = await addSecret(agent.id)
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    expect((await requestToken({}, { id: agent.id, secret })).status).toBe(200)
    const [event, ...more] = await readEvents('agent.')
    expect(more).toEqual([])
    expect(event).toMatchObject({
      type: 'agent.authentication.succeeded',
      agentId: agent.id,
      authType: 'client',
      actor: { type: 'agent', id: agent.id, name: 'Scribe' },
      target: { type: 'agent', id: agent.id },
      data: { method: 'secret', verifier_id: id },
    })
    expect(JSON.stringify(event)).not.toContain(secret)
    const { data } = expectStatus(await owner().get(`${agents}/${agent.id}/verifiers`), 200)
    const used = data.map((one: AnyJson) => [one.id === id, one.last_used_at !== null])
    expect(used).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('the event of a token that the agent revokes has agent_id and no client_id', async () => {
    const { access_token: token } = (await requestToken()).body
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    expect((await realm.postForm('/revoke', agent, { token })).status).toBe(200)
    const events = await readEvents('token.')
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      type: 'token.revoked',
      agentId: agent.id,
      clientId: null,
      userId: null,
      sessionId: null,
      authType: 'client',
      actor: { type: 'agent', id: agent.id, name: 'Scribe' },
      target: { type: 'token', id: jwtClaims(token).jti },
    })
  })

  test('a failed authentication is an event without an actor; for an unknown agent there is no event', async () => {
    const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
    await requestToken({}, { id: agent.id, secret: 'wrong' })
    await posted({ id: agent.id, secret: 'wrong' })
    await requestToken({}, { id: `agt_${'0'.repeat(26)}`, secret: 'wrong' })
    await requestToken({ scope: 'nonsense' })
    const events = await readEvents('agent.')
    expect(events).toHaveLength(2)
    for (const event of events) {
      expect(event).toMatchObject({
        type: 'agent.authentication.failed',
        agentId: agent.id,
        authType: 'unauthenticated',
        data: { method: 'secret', status: 'active' },
      })
      expect(JSON.stringify(event)).not.toContain('wrong')
    }
    expectStatus(await owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' }), 200)
    await requestToken()
    expect((await readEvents('agent.authentication')).at(-1)?.data).toEqual({ method: 'secret', status: 'suspended' })
  })
})
