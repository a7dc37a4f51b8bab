import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createMachineClient, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, createApiClient } from '../setup/api.js'
import { assertionFields, createClientKey, signAssertion } from '../setup/client-assertions.js'
import { createTestDatabase, testSecretKey } from '../setup/database.js'
import { createProofKey } from '../setup/dpop.js'
import { subscribe } from '../setup/event-stream.js'
import { type GatehouseProcess, runCli, startProcess, stopProcess } from '../setup/process.js'
import type { TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let database: { url: string; drop(): Promise<void> }
let one: GatehouseProcess
let other: GatehouseProcess
let tenant: Tenant

beforeAll(async () => {
  database = await createTestDatabase()
  const limits = JSON.stringify({
    core_read: { quota: 100_000, window: 60 },
    core_write: { quota: 100_000, window: 60 },
  })
  const env = { DATABASE_URL: database.url, SECRET_KEY: testSecretKey, RATE_LIMITS: limits }
  one = await startProcess(env)
  const { PORT: _, IDP_PORT: __, ...shared } = one.env
  other = await startProcess(shared)
  tenant = await createTenant(one as unknown as TestApp, 'Shared')
})
afterAll(async () => {
  await Promise.all([stopProcess(one), stopProcess(other)])
  await database.drop()
})

/** Returns a client with the same API key that sends requests to the process `other`. */
const atSecondProcess = (authorization: string | undefined) => {
  const [id = '', ...rest] = Buffer.from(authorization!.slice(6), 'base64').toString().split(':')
  return createApiClient(`http://127.0.0.1:${other.env['PORT']}`, { id, secret: rest.join(':') })
}

test('a write that one process acknowledged is immediately visible in the other process', async () => {
  const { data } = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Seen' }), 201)
  const seen = expectStatus(
    await atSecondProcess(tenant.owner.authorization).get(`${tenant.A}/issuers/${data.id}`),
    200,
  )
  expect(seen.data).toEqual(data)
})

test('blocking, unblocking and revoking an API key in one process takes effect immediately in the other', async () => {
  const { data } = expectStatus(await tenant.owner.post(`${tenant.A}/api-keys`, { name: 'k', restrictions: {} }), 201)
  const apiOfOther = createApiClient(`http://127.0.0.1:${other.env['PORT']}`, {
    id: data.id,
    secret: data.secret_plain,
  })
  for (const [action, status] of [
    ['block', 401],
    ['unblock', 200],
    ['revoke', 401],
  ] as const) {
    expectStatus(await apiOfOther.get(tenant.A), action === 'unblock' ? 401 : 200)
    expectStatus(await tenant.owner.post(`${tenant.A}/api-keys/${data.id}/${action}`), 200)
    expectStatus(await apiOfOther.get(tenant.A), status)
  }
})

test('a process returns the response that another process stored for an Idempotency-Key', async () => {
  const send = (api = tenant.owner) =>
    api.post(`${tenant.A}/issuers`, { name: 'Once' }, { 'idempotency-key': 'both-processes' })
  const first = expectStatus(await send(), 201)
  const again = await send(atSecondProcess(tenant.owner.authorization))
  expect(again.body).toEqual(first)
  expect(again.headers.get('idempotent-replayed')).toBe('true')
})

test('of 20 parallel uses of a client assertion at both processes exactly one succeeds', async () => {
  const settings = { security: { openid_policy: { client_assertions: { enabled: true } } } }
  expectStatus(await tenant.owner.patch(tenant.I, { settings }), 200)
  const key = createClientKey()
  const openid = { application_type: 'm2m', token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [key.jwk] } }
  const body = { name: 'Machine', type: 'internal', confidential: true, settings: { openid } }
  const { id } = expectStatus(await tenant.owner.post(`${tenant.I}/clients`, body), 201).data
  const urls = [one, other].map(({ env }) => `http://127.0.0.1:${env['IDP_PORT']}/${tenant.issuerId}`)
  const form = { grant_type: 'client_credentials', ...assertionFields(signAssertion(key, id, urls[0]!)) }
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, at) =>
      fetch(`${urls[at % 2]}/token`, { method: 'POST', body: new URLSearchParams(form) }),
    ),
  )
  const statuses = responses.map(({ status }) => status)
  expect(statuses.filter((status) => status === 200)).toHaveLength(1)
  // Some failures exceed the limit of failed authentications.
  expect(statuses.filter((status) => status === 401 || status === 429)).toHaveLength(19)
})

