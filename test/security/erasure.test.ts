/**
 * After a user is purged, no stored data identifies the user (docs/contract.md#erasure-of-stored-data,
 * docs/contract.md#erasure).
 */
import { PassThrough } from 'node:stream'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { sha256 } from '../../src/platform/crypto/secrets.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { openLog } from '../../src/platform/log.js'
import { acceptInvitation } from '../../src/resources/organizations/invitation-acceptance.js'
import { exportUsers } from '../../src/resources/users/importing/export-users.js'
import { schedule } from '../../src/schedule.js'
import { PASSWORD } from '../contract/tenant-fixture.js'
import { TestBrowser } from '../idp/browser.js'
import { jwtClaims, Realm, type TestClient } from '../idp/realm.js'
import { createUser, expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { type DumpedText, dumpDatabase, dumpFiles } from '../setup/dump.js'
import { waitForMail } from '../setup/mail.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'
import { startWebhookReceiver, type WebhookReceiver } from '../setup/webhook-receiver.js'

const DAY = 86_400_000

/** Prefix of all personal values except the IP address. The suffix is the name of the field that contains the value. */
const MARK = 'zq7kanari'
const markerValue = (field: string): string => `${MARK}.${field}`
const everything = {
  name: markerValue('name'),
  description: markerValue('description'),
  metadata: { a: markerValue('metadata') },
}
const OLD_NAME = `${markerValue('old_username')}@example.com`
const NAME = `${markerValue('username')}@example.com`
const IMPORTED = `${markerValue('imported')}@example.com`
const ADMINISTRATOR = `${markerValue('administrator')}@example.com`
const IP = '203.0.113.77'
/** Headers of the user's requests, with the IP address and a user agent. */
const personHeaders = { 'x-forwarded-for': IP, 'user-agent': markerValue('user_agent') }

/** Columns that may contain a value after the purge, with the reason. */
const exceptions: { location: string; field: RegExp; reason: string }[] = [
  { location: 'notes.content', field: /^note$/, reason: 'text of its author, who may delete it (docs/security.md)' },
]

let app: TestApp
let receiver: WebhookReceiver
let realm: Realm
let spa: TestClient
const log: string[] = []
const users: Record<'main' | 'imported' | 'administrator', string> = { main: '', imported: '', administrator: '' }
/** The rows of `events` before the purge, by id. */
let before: Map<string, AnyJson>
let O: string

const U = (id = users.main) => `${realm.tenant.I}/users/${id}`
const owner = () => realm.tenant.owner
const run = (job: string) => schedule.find(({ name }) => name === job)!.run(systemContext(app.gatehouse))
const create = async (path: string, body: object, headers = {}): Promise<AnyJson> =>
  expectStatus(await owner().post(path, body, headers), 201).data

/** Returns the locations that contain personal values other than `exceptions`, as `table.column: fields`. */
function leaksIn(found: readonly DumpedText[]): string[] {
  const leaks = new Map<string, Set<string>>()
  for (const { location, text } of found) {
    const fields = [...text.matchAll(new RegExp(`${MARK}\\.?([a-z_]*)`, 'gi'))].map(([, field]) => field!)
    if (text.includes(IP)) fields.push('ip_address')
    for (const field of fields) {
      if (exceptions.some((known) => known.location === location && known.field.test(field))) continue
      leaks.set(location, (leaks.get(location) ?? new Set()).add(field))
    }
  }
  return [...leaks].map(([location, fields]) => `${location}: ${[...fields].sort().join(' ')}`).sort()
}

const eventsOf = async (): Promise<AnyJson[]> => {
  const rows = await app.gatehouse.database.pool.query('SELECT to_jsonb(e) AS row FROM events e ORDER BY id')
  return rows.rows.map(({ row }) => row)
}

beforeAll(async () => {
  receiver = await startWebhookReceiver()
  receiver.respond = (res) => void res.writeHead(500).end()
  const stream = new PassThrough()
  stream.on('data', (chunk) => log.push(String(chunk)))
  app = await startApp({
    roles: ['core', 'idp', 'worker'],
    env: { TRUST_PROXY: '1', ALLOW_PRIVATE_NETWORKS: 'true' },
    log: openLog('trace', stream),
  })
  realm = await Realm.create(app, 'Acme')
  spa = await realm.createClient({ application_type: 'spa' })
  await create(`${realm.tenant.A}/webhooks`, { url: `${receiver.url}/all` })
  await populateMain()
  await populateImported()
  await populateAdministrator()
})
afterAll(async () => {
  await app.close()
  await receiver.close()
})

/** Creates a user with a personal value in each field that can contain personal data. */
async function populateMain(): Promise<void> {
  const { I, A } = realm.tenant
  const body = {
    username_type: 'email',
    username: OLD_NAME,
    profile: { name: markerValue('profile'), nickname: markerValue('nickname') },
    security: { a: markerValue('security') },
    compliance: { a: markerValue('compliance') },
    preferences: { a: markerValue('preferences') },
    custom_fields: { a: markerValue('custom_fields') },
    metadata: { a: markerValue('metadata') },
    region: markerValue('region'),
    signup_reason: markerValue('signup_reason'),
    triggered_rule: markerValue('triggered_rule'),
    requires_approval: true,
    scopes: ['issuers.organizations:write'],
  }
  users.main = (await create(`${I}/users`, body, { 'idempotency-key': 'create' })).id
  const decision = { action: 'approve', reason: markerValue('approval_reason'), note: markerValue('approval_note') }
  expectStatus(await owner().patch(`${I}/approvals/${users.main}`, decision), 200)
  await waitForMail(app, OLD_NAME)
  expectStatus(
    await owner().patch(U(), {
      username: NAME,
      profile: { name: markerValue('new_profile') },
      security: { b: markerValue('new_security') },
      compliance: {},
      preferences: { c: markerValue('preferences') },
      custom_fields: {},
      metadata: { b: markerValue('metadata') },
      approval: { a: markerValue('approval') },
      status: 'suspended',
      status_reason: markerValue('status_reason'),
      status_by: markerValue('status_by'),
    }),
    200,
  )
  expectStatus(await owner().patch(U(), { status: 'active' }), 200)
  await populateVerifiers()
  await populateOrganizations()
  await signInAndFail()

  const token = {
    ...everything,
    type: 'personal_token',
    tags: [markerValue('tag')],
    restrictions: { ip_allowlist: [IP] },
  }
  const created = await create(`${U()}/tokens`, token)
  const script = createApiClient(app.baseUrl, created.token_plain)
  expectStatus(await script.post(`${I}/organizations`, { name: 'Created by a script' }, personHeaders), 201)
  const revocation = { by: markerValue('token_by'), reason: markerValue('token_reason') }
  expectStatus(await owner().post(`${A}/tokens/${created.id}/revoke`, revocation), 200)

  const notes = { subject_type: 'user', subject_id: users.main, issuer_id: realm.tenant.issuerId }
  await create(`${A}/notes`, { ...notes, content: `About ${markerValue('note')}` })
  const about = { subject_type: 'issuer', subject_id: realm.tenant.issuerId }
  await create(`${A}/notes`, {
    ...about,
    content: `Ask @[${markerValue('mention')}](${users.main}) or @[Bob](usr_bob)`,
  })
}

async function populateVerifiers(): Promise<void> {
  const { description, metadata } = everything
  const password = { type: 'password', name: markerValue('password_name'), description, metadata, password: PASSWORD }
  const { id } = await create(`${U()}/verifiers`, password)
  expectStatus(await owner().patch(`${U()}/verifiers/${id}`, { name: markerValue('verifier_name') }), 200)
  await create(`${U()}/verifiers`, { type: 'totp_enrollment', name: markerValue('totp'), issuer_name: 'Acme' })
  // A linked account, as a federated sign-in creates it.
  const linked = await app.gatehouse.database.prisma.verifier.create({
    data: {
      id: id.replace(/.$/, '0') === id ? id.replace(/.$/, '1') : id.replace(/.$/, '0'),
      accountId: realm.tenant.accountId,
      issuerId: realm.tenant.issuerId,
      userId: users.main,
      type: 'oauth',
      name: 'Upstream',
      methodId: 'am_x',
      upstreamIssuer: 'https://upstream.example.com',
      upstreamSubject: markerValue('upstream_subject'),
      createdAt: app.clock.now(),
      updatedAt: app.clock.now(),
    },
  })
  expectStatus(await owner().patch(`${U()}/verifiers/${linked.id}`, { name: markerValue('linked_identity') }), 200)
  expectStatus(await owner().delete(`${U()}/verifiers/${linked.id}`), 204)
}

async function populateOrganizations(): Promise<void> {
  const { I } = realm.tenant
  O = `${I}/organizations/${(await create(`${I}/organizations`, { name: 'Customers', invitation_enabled: true })).id}`
  const other = `${I}/organizations/${(await create(`${I}/organizations`, { invitation_enabled: true })).id}`
  const { token_plain } = await create(`${O}/invitations`, { email: OLD_NAME, message: markerValue('message') })
  const by = { id: users.main, issuerId: realm.tenant.issuerId }
  await acceptInvitation(systemContext(app.gatehouse), sha256(token_plain), by)
  await create(`${other}/invitations`, { email: NAME })
  const member = { user_title: markerValue('user_title'), metadata: { a: markerValue('member_metadata') } }
  expectStatus(await owner().patch(`${O}/members/${users.main}`, member), 200)
}

async function signInAndFail(): Promise<void> {
  const browser = () => new TestBrowser('https://', personHeaders)
  const { page } = await realm.openSignInPage(spa, { login_hint: NAME }, browser())
  await submitWrongPassword(page, browser())
  const { access_token } = await realm.signInForTokens(spa, NAME, { scope: 'openid profile email' }, browser())
  await realm.signInForTokens(spa, NAME, {}, browser())
  const { sid } = jwtClaims(access_token)
  const suspension = { reason: 'security_event', reason_details: markerValue('reason_details') }
  expectStatus(await owner().post(`${realm.tenant.I}/sessions/${sid}/suspend`, suspension), 200)
}

async function submitWrongPassword(_: unknown, browser: TestBrowser): Promise<void> {
  const { page } = await realm.openSignInPage(spa, {}, browser)
  await browser.submit(page, { username: NAME, password: 'a wrong password' })
}

/** Imports a user. */
async function populateImported(): Promise<void> {
  const document = `mutation ($accountId: ID!, $issuerId: ID!, $input: ImportUsersInput!) {
    importUsers(accountId: $accountId, issuerId: $issuerId, input: $input) { imported users { userId } } }`
  const { accountId, issuerId } = realm.tenant
  const text = JSON.stringify({
    user_id: `auth0|${markerValue('external_id')}`,
    email: IMPORTED,
    name: markerValue('profile'),
  })
  const variables = { accountId, issuerId, input: { dryRun: false, last: true, records: [{ line: 1, text }] } }
  const { body } = await owner().graphql(document, variables)
  users.imported = body.data.importUsers.users[0].userId
}

/** Creates an administrator of the account at the console issuer, who changes resources of the account. */
async function populateAdministrator(): Promise<void> {
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const A = `/v1/accounts/${system.id}`
  const [issuer] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
  const I = `${A}/issuers/${issuer.id}`
  const console = new Realm(app, { accountId: system.id, issuerId: issuer.id, A, I, owner: app.operator })
  const client = expectStatus(await app.operator.get(`${I}/clients`), 200).data[0].id
  users.administrator = await createUser(console.tenant, ADMINISTRATOR)
  const { admin_org_id } = expectStatus(await owner().get(realm.tenant.A), 200).data
  const member = { member_id: users.administrator, scopes: ['svc:all'] }
  expectStatus(await app.operator.post(`${I}/organizations/${admin_org_id}/members`, member), 201)
  const params = { redirect_uri: `${app.baseUrl}/console/callback`, scope: 'openid svc:all', resource: app.baseUrl }
  const browser = new TestBrowser('https://', personHeaders)
  const { access_token } = await console.signInForTokens(
    { id: client, secret: undefined },
    ADMINISTRATOR,
    params,
    browser,
  )
  const api: ApiClient = createApiClient(app.baseUrl, access_token)
  expectStatus(
    await api.post(
      `${realm.tenant.I}/clients`,
      { name: 'By hand', type: 'internal', confidential: false, settings: {} },
      personHeaders,
    ),
    201,
  )
  expectStatus(await api.patch(U(users.imported), { profile: { name: markerValue('profile') } }, personHeaders), 200)
  const [webhook] = expectStatus(await api.get(`${realm.tenant.A}/webhooks`), 200).data
  const query = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id } }'
  const variables = { a: realm.tenant.accountId, w: webhook.id }
  expectStatus(await api.post('/graphql', { query, variables }, personHeaders), 200)
}

