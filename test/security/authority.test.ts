/**
 * The scopes that an operation requires in addition to the scope of its route, so that the caller cannot gain authority
 * (docs/contract.md#authority-for-changes, docs/contract.md#authority-cannot-grow). test/stories/authority-attacks.ts
 * tries all mutations.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import {
  confidentialClient,
  createTenantResources,
  type TenantFixture,
  uniqueName,
} from '../contract/tenant-fixture.js'
import { createAccount, createRestrictedKey, createTenant, createUser, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient, ApiResponse } from '../setup/api.js'
import { createApiClient } from '../setup/api.js'
import { createClientKey } from '../setup/client-assertions.js'
import { createSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let fixture: TenantFixture
/** Id of a user with issuers.clients:manage, which most callers in this file lack. */
let strong: string

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantResources(await createTenant(app))
  strong = await strongUser()
})
afterAll(() => app.close())

async function strongUser(): Promise<string> {
  const id = await createUser(fixture, `${uniqueName('strong')}@corp.example`)
  expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, { scopes: ['issuers.clients:manage'] }), 200)
  return id
}

const keyWithScopes = (...scopes: string[]): Promise<ApiClient> => createRestrictedKey(fixture, { scopes })

/** Expects a 403 whose WWW-Authenticate (RFC 6750 section 3) names the scope. */
function expectRefused(response: ApiResponse<AnyJson>, scope: string): void {
  expect({ status: response.status, error: response.body.error, text: response.text }).toMatchObject({
    status: 403,
    error: 'insufficient_scope',
  })
  expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
}

describe('changing owner_user_id requires svc:all on the account without restrictions', () => {
  const ownerOf = async () => expectStatus(await fixture.owner.get(fixture.A), 200).data.owner_user_id

  test('accounts:write and accounts:manage are not enough, nor is svc:all with an IP restriction', async () => {
    const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const [{ id: consoleIssuer }] = expectStatus(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
    const consoleTenant = { owner: app.operator, I: `/v1/accounts/${system.id}/issuers/${consoleIssuer}` }
    const userId = await createUser(consoleTenant as TenantFixture, `${uniqueName('owner')}@example.com`)
    const before = await ownerOf()
    const restrictions = [
      { scopes: ['accounts:write'] },
      { scopes: ['accounts:manage'] },
      { ip_allowlist: ['127.0.0.0/8', '::1'] },
    ]
    for (const restriction of restrictions) {
      const api = await createRestrictedKey(fixture, restriction)
      expectRefused(await api.patch(fixture.A, { owner_user_id: userId }), 'svc:all')
      expectStatus(await api.patch(fixture.A, { name: uniqueName('Name') }), 200)
    }
    expect(await ownerOf()).toBe(before)
    expectStatus(await fixture.owner.patch(fixture.A, { owner_user_id: userId }), 200)
    expect(await ownerOf()).toBe(userId)
    // A PATCH with the current owner changes nothing, so it requires no scope but accounts:write.
    expectStatus(await (await keyWithScopes('accounts:write')).patch(fixture.A, { owner_user_id: userId }), 200)
  })
})

describe('a username, an email address and email_verified are credentials', () => {
  const changes: [string, object][] = [
    ['username', { username: 'attacker@evil.example' }],
    ['username_type', { username_type: 'unique' }],
    [
      'profile.email',
      { username_type: 'unique', username: uniqueName('name'), profile: { email: 'attacker@evil.example' } },
    ],
    ['email_verified', { email_verified: true }],
  ]
  test.each(changes)('changing %s of a user requires the platform scopes of the user', async (_, body) => {
    const desk = await keyWithScopes('issuers.users:manage', 'issuers.users.verifiers:manage')
    expectRefused(await desk.patch(`${fixture.I}/users/${strong}`, body), 'issuers.clients:manage')
    expectStatus(await desk.patch(`${fixture.I}/users/${strong}`, { profile: { name: 'A new name' } }), 200)
    const helper = await keyWithScopes('issuers.users:write', 'issuers.users.verifiers:write', 'issuers.clients:manage')
    expectStatus(
      await helper.patch(`${fixture.I}/users/${await strongUser()}`, {
        ...body,
        ...('username' in body && { username: `${uniqueName('u')}@corp.example` }),
      }),
      200,
    )
  })

  test.each(changes)(
    'changing %s of a user with a verifier requires issuers.users.verifiers:write',
    async (_, body) => {
      const id = await createUser(fixture, `${uniqueName('plain')}@corp.example`)
      const desk = await keyWithScopes('issuers.users:write')
      expectRefused(await desk.patch(`${fixture.I}/users/${id}`, body), 'issuers.users.verifiers:write')
      expectStatus(await desk.patch(`${fixture.I}/users/${id}`, { metadata: { desk: 'yes' } }), 200)
    },
  )

  test('changing the username of a user without a verifier requires only issuers.users:write', async () => {
    const desk = await keyWithScopes('issuers.users:write')
    const body = { username_type: 'email', username: `${uniqueName('new')}@corp.example` }
    const { id } = expectStatus(await desk.post(`${fixture.I}/users`, body), 201).data
    expectStatus(await desk.patch(`${fixture.I}/users/${id}`, { username: `${uniqueName('other')}@corp.example` }), 200)
  })

  test('email_verified can be set at creation and by PATCH, and a new username resets it', async () => {
    const body = { username_type: 'email', username: `${uniqueName('new')}@corp.example` }
    const { id, email_verified } = expectStatus(await fixture.owner.post(`${fixture.I}/users`, body), 201).data
    expect(email_verified).toBe(false)
    const changed = expectStatus(
      await fixture.owner.patch(`${fixture.I}/users/${id}`, { email_verified: true }),
      200,
    ).data
    expect(changed.email_verified).toBe(true)
    const moved = expectStatus(
      await fixture.owner.patch(`${fixture.I}/users/${id}`, { username: `${uniqueName('o')}@corp.example` }),
      200,
    )
    expect(moved.data.email_verified).toBe(false)
    const both = { username: `${uniqueName('o')}@corp.example`, email_verified: true }
    expect(expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, both), 200).data.email_verified).toBe(
      true,
    )
    const desk = await keyWithScopes('issuers.users:write')
    const proved = { ...body, username: `${uniqueName('new')}@corp.example`, email_verified: true }
    expectRefused(await desk.post(`${fixture.I}/users`, proved), 'issuers.users.verifiers:write')
    expect(expectStatus(await fixture.owner.post(`${fixture.I}/users`, proved), 201).data.email_verified).toBe(true)
    for (const email_verified of [null, 'true', 1])
      expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, { email_verified }), 400)
  })
})

