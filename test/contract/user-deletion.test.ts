/** What becomes of deleted users (spec section 3, decisions D22), and the order and cost of lists of users. */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { systemContext } from '../../src/platform/jobs.js'
import { queueMail } from '../../src/platform/mail.js'
import { migrate } from '../../src/platform/migrate.js'
import { packageRoot } from '../../src/platform/package-root.js'
import { sha256 } from '../../src/platform/secrets.js'
import { acceptInvitation } from '../../src/resources/organizations/accept-invitation.js'
import { purgeDeletedUsers, purgeInvitations } from '../../src/resources/organizations/departures.js'
import { schedule } from '../../src/schedule.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
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

describe('erasure (decision D36)', () => {
  const { stringify } = JSON
  const name = (id: string) => `@[Ada ${id}](${id})`
  const eventsOf = async (id: string): Promise<Loose[]> =>
    must(await mine.owner.get(`${mine.A}/events?user_id=${id}&limit=100`), 200).data
  const stored = async (where: string, value: unknown): Promise<Loose[]> =>
    (await app.gatehouse.tools.pool.query(`SELECT * FROM events WHERE ${where} ORDER BY id`, [value])).rows
  const erase = async (...ids: string[]) => {
    for (const id of ids) must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    await purge()
  }
  /** Events as a robot leaves them: many. */
  const seedEvents = (userId: string, count: number, changes: object) =>
    app.gatehouse.tools.pool.query(
      `INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, auth_type, actor, target, context, changes)
       SELECT 'evt_' || lpad(n::text, 10, '0') || substr($2, 5, 16), 'user.updated', $1::bigint, $3, $4, $2, 'user',
         jsonb_build_object('type', 'user', 'id', $2::text, 'name', 'zq7kanari'),
         jsonb_build_object('type', 'user', 'id', $2::text), '{"ip_address": "203.0.113.77"}', $5::jsonb
       FROM generate_series(1, $6::int) n`,
      [app.clock.now(), userId, mine.accountId, mine.issuerId, stringify(changes), count],
    )

  test('in events of the user personal values become null; ids, types, times, order and counts stay', async () => {
    const id = await make({ profile: { name: 'Ada' } })
    const change = { username: fresh('ada'), profile: { name: 'Ada L' }, security: { a: 1 }, preferences: { a: 1 } }
    must(await mine.owner.patch(`${users}/${id}`, { ...change, custom_fields: { a: 1 }, scopes: ['a:read'] }), 200)
    must(await mine.owner.delete(`${users}/${id}`), 202)
    const before = await eventsOf(id)
    const count = async () =>
      must(await mine.owner.get(`${mine.A}/events/aggregate?user_id=${id}&group_by=type`), 200).buckets[0].rows
    const counted = await count()
    app.clock.advance(DAY)
    await purge()
    const [last, ...after] = await eventsOf(id)
    expect(last).toMatchObject({ type: 'user.status.changed', changes: { status: { new: 'deleted' } } })
    const nothing = { ip_address: null, user_agent: null }
    expect(after.map(({ changes: _, ...event }) => event)).toEqual(
      before.map(({ changes: _, ...event }) => ({ ...event, context: { ...event.context, ...nothing } })),
    )
    expect(await count()).toEqual(expect.arrayContaining([...counted, { key: 'user.status.changed', count: 1 }]))
    const { changes } = after.find(({ type }) => type === 'user.updated')
    const erased = { old: null, new: null }
    const [profile, security, preferences, custom_fields] = [erased, erased, erased, erased]
    expect(changes).toMatchObject({ username: erased, profile, security, preferences, custom_fields })
    expect(changes.scopes).toEqual({ old: [], new: ['a:read'] })
    expect(must(await mine.owner.get(`${mine.A}/events/${before[0].id}`), 200).data).toEqual(after[0])
  })

  test('what another person did to the user keeps the name and address of that person', async () => {
    const [id, other] = [await make(), await make()]
    await seedEvents(id, 1, { profile: { old: { name: 'Ada' }, new: {} } })
    await app.gatehouse.tools.pool.query(`UPDATE events SET actor = $2 WHERE user_id = $1 AND type = 'user.updated'`, [
      id,
      { type: 'user', id: other, name: 'Grace' },
    ])
    await erase(id)
    const row = async () => (await stored(`type = 'user.updated' AND user_id = $1`, id))[0]
    expect(await row()).toMatchObject({
      actor: { id: other, name: 'Grace' },
      context: { ip_address: '203.0.113.77' },
      changes: { profile: { old: null, new: null } },
    })
    await erase(other)
    expect(await row()).toMatchObject({ actor: { id: other, name: null }, context: { ip_address: null } })
  })

  test('a purge that is cut off is not over: the next one goes on, and two at once agree', async () => {
    const id = await make()
    await seedEvents(id, 2500, { username: { old: 'zq7kanari', new: 'zq7kanari' } })
    must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    const left = async () => (await stored(`changes::text LIKE '%zq7kanari%' AND user_id = $1`, id)).length
    /** As if the process were told to stop after so many looks. */
    const purgeUntil = (count: number) => {
      let looks = 0
      const stop = {
        get aborted() {
          return looks++ >= count
        },
      } as AbortSignal
      return purgeDeletedUsers(systemContext(app.gatehouse, stop))
    }
    for (let count = 0; (await left()) === 2500; count++) await purgeUntil(count)
    expect(await left()).toBeGreaterThan(0)
    expect(await left()).toBeLessThan(2500)
    expect(await rowOf(id)).toMatchObject({ status: 'pending_deletion' })
    const second = await app.second()
    await Promise.all([purge(), purgeDeletedUsers(systemContext(second.gatehouse))])
    await second.close()
    expect(await left()).toBe(0)
    expect(await rowOf(id)).toMatchObject({ status: 'deleted', purgeAt: null })
    expect(await stored(`user_id = $1 AND type = 'user.status.changed'`, id)).toHaveLength(1)
  })

  test('users whom an older version has purged are erased, too, whatever names their events use', async () => {
    const id = await make()
    await seedEvents(id, 3, {
      customFields: { old: { a: 'zq7kanari' }, new: {} },
      userTitle: { old: null, new: 'x' },
      password: 'changed',
    })
    const wiped = { status: 'deleted', statusAt: 5, username: '', usernameKey: '', profile: {}, purgeAt: 5 }
    await app.gatehouse.tools.prisma.user.update({ where: { id }, data: { ...wiped, approvalNote: 'zq7kanari' } })
    const count = (await stored('user_id = $1', id)).length
    await purge()
    const rows = await stored('user_id = $1', id)
    expect(rows).toHaveLength(count)
    expect(stringify(rows)).not.toContain('zq7kanari')
    expect(rows.at(0).changes).toEqual({
      customFields: { old: null, new: null },
      userTitle: { old: null, new: null },
      password: 'changed',
    })
    expect(await rowOf(id)).toMatchObject({ statusAt: 5n, purgeAt: null, approvalNote: null })
  })

  test('while events are moved into their months nothing is erased, for the move would bring it back', async () => {
    const id = await make({ profile: { name: 'Ada' } })
    const { pool } = app.gatehouse.tools
    await pool.query('CREATE TABLE events_making_2030_01 (LIKE events INCLUDING ALL)')
    await erase(id)
    expect(await rowOf(id)).toMatchObject({ status: 'pending_deletion' })
    await pool.query('DROP TABLE events_making_2030_01')
    await purge()
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
  })

  test('an answer that is kept for repetition and names the user is repeated without its body; others are not', async () => {
    const username = `${fresh('ada')}@example.com`
    const id = await make({ username_type: 'email', username })
    const { id: orgId } = must(await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true }), 201).data
    const invitations = `${mine.I}/organizations/${orgId}/invitations`
    const invited = must(await mine.owner.post(invitations, { email: username }), 201).data
    must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY / 2)
    const withdraw = (key: string) =>
      mine.owner.post(`${invitations}/${invited.id}/revoke`, undefined, { 'idempotency-key': key })
    const create = (key: string) =>
      mine.owner.post(`${mine.I}/organizations`, { name: 'Other' }, { 'idempotency-key': key })
    const [key, otherKey] = [fresh('key'), fresh('key')]
    expect((await withdraw(key)).text).toContain(username)
    const other = await create(otherKey)
    app.clock.advance(DAY / 2)
    await purge()
    const again = await withdraw(key)
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, '', 'true'])
    expect((await create(otherKey)).text).toBe(other.text)
  })

  test('mail that waits for the user is not sent any more, that for the next owner of the address is', async () => {
    const context = systemContext(app.gatehouse)
    const [old, username] = [`${fresh('ada')}@example.com`, `${fresh('ada')}@example.com`]
    const id = await make({ username_type: 'email', username: old })
    must(await mine.owner.patch(`${users}/${id}`, { username }), 200)
    const mail = (to: string) => ({ to, subject: 'x', text: 'x', html: 'x' })
    const waiting = () => app.gatehouse.tools.prisma.job.count({ where: { task: 'mail' } })
    const others = await waiting()
    for (const to of [old, username.toUpperCase()]) await queueMail(context, mail(to), 7 * DAY)
    must(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(1)
    await queueMail(context, mail(username), 7 * DAY)
    app.clock.advance(DAY)
    expect(await waiting()).toBe(others + 3)
    await purge()
    expect(await waiting()).toBe(others + 1)
  })

  test('mentions lose the name of the user, with a new version of the note; the rest of the text is its author’s', async () => {
    const [id, other] = [await make(), await make()]
    const content = `Ask ${name(id)} or ${name(other)}, then ${name(id)}.`
    const note = { subject_type: 'issuer', subject_id: mine.issuerId, content }
    const made = must(await mine.owner.post(`${mine.A}/notes`, note), 201).data
    await erase(id)
    const after = must(await mine.owner.get(`${mine.A}/notes/${made.id}`), 200).data
    const anonymous = `@[deleted user](${id})`
    expect(after.content).toBe(`Ask ${anonymous} or ${name(other)}, then ${anonymous}.`)
    expect(after.mentions).toMatchObject([
      { user_id: id, display_name: 'deleted user' },
      { user_id: other, display_name: `Ada ${other}` },
    ])
    expect(after.updated_at).toBeGreaterThan(made.updated_at)
    const mentioned = must(await mine.owner.get(`${mine.A}/notes?mentions_user_id=${id}`), 200).data
    expect(mentioned.map((row: Loose) => row.id)).toEqual([made.id])
  })

  test('a revoked token stays readable for its 31 days, without what its owner wrote', async () => {
    const id = await make()
    const body = {
      type: 'personal_token',
      name: 'Ada’s laptop',
      tags: ['home'],
      restrictions: { ip_allowlist: ['192.0.2.1'] },
    }
    const { token_plain: _, ...made } = must(await mine.owner.post(`${users}/${id}/tokens`, body), 201).data
    await erase(id)
    const { data } = must(await mine.owner.get(`${mine.A}/tokens/${made.id}`), 200)
    expect(data).toMatchObject({ id: made.id, user_id: id, status: 'revoked', name: '', tags: [], restrictions: {} })
  })

  test('an invitation that was not accepted takes its address out of its events when it is removed', async () => {
    const { id } = must(await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true }), 201).data
    const invite = async (email: string) =>
      must(await mine.owner.post(`${mine.I}/organizations/${id}/invitations`, { email }), 201).data
    const [open, taken] = [await invite('open@example.com'), await invite('taken@example.com')]
    const member = { id: await make(), issuerId: mine.issuerId }
    await acceptInvitation(systemContext(app.gatehouse), sha256(taken.token_plain), member)
    app.clock.advance(39 * DAY)
    await purgeInvitations(systemContext(app.gatehouse))
    const emails = async (invitation: Loose) =>
      (await stored(`target->>'id' = $1`, invitation.id)).map(({ data }) => data.email)
    expect(await emails(open)).toEqual([null])
    expect(await emails(taken)).toEqual(['taken@example.com', 'taken@example.com'])
    // Its row has gone, and the purge of the member finds its events all the same.
    await erase(member.id)
    expect(await emails(taken)).toEqual([null, null])
  })
})

