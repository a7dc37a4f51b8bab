/** Memberships in tokens (spec 5.2 rule 6, 4.17, decisions D23), by real code exchanges. */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { CALLBACK, claimsOf, Realm, type TestClient } from './setup.js'

let app: TestApp
let realm: Realm
let client: TestClient
let user: string
let tulips: { id: string; O: string; group: string }
let roses: { id: string; O: string; group: string }

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  client = await realm.client()
  user = await realm.user('ada@example.com')
  tulips = await organization('Tulips')
  roses = await organization('Roses')
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
async function organization(name: string) {
  const list = `${realm.tenant.I}/organizations`
  const { id } = must(await owner().post(list, { name, default_member_scopes: [`${name}:read`] }), 201).data
  const O = `${list}/${id}`
  const group = must(await owner().post(`${O}/groups`, { name: 'G', scopes: [`${name}:write`] }), 201).data.id
  return { id, O, group }
}
const claims = (tokens: Loose) => [claimsOf(tokens.access_token), claimsOf(tokens.id_token)]

test('absent when empty', async () => {
  const tokens = await realm.tokens(client, 'ada@example.com')
  for (const all of claims(tokens)) expect(Object.keys(all)).not.toEqual(expect.arrayContaining(['organizations']))
  for (const all of claims(tokens)) expect(Object.keys(all)).not.toEqual(expect.arrayContaining(['org_id']))
})

test('all active memberships, with effective scopes and groups, in access and ID tokens; not at userinfo', async () => {
  must(await owner().post(`${tulips.O}/members`, { member_id: user, scopes: ['own'], groups: [tulips.group] }), 201)
  must(await owner().post(`${roses.O}/members`, { member_id: user }), 201)
  const expected = [
    { id: roses.id, name: 'Roses', scopes: ['Roses:read'], groups: [] },
    { id: tulips.id, name: 'Tulips', scopes: ['Tulips:read', 'Tulips:write', 'own'], groups: [tulips.group] },
  ]
  const tokens = await realm.tokens(client, 'ada@example.com', { scope: 'openid profile' })
  for (const all of claims(tokens)) {
    expect(all.organizations).toEqual(expected)
    expect(all).not.toHaveProperty('org_id')
  }
  const info = await realm.userinfo(tokens.access_token)
  expect(info.status).toBe(200)
  expect(info.body).not.toHaveProperty('organizations')
})

test('with org selected exactly that one, and org_id', async () => {
  const tokens = await realm.tokens(client, 'ada@example.com', { org: tulips.id })
  for (const all of claims(tokens)) {
    expect(all.org_id).toBe(tulips.id)
    expect(all.organizations.map(({ id }: Loose) => id)).toEqual([tulips.id])
  }
  const again = await realm.refresh(client, tokens.refresh_token)
  expect(claimsOf(again.body.access_token)).toMatchObject({ org_id: tulips.id, organizations: [{ id: tulips.id }] })
})

test('memberships are read fresh with every refresh', async () => {
  const tokens = await realm.tokens(client, 'ada@example.com')
  must(await owner().patch(`${tulips.O}/members/${user}`, { scopes: ['new'], groups: [] }), 200)
  must(await owner().patch(roses.O, { status: 'suspended' }), 200)
  const again = await realm.refresh(client, tokens.refresh_token)
  for (const all of claims(again.body)) {
    expect(all.organizations).toEqual([{ id: tulips.id, name: 'Tulips', scopes: ['Tulips:read', 'new'], groups: [] }])
  }
  must(await owner().patch(roses.O, { status: 'active' }), 200)
})

test.each([
  [
    'the member is suspended',
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'suspended' }),
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'active' }),
  ],
  [
    'the organization is suspended',
    () => owner().patch(tulips.O, { status: 'suspended' }),
    () => owner().patch(tulips.O, { status: 'active' }),
  ],
  [
    'the member is removed',
    () => owner().delete(`${tulips.O}/members/${user}`),
    () => owner().post(`${tulips.O}/members`, { member_id: user }),
  ],
])('with that org selected a refresh is invalid_grant once %s; a code exchange too', async (_, end, restore) => {
  const tokens = await realm.tokens(client, 'ada@example.com', { org: tulips.id })
  const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', { org: tulips.id })
  expect((await end()).status).toBeLessThan(300)
  const refreshed = await realm.refresh(client, tokens.refresh_token)
  expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant'])
  const params = { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
  const exchanged = await realm.exchange(client, params)
  expect([exchanged.status, exchanged.body.error]).toEqual([400, 'invalid_grant'])
  expect((await restore()).status).toBeLessThan(300)
})

test.each<[string, boolean, () => Promise<{ status: number }>, () => Promise<{ status: number }>]>([
  [
    'section 3: while the member is suspended, access is blocked at once and then restored',
    false,
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'suspended' }),
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'active' }),
  ],
  [
    'rules 11 and 12: while the organization is suspended',
    false,
    () => owner().patch(tulips.O, { status: 'suspended' }),
    () => owner().patch(tulips.O, { status: 'active' }),
  ],
  [
    'D11: of a member who was removed it lasts until the next refresh',
    true,
    () => owner().delete(`${tulips.O}/members/${user}`),
    () => owner().post(`${tulips.O}/members`, { member_id: user }),
  ],
])('an access token for a selected organization. %s', async (_, stays, end, restore) => {
  const web = await realm.client({}, { confidential: true })
  const live = async ({ access_token: token }: Loose) => [
    (await realm.userinfo(token)).status === 200,
    (await realm.post('/introspect', web, { token })).body.active,
  ]
  const bound = await realm.tokens(web, 'ada@example.com', { org: tulips.id })
  const elsewhere = await realm.tokens(web, 'ada@example.com', { org: roses.id })
  const free = await realm.tokens(web, 'ada@example.com')
  expect(await live(bound)).toEqual([true, true])
  expect((await end()).status).toBeLessThan(300)
  expect(await live(bound)).toEqual([stays, stays])
  // What was not selected is not what the token stands for.
  for (const other of [elsewhere, free]) expect(await live(other)).toEqual([true, true])
  expect((await restore()).status).toBeLessThan(300)
  expect(await live(bound)).toEqual([true, true])
})

test('section 3: an organization is deleted without a grace period, and so are access tokens for it', async () => {
  const lilies = await organization('Lilies')
  must(await owner().post(`${lilies.O}/members`, { member_id: user }), 201)
  const tokens = await realm.tokens(client, 'ada@example.com', { org: lilies.id })
  expect((await realm.userinfo(tokens.access_token)).status).toBe(200)
  must(await owner().delete(lilies.O), 204)
  expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
})
