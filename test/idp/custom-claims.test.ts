/** Custom claims of tokens and userinfo responses, and their settings (docs/contract.md#custom-claims). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { jwtClaims, Realm, type TestClient } from './realm.js'

const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange'
const ACCESS_TOKEN = 'urn:ietf:params:oauth:token-type:access_token'
const API = 'https://api.example'
const everywhere = ['id_token', 'access_token', 'userinfo']
const claim = (name: string, source: string, places = everywhere) => ({ name, source, in: places })

let app: TestApp
let realm: Realm
let ada: string
let tulips: string
let roses: string

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
  ada = await realm.createUser('ada@example.com')
  await updateUser({
    profile: { name: 'Ada Lovelace', nickname: 'Countess' },
    metadata: { department: 'R&D', level: 3 },
    custom_fields: { customer_number: 'C-1042' },
  })
  tulips = await createOrganization('Tulips', { plan: 'gold' }, ['orders:read', 'orders:write'], ['editors', 'admins'])
  roses = await createOrganization('Roses', { plan: 'silver' }, ['stock:read'], ['growers', 'admins'])
})
afterAll(() => app.close())

const owner = () => realm.tenant.owner
async function updateUser(body: object, userId = ada): Promise<void> {
  expectStatus(await owner().patch(`${realm.tenant.I}/users/${userId}`, body), 200)
}
async function createOrganization(name: string, metadata: object, scopes: string[], groups: string[]): Promise<string> {
  const list = `${realm.tenant.I}/organizations`
  const { id } = expectStatus(await owner().post(list, { name, metadata, default_member_scopes: scopes }), 201).data
  expectStatus(await owner().post(`${list}/${id}/members`, { member_id: ada }), 201)
  for (const group of groups) await createGroup(id, group)
  return id
}
async function createGroup(orgId: string, name: string): Promise<string> {
  const { accountId, issuerId } = realm.tenant
  const path = { accountId, issuerId, orgId }
  const pathDeclaration = '$accountId: ID!, $issuerId: ID!, $orgId: ID!'
  const pathArguments = 'accountId: $accountId, issuerId: $issuerId, orgId: $orgId'
  const created = await owner().graphql(
    `mutation (${pathDeclaration}, $input: CreateOrganizationGroupInput!) { createOrganizationGroup(${pathArguments}, input: $input) { id } }`,
    { ...path, input: { name } },
  )
  const groupId = created.body.data.createOrganizationGroup.id
  const added = await owner().graphql(
    `mutation (${pathDeclaration}, $groupId: ID!, $input: AddOrganizationGroupMemberInput!) { addOrganizationGroupMember(${pathArguments}, groupId: $groupId, input: $input) { id } }`,
    { ...path, groupId, input: { memberId: ada } },
  )
  expect(added.body.errors).toBeUndefined()
  return groupId
}

/** Signs in and returns the claims at all places, with the token response. */
async function signIn(client: TestClient, params: Record<string, string> = {}): Promise<AnyJson> {
  const tokens = await realm.signInForTokens(client, 'ada@example.com', params)
  return { tokens, ...(await claimsOf(tokens)) }
}
async function claimsOf(tokens: AnyJson): Promise<AnyJson> {
  const userinfo = await realm.userinfo(tokens.access_token)
  return {
    access_token: jwtClaims(tokens.access_token),
    id_token: jwtClaims(tokens.id_token),
    userinfo: expectStatus({ ...userinfo, text: JSON.stringify(userinfo.body) }, 200),
  }
}
const issuerWith = (claims: object[] | null) =>
  owner().patch(realm.tenant.I, { settings: { openid: claims && { claims } } })

