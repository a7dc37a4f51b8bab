/**
 * `issuer.health` and `account.health` (docs/contract.md#configuration-health): a change through the API raises each
 * finding, and the action in its `fix` text clears it.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DAY, MINUTE } from '../../src/kernel/time.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { findings } from '../../src/resources/health/findings.js'
import { rotateDueKeys } from '../../src/resources/issuers/key-rotation.js'
import { sendDueDeliveries } from '../../src/resources/webhooks/delivery-worker.js'
import { createRestrictedKey, createTenant, createUser, expectStatus, type Tenant } from '../setup/actors.js'
import { type AnyJson, type ApiClient, createApiClient } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { startWebhookReceiver, type WebhookReceiver } from '../setup/webhook-receiver.js'
import { confidentialClient, publicClient, uniqueName } from './tenant-fixture.js'

/** A deployment on loopback addresses, and one with a public address. Of each there is another with a mail server. */
let local: TestApp
let remote: TestApp
let localWithMail: TestApp
let remoteWithMail: TestApp
let dns: TestDns
let receiver: WebhookReceiver

beforeAll(async () => {
  dns = await startDns()
  receiver = await startWebhookReceiver()
  const addresses = { BASE_URL: 'https://admin.example.com', IDP_URL: 'https://login.example.com' }
  const mail = { MAIL_URL: 'smtp://127.0.0.1:1' }
  const env = { DNS_RESOLVER: dns.address, ALLOW_PRIVATE_NETWORKS: 'true' }
  local = await startApp({ roles: ['core'], env })
  remote = await startApp({ roles: ['core'], env: addresses })
  const beside = ({ databaseUrl, clock }: TestApp, more: Record<string, string>) =>
    startApp({ roles: ['core'], databaseUrl, clock, env: { ...more, ...mail } })
  localWithMail = await beside(local, {})
  remoteWithMail = await beside(remote, addresses)
}, 60_000)
afterAll(async () => {
  for (const app of [localWithMail, remoteWithMail, local, remote]) await app?.close()
  await receiver?.close()
  await dns?.close()
})

interface Found {
  code: string
  severity: string
  message: string
  fix: string
  path: string
}
const FINDING = 'health { code severity message fix path }'

async function healthOfIssuer({ accountId, issuerId }: Tenant, api: ApiClient): Promise<Found[]> {
  const { body } = await api.graphql(
    `query ($accountId: ID!, $issuerId: ID!) { issuer(accountId: $accountId, issuerId: $issuerId) { ${FINDING} } }`,
    { accountId, issuerId },
  )
  expect(body.errors).toBeUndefined()
  return body.data.issuer.health
}
async function healthOf(tenant: Tenant, api = tenant.owner): Promise<Found[]> {
  const { accountId } = tenant
  const { body } = await api.graphql(`query ($accountId: ID!) { account(accountId: $accountId) { ${FINDING} } }`, {
    accountId,
  })
  expect(body.errors).toBeUndefined()
  return [...body.data.account.health, ...(await healthOfIssuer(tenant, api))]
}

const patch = async ({ owner, I }: Tenant, path: string, body: object) =>
  expectStatus(await owner.patch(`${I}${path}`, body), 200).data
const post = async ({ owner, I }: Tenant, path: string, body?: object) =>
  expectStatus(await owner.post(`${I}${path}`, body), 201).data
const settings = (tenant: Tenant, value: object) => patch(tenant, '', { settings: value })
const passwordMethod = async ({ owner, I }: Tenant): Promise<string> =>
  `/auth-methods/${expectStatus(await owner.get(`${I}/auth-methods`), 200).data.find(({ method }: AnyJson) => method === 'password').id}`
const oauth2 = (more: object) => ({
  name: 'Acme login',
  method: 'oauth2',
  first_factor_only: true,
  settings: {
    provider: 'google',
    client_id: 'c',
    client_secret: 's',
    redirect_uri: 'https://app.example.com/',
    ...more,
  },
})
const clientWith = (uri: string, more: object = {}) =>
  publicClient({ settings: { openid: { application_type: 'spa', redirect_uris: [uri] } }, ...more })

