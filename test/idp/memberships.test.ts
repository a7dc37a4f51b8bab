/** Memberships in tokens (spec 5.2 rule 6, 4.17, decisions D23 and D33), by real code exchanges. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from './setup.js'

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

describe('D33: the organization restriction of a client is asked at every issue of a token', () => {
  /** Of the second process: it shares nothing with the first but the database. */
  let twin: Realm
  let nobodys: string
  beforeAll(async () => {
    twin = new Realm(await app.second(), realm.tenant)
    nobodys = must(await owner().post(`${realm.tenant.I}/organizations`, { name: 'Nobody’s' }), 201).data.id
  })

  const restrictions = {
    absent: () => ({}),
    none: () => ({ policy: 'none' }),
    'none, whatever the list says': () => ({ policy: 'none', allowed_org_ids: [tulips.id] }),
    'allowlist with Tulips': () => ({ policy: 'allowlist', allowed_org_ids: [tulips.id, nobodys] }),
    'an empty allowlist': () => ({ policy: 'allowlist' }),
  }
  type Restriction = keyof typeof restrictions
  const restricted = (restriction: Restriction) =>
    realm.client({}, { settings: { restrictions: { organizations: restrictions[restriction]() } } })
  const restrict = async ({ id }: TestClient, organizations: object | null) =>
    must(await owner().patch(`${realm.tenant.I}/clients/${id}`, { settings: { restrictions: { organizations } } }), 200)
  /** The organizations and `org_id` that both tokens of an answer name. */
  const named = ({ body }: Loose) => {
    const [access, id] = claims(body).map(({ organizations, org_id }: Loose) => ({
      organizations: organizations?.map((one: Loose) => one.id),
      org_id,
    }))
    expect(id).toEqual(access)
    return access
  }
  const code = async (client: TestClient, params: Record<string, string> = {}) => {
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
    return { code: redirect['code']!, code_verifier: verifier, redirect_uri: CALLBACK }
  }

  test.each<[Restriction, () => string[] | undefined]>([
    ['absent', () => [roses.id, tulips.id].sort()],
    ['none', () => undefined],
    ['none, whatever the list says', () => undefined],
    ['allowlist with Tulips', () => [tulips.id]],
    ['an empty allowlist', () => undefined],
  ])('%s: without org, tokens of a code and of a refresh name what the client may know', async (restriction, ids) => {
    const client = await restricted(restriction)
    const first = await realm.exchange(client, await code(client))
    const second = await twin.refresh(client, first.body.refresh_token)
    for (const answer of [first, second]) {
      const { organizations, org_id } = named(answer)!
      expect([organizations?.sort(), org_id]).toEqual([ids(), undefined])
      const info = await realm.userinfo(answer.body.access_token)
      expect([info.status, Object.keys(info.body)]).toEqual([200, ['sub']])
    }
    expect((await realm.post('/introspect', client, { token: first.body.access_token })).body).not.toHaveProperty(
      'org_id',
    )
  })

  test.each<[string, object]>([
    ['policy none', { policy: 'none' }],
    ['an allowlist without it', { policy: 'allowlist', allowed_org_ids: [] }],
  ])(
    'changed to %s between two refreshes on two processes: invalid_grant, and good again afterwards',
    async (_, organizations) => {
      const client = await realm.client()
      const first = await realm.exchange(client, await code(client, { org: tulips.id }))
      const second = await twin.refresh(client, first.body.refresh_token)
      expect(named(second)).toEqual({ organizations: [tulips.id], org_id: tulips.id })
      await restrict(client, organizations)
      for (const at of [twin, realm]) {
        const refused = await at.refresh(client, second.body.refresh_token)
        expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
      }
      // The refusal has not consumed the token: the session is as it was.
      await restrict(client, null)
      expect(named(await twin.refresh(client, second.body.refresh_token))).toMatchObject({ org_id: tulips.id })
    },
  )

  test('changed between authorization and code exchange: invalid_grant with org, fewer organizations without', async () => {
    const client = await realm.client()
    const [bound, free] = [await code(client, { org: tulips.id }), await code(client)]
    await restrict(client, { policy: 'allowlist', allowed_org_ids: [roses.id] })
    const refused = await twin.exchange(client, bound)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    expect(named(await twin.exchange(client, free))).toEqual({ organizations: [roses.id], org_id: undefined })
  })

  test('changed while the person signs in: the request is answered invalid_request, and no session begins', async () => {
    const client = await realm.client()
    const { page, browser } = await realm.begin(client, { org: tulips.id })
    await restrict(client, { policy: 'none' })
    const answered = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(redirectOf(answered)).toMatchObject({ error: 'invalid_request', state: 'st' })
    expect(await app.gatehouse.tools.prisma.session.count({ where: { clientId: client.id } })).toBe(0)
  })

  test('changed between two visits with single sign-on: the second has no organization left to choose', async () => {
    const client = await realm.client()
    const browser = realm.browser()
    await realm.tokens(client, 'ada@example.com', {}, browser)
    await restrict(client, { policy: 'none' })
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', {}, browser)
    const exchanged = await realm.exchange(client, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: CALLBACK,
    })
    expect(named(exchanged)).toEqual({ organizations: undefined, org_id: undefined })
  })
})
