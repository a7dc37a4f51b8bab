/** Notes (docs/contract.md#notes, docs/contract.md#note-endpoints, docs/contract.md#note-fields-and-links). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createRestrictedKey, createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { eventsOfTarget, rowsAsText } from './stored-rows.js'
import { publicClient, uniqueName } from './tenant-fixture.js'

let app: TestApp
let tenant: Tenant
let other: Tenant
let notes: string
let userId: string
let orgId: string
let clientId: string

const createUser = async ({ owner, I }: Tenant): Promise<string> =>
  expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('user') }), 201).data.id

beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  other = await createTenant(app, 'Other')
  notes = `${tenant.A}/notes`
  userId = await createUser(tenant)
  clientId = expectStatus(await tenant.owner.post(`${tenant.I}/clients`, publicClient()), 201).data.id
  orgId = await createOrganization(tenant)
})
afterAll(() => app.close())

async function createOrganization({ accountId, issuerId }: Tenant): Promise<string> {
  const id = `org_${Math.random().toString(36).slice(2).padEnd(26, '0').slice(0, 26)}`
  const now = Date.now()
  const row = { id, accountId, issuerId, status: 'active', createdAt: now, updatedAt: now }
  await app.gatehouse.database.prisma.organization.create({ data: row })
  return id
}

const noteOnIssuer = (more: object = {}) => ({
  subject_type: 'issuer',
  subject_id: tenant.issuerId,
  content: 'Hello',
  ...more,
})
const noteOnUser = (more: object = {}) => ({
  subject_type: 'user',
  subject_id: userId,
  issuer_id: tenant.issuerId,
  content: 'Hello',
  ...more,
})
const write = async (body: object = noteOnIssuer()): Promise<AnyJson> =>
  expectStatus(await tenant.owner.post(notes, body), 201).data
const errorFieldsOf = (response: AnyJson) => response.body.details?.map(({ field }: AnyJson) => field)

describe('creating', () => {
  test('POST returns the note with its creator, mentions and references', async () => {
    const content = `@[Ann Lee](${userId}) owns [[client:${clientId}|the app]] and [[org:${orgId}]]`
    const response = await tenant.owner.post(notes, noteOnUser({ content, pinned: true }))
    expect(response.status).toBe(201)
    const [keyId] = Buffer.from(tenant.owner.authorization!.split(' ')[1]!, 'base64').toString().split(':')
    expect(response.body.data).toEqual({
      id: expect.stringMatching(/^note_[0-9a-z]{26}$/),
      account_id: tenant.accountId,
      subject_type: 'user',
      subject_id: userId,
      issuer_id: tenant.issuerId,
      content,
      pinned: true,
      created_by: keyId,
      mentions: [{ user_id: userId, display_name: 'Ann Lee' }],
      references: [
        { type: 'client', id: clientId, display_text: 'the app' },
        { type: 'org', id: orgId, display_text: null },
      ],
      created_at: expect.any(Number),
      updated_at: response.body.data.created_at,
    })
    const read = await tenant.owner.get(`${notes}/${response.body.data.id}`)
    expect(read.body).toEqual(response.body)
    expect(read.headers.get('etag')).toBe(`"${response.body.data.updated_at}"`)
  })

  test('issuer_id is required for users and organizations and not allowed for issuers and clients', async () => {
    for (const [subject_type, subject_id] of [
      ['user', userId],
      ['org', orgId],
    ]) {
      for (const issuer_id of [undefined, null]) {
        const refused = await tenant.owner.post(notes, { subject_type, subject_id, content: 'x', issuer_id })
        expect([refused.status, errorFieldsOf(refused)]).toEqual([400, ['issuer_id']])
      }
      expectStatus(
        await tenant.owner.post(notes, { subject_type, subject_id, content: 'x', issuer_id: tenant.issuerId }),
        201,
      )
    }
    for (const [subject_type, subject_id] of [
      ['issuer', tenant.issuerId],
      ['client', clientId],
    ]) {
      const refused = await tenant.owner.post(notes, {
        subject_type,
        subject_id,
        content: 'x',
        issuer_id: tenant.issuerId,
      })
      expect([refused.status, errorFieldsOf(refused)]).toEqual([400, ['issuer_id']])
      const created = expectStatus(await tenant.owner.post(notes, { subject_type, subject_id, content: 'x' }), 201)
      expect(created.data.issuer_id).toBeNull()
    }
  })

  test('the subject must exist in the same tenant', async () => {
    const theirs = await createUser(other)
    const elsewhere = expectStatus(await tenant.owner.post(`${tenant.A}/issuers`, { name: 'Second' }), 201).data.id
    const gone = await createUser(tenant)
    expectStatus(await tenant.owner.delete(`${tenant.I}/users/${gone}`), 202)
    for (const [body, field] of [
      [noteOnUser({ subject_id: theirs }), 'subject_id'],
      [noteOnUser({ subject_id: theirs, issuer_id: other.issuerId }), 'issuer_id'],
      [noteOnUser({ issuer_id: elsewhere }), 'subject_id'],
      [noteOnUser({ subject_id: gone }), 'subject_id'],
      [noteOnUser({ subject_type: 'org' }), 'subject_id'],
      [noteOnUser({ subject_type: 'org', subject_id: await createOrganization(other) }), 'subject_id'],
      [noteOnIssuer({ subject_id: other.issuerId }), 'subject_id'],
      [noteOnIssuer({ subject_type: 'client' }), 'subject_id'],
      [noteOnIssuer({ subject_id: 'iss_nothing' }), 'subject_id'],
    ] as const) {
      const refused = await tenant.owner.post(notes, body)
      expect([refused.status, errorFieldsOf(refused)]).toEqual([400, [field]])
    }
  })

  test.each([
    [{ content: '' }, 'content'],
    [{ content: 'x'.repeat(10_001) }, 'content'],
    [{ content: 5 }, 'content'],
    [{ content: undefined }, 'content'],
    [{ subject_type: 'webhook' }, 'subject_type'],
    [{ subject_id: undefined }, 'subject_id'],
    [{ pinned: 'yes' }, 'pinned'],
    [{ created_by: 'me' }, 'created_by'],
    [{ mentions: [] }, 'mentions'],
  ])('an invalid field is 400: %#', async (more, field) => {
    const refused = await tenant.owner.post(notes, noteOnIssuer(more))
    expect([refused.status, errorFieldsOf(refused)]).toEqual([400, [field]])
  })

  test('content has up to 10,000 characters and is stored unchanged', async () => {
    const content = `<script>alert(1)</script>\r\n${'x'.repeat(9973)}`
    expect((await write(noteOnIssuer({ content }))).content).toBe(content)
  })

  const links = (...list: string[]) => list
  test.each([
    ['@[Ann](usr_1) and @[Bob](usr_2) and again @[A.](usr_1)', links('usr_1 Ann', 'usr_2 Bob')],
    [
      '[[user:u1]] [[org:o1]] [[issuer:i1]] [[client:c1]] [[webhook:w1]] [[api_key:k1]]',
      links('user:u1', 'org:o1', 'issuer:i1', 'client:c1', 'webhook:w1', 'api_key:k1'),
    ],
    ['[[user:u1|Ann]] [[user:u1|again]]', links('user:u1|Ann')],
    ['[[domain:d1]] [[user:]] [[user u1]] [user:u1] @[](u) @(u) @[x]() [[user:u1|]]', links()],
    ['`@[Ann](usr_1)` and @[Bob](usr_2)', links('usr_2 Bob')],
    ['``a ` [[user:u1]]`` [[user:u2]]', links('user:u2')],
    ['a lone ` and [[user:u1]]', links('user:u1')],
    ['a ` b\n\n[[user:u1]] ` c', links('user:u1')],
    ['a ` b\n[[user:u1]] ` c', links()],
    ['```\n[[user:u1]]\n```\n[[user:u2]]', links('user:u2')],
    ['```js title\n[[user:u1]]\n``\n~~~\n[[user:u2]]\n````\n[[user:u3]]', links('user:u3')],
    ['~~~\n[[user:u1]]\n```\n[[user:u2]]', links()],
    ['- item\n  ```\n  [[user:u1]]\n  ```\n> ```\n> [[user:u2]]\n> ```\n[[user:u3]]', links('user:u3')],
    ['``` `x` [[user:u1]]', links('user:u1')],
    ['\\`[[user:u1]]\\` \\[[user:u2]] \\@[Ann](usr_3)', links('user:u1')],
    ['**[[org:o1|Acme *Inc*]]**\r\n> @[Zoë 🙂](usr_9)', links('usr_9 Zoë 🙂', 'org:o1|Acme *Inc*')],
  ])('mentions and references are found outside of code only: %j', async (content, expected) => {
    const { mentions, references } = await write(noteOnIssuer({ content }))
    expect([
      ...mentions.map((m: AnyJson) => `${m.user_id} ${m.display_name}`),
      ...references.map((r: AnyJson) => `${r.type}:${r.id}${r.display_text ? `|${r.display_text}` : ''}`),
    ]).toEqual(expected)
  })

  test('a text crafted for catastrophic backtracking is parsed in linear time', async () => {
    const began = performance.now()
    for (const content of ['`'.repeat(9999), '@['.repeat(5000), '[[user:'.repeat(1428), `${'`a``b'.repeat(1999)}`]) {
      await write(noteOnIssuer({ content }))
    }
    expect(performance.now() - began).toBeLessThan(2000)
  })
})

describe('changing', () => {
  test('PATCH accepts content and pinned; mentions and references are parsed again', async () => {
    const { id } = await write(noteOnIssuer({ content: '@[Ann](usr_1) [[user:u1]]' }))
    const pinned = expectStatus(await tenant.owner.patch(`${notes}/${id}`, { pinned: true }), 200).data
    expect(pinned).toMatchObject({ pinned: true, mentions: [{ user_id: 'usr_1' }], references: [{ id: 'u1' }] })
    const changed = expectStatus(await tenant.owner.patch(`${notes}/${id}`, { content: '@[Bob](usr_2)' }), 200).data
    expect(changed).toMatchObject({ pinned: true, mentions: [{ user_id: 'usr_2' }], references: [] })
    for (const [body, field] of [
      [{ content: null }, 'content'],
      [{ content: '' }, 'content'],
      [{ pinned: null }, 'pinned'],
      [{ subject_id: userId }, 'subject_id'],
    ] as const) {
      const refused = await tenant.owner.patch(`${notes}/${id}`, body)
      expect([refused.status, errorFieldsOf(refused)]).toEqual([400, [field]])
    }
  })

  test('DELETE is permanent and removes mentions and references', async () => {
    const ref = uniqueName('gone')
    const { id } = await write(noteOnIssuer({ content: `@[Ann](${ref}) [[user:${ref}]]` }))
    expectStatus(await tenant.owner.delete(`${notes}/${id}`), 204)
    expect((await tenant.owner.get(`${notes}/${id}`)).status).toBe(404)
    expect((await tenant.owner.delete(`${notes}/${id}`)).status).toBe(404)
    expect(expectStatus(await tenant.owner.get(`${notes}/backlinks?ref_type=user&ref_id=${ref}`), 200).data).toEqual([])
    expect(await app.gatehouse.database.prisma.noteMention.count({ where: { noteId: id } })).toBe(0)
  })

  test("another account's note is 404", async () => {
    const { id } = await write()
    for (const response of [
      await other.owner.get(`${other.A}/notes/${id}`),
      await other.owner.patch(`${other.A}/notes/${id}`, { pinned: true }),
      await other.owner.delete(`${other.A}/notes/${id}`),
    ]) {
      expect(response.status).toBe(404)
    }
  })

  test('events record that the text changed, never the text', async () => {
    const { id } = await write(noteOnUser({ content: 'first words' }))
    expectStatus(await tenant.owner.patch(`${notes}/${id}`, { content: 'second words', pinned: true }), 200)
    expectStatus(await tenant.owner.delete(`${notes}/${id}`), 204)
    const events = await eventsOfTarget(app, id)
    expect(events.map(({ type }) => type)).toEqual(['note.created', 'note.updated', 'note.deleted'])
    expect(events[1]).toMatchObject({
      userId,
      issuerId: tenant.issuerId,
      data: { subject_type: 'user', subject_id: userId },
      changes: { pinned: { old: false, new: true }, content: 'changed' },
    })
    expect(rowsAsText(events)).not.toContain('words')
  })
})

describe('listing', () => {
  let lister: Tenant
  let subject: object
  const created: AnyJson[] = []
  const get = async (query: string) => expectStatus(await lister.owner.get(`${lister.A}/notes${query}`), 200)
  const order = (page: AnyJson) => page.data.map(({ id }: AnyJson) => created.findIndex((note) => note.id === id))

  beforeAll(async () => {
    lister = await createTenant(app, 'Lister')
    subject = { subject_type: 'issuer', subject_id: lister.issuerId }
    for (let i = 0; i < 8; i++) {
      const body = { ...subject, content: `n${i}`, pinned: i === 1 || i === 4 || i === 5 }
      created.push(expectStatus(await lister.owner.post(`${lister.A}/notes`, body), 201).data)
    }
    // Four of the notes get the same creation time. Some of these are pinned, and some are not.
    const moment = created[3].created_at
    for (const i of [2, 3, 4, 5]) {
      await app.gatehouse.database.prisma.note.update({ where: { id: created[i].id }, data: { createdAt: moment } })
      created[i].created_at = moment
    }
  })

  test('pinned first, then newest first', async () => {
    expect(order(await get(''))).toEqual([5, 4, 1, 7, 6, 3, 2, 0])
    expect(order(await get('?pinned=true'))).toEqual([5, 4, 1])
    expect(order(await get('?pinned=false'))).toEqual([7, 6, 3, 2, 0])
    expect(order(await get('?pinned=null'))).toEqual([5, 4, 1, 7, 6, 3, 2, 0])
  })

  test.each([1, 2, 3, 5, 8])('pages of %i have no gaps or duplicates, also within a millisecond', async (limit) => {
    const seen: number[] = []
    let cursor: string | null = null
    for (let page = 0; page < 9 && (page === 0 || cursor !== null); page++) {
      const body: AnyJson = await get(`?limit=${limit}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`)
      expect(body.has_more).toBe(body.next_cursor !== null)
      if (body.next_cursor) expect(body.next_cursor).toMatch(/^(true|false):\d{13}:note_[0-9a-z]{26}$/)
      seen.push(...order(body))
      cursor = body.next_cursor
    }
    expect(seen).toEqual([5, 4, 1, 7, 6, 3, 2, 0])
  })

  test('the cursor has the form pinned:timestamp with an optional third part', async () => {
    expect(order(await get(`?cursor=true:${created[4].created_at}`))).toEqual([1, 7, 6, 3, 2, 0])
    expect(order(await get(`?cursor=true:${created[4].created_at}:${created[5].id}`))).toEqual([4, 1, 7, 6, 3, 2, 0])
    expect(order(await get(`?cursor=false:${created[3].created_at}`))).toEqual([0])
    expect(order(await get(`?cursor=false:${created[3].created_at}:${created[3].id}`))).toEqual([2, 0])
    expect(order(await get(`?cursor=false:${created[6].created_at}&pinned=true`))).toEqual([])
  })

  test.each([
    'x',
    'true',
    'true:',
    ':1',
    'maybe:1',
    'true:-1',
    'true:1.5',
    'true:1:',
    'true:1:note_x',
    'true:1:usr_00000000000000000000000000',
    'true:9999999999999999999',
  ])('a cursor that no list returned is 400: %s', async (cursor) => {
    const response = await lister.owner.get(`${lister.A}/notes?cursor=${encodeURIComponent(cursor)}`)
    expect([response.status, errorFieldsOf(response)]).toEqual([400, ['cursor']])
  })

  test('a page is read in order from an index', async () => {
    const plan = await app.gatehouse.database.pool.connect()
    try {
      await plan.query('SET enable_seqscan = off; SET enable_sort = off; SET enable_bitmapscan = off')
      const { rows } = await plan.query(
        `EXPLAIN SELECT * FROM notes WHERE account_id = $1 AND pinned = false AND created_at <= 5
           AND (created_at < 5 OR id < 'note_x') ORDER BY pinned DESC, created_at DESC, id DESC LIMIT 51`,
        [lister.accountId],
      )
      const text = JSON.stringify(rows)
      expect(text).toContain('notes_account_id_pinned_created_at_id_idx')
      expect(text).toContain('created_at <= 5')
      expect(text).not.toContain('Sort')
    } finally {
      plan.release(true)
    }
  })

  test('filters: subject_type, subject_id (needs subject_type), issuer_id, created_by, mentions_user_id', async () => {
    const { owner, A, I, issuerId } = lister
    const user = await createUser(lister)
    const key = await createRestrictedKey(lister, {})
    const about = expectStatus(
      await key.post(`${A}/notes`, {
        subject_type: 'user',
        subject_id: user,
        issuer_id: issuerId,
        content: `@[U](${user})`,
      }),
      201,
    ).data
    const ids = (page: AnyJson) => page.data.map(({ id }: AnyJson) => id)
    expect(ids(await get('?subject_type=user'))).toEqual([about.id])
    expect(ids(await get(`?subject_type=user&subject_id=${user}`))).toEqual([about.id])
    expect(ids(await get(`?subject_type=client&subject_id=${user}`))).toEqual([])
    expect(order(await get(`?subject_type=issuer&subject_id=${issuerId}&pinned=true`))).toEqual([5, 4, 1])
    expect(ids(await get(`?issuer_id=${issuerId}`))).toEqual([about.id])
    expect(ids(await get(`?created_by=${key.keyId}`))).toEqual([about.id])
    expect(ids(await get(`?mentions_user_id=${user}`))).toEqual([about.id])
    expect(ids(await get('?mentions_user_id=usr_nobody'))).toEqual([])
    const alone = await owner.get(`${A}/notes?subject_id=${user}`)
    expect([alone.status, errorFieldsOf(alone)]).toEqual([400, ['subject_id']])
    for (const query of [
      '?subject_type=webhook',
      '?pinned=maybe',
      '?limit=0',
      '?limit=101',
      '?limit=x',
      '?color=red',
    ]) {
      expect((await owner.get(`${A}/notes${query}`)).status).toBe(400)
    }
    void I
  })

  test('GET notes/count returns the plain {"count": n}; both parameters are required', async () => {
    const { owner, A, issuerId } = lister
    const response = await owner.get(`${A}/notes/count?subject_type=issuer&subject_id=${issuerId}`)
    expect([response.status, response.text, response.headers.get('etag')]).toEqual([200, '{"count":8}', null])
    expect((await owner.get(`${A}/notes/count?subject_type=client&subject_id=cli_x`)).text).toBe('{"count":0}')
    expect(errorFieldsOf(await owner.get(`${A}/notes/count`))).toEqual(['subject_type', 'subject_id'])
    const half = await owner.get(`${A}/notes/count?subject_type=issuer`)
    expect([half.status, errorFieldsOf(half)]).toEqual([400, ['subject_id']])
    expect((await owner.get(`${A}/notes/count?subject_type=webhook&subject_id=x`)).status).toBe(400)
  })

  test('GET notes/backlinks: the newest 10, at most 50, as a list without a cursor', async () => {
    const { owner, A } = lister
    const ref = uniqueName('whk')
    const ids: string[] = []
    for (let i = 0; i < 52; i++) {
      const body = { ...subject, content: `see [[webhook:${ref}]] and [[webhook:${ref}|again]]` }
      ids.unshift(expectStatus(await owner.post(`${A}/notes`, body), 201).data.id)
    }
    const path = `${A}/notes/backlinks?ref_type=webhook&ref_id=${ref}`
    const ten = expectStatus(await owner.get(path), 200)
    expect(ten).toMatchObject({ next_cursor: null, has_more: false })
    expect(ten.data.map(({ id }: AnyJson) => id)).toEqual(ids.slice(0, 10))
    expect(ten.data[0].references).toEqual([{ type: 'webhook', id: ref, display_text: null }])
    expect(expectStatus(await owner.get(`${path}&limit=50`), 200).data).toHaveLength(50)
    expect(expectStatus(await owner.get(`${A}/notes/backlinks?ref_type=user&ref_id=${ref}`), 200).data).toEqual([])
    for (const query of [`ref_type=webhook`, `ref_id=${ref}`, 'ref_type=note&ref_id=x']) {
      expect((await owner.get(`${A}/notes/backlinks?${query}`)).status).toBe(400)
    }
    for (const limit of ['0', '51', 'x']) expect((await owner.get(`${path}&limit=${limit}`)).status).toBe(400)
    expect((await owner.get(`${path}&cursor=true:1`)).status).toBe(400)
    expect(
      expectStatus(await other.owner.get(`${other.A}/notes/backlinks?ref_type=webhook&ref_id=${ref}`), 200).data,
    ).toEqual([])
  })
})
