/** Security rule 35 and decision D36: after its purge, nothing that is stored names a user. */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { systemContext } from '../../src/platform/jobs.js'
import { openLog } from '../../src/platform/log.js'
import { sha256 } from '../../src/platform/secrets.js'
import { acceptInvitation } from '../../src/resources/organizations/accept-invitation.js'
import { exportUsers } from '../../src/resources/users/importing/export-users.js'
import { schedule } from '../../src/schedule.js'
import { PASSWORD } from '../contract/world.js'
import { TestBrowser } from '../idp/browser.js'
import { claimsOf, Realm, type TestClient } from '../idp/setup.js'
import { until } from '../resources/hooks.js'
import { makeUser, must } from '../setup/actors.js'
import { type Api, apiAs, type Loose } from '../setup/api.js'
import { dumpDatabase, dumpFiles, type Found } from '../setup/dump.js'
import { mailTo } from '../setup/mail.js'
import { type Receiver, startReceiver } from '../setup/receiver.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const DAY = 86_400_000

/** In every personal value; what follows says which field it was written to. */
const MARK = 'zq7kanari'
const canary = (field: string): string => `${MARK}.${field}`
const everything = { name: canary('name'), description: canary('description'), metadata: { a: canary('metadata') } }
const OLD_NAME = `${canary('old_username')}@example.com`
const NAME = `${canary('username')}@example.com`
const IMPORTED = `${canary('imported')}@example.com`
const ADMINISTRATOR = `${canary('administrator')}@example.com`
/** The address and the browser of the person. */
const IP = '203.0.113.77'
const person = { 'x-forwarded-for': IP, 'user-agent': canary('user_agent') }

/** What may keep a value, and why. */
const exceptions: { place: string; field: RegExp; reason: string }[] = [
  { place: 'notes.content', field: /^note$/, reason: 'text of its author, who may delete it (docs/security.md)' },
]

let app: TestApp
let receiver: Receiver
let realm: Realm
let spa: TestClient
const log: string[] = []
const users: Record<'main' | 'imported' | 'administrator', string> = { main: '', imported: '', administrator: '' }
/** What the events were before, as a caller sees them, by id. */
let before: Map<string, Loose>
let O: string

const U = (id = users.main) => `${realm.tenant.I}/users/${id}`
const owner = () => realm.tenant.owner
const run = (job: string) => schedule.find(({ name }) => name === job)!.run(systemContext(app.gatehouse))
const make = async (path: string, body: object, headers = {}): Promise<Loose> =>
  must(await owner().post(path, body, headers), 201).data

/** Where a value is left, as `table.column: fields`. */
function leaksIn(found: readonly Found[]): string[] {
  const leaks = new Map<string, Set<string>>()
  for (const { place, text } of found) {
    const fields = [...text.matchAll(new RegExp(`${MARK}\\.?([a-z_]*)`, 'gi'))].map(([, field]) => field!)
    if (text.includes(IP)) fields.push('ip_address')
    for (const field of fields) {
      if (exceptions.some((known) => known.place === place && known.field.test(field))) continue
      leaks.set(place, (leaks.get(place) ?? new Set()).add(field))
    }
  }
  return [...leaks].map(([place, fields]) => `${place}: ${[...fields].sort().join(' ')}`).sort()
}

const eventsOf = async (): Promise<Loose[]> => {
  const rows = await app.gatehouse.tools.pool.query('SELECT to_jsonb(e) AS row FROM events e ORDER BY id')
  return rows.rows.map(({ row }) => row)
}

beforeAll(async () => {
  receiver = await startReceiver()
  receiver.answer = (res) => void res.writeHead(500).end()
  const stream = new PassThrough()
  stream.on('data', (chunk) => log.push(String(chunk)))
  app = await startApp({
    roles: ['core', 'idp', 'worker'],
    env: { TRUST_PROXY: '1', ALLOW_PRIVATE_NETWORKS: 'true' },
    log: openLog('trace', stream),
  })
  realm = await Realm.make(app, 'Acme')
  spa = await realm.client({ application_type: 'spa' })
  await make(`${realm.tenant.A}/webhooks`, { url: `${receiver.url}/all` })
  await populateMain()
  await populateImported()
  await populateAdministrator()
})
afterAll(async () => {
  await app.close()
  await receiver.close()
})