describe('each source is in each configured place', () => {
  const sources: [source: string, name: string, value: unknown][] = [
    ['user.profile.nickname', 'nickname', 'Countess'],
    ['user.profile.email', 'mail', 'ada@example.com'],
    ['user.metadata.department', 'department', 'R&D'],
    ['user.metadata.level', 'level', 3],
    ['user.custom_fields.customer_number', 'customer', 'C-1042'],
    ['organization.metadata.plan', 'plan', 'gold'],
    ['organization.name', 'tenant', 'Tulips'],
    ['groups', 'groups', ['admins', 'editors']],
    ['scopes', 'roles', ['orders:read', 'orders:write']],
  ]
  const expected = () => ({
    ...Object.fromEntries(sources.map(([, name, value]) => [name, value])),
    'https://example.com/org': tulips,
  })
  const configured = (place: string) => [
    ...sources.map(([source, name]) => claim(name, source, [place])),
    claim('https://example.com/org', 'organization.id', [place]),
    claim('absent', 'user.metadata.absent', [place]),
  ]

  test.each(everywhere)('%s', async (place) => {
    const client = await realm.createClient({ claims: configured(place) })
    const places = await signIn(client, { org: tulips, scope: 'openid profile' })
    expect(places[place]).toMatchObject(expected())
    expect(places[place]).not.toHaveProperty('absent')
    for (const other of everywhere.filter((name) => name !== place))
      for (const name of Object.keys(expected())) expect(places[other]).not.toHaveProperty([name])
    // Custom claims replace no other claim.
    expect(places.access_token).toMatchObject({ sub: ada, client_id: client.id, org_id: tulips })
    expect(places.userinfo).toMatchObject({ sub: ada, name: 'Ada Lovelace' })
    expect(places.userinfo).not.toHaveProperty('organizations')
  })
})

test('without a selected organization, groups are those of all visible organizations, and claims of an organization are omitted', async () => {
  const client = await realm.createClient({
    claims: [claim('groups', 'groups'), claim('roles', 'scopes'), claim('tenant', 'organization.name')],
  })
  const places = await signIn(client)
  for (const place of everywhere) {
    expect(places[place].groups).toEqual(['admins', 'editors', 'growers'])
    expect(places[place]).not.toHaveProperty('roles')
    expect(places[place]).not.toHaveProperty('tenant')
  }
})

test('claims of a client add to those of the issuer and win by name; other clients have those of the issuer', async () => {
  const other = await realm.createClient()
  const client = await realm.createClient({
    claims: [claim('team', 'user.custom_fields.customer_number'), claim('level', 'user.metadata.level')],
  })
  expectStatus(await issuerWith([claim('team', 'user.metadata.department'), claim('groups', 'groups')]), 200)
  const metadata = await (await fetch(`${realm.url}/.well-known/openid-configuration`)).json()
  expect((metadata as AnyJson).claims_supported).toEqual(expect.arrayContaining(['sub', 'email', 'team', 'groups']))
  const places = await signIn(client, { org: roses })
  const otherPlaces = await signIn(other, { org: roses })
  for (const place of everywhere) {
    expect(places[place]).toMatchObject({ team: 'C-1042', level: 3, groups: ['admins', 'growers'] })
    expect(otherPlaces[place]).toMatchObject({ team: 'R&D', groups: ['admins', 'growers'] })
    expect(otherPlaces[place]).not.toHaveProperty('level')
  }
  expectStatus(await issuerWith(null), 200)
  const after = await signIn(other, { org: roses })
  for (const place of everywhere) expect(after[place]).not.toHaveProperty('team')
})

test('a refresh and userinfo read the values and the settings again', async () => {
  const grace = await realm.createUser('grace@example.com')
  const client = await realm.createClient({ claims: [claim('department', 'user.metadata.department')] })
  const tokens = await realm.signInForTokens(client, 'grace@example.com')
  expect(jwtClaims(tokens.access_token)).not.toHaveProperty('department')
  await updateUser({ metadata: { department: 'Navy' } }, grace)
  expect((await realm.userinfo(tokens.access_token)).body.department).toBe('Navy')
  const { body: first } = await realm.refresh(client, tokens.refresh_token)
  for (const token of [first.access_token, first.id_token]) expect(jwtClaims(token).department).toBe('Navy')
  const settings = { openid: { claims: [claim('unit', 'user.metadata.department', ['id_token'])] } }
  expectStatus(await owner().patch(`${realm.tenant.I}/clients/${client.id}`, { settings }), 200)
  const { body: second } = await realm.refresh(client, first.refresh_token)
  expect(jwtClaims(second.id_token)).toMatchObject({ unit: 'Navy' })
  expect(jwtClaims(second.id_token)).not.toHaveProperty('department')
  expect(jwtClaims(second.access_token)).not.toHaveProperty('unit')
})