describe('managing a credential requires the platform scopes of the user', () => {
  test('for changing and deleting a verifier', async () => {
    const desk = await keyWithScopes('issuers.users.verifiers:manage')
    const [verifier] = expectStatus(await fixture.owner.get(`${fixture.I}/users/${strong}/verifiers`), 200).data
    const path = `${fixture.I}/users/${strong}/verifiers/${verifier.id}`
    expectRefused(await desk.delete(path), 'issuers.clients:manage')
    expectRefused(await desk.patch(path, { must_change: false }), 'issuers.clients:manage')
    expectStatus(await fixture.owner.get(path), 200)
  })

  test('for completing an enrollment that another caller started', async () => {
    const body = { type: 'totp_enrollment', name: null, issuer_name: 'Corp' }
    const { enrollment_id } = expectStatus(
      await fixture.owner.post(`${fixture.I}/users/${strong}/verifiers`, body),
      201,
    ).data
    const desk = await keyWithScopes('issuers.users.verifiers:write')
    const response = await desk.post(`${fixture.I}/users/${strong}/verifiers/complete-enrollment`, {
      enrollment_id,
      code: '000000',
    })
    expectRefused(response, 'issuers.clients:manage')
  })
})

describe('the platform scopes of a user include those of its memberships', () => {
  test('of the member, of the organization and of a group', async () => {
    const desk = await keyWithScopes('issuers.users:write', 'issuers.users.verifiers:write')
    for (const source of ['member', 'organization', 'group']) {
      const id = await createUser(fixture, `${uniqueName('member')}@corp.example`)
      const org = { default_member_scopes: source === 'organization' ? ['issuers.agents:read'] : [] }
      const O = `${fixture.I}/organizations/${expectStatus(await fixture.owner.post(`${fixture.I}/organizations`, org), 201).data.id}`
      const group = expectStatus(
        await fixture.owner.post(`${O}/groups`, { name: 'Group', scopes: ['issuers.agents:read'] }),
        201,
      ).data.id
      const member = {
        member_id: id,
        scopes: source === 'member' ? ['issuers.agents:read'] : [],
        groups: source === 'group' ? [group] : [],
      }
      expectStatus(await fixture.owner.post(`${O}/members`, member), 201)
      expectRefused(
        await desk.patch(`${fixture.I}/users/${id}`, { username: `${uniqueName('x')}@evil.example` }),
        'issuers.agents:read',
      )
    }
  })
})

