/** Agents and their verifiers (docs/contract.md#agents, docs/contract.md#agent-endpoints). */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals'
import pg from 'pg'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { createClientKey } from '../setup/client-assertions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { eventsOfTarget, rowsAsText, storedIdempotentResponses } from './stored-rows.js'

let app: TestApp
let tenant: Tenant
let agents: string
beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  agents = `${tenant.I}/agents`
})
afterAll(() => app.close())

const create = async (more: object = {}): Promise<AnyJson> =>
  expectStatus(await tenant.owner.post(agents, { name: 'Agent', ...more }), 201).data
const list = async (query = ''): Promise<AnyJson> => expectStatus(await tenant.owner.get(`${agents}${query}`), 200)
const ids = (page: AnyJson): string[] => page.data.map(({ id }: AnyJson) => id)
const wallet = (digit = 'a', more: object = {}) => ({
  type: 'wallet',
  name: null,
  address: `0x${digit.repeat(40).slice(0, 40)}`,
  network: 'eip155:8453',
  ...more,
})
const errorFieldsOf = (response: AnyJson) => response.body.details?.map(({ field }: AnyJson) => field)

describe('agents', () => {
  test('POST creates an agent with all documented fields', async () => {
    const given = {
      name: 'Scout',
      description: 'Looks around',
      model: 'm-1',
      provider: 'Acme',
      version: '2',
      scopes: ['orders:read'],
      metadata: { team: 'x' },
    }
    const response = await tenant.owner.post(agents, given)
    expect(response.status).toBe(201)
    expect(response.body.data).toEqual({
      ...given,
      id: expect.stringMatching(/^agt_[0-9a-z]{26}$/),
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      status: 'active',
      status_reason: null,
      verifiers: [],
      created_at: expect.any(Number),
      updated_at: response.body.data.created_at,
    })
    expect(expectStatus(await tenant.owner.get(`${agents}/${response.body.data.id}`), 200)).toEqual(response.body)
  })

  test('name is required, the other fields may be omitted or null; unknown and read-only fields are 400', async () => {
    expect(errorFieldsOf(await tenant.owner.post(agents, {}))).toEqual(['name'])
    const bare = await create({ description: null, model: null, provider: null, version: null })
    expect(bare).toMatchObject({ description: null, model: null, scopes: [], metadata: {} })
    const wrong = await tenant.owner.post(agents, { name: 'x', verifiers: [], id: 'agt_1', color: 'red' })
    expect(wrong.status).toBe(400)
    expect(errorFieldsOf(wrong)).toEqual(['verifiers', 'id', 'color'])
    for (const body of [
      { name: '' },
      { name: 'x', scopes: ['a b'] },
      { name: 'x', metadata: 1 },
      { name: 'x', model: 7 },
    ]) {
      expect((await tenant.owner.post(agents, body)).status).toBe(400)
    }
  })

  test('lists are newest first, paginate by cursor, and filter by status, model, provider (exact) and has_verifiers', async () => {
    const { I, owner } = await createTenant(app, 'Lister')
    const path = `${I}/agents`
    const created: AnyJson[] = []
    for (let i = 0; i < 5; i++) {
      created.push(
        expectStatus(
          await owner.post(path, { name: `a${i}`, model: `m${i % 2}`, provider: i < 3 ? 'One' : 'Two' }),
          201,
        ).data,
      )
    }
    expectStatus(await owner.post(`${path}/${created[1].id}/verifiers`, { type: 'secret', name: null }), 201)
    expectStatus(await owner.patch(`${path}/${created[2].id}`, { status: 'suspended', status_reason: 'r' }), 200)
    expectStatus(await owner.patch(`${path}/${created[3].id}`, { status: 'blocked', status_reason: 'r' }), 200)
    const get = async (query: string) =>
      ids(expectStatus(await owner.get(`${path}${query}`), 200)).map((id) => created.findIndex((a) => a.id === id))
    expect(await get('')).toEqual([4, 3, 2, 1, 0])
    expect(await get('?status=active')).toEqual([4, 1, 0])
    expect(await get('?status=suspended')).toEqual([2])
    expect(await get('?status=blocked')).toEqual([3])
    expect(await get('?model=m1')).toEqual([3, 1])
    expect(await get('?provider=One')).toEqual([2, 1, 0])
    expect(await get('?provider=one')).toEqual([])
    expect(await get('?provider=On')).toEqual([])
    expect(await get('?has_verifiers=true')).toEqual([1])
    expect(await get('?has_verifiers=false&provider=One')).toEqual([2, 0])
    const first = expectStatus(await owner.get(`${path}?limit=2`), 200)
    expect(first).toMatchObject({ has_more: true, next_cursor: created[3].id })
    expect(await get(`?limit=2&cursor=${first.next_cursor}`)).toEqual([2, 1])
    expect(expectStatus(await owner.get(`${path}?cursor=${created[1].id}`), 200)).toMatchObject({
      has_more: false,
      next_cursor: null,
    })
    for (const query of ['?status=gone', '?has_verifiers=maybe', '?limit=0', '?limit=101', '?cursor=x', '?color=red']) {
      expect({ query, status: (await owner.get(`${path}${query}`)).status }).toEqual({ query, status: 400 })
    }
  })

  test('PATCH to status suspended or blocked requires status_reason', async () => {
    for (const status of ['suspended', 'blocked']) {
      const { id } = await create()
      const path = `${agents}/${id}`
      for (const body of [{ status }, { status, status_reason: null }, { status, status_reason: ' ' }]) {
        const refused = await tenant.owner.patch(path, body)
        expect({ body, status: refused.status, faults: errorFieldsOf(refused) }).toEqual({
          body,
          status: 400,
          faults: ['status_reason'],
        })
      }
      expect(expectStatus(await tenant.owner.patch(path, { status, status_reason: 'why' }), 200).data).toMatchObject({
        status,
        status_reason: 'why',
      })
      expect((await tenant.owner.patch(path, { status_reason: null })).status).toBe(400)
      expect(
        expectStatus(await tenant.owner.patch(path, { name: 'Still changeable', status }), 200).data.status_reason,
      ).toBe('why')
      expect((await tenant.owner.post(agents, { name: 'x', status })).status).toBe(400)
    }
  })

  test('a suspended agent can be reactivated, which clears its reason; a block is permanent', async () => {
    const { id } = await create({ status: 'suspended', status_reason: 'at first' })
    const path = `${agents}/${id}`
    expect(expectStatus(await tenant.owner.patch(path, { status: 'active' }), 200).data).toMatchObject({
      status: 'active',
      status_reason: null,
    })
    expectStatus(await tenant.owner.patch(path, { status: 'suspended', status_reason: 'again' }), 200)
    expectStatus(await tenant.owner.patch(path, { status: 'blocked', status_reason: 'compromised' }), 200)
    for (const status of ['active', 'suspended']) {
      const refused = await tenant.owner.patch(path, { status, status_reason: 'x' })
      expect({ status: refused.status, faults: errorFieldsOf(refused) }).toEqual({ status: 400, faults: ['status'] })
    }
  })

  test('a caller cannot grant an agent scopes that the caller lacks', async () => {
    const weak = await createRestrictedKey(tenant, { scopes: ['issuers.agents:write'] })
    const refused = await weak.post(agents, { name: 'x', scopes: ['issuers.users:read'] })
    expect(refused).toMatchObject({ status: 403, body: { error: 'insufficient_scope' } })
    const { id } = expectStatus(await weak.post(agents, { name: 'x', scopes: ['orders:read'] }), 201).data
    expect((await weak.patch(`${agents}/${id}`, { scopes: ['svc:all'] })).status).toBe(403)
  })

  test('DELETE is permanent and removes the verifiers', async () => {
    const { id } = await create()
    const path = `${agents}/${id}`
    expectStatus(await tenant.owner.post(`${path}/verifiers`, wallet()), 201)
    expectStatus(await tenant.owner.delete(path), 204)
    for (const response of [
      await tenant.owner.get(path),
      await tenant.owner.delete(path),
      await tenant.owner.get(`${path}/verifiers`),
      await tenant.owner.post(`${path}/verifiers`, wallet()),
    ]) {
      expect(response.status).toBe(404)
    }
    const left = await app.gatehouse.database.prisma.agentVerifier.count({ where: { agentId: id } })
    expect(left).toBe(0)
  })

  test('events: agent.created, agent.updated with its changes, agent.deleted', async () => {
    const { id } = await create({ name: 'Told' })
    expectStatus(await tenant.owner.patch(`${agents}/${id}`, { status: 'suspended', status_reason: 'r' }), 200)
    expectStatus(await tenant.owner.delete(`${agents}/${id}`), 204)
    const events = await eventsOfTarget(app, id)
    expect(events.map(({ type }) => type)).toEqual(['agent.created', 'agent.updated', 'agent.deleted'])
    expect(events[1]!.changes).toEqual({
      status: { old: 'active', new: 'suspended' },
      status_reason: { old: null, new: 'r' },
    })
    expect(events[0]).toMatchObject({ agentId: id, issuerId: tenant.issuerId, accountId: tenant.accountId })
  })
})