/** Deletes the three users, sends requests about their remaining resources, and runs the purge when it is due. */
async function deleteAndPurge(): Promise<void> {
  const { prisma } = app.gatehouse.database
  before = new Map((await eventsOf()).map((event) => [event.id, event]))
  await waitUntil(
    'a delivery has failed',
    async () => (await prisma.webhookDelivery.count({ where: { lastError: { not: null } } })) > 0,
  )
  const [pending] = await prisma.organizationInvitation.findMany({ where: { email: NAME } })
  for (const id of [users.main, users.imported]) expectStatus(await owner().delete(U(id)), 202)
  const system = await prisma.user.findUniqueOrThrow({ where: { id: users.administrator } })
  const path = `/v1/accounts/${system.accountId}/issuers/${system.issuerId}/users/${system.id}`
  expectStatus(await app.operator.delete(path), 202)
  // The next requests are sent half a day after the deletions, so that their stored responses (kept for a day) still
  // exist when the purge runs.
  app.clock.advance(DAY / 2)
  const withdraw = `${realm.tenant.I}/organizations/${pending!.orgId}/invitations/${pending!.id}/revoke`
  expectStatus(await owner().post(withdraw, undefined, { 'idempotency-key': 'withdraw' }), 200)
  const [token] = await prisma.personalToken.findMany({ where: { userId: users.main } })
  const revoke = `${realm.tenant.A}/tokens/${token!.id}/revoke`
  expectStatus(await owner().post(revoke, {}, { 'idempotency-key': 'revoke' }), 200)
  for (const [at, name] of [NAME, 'bob@example.com'].entries()) {
    const now = app.clock.now()
    const encryptedResponse = app.gatehouse.encryptor.encrypt(JSON.stringify({ data: { name } }))
    const storedResponse = { fingerprint: '', status: 201, body: '', encryptedResponse, expiresAt: now + DAY }
    await prisma.idempotentRequest.create({
      data: { accountId: realm.tenant.accountId, key: `encrypted ${at}`, ...storedResponse },
    })
  }
  app.clock.advance(DAY / 2 + 1000)
  await run('purge-users')
  await waitUntil(
    'no user waits for deletion',
    async () => (await prisma.user.count({ where: { status: 'pending_deletion' } })) === 0,
  )
}

