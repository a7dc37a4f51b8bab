/**
 * Members of organizations and their groups (docs/contract.md#members, docs/contract.md#groups,
 * docs/contract.md#organization-endpoints).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { membershipOf, membershipsOf } from '../../src/resources/organizations/membership.js'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
let owner: ApiClient

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app, 'Acme')
  owner = tenant.owner
})
afterAll(() => app.close())

const person = async (): Promise<string> =>
  expectStatus(await owner.post(`${tenant.I}/users`, { username_type: 'unique', username: uniqueName('user') }), 201)
    .data.id
const people = (count: number) => Promise.all(Array.from({ length: count }, person))
const organization = async (body: object = {}): Promise<{ id: string; O: string }> => {
  const { id } = expectStatus(await owner.post(`${tenant.I}/organizations`, body), 201).data
  return { id, O: `${tenant.I}/organizations/${id}` }
}
const add = async (O: string, member_id: string, more: object = {}): Promise<AnyJson> =>
  expectStatus(await owner.post(`${O}/members`, { member_id, ...more }), 201).data
const group = async (O: string, body: object = {}): Promise<AnyJson> =>
  expectStatus(await owner.post(`${O}/groups`, { name: uniqueName('Group'), ...body }), 201).data
const idsOf = (response: AnyJson): string[] => expectStatus(response, 200).data.map((row: { id: string }) => row.id)
const count = (responses: { status: number }[], status: number) =>
  responses.filter((response) => response.status === status).length
const events = (orgId: string) =>
  app.gatehouse.database.prisma.event.findMany({ where: { orgId }, orderBy: { id: 'asc' } })

/** Returns the memberships that tokens of this user would contain. */
const facts = async (userId: string) =>
  membershipsOf(systemContext(app.gatehouse), { issuerId: tenant.issuerId, userId })

