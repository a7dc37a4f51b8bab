/**
 * Every mutation records its event in the transaction of the change (docs/contract.md#audit-events,
 * docs/contract.md#event-records, docs/contract.md#one-transaction-per-operation,
 * docs/contract.md#secrets-in-logs-and-events).
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Context } from '../../src/platform/context.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { Prisma } from '../../src/platform/postgres/database.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { eventCatalog } from '../../src/resources/events/event-catalog.js'
import { recordEvent } from '../../src/resources/events/record-event.js'
import { expireSessions } from '../../src/resources/sessions/expiry.js'
import { createTenant, expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import {
  confidentialClient,
  createTenantFixture,
  PASSWORD,
  requestBodies,
  type TenantFixture,
  uniqueName,
} from './tenant-fixture.js'

/** The event types of docs/contract.md#audit-events. */
const specified = [
  'user.created',
  'user.updated',
  'user.deleted',
  'session.created',
  'session.terminated',
  'session.expired',
  'user.verification.succeeded',
  'user.verification.failed',
  'client.created',
  'client.updated',
  'client.deleted',
  'organization.created',
  'organization.membership.created',
  'organization.membership.deleted',
  'user.approval.approved',
  'user.approval.rejected',
]
/** The other event types, as prefixes with their possible endings (docs/contract.md#event-records). */
const decided = `account.updated issuer.created|updated|deleted issuer.auth_method.created|updated|deleted
  issuer.signing_key.rotated client.secret.rotated user.status.changed user.verifier.created|deleted
  user.login.succeeded|failed user.locked session.suspended|reactivated organization.updated|deleted
  organization.membership.updated organization.group.created|updated|deleted agent.created|updated|deleted
  agent.verifier.created|deleted agent.authentication.succeeded|failed
  api_key.created|updated|rotated|blocked|unblocked|revoked personal_token.created|revoked token.exchanged token.revoked
  webhook.created|updated|deleted|failing domain.created|verified|assigned|unassigned|deleted
  payment_method.created|updated|deleted credits.topup.succeeded|failed note.created|updated|deleted`
  .split(/\s+/)
  .flatMap((words) => {
    const at = words.lastIndexOf('.') + 1
    return words
      .slice(at)
      .split('|')
      .map((end) => words.slice(0, at) + end)
  })

let app: TestApp
let fixture: TenantFixture
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
})
afterAll(() => app.close())

const events = (where: object = {}): Promise<AnyJson[]> =>
  app.gatehouse.database.prisma.event.findMany({
    where: { accountId: fixture.accountId, ...where },
    orderBy: { id: 'asc' },
  })

/** Returns the events that a function records. */
async function eventsAddedBy(work: () => Promise<unknown>): Promise<AnyJson[]> {
  const before = new Set((await events()).map(({ id }) => id))
  await work()
  return (await events()).filter(({ id }) => !before.has(id))
}
const types = (list: AnyJson[]) => list.map(({ type }) => type)
const jsonOf = (value: unknown) => JSON.stringify(value, (_, part) => (typeof part === 'bigint' ? Number(part) : part))