/** A user with a value in every field that there is. */
async function populateMain(): Promise<void> {
  const { I, A } = realm.tenant
  const body = {
    username_type: 'email',
    username: OLD_NAME,
    profile: { name: canary('profile'), nickname: canary('nickname') },
    security: { a: canary('security') },
    compliance: { a: canary('compliance') },
    preferences: { a: canary('preferences') },
    custom_fields: { a: canary('custom_fields') },
    metadata: { a: canary('metadata') },
    region: canary('region'),
    signup_reason: canary('signup_reason'),
    triggered_rule: canary('triggered_rule'),
    requires_approval: true,
    scopes: ['issuers.organizations:write'],
  }
  users.main = (await make(`${I}/users`, body, { 'idempotency-key': 'create' })).id
  const decision = { action: 'approve', reason: canary('approval_reason'), note: canary('approval_note') }
  must(await owner().patch(`${I}/approvals/${users.main}`, decision), 200)
  await mailTo(app, OLD_NAME)
  must(
    await owner().patch(U(), {
      username: NAME,
      profile: { name: canary('new_profile') },
      security: { b: canary('new_security') },
      compliance: {},
      preferences: { c: canary('preferences') },
      custom_fields: {},
      metadata: { b: canary('metadata') },
      approval: { a: canary('approval') },
      status: 'suspended',
      status_reason: canary('status_reason'),
      status_by: canary('status_by'),
    }),
    200,
  )
  must(await owner().patch(U(), { status: 'active' }), 200)
  await populateVerifiers()
  await populateOrganizations()
  await signInAndFail()

  const token = {
    ...everything,
    type: 'personal_token',
    tags: [canary('tag')],
    restrictions: { ip_allowlist: [IP] },
  }
  const made = await make(`${U()}/tokens`, token)
  const script = apiAs(app.baseUrl, made.token_plain)
  must(await script.post(`${I}/organizations`, { name: 'Made by a script' }, person), 201)
  const ended = { by: canary('token_by'), reason: canary('token_reason') }
  must(await owner().post(`${A}/tokens/${made.id}/revoke`, ended), 200)

  const notes = { subject_type: 'user', subject_id: users.main, issuer_id: realm.tenant.issuerId }
  await make(`${A}/notes`, { ...notes, content: `About ${canary('note')}` })
  const about = { subject_type: 'issuer', subject_id: realm.tenant.issuerId }
  await make(`${A}/notes`, { ...about, content: `Ask @[${canary('mention')}](${users.main}) or @[Bob](usr_bob)` })
}

async function populateVerifiers(): Promise<void> {
  const { description, metadata } = everything
  const password = { type: 'password', name: canary('password_name'), description, metadata, password: PASSWORD }
  const { id } = await make(`${U()}/verifiers`, password)
  must(await owner().patch(`${U()}/verifiers/${id}`, { name: canary('verifier_name') }), 200)
  await make(`${U()}/verifiers`, { type: 'totp_enrollment', name: canary('totp'), issuer_name: 'Acme' })
  // As signing in through another provider leaves it.
  const linked = await app.gatehouse.tools.prisma.verifier.create({
    data: {
      id: id.replace(/.$/, '0') === id ? id.replace(/.$/, '1') : id.replace(/.$/, '0'),
      accountId: realm.tenant.accountId,
      issuerId: realm.tenant.issuerId,
      userId: users.main,
      type: 'oauth',
      name: 'Upstream',
      methodId: 'am_x',
      upstreamIssuer: 'https://upstream.example.com',
      upstreamSubject: canary('upstream_subject'),
      createdAt: app.clock.now(),
      updatedAt: app.clock.now(),
    },
  })
  must(await owner().patch(`${U()}/verifiers/${linked.id}`, { name: canary('linked_identity') }), 200)
  must(await owner().delete(`${U()}/verifiers/${linked.id}`), 204)
}