describe('the purge of deleted users', () => {
  test('before the purge, the search finds personal values in the tables', async () => {
    const found = leaksIn(await dumpDatabase(app)).join('\n')
    for (const field of ['old_username', 'approval_note', 'status_by', 'tag', 'token_reason', 'external_id', 'totp'])
      expect(found).toMatch(new RegExp(`\\b${field}\\b`))
    expect(found).toMatch(/^events\.actor:.* administrator/m)
    expect(found).toMatch(/^events\.context: ip_address user_agent$/m)
    expect(found).toMatch(/^webhook_deliveries\.test_event: /m)
  })

  test('no table, file or log line contains a personal value afterwards', async () => {
    await deleteAndPurge()
    expect(leaksIn(await dumpDatabase(app))).toEqual([])
    expect(leaksIn(dumpFiles(app.gatehouse.config.dataDir))).toEqual([])
    expect(leaksIn([{ location: 'log', text: log.join('') }])).toEqual([])
  })

  test('stored encrypted responses about the users are erased, and those about other users are kept', async () => {
    const where = { key: { startsWith: 'encrypted ' } }
    const rows = await app.gatehouse.database.prisma.idempotentRequest.findMany({ where, orderBy: { key: 'asc' } })
    const kept = rows.map(({ key, encryptedResponse }) => [
      key,
      encryptedResponse && JSON.parse(app.gatehouse.encryptor.decrypt(encryptedResponse)).data.name,
    ])
    expect(Object.fromEntries(kept)).toEqual({ 'encrypted 0': null, 'encrypted 1': 'bob@example.com' })
  })

  test('an export of the issuer contains no personal value', async () => {
    const { accountId, issuerId } = realm.tenant
    const exported = exportUsers(systemContext(app.gatehouse), { accountId, issuerId }, true)
    for await (const rows of exported) expect(leaksIn([{ location: 'export', text: JSON.stringify(rows) }])).toEqual([])
  })

  test('all events are kept with their ids, type, time and resource path; only personal values are erased', async () => {
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