test('each mutation records its events, with the correct targets and the caller as actor', async () => {
  const { owner, A, I, ids } = fixture
  const client = `${I}/clients/${ids.client_id}`
  const user = `${I}/users/${ids.user_id}`
  const key = `${A}/api-keys/${ids.key_id}`
  const agent = `${I}/agents/${ids.agent_id}`
  const steps: [string[], string, () => Promise<{ status: number }>][] = [
    [
      ['personal_token.created'],
      'personal_token',
      () => owner.post(`${user}/tokens`, requestBodies['createPersonalToken']!()),
    ],
    [['personal_token.revoked'], 'personal_token', () => owner.post(`${A}/tokens/${ids.token_id}/revoke`)],
    [['account.updated'], 'account', () => owner.patch(A, { description: 'd' })],
    [['issuer.created'], 'issuer', () => owner.post(`${A}/issuers`, { name: 'E' })],
    [['issuer.updated'], 'issuer', () => owner.patch(I, { description: 'd' })],
    [
      ['issuer.auth_method.created'],
      'auth_method',
      () => owner.post(`${I}/auth-methods`, requestBodies['createAuthMethod']!()),
    ],
    [
      ['issuer.auth_method.updated'],
      'auth_method',
      () => owner.patch(`${I}/auth-methods/${ids.method_id}`, { name: 'n' }),
    ],
    [['issuer.auth_method.deleted'], 'auth_method', () => owner.delete(`${I}/auth-methods/${ids.method_id}`)],
    [['client.created'], 'client', () => owner.post(`${I}/clients`, confidentialClient())],
    [['client.updated'], 'client', () => owner.patch(client, { name: 'n' })],
    [['client.secret.rotated'], 'client', () => owner.post(`${client}/secret/rotate`)],
    [['client.deleted'], 'client', () => owner.delete(client)],
    [['user.created'], 'user', () => owner.post(`${I}/users`, requestBodies['createUser']!())],
    [['user.updated'], 'user', () => owner.patch(user, { profile: { name: 'N' } })],
    [
      ['user.updated', 'user.status.changed', 'session.terminated'],
      'user',
      () => owner.patch(user, { status: 'suspended', status_reason: 'r' }),
    ],
    [['user.verifier.created'], 'verifier', () => owner.post(`${user}/verifiers`, requestBodies['createVerifier']!())],
    [
      ['user.verifier.updated'],
      'verifier',
      () => owner.patch(`${user}/verifiers/${ids.verifier_id}`, { password: `${PASSWORD} two` }),
    ],
    [['user.verifier.deleted'], 'verifier', () => owner.delete(`${user}/verifiers/${ids.verifier_id}`)],
    // Deleting a user also revokes the personal tokens of the user. This user has one.
    [['user.deleted', 'personal_token.revoked'], 'user', () => owner.delete(user)],
    [
      ['user.approval.approved', 'user.status.changed'],
      'user',
      () => owner.patch(`${I}/approvals/${ids.pending_user_id}`, { action: 'approve' }),
    ],
    [
      ['user.created', 'user.approval.rejected', 'user.status.changed'],
      'user',
      async () => {
        const body = { ...requestBodies['createUser']!(), requires_approval: true }
        const { id } = expectStatus(await owner.post(`${I}/users`, body), 201).data
        return owner.patch(`${I}/approvals/${id}`, { action: 'reject', reason: 'r' })
      },
    ],
    [['webhook.created'], 'webhook', () => owner.post(`${A}/webhooks`, requestBodies['createWebhook']!())],
    [['webhook.updated'], 'webhook', () => owner.patch(`${A}/webhooks/${ids.webhook_id}`, { name: 'n' })],
    [['webhook.deleted'], 'webhook', () => owner.delete(`${A}/webhooks/${ids.webhook_id}`)],
    [['agent.created'], 'agent', () => owner.post(`${I}/agents`, { name: 'n' })],
    [['agent.updated'], 'agent', () => owner.patch(agent, { name: 'n' })],
    [
      ['agent.verifier.created'],
      'agent_verifier',
      () => owner.post(`${agent}/verifiers`, requestBodies['createAgentVerifier']!()),
    ],
    [['agent.verifier.deleted'], 'agent_verifier', () => owner.delete(`${agent}/verifiers/${ids.agent_verifier_id}`)],
    [['agent.deleted'], 'agent', () => owner.delete(agent)],
    [['note.created'], 'note', () => owner.post(`${A}/notes`, requestBodies['createNote']!(ids))],
    [['note.updated'], 'note', () => owner.patch(`${A}/notes/${ids.note_id}`, { pinned: true })],
    [['note.deleted'], 'note', () => owner.delete(`${A}/notes/${ids.note_id}`)],
    [['api_key.created'], 'api_key', () => owner.post(`${A}/api-keys`, requestBodies['createApiKey']!())],
    [['api_key.updated'], 'api_key', () => owner.patch(key, { name: 'n' })],
    [['api_key.rotated'], 'api_key', () => owner.post(`${key}/rotate`)],
    [['api_key.blocked'], 'api_key', () => owner.post(`${key}/block`, { reason: 'r' })],
    [['api_key.unblocked'], 'api_key', () => owner.post(`${key}/unblock`)],
    [['api_key.revoked'], 'api_key', () => owner.post(`${key}/revoke`)],
    // These repeated operations change nothing, so no event is recorded.
    [[], '', () => owner.post(`${key}/revoke`)],
    [[], '', () => owner.delete(user)],
  ]
  const [caller] = Buffer.from(owner.authorization!.slice(6), 'base64').toString().split(':')
  const covered = new Set<string>()
  for (const [expected, target, run] of steps) {
    const list = await eventsAddedBy(async () => expect((await run()).status).toBeLessThan(300))
    expect(types(list)).toEqual(expected)
    for (const event of list) {
      covered.add(event.type)
      const isSession = event.type === 'session.terminated'
      expect(event.id).toMatch(/^evt_[0-9a-z]{26}$/)
      expect(event).toMatchObject({
        authType: 'api_key',
        actor: { type: 'api_key', id: caller, name: 'First key' },
        // A change can also end sessions and revoke personal tokens, whose events have these as targets.
        target: {
          type: isSession ? 'session' : event.type === 'personal_token.revoked' ? 'personal_token' : target,
          id: expect.any(String),
        },
        context: {
          ip_address: '127.0.0.1',
          user_agent: expect.any(String),
          request_id: expect.stringMatching(/^req_/),
          method: expect.stringMatching(/^(POST|PATCH|DELETE)$/),
          path: expect.stringMatching(/^\/v1\/accounts\//),
        },
      })
      expect(event.actor.operator).toBeUndefined()
      expect(event.issuerId !== null).toBe(!['account', 'api_key', 'webhook'].includes(target))
      expect(event.clientId !== null).toBe(target === 'client' || isSession)
      expect(event.userId !== null).toBe(['user', 'verifier', 'personal_token'].includes(target))
      expect(event.agentId !== null).toBe(['agent', 'agent_verifier'].includes(target))
    }
  }
  const expectedHere = Object.keys(eventCatalog).filter((type) =>
    /^(account\.updated|issuer\.(created|updated|auth)|client|user\.(created|updated|deleted|status|verifier|approval)|api_key|personal_token|agent\.(created|updated|deleted|verifier)|note)/.test(
      type,
    ),
  )
  expect(expectedHere.filter((type) => !covered.has(type))).toEqual([])
})

test('each event type of the catalog is recorded by some operation, and the catalog has every documented type', () => {
  const folder = join(packageRoot, 'src')
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !/events[\\/]event-catalog|postgres[\\/]prisma/.test(path))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
  const unheard = Object.keys(eventCatalog).filter((type) => !sources.some((text) => text.includes(`'${type}'`)))
  expect(unheard).toEqual([])
  for (const type of Object.keys(eventCatalog)) expect(type).toMatch(/^[a-z_]+(\.[a-z_]+)+$/)
  const missing = [...specified, ...decided].filter((type) => !(type in eventCatalog))
  expect(missing.filter((type) => !/^(webhook|payment_method|credits)\./.test(type))).toEqual([])
})

