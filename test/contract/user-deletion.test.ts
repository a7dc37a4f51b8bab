/**
 * Purge of deleted users (docs/contract.md#states-and-transitions, docs/contract.md#erasure), and the order and cost of
 * user lists.
 */
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import pg from 'pg'
import { sha256 } from '../../src/platform/crypto/secrets.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { enqueueMail } from '../../src/platform/mail/mail.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { migrate } from '../../src/platform/postgres/migrate.js'
import { acceptInvitation } from '../../src/resources/organizations/invitation-acceptance.js'
import { purgeDeletedUsers, purgeExpiredInvitations } from '../../src/resources/organizations/purge.js'
import { schedule } from '../../src/schedule.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { createTestDatabase } from '../setup/database.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { PASSWORD, uniqueName } from './tenant-fixture.js'

const DAY = 86_400_000

let app: TestApp
let mine: Tenant
let users: string

beforeAll(async () => {
  app = await startApp({ roles: ['core'] })
  mine = await createTenant(app, 'Mine')
  users = `${mine.I}/users`
})
afterAll(() => app.close())

const purge = () => purgeDeletedUsers(systemContext(app.gatehouse))
const rowOf = (id: string) => app.gatehouse.database.prisma.user.findUniqueOrThrow({ where: { id } })
const createUser = async (more: object = {}): Promise<string> =>
  expectStatus(await mine.owner.post(users, { username_type: 'unique', username: uniqueName('u'), ...more }), 201).data
    .id
const idsOf = ({ body }: AnyJson): string[] => body.data.map(({ id }: AnyJson) => id)

