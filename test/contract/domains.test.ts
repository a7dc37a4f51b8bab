/**
 * Custom domains (docs/contract.md#domains-and-payments, docs/contract.md#domain-endpoints,
 * docs/contract.md#common-field-rules), with a local DNS server.
 */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { listen, notify } from '../../src/platform/postgres/notifications.js'
import { createAccount, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let dns: TestDns
let mine: Tenant
let theirs: Tenant

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ roles: ['core'], env: { DNS_RESOLVER: dns.address } })
  theirs = await createTenant(app, 'Theirs')
})
afterAll(async () => {
  await app.close()
  await dns.close()
})
// Each test gets an account of its own, because an account has at most 20 domains. Tests that need an issuer create one.
beforeEach(async () => {
  const { owner, accountId } = await createAccount(app, 'Mine')
  mine = { app, owner, accountId, A: `/v1/accounts/${accountId}`, issuerId: '', I: '' }
  dns.behavior = 'answers'
})

const newHost = () => `${uniqueName('login')}.example.com`
const add = async (tenant: Pick<Tenant, 'owner' | 'A'>, host = newHost()) =>
  expectStatus(await tenant.owner.post(`${tenant.A}/domains`, { host }), 201).data
const publish = ({ verification }: { verification: { name: string; value: string } }) =>
  dns.set(verification.name, verification.value)
const verified = async (tenant: Tenant, host = newHost()) => {
  const domain = await add(tenant, host)
  publish(domain)
  return expectStatus(await tenant.owner.post(`${tenant.A}/domains/${host}/verify`), 200).data
}

test('a domain is created unverified, with the TXT record that proves control', async () => {
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const response = await mine.owner.post(`${mine.A}/domains`, { host: 'Login.Example.ORG.' })
  expect(response.status).toBe(201)
  expect(response.body.data).toEqual({
    id: expect.stringMatching(/^dom_/),
    host: 'login.example.org',
    verified: false,
    verified_at: null,
    issuer_id: null,
    verification: {
      type: 'dns_txt',
      name: '_gatehouse-challenge.login.example.org',
      value: expect.stringMatching(/^gatehouse-verify=[0-9a-f]{32}$/),
    },
    created_at: expect.any(Number),
    updated_at: expect.any(Number),
  })
  expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
  const list = await mine.owner.get(`${mine.A}/domains`)
  expect(list.body).toEqual({ data: [response.body.data], next_cursor: null, has_more: false })
  const target = { type: 'domain', id: response.body.data.id }
  expect(await heard()).toMatchObject([{ type: 'domain.created', target, data: { host: 'login.example.org' } }])
})

test.each([
  ['an internationalized name is stored as A-labels', 'Bücher.example.com', 'xn--bcher-kva.example.com'],
  ['surrounding spaces and the root dot are removed', ' a.example.net. ', 'a.example.net'],
  ['a name below a public suffix is accepted', 'me.github.io', 'me.github.io'],
])('%s', async (_, host, stored) => {
  expect((await add(mine, host)).host).toBe(stored)
})

test.each([
  ['an empty name', '', 'invalid_format'],
  ['a single label', 'localhost', 'invalid_format'],
  ['an IPv4 address', '192.0.2.1', 'invalid_format'],
  ['an IPv4 address in hexadecimal', '0x7f.1', 'invalid_format'],
  ['an IPv6 address', '[2001:db8::1]', 'invalid_format'],
  ['a URL', 'https://example.com', 'invalid_format'],
  ['user information', 'user@example.com', 'invalid_format'],
  ['a path', 'example.com/x', 'invalid_format'],
  ['an encoded dot', 'example%2ecom', 'invalid_format'],
  ['a port', 'example.com:443', 'invalid_format'],
  ['a wildcard', '*.example.com', 'invalid_format'],
  ['an underscore', 'a_b.example.com', 'invalid_format'],
  ['an empty label', 'a..example.com', 'invalid_format'],
  ['a label of 64', `${'a'.repeat(64)}.example.com`, 'invalid_format'],
  ['more than 253 characters', `${'a.'.repeat(125)}example.com`, 'invalid_format'],
  ['a broken A-label', 'xn--a-.example.com', 'invalid_format'],
  ['a top-level domain of two labels', 'co.uk', 'public_suffix'],
  ['a private suffix of the public suffix list', 'github.io', 'public_suffix'],
  ['an international public suffix', 'xn--55qx5d.cn', 'public_suffix'],
])('%s is not a domain: 400', async (_, host, code) => {
  const response = await mine.owner.post(`${mine.A}/domains`, { host })
  expect(response.status).toBe(400)
  expect(response.body.details).toMatchObject([{ field: 'host', code }])
})