describe('domains', () => {
  test('PATCH of an account requires domains:write to add hosts and domains:delete to remove them', async () => {
    const [one, two] = [`${uniqueName('one')}.example.com`, `${uniqueName('two')}.example.com`]
    const present = expectStatus(await fixture.owner.get(`${fixture.A}/domains`), 200).data.map(
      ({ host }: AnyJson) => ({ host }),
    )
    const only = await keyWithScopes('accounts:write')
    expectRefused(await only.patch(fixture.A, { domains: [...present, { host: one }] }), 'domains:write')
    expectRefused(await only.patch(fixture.A, { domains: [] }), 'domains:delete')
    expectStatus(await only.patch(fixture.A, { domains: present }), 200)
    const adds = await keyWithScopes('accounts:write', 'domains:write')
    expectStatus(await adds.patch(fixture.A, { domains: [...present, { host: one }] }), 200)
    expectRefused(await adds.patch(fixture.A, { domains: [...present, { host: two }] }), 'domains:delete')
    const both = await keyWithScopes('accounts:write', 'domains:manage')
    expectStatus(await both.patch(fixture.A, { domains: [...present, { host: two }] }), 200)
    expectStatus(await both.patch(fixture.A, { domains: present }), 200)
  })

  test("every change of a domain changes the account's ETag, so that an old If-Match is 412", async () => {
    const { owner, A, accountId, issuerId } = await createTenant(app)
    const host = `${uniqueName('d')}.example.com`
    const verified = () =>
      app.gatehouse.database.prisma.domain.updateMany({
        where: { accountId, host },
        data: { verified: true, verifiedAt: 1 },
      })
    const steps: [string, () => Promise<unknown>][] = [
      ['added', () => owner.post(`${A}/domains`, { host })],
      ['assigned', () => verified().then(() => owner.post(`${A}/domains/${host}/assign`, { issuer_id: issuerId }))],
      ['unassigned', () => owner.post(`${A}/domains/${host}/unassign`)],
      ['assigned again', () => owner.post(`${A}/domains/${host}/assign`, { issuer_id: issuerId })],
      ['unassigned with its issuer', () => owner.delete(`${A}/issuers/${issuerId}`)],
      ['removed', () => owner.delete(`${A}/domains/${host}`)],
    ]
    for (const [step, change] of steps) {
      const etag = (await owner.get(A)).headers.get('etag')!
      await change()
      const stale = await owner.patch(A, { domains: [] }, { 'If-Match': etag })
      expect({ step, status: stale.status }).toEqual({ step, status: 412 })
    }
  })

  test('assigning a domain to an issuer requires the platform scopes of its users, because email links use the domain', async () => {
    const host = `${uniqueName('mail')}.example.com`
    expectStatus(await fixture.owner.post(`${fixture.A}/domains`, { host }), 201)
    await app.gatehouse.database.prisma.domain.updateMany({ where: { host }, data: { verified: true, verifiedAt: 1 } })
    const weak = await keyWithScopes('domains:manage')
    expectRefused(
      await weak.post(`${fixture.A}/domains/${host}/assign`, { issuer_id: fixture.issuerId }),
      'issuers.clients:manage',
    )
    expectStatus(await fixture.owner.post(`${fixture.A}/domains/${host}/assign`, { issuer_id: fixture.issuerId }), 200)
    expectStatus(await fixture.owner.delete(`${fixture.A}/domains/${host}`), 204)
  })
})

describe('webhooks', () => {
  test('creating a webhook, changing its url, adding event types and enabling it require events:read', async () => {
    const weak = await keyWithScopes('webhooks:manage')
    const body = { url: 'https://hooks.example.com/a', event_types: ['note.created'] }
    expectRefused(await weak.post(`${fixture.A}/webhooks`, body), 'events:read')
    const { id } = expectStatus(
      await (await keyWithScopes('webhooks:write', 'events:read')).post(`${fixture.A}/webhooks`, body),
      201,
    ).data
    const path = `${fixture.A}/webhooks/${id}`
    for (const change of [
      { url: 'https://evil.example/hook' },
      { url: 'https://hooks.example.com/b' },
      { event_types: ['note.created', 'user.created'] },
      { event_types: null },
    ])
      expectRefused(await weak.patch(path, change), 'events:read')
    for (const change of [
      { name: 'Notes' },
      { event_types: ['note.created'] },
      { url: body.url },
      { status: 'disabled' },
    ])
      expectStatus(await weak.patch(path, change), 200)
    expectRefused(await weak.patch(path, { status: 'active' }), 'events:read')
    expectStatus(await fixture.owner.delete(path), 204)
  })
})