test('a deleted user is purged after 24 hours and not earlier: names, data, verifiers and sessions are removed', async () => {
  const secret = uniqueName('secret')
  const id = await createUser({
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
    expectStatus(await mine.owner.post(`${users}/${id}/verifiers`, body), 201)
  }
  const enrollment = { type: 'totp_enrollment', issuer_name: 'Acme' }
  expectStatus(await mine.owner.post(`${users}/${id}/verifiers`, enrollment), 201)
  await createSession(app, mine, id)
  const kept = await createUser()

  expect((await mine.owner.delete(`${users}/${id}`)).status).toBe(202)
  expect((await mine.owner.get(`${users}/${id}`)).status).toBe(404)
  app.clock.advance(DAY - 1000)
  await purge()
  expect(await rowOf(id)).toMatchObject({ status: 'pending_deletion', username: secret })
  expect((await mine.owner.delete(`${users}/${id}`)).status).toBe(202)
  // Another user can have the username while the deletion is pending.
  const heir = await createUser({ username: secret })

  app.clock.advance(1000)
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  await purge()
  const row = await rowOf(id)
  expect(row).toMatchObject({ id, issuerId: mine.issuerId, status: 'deleted', username: '', profile: {}, scopes: [] })
  expect(JSON.stringify(row, (_, value) => (typeof value === 'bigint' ? Number(value) : value))).not.toContain(secret)
  const { prisma } = app.gatehouse.database
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

test('the purge runs in batches, and two parallel runs are safe', async () => {
  const now = app.clock.now()
  await app.gatehouse.database.pool.query(
    `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, scopes, status,
       purge_at, created_at, updated_at)
     SELECT 'usr_0' || lpad(n::text, 25, '0'), $1, $2, 'unique', 'x', 'x', 'x', '{}', 'pending_deletion', $3, 0, 0
     FROM generate_series(1, 250) n`,
    [mine.accountId, mine.issuerId, now],
  )
  const heard = await eventsRecordedFromNow(app, mine.accountId)
  await Promise.all([purge(), purge()])
  await purge()
  expect(await app.gatehouse.database.prisma.user.count({ where: { status: 'pending_deletion' } })).toBe(0)
  const recorded = await heard('user.status.changed')
  expect(recorded).toHaveLength(250)
  expect(new Set(recorded.map(({ userId }) => userId)).size).toBe(250)
})

describe('a purged user is removed from organizations, groups and invitations', () => {
  const join = async (more: object, ...users: string[]): Promise<string> => {
    const { id } = expectStatus(
      await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true, ...more }),
      201,
    ).data
    const O = `${mine.I}/organizations/${id}`
    for (const member_id of users) expectStatus(await mine.owner.post(`${O}/members`, { member_id }), 201)
    return O
  }
  const invitation = (where: object) => app.gatehouse.database.prisma.organizationInvitation.count({ where })
  const member = (where: object) => app.gatehouse.database.prisma.organizationMember.count({ where })

  test('with organization.membership.deleted for each; notes and other rows remain', async () => {
    const secret = uniqueName('secret')
    const [id, other] = [await createUser(), await createUser()]
    const O = await join({}, id, other)
    const group = expectStatus(await mine.owner.post(`${O}/groups`, { name: 'G', scopes: ['a:read'] }), 201).data
    for (const member_id of [id, other])
      expectStatus(await mine.owner.post(`${O}/groups/${group.id}/members`, { member_id }), 201)
    expectStatus(await mine.owner.patch(`${O}/members/${id}`, { user_title: secret, metadata: { a: secret } }), 200)
    const note = { subject_type: 'issuer', subject_id: mine.issuerId, content: `@[Somebody](${id})` }
    const { id: noteId } = expectStatus(await mine.owner.post(`${mine.A}/notes`, note), 201).data
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    await purge()
    expect(await member({ userId: id })).toBe(1)

    app.clock.advance(DAY)
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    await Promise.all([purge(), purge()])
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
    expect([await member({ userId: id }), await member({ userId: other })]).toEqual([0, 1])
    const recorded = await heard()
    expect(recorded.map(({ type }) => type)).toEqual(['organization.membership.deleted', 'user.status.changed'])
    expect(recorded[0]).toMatchObject({
      userId: id,
      orgId: O.split('/').at(-1),
      authType: 'system',
      target: { type: 'organization_membership', id },
      data: { status: 'active', groups: [group.id], reason: 'user_deleted' },
    })
    expect(JSON.stringify(recorded)).not.toContain(secret)
    const left = expectStatus(await mine.owner.get(`${O}/groups/${group.id}`), 200).data
    expect(left.member_count).toBe(1)
    expect(left.updated_at).toBeGreaterThan(group.updated_at)
    expect(expectStatus(await mine.owner.get(`${mine.A}/notes/${noteId}`), 200).data.mentions).toMatchObject([
      { user_id: id },
    ])
  })

  test('invitations to its address are removed; those of the current owner of the address remain', async () => {
    const username = `${uniqueName('ada')}@example.com`
    const id = await createUser({ username_type: 'email', username })
    const [one, two, three] = [await join({}), await join({}), await join({})]
    const invite = async (O: string, email: string) =>
      expectStatus(await mine.owner.post(`${O}/invitations`, { email }), 201).data
    await invite(one!, username)
    expectStatus(await mine.owner.post(`${two}/invitations/${(await invite(two!, username)).id}/revoke`), 200)
    const { token_plain } = await invite(three!, 'another@example.com')
    const by = { id, issuerId: mine.issuerId }
    await acceptInvitation(systemContext(app.gatehouse), sha256(token_plain), by)
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(1)
    await createUser({ username_type: 'email', username })
    expectStatus(await mine.owner.post(`${three}/invitations`, { email: username }), 201)
    await purge()
    expect([await invitation({ emailKey: username }), await invitation({ acceptedByUserId: id })]).toEqual([3, 1])
    app.clock.advance(DAY)
    await purge()
    expect([await invitation({ emailKey: username }), await invitation({ acceptedByUserId: id })]).toEqual([1, 0])
  })

  test('in batches, also for a user with many memberships; each is recorded once', async () => {
    const id = await createUser()
    const { pool } = app.gatehouse.database
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
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    await Promise.all([purge(), purge()])
    await purge()
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
    const recorded = await heard('organization.membership.deleted')
    expect(recorded).toHaveLength(250)
    expect(new Set(recorded.map(({ orgId }) => orgId)).size).toBe(250)
  })
})

describe('erasure (docs/contract.md#erasure)', () => {
  const { stringify } = JSON
  const name = (id: string) => `@[Ada ${id}](${id})`
  const eventsOf = async (id: string): Promise<AnyJson[]> =>
    expectStatus(await mine.owner.get(`${mine.A}/events?user_id=${id}&limit=100`), 200).data
  const stored = async (where: string, value: unknown): Promise<AnyJson[]> =>
    (await app.gatehouse.database.pool.query(`SELECT * FROM events WHERE ${where} ORDER BY id`, [value])).rows
  const erase = async (...ids: string[]) => {
    for (const id of ids) expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    await purge()
  }
  /** Inserts events of a user with personal values. */
  const seedEvents = (userId: string, count: number, changes: object) =>
    app.gatehouse.database.pool.query(
      `INSERT INTO events (id, type, created_at, account_id, issuer_id, user_id, auth_type, actor, target, context, changes)
       SELECT 'evt_' || lpad(n::text, 10, '0') || substr($2, 5, 16), 'user.updated', $1::bigint, $3, $4, $2, 'user',
         jsonb_build_object('type', 'user', 'id', $2::text, 'name', 'zq7kanari'),
         jsonb_build_object('type', 'user', 'id', $2::text), '{"ip_address": "203.0.113.77"}', $5::jsonb
       FROM generate_series(1, $6::int) n`,
      [app.clock.now(), userId, mine.accountId, mine.issuerId, stringify(changes), count],
    )

  test('in events of the user personal values become null; ids, types, times, order and counts remain', async () => {
    const id = await createUser({ profile: { name: 'Ada' } })
    const change = {
      username: uniqueName('ada'),
      profile: { name: 'Ada L' },
      security: { a: 1 },
      preferences: { a: 1 },
    }
    expectStatus(
      await mine.owner.patch(`${users}/${id}`, { ...change, custom_fields: { a: 1 }, scopes: ['a:read'] }),
      200,
    )
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    const before = await eventsOf(id)
    const count = async () =>
      expectStatus(await mine.owner.get(`${mine.A}/events/aggregate?user_id=${id}&group_by=type`), 200).buckets[0].rows
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
    expect(expectStatus(await mine.owner.get(`${mine.A}/events/${before[0].id}`), 200).data).toEqual(after[0])
  })

  test("events of another user's action on the user keep the name and address of that other user", async () => {
    const [id, other] = [await createUser(), await createUser()]
    await seedEvents(id, 1, { profile: { old: { name: 'Ada' }, new: {} } })
    await app.gatehouse.database.pool.query(
      `UPDATE events SET actor = $2 WHERE user_id = $1 AND type = 'user.updated'`,
      [id, { type: 'user', id: other, name: 'Grace' }],
    )
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

  test('an interrupted purge is continued by the next run, and two parallel runs do not conflict', async () => {
    const id = await createUser()
    await seedEvents(id, 2500, { username: { old: 'zq7kanari', new: 'zq7kanari' } })
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY)
    const left = async () => (await stored(`changes::text LIKE '%zq7kanari%' AND user_id = $1`, id)).length
    /** Runs the purge with a stop signal that is aborted after the given number of checks. */
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
    const second = await app.startSecondApp()
    await Promise.all([purge(), purgeDeletedUsers(systemContext(second.gatehouse))])
    await second.close()
    expect(await left()).toBe(0)
    expect(await rowOf(id)).toMatchObject({ status: 'deleted', purgeAt: null })
    expect(await stored(`user_id = $1 AND type = 'user.status.changed'`, id)).toHaveLength(1)
  })

  test('users that an older version purged are erased too, whichever names their events use', async () => {
    const id = await createUser()
    await seedEvents(id, 3, {
      customFields: { old: { a: 'zq7kanari' }, new: {} },
      userTitle: { old: null, new: 'x' },
      password: 'changed',
    })
    const wiped = { status: 'deleted', statusAt: 5, username: '', usernameKey: '', profile: {}, purgeAt: 5 }
    await app.gatehouse.database.prisma.user.update({ where: { id }, data: { ...wiped, approvalNote: 'zq7kanari' } })
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

  test('nothing is erased while events are moved into partitions, because the move would restore the values', async () => {
    const id = await createUser({ profile: { name: 'Ada' } })
    const { pool } = app.gatehouse.database
    await pool.query('CREATE TABLE events_staging_2030_01 (LIKE events INCLUDING ALL)')
    await erase(id)
    expect(await rowOf(id)).toMatchObject({ status: 'pending_deletion' })
    await pool.query('DROP TABLE events_staging_2030_01')
    await purge()
    expect(await rowOf(id)).toMatchObject({ status: 'deleted' })
  })

  test('an idempotent response that names the user is replayed without its body; others are unchanged', async () => {
    const username = `${uniqueName('ada')}@example.com`
    const id = await createUser({ username_type: 'email', username })
    const { id: orgId } = expectStatus(
      await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true }),
      201,
    ).data
    const invitations = `${mine.I}/organizations/${orgId}/invitations`
    const invited = expectStatus(await mine.owner.post(invitations, { email: username }), 201).data
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(DAY / 2)
    const withdraw = (key: string) =>
      mine.owner.post(`${invitations}/${invited.id}/revoke`, undefined, { 'idempotency-key': key })
    const create = (key: string) =>
      mine.owner.post(`${mine.I}/organizations`, { name: 'Other' }, { 'idempotency-key': key })
    const [key, otherKey] = [uniqueName('key'), uniqueName('key')]
    expect((await withdraw(key)).text).toContain(username)
    const other = await create(otherKey)
    app.clock.advance(DAY / 2)
    await purge()
    const again = await withdraw(key)
    expect([again.status, again.text, again.headers.get('idempotent-replayed')]).toEqual([200, '', 'true'])
    expect((await create(otherKey)).text).toBe(other.text)
  })

  test('pending mail to the user is not sent; mail to the next owner of the address is', async () => {
    const context = systemContext(app.gatehouse)
    const [old, username] = [`${uniqueName('ada')}@example.com`, `${uniqueName('ada')}@example.com`]
    const id = await createUser({ username_type: 'email', username: old })
    expectStatus(await mine.owner.patch(`${users}/${id}`, { username }), 200)
    const mail = (to: string) => ({ to, subject: 'x', text: 'x', html: 'x' })
    const waiting = () => app.gatehouse.database.prisma.job.count({ where: { task: 'mail' } })
    const others = await waiting()
    for (const to of [old, username.toUpperCase()]) await enqueueMail(context, mail(to), 7 * DAY)
    expectStatus(await mine.owner.delete(`${users}/${id}`), 202)
    app.clock.advance(1)
    await enqueueMail(context, mail(username), 7 * DAY)
    app.clock.advance(DAY)
    expect(await waiting()).toBe(others + 3)
    await purge()
    expect(await waiting()).toBe(others + 1)
  })

  test('mentions lose the name of the user with a new version of the note; the rest of the text is unchanged', async () => {
    const [id, other] = [await createUser(), await createUser()]
    const content = `Ask ${name(id)} or ${name(other)}, then ${name(id)}.`
    const note = { subject_type: 'issuer', subject_id: mine.issuerId, content }
    const created = expectStatus(await mine.owner.post(`${mine.A}/notes`, note), 201).data
    await erase(id)
    const after = expectStatus(await mine.owner.get(`${mine.A}/notes/${created.id}`), 200).data
    const anonymous = `@[deleted user](${id})`
    expect(after.content).toBe(`Ask ${anonymous} or ${name(other)}, then ${anonymous}.`)
    expect(after.mentions).toMatchObject([
      { user_id: id, display_name: 'deleted user' },
      { user_id: other, display_name: `Ada ${other}` },
    ])
    expect(after.updated_at).toBeGreaterThan(created.updated_at)
    const mentioned = expectStatus(await mine.owner.get(`${mine.A}/notes?mentions_user_id=${id}`), 200).data
    expect(mentioned.map((row: AnyJson) => row.id)).toEqual([created.id])
  })

  test('a revoked token stays readable for its 31 days, without the texts of its owner', async () => {
    const id = await createUser()
    const body = {
      type: 'personal_token',
      name: 'Ada’s laptop',
      tags: ['home'],
      restrictions: { ip_allowlist: ['192.0.2.1'] },
    }
    const { token_plain: _, ...created } = expectStatus(await mine.owner.post(`${users}/${id}/tokens`, body), 201).data
    await erase(id)
    const { data } = expectStatus(await mine.owner.get(`${mine.A}/tokens/${created.id}`), 200)
    expect(data).toMatchObject({ id: created.id, user_id: id, status: 'revoked', name: '', tags: [], restrictions: {} })
  })

  test('the removal of an invitation that was not accepted erases its address in events', async () => {
    const { id } = expectStatus(
      await mine.owner.post(`${mine.I}/organizations`, { invitation_enabled: true }),
      201,
    ).data
    const invite = async (email: string) =>
      expectStatus(await mine.owner.post(`${mine.I}/organizations/${id}/invitations`, { email }), 201).data
    const [open, taken] = [await invite('open@example.com'), await invite('taken@example.com')]
    const member = { id: await createUser(), issuerId: mine.issuerId }
    await acceptInvitation(systemContext(app.gatehouse), sha256(taken.token_plain), member)
    app.clock.advance(39 * DAY)
    await purgeExpiredInvitations(systemContext(app.gatehouse))
    const emails = async (invitation: AnyJson) =>
      (await stored(`target->>'id' = $1`, invitation.id)).map(({ data }) => data.email)
    expect(await emails(open)).toEqual([null])
    expect(await emails(taken)).toEqual(['taken@example.com', 'taken@example.com'])
    // The row of the accepted invitation no longer exists, but the purge of the member still erases its events.
    await erase(member.id)
    expect(await emails(taken)).toEqual([null, null])
  })
})

test('an upgrade schedules users that an older version purged again, and erases removed invitations', async () => {
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

test('the purge of users and of enrollments are periodic jobs', () => {
  expect(schedule.map(({ name }) => name)).toEqual(expect.arrayContaining(['purge-users', 'purge-enrollments']))
})

test('users are listed newest first without gaps or duplicates, also by status and search', async () => {
  const word = uniqueName('page').replaceAll('-', '')
  const created: string[] = []
  for (let n = 0; n < 5; n++)
    created.unshift(await createUser({ profile: { name: `${word} ${n}`, email: `${word}@example.com` } }))
  expectStatus(await mine.owner.patch(`${users}/${created[2]}`, { status: 'blocked' }), 200)
  const all: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const response = await mine.owner.get(`${users}?limit=2${cursor && `&cursor=${cursor}`}`)
    all.push(...idsOf(response))
    cursor = response.body.next_cursor
  }
  expect(all.slice(0, 5)).toEqual(created)
  expect(new Set(all).size).toBe(all.length)
  expect(idsOf(await mine.owner.get(`${users}?status=blocked`))).toEqual([created[2]])

  const ask = `query ($a: ID!, $i: ID!, $s: String, $c: String, $t: UserStatus) {
    users(accountId: $a, issuerId: $i, search: $s, cursor: $c, status: $t, limit: 2) { data { id } nextCursor } }`
  const found: string[] = []
  for (let c: string | null | undefined; c !== null; ) {
    const { body } = await mine.owner.graphql(ask, { a: mine.accountId, i: mine.issuerId, s: word.toUpperCase(), c })
    found.push(...body.data.users.data.map(({ id }: AnyJson) => id))
    c = body.data.users.nextCursor
  }
  // A user whose name and email both match the prefix occurs once.
  expect(found).toEqual(created)
  const blocked = { a: mine.accountId, i: mine.issuerId, s: word, t: 'blocked' }
  const { body } = await mine.owner.graphql(ask, blocked)
  expect(body.data.users.data).toEqual([{ id: created[2] }])
})

test('a page of users is one index scan, regardless of other issuers', async () => {
  const other = expectStatus(await mine.owner.post(`${mine.A}/issuers`, { name: 'Newer' }), 201).data
  await app.gatehouse.database.pool.query(
    `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, scopes, status,
       created_at, updated_at)
     SELECT 'usr_7' || lpad(n::text, 25, 'z'), $1, $2, 'unique', 'x', 'x' || n, 'x', '{}', 'active', 0, 0
     FROM generate_series(1, 5000) n`,
    [mine.accountId, other.id],
  )
  const client = await app.gatehouse.database.pool.connect()
  try {
    await client.query('ANALYZE users')
    for (const [text, values] of await statementsDuring(async () => {
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

/** Returns the statements with their values that a function sends to read users. */
async function statementsDuring(work: () => Promise<unknown>): Promise<[string, unknown[]][]> {
  const { pool } = app.gatehouse.database
  const sent: [string, unknown[]][] = []
  const query = pool.query
  Object.assign(pool, {
    query: (...given: AnyJson[]) => {
      if (/FROM users u/.test(given[0].text)) sent.push([given[0].text, given[0].values])
      return (query as AnyJson).apply(pool, given)
    },
  })
  await work()
  Object.assign(pool, { query })
  expect(sent.length).toBeGreaterThanOrEqual(2)
  return sent
}