test('the expiry of a session is recorded once, even if several runs of the job find it in parallel', async () => {
  const { owner, I } = fixture
  const user = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data
  const id = await createSession(app, fixture, user.id, { lives: 1000 })
  const suspended = await createSession(app, fixture, user.id, { lives: 1000 })
  expectStatus(await owner.post(`${I}/sessions/${suspended}/suspend`, { reason: 'other' }), 200)
  const revoked = await createSession(app, fixture, user.id, { lives: 1000 })
  expectStatus(await owner.post(`${I}/sessions/${revoked}/revoke`, { reason: 'other' }), 200)
  const context = systemContext(app.gatehouse)
  expect(await eventsAddedBy(() => expireSessions(context))).toEqual([])
  const later = { ...context, now: () => app.clock.now() + 1001 }
  const list = await eventsAddedBy(() =>
    Promise.all([expireSessions(later), expireSessions(later), expireSessions(later)]),
  )
  expect(list.map(({ type, sessionId, authType }) => [type, sessionId, authType]).sort()).toEqual(
    [id, suspended].sort().map((session) => ['session.expired', session, 'system']),
  )
  expect(list[0]).toMatchObject({ userId: user.id, issuerId: fixture.issuerId, target: { type: 'session' } })
})

test('changes contain exactly the changed fields, old and new, with the names of the REST API', async () => {
  const { owner, I } = await fresher()
  const created = expectStatus(
    await owner.post(`${I}/clients`, { name: 'Old', type: 'external', confidential: false, settings: { a: 1 } }),
    201,
  ).data
  const [event] = await eventsAddedBy(() =>
    owner.patch(`${I}/clients/${created.id}`, {
      name: 'New',
      logo_url: 'https://x.example/l.png',
      settings: { b: 2 },
      description: null,
    }),
  )
  expect(event.changes).toEqual({
    name: { old: 'Old', new: 'New' },
    logo_url: { old: null, new: 'https://x.example/l.png' },
    settings: { old: { a: 1 }, new: { a: 1, b: 2 } },
  })
  const user = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data
  const [changed] = await eventsAddedBy(() =>
    owner.patch(`${I}/users/${user.id}`, {
      status: 'blocked',
      status_at: 5,
      status_by: 'desk',
      custom_fields: { x: 1 },
    }),
  )
  expect(changed.changes).toEqual({
    status: { old: 'active', new: 'blocked' },
    status_at: { old: user.status_at, new: 5 },
    status_by: { old: null, new: 'desk' },
    custom_fields: { old: {}, new: { x: 1 } },
  })
})

