/** What becomes of deleted users (spec section 3, decisions D22), and the order and cost of lists of users. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { sha256 } from '../../src/platform/secrets.js'
import { acceptInvitation } from '../../src/resources/organizations/accept-invitation.js'
import { purgeDeletedUsers } from '../../src/resources/organizations/departures.js'
import { schedule } from '../../src/schedule.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { listenTo } from '../setup/events.js'
import { makeSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, PASSWORD } from './world.js'

const DAY = 86_400_000

let app: TestApp
let mine: Tenant
let users: string

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await makeTenant(app, 'Mine')
  users = `${mine.I}/users`
})
afterAll(() => app.close())

const purge = () => purgeDeletedUsers(systemContext(app.gatehouse))
const rowOf = (id: string) => app.gatehouse.tools.prisma.user.findUniqueOrThrow({ where: { id } })
const make = async (more: object = {}): Promise<string> =>
  must(await mine.owner.post(users, { username_type: 'unique', username: fresh('u'), ...more }), 201).data.id
const idsOf = ({ body }: Loose): string[] => body.data.map(({ id }: Loose) => id)

test('a deleted user is wiped after 24 hours, not before: no name, no data, no verifier, no session', async () => {
  const secret = fresh('secret')
  const id = await make({
    username: secret,
    profile: { name: secret },
    security: { a: secret },
    compliance: { a: secret },
    preferences: { a: secret },
    custom_fields: { a: secret },
    metadata: { a: secret },
    scopes: [secret],
    signup_reason: secret,
    triggered_rule: secret,
    region: secret,
  })
  for (const body of [{ type: 'password', name: null, password: PASSWORD }, { type: 'backup_codes' }]) {
    must(await mine.owner.post(`${users}/${id}/verifiers`, body), 201)
  }
  const enrollment = { type: 'totp_enrollment', issuer_name: 'Acme' }
  must(await mine.owner.post(`${users}/${id}/verifiers`, enrollment), 201)
  await makeSession(app, mine, id)
  const kept = await make()

  expect((await mine.owner.delete(`${users}/${id}`)).status).toBe(202)
  expect((await mine.owner.get(`${users}/${id}`)).status).toBe(404)
  app.clock.advance(DAY - 1000)
  await purge()
  expect(await rowOf(id)).toMatchObject({ status: 'pending_deletion', username: secret })
  expect((await mine.owner.delete(`${users}/${id}`)).status).toBe(202)
  // The name stays free for others while the deletion is pending.
  const heir = await make({ username: secret })

  app.clock.advance(1000)
  const heard = await listenTo(app, mine.accountId)
  await purge()
  const row = await rowOf(id)
  expect(row).toMatchObject({ id, issuerId: mine.issuerId, status: 'deleted', username: '', profile: {}, scopes: [] })
  expect(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain(secret)
  const { prisma } = app.gatehouse.tools
  const left = await Promise.all([
    prisma.verifier.count({ where: { userId: id } }),
    prisma.enrollment.count({ where: { userId: id } }),
    prisma.session.count({ where: { userId: id } }),
  ])
  expect(left).toEqual([0, 0, 0])
  expect(await heard()).toMatchObject([
    { type: 'user.status.changed', userId: id, changes: { status: { old: 'pending_deletion', new: 'deleted' } } },
  ])
  expect((await mine.owner.delete(`${users}/${id}`)).status).toBe(404)
  expect(idsOf(await mine.owner.get(`${users}?status=deleted`))).toEqual([id])
  for (const other of [heir, kept]) expect((await mine.owner.get(`${users}/${other}`)).status).toBe(200)
})

test('the purge goes batch by batch, and twice at the same moment does no harm', async () => {
  const now = app.clock.now()
  await app.gatehouse.tools.pool.query(
    `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, scopes, status,
       purge_at, created_at, updated_at)
     SELECT 'usr_0' || lpad(n::text, 25, '0'), $1, $2, 'unique', 'x', 'x', 'x', '{}', 'pending_deletion', $3, 0, 0
     FROM generate_series(1, 250) n`,
    [mine.accountId, mine.issuerId, now],
  )
  const heard = await listenTo(app, mine.accountId)
  await Promise.all([purge(), purge()])
  await purge()
  expect(await app.gatehouse.tools.prisma.user.count({ where: { status: 'pending_deletion' } })).toBe(0)
  const told = await heard('user.status.changed')
  expect(told).toHaveLength(250)
  expect(new Set(told.map(({ userId }) => userId)).size).toBe(250)
})

describe('a wiped user leaves its organizations, groups and invitations', () => {
  const join = async (more: object, ...users: string[]): Promise<string> => {
    const { id } = must(
      await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true, ...more }),
      201,
    ).data
    const O = `${mine.I}/organizations/${id}`
    for (const member_id of users) must(await mine.owner.post(`${O}/members`, { member_id }), 201)
    return O
  }
  const invitation = (where: object) => app.gatehouse.tools.prisma.organizationInvitation.count({ where })
  const member = (where: object) => app.gatehouse.tools.prisma.organizationMember.count({ where })

  test('with organization.membership.deleted for each; notes and others stay', async () => {
    const secret = fresh('secret')
    const [id, other] = [await make(), await make()]
    const O = await join({}, id, other)
    const group = must(await mine.owner.post(`${O}/groups`, { name: 'G', scopes: ['a:read'] }), 201).data
    for (const member_id of [id, other])
      must(await mine.owner.post(`${O}/groups/${group.id}/members`, { member_id }), 201)
    must(await mine.owner.patch(`${O}/members/${id}`, { user_title: secret, metadata: { a: secret } }), 200)
    const note = { subject_type: 'issuer', subject_id: mine.issuerId, content: `@[Somebody](${id})` }
    const { id: noteId } = must(await mine.owner.post(`${mine.A}/notes`, note), 201).data
    must(await mine.owner.delete(`${users}/${id}`), 202)
    await purge()
    expect(await member({ userId: id })).toBe(1)

    app.clock.advance(DAY)
    const heard = await listenTo(app, mine.accountId)
    await Promise.all([purge(), purge()])
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
    expect([await member({ userId: id }), await member({ userId: other })]).toEqual([0, 1])
    const told = await heard()
    expect(told.map(({ type }) => type)).toEqual(['organization.membership.deleted', 'user.status.changed'])
    expect(told[0]).toMatchObject({
      userId: id,
      orgId: O.split('/').at(-1),
      authType: 'system',
      target: { type: 'organization_membership', id },
      data: { status: 'active', groups: [group.id], reason: 'user_deleted' },
    })
    expect(JSON.stringify(told)).not.toContain(secret)
    const left = must(await mine.owner.get(`${O}/groups/${group.id}`), 200).data
    expect(left.member_count).toBe(1)
    expect(left.updated_at).toBeGreaterThan(group.updated_at)
    expect(must(await mine.owner.get(`${mine.A}/notes/${noteId}`), 200).data.mentions).toMatchObject([{ user_id: id }])
  })

  test('invitations to its address go; those of whoever has the address now stay', async () => {
    const username = `${fresh('ada')}@example.com`
    const id = await make({ username_type: 'email', username })
    const [one, two, three] = [await join({}), await join({}), await join({})]
    const invite = async (O: string, email: string) =>
      must(await mine.owner.post(`${O}/invitations`, { email }), 201).data
    await invite(one!, username)
    must(await mine.owner.post(`${two}/invitations/${(await invite(two!, username)).id}/revoke`), 200)
    const { token_plain } = await invite(three!, 'another@example.com')
    const by = { id, issuerId: mine.issuerId }
    await acceptInvitation(systemContext(app.gatehouse), sha256(token_plain), by)
    must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(1)
    await make({ username_type: 'email', username })
    must(await mine.owner.post(`${three}/invitations`, { email: username }), 201)
    await purge()
    expect([await invitation({ emailKey: username }), await invitation({ acceptedByUserId: id })]).toEqual([3, 1])
    app.clock.advance(DAY)
    await purge()
    expect([await invitation({ emailKey: username }), await invitation({ acceptedByUserId: id })]).toEqual([1, 0])
  })

  test('batch by batch, also somebody who is a member of very many; each is told once', async () => {
    const id = await make()
    const { pool } = app.gatehouse.tools
    await pool.query(
      `INSERT INTO organizations (id, account_id, issuer_id, default_member_scopes, scopes, creator_scopes, status, created_at, updated_at)
       SELECT 'org_0' || lpad(n::text, 25, '0'), $1, $2, '{}', '{}', '{}', 'active', 0, 0 FROM generate_series(1, 250) n`,
      [mine.accountId, mine.issuerId],
    )
    await pool.query(
      `INSERT INTO organization_members (id, account_id, issuer_id, org_id, user_id, scopes, status, created_at, updated_at)
       SELECT 'mem_0' || lpad(n::text, 25, '0'), $1, $2, 'org_0' || lpad(n::text, 25, '0'), $3, '{}', 'active', 0, 0
       FROM generate_series(1, 250) n`,
      [mine.accountId, mine.issuerId, id],
    )
    must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    const heard = await listenTo(app, mine.accountId)
    await Promise.all([purge(), purge()])
    await purge()
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
    const told = await heard('organization.membership.deleted')
    expect(told).toHaveLength(250)
    expect(new Set(told.map(({ orgId }) => orgId)).size).toBe(250)
  })
})

test('the purge of users and of enrolments are periodic jobs', () => {
  expect(schedule.map(({ name }) => name)).toEqual(expect.arrayContaining(['purge-users', 'purge-enrollments']))
})

test('users are listed newest first without gaps or repetitions, by status and by search too', async () => {
  const word = fresh('page').replaceAll('-', '')
  const made: string[] = []
  for (let n = 0; n < 5; n++)
    made.unshift(await make({ profile: { name: `${word} ${n}`, email: `${word}@example.com` } }))
  must(await mine.owner.patch(`${users}/${made[2]}`, { status: 'blocked' }), 200)
  const all: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const answer = await mine.owner.get(`${users}?limit=2${cursor && `&cursor=${cursor}`}`)
    all.push(...idsOf(answer))
    cursor = answer.body.next_cursor
  }
  expect(all.slice(0, 5)).toEqual(made)
  expect(new Set(all).size).toBe(all.length)
  expect(idsOf(await mine.owner.get(`${users}?status=blocked`))).toEqual([made[2]])

  const ask = `query ($a: ID!, $i: ID!, $s: String, $c: String, $t: UserStatus) {
    users(accountId: $a, issuerId: $i, search: $s, cursor: $c, status: $t, limit: 2) { data { id } nextCursor } }`
  const found: string[] = []
  for (let c: string | null | undefined; c !== null; ) {
    const { body } = await mine.owner.graphql(ask, { a: mine.accountId, i: mine.issuerId, s: word.toUpperCase(), c })
    found.push(...body.data.users.data.map(({ id }: Loose) => id))
    c = body.data.users.nextCursor
  }
  // Each once, although name and email both begin like this.
  expect(found).toEqual(made)
  const blocked = { a: mine.accountId, i: mine.issuerId, s: word, t: 'blocked' }
  const { body } = await mine.owner.graphql(ask, blocked)
  expect(body.data.users.data).toEqual([{ id: made[2] }])
})

test('a page of users is one walk along an index of lists, whatever other issuers hold', async () => {
  const other = must(await mine.owner.post(`${mine.A}/issuers`, { name: 'Newer' }), 201).data
  await app.gatehouse.tools.pool.query(
    `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, scopes, status,
       created_at, updated_at)
     SELECT 'usr_7' || lpad(n::text, 25, 'z'), $1, $2, 'unique', 'x', 'x' || n, 'x', '{}', 'active', 0, 0
     FROM generate_series(1, 5000) n`,
    [mine.accountId, other.id],
  )
  const client = await app.gatehouse.tools.pool.connect()
  try {
    await client.query('ANALYZE users')
    for (const [text, values] of await statementsOf(async () => {
      await mine.owner.get(`${users}?limit=2`)
      await mine.owner.get(`${users}?limit=2&status=active`)
    })) {
      const { rows } = await client.query(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
      const plan = JSON.stringify(rows[0]['QUERY PLAN'])
      expect(plan).toMatch(/"Index Name":"users_list(_by_status)?"/)
      expect(plan).not.toContain('"Node Type":"Sort"')
      expect(plan).not.toContain('users_pkey')
    }
  } finally {
    client.release()
  }
})

/** The statements on users that this work sends, with their values. */
async function statementsOf(work: () => Promise<unknown>): Promise<[string, unknown[]][]> {
  const { pool } = app.gatehouse.tools
  const sent: [string, unknown[]][] = []
  const query = pool.query
  Object.assign(pool, {
    query: (...given: Loose[]) => {
      if (/FROM users u/.test(given[0].text)) sent.push([given[0].text, given[0].values])
      return (query as Loose).apply(pool, given)
    },
  })
  await work()
  Object.assign(pool, { query })
  expect(sent.length).toBeGreaterThanOrEqual(2)
  return sent
}
