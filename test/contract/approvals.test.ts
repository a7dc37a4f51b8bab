/** The approval queue (docs/contract.md#approval-endpoints, docs/contract.md#states-and-transitions). */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { eventsOfTarget, rowsAsText } from './stored-rows.js'
import { uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
})
afterAll(() => app.close())

const signUp = async (more: object = {}, { owner, I }: Tenant = tenant): Promise<AnyJson> =>
  expectStatus(
    await owner.post(`${I}/users`, {
      username_type: 'unique',
      username: uniqueName('waiting'),
      requires_approval: true,
      signup_reason: 'I work here',
      triggered_rule: 'unknown domain',
      profile: { name: 'Wanda' },
      ...more,
    }),
    201,
  ).data
const approvalPath = (id: string) => `${tenant.I}/approvals/${id}`
const decide = (id: string, body: object) => tenant.owner.patch(approvalPath(id), body)
const errorFieldsOf = (response: AnyJson) => response.body.details?.map(({ field }: AnyJson) => field)

test('GET approvals lists users in pending_approval, oldest sign-up first, with hashed usernames; the cursor is a user id', async () => {
  const other = await createTenant(app, 'Lister')
  const users: AnyJson[] = []
  for (let i = 0; i < 5; i++) users.push(await signUp({}, other))
  const active = expectStatus(
    await other.owner.post(`${other.I}/users`, { username_type: 'unique', username: 'active' }),
    201,
  ).data
  const path = `${other.I}/approvals`
  expectStatus(await other.owner.patch(`${path}/${users[2].id}`, { action: 'approve' }), 200)
  const page = expectStatus(await other.owner.get(path), 200)
  expect(page.data.map(({ id }: AnyJson) => id)).toEqual([0, 1, 3, 4].map((i) => users[i].id))
  expect(page).toMatchObject({ next_cursor: null, has_more: false })
  const listed = expectStatus(await other.owner.get(`${other.I}/users?status=active`), 200).data
  expect(listed.some(({ id }: AnyJson) => id === active.id)).toBe(true)
  for (const row of page.data) expect(row.username).toMatch(/^sha256:[0-9a-f]{64}$/)
  expect(page.data[0]).toMatchObject({
    status: 'pending_approval',
    signup_reason: 'I work here',
    triggered_rule: 'unknown domain',
  })

  const first = expectStatus(await other.owner.get(`${path}?limit=2`), 200)
  expect(first).toMatchObject({ has_more: true, next_cursor: users[1].id })
  const second = expectStatus(await other.owner.get(`${path}?limit=2&cursor=${first.next_cursor}`), 200)
  expect(second.data.map(({ id }: AnyJson) => id)).toEqual([users[3].id, users[4].id])
  expect(second.next_cursor).toBeNull()
  for (const query of [
    '?cursor=x',
    '?cursor=org_00000000000000000000000000',
    '?limit=0',
    '?limit=101',
    '?status=active',
  ]) {
    expect((await other.owner.get(path + query)).status).toBe(400)
  }
})

test('with many users, the list is read in order from an index', async () => {
  const { owner, A, accountId } = tenant
  const issuerId = expectStatus(await owner.post(`${A}/issuers`, { name: 'Full' }), 201).data.id
  const client = await app.gatehouse.database.pool.connect()
  try {
    await client.query(
      `INSERT INTO users (id, account_id, issuer_id, username_type, username, username_key, username_hash, status, created_at, updated_at)
       SELECT 'usr_' || lpad(n::text, 26, '0'), $1, $2, 'unique', n, n, n,
         CASE WHEN n % 100 = 0 THEN 'pending_approval' ELSE 'active' END, n, n FROM generate_series(1, 5000) AS n`,
      [accountId, issuerId],
    )
    await client.query('ANALYZE users')
    const { rows } = await client.query(
      `EXPLAIN SELECT * FROM users WHERE issuer_id = $1 AND status = 'pending_approval' AND id COLLATE "C" > 'usr_0' ORDER BY id COLLATE "C" LIMIT 51`,
      [issuerId],
    )
    const plan = JSON.stringify(rows)
    expect(plan).toContain('Index Scan Backward using users_list_by_status')
    expect(plan).not.toContain('Sort')
  } finally {
    client.release()
  }
})

test('GET approvals/{user_id} returns the full profile and the approval metadata', async () => {
  const user = await signUp()
  const response = await tenant.owner.get(approvalPath(user.id))
  expect(response.status).toBe(200)
  expect(response.headers.get('etag')).toBe(`"${user.updated_at}"`)
  expect(response.body.data).toEqual({ ...user, note: null })
  expect(response.body.data).toMatchObject({
    username: user.username,
    profile: { name: 'Wanda' },
    requires_approval: true,
    signup_reason: 'I work here',
    triggered_rule: 'unknown domain',
  })
})