const fresher = async () => fixture

test('changed domains are recorded with the change of the account', async () => {
  const old = expectStatus(await fixture.owner.get(fixture.A), 200).data.domains.map(({ host }: AnyJson) => host)
  const list = await eventsAddedBy(() =>
    fixture.owner.patch(fixture.A, { domains: [{ host: 'b.example' }, { host: 'a.example' }] }),
  )
  expect(types(list).sort()).toEqual(['account.updated', 'domain.created', 'domain.created', 'domain.deleted'])
  const event = list.find(({ type }) => type === 'account.updated')!
  expect(event.changes).toEqual({ domains: { old, new: ['a.example', 'b.example'] } })
})

test('deleting an issuer records an event for each of its clients', async () => {
  const issuer = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Doomed' }), 201).data
  const path = `${fixture.A}/issuers/${issuer.id}`
  const clients = [
    expectStatus(await fixture.owner.post(`${path}/clients`, confidentialClient()), 201).data.id,
    expectStatus(await fixture.owner.post(`${path}/clients`, confidentialClient()), 201).data.id,
  ]
  const list = await eventsAddedBy(() => fixture.owner.delete(path))
  expect(types(list).sort()).toEqual(['client.deleted', 'client.deleted', 'issuer.deleted'])
  expect(
    list
      .filter(({ type }) => type === 'client.deleted')
      .map(({ target }) => target.id)
      .sort(),
  ).toEqual(clients.sort())
})