describe('a client that may not see an organization gets none of its claims', () => {
  const claims = [
    claim('groups', 'groups'),
    claim('roles', 'scopes'),
    claim('plan', 'organization.metadata.plan'),
    claim('department', 'user.metadata.department'),
  ]
  test('policy none', async () => {
    const settings = { restrictions: { organizations: { policy: 'none' } } }
    const places = await signIn(await realm.createClient({ claims }, { settings }))
    for (const place of everywhere) {
      expect(places[place]).toMatchObject({ department: 'R&D' })
      for (const name of ['groups', 'roles', 'plan']) expect(places[place]).not.toHaveProperty(name)
    }
  })
  test('allowlist', async () => {
    const settings = { restrictions: { organizations: { policy: 'allowlist', allowed_org_ids: [roses] } } }
    const client = await realm.createClient({ claims }, { settings })
    const unselected = await signIn(client)
    const selected = await signIn(client, { org: roses })
    for (const place of everywhere) {
      expect(unselected[place].groups).toEqual(['admins', 'growers'])
      expect(selected[place]).toMatchObject({ groups: ['admins', 'growers'], roles: ['stock:read'], plan: 'silver' })
    }
  })
  test('userinfo after the restriction was added', async () => {
    const client = await realm.createClient({ claims })
    const { tokens, userinfo } = await signIn(client, { org: roses })
    expect(userinfo).toMatchObject({ plan: 'silver' })
    const settings = { restrictions: { organizations: { policy: 'none' } } }
    expectStatus(await owner().patch(`${realm.tenant.I}/clients/${client.id}`, { settings }), 200)
    const { status, body } = await realm.userinfo(tokens.access_token)
    expect(status).toBe(200)
    for (const name of ['groups', 'roles', 'plan']) expect(body).not.toHaveProperty(name)
  })
})

test('an exchanged token has the claims of the issuer and the actor, for the selected organization and the granted scopes', async () => {
  const scopes = ['orders:read', 'stock:read']
  const shop = await realm.createClient(
    { allowed_resources: [API], claims: [claim('shop_only', 'user.metadata.level')] },
    { settings: { scopes } },
  )
  const resources = [{ resource: API, scopes }]
  const actor = await realm.createClient(
    {
      application_type: 'm2m',
      grant_types: [EXCHANGE],
      redirect_uris: [],
      post_logout_redirect_uris: [],
      token_exchange: { subject_resources: resources, target_resources: resources },
      claims: [claim('roles', 'scopes'), claim('groups', 'groups'), claim('department', 'user.metadata.department')],
    },
    { confidential: true },
  )
  expectStatus(await issuerWith([claim('plan', 'organization.metadata.plan', ['access_token'])]), 200)
  const subject = await realm.signInForTokens(shop, 'ada@example.com', {
    resource: API,
    scope: 'openid orders:read stock:read',
  })
  const { body, status } = await realm.postForm('/token', actor, {
    grant_type: EXCHANGE,
    subject_token: subject.access_token,
    subject_token_type: ACCESS_TOKEN,
    resource: API,
    scope: 'orders:read',
    org: tulips,
  })
  expect([status, body.error_description]).toEqual([200, undefined])
  const claims = jwtClaims(body.access_token)
  expect(claims).toMatchObject({
    plan: 'gold',
    roles: ['orders:read'],
    groups: ['admins', 'editors'],
    department: 'R&D',
    act: { sub: actor.id },
  })
  expect(claims).not.toHaveProperty('shop_only')
  expectStatus(await issuerWith(null), 200)
})

test('a token of the client credentials grant has no custom claims', async () => {
  const openid = {
    application_type: 'm2m',
    grant_types: ['client_credentials'],
    redirect_uris: [],
    post_logout_redirect_uris: [],
    claims: [claim('groups', 'groups'), claim('department', 'user.metadata.department')],
  }
  const client = await realm.createClient(openid, { confidential: true, settings: { scopes: ['orders:read'] } })
  const { body } = await realm.postForm('/token', client, { grant_type: 'client_credentials' })
  expect(jwtClaims(body.access_token)).toMatchObject({ scope: 'orders:read' })
  for (const name of ['groups', 'department']) expect(jwtClaims(body.access_token)).not.toHaveProperty(name)
})