test('a body without host, with an unknown field or with a wrong type is 400 with the field', async () => {
  const fields = async (body: object) => {
    const response = await mine.owner.post(`${mine.A}/domains`, body)
    expect(response.status).toBe(400)
    return response.body.details.map(({ field, code }: { field: string; code: string }) => [field, code])
  }
  expect(await fields({})).toEqual([['host', 'required']])
  expect(await fields({ host: 5 })).toEqual([['host', 'invalid_type']])
  expect(await fields({ host: newHost(), verified: true })).toEqual([['verified', 'unknown_field']])
})

test('the same host twice is 409; another account may have it too until one of them verifies it', async () => {
  const host = newHost()
  await add(mine, host)
  expect((await mine.owner.post(`${mine.A}/domains`, { host: host.toUpperCase() })).status).toBe(409)
  const { owner, accountId } = await createAccount(app)
  const other = { ...mine, owner, accountId, A: `/v1/accounts/${accountId}` }
  await add(other, host)
  publish((await other.owner.get(`${other.A}/domains`)).body.data[0])
  expect((await other.owner.post(`${other.A}/domains/${host}/verify`)).status).toBe(200)
  const late = await createAccount(app)
  expect((await late.owner.post(`/v1/accounts/${late.accountId}/domains`, { host })).status).toBe(409)
  const response = await mine.owner.post(`${mine.A}/domains/${host}/verify`)
  expect(response.status).toBe(409)
  expect(response.text).not.toContain(other.accountId)
})