describe('verifiers of agents', () => {
  test('a wallet verifier shows address and network; the agent lists the types of its verifiers', async () => {
    const { id } = await create()
    const path = `${agents}/${id}`
    const response = await tenant.owner.post(`${path}/verifiers`, wallet('b', { name: 'Hot' }))
    expect(response.status).toBe(201)
    expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
    expect(response.body.data).toEqual({
      id: expect.stringMatching(/^vrf_/),
      agent_id: id,
      type: 'wallet',
      name: 'Hot',
      address: `0x${'b'.repeat(40)}`,
      network: 'eip155:8453',
      algorithm: null,
      jwks: null,
      jwks_uri: null,
      last_used_at: null,
      secret: null,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    expectStatus(await tenant.owner.post(`${path}/verifiers`, { type: 'secret', name: null }), 201)
    expect(expectStatus(await tenant.owner.get(path), 200).data.verifiers).toEqual(['secret', 'wallet'])
    const page = await list()
    expect(page.data.find((agent: AnyJson) => agent.id === id).verifiers).toEqual(['secret', 'wallet'])
    expectStatus(await tenant.owner.delete(`${path}/verifiers/${response.body.data.id}`), 204)
    expect(expectStatus(await tenant.owner.get(path), 200).data.verifiers).toEqual(['secret'])
    expect((await tenant.owner.delete(`${path}/verifiers/${response.body.data.id}`)).status).toBe(404)
  })

  test('a change of the verifier types is a new version of the agent', async () => {
    const { id } = await create()
    const before = (await tenant.owner.get(`${agents}/${id}`)).headers.get('etag')!
    expectStatus(await tenant.owner.post(`${agents}/${id}/verifiers`, wallet()), 201)
    expect((await tenant.owner.patch(`${agents}/${id}`, { name: 'x' }, { 'if-match': before })).status).toBe(412)
  })

  test.each([
    ['network', { network: 'eip155' }],
    ['network', { network: 'ei:1' }],
    ['network', { network: 'EIP155:1' }],
    ['network', { network: 'eip155:main' }],
    ['network', { network: `eip155:${'1'.repeat(33)}` }],
    ['address', { address: `0x${'a'.repeat(39)}` }],
    ['address', { address: 'a'.repeat(40) }],
    ['address', { address: `0x${'g'.repeat(40)}` }],
    ['address', { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', address: '1111' }],
    ['address', { network: 'solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', address: '0OIl1111111111111111111111111111' }],
    ['address', { network: 'cosmos:cosmoshub-3', address: 'has space' }],
    ['address', { address: undefined }],
    ['network', { network: null }],
    ['name', { name: undefined }],
    ['secret', { secret: 'mine' }],
    ['type', { type: 'password' }],
  ])('a wallet with an invalid %s is 400: %j', async (field, more) => {
    const { id } = await create()
    const refused = await tenant.owner.post(`${agents}/${id}/verifiers`, wallet('a', more))
    expect({ status: refused.status, faults: errorFieldsOf(refused) }).toEqual({ status: 400, faults: [field] })
  })

  test('wallets of solana and of other CAIP-2 networks are accepted', async () => {
    const { id } = await create()
    for (const [network, address] of [
      ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', 'So11111111111111111111111111111111111111112'],
      ['solana:5eykt4UsFv8P8NJdTREpY1vzqKqZKvdp', '11111111111111111111111111111111'],
      ['cosmos:cosmoshub-3', 'cosmos1t2uflqwqe0fsj0shcfkrvpukewcw40yjj6hdc0'],
    ]) {
      expectStatus(
        await tenant.owner.post(`${agents}/${id}/verifiers`, { type: 'wallet', name: null, network, address }),
        201,
      )
    }
  })

  test('an address with another checksum spelling (EIP-55) is the same wallet', async () => {
    const { id } = await create()
    const address = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
    expectStatus(await tenant.owner.post(`${agents}/${id}/verifiers`, wallet('a', { address })), 201)
    const again = await tenant.owner.post(`${agents}/${id}/verifiers`, wallet('a', { address: address.toLowerCase() }))
    expect({ status: again.status, faults: errorFieldsOf(again) }).toEqual({ status: 400, faults: ['address'] })
    expectStatus(
      await tenant.owner.post(`${agents}/${id}/verifiers`, wallet('a', { address, network: 'eip155:1' })),
      201,
    )
  })

  test('a secret is shown once and stored as SHA-256; lists show only its algorithm', async () => {
    const { id } = await create()
    const path = `${agents}/${id}/verifiers`
    const { data } = expectStatus(await tenant.owner.post(path, { type: 'secret', name: 'CI' }), 201)
    expect(Buffer.from(data.secret, 'base64url')).toHaveLength(32)
    expect(data).toMatchObject({ type: 'secret', name: 'CI', algorithm: 'SHA-256', address: null, network: null })
    const { secret, ...shown } = data
    const page = await tenant.owner.get(path)
    expect(page.body).toEqual({ data: [shown], next_cursor: null, has_more: false })
    const hash = createHash('sha256').update(secret).digest('hex')
    const row = await app.gatehouse.database.prisma.agentVerifier.findUnique({ where: { id: data.id } })
    expect(row!.hash).toBe(hash)
    const events = await eventsOfTarget(app, data.id)
    expect(events.map(({ type }) => type)).toEqual(['agent.verifier.created'])
    for (const text of [page.text, rowsAsText(events), (await tenant.owner.get(`${agents}/${id}`)).text]) {
      expect(text).not.toContain(secret)
      expect(text).not.toContain(hash)
    }
    expectStatus(await tenant.owner.delete(`${path}/${data.id}`), 204)
    expect((await eventsOfTarget(app, data.id)).at(-1)).toMatchObject({ type: 'agent.verifier.deleted', agentId: id })
  })

  describe('public keys', () => {
    const key = createClientKey()
    const jwks = { keys: [key.jwk] }
    const uri = 'https://agents.example.com/jwks.json'
    const enable = (enabled: boolean) => {
      const settings = { security: { openid_policy: { client_assertions: { enabled } } } }
      return tenant.owner.patch(tenant.I, { settings })
    }
    beforeAll(async () => {
      expectStatus(await enable(true), 200)
    })

    test('a verifier shows jwks or jwks_uri, is recorded as an event, and can be removed', async () => {
      const { id } = await create()
      const path = `${agents}/${id}/verifiers`
      const first = expectStatus(await tenant.owner.post(path, { type: 'public_key', name: 'Cluster', jwks }), 201).data
      expect(first).toMatchObject({ type: 'public_key', name: 'Cluster', jwks, jwks_uri: null, secret: null })
      expect(first).toMatchObject({ address: null, network: null, algorithm: null, last_used_at: null })
      const body = { type: 'public_key', name: null, jwks_uri: uri }
      const second = expectStatus(await tenant.owner.post(path, body), 201).data
      expect(second).toMatchObject({ jwks: null, jwks_uri: uri })
      const { data: listed } = expectStatus(await tenant.owner.get(path), 200)
      expect(listed.map((one: AnyJson) => ({ ...one, secret: null }))).toEqual([second, first])
      expect(expectStatus(await tenant.owner.get(`${agents}/${id}`), 200).data.verifiers).toEqual(['public_key'])
      expectStatus(await tenant.owner.delete(`${path}/${first.id}`), 204)
      const events = await eventsOfTarget(app, first.id)
      expect(events.map(({ type, data }) => [type, data])).toEqual([
        ['agent.verifier.created', { type: 'public_key' }],
        ['agent.verifier.deleted', { type: 'public_key' }],
      ])
    })

    const privateJwk = key.privateKey.export({ format: 'jwk' })
    test.each<[string, object, string[]]>([
      ['neither jwks nor jwks_uri', {}, ['jwks']],
      ['both', { jwks, jwks_uri: uri }, ['jwks_uri']],
      ['a private key', { jwks: { keys: [privateJwk] } }, ['jwks.keys[0].d']],
      ['no key', { jwks: { keys: [] } }, ['jwks.keys']],
      ['no name', { jwks, name: undefined }, ['name']],
      ['an http jwks_uri', { jwks_uri: 'http://agents.example.com/jwks.json' }, ['jwks_uri']],
      ['a private jwks_uri', { jwks_uri: 'https://10.0.0.1/jwks.json' }, ['jwks_uri']],
      ['a secret', { jwks, secret: 'mine' }, ['secret']],
      ['an address', { jwks, address: '0x' }, ['address']],
    ])('%s is 400', async (_, more, fields) => {
      const { id } = await create()
      const body = { type: 'public_key', name: null, ...more }
      const refused = await tenant.owner.post(`${agents}/${id}/verifiers`, body)
      expect({ status: refused.status, fields: errorFieldsOf(refused) }).toEqual({ status: 400, fields })
    })

    test('while the issuer does not accept client assertions, creating one is 400 and names the setting', async () => {
      const { id } = await create()
      expectStatus(await enable(false), 200)
      const refused = await tenant.owner.post(`${agents}/${id}/verifiers`, { type: 'public_key', name: null, jwks })
      expectStatus(await enable(true), 200)
      expect({ status: refused.status, fields: errorFieldsOf(refused) }).toEqual({ status: 400, fields: ['type'] })
      expect(refused.body.error_description).toContain('settings.security.openid_policy.client_assertions.enabled')
    })
  })

  test('a repeated POST with the same Idempotency-Key: a secret is created again and never stored, a wallet is replayed', async () => {
    const { id } = await create()
    const path = `${agents}/${id}/verifiers`
    const headers = { 'idempotency-key': `agent-${id}` }
    const secrets = []
    for (let i = 0; i < 2; i++) {
      const response = await tenant.owner.post(path, { type: 'secret', name: null }, headers)
      expect([response.status, response.headers.get('idempotent-replayed')]).toEqual([201, null])
      secrets.push(response.body.data.secret)
    }
    expect(new Set(secrets).size).toBe(2)
    for (const secret of secrets) expect(await storedIdempotentResponses(app)).not.toContain(secret)
    const first = await tenant.owner.post(path, wallet(), headers)
    const again = await tenant.owner.post(path, wallet(), headers)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect(again.text).toBe(first.text)

    const mutation = `mutation ($a: ID!, $i: ID!, $g: ID!) { createAgentVerifier(accountId: $a, issuerId: $i, agentId: $g,
      input: {type: secret, name: null}, idempotencyKey: "g-${id}") { id secret } }`
    const run = async () =>
      (await tenant.owner.graphql(mutation, { a: tenant.accountId, i: tenant.issuerId, g: id })).body.data
        .createAgentVerifier
    const [one, two] = [await run(), await run()]
    expect(one.id).not.toBe(two.id)
    expect(await storedIdempotentResponses(app)).not.toContain(one.secret)
  })

  test('at most 20 verifiers per agent, also under 20 parallel requests', async () => {
    const { id } = await create()
    const path = `${agents}/${id}/verifiers`
    for (let i = 0; i < 10; i++) expectStatus(await tenant.owner.post(path, { type: 'secret', name: null }), 201)
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => tenant.owner.post(path, { type: 'secret', name: null })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(201), ...Array(10).fill(400)])
    const page = expectStatus(await tenant.owner.get(path), 200)
    expect(page.data).toHaveLength(20)
    expectStatus(await tenant.owner.delete(`${path}/${page.data[0].id}`), 204)
    expectStatus(await tenant.owner.post(path, wallet()), 201)
  })

  test.each(['suspended', 'blocked'])('an agent that is %s cannot change its verifiers', async (status) => {
    const { id } = await create()
    const path = `${agents}/${id}/verifiers`
    const { data } = expectStatus(await tenant.owner.post(path, wallet()), 201)
    expectStatus(await tenant.owner.patch(`${agents}/${id}`, { status, status_reason: 'r' }), 200)
    expect((await tenant.owner.post(path, { type: 'secret', name: null })).status).toBe(400)
    expect((await tenant.owner.delete(`${path}/${data.id}`)).status).toBe(400)
    expect((await tenant.owner.delete(`${path}/vrf_${'0'.repeat(26)}`)).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(path), 200).data).toHaveLength(1)
  })

  test('a caller cannot add a verifier to an agent with more authority than the caller', async () => {
    const weak = await createRestrictedKey(tenant, { scopes: ['issuers.agents.verifiers:write'] })
    const { id } = await create({ scopes: ['issuers.users:read'] })
    const refused = await weak.post(`${agents}/${id}/verifiers`, { type: 'secret', name: null })
    expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
    expectStatus(
      await weak.post(`${agents}/${(await create({ scopes: ['orders:read'] })).id}/verifiers`, wallet()),
      201,
    )
  })

  test('a verifier is not found below another agent', async () => {
    const [one, two] = [await create(), await create()]
    const { data } = expectStatus(await tenant.owner.post(`${agents}/${one.id}/verifiers`, wallet()), 201)
    expect((await tenant.owner.delete(`${agents}/${two.id}/verifiers/${data.id}`)).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(`${agents}/${one.id}/verifiers`), 200).data).toHaveLength(1)
  })
})