test('a claim that would exceed 8 KiB is left out, and an event says so once per client, claim and minute', async () => {
  const lin = await realm.createUser('lin@example.com')
  await updateUser({ custom_fields: { large: 'x'.repeat(7000), larger: 'y'.repeat(3000) } }, lin)
  const claims = [
    claim('large', 'user.custom_fields.large'),
    claim('larger', 'user.custom_fields.larger', ['access_token']),
    claim('mail', 'user.profile.email'),
  ]
  const client = await realm.createClient({ claims })
  const recorded = await eventsRecordedFromNow(app, realm.tenant.accountId)
  const tokens = await realm.signInForTokens(client, 'lin@example.com')
  const places = await claimsOf(tokens)
  expect(places.access_token).toMatchObject({ large: 'x'.repeat(7000), mail: 'lin@example.com' })
  expect(places.access_token).not.toHaveProperty('larger')
  const second = await app.startSecondApp()
  const secondRealm = new Realm(second, realm.tenant)
  expect((await secondRealm.refresh(client, tokens.refresh_token)).status).toBe(200)
  const events = await recorded('token.claim_omitted')
  expect(events).toMatchObject([
    {
      clientId: client.id,
      userId: lin,
      target: { type: 'client', id: client.id },
      data: { claim: 'larger', place: 'access_token' },
    },
  ])
  expect(events[0]!.sessionId).toBe(places.access_token.sid)
})

test('an issuer without custom claims runs no query for them', async () => {
  const plain = await Realm.create(app)
  await plain.createUser('ada@example.com')
  const client = await plain.createClient()
  const sent: string[] = []
  const { pool } = app.gatehouse.database
  const query = pool.query.bind(pool) as (...given: AnyJson[]) => AnyJson
  const recordQuery = (...given: AnyJson[]) => {
    sent.push(typeof given[0] === 'string' ? given[0] : given[0].text)
    return query(...given)
  }
  Object.assign(pool, { query: recordQuery })
  try {
    const tokens = await plain.signInForTokens(client, 'ada@example.com')
    expect((await plain.userinfo(tokens.access_token)).status).toBe(200)
    const factQueries = () => sent.filter((text) => text.includes('organizationMetadata'))
    expect(factQueries()).toHaveLength(0)
    const settings = { openid: { claims: [claim('groups', 'groups')] } }
    expectStatus(await plain.tenant.owner.patch(`${plain.tenant.I}/clients/${client.id}`, { settings }), 200)
    expect((await plain.refresh(client, tokens.refresh_token)).status).toBe(200)
    expect(factQueries()).toHaveLength(1)
  } finally {
    Object.assign(pool, { query })
  }
})