/** Creates a user of the console issuer. Returns the id of the user and the path of the issuer. */
async function consoleUser(app: TestApp): Promise<{ id: string; I: string }> {
  const system = expectStatus(await app.operator.get('/v1/accounts'), 200).data.find(
    ({ name }: AnyJson) => name === 'System',
  ).id
  const [issuer] = expectStatus(await app.operator.get(`/v1/accounts/${system}/issuers`), 200).data
  const I = `/v1/accounts/${system}/issuers/${issuer.id}`
  const person = { username_type: 'email', username: `${uniqueName('ada')}@example.com` }
  return { id: expectStatus(await app.operator.post(`${I}/users`, person), 201).data.id, I }
}

/**
 * Raises a finding. Returns the `path` of the finding; undefined if the path contains no id, so that it equals the path
 * of the example in `findings`.
 */
type Raise = (tenant: Tenant) => Promise<string | undefined>
/**
 * Performs the action of the `fix` text. If the fix changes the configuration, returns the deployment with the changed
 * configuration, which the test then queries.
 */
type Fix = (tenant: Tenant, path: string) => Promise<TestApp | undefined>
interface Case {
  app: () => TestApp
  raise: Raise
  fix: Fix
}

const sendMailMethod: Raise = async (tenant) =>
  `auth_methods/${(await post(tenant, '/auth-methods', { name: 'Email code', method: 'email_otp' })).id}`