describe('keys and the authentication method of a client or agent are credentials', () => {
  const LACKED = 'issuers.clients:manage'
  const uri = 'https://evil.example/jwks.json'
  const privateKeyJwt = (keys: object) => ({ openid: { token_endpoint_auth_method: 'private_key_jwt', ...keys } })
  const jwks = { keys: [createClientKey().jwk] }

  beforeAll(async () => {
    const settings = { security: { openid_policy: { client_assertions: { enabled: true } } } }
    expectStatus(await fixture.owner.patch(fixture.I, { settings }), 200)
  })

  test('changing them requires the platform scopes of the client, as rotating its secret does', async () => {
    const scopes = [LACKED]
    const clients = `${fixture.I}/clients`
    const create = async (settings: object) =>
      `${clients}/${expectStatus(await fixture.owner.post(clients, confidentialClient({ settings })), 201).data.id}`
    const withSecret = await create({ scopes })
    const withKeys = await create({ scopes, ...privateKeyJwt({ jwks }) })
    const withUri = await create({ scopes, ...privateKeyJwt({ jwks_uri: 'https://keys.example.com/jwks.json' }) })
    const weak = await keyWithScopes('issuers.clients:write')
    const attacks: [string, object][] = [
      [withSecret, privateKeyJwt({ jwks })],
      [withSecret, privateKeyJwt({ jwks_uri: uri })],
      [withSecret, { openid: { token_endpoint_auth_method: 'client_secret_post' } }],
      [withKeys, { openid: { jwks: { keys: [createClientKey().jwk] } } }],
      [withKeys, { openid: { jwks: null, jwks_uri: uri } }],
      [withKeys, { openid: { token_endpoint_auth_method: null, jwks: null } }],
      [withUri, { openid: { jwks_uri: uri } }],
      [withUri, { openid: { jwks_uri: null, jwks } }],
    ]
    for (const [path, settings] of attacks) expectRefused(await weak.patch(path, { settings }), LACKED)
    for (const path of [withSecret, withKeys, withUri])
      expectStatus(await weak.patch(path, { description: 'A new description' }), 200)
    // The same settings change nothing.
    expectStatus(await weak.patch(withKeys, { settings: privateKeyJwt({ jwks }) }), 200)
    const strongKey = await keyWithScopes('issuers.clients:manage')
    for (const [path, settings] of attacks.slice(0, 1)) expectStatus(await strongKey.patch(path, { settings }), 200)
  })

  test('creating a client with keys requires the scopes of the client', async () => {
    const weak = await keyWithScopes('issuers.clients:write')
    const body = confidentialClient({ settings: { scopes: [LACKED], ...privateKeyJwt({ jwks_uri: uri }) } })
    expectRefused(await weak.post(`${fixture.I}/clients`, body), LACKED)
  })

  test('adding public keys to an agent requires the platform scopes of the agent', async () => {
    const body = { name: 'A', scopes: [LACKED] }
    const agent = expectStatus(await fixture.owner.post(`${fixture.I}/agents`, body), 201).data.id
    const weak = await keyWithScopes('issuers.agents.verifiers:manage')
    const path = `${fixture.I}/agents/${agent}/verifiers`
    for (const keys of [{ jwks }, { jwks_uri: uri }]) {
      expectRefused(await weak.post(path, { type: 'public_key', name: null, ...keys }), LACKED)
      expectStatus(await fixture.owner.post(path, { type: 'public_key', name: null, ...keys }), 201)
    }
  })
})