describe('settings.openid.claims', () => {
  const list = 'settings.openid.claims'
  const names = (count: number) => Array.from({ length: count }, (_, at) => claim(`c${at}`, 'groups'))
  const rows: [title: string, claims: unknown, field: string, message: RegExp][] = [
    ['an object', {}, list, /must be an array/],
    ['a text as an entry', ['groups'], `${list}[0]`, /must be an object/],
    ['no name', [{ source: 'groups', in: ['id_token'] }], `${list}[0].name`, /is required/],
    ['no source', [{ name: 'a', in: ['id_token'] }], `${list}[0].source`, /is required/],
    ['no place', [{ name: 'a', source: 'groups' }], `${list}[0].in`, /is required/],
    ['an unknown key', [{ ...claim('a', 'groups'), scope: 'x' }], `${list}[0].scope`, /not a field/],
    ['21 claims', names(21), list, /at most 20/],
    ['the same name twice', [claim('a', 'groups'), claim('a', 'scopes')], `${list}[1].name`, /earlier claim/],
    ['an unknown source', [claim('a', 'user.password')], `${list}[0].source`, /must be one of user\.profile/],
    ['a source without a key', [claim('a', 'user.metadata.')], `${list}[0].source`, /must be one of/],
    ['a long source', [claim('a', `user.metadata.${'k'.repeat(250)}`)], `${list}[0].source`, /256/],
    ['an unknown place', [claim('a', 'groups', ['cookie'])], `${list}[0].in[0]`, /must be one of id_token/],
    ['an empty list of places', [claim('a', 'groups', [])], `${list}[0].in`, /at least one/],
    ['the same place twice', [claim('a', 'groups', ['id_token', 'id_token'])], `${list}[0].in`, /twice/],
    ['an empty name', [claim('', 'groups')], `${list}[0].name`, /./],
    ['a long name', [claim('n'.repeat(129), 'groups')], `${list}[0].name`, /128/],
    ['a name with a space', [claim('a b', 'groups')], `${list}[0].name`, /must begin with a letter/],
    ['a name with a quote', [claim('a"b', 'groups')], `${list}[0].name`, /must begin with a letter/],
    ['a name that begins with a digit', [claim('1a', 'groups')], `${list}[0].name`, /must begin with a letter/],
    ['a name that begins with _', [claim('_claim_names', 'groups')], `${list}[0].name`, /must begin with a letter/],
    [
      'preferred_username of metadata',
      [claim('preferred_username', 'user.metadata.x')],
      `${list}[0].source`,
      /user\.profile\.preferred_username/,
    ],
    ...[
      'sub',
      'iss',
      'aud',
      'exp',
      'nbf',
      'iat',
      'jti',
      'organizations',
      'org_id',
      'act',
      'cnf',
      'scope',
      'client_id',
      'sid',
      'auth_time',
      'acr',
      'amr',
      'nonce',
      'at_hash',
      'azp',
      'name',
      'given_name',
      'picture',
      'email',
      'email_verified',
      'phone_number',
      'address',
      'may_act',
      'authorization_details',
    ].map((name): [string, unknown, string, RegExp] => [
      `the registered name ${name}`,
      [claim(name, 'user.metadata.x')],
      `${list}[0].name`,
      /registered claim name/,
    ]),
  ]
  test.each(rows)('%s is refused with 400, by clients and issuers', async (_, claims, field, message) => {
    const settings = { openid: { claims } }
    const client = { name: 'App', type: 'internal', confidential: false, settings }
    const responses = [
      await owner().post(`${realm.tenant.I}/clients`, client),
      await owner().patch(realm.tenant.I, { settings }),
    ]
    for (const { status, body } of responses) {
      expect([status, body.details?.[0]?.field]).toEqual([400, field])
      expect(body.details[0].message).toMatch(message)
    }
  })

  test('20 claims, and preferred_username of the profile, are accepted', async () => {
    expect((await realm.createClient({ claims: names(20) })).id).toMatch(/^cli_/)
    expect(
      (await realm.createClient({ claims: [claim('preferred_username', 'user.profile.preferred_username')] })).id,
    ).toMatch(/^cli_/)
  })

  test('adding a claim of users requires issuers.users:read, of organization metadata issuers.organizations:read, and of groups issuers.organizations.groups:read', async () => {
    const key = await createRestrictedKey(realm.tenant, { scopes: ['issuers.clients:write', 'issuers:write'] })
    const clientOf = (claims: object[]) =>
      key.post(`${realm.tenant.I}/clients`, {
        name: 'App',
        type: 'internal',
        confidential: false,
        settings: { openid: { claims } },
      })
    const refused: [string, string][] = [
      ['user.metadata.department', 'issuers.users:read'],
      ['user.custom_fields.x', 'issuers.users:read'],
      ['user.profile.nickname', 'issuers.users:read'],
      ['organization.metadata.plan', 'issuers.organizations:read'],
      ['groups', 'issuers.organizations.groups:read'],
    ]
    for (const [source, scope] of refused) {
      const response = await clientOf([claim('c', source)])
      expect([source, response.status, response.headers.get('www-authenticate')]).toEqual([
        source,
        403,
        `Bearer error="insufficient_scope", scope="${scope}"`,
      ])
      const settings = { openid: { claims: [claim('c', source)] } }
      expect((await key.patch(realm.tenant.I, { settings })).status).toBe(403)
    }
    const sources = ['scopes', 'organization.id', 'organization.name']
    const allowed = await clientOf(sources.map((source, at) => claim(`c${at}`, source)))
    expect(allowed.status).toBe(201)
    // A claim that exists may stay.
    const { id } = await realm.createClient({ claims: [claim('c', 'user.metadata.department')] })
    const settings = { openid: { claims: [claim('c', 'user.metadata.department'), claim('d', 'scopes')] } }
    expect((await key.patch(`${realm.tenant.I}/clients/${id}`, { settings })).status).toBe(200)
  })
})