async function populateOrganizations(): Promise<void> {
  const { I } = realm.tenant
  O = `${I}/organizations/${(await make(`${I}/organizations`, { name: 'Customers', invitation_enabled: true })).id}`
  const other = `${I}/organizations/${(await make(`${I}/organizations`, { invitation_enabled: true })).id}`
  const { token_plain } = await make(`${O}/invitations`, { email: OLD_NAME, message: canary('message') })
  const by = { id: users.main, issuerId: realm.tenant.issuerId }
  await acceptInvitation(systemContext(app.gatehouse), sha256(token_plain), by)
  await make(`${other}/invitations`, { email: NAME })
  const member = { user_title: canary('user_title'), metadata: { a: canary('member_metadata') } }
  must(await owner().patch(`${O}/members/${users.main}`, member), 200)
}

async function signInAndFail(): Promise<void> {
  const browser = () => new TestBrowser('https://', person)
  const { page } = await realm.begin(spa, { login_hint: NAME }, browser())
  await browserFails(page, browser())
  const { access_token } = await realm.tokens(spa, NAME, { scope: 'openid profile email' }, browser())
  await realm.tokens(spa, NAME, {}, browser())
  const { sid } = claimsOf(access_token)
  const ending = { reason: 'security_event', reason_details: canary('reason_details') }
  must(await owner().post(`${realm.tenant.I}/sessions/${sid}/suspend`, ending), 200)
}

async function browserFails(_: unknown, browser: TestBrowser): Promise<void> {
  const { page } = await realm.begin(spa, {}, browser)
  await browser.submit(page, { username: NAME, password: 'a wrong password' })
}

/** A user whom an import has brought. */
async function populateImported(): Promise<void> {
  const document = `mutation ($accountId: ID!, $issuerId: ID!, $input: ImportUsersInput!) {
    importUsers(accountId: $accountId, issuerId: $issuerId, input: $input) { imported users { userId } } }`
  const { accountId, issuerId } = realm.tenant
  const text = JSON.stringify({ user_id: `auth0|${canary('external_id')}`, email: IMPORTED, name: canary('profile') })
  const variables = { accountId, issuerId, input: { dryRun: false, last: true, records: [{ line: 1, text }] } }
  const { body } = await owner().graphql(document, variables)
  users.imported = body.data.importUsers.users[0].userId
}

/** A person of the console who works in the account of a customer. */
async function populateAdministrator(): Promise<void> {
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = must(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  const console = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  const client = must(await app.operator.get(`${I}/clients`), 200).data[0].id
  users.administrator = await makeUser(console.tenant, ADMINISTRATOR)
  const { admin_org_id } = must(await owner().get(realm.tenant.A), 200).data
  const member = { member_id: users.administrator, scopes: ['svc:all'] }
  must(await app.operator.post(`${I}/organizations/${admin_org_id}/members`, member), 201)
  const params = { redirect_uri: `${app.baseUrl}/console/callback`, scope: 'openid svc:all', resource: app.baseUrl }
  const browser = new TestBrowser('https://', person)
  const { access_token } = await console.tokens({ id: client, secret: undefined }, ADMINISTRATOR, params, browser)
  const api: Api = apiAs(app.baseUrl, access_token)
  must(
    await api.post(
      `${realm.tenant.I}/clients`,
      { name: 'By hand', type: 'internal', confidential: false, settings: {} },
      person,
    ),
    201,
  )
  must(await api.patch(U(users.imported), { profile: { name: canary('profile') } }, person), 200)
  const [webhook] = must(await api.get(`${realm.tenant.A}/webhooks`), 200).data
  const query = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id } }'
  const variables = { a: realm.tenant.accountId, w: webhook.id }
  must(await api.post('/graphql', { query, variables }, person), 200)
}

