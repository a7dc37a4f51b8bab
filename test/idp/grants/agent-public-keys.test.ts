/**
 * Agents at the token endpoint with public keys (docs/contract.md#agents, docs/contract.md#client-assertions,
 * docs/contract.md#event-records).
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { assertionFields, type ClientKey, createClientKey, signAssertion } from '../../setup/client-assertions.js'
import { withForgedSignature } from '../../setup/forged-jwt.js'
import { eventsRecordedFromNow } from '../../setup/recorded-events.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { type IdpResponse, jwtClaims, Realm } from '../realm.js'

let app: TestApp
let realm: Realm
let twin: Realm
let agents: string
let site: Server
let origin: string
/** The keys that the site publishes at each path. */
let published: Record<string, unknown>[] = []

beforeAll(async () => {
  site = createServer((_, res) => {
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: published }))
  })
  await new Promise<void>((done) => site.listen(0, '127.0.0.1', done))
  origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true' } })
  realm = await Realm.create(app)
  twin = new Realm(await app.startSecondApp(), realm.tenant)
  agents = `${realm.tenant.I}/agents`
  await enable(true)
})
afterAll(async () => {
  await app.close()
  site.closeAllConnections()
  await new Promise((done) => site.close(done))
})

async function enable(enabled: boolean): Promise<void> {
  const settings = { security: { openid_policy: { client_assertions: { enabled } } } }
  expectStatus(await realm.tenant.owner.patch(realm.tenant.I, { settings }), 200)
}

async function createAgent(): Promise<string> {
  const body = { name: 'Clerk', scopes: ['stock:read'] }
  return expectStatus(await realm.tenant.owner.post(agents, body), 201).data.id
}

const addVerifier = async (agentId: string, body: object): Promise<AnyJson> =>
  expectStatus(await realm.tenant.owner.post(`${agents}/${agentId}/verifiers`, { name: null, ...body }), 201).data
const addKey = (agentId: string, key: ClientKey): Promise<AnyJson> =>
  addVerifier(agentId, { type: 'public_key', jwks: { keys: [key.jwk] } })

const assert = (agentId: string, key: ClientKey): string => signAssertion(key, agentId, realm.url)
const present = (assertion: string, at = realm, fields: Record<string, string> = {}): Promise<IdpResponse> =>
  at.postForm('/token', undefined, { grant_type: 'client_credentials', ...assertionFields(assertion), ...fields })

const refused = { status: 401, body: { error: 'invalid_client' } }

test('an agent gets a token of 5 minutes; the event names the method and the verifier whose key has signed', async () => {
  const id = await createAgent()
  const [first, second] = [createClientKey('ES256'), createClientKey('EdDSA')]
  await addKey(id, first)
  const verifier = await addKey(id, second)
  const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
  const response = await present(assert(id, second))
  expect(response).toMatchObject({ status: 200, body: { expires_in: 300, scope: 'stock:read', token_type: 'Bearer' } })
  const claims = jwtClaims(response.body.access_token)
  expect(claims).toMatchObject({ sub: id, client_id: id })
  expect(claims['amr']).toBeUndefined()
  const events = await readEvents('agent.')
  expect(events).toHaveLength(1)
  expect(events[0]).toMatchObject({
    type: 'agent.authentication.succeeded',
    agentId: id,
    actor: { type: 'agent', id, name: 'Clerk' },
    data: { method: 'public_key', verifier_id: verifier.id },
  })
  const { data } = expectStatus(await realm.tenant.owner.get(`${agents}/${id}/verifiers`), 200)
  expect(data.map((one: AnyJson) => [one.id === verifier.id, one.last_used_at !== null])).toEqual([
    [true, true],
    [false, false],
  ])
})

test('a refused assertion is an event with the method public_key, which contains no assertion', async () => {
  const id = await createAgent()
  const key = createClientKey()
  await addKey(id, key)
  const readEvents = await eventsRecordedFromNow(app, realm.tenant.accountId)
  const forged = withForgedSignature(assert(id, key))
  expect(await present(forged)).toMatchObject(refused)
  const [event] = await readEvents('agent.')
  expect(event).toMatchObject({
    type: 'agent.authentication.failed',
    agentId: id,
    data: { method: 'public_key', status: 'active' },
  })
  expect(JSON.stringify(event)).not.toContain(forged.split('.')[1])
})

test('an agent with a secret and public keys can use both; an agent without keys cannot use an assertion', async () => {
  const id = await createAgent()
  const key = createClientKey()
  const { secret } = await addVerifier(id, { type: 'secret' })
  expect(await present(assert(id, key))).toMatchObject(refused)
  await addKey(id, key)
  expect((await present(assert(id, key))).status).toBe(200)
  expect((await realm.postForm('/token', { id, secret }, { grant_type: 'client_credentials' })).status).toBe(200)
})

test('a removed verifier, a suspended agent and a disabled setting refuse the assertion at once in every process', async () => {
  const id = await createAgent()
  const [key, other] = [createClientKey(), createClientKey()]
  const verifier = await addKey(id, key)
  await addKey(id, other)
  for (const at of [realm, twin]) expect((await present(assert(id, key), at)).status).toBe(200)
  expectStatus(await realm.tenant.owner.delete(`${agents}/${id}/verifiers/${verifier.id}`), 204)
  for (const at of [realm, twin]) expect(await present(assert(id, key), at)).toMatchObject(refused)
  for (const at of [realm, twin]) expect((await present(assert(id, other), at)).status).toBe(200)
  const suspend = { status: 'suspended', status_reason: 'test' }
  expectStatus(await realm.tenant.owner.patch(`${agents}/${id}`, suspend), 200)
  for (const at of [realm, twin]) expect(await present(assert(id, other), at)).toMatchObject(refused)
  expectStatus(await realm.tenant.owner.patch(`${agents}/${id}`, { status: 'active' }), 200)
  await enable(false)
  for (const at of [realm, twin]) expect(await present(assert(id, other), at)).toMatchObject(refused)
  await enable(true)
  expect((await present(assert(id, other))).status).toBe(200)
})

test('an assertion is used once in all processes', async () => {
  const id = await createAgent()
  const key = createClientKey()
  await addKey(id, key)
  const assertion = assert(id, key)
  expect((await present(assertion)).status).toBe(200)
  expect(await present(assertion, twin)).toMatchObject(refused)
})

test('the keys of a jwks_uri authenticate the agent', async () => {
  const id = await createAgent()
  const key = createClientKey('RS256')
  published = [key.jwk]
  await addVerifier(id, { type: 'public_key', jwks_uri: `${origin}/cluster.json` })
  expect((await present(assert(id, key))).status).toBe(200)
  expect(await present(assert(id, createClientKey()))).toMatchObject(refused)
})

test('the agent can introspect and revoke its tokens with an assertion', async () => {
  const id = await createAgent()
  const key = createClientKey()
  await addKey(id, key)
  const { access_token: token } = (await present(assert(id, key))).body
  const post = (path: string) => realm.postForm(path, undefined, { token, ...assertionFields(assert(id, key)) })
  expect((await post('/introspect')).body).toMatchObject({ active: true, sub: id })
  expect((await post('/revoke')).status).toBe(200)
  expect((await post('/introspect')).body).toEqual({ active: false })
})

test('an assertion of an agent is not valid for another agent or client with the same key', async () => {
  const key = createClientKey()
  const [one, other] = [await createAgent(), await createAgent()]
  await addKey(one, key)
  await addKey(other, key)
  expect(await present(assert(one, key), realm, { client_id: other })).toMatchObject(refused)
})