describe('adding', () => {
  test('a member is a user of the issuer with scopes, groups, title and metadata', async () => {
    const { id, O } = await organization({ default_member_scopes: ['of:all'] })
    const { id: groupId } = await group(O, { scopes: ['of:group'] })
    const userId = await person()
    const body = { scopes: ['own'], groups: [groupId], user_title: 'Florist', metadata: { desk: 3 } }
    const response = await owner.post(`${O}/members`, { member_id: userId, ...body })
    expect(expectStatus(response, 201).data).toEqual({
      id: userId,
      member_id: userId,
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      org_id: id,
      ...body,
      effective_scopes: ['of:all', 'of:group', 'own'],
      status: 'active',
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
    expect(expectStatus(await owner.get(`${O}/members/${userId}`), 200)).toEqual(response.body)
    const event = (await events(id)).at(-1)
    expect(event).toMatchObject({ type: 'organization.membership.created', userId, data: { groups: [groupId] } })
  })

  test('an unknown user, a user of another issuer and a user under deletion are 404', async () => {
    const { O } = await organization()
    const other = await createTenant(app, 'Other')
    const otherIssuerUser = expectStatus(
      await other.owner.post(`${other.I}/users`, { username_type: 'unique', username: 'x' }),
      201,
    ).data.id
    const leaving = await person()
    expectStatus(await owner.delete(`${tenant.I}/users/${leaving}`), 202)
    for (const member_id of [`usr_${'0'.repeat(26)}`, otherIssuerUser, leaving, 'me']) {
      const response = await owner.post(`${O}/members`, { member_id })
      expect([response.status, response.body.error]).toEqual([404, 'not_found'])
    }
  })

  test('an existing member is 409; of 20 parallel requests exactly one succeeds', async () => {
    const { id, O } = await organization()
    const member_id = await person()
    const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${O}/members`, { member_id })))
    expect([count(responses, 201), count(responses, 409)]).toEqual([1, 19])
    expect(await app.gatehouse.database.prisma.organizationMember.count({ where: { orgId: id } })).toBe(1)
  })

  test('over max_members is 409, also under 20 parallel requests; a removed member no longer counts', async () => {
    const { O } = await organization({ max_members: 5 })
    const crowd = await people(20)
    const responses = await Promise.all(crowd.map((member_id) => owner.post(`${O}/members`, { member_id })))
    expect([count(responses, 201), count(responses, 409)]).toEqual([5, 15])
    const [first] = idsOf(await owner.get(`${O}/members`))
    expectStatus(await owner.patch(`${O}/members/${first}`, { status: 'suspended' }), 200)
    const outside = crowd[responses.findIndex(({ status }) => status === 409)]!
    expectStatus(await owner.post(`${O}/members`, { member_id: outside }), 409)
    expectStatus(await owner.delete(`${O}/members/${first}`), 204)
    expectStatus(await owner.post(`${O}/members`, { member_id: outside }), 201)
    expectStatus(await owner.patch(O, { max_members: 2 }), 200)
    expect(idsOf(await owner.get(`${O}/members`))).toHaveLength(5)
  })

  test.each([
    ['member_id', {}],
    ['member_id', { member_id: null }],
    ['groups[0]', { groups: [`grp_${'0'.repeat(26)}`] }],
    ['groups', { groups: 'x' }],
    ['scopes[0]', { scopes: [''] }],
    ['user_title', { user_title: 7 }],
    ['status', { status: 'invited' }],
    ['metadata', { metadata: 'x' }],
    ['role', { role: 'admin' }],
  ])('an invalid %s is 400 with its field', async (field, body) => {
    const { O } = await organization()
    const member_id = 'member_id' in body || field === 'member_id' ? {} : { member_id: await person() }
    const response = await owner.post(`${O}/members`, { ...member_id, ...body })
    expect({ status: response.status, field: response.body.details?.[0].field }).toEqual({ status: 400, field })
    expect(idsOf(await owner.get(`${O}/members`))).toEqual([])
  })

  test('a group of another organization is 400', async () => {
    const [one, two] = [await organization(), await organization()]
    const theirs = await group(two.O)
    const member_id = await person()
    expect((await owner.post(`${one.O}/members`, { member_id, groups: [theirs.id] })).status).toBe(400)
    await add(one.O, member_id)
    expect((await owner.patch(`${one.O}/members/${member_id}`, { groups: [theirs.id] })).status).toBe(400)
    expect((await owner.post(`${one.O}/groups/${theirs.id}/members`, { member_id })).status).toBe(404)
    expect((await owner.post(`${two.O}/groups/${theirs.id}/members`, { member_id })).status).toBe(404)
  })
})

describe('effective scopes are default_member_scopes ∪ own ∪ groups; a suspended member has none', () => {
  test('through every change, and in tokens', async () => {
    const { id, O } = await organization({ name: 'Facts', default_member_scopes: ['d', 'shared'] })
    const one = await group(O, { scopes: ['g1', 'shared'] })
    const userId = await person()
    const expectScopes = async (...scopes: string[]) => {
      expect(expectStatus(await owner.get(`${O}/members/${userId}`), 200).data.effective_scopes).toEqual(scopes)
      const known = await facts(userId)
      expect(known.map((membership) => membership.scopes)).toEqual(scopes.length > 0 ? [scopes] : [])
    }
    await add(O, userId, { scopes: ['own'] })
    await expectScopes('d', 'own', 'shared')
    expectStatus(await owner.post(`${O}/groups/${one.id}/members`, { member_id: userId }), 201)
    await expectScopes('d', 'g1', 'own', 'shared')
    expect(await facts(userId)).toEqual([{ id, name: 'Facts', scopes: ['d', 'g1', 'own', 'shared'], groups: [one.id] }])
    expectStatus(await owner.patch(`${O}/groups/${one.id}`, { scopes: ['g2'] }), 200)
    await expectScopes('d', 'g2', 'own', 'shared')
    expectStatus(await owner.patch(O, { default_member_scopes: [] }), 200)
    await expectScopes('g2', 'own')
    expectStatus(await owner.patch(`${O}/members/${userId}`, { scopes: [], groups: [one.id] }), 200)
    await expectScopes('g2')
    expectStatus(await owner.patch(`${O}/members/${userId}`, { status: 'suspended' }), 200)
    await expectScopes()
    expectStatus(await owner.patch(`${O}/members/${userId}`, { status: 'active' }), 200)
    await expectScopes('g2')
    expectStatus(await owner.delete(`${O}/groups/${one.id}`), 204)
    expect(expectStatus(await owner.get(`${O}/members/${userId}`), 200).data).toMatchObject({
      groups: [],
      effective_scopes: [],
    })
  })

  test('tokens contain only active memberships in active organizations', async () => {
    const userId = await person()
    const [one, two, gone] = [
      await organization({ name: 'One' }),
      await organization({ name: 'Two' }),
      await organization(),
    ]
    for (const { O } of [one, two, gone]) await add(O, userId)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([gone.id, two.id, one.id])
    expectStatus(await owner.delete(gone.O), 204)
    expectStatus(await owner.patch(one.O, { status: 'suspended' }), 200)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([two.id])
    const context = systemContext(app.gatehouse)
    const who = { issuerId: tenant.issuerId, userId }
    expect(await membershipOf(context, who, two.id)).toMatchObject({ id: two.id, name: 'Two' })
    expect(await membershipOf(context, who, one.id)).toBeNull()
    expect(await membershipOf(context, { ...who, issuerId: `iss_${'0'.repeat(26)}` }, two.id)).toBeNull()
    expectStatus(await owner.patch(one.O, { status: 'active' }), 200)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([two.id, one.id])
  })
})

describe('the list', () => {
  let O: string
  let members: string[]
  beforeAll(async () => {
    const created = await organization()
    O = created.O
    const inGroup = await group(O, { scopes: ['by:group'] })
    members = await people(5)
    const bodies = [
      { scopes: ['by:self'] },
      { groups: [inGroup.id] },
      { scopes: ['by:self'], status: 'suspended' },
      {},
      {},
    ]
    for (const [index, body] of bodies.entries()) await add(O, members[index]!, body)
  })

  test('newest membership first, in pages', async () => {
    const latest = [...members].reverse()
    const first = await owner.get(`${O}/members?limit=2`)
    expect(idsOf(first)).toEqual(latest.slice(0, 2))
    expect(first.body.has_more).toBe(true)
    const next = await owner.get(`${O}/members?limit=3&cursor=${first.body.next_cursor}`)
    expect(idsOf(next)).toEqual(latest.slice(2))
    expect(next.body).toMatchObject({ has_more: false, next_cursor: null })
    expect((await owner.get(`${O}/members?cursor=${members[0]}`)).status).toBe(400)
  })

  test('filters by status and by effective scope, including scopes from a group or from the organization', async () => {
    const by = async (query: string) => idsOf(await owner.get(`${O}/members?${query}`))
    expect(await by('status=suspended')).toEqual([members[2]])
    expect(await by('status=active')).toEqual([members[4], members[3], members[1], members[0]])
    expect(await by('scope=by:self')).toEqual([members[0]])
    expect(await by('scope=by:group')).toEqual([members[1]])
    expect(await by('scope=by:all')).toEqual([])
    expectStatus(await owner.patch(O, { default_member_scopes: ['by:all'] }), 200)
    expect(await by('scope=by:all')).toEqual([members[4], members[3], members[1], members[0]])
    expect(await by('scope=by:self&status=suspended')).toEqual([])
    expect((await owner.get(`${O}/members?status=invited`)).status).toBe(400)
  })

  test('a user under deletion is no longer a member', async () => {
    expectStatus(await owner.delete(`${tenant.I}/users/${members[4]}`), 202)
    expect(idsOf(await owner.get(`${O}/members`))).not.toContain(members[4])
    expect((await owner.get(`${O}/members/${members[4]}`)).status).toBe(404)
  })
})

describe('changing and removing', () => {
  test('PATCH merges metadata, replaces scopes and groups, and ignores If-Match', async () => {
    const { id, O } = await organization()
    const [one, two] = [await group(O), await group(O)]
    const userId = await person()
    await add(O, userId, { metadata: { a: 1, b: 2 }, groups: [one.id], user_title: 'T' })
    const patch = { metadata: { a: null, c: 3 }, groups: [two.id], scopes: ['s'], user_title: null }
    const response = await owner.patch(`${O}/members/${userId}`, patch, { 'if-match': '"0"' })
    expect(expectStatus(response, 200).data).toMatchObject({
      metadata: { b: 2, c: 3 },
      groups: [two.id],
      scopes: ['s'],
      user_title: null,
    })
    expect((await events(id)).at(-1)).toMatchObject({
      type: 'organization.membership.updated',
      userId,
      changes: { groups: { old: [one.id], new: [two.id] }, user_title: { old: 'T', new: null } },
    })
    for (const body of [{ status: 'deleted' }, { member_id: await person() }, { metadata: null }, { scopes: null }]) {
      expect((await owner.patch(`${O}/members/${userId}`, body)).status).toBe(400)
    }
    expect((await owner.patch(`${O}/members/${await person()}`, {})).status).toBe(404)
  })

  test('20 parallel changes are all kept', async () => {
    const { O } = await organization()
    const userId = await person()
    await add(O, userId)
    const groups = await Promise.all(Array.from({ length: 6 }, () => group(O)))
    const responses = await Promise.all([
      ...Array.from({ length: 14 }, (_, i) => owner.patch(`${O}/members/${userId}`, { metadata: { [`k${i}`]: i } })),
      ...groups.map(({ id }) => owner.post(`${O}/groups/${id}/members`, { member_id: userId })),
    ])
    expect(responses.map(({ status }) => status).sort()).toEqual([...Array(14).fill(200), ...Array(6).fill(201)])
    const { metadata, groups: of } = expectStatus(await owner.get(`${O}/members/${userId}`), 200).data
    expect([Object.keys(metadata).length, of.length]).toEqual([14, 6])
  })

  test('DELETE is 204 and then 404; the user remains and can be added again', async () => {
    const { id, O } = await organization()
    const userId = await person()
    const one = await group(O)
    await add(O, userId, { groups: [one.id] })
    expectStatus(await owner.delete(`${O}/members/${userId}`), 204)
    expect((await owner.delete(`${O}/members/${userId}`)).status).toBe(404)
    expect((await owner.get(`${O}/members/${userId}`)).status).toBe(404)
    expect((await events(id)).at(-1)).toMatchObject({ type: 'organization.membership.deleted', userId })
    expectStatus(await owner.get(`${tenant.I}/users/${userId}`), 200)
    expect(expectStatus(await owner.get(`${O}/groups/${one.id}`), 200).data.member_count).toBe(0)
    expect(await add(O, userId)).toMatchObject({ groups: [] })
  })
})

describe('groups', () => {
  test('all fields and events', async () => {
    const { id, O } = await organization()
    const body = { name: 'Buyers', description: 'They buy.', scopes: ['buy'], metadata: { a: 1 } }
    const created = expectStatus(await owner.post(`${O}/groups`, body), 201).data
    expect(created).toEqual({
      id: expect.stringMatching(/^grp_/),
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      org_id: id,
      ...body,
      member_count: 0,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    const path = `${O}/groups/${created.id}`
    const changed = expectStatus(await owner.patch(path, { description: null, metadata: { b: 2 } }), 200).data
    expect(changed).toMatchObject({ name: 'Buyers', description: null, metadata: { b: 2 }, scopes: ['buy'] })
    expectStatus(await owner.delete(path), 204)
    expect((await owner.delete(path)).status).toBe(404)
    expect((await events(id)).map(({ type }) => type)).toEqual([
      'organization.created',
      'organization.group.created',
      'organization.group.updated',
      'organization.group.deleted',
    ])
    for (const bad of [{}, { name: null }, { name: '' }, { name: 'x', scopes: 'x' }, { name: 'x', members: [] }]) {
      expect((await owner.post(`${O}/groups`, bad)).status).toBe(400)
    }
  })

  test('a name is unique within an organization: 409, also under 20 parallel requests; another organization may use it', async () => {
    const [one, two] = [await organization(), await organization()]
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => owner.post(`${one.O}/groups`, { name: 'Same' })),
    )
    expect([count(responses, 201), count(responses, 409)]).toEqual([1, 19])
    expectStatus(await owner.post(`${two.O}/groups`, { name: 'Same' }), 201)
    const other = await group(one.O)
    expectStatus(await owner.patch(`${one.O}/groups/${other.id}`, { name: 'Same' }), 409)
    expectStatus(await owner.patch(`${one.O}/groups/${other.id}`, { name: other.name }), 200)
  })

  test('members are added, listed, counted and removed; adding twice is 409; each change is a new version of group and member', async () => {
    const { O } = await organization()
    const { id, updated_at } = await group(O, { scopes: ['g'] })
    const path = `${O}/groups/${id}`
    const [one, two, outsider] = (await people(3)) as [string, string, string]
    const before = await add(O, one)
    await add(O, two, { groups: [id] })
    const added = expectStatus(await owner.post(`${path}/members`, { member_id: one }), 201).data
    expect(added).toMatchObject({ id: one, groups: [id], effective_scopes: ['g'] })
    expect(added.updated_at).toBeGreaterThan(before.updated_at)
    expectStatus(await owner.post(`${path}/members`, { member_id: one }), 409)
    expectStatus(await owner.post(`${path}/members`, { member_id: outsider }), 404)
    expectStatus(await owner.post(`${path}/members`, {}), 400)
    const read = expectStatus(await owner.get(path), 200).data
    expect(read.member_count).toBe(2)
    expect(read.updated_at).toBeGreaterThan(updated_at)
    const first = await owner.get(`${path}/members?limit=1`)
    expect(idsOf(first)).toEqual([two])
    expect(idsOf(await owner.get(`${path}/members?cursor=${first.body.next_cursor}`))).toEqual([one])
    expectStatus(await owner.delete(`${path}/members/${one}`), 204)
    expectStatus(await owner.delete(`${path}/members/${one}`), 404)
    expectStatus(await owner.get(`${O}/members/${one}`), 200)
    expect(idsOf(await owner.get(`${path}/members`))).toEqual([two])
    expectStatus(await owner.get(`${O}/groups/grp_${'0'.repeat(26)}/members`), 404)
  })

  test('of 20 parallel requests that add the same member to a group one succeeds', async () => {
    const { O } = await organization()
    const { id } = await group(O)
    const userId = await person()
    await add(O, userId)
    const adding = () => owner.post(`${O}/groups/${id}/members`, { member_id: userId })
    const responses = await Promise.all(Array.from({ length: 20 }, adding))
    expect([count(responses, 201), count(responses, 409)]).toEqual([1, 19])
    expect(expectStatus(await owner.get(`${O}/groups/${id}`), 200).data.member_count).toBe(1)
  })

  test('the list is newest first, in pages', async () => {
    const { O } = await organization()
    const created: string[] = []
    for (let i = 0; i < 3; i++) created.unshift((await group(O)).id)
    const first = await owner.get(`${O}/groups?limit=2`)
    expect(idsOf(first)).toEqual(created.slice(0, 2))
    expect(idsOf(await owner.get(`${O}/groups?cursor=${first.body.next_cursor}`))).toEqual(created.slice(2))
  })
})

describe('a caller cannot grant scopes that it lacks, directly or indirectly', () => {
  let weak: ApiClient
  let O: string
  let strong: string
  beforeAll(async () => {
    const stems = ['issuers.organizations', 'issuers.organizations.members', 'issuers.organizations.groups']
    weak = await createRestrictedKey(tenant, { scopes: stems.map((stem) => `${stem}:manage`) })
    O = (await organization()).O
    strong = (await group(O, { scopes: ['svc:all'] })).id
  })
  const refused = (response: AnyJson) =>
    expect([response.status, response.body.error]).toEqual([403, 'insufficient_scope'])

  test('by scopes of the member', async () => {
    const member_id = await person()
    refused(await weak.post(`${O}/members`, { member_id, scopes: ['issuers.users:read'] }))
    expect((await owner.get(`${O}/members/${member_id}`)).status).toBe(404)
    expectStatus(
      await weak.post(`${O}/members`, { member_id, scopes: ['a:tenants:own', 'issuers.organizations:read'] }),
      201,
    )
    refused(await weak.patch(`${O}/members/${member_id}`, { scopes: ['svc:all'] }))
  })

  test('by a group that has the scopes', async () => {
    const member_id = await person()
    refused(await weak.post(`${O}/members`, { member_id, groups: [strong] }))
    expectStatus(await weak.post(`${O}/members`, { member_id }), 201)
    refused(await weak.patch(`${O}/members/${member_id}`, { groups: [strong] }))
    refused(await weak.post(`${O}/groups/${strong}/members`, { member_id }))
    expect(expectStatus(await owner.get(`${O}/members/${member_id}`), 200).data.groups).toEqual([])
    refused(await weak.post(`${O}/groups`, { name: uniqueName('G'), scopes: ['svc:all'] }))
    refused(await weak.patch(`${O}/groups/${(await group(O)).id}`, { scopes: ['api_keys:write'] }))
    expectStatus(await weak.patch(`${O}/groups/${strong}`, { scopes: ['svc:all', 'own'] }), 200)
  })

  test('by reactivating a suspended member who has the scopes, or by adding a member where default_member_scopes has them', async () => {
    const member_id = await person()
    await add(O, member_id, { scopes: ['svc:all'], status: 'suspended' })
    refused(await weak.patch(`${O}/members/${member_id}`, { status: 'active' }))
    expectStatus(await owner.patch(`${O}/members/${member_id}`, { status: 'active' }), 200)
    expectStatus(await weak.patch(`${O}/members/${member_id}`, { status: 'suspended' }), 200)
    const all = await organization({ default_member_scopes: ['svc:all'] })
    refused(await weak.post(`${all.O}/members`, { member_id }))
  })
})