/** Deletes the three, does what is still possible with what they leave, and lets the purge run when it is due. */
async function deleteAndPurge(): Promise<void> {
  const { prisma } = app.gatehouse.tools
  before = new Map((await eventsOf()).map((event) => [event.id, event]))
  await until(async () => (await prisma.webhookDelivery.count({ where: { lastError: { not: null } } })) > 0)
  const [pending] = await prisma.organizationInvitation.findMany({ where: { email: NAME } })
  for (const id of [users.main, users.imported]) must(await owner().delete(U(id)), 202)
  const system = await prisma.user.findUniqueOrThrow({ where: { id: users.administrator } })
  const path = `/v1/accounts/${system.accountId}/issuers/${system.issuerId}/users/${system.id}`
  must(await app.operator.delete(path), 202)
  // Answers that are kept beyond the purge.
  app.clock.advance(DAY / 2)
  const withdraw = `${realm.tenant.I}/organizations/${pending!.orgId}/invitations/${pending!.id}/revoke`
  must(await owner().post(withdraw, undefined, { 'idempotency-key': 'withdraw' }), 200)
  const [token] = await prisma.personalToken.findMany({ where: { userId: users.main } })
  const revoke = `${realm.tenant.A}/tokens/${token!.id}/revoke`
  must(await owner().post(revoke, {}, { 'idempotency-key': 'revoke' }), 200)
  for (const [at, name] of [NAME, 'bob@example.com'].entries()) {
    const now = app.clock.now()
    const sealed = app.gatehouse.sealer.seal(JSON.stringify({ data: { name } }))
    const answer = { fingerprint: '', status: 201, body: '', sealed, expiresAt: now + DAY }
    await prisma.idempotentRequest.create({
      data: { accountId: realm.tenant.accountId, key: `sealed ${at}`, ...answer },
    })
  }
  app.clock.advance(DAY / 2 + 1000)
  await run('purge-users')
  await until(async () => (await prisma.user.count({ where: { status: 'pending_deletion' } })) === 0)
}

describe('after the purge no personal value of the user is left', () => {
  test('before it, every field was stored, so that the search would find it', async () => {
    const found = leaksIn(await dumpDatabase(app)).join('\n')
    for (const field of ['old_username', 'approval_note', 'status_by', 'tag', 'token_reason', 'external_id', 'totp'])
      expect(found).toMatch(new RegExp(`\\b${field}\\b`))
    expect(found).toMatch(/^events\.actor:.* administrator/m)
    expect(found).toMatch(/^events\.context: ip_address user_agent$/m)
    expect(found).toMatch(/^webhook_deliveries\.test_event: /m)
  })

  test('in any table, file or line of the log', async () => {
    await deleteAndPurge()
    expect(leaksIn(await dumpDatabase(app))).toEqual([])
    expect(leaksIn(dumpFiles(app.gatehouse.config.dataDir))).toEqual([])
    expect(leaksIn([{ place: 'log', text: log.join('') }])).toEqual([])
  })

  test('nor in an answer that is kept encrypted; those about others stay', async () => {
    const where = { key: { startsWith: 'sealed ' } }
    const rows = await app.gatehouse.tools.prisma.idempotentRequest.findMany({ where, orderBy: { key: 'asc' } })
    const kept = rows.map(({ key, sealed }) => [key, sealed && JSON.parse(app.gatehouse.sealer.open(sealed)).data.name])
    expect(Object.fromEntries(kept)).toEqual({ 'sealed 0': null, 'sealed 1': 'bob@example.com' })
  })

  test('an export of the issuer has none of it', async () => {
    const { accountId, issuerId } = realm.tenant
    const exported = exportUsers(systemContext(app.gatehouse), { accountId, issuerId }, true)
    for await (const rows of exported) expect(leaksIn([{ place: 'export', text: JSON.stringify(rows) }])).toEqual([])
  })

  test('every event stays, with its ids, type, time and place; the values of others stay in it', async () => {
    const after = new Map((await eventsOf()).map((event) => [event.id, event]))
    for (const [id, { actor, context, data, changes, ...kept }] of before) {
      const now = after.get(id)
      expect(now).toMatchObject(kept)
      expect(now.actor).toEqual({ ...actor, name: now.actor.name })
      expect(now.context).toEqual({
        ...context,
        ip_address: now.context.ip_address,
        user_agent: now.context.user_agent,
      })
      expect([Object.keys(now.data), Object.keys(now.changes)]).toEqual([Object.keys(data), Object.keys(changes)])
    }
  })
})