test('neither IdP serves an issuer that one process deleted', async () => {
  const { data } = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Gone soon' }), 201)
  const documents = [one.env['IDP_PORT'], other.env['IDP_PORT']].map(
    (port) => `http://127.0.0.1:${port}/${data.id}/.well-known/openid-configuration`,
  )
  for (const url of documents) expect((await fetch(url)).status).toBe(200)
  expectStatus(await tenant.owner.delete(`${tenant.A}/issuers/${data.id}`), 204)
  for (const url of documents) {
    await waitUntil('the deleted issuer is 404', async () => (await fetch(url)).status === 404)
  }
})

test('two processes share the limit for wrong client secrets, each logs its refused requests, and together they record one event', async () => {
  const { owner, I, accountId } = tenant
  const body = { name: 'Web', type: 'external', confidential: true, settings: {} }
  const { data: client } = expectStatus(await owner.post(`${I}/clients`, body), 201)
  const detail = 'invalid secret provided'
  const statuses = await Promise.all(
    Array.from({ length: 40 }, async (_, at) => {
      const port = (at % 2 === 0 ? one : other).env['IDP_PORT']
      const form = new URLSearchParams({ token: 'x', client_id: client.id, client_secret: 'wrong-secret-of-a-guess' })
      return (await fetch(`http://127.0.0.1:${port}/${I.split('/').at(-1)}/introspect`, { method: 'POST', body: form }))
        .status
    }),
  )
  expect([
    statuses.filter((status) => status === 401).length,
    statuses.filter((status) => status === 429).length,
  ]).toEqual([10, 30])
  const events = async () =>
    expectStatus(await owner.get(`${tenant.A}/events?event_types=token.denied&client_id=${client.id}`), 200).data
  await waitUntil('the event is recorded', async () => (await events()).length > 0)
  expect(await events()).toMatchObject([
    { account_id: accountId, client_id: client.id, data: { error_detail: detail } },
  ])
  const lines = [one, other].flatMap((process) =>
    process
      .output()
      .split('\n')
      .filter((line) => line.includes(client.id) && line.includes(detail))
      .map((line) => JSON.parse(line)),
  )
  expect(lines).toHaveLength(10)
  for (const line of lines)
    expect(line).toMatchObject({
      level: 30,
      request_id: expect.stringMatching(/^req_/),
      endpoint: 'introspect',
      error: 'invalid_client',
      error_description: 'client authentication failed',
    })
  expect(`${one.output()}${other.output()}`).not.toContain('wrong-secret-of-a-guess')
})

test('of 20 parallel requests with one DPoP proof at two processes one succeeds, at the token endpoint and at the Core API', async () => {
  const { owner, I, issuerId } = tenant
  const settings = {
    openid: { application_type: 'm2m', grant_types: ['client_credentials'], allowed_resources: [one.baseUrl] },
    scopes: ['issuers.users:read'],
  }
  const body = { name: 'Bound', type: 'internal', confidential: true, settings }
  const { id, secret } = expectStatus(await owner.post(`${I}/clients`, body), 201).data
  const key = await createProofKey()
  const replay = (portName: 'PORT' | 'IDP_PORT', path: string, init: RequestInit) =>
    Promise.all(
      Array.from({ length: 20 }, (_, at) =>
        fetch(`http://127.0.0.1:${(at % 2 === 0 ? one : other).env[portName]}${path}`, init),
      ),
    )
  const tokenResponses = await replay('IDP_PORT', `/${issuerId}/token`, {
    method: 'POST',
    headers: {
      authorization: `Basic ${btoa(`${id}:${secret}`)}`,
      dpop: await key.prove('POST', `${one.idpUrl}/${issuerId}/token`),
    },
    body: new URLSearchParams({ grant_type: 'client_credentials', resource: one.baseUrl }),
  })
  const bodies = (await Promise.all(tokenResponses.map((response) => response.json()))) as AnyJson[]
  const tokens = bodies.flatMap(({ access_token }) => access_token ?? [])
  expect(tokens).toHaveLength(1)
  expect(bodies.filter(({ error }) => error === 'invalid_dpop_proof')).toHaveLength(19)

  const dpop = await key.prove('GET', `${one.baseUrl}${I}/users`, { accessToken: tokens[0] })
  const responses = await replay('PORT', `${I}/users`, { headers: { authorization: `DPoP ${tokens[0]}`, dpop } })
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(401)])
})

