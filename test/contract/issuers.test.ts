/**
 * Issuers and their authentication methods (docs/contract.md#issuers, docs/contract.md#issuer-settings,
 * docs/contract.md#authentication-methods, docs/contract.md#issuer-endpoints, docs/contract.md#password-policy).
 */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let issuers: string
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  issuers = `${fixture.A}/issuers`
})
afterAll(() => app.close())

const errorFieldsOf = (response: { body: AnyJson }): string[] =>
  (response.body.details ?? []).map(({ field }: AnyJson) => field)
const create = async (more: object = {}) =>
  expectStatus(await fixture.owner.post(issuers, { name: uniqueName('Issuer'), ...more }), 201).data

test('all documented issuer fields are returned as they were sent', async () => {
  const body = {
    name: 'Whole',
    description: '# md',
    links: { terms: 'https://x.example' },
    available_scopes: ['orders:read', 'orders:write'],
    status: 'disabled',
    metadata: { a: 1 },
    settings: {
      signup: { mode: 'invite_only', allowed_domains: ['example.com'] },
      sessions: { idle_timeout: 60 },
      branding: { display_name: 'W', theme: { primary_color: '#1d4ed8' } },
      custom: { x: null },
    },
  }
  const { data } = expectStatus(await fixture.owner.post(issuers, body), 201)
  expect(data).toMatchObject({
    ...body,
    settings: { ...body.settings, custom: {} },
    id: expect.stringMatching(/^iss_/),
    account_id: fixture.accountId,
    url: `${app.idpUrl}/${data.id}`,
  })
  expect((await fixture.owner.get(`${issuers}/${data.id}`)).body.data).toEqual(data)
})

test('a new issuer has metadata documents disabled, and all organizations in its tokens', async () => {
  expect((await create()).settings.security.openid_policy.client_id_metadata_document).toEqual({
    enabled: false,
    organization_policy: 'all',
  })
  const own = await create({
    settings: {
      security: { openid_policy: { client_id_metadata_document: { enabled: true, organization_policy: 'selected' } } },
    },
  })
  expect(own.settings.security.openid_policy.client_id_metadata_document).toEqual({
    enabled: true,
    organization_policy: 'selected',
  })
})

