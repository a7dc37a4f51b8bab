/** Members of organizations and their groups (spec 2.9, 4.7, section 3, decisions D10, D11). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { membershipOf, membershipsOf } from '../../src/resources/organizations/membership.js'
import { keyWith, makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh } from './world.js'

let app: TestApp
let tenant: Tenant
let owner: Api

beforeAll(async () => {
  app = await startApp()
  tenant = await makeTenant(app, 'Acme')
  owner = tenant.owner
})
afterAll(() => app.close())

const person = async (): Promise<string> =>
  must(await owner.post(`${tenant.I}/users`, { username_type: 'unique', username: fresh('user') }), 201).data.id
const people = (count: number) => Promise.all(Array.from({ length: count }, person))
const organization = async (body: object = {}): Promise<{ id: string; O: string }> => {
  const { id } = must(await owner.post(`${tenant.I}/organizations`, body), 201).data
  return { id, O: `${tenant.I}/organizations/${id}` }
}
const add = async (O: string, member_id: string, more: object = {}): Promise<Loose> =>
  must(await owner.post(`${O}/members`, { member_id, ...more }), 201).data
const group = async (O: string, body: object = {}): Promise<Loose> =>
  must(await owner.post(`${O}/groups`, { name: fresh('Group'), ...body }), 201).data
const idsOf = (answer: Loose): string[] => must(answer, 200).data.map((row: { id: string }) => row.id)
const count = (answers: { status: number }[], status: number) =>
  answers.filter((answer) => answer.status === status).length
const events = (orgId: string) =>
  app.gatehouse.tools.prisma.event.findMany({ where: { orgId }, orderBy: { id: 'asc' } })

/** What tokens would say of this user. */
const facts = async (userId: string) =>
  membershipsOf(systemContext(app.gatehouse), { issuerId: tenant.issuerId, userId })