describe('GraphQL', () => {
  const ask = (selection: string) =>
    `query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { agents(limit: 3) { data { id verifierTypes ${selection} } } } }`

  test('issuer.agents and agent.verifiers are relations and require the scopes of their REST endpoints', async () => {
    const { id } = await create()
    expectStatus(await tenant.owner.post(`${agents}/${id}/verifiers`, wallet()), 201)
    const variables = { a: tenant.accountId, i: tenant.issuerId }
    const selection = 'verifiers(limit: 5) { data { type address } hasMore }'
    const all = await tenant.owner.graphql(ask(selection), variables)
    expect(all.body.errors).toBeUndefined()
    expect(all.body.data.issuer.agents.data[0]).toEqual({
      id,
      verifierTypes: ['wallet'],
      verifiers: { data: [{ type: 'wallet', address: `0x${'a'.repeat(40)}` }], hasMore: false },
    })
    const reader = await createRestrictedKey(tenant, { scopes: ['issuers:read', 'issuers.agents:read'] })
    expect((await reader.graphql(ask(''), variables)).body.errors).toBeUndefined()
    expect((await reader.graphql(ask(selection), variables)).body.errors[0].extensions.code).toBe('INSUFFICIENT_SCOPE')
    const issuersOnly = await createRestrictedKey(tenant, { scopes: ['issuers:read'] })
    expect((await issuersOnly.graphql(ask(''), variables)).body.errors[0].extensions.code).toBe('INSUFFICIENT_SCOPE')
  })

  test('the verifier types of a list cost no query, the relation costs one query for all agents', async () => {
    for (let i = 0; i < 3; i++)
      expectStatus(await tenant.owner.post(`${agents}/${(await create()).id}/verifiers`, wallet()), 201)
    const queries = jest.spyOn(pg.Client.prototype, 'query')
    const queryCount = () =>
      queries.mock.calls.filter(([query]) => JSON.stringify(query).includes('agent_verifiers')).length
    try {
      await list('?limit=3')
      expect(queries.mock.calls.length).toBeGreaterThan(0)
      expect(queryCount()).toBe(0)
      const variables = { a: tenant.accountId, i: tenant.issuerId }
      const response = await tenant.owner.graphql(ask('verifiers { data { id } }'), variables)
      const counts = response.body.data.issuer.agents.data.map((agent: AnyJson) => agent.verifiers.data.length)
      expect(counts).toEqual([1, 1, 1])
      expect(queryCount()).toBe(1)
    } finally {
      queries.mockRestore()
    }
  })
})