test('a mutation that fails records no event, and a mutation whose event fails changes nothing', async () => {
  const { owner, I } = fixture
  const taken = uniqueName('taken')
  expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: taken }), 201)
  const path = `${I}/clients/${expectStatus(await owner.post(`${I}/clients`, confidentialClient()), 201).data.id}`
  expect(
    await eventsAddedBy(async () => {
      expect((await owner.post(`${I}/users`, { username_type: 'unique', username: taken })).status).toBe(409)
      expect((await owner.patch(path, { name: 'x' }, { 'if-match': '"1"' })).status).toBe(412)
      expect((await owner.patch(path, { settings: { openid: { redirect_uris: ['x'] } } })).status).toBe(400)
      expect((await owner.delete(`${I}/clients/cli_${'0'.repeat(26)}`)).status).toBe(404)
      expect((await owner.patch(fixture.A, { domains: [{ host: 'x' }] })).status).toBe(400)
    }),
  ).toEqual([])

  const { prisma } = app.gatehouse.database
  await prisma.$executeRawUnsafe(
    "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$",
  )
  await prisma.$executeRawUnsafe('CREATE TRIGGER refuse BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION refuse()')
  try {
    const before = await owner.get(path)
    for (const response of [
      await owner.patch(path, { name: 'unheard' }),
      await owner.delete(path),
      await owner.post(`${I}/clients`, confidentialClient({ name: 'unheard' })),
      await owner.post(`${I}/users`, { username_type: 'unique', username: 'unheard' }),
      await owner.patch(fixture.A, { domains: [] }),
    ]) {
      expect(response.status).toBe(500)
    }
    expect((await owner.get(path)).text).toBe(before.text)
    expect(expectStatus(await owner.get(`${I}/clients?name=unheard`), 200).data).toEqual([])
    expect(expectStatus(await owner.get(fixture.A), 200).data.domains).toHaveLength(2)
  } finally {
    await prisma.$executeRawUnsafe('DROP TRIGGER refuse ON events')
  }
})

test('a retried transaction records each of its events once', async () => {
  const context = systemContext(app.gatehouse)
  const { accountId } = fixture
  const eventsOf = (id: string) =>
    app.gatehouse.database.prisma.event.findMany({ where: { accountId, target: { equals: { type: 'user', id } } } })
  let tries = 0
  await transaction(context, async (tx) => {
    for (const type of ['user.created', 'user.updated', 'user.deleted'] as const)
      await recordEvent(tx, type, { accountId, target: { type: 'user', id: 'usr_again' } })
    if (++tries < 3) throw Object.assign(new Error('serialization failure'), { code: '40001' })
  })
  expect((await eventsOf('usr_again')).map(({ type }) => type).sort()).toEqual([
    'user.created',
    'user.deleted',
    'user.updated',
  ])
})

describe('a transaction that exceeds the Prisma timeout', () => {
  const emitOf = (id: string) => (tx: Context) =>
    recordEvent(tx, 'user.created', { accountId: fixture.accountId, target: { type: 'user', id } })
  const count = (id: string) =>
    app.gatehouse.database.prisma.event.count({ where: { target: { equals: { type: 'user', id } } } })

  test.each<[string, (tx: Context) => Promise<unknown>]>([
    ['statements', ({ query }) => query('one', 'SELECT 1', [])],
    ['models', ({ db }) => db.account.count()],
    ['events', emitOf('usr_ended')],
  ])('is refused with 503 and rolled back: %s', async (_, late) => {
    const ended = transaction(systemContext(app.gatehouse), async (tx) => {
      await tx.db.account.update({ where: { id: fixture.accountId }, data: { description: 'of none' } })
      await tx.db.$executeRawUnsafe('ROLLBACK')
      await late(tx)
    })
    await expect(ended).rejects.toMatchObject({ code: 'unavailable', status: 503 })
    expect((await fixture.owner.get(fixture.A)).body.data.description).not.toBe('of none')
    expect(await count('usr_ended')).toBe(0)
  })

  test('succeeds if it had already committed', async () => {
    const context = systemContext(app.gatehouse)
    const { prisma } = context.database
    const late = async (...[work, limits]: Parameters<typeof prisma.$transaction>) => {
      await prisma.$transaction(work as never, limits as never)
      throw new Prisma.PrismaClientKnownRequestError('too late', { code: 'P2028', clientVersion: '' })
    }
    const slow = { $transaction: late } as unknown as typeof prisma
    let recorded = false
    const created = await transaction(
      { ...context, db: slow, database: { ...context.database, prisma: slow } },
      async (tx) => {
        await emitOf('usr_kept')(tx)
        tx.afterCommit(() => {
          recorded = true
        })
        return 'written'
      },
    )
    expect([created, recorded, await count('usr_kept')]).toEqual(['written', true, 1])
  })
})