describe('adding', () => {
  test('a member is a user of the issuer with scopes, groups, title and metadata', async () => {
    const { id, O } = await organization({ default_member_scopes: ['of:all'] })
    const { id: groupId } = await group(O, { scopes: ['of:group'] })
    const userId = await person()
    const body = { scopes: ['own'], groups: [groupId], user_title: 'Florist', metadata: { desk: 3 } }
    const made = await owner.post(`${O}/members`, { member_id: userId, ...body })
    expect(must(made, 201).data).toEqual({
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
    expect(made.headers.get('etag')).toBe(`"${made.body.data.updated_at}"`)
    expect(must(await owner.get(`${O}/members/${userId}`), 200)).toEqual(made.body)
    const event = (await events(id)).at(-1)
    expect(event).toMatchObject({ type: 'organization.membership.created', userId, data: { groups: [groupId] } })
  })

  test('an unknown user is 404, one of another issuer too, one who is being deleted too', async () => {
    const { O } = await organization()
    const other = await makeTenant(app, 'Other')
    const stranger = must(await other.owner.post(`${other.I}/users`, { username_type: 'unique', username: 'x' }), 201)
      .data.id
    const leaving = await person()
    must(await owner.delete(`${tenant.I}/users/${leaving}`), 202)
    for (const member_id of [`usr_${'0'.repeat(26)}`, stranger, leaving, 'me']) {
      const answer = await owner.post(`${O}/members`, { member_id })
      expect([answer.status, answer.body.error]).toEqual([404, 'not_found'])
    }
  })

  test('a member already is 409, also of 20 at once exactly one is made', async () => {
    const { id, O } = await organization()
    const member_id = await person()
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${O}/members`, { member_id })))
    expect([count(answers, 201), count(answers, 409)]).toEqual([1, 19])
    expect(await app.gatehouse.tools.prisma.organizationMember.count({ where: { orgId: id } })).toBe(1)
  })

  test('over max_members is 409, also under 20 parallel adds; a place that is left can be taken', async () => {
    const { O } = await organization({ max_members: 5 })
    const crowd = await people(20)
    const answers = await Promise.all(crowd.map((member_id) => owner.post(`${O}/members`, { member_id })))
    expect([count(answers, 201), count(answers, 409)]).toEqual([5, 15])
    const [first] = idsOf(await owner.get(`${O}/members`))
    must(await owner.patch(`${O}/members/${first}`, { status: 'suspended' }), 200)
    const outside = crowd[answers.findIndex(({ status }) => status === 409)]!
    must(await owner.post(`${O}/members`, { member_id: outside }), 409)
    must(await owner.delete(`${O}/members/${first}`), 204)
    must(await owner.post(`${O}/members`, { member_id: outside }), 201)
    must(await owner.patch(O, { max_members: 2 }), 200)
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
  ])('%s that does not fit is 400 and named', async (field, body) => {
    const { O } = await organization()
    const member_id = 'member_id' in body || field === 'member_id' ? {} : { member_id: await person() }
    const answer = await owner.post(`${O}/members`, { ...member_id, ...body })
    expect({ status: answer.status, field: answer.body.details?.[0].field }).toEqual({ status: 400, field })
    expect(idsOf(await owner.get(`${O}/members`))).toEqual([])
  })

  test("a group of another organization is 400: ids in bodies are the same organization's", async () => {
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
  test('through every change, and in what tokens learn', async () => {
    const { id, O } = await organization({ name: 'Facts', default_member_scopes: ['d', 'shared'] })
    const one = await group(O, { scopes: ['g1', 'shared'] })
    const userId = await person()
    const expectScopes = async (...scopes: string[]) => {
      expect(must(await owner.get(`${O}/members/${userId}`), 200).data.effective_scopes).toEqual(scopes)
      const known = await facts(userId)
      expect(known.map((membership) => membership.scopes)).toEqual(scopes.length > 0 ? [scopes] : [])
    }
    await add(O, userId, { scopes: ['own'] })
    await expectScopes('d', 'own', 'shared')
    must(await owner.post(`${O}/groups/${one.id}/members`, { member_id: userId }), 201)
    await expectScopes('d', 'g1', 'own', 'shared')
    expect(await facts(userId)).toEqual([{ id, name: 'Facts', scopes: ['d', 'g1', 'own', 'shared'], groups: [one.id] }])
    must(await owner.patch(`${O}/groups/${one.id}`, { scopes: ['g2'] }), 200)
    await expectScopes('d', 'g2', 'own', 'shared')
    must(await owner.patch(O, { default_member_scopes: [] }), 200)
    await expectScopes('g2', 'own')
    must(await owner.patch(`${O}/members/${userId}`, { scopes: [], groups: [one.id] }), 200)
    await expectScopes('g2')
    must(await owner.patch(`${O}/members/${userId}`, { status: 'suspended' }), 200)
    await expectScopes()
    must(await owner.patch(`${O}/members/${userId}`, { status: 'active' }), 200)
    await expectScopes('g2')
    must(await owner.delete(`${O}/groups/${one.id}`), 204)
    expect(must(await owner.get(`${O}/members/${userId}`), 200).data).toMatchObject({
      groups: [],
      effective_scopes: [],
    })
  })

  test('tokens learn of active memberships in living, active organizations only', async () => {
    const userId = await person()
    const [one, two, gone] = [
      await organization({ name: 'One' }),
      await organization({ name: 'Two' }),
      await organization(),
    ]
    for (const { O } of [one, two, gone]) await add(O, userId)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([gone.id, two.id, one.id])
    must(await owner.delete(gone.O), 204)
    must(await owner.patch(one.O, { status: 'suspended' }), 200)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([two.id])
    const context = systemContext(app.gatehouse)
    const who = { issuerId: tenant.issuerId, userId }
    expect(await membershipOf(context, who, two.id)).toMatchObject({ id: two.id, name: 'Two' })
    expect(await membershipOf(context, who, one.id)).toBeNull()
    expect(await membershipOf(context, { ...who, issuerId: `iss_${'0'.repeat(26)}` }, two.id)).toBeNull()
    must(await owner.patch(one.O, { status: 'active' }), 200)
    expect((await facts(userId)).map(({ id }) => id)).toEqual([two.id, one.id])
  })
})

describe('the list', () => {
  let O: string
  let members: string[]
  beforeAll(async () => {
    const made = await organization()
    O = made.O
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

  test('the latest joined first, in pages', async () => {
    const latest = [...members].reverse()
    const first = await owner.get(`${O}/members?limit=2`)
    expect(idsOf(first)).toEqual(latest.slice(0, 2))
    expect(first.body.has_more).toBe(true)
    const next = await owner.get(`${O}/members?limit=3&cursor=${first.body.next_cursor}`)
    expect(idsOf(next)).toEqual(latest.slice(2))
    expect(next.body).toMatchObject({ has_more: false, next_cursor: null })
    expect((await owner.get(`${O}/members?cursor=${members[0]}`)).status).toBe(400)
  })

  test('filters by status and by effective scope, also one that comes from a group or from the organization', async () => {
    const by = async (query: string) => idsOf(await owner.get(`${O}/members?${query}`))
    expect(await by('status=suspended')).toEqual([members[2]])
    expect(await by('status=active')).toEqual([members[4], members[3], members[1], members[0]])
    expect(await by('scope=by:self')).toEqual([members[0]])
    expect(await by('scope=by:group')).toEqual([members[1]])
    expect(await by('scope=by:all')).toEqual([])
    must(await owner.patch(O, { default_member_scopes: ['by:all'] }), 200)
    expect(await by('scope=by:all')).toEqual([members[4], members[3], members[1], members[0]])
    expect(await by('scope=by:self&status=suspended')).toEqual([])
    expect((await owner.get(`${O}/members?status=invited`)).status).toBe(400)
  })

  test('a user who is being deleted is no member any more', async () => {
    must(await owner.delete(`${tenant.I}/users/${members[4]}`), 202)
    expect(idsOf(await owner.get(`${O}/members`))).not.toContain(members[4])
    expect((await owner.get(`${O}/members/${members[4]}`)).status).toBe(404)
  })
})

describe('changing and removing', () => {
  test('PATCH merges metadata, replaces scopes and groups, and ignores If-Match (D11)', async () => {
    const { id, O } = await organization()
    const [one, two] = [await group(O), await group(O)]
    const userId = await person()
    await add(O, userId, { metadata: { a: 1, b: 2 }, groups: [one.id], user_title: 'T' })
    const patch = { metadata: { a: null, c: 3 }, groups: [two.id], scopes: ['s'], user_title: null }
    const answer = await owner.patch(`${O}/members/${userId}`, patch, { 'if-match': '"0"' })
    expect(must(answer, 200).data).toMatchObject({
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
    for (const body of [{ status: 'deleted' }, { member_id: userId }, { metadata: null }, { scopes: null }]) {
      expect((await owner.patch(`${O}/members/${userId}`, body)).status).toBe(400)
    }
    expect((await owner.patch(`${O}/members/${await person()}`, {})).status).toBe(404)
  })

  test('20 changes at once lose nothing', async () => {
    const { O } = await organization()
    const userId = await person()
    await add(O, userId)
    const groups = await Promise.all(Array.from({ length: 6 }, () => group(O)))
    const answers = await Promise.all([
      ...Array.from({ length: 14 }, (_, i) => owner.patch(`${O}/members/${userId}`, { metadata: { [`k${i}`]: i } })),
      ...groups.map(({ id }) => owner.post(`${O}/groups/${id}/members`, { member_id: userId })),
    ])
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(14).fill(200), ...Array(6).fill(201)])
    const { metadata, groups: of } = must(await owner.get(`${O}/members/${userId}`), 200).data
    expect([Object.keys(metadata).length, of.length]).toEqual([14, 6])
  })

  test('DELETE is 204 and then 404; the user stays and can come again', async () => {
    const { id, O } = await organization()
    const userId = await person()
    const one = await group(O)
    await add(O, userId, { groups: [one.id] })
    must(await owner.delete(`${O}/members/${userId}`), 204)
    expect((await owner.delete(`${O}/members/${userId}`)).status).toBe(404)
    expect((await owner.get(`${O}/members/${userId}`)).status).toBe(404)
    expect((await events(id)).at(-1)).toMatchObject({ type: 'organization.membership.deleted', userId })
    must(await owner.get(`${tenant.I}/users/${userId}`), 200)
    expect(must(await owner.get(`${O}/groups/${one.id}`), 200).data.member_count).toBe(0)
    expect(await add(O, userId)).toMatchObject({ groups: [] })
  })
})

describe('groups', () => {
  test('all their fields, their events', async () => {
    const { id, O } = await organization()
    const body = { name: 'Buyers', description: 'They buy.', scopes: ['buy'], metadata: { a: 1 } }
    const made = must(await owner.post(`${O}/groups`, body), 201).data
    expect(made).toEqual({
      id: expect.stringMatching(/^grp_/),
      account_id: tenant.accountId,
      issuer_id: tenant.issuerId,
      org_id: id,
      ...body,
      member_count: 0,
      created_at: expect.any(Number),
      updated_at: expect.any(Number),
    })
    const path = `${O}/groups/${made.id}`
    const changed = must(await owner.patch(path, { description: null, metadata: { b: 2 } }), 200).data
    expect(changed).toMatchObject({ name: 'Buyers', description: null, metadata: { b: 2 }, scopes: ['buy'] })
    must(await owner.delete(path), 204)
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

  test('a name is taken once per organization: 409, also of 20 at once; another organization may have it', async () => {
    const [one, two] = [await organization(), await organization()]
    const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post(`${one.O}/groups`, { name: 'Same' })))
    expect([count(answers, 201), count(answers, 409)]).toEqual([1, 19])
    must(await owner.post(`${two.O}/groups`, { name: 'Same' }), 201)
    const other = await group(one.O)
    must(await owner.patch(`${one.O}/groups/${other.id}`, { name: 'Same' }), 409)
    must(await owner.patch(`${one.O}/groups/${other.id}`, { name: other.name }), 200)
  })

  test('members come, are listed, counted, and go; twice is 409; each change gives group and member a new version', async () => {
    const { O } = await organization()
    const { id, updated_at } = await group(O, { scopes: ['g'] })
    const path = `${O}/groups/${id}`
    const [one, two, outsider] = (await people(3)) as [string, string, string]
    const before = await add(O, one)
    await add(O, two, { groups: [id] })
    const added = must(await owner.post(`${path}/members`, { member_id: one }), 201).data
    expect(added).toMatchObject({ id: one, groups: [id], effective_scopes: ['g'] })
    expect(added.updated_at).toBeGreaterThan(before.updated_at)
    must(await owner.post(`${path}/members`, { member_id: one }), 409)
    must(await owner.post(`${path}/members`, { member_id: outsider }), 404)
    must(await owner.post(`${path}/members`, {}), 400)
    const read = must(await owner.get(path), 200).data
    expect(read.member_count).toBe(2)
    expect(read.updated_at).toBeGreaterThan(updated_at)
    const first = await owner.get(`${path}/members?limit=1`)
    expect(idsOf(first)).toEqual([two])
    expect(idsOf(await owner.get(`${path}/members?cursor=${first.body.next_cursor}`))).toEqual([one])
    must(await owner.delete(`${path}/members/${one}`), 204)
    must(await owner.delete(`${path}/members/${one}`), 404)
    must(await owner.get(`${O}/members/${one}`), 200)
    expect(idsOf(await owner.get(`${path}/members`))).toEqual([two])
    must(await owner.get(`${O}/groups/grp_${'0'.repeat(26)}/members`), 404)
  })

  test('of 20 who put the same member into a group one wins', async () => {
    const { O } = await organization()
    const { id } = await group(O)
    const userId = await person()
    await add(O, userId)
    const adding = () => owner.post(`${O}/groups/${id}/members`, { member_id: userId })
    const answers = await Promise.all(Array.from({ length: 20 }, adding))
    expect([count(answers, 201), count(answers, 409)]).toEqual([1, 19])
    expect(must(await owner.get(`${O}/groups/${id}`), 200).data.member_count).toBe(1)
  })

  test('the list is newest first, in pages', async () => {
    const { O } = await organization()
    const made: string[] = []
    for (let i = 0; i < 3; i++) made.unshift((await group(O)).id)
    const first = await owner.get(`${O}/groups?limit=2`)
    expect(idsOf(first)).toEqual(made.slice(0, 2))
    expect(idsOf(await owner.get(`${O}/groups?cursor=${first.body.next_cursor}`))).toEqual(made.slice(2))
  })
})

describe('nobody grants what they lack, by whatever way the scopes come', () => {
  let weak: Api
  let O: string
  let strong: string
  beforeAll(async () => {
    const stems = ['issuers.organizations', 'issuers.organizations.members', 'issuers.organizations.groups']
    weak = await keyWith(tenant, { scopes: stems.map((stem) => `${stem}:manage`) })
    O = (await organization()).O
    strong = (await group(O, { scopes: ['svc:all'] })).id
  })
  const refused = (answer: Loose) => expect([answer.status, answer.body.error]).toEqual([403, 'insufficient_scope'])

  test('by own scopes', async () => {
    const member_id = await person()
    refused(await weak.post(`${O}/members`, { member_id, scopes: ['issuers.users:read'] }))
    expect((await owner.get(`${O}/members/${member_id}`)).status).toBe(404)
    must(await weak.post(`${O}/members`, { member_id, scopes: ['a:tenants:own', 'issuers.organizations:read'] }), 201)
    refused(await weak.patch(`${O}/members/${member_id}`, { scopes: ['svc:all'] }))
  })

  test('by a group that has them', async () => {
    const member_id = await person()
    refused(await weak.post(`${O}/members`, { member_id, groups: [strong] }))
    must(await weak.post(`${O}/members`, { member_id }), 201)
    refused(await weak.patch(`${O}/members/${member_id}`, { groups: [strong] }))
    refused(await weak.post(`${O}/groups/${strong}/members`, { member_id }))
    expect(must(await owner.get(`${O}/members/${member_id}`), 200).data.groups).toEqual([])
    refused(await weak.post(`${O}/groups`, { name: fresh('G'), scopes: ['svc:all'] }))
    refused(await weak.patch(`${O}/groups/${(await group(O)).id}`, { scopes: ['api_keys:write'] }))
    must(await weak.patch(`${O}/groups/${strong}`, { scopes: ['svc:all', 'own'] }), 200)
  })

  test('by reactivating a suspended member who has them, or joining where all have them', async () => {
    const member_id = await person()
    await add(O, member_id, { scopes: ['svc:all'], status: 'suspended' })
    refused(await weak.patch(`${O}/members/${member_id}`, { status: 'active' }))
    must(await owner.patch(`${O}/members/${member_id}`, { status: 'active' }), 200)
    must(await weak.patch(`${O}/members/${member_id}`, { status: 'suspended' }), 200)
    const all = await organization({ default_member_scopes: ['svc:all'] })
    refused(await weak.post(`${all.O}/members`, { member_id }))
  })
})