describe('settings', () => {
  const refused: [object, string][] = [
    [{ signup: { mode: 'closed' } }, 'settings.signup.mode'],
    [{ signup: [] }, 'settings.signup'],
    [{ signup: { allowed_domains: ['not a domain'] } }, 'settings.signup.allowed_domains[0]'],
    [{ signup: { require_admin_approval: 'yes' } }, 'settings.signup.require_admin_approval'],
    [{ sessions: { absolute_lifetime: 0 } }, 'settings.sessions.absolute_lifetime'],
    [{ sessions: { idle_timeout: 1.5 } }, 'settings.sessions.idle_timeout'],
    [{ sessions: { idle_timeout: '60' } }, 'settings.sessions.idle_timeout'],
    [{ security: { cors_origins: ['https://a.example/'] } }, 'settings.security.cors_origins[0]'],
    [{ security: { cors_origins: ['https://a.example/path'] } }, 'settings.security.cors_origins[0]'],
    [{ security: { cors_origins: ['*'] } }, 'settings.security.cors_origins[0]'],
    [{ security: { cors_origins: ['null'] } }, 'settings.security.cors_origins[0]'],
    [{ security: { cors_origins: ['a.example'] } }, 'settings.security.cors_origins[0]'],
    [{ security: { password_policy: { min_length: 7 } } }, 'settings.security.password_policy.min_length'],
    [
      { security: { password_policy: { min_length: 100, max_length: 64 } } },
      'settings.security.password_policy.min_length',
    ],
    [{ security: { password_policy: { history: 25 } } }, 'settings.security.password_policy.history'],
    [
      { security: { openid_policy: { client_id_metadata_document: { enabled: 1 } } } },
      'settings.security.openid_policy.client_id_metadata_document.enabled',
    ],
    [
      { security: { openid_policy: { client_id_metadata_document: { organization_policy: 'some' } } } },
      'settings.security.openid_policy.client_id_metadata_document.organization_policy',
    ],
    [{ security: { redirect_uri_rules: [] } }, 'settings.security.redirect_uri_rules'],
    [
      { security: { redirect_uri_rules: { allow_loopback: 'no' } } },
      'settings.security.redirect_uri_rules.allow_loopback',
    ],
    [
      { security: { redirect_uri_rules: { allow_private_use_schemes: 1 } } },
      'settings.security.redirect_uri_rules.allow_private_use_schemes',
    ],
    [
      { security: { redirect_uri_rules: { allowed_hosts: 'app.example.com' } } },
      'settings.security.redirect_uri_rules.allowed_hosts',
    ],
    [{ security: { redirect_uri_rules: { allowed_hosts: [] } } }, 'settings.security.redirect_uri_rules.allowed_hosts'],
    [
      { security: { redirect_uri_rules: { allowed_hosts: ['a.example', 'b.example:443'] } } },
      'settings.security.redirect_uri_rules.allowed_hosts[1]',
    ],
    [
      { security: { redirect_uri_rules: { require_https: true } } },
      'settings.security.redirect_uri_rules.require_https',
    ],
    [{ branding: { logo_url: 'javascript:alert(1)' } }, 'settings.branding.logo_url'],
    [{ branding: { theme: { primary_color: 'red;}body{display:none' } } }, 'settings.branding.theme.primary_color'],
    [{ branding: { theme: { primary_color: '#12345' } } }, 'settings.branding.theme.primary_color'],
  ]
  test.each(refused)('%j is 400, on create and on update', async (settings, field) => {
    for (const response of [
      await fixture.owner.post(issuers, { name: 'x', settings }),
      await fixture.owner.patch(fixture.I, { settings }),
    ]) {
      expect({ status: response.status, fields: [...new Set(errorFieldsOf(response))] }).toEqual({
        status: 400,
        fields: [field],
      })
    }
  })

  test('PATCH is a JSON Merge Patch, and the merged settings are validated as a whole', async () => {
    const issuer = await create({
      settings: { sessions: { idle_timeout: 60, device_fingerprinting: true }, custom: [1, 2] },
    })
    const path = `${issuers}/${issuer.id}`
    const { settings } = expectStatus(
      await fixture.owner.patch(path, {
        settings: { sessions: { idle_timeout: null }, custom: [3], signup: { mode: 'open' } },
      }),
      200,
    ).data
    expect(settings).toEqual({
      security: issuer.settings.security,
      sessions: { device_fingerprinting: true },
      custom: [3],
      signup: { mode: 'open' },
    })
    expectStatus(
      await fixture.owner.patch(path, { settings: { security: { password_policy: { min_length: 100 } } } }),
      200,
    )
    expect(
      (await fixture.owner.patch(path, { settings: { security: { password_policy: { max_length: 64 } } } })).status,
    ).toBe(400)
  })

  test('metadata and links are replaced as a whole', async () => {
    const issuer = await create({ metadata: { a: 1 }, links: { a: 1 } })
    expect(
      expectStatus(await fixture.owner.patch(`${issuers}/${issuer.id}`, { metadata: { b: null }, links: {} }), 200)
        .data,
    ).toMatchObject({ metadata: { b: null }, links: {} })
  })
})

describe('status', () => {
  test('PATCH changes between active and disabled; deleted is 400; suspended requires an operator', async () => {
    const issuer = await create()
    const path = `${issuers}/${issuer.id}`
    for (const status of ['disabled', 'active'])
      expect(expectStatus(await fixture.owner.patch(path, { status }), 200).data.status).toBe(status)
    for (const [status, expected] of [
      ['deleted', 400],
      ['x', 400],
      ['suspended', 403],
    ] as const) {
      expect({ status, got: (await fixture.owner.patch(path, { status })).status }).toEqual({ status, got: expected })
      expect({ status, got: (await fixture.owner.post(issuers, { name: 'x', status })).status }).toEqual({
        status,
        got: expected,
      })
    }
    expect(expectStatus(await app.operator.patch(path, { status: 'suspended' }), 200).data.status).toBe('suspended')
    expect((await fixture.owner.patch(path, { status: 'active' })).status).toBe(403)
    expect((await fixture.owner.patch(path, { description: 'still mine' })).status).toBe(200)
    expect(expectStatus(await app.operator.patch(path, { status: 'active' }), 200).data.status).toBe('active')
  })

  test('DELETE is soft: everything below returns 404, so does a second DELETE, and the identity provider stops serving the issuer', async () => {
    const issuer = await create()
    const path = `${issuers}/${issuer.id}`
    expectStatus(await fixture.owner.post(`${path}/users`, { username_type: 'unique', username: 'u' }), 201)
    expect((await fetch(`${issuer.url}/jwks.json`)).status).toBe(200)
    expect((await fixture.owner.delete(path)).status).toBe(204)
    for (const below of ['', '/users', '/clients', '/auth-methods'])
      expect({ below, status: (await fixture.owner.get(path + below)).status }).toEqual({ below, status: 404 })
    expect([
      (await fixture.owner.delete(path)).status,
      (await fixture.owner.patch(path, { name: 'x' })).status,
      (await fixture.owner.post(`${path}/users`, { username_type: 'unique', username: 'v' })).status,
    ]).toEqual([404, 404, 404])
    expect((await fetch(`${issuer.url}/jwks.json`)).status).toBe(404)
    expect(
      expectStatus(await fixture.owner.get(`${issuers}?limit=100`), 200).data.map(({ id }: AnyJson) => id),
    ).not.toContain(issuer.id)
  })
})