const cases: Record<keyof typeof findings, Case> = {
  NO_SIGN_IN_METHOD: {
    app: () => local,
    raise: async (tenant) => {
      await post(tenant, '/clients', clientWith('https://app.example.com/'))
      await patch(tenant, await passwordMethod(tenant), { enabled_login: false })
    },
    fix: async (tenant) => void (await patch(tenant, await passwordMethod(tenant), { enabled_login: true })),
  },
  AUTH_METHOD_NOT_READY: {
    app: () => local,
    raise: async (tenant) => `auth_methods/${(await post(tenant, '/auth-methods', oauth2({ provider: 'acme' }))).id}`,
    fix: async (tenant, path) => {
      const [authorization_endpoint, token_endpoint, userinfo_endpoint] = ['a', 't', 'u'].map(
        (name) => `https://acme.example.com/${name}`,
      )
      const endpoints = { authorization_endpoint, token_endpoint, userinfo_endpoint, client_secret: 's' }
      await patch(tenant, `/${path.replace('_', '-')}`, { settings: endpoints })
    },
  },
  AUTH_METHOD_REDIRECT_URI: {
    app: () => local,
    raise: async (tenant) => `auth_methods/${(await post(tenant, '/auth-methods', oauth2({}))).id}`,
    fix: async (tenant, path) => {
      const { accountId, issuerId, owner } = tenant
      const { body } = await owner.graphql(
        'query ($a: ID!, $i: ID!, $m: ID!) { authMethod(accountId: $a, issuerId: $i, methodId: $m) { callbackUrl } }',
        { a: accountId, i: issuerId, m: path.split('/')[1] },
      )
      await patch(tenant, `/${path.replace('_', '-')}`, {
        settings: { redirect_uri: body.data.authMethod.callbackUrl },
      })
    },
  },
  MAIL_NOT_CONFIGURED: { app: () => remote, raise: sendMailMethod, fix: async () => remoteWithMail },
  MAIL_IN_DEVELOPMENT_INBOX: { app: () => local, raise: sendMailMethod, fix: async () => localWithMail },
  SIGN_UP_WITHOUT_METHOD: {
    app: () => local,
    raise: async (tenant) => void (await settings(tenant, { signup: { mode: 'open' } })),
    fix: async (tenant) => void (await patch(tenant, await passwordMethod(tenant), { enabled_signup: true })),
  },
  MFA_USERS_WITHOUT_FACTOR: {
    app: () => local,
    raise: async (tenant) => {
      await createUser(tenant, 'ada@example.com')
      await createUser(tenant, 'bob@example.com')
      await settings(tenant, { security: { mfa_required: true } })
      const found = await healthOfIssuer(tenant, tenant.owner)
      const { message } = found.find(({ code }) => code === 'MFA_USERS_WITHOUT_FACTOR')!
      expect(message).toContain('2 active users have no second factor')
    },
    fix: async (tenant) => {
      const [one, other] = expectStatus(await tenant.owner.get(`${tenant.I}/users`), 200).data
      await post(tenant, `/users/${one.id}/verifiers`, { type: 'backup_codes', name: null })
      await patch(tenant, `/users/${other.id}`, { status: 'suspended', status_reason: 'left' })
    },
  },
  MFA_WITHOUT_METHOD: {
    app: () => local,
    raise: async (tenant) => void (await settings(tenant, { security: { mfa_required: true } })),
    fix: async (tenant) => void (await post(tenant, '/auth-methods', { name: 'App', method: 'totp' })),
  },
  SETTING_WITHOUT_EFFECT: {
    app: () => local,
    raise: async (tenant) => {
      await settings(tenant, { security: { mfa_require: true } })
      return 'settings.security.mfa_require'
    },
    fix: async (tenant) => void (await settings(tenant, { security: { mfa_require: null } })),
  },
  LOOPBACK_REDIRECT_URI: {
    app: () => remote,
    raise: async (tenant) => `clients/${(await post(tenant, '/clients', clientWith('http://localhost:5173/'))).id}`,
    fix: async (tenant, path) =>
      void (await patch(tenant, `/${path}`, { settings: { openid: { redirect_uris: ['https://app.example.com/'] } } })),
  },
  REDIRECT_URI_REFUSED: {
    app: () => local,
    raise: async (tenant) => {
      const { id } = await post(tenant, '/clients', clientWith('https://app.example.org/'))
      await settings(tenant, { security: { redirect_uri_rules: { allowed_hosts: ['app.example.com'] } } })
      return `clients/${id}`
    },
    fix: async (tenant, path) =>
      void (await patch(tenant, `/${path}`, { settings: { openid: { redirect_uris: ['https://app.example.com/'] } } })),
  },
  CLIENT_SECRET_OLD: {
    app: () => local,
    raise: async (tenant) => {
      const { id } = await post(tenant, '/clients', confidentialClient())
      local.clock.advance(366 * DAY)
      return `clients/${id}`
    },
    fix: async ({ owner, I }, path) => void expectStatus(await owner.post(`${I}/${path}/secret/rotate`), 200),
  },
  SIGNING_KEYS_NOT_ROTATED: {
    app: () => local,
    raise: async () => {
      local.clock.advance(70 * DAY)
      return 'signing_keys'
    },
    // Runs the rotation job, because this deployment has no worker.
    fix: async () => void (await rotateDueKeys(systemContext(local.gatehouse))),
  },
  SINGLE_ADMINISTRATOR: {
    app: () => local,
    raise: async ({ A }) => {
      const { id } = await consoleUser(local)
      expectStatus(await local.operator.patch(A, { owner_user_id: id }), 200)
    },
    fix: async ({ A, owner }) => {
      const { id, I } = await consoleUser(local)
      const { admin_org_id } = expectStatus(await owner.get(A), 200).data
      const members = `${I}/organizations/${admin_org_id}/members`
      expectStatus(await local.operator.post(members, { member_id: id, scopes: ['svc:all'] }), 201)
    },
  },
  WEBHOOK_FAILING: {
    app: () => local,
    raise: async ({ A, owner, I }) => {
      receiver.respond = (res) => void res.writeHead(500).end()
      const webhook = { url: receiver.url, event_types: ['user.created'] }
      const { id } = expectStatus(await owner.post(`${A}/webhooks`, webhook), 201).data
      const status = async () => expectStatus(await owner.get(`${A}/webhooks/${id}`), 200).data.status
      for (let n = 0; n < 2; n++)
        expectStatus(await owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('user') }), 201)
      for (let rounds = 0; (await status()) === 'active' && rounds < 40; rounds++) {
        await sendDueDeliveries(local.gatehouse)
        local.clock.advance(20 * MINUTE)
      }
      return `webhooks/${id}`
    },
    fix: async ({ A, owner }, path) => {
      receiver.respond = (res) => void res.writeHead(204).end()
      expectStatus(await owner.patch(`${A}/${path}`, { status: 'active' }), 200)
    },
  },
  DOMAIN_NOT_ASSIGNED: {
    app: () => local,
    raise: async ({ A, owner }) => {
      const host = `${uniqueName('login')}.example.com`
      const { verification } = expectStatus(await owner.post(`${A}/domains`, { host }), 201).data
      dns.set(verification.name, verification.value)
      expectStatus(await owner.post(`${A}/domains/${host}/verify`), 200)
      return `domains/${host}`
    },
    fix: async ({ A, owner, issuerId }, path) =>
      void expectStatus(await owner.post(`${A}/${path}/assign`, { issuer_id: issuerId }), 200),
  },
}

