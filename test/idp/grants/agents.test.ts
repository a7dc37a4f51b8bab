/** Agents at the token endpoint with a secret (spec 2.10, 4.17, 5.2 rules 1 and 2, section 8, decisions D3, D6). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { apiAs, type Loose } from '../../setup/api.js'
import { listenTo } from '../../setup/events.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { claimsOf, headerOf, Realm, type TestClient } from '../setup.js'

let app: TestApp
let second: TestApp
let realm: Realm
let twin: Realm
let agent: TestClient
let agents: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app)
  agents = `${realm.tenant.I}/agents`
  second = await app.second()
  // The second process answers for the same issuer under another address.
  twin = new Realm(second, realm.tenant)
})
afterAll(() => app.close())
beforeEach(async () => {
  agent = await make(['orders:read', 'orders:write', 'openid'])
})

const owner = () => realm.tenant.owner
const addSecret = async (id: string): Promise<Loose> =>
  must(await owner().post(`${agents}/${id}/verifiers`, { type: 'secret', name: null }), 201).data
async function make(scopes: string[]): Promise<TestClient> {
  const { id } = must(await owner().post(agents, { name: 'Scribe', scopes }), 201).data
  return { id, secret: (await addSecret(id)).secret }
}
const ask = (params: Record<string, string> = {}, client = agent, at = realm) =>
  at.post('/token', client, { grant_type: 'client_credentials', ...params })
const posted = (client: TestClient, params: Record<string, string> = {}) =>
  realm.post('/token', undefined, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: client.secret!,
    ...params,
  })

describe('client credentials of an agent', () => {
  test('an access token of 5 minutes and nothing else; sub and client_id are the agent', async () => {
    const { status, body, headers } = await ask()
    expect(status).toBe(200)
    expect(body).toEqual({
      access_token: expect.any(String),
      expires_in: 300,
      scope: 'orders:read orders:write',
      token_type: 'Bearer',
    })
    expect(headers.get('cache-control')).toBe('no-store')
    expect(headerOf(body.access_token)).toMatchObject({ alg: 'ES256', typ: 'at+jwt' })
    const claims = claimsOf(body.access_token)
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
    ['outside of the set', { scope: 'orders:read orders:delete' }, 400, 'invalid_scope'],
    ['everything', { scope: 'svc:all' }, 400, 'invalid_scope'],
  ])('scope: %s', async (_, params, status, said) => {
    const answer = await ask(params)
    expect([answer.status, answer.body.scope ?? answer.body.error]).toEqual([status, said])
  })

  test.each([
    ['https://api.example.com/v2', 200, 'https://api.example.com/v2'],
    ['not a uri', 400, 'invalid_target'],
    ['https://api.example.com/#x', 400, 'invalid_target'],
    ['urn:gatehouse:audience:cli_x', 400, 'invalid_target'],
  ])('resource %s: %s %s', async (resource, status, said) => {
    const answer = await ask({ resource })
    const got = answer.status === 200 ? claimsOf(answer.body.access_token).aud : answer.body.error
    expect([answer.status, got]).toEqual([status, said])
  })

  test('resource is a single value', async () => {
    const twice: [string, string][] = [
      ['grant_type', 'client_credentials'],
      ['resource', 'https://a.example'],
      ['resource', 'https://b.example'],
    ]
    expect((await realm.post('/token', agent, twice)).body.error).toBe('invalid_target')
  })

  test('Basic and POST, any of its 20 secrets; a wrong, foreign or missing one is 401 invalid_client', async () => {
    const more = []
    for (let count = 1; count < 20; count++) more.push((await addSecret(agent.id)).secret)
    for (const secret of [agent.secret!, more[0]!, more[18]!]) {
      expect((await ask({}, { id: agent.id, secret })).status).toBe(200)
      expect((await posted({ id: agent.id, secret })).status).toBe(200)
    }
    const other = await make(['orders:read'])
    const nobody = `agt_${'0'.repeat(26)}`
    for (const answer of await Promise.all([
      ask({}, { id: agent.id, secret: 'x'.repeat(43) }),
      ask({}, { id: agent.id, secret: other.secret }),
      ask({}, { id: nobody, secret: agent.secret }),
      posted({ id: agent.id, secret: 'x' }),
      realm.post('/token', undefined, { grant_type: 'client_credentials', client_id: agent.id }),
      ask({}, { id: agent.id.toUpperCase(), secret: agent.secret }),
    ])) {
      expect([answer.status, answer.body.error]).toEqual([401, 'invalid_client'])
      expect(answer.headers.get('www-authenticate')).toMatch(/^Basic /)
    }
  })

  test('a removed secret is refused at once, by every process; the others stay good', async () => {
    const { id, secret } = await addSecret(agent.id)
    const removed = { id: agent.id, secret }
    for (const at of [realm, twin]) expect((await ask({}, removed, at)).status).toBe(200)
    expect((await owner().delete(`${agents}/${agent.id}/verifiers/${id}`)).status).toBe(204)
    for (const at of [realm, twin]) {
      expect((await ask({}, removed, at)).body.error).toBe('invalid_client')
      expect((await ask({}, agent, at)).status).toBe(200)
    }
  })

  test.each(['authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:token-exchange'])(
    'no other grant: %s',
    async (grant_type) => {
      const params = { code: 'x', refresh_token: 'x', subject_token: 'x', redirect_uri: 'https://a.example' }
      const answer = await ask({ ...params, grant_type })
      expect([answer.status, answer.body.error]).toEqual([400, 'unauthorized_client'])
    },
  )

  test('nobody signs in at an agent', async () => {
    const page = await fetch(realm.authorizeUrl(agent), { redirect: 'manual' })
    expect([page.status, page.headers.get('location')]).toEqual([400, null])
  })

  test("another issuer's agent is nobody here", async () => {
    const other = await Realm.make(app, 'Other')
    expect((await ask({}, agent, other)).body.error).toBe('invalid_client')
  })

  test('a disabled issuer issues nothing', async () => {
    must(await owner().patch(realm.tenant.I, { status: 'disabled' }), 200)
    expect((await ask()).status).toBe(403)
    must(await owner().patch(realm.tenant.I, { status: 'active' }), 200)
  })
})

describe('a state that cannot authenticate (section 3): invalid_client, and its tokens are dead, at once in every process', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['suspended', () => owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' })],
    ['blocked', () => owner().patch(`${agents}/${agent.id}`, { status: 'blocked', status_reason: 'test' })],
    ['deleted', () => owner().delete(`${agents}/${agent.id}`)],
  ])('%s', async (_, end) => {
    const own = await make(['issuers.users:read'])
    const before = agent
    agent = own
    const { access_token } = (await ask({ resource: app.baseUrl })).body
    for (const at of [realm, twin]) expect((await ask({}, own, at)).status).toBe(200)
    const core = [apiAs(app.baseUrl, access_token), apiAs(second.baseUrl, access_token)]
    for (const api of core) expect((await api.get(`${realm.tenant.I}/users`)).status).toBe(200)
    expect((await realm.userinfo(access_token)).status).toBe(403)
    await end()
    expect((await realm.userinfo(access_token)).status).toBe(401)
    for (const at of [realm, twin]) {
      expect((await ask({}, own, at)).body.error).toBe('invalid_client')
      expect((await at.post('/introspect', own, { token: access_token })).status).toBe(401)
    }
    for (const api of core) expect((await api.get(`${realm.tenant.I}/users`)).status).toBe(401)
    agent = before
  })

  test('a suspended agent that is active again is back', async () => {
    const { access_token } = (await ask()).body
    must(await owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' }), 200)
    expect((await ask()).status).toBe(401)
    must(await owner().patch(`${agents}/${agent.id}`, { status: 'active' }), 200)
    expect((await ask()).status).toBe(200)
    expect((await realm.post('/introspect', agent, { token: access_token })).body.active).toBe(true)
  })

  test('fewer scopes count with the next token', async () => {
    must(await owner().patch(`${agents}/${agent.id}`, { scopes: ['orders:read'] }), 200)
    for (const at of [realm, twin]) expect((await ask({}, agent, at)).body.scope).toBe('orders:read')
  })
})

describe('its tokens elsewhere', () => {
  test('it introspects and revokes its own; nobody else does', async () => {
    const other = await make([])
    const { access_token: token } = (await ask()).body
    const claims = claimsOf(token)
    const own = await realm.post('/introspect', agent, { token })
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
    expect((await realm.post('/introspect', other, { token })).body).toEqual({ active: false })
    expect((await realm.post('/revoke', other, { token })).status).toBe(200)
    expect((await realm.post('/introspect', agent, { token })).body.active).toBe(true)
    expect((await realm.post('/revoke', agent, { token })).status).toBe(200)
    expect((await realm.post('/introspect', agent, { token })).body).toEqual({ active: false })
    expect([401, 403]).toContain((await realm.userinfo((await ask()).body.access_token)).status)
  })

  test('D6: at the Core API it is what its scopes say, cut down by the token, on paths below its issuer', async () => {
    const own = await make(['issuers.users:read', 'issuers.clients:read', 'accounts:read'])
    const token = async (params: object) => (await ask({ ...params }, own)).body.access_token
    const full = apiAs(app.baseUrl, await token({ resource: app.baseUrl }))
    const { I, A } = realm.tenant
    expect((await full.get(`${I}/users`)).status).toBe(200)
    expect((await full.get(`${I}/agents`)).status).toBe(403)
    expect((await full.get(A)).status).toBe(404)
    const foreign = await Realm.make(app, 'Elsewhere')
    expect((await full.get(`${foreign.tenant.I}/users`)).status).toBe(404)
    const narrow = apiAs(app.baseUrl, await token({ resource: app.baseUrl, scope: 'issuers.clients:read' }))
    expect((await narrow.get(`${I}/users`)).status).toBe(403)
    expect((await narrow.get(`${I}/clients`)).status).toBe(200)
    expect((await apiAs(app.baseUrl, await token({})).get(`${I}/users`)).status).toBe(401)
    const me = await full.graphql('{ me { type id issuerId scopes } }')
    expect(me.body.data.me).toMatchObject({ type: 'agent', id: own.id, issuerId: realm.tenant.issuerId })
    must(await owner().patch(`${agents}/${own.id}`, { scopes: ['issuers.clients:read'] }), 200)
    expect((await full.get(`${I}/users`)).status).toBe(403)
  })
})

describe('D3: the trail', () => {
  test('a token: succeeded, with the verifier that fitted, which knows when', async () => {
    const { id, secret } = await addSecret(agent.id)
    const told = await listenTo(app, realm.tenant.accountId)
    expect((await ask({}, { id: agent.id, secret })).status).toBe(200)
    const [event, ...more] = await told('agent.')
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
    const { data } = must(await owner().get(`${agents}/${agent.id}/verifiers`), 200)
    const used = data.map((one: Loose) => [one.id === id, one.last_used_at !== null])
    expect(used).toEqual([
      [true, true],
      [false, false],
    ])
  })

  test('a revoked token of its own: agent_id, and no client_id', async () => {
    const { access_token: token } = (await ask()).body
    const told = await listenTo(app, realm.tenant.accountId)
    expect((await realm.post('/revoke', agent, { token })).status).toBe(200)
    const events = await told('token.')
    expect(events).toHaveLength(1)
    expect(events[0]).toMatchObject({
      type: 'token.revoked',
      agentId: agent.id,
      clientId: null,
      userId: null,
      sessionId: null,
      authType: 'client',
      actor: { type: 'agent', id: agent.id, name: 'Scribe' },
      target: { type: 'token', id: claimsOf(token).jti },
    })
  })

  test('a refusal: failed, by nobody; of an agent that is not there nothing', async () => {
    const told = await listenTo(app, realm.tenant.accountId)
    await ask({}, { id: agent.id, secret: 'wrong' })
    await posted({ id: agent.id, secret: 'wrong' })
    await ask({}, { id: `agt_${'0'.repeat(26)}`, secret: 'wrong' })
    await ask({ scope: 'nonsense' })
    const events = await told('agent.')
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
    must(await owner().patch(`${agents}/${agent.id}`, { status: 'suspended', status_reason: 'test' }), 200)
    await ask()
    expect((await told('agent.authentication')).at(-1)?.data).toEqual({ method: 'secret', status: 'suspended' })
  })
})
