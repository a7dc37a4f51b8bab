/**
 * Memberships in tokens, by code exchanges (docs/contract.md#memberships-in-tokens,
 * docs/contract.md#grant-and-client-rules rule 6, docs/contract.md#organization-restrictions-of-clients).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from './realm.js'

let app: TestApp
let realm: Realm
let client: TestClient
let user: string
let tulips: { id: string; O: string; group: string }
let roses: { id: string; O: string; group: string }

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  client = await realm.createClient()
  user = await realm.createUser('ada@example.com')
  tulips = await organization('Tulips')
  roses = await organization('Roses')
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
async function organization(name: string) {
  const list = `${realm.tenant.I}/organizations`
  const { id } = expectStatus(await owner().post(list, { name, default_member_scopes: [`${name}:read`] }), 201).data
  const O = `${list}/${id}`
  const group = expectStatus(await owner().post(`${O}/groups`, { name: 'G', scopes: [`${name}:write`] }), 201).data.id
  return { id, O, group }
}
const claims = (tokens: AnyJson) => [jwtClaims(tokens.access_token), jwtClaims(tokens.id_token)]

test('the claim `organizations` is absent if the user has no membership', async () => {
  const tokens = await realm.signInForTokens(client, 'ada@example.com')
  for (const all of claims(tokens)) expect(Object.keys(all)).not.toEqual(expect.arrayContaining(['organizations']))
  for (const all of claims(tokens)) expect(Object.keys(all)).not.toEqual(expect.arrayContaining(['org_id']))
})

test('all active memberships, with effective scopes and groups, in access and ID tokens; not at userinfo', async () => {
  expectStatus(
    await owner().post(`${tulips.O}/members`, { member_id: user, scopes: ['own'], groups: [tulips.group] }),
    201,
  )
  expectStatus(await owner().post(`${roses.O}/members`, { member_id: user }), 201)
  const expected = [
    { id: roses.id, name: 'Roses', scopes: ['Roses:read'], groups: [] },
    { id: tulips.id, name: 'Tulips', scopes: ['Tulips:read', 'Tulips:write', 'own'], groups: [tulips.group] },
  ]
  const tokens = await realm.signInForTokens(client, 'ada@example.com', { scope: 'openid profile' })
  for (const all of claims(tokens)) {
    expect(all.organizations).toEqual(expected)
    expect(all).not.toHaveProperty('org_id')
  }
  const info = await realm.userinfo(tokens.access_token)
  expect(info.status).toBe(200)
  expect(info.body).not.toHaveProperty('organizations')
})

test('with a selected organization, tokens contain exactly that organization and org_id', async () => {
  const tokens = await realm.signInForTokens(client, 'ada@example.com', { org: tulips.id })
  for (const all of claims(tokens)) {
    expect(all.org_id).toBe(tulips.id)
    expect(all.organizations.map(({ id }: AnyJson) => id)).toEqual([tulips.id])
  }
  const again = await realm.refresh(client, tokens.refresh_token)
  expect(jwtClaims(again.body.access_token)).toMatchObject({ org_id: tulips.id, organizations: [{ id: tulips.id }] })
})

test('memberships are read again with every refresh', async () => {
  const tokens = await realm.signInForTokens(client, 'ada@example.com')
  expectStatus(await owner().patch(`${tulips.O}/members/${user}`, { scopes: ['new'], groups: [] }), 200)
  expectStatus(await owner().patch(roses.O, { status: 'suspended' }), 200)
  const again = await realm.refresh(client, tokens.refresh_token)
  for (const all of claims(again.body)) {
    expect(all.organizations).toEqual([{ id: tulips.id, name: 'Tulips', scopes: ['Tulips:read', 'new'], groups: [] }])
  }
  expectStatus(await owner().patch(roses.O, { status: 'active' }), 200)
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
])('with a selected organization, refresh and code exchange are invalid_grant once %s', async (_, end, restore) => {
  const tokens = await realm.signInForTokens(client, 'ada@example.com', { org: tulips.id })
  const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', { org: tulips.id })
  expect((await end()).status).toBeLessThan(300)
  const refreshed = await realm.refresh(client, tokens.refresh_token)
  expect([refreshed.status, refreshed.body.error]).toEqual([400, 'invalid_grant'])
  const params = { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  const exchanged = await realm.exchangeCode(client, params)
  expect([exchanged.status, exchanged.body.error]).toEqual([400, 'invalid_grant'])
  expect((await restore()).status).toBeLessThan(300)
})

test.each<[string, boolean, () => Promise<{ status: number }>, () => Promise<{ status: number }>]>([
  [
    'while the member is suspended, the token is invalid',
    false,
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'suspended' }),
    () => owner().patch(`${tulips.O}/members/${user}`, { status: 'active' }),
  ],
  [
    'while the organization is suspended, the token is invalid',
    false,
    () => owner().patch(tulips.O, { status: 'suspended' }),
    () => owner().patch(tulips.O, { status: 'active' }),
  ],
  [
    'when the member has been removed, the token stays valid',
    true,
    () => owner().delete(`${tulips.O}/members/${user}`),
    () => owner().post(`${tulips.O}/members`, { member_id: user }),
  ],
])('an access token for a selected organization. %s', async (_, stays, end, restore) => {
  const web = await realm.createClient({}, { confidential: true })
  const live = async ({ access_token: token }: AnyJson) => [
    (await realm.userinfo(token)).status === 200,
    (await realm.postForm('/introspect', web, { token })).body.active,
  ]
  const bound = await realm.signInForTokens(web, 'ada@example.com', { org: tulips.id })
  const elsewhere = await realm.signInForTokens(web, 'ada@example.com', { org: roses.id })
  const free = await realm.signInForTokens(web, 'ada@example.com')
  expect(await live(bound)).toEqual([true, true])
  expect((await end()).status).toBeLessThan(300)
  expect(await live(bound)).toEqual([stays, stays])
  // Tokens for another organization, or without a selected one, stay valid.
  for (const other of [elsewhere, free]) expect(await live(other)).toEqual([true, true])
  expect((await restore()).status).toBeLessThan(300)
  expect(await live(bound)).toEqual([true, true])
})

test('an organization is deleted without a grace period, and access tokens for it become invalid', async () => {
  const lilies = await organization('Lilies')
  expectStatus(await owner().post(`${lilies.O}/members`, { member_id: user }), 201)
  const tokens = await realm.signInForTokens(client, 'ada@example.com', { org: lilies.id })
  expect((await realm.userinfo(tokens.access_token)).status).toBe(200)
  expectStatus(await owner().delete(lilies.O), 204)
  expect((await realm.userinfo(tokens.access_token)).status).toBe(401)
})

describe('the organization restriction of a client applies at every token issue', () => {
  /** A second process, which shares only the database. */
  let twin: Realm
  let unrelatedOrgId: string
  beforeAll(async () => {
    twin = new Realm(await app.startSecondApp(), realm.tenant)
    unrelatedOrgId = expectStatus(await owner().post(`${realm.tenant.I}/organizations`, { name: 'Unrelated' }), 201)
      .data.id
  })

  const restrictions = {
    absent: () => ({}),
    none: () => ({ policy: 'none' }),
    'none, whatever the list says': () => ({ policy: 'none', allowed_org_ids: [tulips.id] }),
    'allowlist with Tulips': () => ({ policy: 'allowlist', allowed_org_ids: [tulips.id, unrelatedOrgId] }),
    'an empty allowlist': () => ({ policy: 'allowlist' }),
  }
  type Restriction = keyof typeof restrictions
  const restricted = (restriction: Restriction) =>
    realm.createClient({}, { settings: { restrictions: { organizations: restrictions[restriction]() } } })
  const restrict = async ({ id }: TestClient, organizations: object | null) =>
    expectStatus(
      await owner().patch(`${realm.tenant.I}/clients/${id}`, { settings: { restrictions: { organizations } } }),
      200,
    )
  /** The organization ids and `org_id` of a token response. Access token and ID token must have the same. */
  const named = ({ body }: AnyJson) => {
    const [access, id] = claims(body).map(({ organizations, org_id }: AnyJson) => ({
      organizations: organizations?.map((one: AnyJson) => one.id),
      org_id,
    }))
    expect(id).toEqual(access)
    return access
  }
  const code = async (client: TestClient, params: Record<string, string> = {}) => {
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', params)
    return { code: redirect['code']!, code_verifier: verifier, redirect_uri: REDIRECT_URI }
  }

  test.each<[Restriction, () => string[] | undefined]>([
    ['absent', () => [roses.id, tulips.id].sort()],
    ['none', () => undefined],
    ['none, whatever the list says', () => undefined],
    ['allowlist with Tulips', () => [tulips.id]],
    ['an empty allowlist', () => undefined],
  ])(
    '%s: without org, tokens of a code and of a refresh have the organizations that the client may see',
    async (restriction, ids) => {
      const client = await restricted(restriction)
      const first = await realm.exchangeCode(client, await code(client))
      const second = await twin.refresh(client, first.body.refresh_token)
      for (const response of [first, second]) {
        const { organizations, org_id } = named(response)!
        expect([organizations?.sort(), org_id]).toEqual([ids(), undefined])
        const info = await realm.userinfo(response.body.access_token)
        expect([info.status, Object.keys(info.body)]).toEqual([200, ['sub']])
      }
      expect((await realm.postForm('/introspect', client, { token: first.body.access_token })).body).not.toHaveProperty(
        'org_id',
      )
    },
  )

  test.each<[string, object]>([
    ['policy none', { policy: 'none' }],
    ['an allowlist without it', { policy: 'allowlist', allowed_org_ids: [] }],
  ])(
    'changed to %s between two refreshes: invalid_grant in both processes, and valid again when the change is undone',
    async (_, organizations) => {
      const client = await realm.createClient()
      const first = await realm.exchangeCode(client, await code(client, { org: tulips.id }))
      const second = await twin.refresh(client, first.body.refresh_token)
      expect(named(second)).toEqual({ organizations: [tulips.id], org_id: tulips.id })
      await restrict(client, organizations)
      for (const at of [twin, realm]) {
        const refused = await at.refresh(client, second.body.refresh_token)
        expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
      }
      // The rejected request did not consume the refresh token, and the session is unchanged.
      await restrict(client, null)
      expect(named(await twin.refresh(client, second.body.refresh_token))).toMatchObject({ org_id: tulips.id })
    },
  )

  test('changed between authorization and code exchange: invalid_grant with org, fewer organizations without', async () => {
    const client = await realm.createClient()
    const [bound, free] = [await code(client, { org: tulips.id }), await code(client)]
    await restrict(client, { policy: 'allowlist', allowed_org_ids: [roses.id] })
    const refused = await twin.exchangeCode(client, bound)
    expect([refused.status, refused.body.error]).toEqual([400, 'invalid_grant'])
    expect(named(await twin.exchangeCode(client, free))).toEqual({ organizations: [roses.id], org_id: undefined })
  })

  test('changed during the sign-in: the response is invalid_request, and no session is created', async () => {
    const client = await realm.createClient()
    const { page, browser } = await realm.openSignInPage(client, { org: tulips.id })
    await restrict(client, { policy: 'none' })
    const nextPage = await browser.submit(page, { username: 'ada@example.com', password: PASSWORD })
    expect(redirectParametersOf(nextPage)).toMatchObject({ error: 'invalid_request', state: 'st' })
    expect(await app.gatehouse.database.prisma.session.count({ where: { clientId: client.id } })).toBe(0)
  })

  test('changed between two sign-ins with single sign-on: the tokens of the second one have no organization', async () => {
    const client = await realm.createClient()
    const browser = realm.newBrowser()
    await realm.signInForTokens(client, 'ada@example.com', {}, browser)
    await restrict(client, { policy: 'none' })
    const { redirect, verifier } = await realm.signIn(client, 'ada@example.com', {}, browser)
    const exchanged = await realm.exchangeCode(client, {
      code: redirect['code']!,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
    })
    expect(named(exchanged)).toEqual({ organizations: undefined, org_id: undefined })
  })
})