test('each finding of the table has a case in this test and a section in the reference', () => {
  const codes = Object.keys(findings).sort()
  expect(Object.keys(cases).sort()).toEqual(codes)
  const page = readFileSync(join(packageRoot, 'docs/reference/health.md'), 'utf8')
  expect([...page.matchAll(/^### (.*)$/gm)].map(([, code]) => code).sort()).toEqual(codes)
})

/** Returns a client with the same API key at another process. */
const at = (app: TestApp, { authorization }: ApiClient): ApiClient => {
  const [id = '', secret = ''] = Buffer.from(authorization!.slice(6), 'base64').toString().split(':')
  return createApiClient(app.baseUrl, { id, secret })
}

test.each(Object.entries(cases))(
  '%s is reported, and the action in its fix text clears it',
  async (code, { app, raise, fix }) => {
    const tenant = await createTenant(app())
    expect((await healthOf(tenant)).map((finding) => finding.code)).not.toContain(code)
    const path = await raise(tenant)
    const found = (await healthOf(tenant)).filter((finding) => finding.code === code)
    expect(found).toEqual([
      {
        code,
        severity: findings[code as keyof typeof findings].severity,
        message: expect.stringMatching(/^\S.*\.$/),
        fix: expect.stringMatching(/^[A-Z].*\.$/),
        path: path ?? findings[code as keyof typeof findings].example.path,
      },
    ])
    const elsewhere = await fix(tenant, found[0]!.path)
    const after = await healthOf(tenant, elsewhere ? at(elsewhere, tenant.owner) : tenant.owner)
    expect(after.map((finding) => finding.code)).not.toContain(code)
  },
)

test('a new account and a new issuer with a password method and an application have no findings', async () => {
  for (const app of [local, remote]) {
    const tenant = await createTenant(app)
    await post(tenant, '/clients', clientWith('https://app.example.com/'))
    await post(tenant, '/clients', confidentialClient())
    await createUser(tenant, 'ada@example.com')
    expect(await healthOf(tenant)).toEqual([])
  }
})

const documents = 'security.openid_policy.client_id_metadata_document'
const nested = (path: string, value: unknown): object =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as object

describe('a setting without effect is reported with its path', () => {
  test.each<[path: string, given: object]>([
    ['security.password_policy.minimum', nested('security.password_policy.minimum', 12)],
    ['security.openid_policy.pkce', nested('security.openid_policy.pkce', true)],
    ['signup.require_approval', nested('signup.require_approval', true)],
    ['sessions.idle', nested('sessions.idle', 60)],
    ['sessions.idle_timeout', { sessions: { idle_timeout: 600, absolute_lifetime: 600 } }],
    ['sessions.idle_timeout', { sessions: { idle_timeout: 1_814_400 } }],
    ['signup.allowed_domains', { signup: { mode: 'invite_only', allowed_domains: ['example.com'] } }],
    ['signup.blocked_domains', { signup: { mode: 'invite_only', blocked_domains: ['example.com'] } }],
    [`${documents}.allowed_scopes`, nested(`${documents}.allowed_scopes`, ['orders:read'])],
    [`${documents}.allowed_resources`, nested(`${documents}.allowed_resources`, ['https://api.example.com'])],
  ])('settings.%s', async (path, given) => {
    const tenant = await createTenant(local)
    await settings(tenant, given)
    const found = await healthOfIssuer(tenant, tenant.owner)
    expect(found).toMatchObject([{ code: 'SETTING_WITHOUT_EFFECT', path: `settings.${path}` }])
  })

  test('the password policy of an issuer without a password method is reported; unknown keys beside the sections are ignored', async () => {
    const tenant = await createTenant(local)
    await settings(tenant, { security: { password_policy: { min_length: 12 } }, our_team: { color: 'red' } })
    expect(await healthOfIssuer(tenant, tenant.owner)).toEqual([])
    expectStatus(await tenant.owner.delete(`${tenant.I}${await passwordMethod(tenant)}`), 204)
    expect(await healthOfIssuer(tenant, tenant.owner)).toMatchObject([{ path: 'settings.security.password_policy' }])
  })

  test('settings that have an effect are not reported', async () => {
    const tenant = await createTenant(local)
    await patch(tenant, await passwordMethod(tenant), { enabled_signup: true })
    await settings(tenant, {
      signup: { mode: 'open', allowed_domains: ['example.com'], require_admin_approval: true },
      sessions: { idle_timeout: 600, absolute_lifetime: 601, device_fingerprinting: true },
      security: {
        cors_origins: ['https://app.example.com'],
        redirect_uri_rules: { allow_loopback: false },
        password_policy: { min_length: 12, max_length: 128, require_digit: true, history: 3, check_breached: true },
        openid_policy: { client_id_metadata_document: { enabled: true, allowed_scopes: ['orders:read'] } },
      },
    })
    expect(await healthOfIssuer(tenant, tenant.owner)).toEqual([])
  })
})

test('the migration sets the date of a secret to its last rotation, or to the creation of the client', async () => {
  const tenant = await createTenant(local)
  const [old, rotated] = [
    await post(tenant, '/clients', confidentialClient()),
    await post(tenant, '/clients', confidentialClient()),
  ]
  local.clock.advance(200 * DAY)
  expectStatus(await tenant.owner.post(`${tenant.I}/clients/${rotated.id}/secret/rotate`), 200)
  local.clock.advance(200 * DAY)
  const { pool } = local.gatehouse.database
  const strip = `UPDATE clients SET secrets = (SELECT jsonb_agg(s - 'created_at') FROM jsonb_array_elements(secrets) s)
    WHERE issuer_id = $1`
  await pool.query(strip, [tenant.issuerId])
  const reported = async () =>
    (await healthOfIssuer(tenant, tenant.owner)).filter(({ code }) => code === 'CLIENT_SECRET_OLD')
  expect(await reported()).toEqual([])
  const file = 'prisma/migrations/20261122127000_secret_age/migration.sql'
  await pool.query(readFileSync(join(packageRoot, file), 'utf8'))
  expect(await reported()).toMatchObject([{ path: `clients/${old.id}` }])
})

test('email confirmation at sign-up requires a mail server as well', async () => {
  const tenant = await createTenant(remote)
  await patch(tenant, await passwordMethod(tenant), { enabled_signup: true })
  await settings(tenant, { signup: { require_email_verification: true } })
  const path = 'settings.signup.require_email_verification'
  expect(await healthOfIssuer(tenant, tenant.owner)).toMatchObject([{ code: 'MAIL_NOT_CONFIGURED', path }])
})

test('native applications and m2m clients are not reported for loopback URIs and missing methods', async () => {
  const tenant = await createTenant(remote)
  expectStatus(await tenant.owner.delete(`${tenant.I}${await passwordMethod(tenant)}`), 204)
  const openid = { application_type: 'm2m', grant_types: ['client_credentials'] }
  await post(tenant, '/clients', confidentialClient({ settings: { openid } }))
  expect(await healthOfIssuer(tenant, tenant.owner)).toEqual([])
  const native = { application_type: 'native', redirect_uris: ['http://127.0.0.1/callback'] }
  await post(tenant, '/clients', publicClient({ settings: { openid: native } }))
  expect(await healthOfIssuer(tenant, tenant.owner)).toMatchObject([{ code: 'NO_SIGN_IN_METHOD' }])
})

test('errors come before warnings, warnings before information', async () => {
  const tenant = await createTenant(local)
  await createUser(tenant, 'ada@example.com')
  await settings(tenant, { security: { mfa_required: true }, signup: { mode: 'open' } })
  await post(tenant, '/auth-methods', oauth2({ provider: 'acme' }))
  const severities = (await healthOfIssuer(tenant, tenant.owner)).map(({ severity }) => severity)
  expect(severities).toEqual(['ERROR', 'WARNING', 'WARNING', 'WARNING', 'INFO'])
})

test('a caller sees only the findings that its scopes let it read', async () => {
  const tenant = await createTenant(local)
  await createUser(tenant, 'ada@example.com')
  await post(tenant, '/clients', clientWith('https://app.example.org/'))
  const rules = { allowed_hosts: ['app.example.com'] }
  await settings(tenant, { security: { mfa_required: true, redirect_uri_rules: rules } })
  const codes = async (...scopes: string[]) => {
    const api = await createRestrictedKey(tenant, { scopes })
    return (await healthOfIssuer(tenant, api)).map(({ code }) => code).sort()
  }
  expect(await codes('issuers:read')).toEqual([])
  expect(await codes('issuers:read', 'issuers.users:read')).toEqual(['MFA_USERS_WITHOUT_FACTOR'])
  expect(await codes('issuers:read', 'issuers.clients:read')).toEqual(['REDIRECT_URI_REFUSED'])
  expect(await codes('issuers:read', 'issuers.auth_methods:read')).toEqual(['MFA_WITHOUT_METHOD'])
  const everything = ['MFA_USERS_WITHOUT_FACTOR', 'MFA_WITHOUT_METHOD', 'REDIRECT_URI_REFUSED']
  expect(
    await codes('issuers:manage', 'issuers.users:read', 'issuers.clients:read', 'issuers.auth_methods:manage'),
  ).toEqual(everything)

  await consoleUser(local).then(({ id }) => local.operator.patch(tenant.A, { owner_user_id: id }))
  const domains = await createRestrictedKey(tenant, { scopes: ['accounts:read', 'domains:read'] })
  const { body } = await domains.graphql(`{ account(accountId: "${tenant.accountId}") { ${FINDING} } }`)
  expect(body.data.account.health).toMatchObject([{ code: 'SINGLE_ADMINISTRATOR' }])
})

test('at most 25 findings of one code, and a document that reads the health of too many issuers is refused', async () => {
  const tenant = await createTenant(local)
  for (let n = 0; n < 27; n++) await post(tenant, '/clients', clientWith('https://app.example.org/'))
  await settings(tenant, { security: { redirect_uri_rules: { allowed_hosts: ['app.example.com'] } } })
  expect(await healthOfIssuer(tenant, tenant.owner)).toHaveLength(25)

  const all = (limit: number) =>
    tenant.owner.graphql(`{ issuers(accountId: "${tenant.accountId}", limit: ${limit}) { data { id ${FINDING} } } }`)
  expect(expectStatus(await all(49), 200).data.issuers.data[0].health).toHaveLength(25)
  expect((await all(50)).status).toBe(400)
})