describe('sign-in settings that apply to all users require the platform scopes of all users', () => {
  const upstream = { issuer_url: 'https://evil.example', client_id: 'c', client_secret: 's' }
  const method = (settings: object) => ({ name: uniqueName('IdP'), method: 'oidc', first_factor_only: true, settings })

  test('for a federated method that links by email, and for another provider of an existing method', async () => {
    const weak = await keyWithScopes('issuers.auth_methods:manage')
    expectRefused(await weak.post(`${fixture.I}/auth-methods`, method(upstream)), 'issuers.clients:manage')
    const unlinked = expectStatus(
      await weak.post(`${fixture.I}/auth-methods`, method({ ...upstream, link_by_email: false })),
      201,
    ).data
    const path = `${fixture.I}/auth-methods/${unlinked.id}`
    expectRefused(await weak.patch(path, { settings: { link_by_email: true } }), 'issuers.clients:manage')
    expectRefused(
      await weak.patch(path, { settings: { client_id: 'other', client_secret: 's' } }),
      'issuers.clients:manage',
    )
    expectStatus(await weak.patch(path, { name: uniqueName('Name'), featured: true }), 200)
    expectStatus(await weak.delete(path), 204)
  })

  test('for disabling or deleting the method of a second factor', async () => {
    const weak = await keyWithScopes('issuers.auth_methods:manage')
    const { id } = expectStatus(await weak.post(`${fixture.I}/auth-methods`, { name: 'App', method: 'totp' }), 201).data
    expectRefused(
      await weak.patch(`${fixture.I}/auth-methods/${id}`, { enabled_login: false }),
      'issuers.clients:manage',
    )
    expectRefused(await weak.delete(`${fixture.I}/auth-methods/${id}`), 'issuers.clients:manage')
    expectStatus(await fixture.owner.delete(`${fixture.I}/auth-methods/${id}`), 204)
  })

  test.each([
    ['mfa_required', { security: { mfa_required: true } }, { security: { mfa_required: false } }],
    ['the security section', { security: { mfa_required: true } }, { security: null }],
    [
      'the password policy',
      { security: { password_policy: { min_length: 20 } } },
      { security: { password_policy: { min_length: 8 } } },
    ],
    ['signup.mode', { signup: { mode: 'invite_only' } }, { signup: { mode: 'open' } }],
    [
      'signup.allowed_domains',
      { signup: { mode: 'open', allowed_domains: ['corp.example'] } },
      { signup: { allowed_domains: ['corp.example', 'evil.example'] } },
    ],
  ])('for a weaker setting: %s', async (_, before, after) => {
    expectStatus(await fixture.owner.patch(fixture.I, { settings: { security: null, signup: null } }), 200)
    const weak = await keyWithScopes('issuers:manage')
    expectStatus(await weak.patch(fixture.I, { settings: before }), 200)
    expectRefused(await weak.patch(fixture.I, { settings: after }), 'issuers.clients:manage')
    expectStatus(await fixture.owner.patch(fixture.I, { settings: after }), 200)
  })

  test('which no caller lacks at an issuer whose users have no platform scopes', async () => {
    const other = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Other' }), 201).data.id
    const I = `${fixture.A}/issuers/${other}`
    const weak = await keyWithScopes('issuers:manage', 'issuers.auth_methods:manage')
    expectStatus(await weak.post(`${I}/auth-methods`, method(upstream)), 201)
    expectStatus(await weak.patch(I, { settings: { security: { mfa_required: true } } }), 200)
    expectStatus(await weak.patch(I, { settings: { security: { mfa_required: false } } }), 200)
  })

  test('and at the console issuer they require svc:all', async () => {
    const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const A = `/v1/accounts/${system.id}`
    const [{ id }] = expectStatus(await app.operator.get(`${A}/issuers`), 200).data
    const scopes = ['issuers:manage', 'issuers.auth_methods:manage']
    const created = expectStatus(
      await app.operator.post(`${A}/api-keys`, { name: 'weak', restrictions: { scopes } }),
      201,
    ).data
    const weak = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
    expectStatus(
      await app.operator.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: true } } }),
      200,
    )
    expectRefused(
      await weak.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: false } } }),
      'svc:all',
    )
    expectRefused(await weak.post(`${A}/issuers/${id}/auth-methods`, method(upstream)), 'svc:all')
    expectStatus(
      await app.operator.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: false } } }),
      200,
    )
  })
})