test('after one process removed a scope, the other process refuses the next request with insufficient_scope', async () => {
  const { owner, A, I } = tenant
  const machine = await createMachineClient(tenant, ['issuers.users:read', 'issuers.clients:read'])
  const apiOfOther = createApiClient(`http://127.0.0.1:${other.env['PORT']}`, machine.authorization!.slice(7))
  const { data: clients } = expectStatus(await owner.get(`${I}/clients`), 200)
  const client = clients.find(({ name }: { name: string }) => name === 'Machine')
  expectStatus(await apiOfOther.get(`${I}/users`), 200)
  expectStatus(await owner.patch(`${I}/clients/${client.id}`, { settings: { scopes: ['issuers.clients:read'] } }), 200)
  const refused = await apiOfOther.get(`${I}/users`)
  expectStatus(refused, 403)
  expect(refused.headers.get('www-authenticate')).toContain('scope="issuers.users:read"')

  const { data: key } = expectStatus(await owner.post(`${A}/api-keys`, { name: 'narrow', restrictions: {} }), 201)
  const byKey = createApiClient(`http://127.0.0.1:${other.env['PORT']}`, { id: key.id, secret: key.secret_plain })
  expectStatus(await byKey.patch(I, { name: 'Renamed' }), 200)
  expectStatus(await owner.patch(`${A}/api-keys/${key.id}`, { restrictions: { scopes: ['issuers.users:read'] } }), 200)
  expectStatus(await byKey.patch(I, { name: 'Renamed again' }), 403)
})

test('redirect URI rules that one process changed apply in the other process', async () => {
  const { owner, I } = tenant
  const client = {
    name: 'Local',
    type: 'external',
    confidential: false,
    settings: { openid: { application_type: 'native', redirect_uris: ['http://127.0.0.1/cb'] } },
  }
  expectStatus(await atSecondProcess(owner.authorization).post(`${I}/clients`, client), 201)
  const rules = { allow_loopback: false, allow_private_use_schemes: true, allowed_hosts: null }
  expectStatus(await owner.patch(I, { settings: { security: { redirect_uri_rules: rules } } }), 200)
  const refused = expectStatus(await atSecondProcess(owner.authorization).post(`${I}/clients`, client), 400)
  expect(refused.details[0].field).toContain('redirect_uris')
})

test('both processes serve the same signing keys, also after a third process ran keys rotate --now', async () => {
  const { issuerId } = tenant
  const kids = async (port: string | undefined) => {
    const { keys } = (await (await fetch(`http://127.0.0.1:${port}/${issuerId}/jwks.json`)).json()) as {
      keys: { kid: string }[]
    }
    return keys.map(({ kid }) => kid).sort()
  }
  const before = await kids(one.env['IDP_PORT'])
  expect(await kids(other.env['IDP_PORT'])).toEqual(before)
  const { code, output } = await runCli(['keys', 'rotate', '--now', '--issuer', issuerId], one.env)
  expect([code, output]).toEqual([0, expect.any(String)])
  const both = async () => [await kids(one.env['IDP_PORT']), await kids(other.env['IDP_PORT'])]
  await waitUntil('both processes serve only new keys', async () =>
    (await both()).every((set) => set.every((kid) => !before.includes(kid))),
  )
  const [here, there] = await both()
  expect(there).toEqual(here)
})

test('events of one process reach subscribers of the other, and after a kill the first process resumes at Last-Event-ID', async () => {
  const change = async (description: string) => expectStatus(await tenant.owner.patch(tenant.A, { description }), 200)
  const otherEnv = { ...other.env }
  const types = ['account.updated']
  const there = await subscribe(atSecondProcess(tenant.owner.authorization), tenant.accountId, { types })
  for (let n = 0; n < 3; n++) await change(`before ${n}`)
  const receivedIds = (await there.waitForEvents(3)).map(({ id }) => id)
  await stopProcess(other, 'SIGKILL')
  await there.ended
  for (let n = 0; n < 3; n++) await change(`after ${n}`)
  const here = await subscribe(tenant.owner, tenant.accountId, { types, lastEventId: receivedIds.at(-1) })
  const rest = (await here.waitForEvents(3)).map(({ id }) => id)
  here.close()
  const { data } = expectStatus(await tenant.owner.get(`${tenant.A}/events?event_types=account.updated`), 200)
  expect([...receivedIds, ...rest]).toEqual(data.map(({ id }: { id: string }) => id).reverse())
  other = await startProcess(otherEnv)
})