test('no secret, password or hash is in any event', async () => {
  const { owner, A, I } = fixture
  const secrets: string[] = []
  const client = expectStatus(
    await owner.post(`${I}/clients`, confidentialClient({ secret: 'own-client-secret-'.repeat(2) })),
    201,
  ).data
  secrets.push(
    client.secret,
    expectStatus(await owner.post(`${I}/clients/${client.id}/secret/rotate`), 200).data.secret,
  )
  const key = expectStatus(await owner.post(`${A}/api-keys`, { name: 'k', restrictions: { scopes: [] } }), 201).data
  secrets.push(
    key.secret_plain,
    expectStatus(await owner.post(`${A}/api-keys/${key.id}/rotate`), 200).data.secret_plain,
  )
  const user = expectStatus(
    await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('u') }),
    201,
  ).data
  const verifier = expectStatus(
    await owner.post(`${I}/users/${user.id}/verifiers`, {
      type: 'password',
      name: null,
      password: `${PASSWORD} three`,
    }),
    201,
  ).data
  expectStatus(
    await owner.patch(`${I}/users/${user.id}/verifiers/${verifier.id}`, { password: `${PASSWORD} four` }),
    200,
  )
  secrets.push(`${PASSWORD} three`, `${PASSWORD} four`)
  const oidc = { issuer_url: 'https://up.example', client_id: 'c', client_secret: 'upstream-secret-one' }
  const method = expectStatus(
    await owner.post(`${I}/auth-methods`, { name: 'Up', method: 'oidc', first_factor_only: true, settings: oidc }),
    201,
  ).data
  expectStatus(
    await owner.patch(`${I}/auth-methods/${method.id}`, { settings: { client_secret: 'upstream-secret-two' } }),
    200,
  )
  secrets.push('upstream-secret-one', 'upstream-secret-two')
  const hashes = await app.gatehouse.database.query<{ text: string }>(
    'all-hashes',
    "SELECT s->>'hash' AS text FROM (SELECT jsonb_array_elements(secrets) AS s FROM clients UNION ALL SELECT jsonb_array_elements(secrets) FROM api_keys) x UNION ALL SELECT hash FROM verifiers WHERE hash IS NOT NULL UNION ALL SELECT secrets->'client_secret'->>'encrypted' FROM auth_methods WHERE secrets ? 'client_secret' UNION ALL SELECT private_jwk FROM signing_keys UNION ALL SELECT username_key FROM issuers",
    [],
  )
  const log = jsonOf(await app.gatehouse.database.prisma.event.findMany())
  expect(hashes.length).toBeGreaterThan(10)
  for (const secret of [...secrets, ...hashes.map(({ text }) => text)])
    expect({ secret, leaked: log.includes(secret) }).toEqual({ secret, leaked: false })
  expect(log).not.toMatch(/argon2id|"hash"|"encrypted"|previous_hashes/)
})

test('an operator in another account is marked as operator; an operator in its own account and a tenant are not', async () => {
  const tenant = await createTenant(app)
  expectStatus(await app.operator.patch(tenant.A, { description: 'x' }), 200)
  const { prisma } = app.gatehouse.database
  const list: AnyJson[] = await prisma.event.findMany({
    where: { accountId: tenant.accountId },
    orderBy: { id: 'asc' },
  })
  const byOperator = list.filter(({ actor }) => actor.operator === true).map(({ type }) => type)
  expect(byOperator).toEqual(['account.created', 'api_key.created', 'account.updated'])
  expect(list.length).toBeGreaterThan(byOperator.length)
})

test('a parallel write that fails with a conflict records no event', async () => {
  const path = `${fixture.I}/clients/${expectStatus(await fixture.owner.post(`${fixture.I}/clients`, confidentialClient()), 201).data.id}`
  const tag = (await fixture.owner.get(path)).headers.get('etag')!
  const list = await eventsAddedBy(() =>
    Promise.all(
      Array.from({ length: 10 }, (_, i) => fixture.owner.patch(path, { name: `n${i}` }, { 'if-match': tag })),
    ),
  )
  expect(types(list)).toEqual(['client.updated'])
})