describe('reactivating a principal or adding a redirect URI requires the platform scopes', () => {
  const LACKED = 'issuers.clients:manage'

  test('of a suspended user and of a user who waits for approval', async () => {
    const id = await strongUser()
    expectStatus(await fixture.owner.patch(`${fixture.I}/users/${id}`, { status: 'suspended' }), 200)
    expectRefused(
      await (await keyWithScopes('issuers.users:manage')).patch(`${fixture.I}/users/${id}`, { status: 'active' }),
      LACKED,
    )
    const body = { username_type: 'unique', username: uniqueName('w'), requires_approval: true, scopes: [LACKED] }
    const waiting = expectStatus(await fixture.owner.post(`${fixture.I}/users`, body), 201).data.id
    const desk = await keyWithScopes('issuers.approvals:manage')
    expectRefused(await desk.patch(`${fixture.I}/approvals/${waiting}`, { action: 'approve' }), LACKED)
    expectStatus(await desk.patch(`${fixture.I}/approvals/${waiting}`, { action: 'reject', reason: 'No.' }), 200)
  })

  test('of a suspended session', async () => {
    const id = await createSession(app, fixture, strong)
    const weak = await keyWithScopes('issuers.sessions:manage')
    expectStatus(await weak.post(`${fixture.I}/sessions/${id}/suspend`, { reason: 'risk_review' }), 200)
    expectRefused(await weak.post(`${fixture.I}/sessions/${id}/reactivate`), LACKED)
    expectStatus(await fixture.owner.post(`${fixture.I}/sessions/${id}/reactivate`), 200)
  })

  test('of a suspended agent, a disabled client and a suspended organization', async () => {
    const agent = expectStatus(await fixture.owner.post(`${fixture.I}/agents`, { name: 'A', scopes: [LACKED] }), 201)
      .data.id
    const settings = {
      scopes: [LACKED],
      openid: { redirect_uris: ['https://app.example.com/cb'], post_logout_redirect_uris: [] },
    }
    const client = expectStatus(await fixture.owner.post(`${fixture.I}/clients`, confidentialClient({ settings })), 201)
      .data.id
    const org = expectStatus(await fixture.owner.post(`${fixture.I}/organizations`, { name: 'O' }), 201).data.id
    const key = { type: 'api_key', name: 'k', restrictions: { scopes: [LACKED] } }
    expectStatus(await fixture.owner.post(`${fixture.I}/organizations/${org}/api-keys`, key), 201)
    for (const [path, scope, stop] of [
      [`${fixture.I}/agents/${agent}`, 'issuers.agents:manage', { status: 'suspended', status_reason: 'Why' }],
      [`${fixture.I}/clients/${client}`, 'issuers.clients:write', { status: 'disabled' }],
      [`${fixture.I}/organizations/${org}`, 'issuers.organizations:manage', { status: 'suspended' }],
    ] as const) {
      const weak = await keyWithScopes(scope)
      expectStatus(await weak.patch(path, stop), 200)
      expectRefused(await weak.patch(path, { status: 'active' }), LACKED)
      expectStatus(await fixture.owner.patch(path, { status: 'active' }), 200)
    }
    const weak = await keyWithScopes('issuers.clients:write')
    const openid = { redirect_uris: ['https://app.example.com/cb', 'https://evil.example/cb'] }
    expectRefused(await weak.patch(`${fixture.I}/clients/${client}`, { settings: { openid } }), LACKED)
    expectStatus(await weak.patch(`${fixture.I}/clients/${client}`, { description: 'A new description' }), 200)
  })
})

test('an API key of an administrator organization cannot grant scopes on the account', async () => {
  const { owner, accountId } = await createAccount(app)
  const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [{ id: issuerId }] = expectStatus(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const { admin_org_id } = expectStatus(await owner.get(`/v1/accounts/${accountId}`), 200).data
  const O = `/v1/accounts/${system.id}/issuers/${issuerId}/organizations/${admin_org_id}`
  const scopes = ['issuers.organizations.members:write', 'issuers.organizations.groups:write']
  const body = { type: 'api_key', name: 'bound', restrictions: { scopes } }
  const created = expectStatus(await app.operator.post(`${O}/api-keys`, body), 201).data
  const bound = createApiClient(app.baseUrl, { id: created.id, secret: created.secret_plain })
  const consoleTenant = { owner: app.operator, I: `/v1/accounts/${system.id}/issuers/${issuerId}` }
  const userId = await createUser(consoleTenant as TenantFixture, `${uniqueName('me')}@example.com`)
  const given = { member_id: userId, scopes: ['issuers.organizations.members:write'] }
  expectRefused(await bound.post(`${O}/members`, given), 'issuers.organizations.members:write')
  expectRefused(await bound.post(`${O}/groups`, { name: 'G', scopes }), 'issuers.organizations.members:write')
  expectStatus(await bound.post(`${O}/members`, { member_id: userId }), 201)
  expectStatus(await app.operator.post(`${O}/groups`, { name: 'G', scopes }), 201)
})
