/** Custom domains (spec 2.16, 4.3, section 3, decisions D27), with a real name server. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { listen } from '../../src/platform/notify.js'
import { makeAccount, makeTenant, must, type Tenant } from '../setup/actors.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { listenTo } from '../setup/events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh } from './world.js'

let app: TestApp
let dns: TestDns
let mine: Tenant
let theirs: Tenant

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ roles: ['core'], env: { DNS_RESOLVER: dns.address } })
  theirs = await makeTenant(app, 'Theirs')
})
afterAll(async () => {
  await app.close()
  await dns.close()
})
// An account has room for 20: each test gets its own, without an issuer unless it makes one.
beforeEach(async () => {
  const { owner, accountId } = await makeAccount(app, 'Mine')
  mine = { app, owner, accountId, A: `/v1/accounts/${accountId}`, issuerId: '', I: '' }
  dns.mood = 'answers'
})

const newHost = () => `${fresh('login')}.example.com`
const add = async (tenant: Pick<Tenant, 'owner' | 'A'>, host = newHost()) =>
  must(await tenant.owner.post(`${tenant.A}/domains`, { host }), 201).data
const publish = ({ verification }: { verification: { name: string; value: string } }) =>
  dns.set(verification.name, verification.value)
const verified = async (tenant: Tenant, host = newHost()) => {
  const domain = await add(tenant, host)
  publish(domain)
  return must(await tenant.owner.post(`${tenant.A}/domains/${host}/verify`), 200).data
}

test('a domain is added unverified, with the TXT record that proves control', async () => {
  const heard = await listenTo(app, mine.accountId)
  const answer = await mine.owner.post(`${mine.A}/domains`, { host: 'Login.Example.ORG.' })
  expect(answer.status).toBe(201)
  expect(answer.body.data).toEqual({
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
  expect(answer.headers.get('etag')).toBe(`"${answer.body.data.updated_at}"`)
  const list = await mine.owner.get(`${mine.A}/domains`)
  expect(list.body).toEqual({ data: [answer.body.data], next_cursor: null, has_more: false })
  const target = { type: 'domain', id: answer.body.data.id }
  expect(await heard()).toMatchObject([{ type: 'domain.created', target, data: { host: 'login.example.org' } }])
})

test.each([
  ['an international name is stored as A-labels', 'Bücher.example.com', 'xn--bcher-kva.example.com'],
  ['spaces around it and the root dot do not count', ' a.example.net. ', 'a.example.net'],
  ['a name below a public suffix is a name', 'me.github.io', 'me.github.io'],
])('%s', async (_, host, stored) => {
  expect((await add(mine, host)).host).toBe(stored)
})

test.each([
  ['no name', '', 'invalid_format'],
  ['a single label', 'localhost', 'invalid_format'],
  ['an IPv4 address', '192.0.2.1', 'invalid_format'],
  ['an IPv4 address in hexadecimal', '0x7f.1', 'invalid_format'],
  ['an IPv6 address', '[2001:db8::1]', 'invalid_format'],
  ['a URL', 'https://example.com', 'invalid_format'],
  ['a user', 'user@example.com', 'invalid_format'],
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
  ['a suffix that a company gives out names below', 'github.io', 'public_suffix'],
  ['an international public suffix', 'xn--55qx5d.cn', 'public_suffix'],
])('%s is no domain: 400', async (_, host, code) => {
  const answer = await mine.owner.post(`${mine.A}/domains`, { host })
  expect(answer.status).toBe(400)
  expect(answer.body.details).toMatchObject([{ field: 'host', code }])
})

test('a body without host, with an unknown field or of a wrong type is 400 with the field', async () => {
  const fields = async (body: object) => {
    const answer = await mine.owner.post(`${mine.A}/domains`, body)
    expect(answer.status).toBe(400)
    return answer.body.details.map(({ field, code }: { field: string; code: string }) => [field, code])
  }
  expect(await fields({})).toEqual([['host', 'required']])
  expect(await fields({ host: 5 })).toEqual([['host', 'invalid_type']])
  expect(await fields({ host: newHost(), verified: true })).toEqual([['verified', 'unknown_field']])
})

test('the same host twice is 409; in another account it may stand as long as nobody has verified it', async () => {
  const host = newHost()
  await add(mine, host)
  expect((await mine.owner.post(`${mine.A}/domains`, { host: host.toUpperCase() })).status).toBe(409)
  const { owner, accountId } = await makeAccount(app)
  const other = { ...mine, owner, accountId, A: `/v1/accounts/${accountId}` }
  await add(other, host)
  publish((await other.owner.get(`${other.A}/domains`)).body.data[0])
  expect((await other.owner.post(`${other.A}/domains/${host}/verify`)).status).toBe(200)
  const late = await makeAccount(app)
  expect((await late.owner.post(`/v1/accounts/${late.accountId}/domains`, { host })).status).toBe(409)
  const answer = await mine.owner.post(`${mine.A}/domains/${host}/verify`)
  expect(answer.status).toBe(409)
  expect(answer.text).not.toContain(other.accountId)
})

test('20 domains per account: the 21st is 400, also under 20 parallel POSTs', async () => {
  for (let n = 0; n < 5; n++) await add(mine)
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => mine.owner.post(`${mine.A}/domains`, { host: newHost() })),
  )
  expect(answers.map(({ status }) => status).sort()).toEqual([...Array(15).fill(201), ...Array(5).fill(400)])
  expect((await mine.owner.get(`${mine.A}/domains`)).body.data).toHaveLength(20)
  const [{ id }] = (await mine.owner.get(`${mine.A}/domains`)).body.data
  must(await mine.owner.delete(`${mine.A}/domains/${id}`), 204)
  await add(mine)
})

test('one of 20 parallel POSTs of the same host is made, the rest are 409', async () => {
  const host = newHost()
  const answers = await Promise.all(Array.from({ length: 20 }, () => mine.owner.post(`${mine.A}/domains`, { host })))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
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

test('unverified | verify | verified: the TXT record is asked for at the configured name server', async () => {
  const domain = await add(mine)
  const path = `${mine.A}/domains/${domain.host}/verify`
  const missing = await mine.owner.post(path)
  expect(missing.status).toBe(400)
  expect(missing.body.error_description).toContain(domain.verification.name)
  expect(dns.asked).toContain(domain.verification.name)

  dns.set(domain.verification.name, 'v=spf1 -all', `x${domain.verification.value}`)
  expect((await mine.owner.post(path)).status).toBe(400)

  const { value } = domain.verification
  dns.set(domain.verification.name, 'something else', [value.slice(0, 20), value.slice(20)])
  const heard = await listenTo(app, mine.accountId)
  const good = await mine.owner.post(path)
  expect(good.status).toBe(200)
  expect(good.body.data).toMatchObject({ id: domain.id, verified: true, verified_at: expect.any(Number) })
  expect(good.body.data.updated_at).toBeGreaterThan(domain.updated_at)
  expect(await heard()).toMatchObject([{ type: 'domain.verified', target: { type: 'domain', id: domain.id } }])
})

test('verifying a verified domain again is 200 and changes nothing, whatever the record says', async () => {
  const domain = await verified(mine)
  dns.set(domain.verification.name, 'gone')
  const heard = await listenTo(app, mine.accountId)
  const again = await mine.owner.post(`${mine.A}/domains/${domain.id}/verify`)
  expect(again.status).toBe(200)
  expect(again.body.data).toEqual(domain)
  expect(await heard()).toEqual([])
})

test('of two accounts that verify one host at the same moment one gets it, the other 409', async () => {
  for (let round = 0; round < 3; round++) {
    const host = newHost()
    const [one, other] = [await add(mine, host), await add(theirs, host)]
    dns.set(one.verification.name, one.verification.value, other.verification.value)
    const answers = await Promise.all([mine, theirs].map(({ owner, A }) => owner.post(`${A}/domains/${host}/verify`)))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409])
  }
})

test('a name server that fails or is silent is 400 within seconds, never 5xx', async () => {
  const domain = await add(mine)
  const path = `${mine.A}/domains/${domain.id}/verify`
  dns.mood = 'fails'
  expect((await mine.owner.post(path)).status).toBe(400)
  dns.mood = 'silent'
  const began = performance.now()
  expect((await mine.owner.post(path)).status).toBe(400)
  expect(performance.now() - began).toBeLessThan(6500)
})

test('with an Idempotency-Key, the question to a silent name server holds no transaction open', async () => {
  const domain = await add(mine)
  dns.mood = 'silent'
  const path = `${mine.A}/domains/${domain.id}/verify`
  const verdict = mine.owner.post(path, undefined, { 'idempotency-key': domain.id })
  while (!dns.asked.includes(domain.verification.name)) await sleep(10)
  const text = `SELECT query FROM pg_stat_activity WHERE datname = current_database() AND state ~ '^idle in trans'`
  expect(await app.gatehouse.tools.query('', text, [])).toEqual([])
  expect((await verdict).status).toBe(400)
})

test('verified | assign | assigned: to an issuer of the same account, also from one to another', async () => {
  mine = await makeTenant(app)
  const domain = await verified(mine)
  const path = `${mine.A}/domains/${domain.host}`
  const heard = await listenTo(app, mine.accountId)
  const notices: string[] = []
  const subscription = listen(app.gatehouse.tools, app.gatehouse.log, {
    onNotice: (topic, id) => notices.push(`${topic}:${id}`),
    onReconnect: () => {},
  })
  while (!subscription.connected()) await new Promise((done) => setTimeout(done, 5))
  const assigned = await mine.owner.post(`${path}/assign`, { issuer_id: mine.issuerId })
  expect(assigned.status).toBe(200)
  expect(assigned.body.data).toMatchObject({ id: domain.id, verified: true, issuer_id: mine.issuerId })

  const second = must(await mine.owner.post(`${mine.A}/issuers`, { name: 'Second' }), 201).data
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
  // The IdP hears of it: its addresses depend on it.
  await new Promise((done) => setTimeout(done, 200))
  await subscription.close()
  const expected = [mine.issuerId, mine.issuerId, second.id, second.id].map((id) => `issuer:${id}`)
  expect(notices.filter((notice) => notice.startsWith('issuer:'))).toEqual(expected)
})

test('assigned | unassign | verified, unassigned: it can be assigned again, and twice is 400', async () => {
  mine = await makeTenant(app)
  const domain = await verified(mine)
  const path = `${mine.A}/domains/${domain.host}`
  const body = { issuer_id: mine.issuerId }
  must(await mine.owner.post(`${path}/assign`, body), 200)
  const { data } = must(await mine.owner.post(`${path}/unassign`), 200)
  expect(data).toMatchObject({ verified: true, issuer_id: null })
  must(await mine.owner.post(`${path}/unassign`), 400)
  expect(must(await mine.owner.post(`${path}/assign`, body), 200).data.issuer_id).toBe(mine.issuerId)
})

test('assigning asks for a verified domain (400) and a living issuer of the same account (404)', async () => {
  mine = await makeTenant(app)
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
  must(await mine.owner.delete(mine.I), 204)
  expect((await mine.owner.post(path, body)).status).toBe(404)
})

test('deleting an issuer takes its domains from it', async () => {
  mine = await makeTenant(app)
  const domain = await verified(mine)
  must(await mine.owner.post(`${mine.A}/domains/${domain.id}/assign`, { issuer_id: mine.issuerId }), 200)
  const heard = await listenTo(app, mine.accountId)
  must(await mine.owner.delete(mine.I), 204)
  const [after] = (await mine.owner.get(`${mine.A}/domains`)).body.data
  expect(after).toMatchObject({ verified: true, issuer_id: null })
  expect((await heard('domain')).map(({ type }) => type)).toEqual(['domain.unassigned'])
})

test('DELETE removes a domain by host or id together with its assignment; a second time is 404', async () => {
  mine = await makeTenant(app)
  const domain = await verified(mine)
  must(await mine.owner.post(`${mine.A}/domains/${domain.id}/assign`, { issuer_id: mine.issuerId }), 200)
  const heard = await listenTo(app, mine.accountId)
  const path = `${mine.A}/domains/${domain.host.toUpperCase()}`
  expect((await mine.owner.delete(path)).status).toBe(204)
  expect((await mine.owner.delete(path)).status).toBe(404)
  expect(await heard()).toMatchObject([{ type: 'domain.deleted', data: { host: domain.host } }])
  // Another account may have it now.
  await verified(theirs, domain.host)
})

test('domains of another account and things that are no domain are the same 404', async () => {
  mine = await makeTenant(app)
  const foreign = await add(theirs)
  for (const name of [foreign.id, foreign.host, newHost(), `dom_${'0'.repeat(26)}`, '%20', 'a%2Fb', '..%2f']) {
    for (const action of ['verify', 'assign', 'unassign']) {
      const body = action === 'assign' ? { issuer_id: mine.issuerId } : undefined
      const answer = await mine.owner.post(`${mine.A}/domains/${name}/${action}`, body)
      expect({ name, action, status: answer.status }).toEqual({ name, action, status: 404 })
    }
    expect((await mine.owner.delete(`${mine.A}/domains/${name}`)).status).toBe(404)
  }
})

test('PATCH of an account with domains tells of each that came and went', async () => {
  const [old, kept, made] = [await add(mine), await add(mine), newHost()]
  const heard = await listenTo(app, mine.accountId)
  must(await mine.owner.patch(mine.A, { domains: [{ host: kept.host }, { host: made }] }), 200)
  expect((await heard('domain')).map(({ type, data }) => [type, data.host])).toEqual([
    ['domain.deleted', old.host],
    ['domain.created', made],
  ])
  expect((await mine.owner.patch(mine.A, { domains: [{ host: 'co.uk' }] })).body.details).toMatchObject([
    { field: 'domains[0].host', code: 'public_suffix' },
  ])
})

test('GraphQL: the same list and the same errors', async () => {
  const domain = await add(mine)
  const ask = `query ($a: ID!) { domains(accountId: $a) { data { host verification { name value } } hasMore } }`
  const { body } = await mine.owner.graphql(ask, { a: mine.accountId })
  const { name, value } = domain.verification
  expect(body.data.domains).toEqual({ data: [{ host: domain.host, verification: { name, value } }], hasMore: false })
  const make = `mutation ($a: ID!) { createDomain(accountId: $a, input: { host: "co.uk" }) { id } }`
  const refused = await mine.owner.graphql(make, { a: mine.accountId })
  expect(refused.body.errors[0].extensions).toMatchObject({ code: 'INVALID_REQUEST', status: 400 })
})