describe('authentication methods', () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const pem = { type: 'pkcs8', format: 'pem' } as const
  const p8 = privateKey.export(pem).toString()
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pem).toString()
  const federated: [string, Record<string, string>, string][] = [
    ['oidc', { issuer_url: 'https://up.example', client_id: 'c', client_secret: 'upstream-secret' }, 'client_secret'],
    [
      'oauth2',
      { provider: 'discord', client_id: 'c', client_secret: 'upstream-secret', redirect_uri: 'https://x.example/cb' },
      'client_secret',
    ],
    ['apple', { client_id: 'c', team_id: 't', key_id: 'k', private_key: p8 }, 'private_key'],
    ['github', { client_id: 'c', client_secret: 'upstream-secret' }, 'client_secret'],
  ]
  let methods: string
  beforeAll(async () => {
    methods = `${issuers}/${(await create()).id}/auth-methods`
  })

  test.each(['password', 'email_link', 'email_otp', 'totp', 'backup_codes'])(
    'an issuer has at most one %s method: the second is 409',
    async (method) => {
      const { data } = expectStatus(await fixture.owner.post(methods, { name: 'One', method }), 201)
      expect(data).toMatchObject({
        name: 'One',
        method,
        enabled_login: true,
        enabled_signup: false,
        featured: false,
        settings: {},
      })
      const again = await fixture.owner.post(methods, { name: 'Two', method })
      expect({ status: again.status, error: again.body.error }).toEqual({ status: 409, error: 'conflict' })
      expect((await fixture.owner.delete(`${methods}/${data.id}`)).status).toBe(204)
      expectStatus(
        await fixture.owner.post(methods, {
          name: 'Again',
          method,
          enabled_login: false,
          enabled_signup: true,
          featured: true,
          settings: { custom: 1 },
        }),
        201,
      )
      for (const first_factor_only of [true, false]) {
        const response = await fixture.owner.post(methods, { name: 'x', method, first_factor_only })
        expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
          status: 400,
          fields: ['first_factor_only'],
        })
      }
    },
  )

  test('two parallel creations of a method that is allowed once create one', async () => {
    const path = `${issuers}/${(await create()).id}/auth-methods`
    const responses = await Promise.all(
      Array.from({ length: 10 }, () => fixture.owner.post(path, { name: 'P', method: 'password' })),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(9).fill(409)])
  })

  test.each(federated)(
    '%s: required settings, first_factor_only, a secret that is never shown, several allowed',
    async (method, settings, secret) => {
      const body = { name: 'Up', method, first_factor_only: true, settings }
      const one = expectStatus(await fixture.owner.post(methods, body), 201)
      expectStatus(await fixture.owner.post(methods, body), 201)
      expect(one.data).toMatchObject({ method, first_factor_only: true, settings: { [`${secret}_set`]: true } })
      // The callback URL is the redirect URI that is registered with the provider.
      const issuerId = methods.split('/').at(-2)
      expect(one.data.callback_url).toBe(`${app.idpUrl}/${issuerId}/callback/${one.data.id}`)
      // The first line of a PEM key is not secret, so the second line is searched.
      const hidden = settings[secret]!.split('\n')[1] ?? settings[secret]!
      for (const { text } of [
        { text: JSON.stringify(one) },
        await fixture.owner.get(methods),
        await fixture.owner.get(`${methods}/${one.data.id}`),
      ])
        expect(text).not.toContain(hidden)
      const [row] = await app.gatehouse.database.query<{ text: string }>(
        'method-row',
        'SELECT m::text AS text FROM auth_methods m WHERE id = $1',
        [one.data.id],
      )
      expect(row!.text).not.toContain(hidden)

      for (const key of Object.keys(settings)) {
        for (const value of [undefined, '', null, 7]) {
          const response = await fixture.owner.post(methods, { ...body, settings: { ...settings, [key]: value } })
          expect({ key, value, status: response.status, fields: errorFieldsOf(response) }).toEqual({
            key,
            value,
            status: 400,
            fields: [`settings.${key}`],
          })
        }
      }
      for (const [field, more] of [
        ['first_factor_only', { first_factor_only: false }],
        ['first_factor_only', { first_factor_only: undefined }],
        ['settings', { settings: undefined }],
      ] as const) {
        const response = await fixture.owner.post(methods, { ...body, ...more })
        expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({ status: 400, fields: [field] })
      }
      const path = `${methods}/${one.data.id}`
      expect((await fixture.owner.patch(path, { first_factor_only: false })).status).toBe(400)
      expectStatus(await fixture.owner.patch(path, { name: 'Renamed', settings: { custom: 1 } }), 200)
      expect((await fixture.owner.patch(path, { settings: { [Object.keys(settings)[0]!]: null } })).status).toBe(400)
    },
  )

  test('a stored secret is not sent to a new address', async () => {
    const issuer = expectStatus(
      await fixture.owner.post(methods, {
        name: 'Up',
        method: 'oidc',
        first_factor_only: true,
        settings: federated[0]![1],
      }),
      201,
    ).data
    const path = `${methods}/${issuer.id}`
    const moved = await fixture.owner.patch(path, { settings: { issuer_url: 'https://evil.example' } })
    expect({ status: moved.status, fields: errorFieldsOf(moved) }).toEqual({
      status: 400,
      fields: ['settings.client_secret'],
    })
    expectStatus(
      await fixture.owner.patch(path, { settings: { issuer_url: 'https://new.example', client_secret: 'another' } }),
      200,
    )
    expectStatus(await fixture.owner.patch(path, { settings: { client_secret_set: true, display: 'x' } }), 200)
    for (const issuer_url of ['http://up.example', 'ftp://x', 'x', 'https://u:p@up.example', 'https://up.example/#x']) {
      expect({
        issuer_url,
        status: (await fixture.owner.patch(path, { settings: { issuer_url, client_secret: 's' } })).status,
      }).toEqual({ issuer_url, status: 400 })
    }
  })

  test.each<[kind: string, change: Record<string, unknown>, field: string]>([
    ['oidc', { issuer_url: 'https://up.example/.well-known/openid-configuration' }, 'issuer_url'],
    ['oidc', { issuer_url: 'https://up.example/?a=b' }, 'issuer_url'],
    ['oidc', { issuer_url: 'https://up.example/a b' }, 'issuer_url'],
    ['oidc', { scopes: 'openid' }, 'scopes'],
    ['oidc', { scopes: ['a b'] }, 'scopes[0]'],
    ['oidc', { link_by_email: 'yes' }, 'link_by_email'],
    ['oidc', { token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint_auth_method'],
    ['oauth2', { redirect_uri: 'http://x.example/cb' }, 'redirect_uri'],
    ['oauth2', { redirect_uri: 'https://x.example/cb?a=b' }, 'redirect_uri'],
    ['oauth2', { redirect_uri: 'javascript:alert(1)' }, 'redirect_uri'],
    ['oauth2', { userinfo_endpoint: 'http://x.example/me' }, 'userinfo_endpoint'],
    ['oauth2', { token_endpoint: 7 }, 'token_endpoint'],
    ['oauth2', { subject_claim: 'a b' }, 'subject_claim'],
    ['oauth2', { pkce: 'no' }, 'pkce'],
    ['apple', { issuer_url: 'https://apple.example' }, 'issuer_url'],
    ['github', { base_url: 'http://github.example' }, 'base_url'],
    ['github', { base_url: 'https://u:p@github.example' }, 'base_url'],
  ])('%s: %j is refused with the field name', async (method, change, field) => {
    const [, settings] = federated.find(([kind]) => kind === method)!
    const body = { name: 'Up', method, first_factor_only: true, settings: { ...settings, ...change } }
    const response = await fixture.owner.post(methods, body)
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
      status: 400,
      fields: [`settings.${field}`],
    })
  })

  const endpoints = ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint']
  const oauth2 = { client_id: 'c', client_secret: 's', redirect_uri: 'https://x.example/cb' }
  const missing = 'authorization_endpoint, token_endpoint and userinfo_endpoint are missing'
  const noKey = 'private_key is not an EC P-256 private key in PEM form'
  const apple = { client_id: 'c', team_id: 't', key_id: 'k' }
  const READY = null
  const keys = {
    words: 'no key',
    'one character': 'x',
    'a blank': ' ',
    lines: 'multiple\nlines',
    'an invalid PEM': p8.replace(/A/g, 'B'),
    'a truncated PEM': p8.slice(0, 80),
    'an RSA key': rsa,
  }
  type Case = [method: string, what: string, reason: string | null, settings: Record<string, string>]
  test.each<Case>([
    ...federated.map(([kind, settings]): Case => [kind, 'settings that work', READY, settings]),
    ...['google', 'Google', 'GITLAB'].map((provider): Case => ['oauth2', provider, READY, { ...oauth2, provider }]),
    ...['acme-corp', 'Acme Corp', 'google2', 'toString', '__proto__', 'constructor', 'a.b', '谷歌'].map(
      (provider): Case => ['oauth2', `provider ${provider}`, missing, { ...oauth2, provider }],
    ),
    ...Object.entries(keys).map(([what, private_key]): Case => ['apple', what, noKey, { ...apple, private_key }]),
  ])(
    '%s with %s: the documented settings are sufficient, and GraphQL shows whether the method is usable',
    async (method, _, reason, settings) => {
      const { data } = expectStatus(
        await fixture.owner.post(methods, { name: 'Up', method, first_factor_only: true, settings }),
        201,
      )
      expect(Object.keys(data)).not.toEqual(expect.arrayContaining(['ready', 'not_ready_reason']))
      const [accountId, issuerId] = [fixture.accountId, methods.split('/').at(-2)]
      const { body } = await fixture.owner.graphql(
        'query ($accountId: ID!, $issuerId: ID!, $methodId: ID!) { authMethod(accountId: $accountId, issuerId: $issuerId, methodId: $methodId) { ready notReadyReason } }',
        { accountId, issuerId, methodId: data.id },
      )
      expect(body.data.authMethod).toEqual({
        ready: reason === null,
        notReadyReason: reason === null ? null : expect.stringContaining(reason),
      })
    },
  )

  test('a custom oauth2 provider requires its endpoints, on creation or later', async () => {
    const body = (more: object = {}) => ({
      name: 'Up',
      method: 'oauth2',
      first_factor_only: true,
      settings: { ...oauth2, provider: 'intranet', ...more },
    })
    expectStatus(await fixture.owner.post(methods, body()), 201)
    const given = Object.fromEntries(endpoints.map((one) => [one, `https://x.example/${one}`]))
    const issuer = expectStatus(await fixture.owner.post(methods, body(given)), 201).data
    // A PATCH of an endpoint must contain the secret, so that the stored secret is not sent to a new address
    // (docs/contract.md#secret-storage).
    const path = `${methods}/${issuer.id}`
    const moved = await fixture.owner.patch(path, { settings: { token_endpoint: 'https://evil.example/token' } })
    expect({ status: moved.status, fields: errorFieldsOf(moved) }).toEqual({
      status: 400,
      fields: ['settings.client_secret'],
    })
    expectStatus(await fixture.owner.patch(path, { settings: { redirect_uri: issuer.callback_url } }), 200)
  })

  test('callback_url is present for methods that are registered with a provider, and read-only', async () => {
    const { data } = expectStatus(await fixture.owner.post(methods, { name: 'Key', method: 'passkey' }), 201)
    expect(data.callback_url).toBeNull()
    const response = await fixture.owner.patch(`${methods}/${data.id}`, { callback_url: 'https://x.example' })
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({
      status: 400,
      fields: ['callback_url'],
    })
  })

  test('method is immutable; unknown methods are 400; several passkey methods are allowed; a second DELETE is 404', async () => {
    const issuer = expectStatus(await fixture.owner.post(methods, { name: 'Key', method: 'passkey' }), 201).data
    expectStatus(await fixture.owner.post(methods, { name: 'Key 2', method: 'passkey' }), 201)
    const response = await fixture.owner.patch(`${methods}/${issuer.id}`, { method: 'totp' })
    expect({ status: response.status, fields: errorFieldsOf(response) }).toEqual({ status: 400, fields: ['method'] })
    for (const method of ['sms', '', 'Password'])
      expect((await fixture.owner.post(methods, { name: 'x', method })).status).toBe(400)
    expect([
      (await fixture.owner.delete(`${methods}/${issuer.id}`)).status,
      (await fixture.owner.delete(`${methods}/${issuer.id}`)).status,
      (await fixture.owner.get(`${methods}/${issuer.id}`)).status,
    ]).toEqual([204, 404, 404])
  })
})