test('20 domains per account: the 21st is 400, also under 20 parallel POSTs', async () => {
  for (let n = 0; n < 5; n++) await add(mine)
  const responses = await Promise.all(
    Array.from({ length: 20 }, () => mine.owner.post(`${mine.A}/domains`, { host: newHost() })),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([...Array(15).fill(201), ...Array(5).fill(400)])
  expect((await mine.owner.get(`${mine.A}/domains`)).body.data).toHaveLength(20)
  const [{ id }] = (await mine.owner.get(`${mine.A}/domains`)).body.data
  expectStatus(await mine.owner.delete(`${mine.A}/domains/${id}`), 204)
  await add(mine)
})

test('of 20 parallel POSTs of the same host one succeeds, the others are 409', async () => {
  const host = newHost()
  const responses = await Promise.all(Array.from({ length: 20 }, () => mine.owner.post(`${mine.A}/domains`, { host })))
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
})

test('the list is newest first, in pages', async () => {
  const hosts = [newHost(), newHost(), newHost()]
  for (const host of hosts) await add(mine, host)
  const one = (await mine.owner.get(`${mine.A}/domains?limit=2`)).body
  const two = (await mine.owner.get(`${mine.A}/domains?limit=2&cursor=${one.next_cursor}`)).body
  expect([...one.data, ...two.data].map(({ host }) => host)).toEqual([...hosts].reverse())
  expect([one.has_more, two.has_more, two.next_cursor]).toEqual([true, false, null])
  expect((await mine.owner.get(`${mine.A}/domains?limit=101`)).status).toBe(400)
  expect((await mine.owner.get(`${mine.A}/domains?cursor=usr_x`)).status).toBe(400)
})

test('verify: unverified to verified; the TXT record is looked up at the configured name server', async () => {
  const domain = await add(mine)
  const path = `${mine.A}/domains/${domain.host}/verify`
  const missing = await mine.owner.post(path)
  expect(missing.status).toBe(400)
  expect(missing.body.error_description).toContain(domain.verification.name)
  expect(dns.queriedNames).toContain(domain.verification.name)

  dns.set(domain.verification.name, 'v=spf1 -all', `x${domain.verification.value}`)
  expect((await mine.owner.post(path)).status).toBe(400)

  const { value } = domain.verification
  dns.set(domain.verification.name, 'something else', [value.slice(0, 20), value.slice(20)])
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const good = await mine.owner.post(path)
  expect(good.status).toBe(200)
  expect(good.body.data).toMatchObject({ id: domain.id, verified: true, verified_at: expect.any(Number) })
  expect(good.body.data.updated_at).toBeGreaterThan(domain.updated_at)
  expect(await heard()).toMatchObject([{ type: 'domain.verified', target: { type: 'domain', id: domain.id } }])
})

test('verifying a verified domain again is 200 and changes nothing, regardless of the record', async () => {
  const domain = await verified(mine)
  dns.set(domain.verification.name, 'gone')
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const again = await mine.owner.post(`${mine.A}/domains/${domain.id}/verify`)
  expect(again.status).toBe(200)
  expect(again.body.data).toEqual(domain)
  expect(await heard()).toEqual([])
})

test('of two accounts that verify one host in parallel one succeeds, the other gets 409', async () => {
  for (let round = 0; round < 3; round++) {
    const host = newHost()
    const [one, other] = [await add(mine, host), await add(theirs, host)]
    dns.set(one.verification.name, one.verification.value, other.verification.value)
    const responses = await Promise.all([mine, theirs].map(({ owner, A }) => owner.post(`${A}/domains/${host}/verify`)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409])
  }
})

test('a name server that fails or does not respond is 400 within seconds, never 5xx', async () => {
  const domain = await add(mine)
  const path = `${mine.A}/domains/${domain.id}/verify`
  dns.behavior = 'fails'
  expect((await mine.owner.post(path)).status).toBe(400)
  dns.behavior = 'silent'
  const began = performance.now()
  expect((await mine.owner.post(path)).status).toBe(400)
  expect(performance.now() - began).toBeLessThan(6500)
})

test('with an Idempotency-Key, the DNS query to an unresponsive name server keeps no transaction open', async () => {
  const domain = await add(mine)
  dns.behavior = 'silent'
  const path = `${mine.A}/domains/${domain.id}/verify`
  const verification = mine.owner.post(path, undefined, { 'idempotency-key': domain.id })
  await waitUntil('the name server has received the query', () => dns.queriedNames.includes(domain.verification.name))
  const text = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state ~ '^idle in trans'`
  expect(await app.gatehouse.database.query('', text, [])).toEqual([])
  expect((await verification).status).toBe(400)
})

test('assign: verified to assigned, to an issuer of the same account, also from one issuer to another', async () => {
  mine = await createTenant(app)
  const domain = await verified(mine)
  const path = `${mine.A}/domains/${domain.host}`
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const notifications: string[] = []
  const subscription = listen(app.gatehouse.database, app.gatehouse.log, {
    onNotification: (topic, id) => notifications.push(`${topic}:${id}`),
    onReconnect: () => {},
  })
  await waitUntil('the listener is connected', () => subscription.connected())
  const assigned = await mine.owner.post(`${path}/assign`, { issuer_id: mine.issuerId })
  expect(assigned.status).toBe(200)
  expect(assigned.body.data).toMatchObject({ id: domain.id, verified: true, issuer_id: mine.issuerId })

  const second = expectStatus(await mine.owner.post(`${mine.A}/issuers`, { name: 'Second' }), 201).data
  const moved = await mine.owner.post(`${path}/assign`, { issuer_id: second.id })
  expect(moved.body.data.issuer_id).toBe(second.id)
  const same = await mine.owner.post(`${path}/assign`, { issuer_id: second.id })
  expect(same.body.data).toEqual(moved.body.data)

  const unassigned = await mine.owner.post(`${path}/unassign`)
  expect(unassigned.status).toBe(200)
  expect(unassigned.body.data).toMatchObject({ verified: true, issuer_id: null })
  expect((await mine.owner.post(`${path}/unassign`)).status).toBe(400)
  expect((await heard('domain')).map(({ type, issuerId }) => [type, issuerId])).toEqual([
    ['domain.assigned', mine.issuerId],
    ['domain.unassigned', mine.issuerId],
    ['domain.assigned', second.id],
    ['domain.unassigned', second.id],
  ])
  // Each change notifies the processes of the IdP, because the URLs of an issuer depend on its domains.
  await notify(systemContext(app.gatehouse), 'spare_keys', 'last')
  await waitUntil('the last notification has arrived', () => notifications.includes('spare_keys:last'))
  await subscription.close()
  const expected = [mine.issuerId, mine.issuerId, second.id, second.id].map((id) => `issuer:${id}`)
  expect(notifications.filter((text) => text.startsWith('issuer:'))).toEqual(expected)
})

test('unassign: assigned to verified; the domain can be assigned again, and a second unassign is 400', async () => {
  mine = await createTenant(app)
  const domain = await verified(mine)
  const path = `${mine.A}/domains/${domain.host}`
  const body = { issuer_id: mine.issuerId }
  expectStatus(await mine.owner.post(`${path}/assign`, body), 200)
  const { data } = expectStatus(await mine.owner.post(`${path}/unassign`), 200)
  expect(data).toMatchObject({ verified: true, issuer_id: null })
  expectStatus(await mine.owner.post(`${path}/unassign`), 400)
  expect(expectStatus(await mine.owner.post(`${path}/assign`, body), 200).data.issuer_id).toBe(mine.issuerId)
})

test('assigning requires a verified domain (400) and an existing issuer of the same account (404)', async () => {
  mine = await createTenant(app)
  const unverified = await add(mine)
  const body = { issuer_id: mine.issuerId }
  expect((await mine.owner.post(`${mine.A}/domains/${unverified.id}/assign`, body)).status).toBe(400)
  const domain = await verified(mine)
  const path = `${mine.A}/domains/${domain.id}/assign`
  expect((await mine.owner.post(path, {})).body.details).toMatchObject([{ field: 'issuer_id', code: 'required' }])
  const foreign = await mine.owner.post(path, { issuer_id: theirs.issuerId })
  const unknown = await mine.owner.post(path, { issuer_id: `iss_${'0'.repeat(26)}` })
  expect(foreign.status).toBe(404)
  expect({ ...foreign.body, request_id: '' }).toEqual({ ...unknown.body, request_id: '' })
  expectStatus(await mine.owner.delete(mine.I), 204)
  expect((await mine.owner.post(path, body)).status).toBe(404)
})

test('deleting an issuer unassigns its domains', async () => {
  mine = await createTenant(app)
  const domain = await verified(mine)
  expectStatus(await mine.owner.post(`${mine.A}/domains/${domain.id}/assign`, { issuer_id: mine.issuerId }), 200)
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  expectStatus(await mine.owner.delete(mine.I), 204)
  const [after] = (await mine.owner.get(`${mine.A}/domains`)).body.data
  expect(after).toMatchObject({ verified: true, issuer_id: null })
  expect((await heard('domain')).map(({ type }) => type)).toEqual(['domain.unassigned'])
})

test('DELETE removes a domain and its assignment by host or id; a second DELETE is 404', async () => {
  mine = await createTenant(app)
  const domain = await verified(mine)
  expectStatus(await mine.owner.post(`${mine.A}/domains/${domain.id}/assign`, { issuer_id: mine.issuerId }), 200)
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  const path = `${mine.A}/domains/${domain.host.toUpperCase()}`
  expect((await mine.owner.delete(path)).status).toBe(204)
  expect((await mine.owner.delete(path)).status).toBe(404)
  expect(await heard()).toMatchObject([{ type: 'domain.deleted', data: { host: domain.host } }])
  // Another account can now add and verify the host.
  await verified(theirs, domain.host)
})

test('domains of another account and unknown hosts are the same 404', async () => {
  mine = await createTenant(app)
  const foreign = await add(theirs)
  for (const name of [foreign.id, foreign.host, newHost(), `dom_${'0'.repeat(26)}`, '%20', 'a%2Fb', '..%2f']) {
    for (const action of ['verify', 'assign', 'unassign']) {
      const body = action === 'assign' ? { issuer_id: mine.issuerId } : undefined
      const response = await mine.owner.post(`${mine.A}/domains/${name}/${action}`, body)
      expect({ name, action, status: response.status }).toEqual({ name, action, status: 404 })
    }
    expect((await mine.owner.delete(`${mine.A}/domains/${name}`)).status).toBe(404)
  }
})

test('PATCH of an account with domains records an event for each added and removed domain', async () => {
  const [old, kept, created] = [await add(mine), await add(mine), newHost()]
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  expectStatus(await mine.owner.patch(mine.A, { domains: [{ host: kept.host }, { host: created }] }), 200)
  expect((await heard('domain')).map(({ type, data }) => [type, data.host])).toEqual([
    ['domain.deleted', old.host],
    ['domain.created', created],
  ])
  expect((await mine.owner.patch(mine.A, { domains: [{ host: 'co.uk' }] })).body.details).toMatchObject([
    { field: 'domains[0].host', code: 'public_suffix' },
  ])
})

test('GraphQL returns the same list and the same errors as /v1', async () => {
  const domain = await add(mine)
  const ask = `query ($a: ID!) { domains(accountId: $a) { data { host verification { name value } } hasMore } }`
  const { body } = await mine.owner.graphql(ask, { a: mine.accountId })
  const { name, value } = domain.verification
  expect(body.data.domains).toEqual({ data: [{ host: domain.host, verification: { name, value } }], hasMore: false })
  const make = `mutation ($a: ID!) { createDomain(accountId: $a, input: { host: "co.uk" }) { id } }`
  const refused = await mine.owner.graphql(make, { a: mine.accountId })
  expect(refused.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
})