test('an unknown user is 404, a user who is not pending approval is 422', async () => {
  const active = expectStatus(
    await tenant.owner.post(`${tenant.I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data
  const gone = await signUp()
  expectStatus(await tenant.owner.delete(`${tenant.I}/users/${gone.id}`), 202)
  for (const [id, status, error] of [
    [`usr_${'0'.repeat(26)}`, 404, 'not_found'],
    [gone.id, 404, 'not_found'],
    [active.id, 422, 'invalid_request'],
  ]) {
    for (const response of [await tenant.owner.get(approvalPath(id)), await decide(id, { action: 'approve' })]) {
      expect([response.status, response.body.error]).toEqual([status, error])
    }
  }
})

test('approve makes the user active and records user.approval.approved', async () => {
  const user = await signUp()
  const response = await decide(user.id, { action: 'approve' })
  expect(response.status).toBe(200)
  expect(response.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
  expect(response.body.data).toMatchObject({
    id: user.id,
    status: 'active',
    status_reason: null,
    approval: {
      status: 'approved',
      reason: null,
      decided_at: expect.any(Number),
      decided_by: expect.stringMatching(/^ak_/),
    },
  })
  expect(expectStatus(await tenant.owner.get(`${tenant.I}/users/${user.id}`), 200).data.status).toBe('active')
  const types = (await eventsOfTarget(app, user.id)).map(({ type }) => type)
  expect(types).toEqual(['user.created', 'user.approval.approved', 'user.status.changed'])
})

test('reject requires a reason, blocks the user and records user.approval.rejected', async () => {
  const user = await signUp()
  for (const body of [{ action: 'reject' }, { action: 'reject', reason: null }, { action: 'reject', reason: '  ' }]) {
    const refused = await decide(user.id, body)
    expect([refused.status, errorFieldsOf(refused)]).toEqual([400, ['reason']])
  }
  const { data } = expectStatus(
    await decide(user.id, { action: 'reject', reason: 'We do not know you', note: 'smells' }),
    200,
  )
  expect(data).toMatchObject({
    status: 'blocked',
    status_reason: 'We do not know you',
    approval: { status: 'rejected', reason: 'We do not know you' },
    note: 'smells',
  })
  const events = await eventsOfTarget(app, user.id)
  expect(events[1]).toMatchObject({
    type: 'user.approval.rejected',
    userId: user.id,
    data: { reason: 'We do not know you' },
    changes: { status: { old: 'pending_approval', new: 'blocked' } },
  })
})

test('the internal note appears only in the responses of the approval endpoints', async () => {
  const user = await signUp()
  const note = uniqueName('internal-note')
  expectStatus(await decide(user.id, { action: 'approve', note }), 200)
  const read = await tenant.owner.get(`${tenant.I}/users/${user.id}`)
  const changed = await tenant.owner.patch(`${tenant.I}/users/${user.id}`, { metadata: { a: 1 } })
  for (const text of [read.text, changed.text, rowsAsText(await eventsOfTarget(app, user.id))])
    expect(text).not.toContain(note)
  const row = await app.gatehouse.database.prisma.user.findUnique({ where: { id: user.id } })
  expect(row!.approvalNote).toBe(note)
})

test('unknown actions and fields are 400', async () => {
  const user = await signUp()
  for (const [body, field] of [
    [{}, 'action'],
    [{ action: 'postpone' }, 'action'],
    [{ action: 'approve', status: 'active' }, 'status'],
    [{ action: 'approve', note: 5 }, 'note'],
  ] as const) {
    const refused = await decide(user.id, body)
    expect([refused.status, errorFieldsOf(refused)]).toEqual([400, [field]])
  }
  expect(expectStatus(await tenant.owner.get(approvalPath(user.id)), 200).data.status).toBe('pending_approval')
})

test('a decision requires issuers.approvals:manage', async () => {
  const user = await signUp()
  const writer = await createRestrictedKey(tenant, {
    scopes: ['issuers.approvals:read', 'issuers.approvals:write', 'issuers.users:manage'],
  })
  const refused = await writer.patch(approvalPath(user.id), { action: 'approve' })
  expect([refused.status, refused.body.error]).toEqual([403, 'insufficient_scope'])
  const manager = await createRestrictedKey(tenant, { scopes: ['issuers.approvals:manage'] })
  expectStatus(await manager.patch(approvalPath(user.id), { action: 'approve' }), 200)
})

test('of 20 parallel decisions one succeeds, the others are 422', async () => {
  const user = await signUp()
  const responses = await Promise.all(
    Array.from({ length: 20 }, (_, i) =>
      decide(user.id, i % 2 ? { action: 'approve' } : { action: 'reject', reason: 'no' }),
    ),
  )
  expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(19).fill(422)])
  const winner = responses.find(({ status }) => status === 200)!.body.data
  expect(expectStatus(await tenant.owner.get(`${tenant.I}/users/${user.id}`), 200).data.status).toBe(winner.status)
  const decisions = (await eventsOfTarget(app, user.id)).filter(({ type }) => type.startsWith('user.approval.'))
  expect(decisions).toHaveLength(1)
})
