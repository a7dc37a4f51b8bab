/**
 * Organizations (docs/contract.md#organizations, docs/contract.md#organization-endpoints,
 * docs/contract.md#common-field-rules).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
let owner: ApiClient
let list: string

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app, 'Acme')
  owner = tenant.owner
  list = `${tenant.I}/organizations`
})
afterAll(() => app.close())

const create = async (body: object = {}): Promise<AnyJson> => expectStatus(await owner.post(list, body), 201).data
const person = async (): Promise<string> =>
  expectStatus(await owner.post(`${tenant.I}/users`, { username_type: 'unique', username: uniqueName('user') }), 201)
    .data.id
const ids = (response: AnyJson): string[] => expectStatus(response, 200).data.map((row: { id: string }) => row.id)
const events = (orgId: string) =>
  app.gatehouse.database.prisma.event.findMany({ where: { orgId }, orderBy: { id: 'asc' } })

const whole = {
  name: 'Tulips Ltd',
  description: 'We sell *tulips*.',
  logo_url: 'https://tulips.example/logo.png',
  org_type: 'business',
  max_members: 25,
  default_member_scopes: ['catalog:read'],
  scopes: ['catalog:read', 'catalog:write'],
  creator_scopes: ['catalog:write'],
  invitation_enabled: true,
  invitation_message: 'Welcome to Tulips.',
  address: { country: 'NL', city: 'Lisse' },
  business_details: { registration_number: '4711' },
  contact: { email: 'desk@tulips.example' },
  security: { mfa_required: true, note: 'own keys are kept' },
  sso: { enabled: false, only: false, domain: 'tulips.example' },
  custom_fields: { tier: 'gold' },
  social_links: [{ type: 'web', url: 'https://tulips.example' }],
  metadata: { crm: 17 },
}

describe('POST', () => {
  test('all fields are optional', async () => {
    const created = await create()
    expect(created).toEqual({
      id: expect.stringMatching(/^org_[0-9a-z]{26}$/),
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      name: null,
      description: null,
      logo_url: null,
      org_type: null,
      max_members: null,
      default_member_scopes: [],
      scopes: [],
      creator_scopes: [],
      invitation_enabled: false,
      invitation_message: null,
      address: null,
      business_details: {},
      contact: {},
      security: {},
      sso: {},
      custom_fields: {},
      social_links: [],
      status: 'active',
      status_reason: null,
      status_by: null,
      created_by_user_id: null,
      metadata: {},
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
  })

  test('every documented field is stored and returned', async () => {
    const created = await create(whole)
    expect(created).toMatchObject(whole)
    expect(expectStatus(await owner.get(`${list}/${created.id}`), 200).data).toEqual(created)
    const [event] = await events(created.id)
    expect(event).toMatchObject({
      type: 'organization.created',
      accountId: tenant.accountId,
      issuerId: tenant.issuerId,
      target: { type: 'organization', id: created.id },
    })
  })

  test.each([
    ['name', { name: '' }],
    ['name', { name: 7 }],
    ['logo_url', { logo_url: 'javascript:alert(1)' }],
    ['org_type', { org_type: 'club' }],
    ['max_members', { max_members: 0 }],
    ['max_members', { max_members: 1.5 }],
    ['max_members', { max_members: 2 ** 31 }],
    ['default_member_scopes[0]', { default_member_scopes: ['two words'] }],
    ['invitation_enabled', { invitation_enabled: 'yes' }],
    ['invitation_enabled', { invitation_enabled: null }],
    ['address', { address: 'Lisse' }],
    ['sso.enabled', { sso: { enabled: 'yes' } }],
    ['sso.only', { sso: { only: 1 } }],
    ['sso.enabled', { sso: { enabled: true } }],
    ['sso.only', { sso: { enabled: false, only: true } }],
    ['security.mfa_required', { security: { mfa_required: null } }],
    ['security', { security: null }],
    ['social_links', { social_links: {} }],
    ['social_links[0]', { social_links: ['https://x.example'] }],
    ['status', { status: 'deleted' }],
    ['created_by_user_id', { created_by_user_id: `usr_${'0'.repeat(26)}` }],
    ['metadata', { metadata: [] }],
    ['id', { id: 'org_mine' }],
    ['created_at', { created_at: 1 }],
    ['member_count', { member_count: 1 }],
  ])('an invalid %s is 400 with its field: %j', async (field, body) => {
    const response = await owner.post(list, body)
    expect({ status: response.status, field: response.body.details?.[0].field }).toEqual({ status: 400, field })
  })

  test('the user in created_by_user_id becomes a member with creator_scopes; a user of another issuer is refused', async () => {
    const userId = await person()
    const created = await create({ creator_scopes: ['org:admin'], max_members: 1, created_by_user_id: userId })
    expect(created.created_by_user_id).toBe(userId)
    const members = expectStatus(await owner.get(`${list}/${created.id}/members`), 200).data
    expect(members).toMatchObject([{ member_id: userId, scopes: ['org:admin'], status: 'active' }])
    expect((await events(created.id)).map((event) => event.type)).toEqual([
      'organization.created',
      'organization.membership.created',
    ])
    const other = await createTenant(app, 'Other')
    const otherIssuerUser = expectStatus(
      await other.owner.post(`${other.I}/users`, { username_type: 'unique', username: 'x' }),
      201,
    ).data.id
    expect((await owner.post(list, { created_by_user_id: otherIssuerUser })).status).toBe(400)
  })

  test('a caller cannot grant scopes that it lacks, in any of the three scope lists', async () => {
    const api = await createRestrictedKey(tenant, { scopes: ['issuers.organizations:manage', 'issuers.users:read'] })
    for (const field of ['scopes', 'default_member_scopes', 'creator_scopes']) {
      const refused = await api.post(list, { [field]: ['issuers.users:write'] })
      expect([field, refused.status, refused.body.error]).toEqual([field, 403, 'insufficient_scope'])
      expectStatus(await api.post(list, { [field]: ['issuers.users:read', 'own:scope'] }), 201)
      const { id } = await create()
      expect((await api.patch(`${list}/${id}`, { [field]: ['svc:all'] })).status).toBe(403)
    }
    const { id } = await create({ default_member_scopes: ['svc:all'] })
    expectStatus(await api.patch(`${list}/${id}`, { default_member_scopes: ['svc:all', 'own:scope'] }), 200)
  })
})

describe('GET', () => {
  let here: Tenant
  let I: string
  let created: AnyJson[]
  beforeAll(async () => {
    here = await createTenant(app, 'Lists')
    I = `${here.I}/organizations`
    created = []
    for (const body of [
      { sso: {} },
      { sso: {} },
      { security: { mfa_required: true } },
      { invitation_enabled: true },
      { status: 'suspended' },
    ]) {
      created.push(expectStatus(await here.owner.post(I, body), 201).data)
    }
    // The API refuses to enable `sso.enabled` and `sso.only`, because Gatehouse does not enforce them. The list filters
    // read the columns, so the values are written to the database directly.
    const { organization } = app.gatehouse.database.prisma
    await organization.update({ where: { id: created[0].id }, data: { ssoEnabled: true } })
    await organization.update({ where: { id: created[1].id }, data: { ssoEnabled: true, ssoOnly: true } })
  })

  test('newest first, in pages', async () => {
    const newest = created.map(({ id }) => id).reverse()
    const first = await here.owner.get(`${I}?limit=2`)
    expect(ids(first)).toEqual(newest.slice(0, 2))
    expect(first.body).toMatchObject({ has_more: true, next_cursor: newest[1] })
    expect(first.headers.get('etag')).toBeNull()
    expect(ids(await here.owner.get(`${I}?limit=2&cursor=${newest[1]}`))).toEqual(newest.slice(2, 4))
    const last = await here.owner.get(`${I}?limit=2&cursor=${newest[3]}`)
    expect(ids(last)).toEqual(newest.slice(4))
    expect(last.body).toMatchObject({ has_more: false, next_cursor: null })
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'cursor=usr_1', 'size=1']) {
      expect((await here.owner.get(`${I}?${query}`)).status).toBe(400)
    }
  })

  test.each([
    ['sso_enabled=true', [1, 0]],
    ['sso_enabled=false', [4, 3, 2]],
    ['sso_only=true', [1]],
    ['sso_only=false', [4, 3, 2, 0]],
    ['mfa_required=true', [2]],
    ['mfa_required=false', [4, 3, 1, 0]],
    ['invitation_enabled=true', [3]],
    ['invitation_enabled=false', [4, 2, 1, 0]],
    ['status=active', [3, 2, 1, 0]],
    ['status=suspended', [4]],
    ['status=deleted', []],
    ['status=active&sso_enabled=true&sso_only=false', [0]],
  ])('the filter %s', async (query, indexes) => {
    expect(ids(await here.owner.get(`${I}?${query}`))).toEqual(indexes.map((index) => created[index].id))
  })

  test.each(['sso_enabled=1', 'sso_only=yes', 'mfa_required=', 'invitation_enabled=TRUE', 'status=gone'])(
    'the filter %s is 400',
    async (query) => {
      expect((await here.owner.get(`${I}?${query}`)).status).toBe(400)
    },
  )

  test('a PATCH of sso or security changes which filters match', async () => {
    const { id } = created[0]
    expectStatus(
      await here.owner.patch(`${I}/${id}`, { sso: { label: 'no more' }, security: { mfa_required: true } }),
      200,
    )
    expect(ids(await here.owner.get(`${I}?sso_enabled=true`))).toEqual([created[1].id])
    expect(ids(await here.owner.get(`${I}?mfa_required=true`))).toEqual([created[2].id, id])
  })
})

test('a setting that is not enforced cannot be enabled: sso.enabled and sso.only, on create and on update', async () => {
  const { id } = await create({ sso: { enabled: false, only: false, label: 'Tulips' } })
  for (const [key, sso] of [
    ['enabled', { enabled: true }],
    ['only', { enabled: false, only: true }],
  ] as const) {
    for (const response of [await owner.post(list, { sso }), await owner.patch(`${list}/${id}`, { sso })]) {
      expect([response.status, response.body.details]).toEqual([
        400,
        [
          {
            field: `sso.${key}`,
            code: 'invalid_value',
            message: 'must be false. Organization sign-in is not available yet.',
          },
        ],
      ])
    }
  }
  const { data } = expectStatus(await owner.patch(`${list}/${id}`, { sso: { enabled: false, label: 'Roses' } }), 200)
  expect(data.sso).toEqual({ enabled: false, label: 'Roses' })
})

describe('PATCH', () => {
  test('metadata is merged, null removes a key; other objects are replaced; absent fields are unchanged', async () => {
    const { id } = await create(whole)
    const patch = { metadata: { crm: null, own: { a: 1 } }, contact: { phone: '1' }, address: null, social_links: [] }
    const changed = expectStatus(await owner.patch(`${list}/${id}`, patch), 200).data
    expect(changed).toMatchObject({ ...whole, ...patch, metadata: { own: { a: 1 } } })
    const again = expectStatus(
      await owner.patch(`${list}/${id}`, { metadata: { own: { b: 2 } }, name: null }),
      200,
    ).data
    expect(again).toMatchObject({ metadata: { own: { b: 2 } }, name: null, contact: { phone: '1' } })
    const [, event] = await events(id)
    expect(event).toMatchObject({
      type: 'organization.updated',
      changes: { contact: { old: whole.contact, new: { phone: '1' } }, address: { old: whole.address, new: null } },
    })
    expect(Object.keys(event!.changes as object).sort()).toEqual(['address', 'contact', 'metadata', 'social_links'])
  })

  test('merged metadata keeps its limit of 50 keys', async () => {
    const many = (from: number) => Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`k${from + i}`, i]))
    const { id } = await create({ metadata: many(0) })
    const response = await owner.patch(`${list}/${id}`, { metadata: many(30) })
    expect({ status: response.status, field: response.body.details[0].field }).toEqual({
      status: 400,
      field: 'metadata',
    })
  })

  test('20 parallel merges are all kept', async () => {
    const { id } = await create()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, i) => owner.patch(`${list}/${id}`, { metadata: { [`k${i}`]: i } })),
    )
    expect(new Set(responses.map((response) => response.status))).toEqual(new Set([200]))
    expect(Object.keys(expectStatus(await owner.get(`${list}/${id}`), 200).data.metadata)).toHaveLength(20)
  })

  test('status changes between active and suspended, with its reason and author; deleted is 400', async () => {
    const { id } = await create()
    const path = `${list}/${id}`
    const suspended = expectStatus(
      await owner.patch(path, { status: 'suspended', status_reason: 'unpaid', status_by: 'desk' }),
      200,
    )
    expect(suspended.data).toMatchObject({ status: 'suspended', status_reason: 'unpaid', status_by: 'desk' })
    const active = expectStatus(await owner.patch(path, { status: 'active' }), 200)
    expect(active.data).toMatchObject({
      status: 'active',
      status_reason: null,
      status_by: expect.stringMatching(/^ak_/),
    })
    expect((await owner.patch(path, { status: 'deleted' })).status).toBe(400)
    expect((await owner.patch(path, { created_by_user_id: await person() })).status).toBe(400)
  })
})

describe('DELETE', () => {
  test('is permanent: API keys are revoked, members and groups are removed, users remain', async () => {
    const userId = await person()
    const { id } = await create({ created_by_user_id: userId })
    const O = `${list}/${id}`
    const group = expectStatus(await owner.post(`${O}/groups`, { name: 'G' }), 201).data
    expectStatus(await owner.post(`${O}/groups/${group.id}/members`, { member_id: userId }), 201)
    const body = { type: 'api_key', name: 'k', restrictions: {} }
    const key = expectStatus(await owner.post(`${O}/api-keys`, body), 201).data
    const asOrganization = createApiClient(app.baseUrl, { id: key.id, secret: key.secret_plain })
    expectStatus(await asOrganization.get(O), 200)
    expectStatus(await owner.delete(O), 204)
    for (const path of [
      O,
      `${O}/members`,
      `${O}/members/${userId}`,
      `${O}/groups`,
      `${O}/api-keys`,
      `${O}/api-keys/${key.id}`,
    ]) {
      expect([path, (await owner.get(path)).status]).toEqual([path, 404])
    }
    expect((await owner.delete(O)).status).toBe(404)
    expect((await asOrganization.get(O)).status).toBe(401)
    expectStatus(await owner.get(`${tenant.I}/users/${userId}`), 200)
    const { prisma } = app.gatehouse.database
    expect(await prisma.apiKey.findUnique({ where: { id: key.id } })).toMatchObject({ status: 'revoked' })
    expect(await prisma.organizationMember.count({ where: { orgId: id } })).toBe(0)
    expect((await events(id)).slice(-2)).toMatchObject([
      { type: 'api_key.revoked', target: { type: 'api_key', id: key.id } },
      { type: 'organization.deleted', data: { members: 1, api_keys: 1 } },
    ])
    expect(ids(await owner.get(`${list}?status=deleted`))).toEqual([])
  })

  test('is rolled back as a whole when its API keys cannot be revoked', async () => {
    const userId = await person()
    const { id } = await create({ created_by_user_id: userId })
    const O = `${list}/${id}`
    const key = expectStatus(
      await owner.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} }),
      201,
    ).data
    const { pool } = app.gatehouse.database
    await pool.query(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
      IF NEW.status = 'revoked' THEN RAISE EXCEPTION 'no'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER refuse BEFORE UPDATE ON api_keys FOR EACH ROW EXECUTE FUNCTION refuse()`)
    try {
      expect((await owner.delete(O)).status).toBe(500)
    } finally {
      await pool.query('DROP TRIGGER refuse ON api_keys; DROP FUNCTION refuse()')
    }
    expectStatus(await owner.get(`${O}/members/${userId}`), 200)
    expect(expectStatus(await owner.get(`${O}/api-keys/${key.id}`), 200).data.status).toBe('active')
    expectStatus(await owner.delete(O), 204)
  })

  test('adding to an organization during its deletion fails', async () => {
    const { id } = await create()
    const O = `${list}/${id}`
    const people = await Promise.all(Array.from({ length: 8 }, person))
    const [deletion, ...adds] = await Promise.all([
      owner.delete(O),
      ...people.map((member_id) => owner.post(`${O}/members`, { member_id })),
      ...people.map((name) => owner.post(`${O}/groups`, { name })),
      ...people.map((name) => owner.post(`${O}/api-keys`, { type: 'api_key', name, restrictions: {} })),
    ])
    expect(deletion!.status).toBe(204)
    for (const add of adds) expect([201, 404]).toContain(add.status)
    const { prisma } = app.gatehouse.database
    expect(await prisma.organizationMember.count({ where: { orgId: id } })).toBe(0)
    expect(await prisma.apiKey.count({ where: { orgId: id, status: { not: 'revoked' } } })).toBe(0)
  })

  test('deleting the issuer removes everything below it, including API keys', async () => {
    const issuer = expectStatus(await owner.post(`${tenant.A}/issuers`, { name: 'Short' }), 201).data
    const I = `${tenant.A}/issuers/${issuer.id}/organizations`
    const O = `${I}/${expectStatus(await owner.post(I, {}), 201).data.id}`
    const key = expectStatus(
      await owner.post(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} }),
      201,
    ).data
    expectStatus(await owner.delete(`${tenant.A}/issuers/${issuer.id}`), 204)
    for (const path of [I, O, `${O}/members`, `${O}/groups`, `${O}/api-keys`]) {
      expect((await owner.get(path)).status).toBe(404)
    }
    expect((await createApiClient(app.baseUrl, { id: key.id, secret: key.secret_plain }).get(O)).status).toBe(401)
  })
})

describe('GraphQL relations', () => {
  const ask = `query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { organizations(limit: 5) { data { id name
    members(limit: 5) { data { id memberId effectiveScopes user { id username organizations { data { id } } } } }
    groups { data { id name memberCount } } apiKeys { data { id status orgId } } } } } }`
  let here: Tenant
  let orgs: string[]
  let user: string
  beforeAll(async () => {
    here = await createTenant(app, 'Related')
    const make = async (path: string, body: object) =>
      expectStatus(await here.owner.post(path, body), 201).data.id as string
    user = await make(`${here.I}/users`, { username_type: 'unique', username: 'tulip' })
    orgs = []
    for (const name of ['one', 'two']) {
      const id = await make(`${here.I}/organizations`, { name, default_member_scopes: [name] })
      const O = `${here.I}/organizations/${id}`
      const group = await make(`${O}/groups`, { name: 'G', scopes: ['of:group'] })
      await make(`${O}/members`, { member_id: user, groups: [group] })
      await make(`${O}/api-keys`, { type: 'api_key', name: 'k', restrictions: {} })
      orgs.push(id)
    }
  })

  test('user.organizations is paginated, newest membership first', async () => {
    const text = `query ($a: ID!, $i: ID!, $u: ID!, $c: String) { user(accountId: $a, issuerId: $i, userId: $u) {
      organizations(limit: 1, cursor: $c) { data { id } hasMore nextCursor } } }`
    const page = async (cursor: string | null) => {
      const given = { a: here.accountId, i: here.issuerId, u: user, c: cursor }
      const { body } = await here.owner.graphql(text, given)
      return { errors: body.errors, ...body.data?.user?.organizations }
    }
    const first = await page(null)
    expect(first).toMatchObject({ data: [{ id: orgs[1] }], hasMore: true, nextCursor: expect.stringMatching(/^mem_/) })
    expect(await page(first.nextCursor)).toMatchObject({ data: [{ id: orgs[0] }], hasMore: false, nextCursor: null })
    expect((await page(orgs[1]!)).errors).toMatchObject([{ extensions: { code: 'INVALID_REQUEST' } }])
  })

  test('issuer.organizations, organization.members, groups and apiKeys, member.user, user.organizations', async () => {
    const { body } = await here.owner.graphql(ask, { a: here.accountId, i: here.issuerId })
    expect(body.errors).toBeUndefined()
    const rows = body.data.issuer.organizations.data
    expect(rows.map((row: AnyJson) => row.id)).toEqual([...orgs].reverse())
    for (const row of rows) {
      const [member] = row.members.data
      expect(member).toMatchObject({ id: user, memberId: user, effectiveScopes: ['of:group', row.name].sort() })
      expect(member.user).toMatchObject({ id: user, username: expect.stringMatching(/^sha256:/) })
      expect(member.user.organizations.data.map(({ id }: AnyJson) => id)).toEqual([...orgs].reverse())
      expect(row.groups.data).toMatchObject([{ name: 'G', memberCount: 1 }])
      expect(row.apiKeys.data).toMatchObject([{ status: 'active', orgId: row.id }])
    }
  })

  test.each([
    ['members { data { id } }', 'issuers.organizations.members:read'],
    ['groups { data { id } }', 'issuers.organizations.groups:read'],
    ['apiKeys { data { id } }', 'issuers.organizations.api_keys:read'],
  ])('%s requires the scope of its REST endpoint', async (selection, scope) => {
    const text = `query ($a: ID!, $i: ID!, $o: ID!) { organization(accountId: $a, issuerId: $i, orgId: $o) { ${selection} } }`
    const place = { a: here.accountId, i: here.issuerId, o: orgs[0] }
    const short = await createRestrictedKey(here, { scopes: ['issuers.organizations:read'] })
    expect((await short.graphql(text, place)).body.errors[0].message).toContain(scope)
    const enough = await createRestrictedKey(here, { scopes: ['issuers.organizations:read', scope] })
    expect((await enough.graphql(text, place)).body.errors).toBeUndefined()
  })

  test('member.user leaves the organization, so a caller restricted to one organization cannot read it', async () => {
    const text = `query ($a: ID!, $i: ID!, $o: ID!) { organizationMembers(accountId: $a, issuerId: $i, orgId: $o) { data { id user { id } } } }`
    const place = { a: here.accountId, i: here.issuerId, o: orgs[0] }
    const bound = await createRestrictedKey(here, { org_ids: [orgs[0]] })
    expect((await bound.graphql(text, place)).body.errors[0].extensions.status).toBe(404)
    const free = await createRestrictedKey(here, {})
    expect((await free.graphql(text, place)).body.errors).toBeUndefined()
  })
})