test('an upgrade makes those due again whom an older version has purged, and erases removed invitations', async () => {
  const database = await createTestDatabase({ empty: true })
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-migrations-'))
  const client = new pg.Client(database.url)
  try {
    const all = join(packageRoot, 'prisma', 'migrations')
    const names = readdirSync(all).sort()
    for (const name of names.slice(
      0,
      names.findIndex((name) => name.endsWith('_erasure')),
    ))
      cpSync(join(all, name), join(folder, name), { recursive: true })
    await migrate(database.url, { folder })
    await client.connect()
    await client.query(`
      INSERT INTO accounts (id, created_at, updated_at) VALUES ('acc_x', 0, 0);
      INSERT INTO issuers (id, account_id, name, available_scopes, status, username_key, created_at, updated_at)
      VALUES ('iss_x', 'acc_x', 'x', '{}', 'active', 'x', 0, 0);
      INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, scopes, status,
        status_at, created_at, updated_at)
      SELECT 'usr_' || status, 'acc_x', 'iss_x', 'unique', status, status, 'x', '{}', status, 7, 0, 9
      FROM unnest('{active,deleted}'::text[]) AS status;
      INSERT INTO events (id, type, created_at, account_id, auth_type, actor, target, context, data)
      SELECT 'evt_' || n, 'organization.invitation.' || type, 1700000000000, 'acc_x', 'system', '{}',
        jsonb_build_object('type', 'organization_invitation', 'id', id), '{}', '{"email": "ada@example.com"}'
      FROM (VALUES (1, 'created', 'inv_lost'), (2, 'created', 'inv_taken'), (3, 'accepted', 'inv_taken'))
        AS e(n, type, id)`)
    await migrate(database.url)
    expect((await client.query('SELECT id, purge_at FROM users ORDER BY id')).rows).toEqual([
      { id: 'usr_active', purge_at: null },
      { id: 'usr_deleted', purge_at: 7 },
    ])
    const { rows } = await client.query('SELECT data FROM events ORDER BY id')
    expect(rows.map(({ data }) => data.email)).toEqual([null, 'ada@example.com', 'ada@example.com'])
  } finally {
    await client.end()
    await database.drop()
    rmSync(folder, { recursive: true })
  }
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
