/**
 * What an operation asks for besides its own scope, so that its caller has no more reach afterwards (decisions D30,
 * security rule 28). That no mutation was forgotten is held by test/stories/attack.ts.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { confidentialClient, fresh, populate, type World } from '../contract/world.js'
import { keyWith, makeAccount, makeTenant, makeUser, must } from '../setup/actors.js'
import type { Answer, Api, Loose } from '../setup/api.js'
import { apiAs } from '../setup/api.js'
import { makeSession } from '../setup/sessions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

let app: TestApp
let world: World
/** A user of the issuer who may do more than any caller here. */
let strong: string

beforeAll(async () => {
  app = await startApp()
  world = await populate(await makeTenant(app))
  strong = await strongUser()
})
afterAll(() => app.close())

async function strongUser(): Promise<string> {
  const id = await makeUser(world, `${fresh('strong')}@corp.example`)
  must(await world.owner.patch(`${world.I}/users/${id}`, { scopes: ['issuers.clients:manage'] }), 200)
  return id
}

const withScopes = (...scopes: string[]): Promise<Api> => keyWith(world, { scopes })

/** 403 with the challenge of RFC 6750 that names the scope. */
function expectRefused(answer: Answer<Loose>, scope: string): void {
  expect({ status: answer.status, error: answer.body.error, text: answer.text }).toMatchObject({
    status: 403,
    error: 'insufficient_scope',
  })
  expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
}

describe('owner_user_id asks for svc:all on the account without restrictions', () => {
  const ownerOf = async () => must(await world.owner.get(world.A), 200).data.owner_user_id

  test('accounts:write and accounts:manage are not enough, nor is svc:all from some addresses', async () => {
    const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const [{ id: consoleIssuer }] = must(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
    const place = { owner: app.operator, I: `/v1/accounts/${system.id}/issuers/${consoleIssuer}` }
    const person = await makeUser(place as World, `${fresh('owner')}@example.com`)
    const before = await ownerOf()
    const restrictions = [
      { scopes: ['accounts:write'] },
      { scopes: ['accounts:manage'] },
      { ip_allowlist: ['127.0.0.0/8', '::1'] },
    ]
    for (const one of restrictions) {
      const api = await keyWith(world, one)
      expectRefused(await api.patch(world.A, { owner_user_id: person }), 'svc:all')
      must(await api.patch(world.A, { name: fresh('Name') }), 200)
    }
    expect(await ownerOf()).toBe(before)
    must(await world.owner.patch(world.A, { owner_user_id: person }), 200)
    expect(await ownerOf()).toBe(person)
    // The same owner again changes nothing, so it asks for nothing.
    must(await (await withScopes('accounts:write')).patch(world.A, { owner_user_id: person }), 200)
  })
})

describe('a username, a mail address and email_verified are credentials', () => {
  const changes: [string, object][] = [
    ['username', { username: 'attacker@evil.example' }],
    ['username_type', { username_type: 'unique' }],
    [
      'the mail address',
      { username_type: 'unique', username: fresh('name'), profile: { email: 'attacker@evil.example' } },
    ],
    ['email_verified', { email_verified: true }],
  ]
  test.each(changes)('%s of a stronger user: the caller lacks its authority', async (_, body) => {
    const desk = await withScopes('issuers.users:manage', 'issuers.users.verifiers:manage')
    expectRefused(await desk.patch(`${world.I}/users/${strong}`, body), 'issuers.clients:manage')
    must(await desk.patch(`${world.I}/users/${strong}`, { profile: { name: 'A new name' } }), 200)
    const helper = await withScopes('issuers.users:write', 'issuers.users.verifiers:write', 'issuers.clients:manage')
    must(
      await helper.patch(`${world.I}/users/${await strongUser()}`, {
        ...body,
        ...('username' in body && { username: `${fresh('u')}@corp.example` }),
      }),
      200,
    )
  })

  test.each(changes)('%s of a user who can sign in asks for issuers.users.verifiers:write', async (_, body) => {
    const id = await makeUser(world, `${fresh('plain')}@corp.example`)
    const desk = await withScopes('issuers.users:write')
    expectRefused(await desk.patch(`${world.I}/users/${id}`, body), 'issuers.users.verifiers:write')
    must(await desk.patch(`${world.I}/users/${id}`, { metadata: { desk: 'yes' } }), 200)
  })

  test('the username of a user without a verifier asks for issuers.users:write alone', async () => {
    const desk = await withScopes('issuers.users:write')
    const body = { username_type: 'email', username: `${fresh('new')}@corp.example` }
    const { id } = must(await desk.post(`${world.I}/users`, body), 201).data
    must(await desk.patch(`${world.I}/users/${id}`, { username: `${fresh('other')}@corp.example` }), 200)
  })

  test('email_verified can be written by PATCH, and true at creation', async () => {
    const body = { username_type: 'email', username: `${fresh('new')}@corp.example` }
    const { id, email_verified } = must(await world.owner.post(`${world.I}/users`, body), 201).data
    expect(email_verified).toBe(false)
    const changed = must(await world.owner.patch(`${world.I}/users/${id}`, { email_verified: true }), 200).data
    expect(changed.email_verified).toBe(true)
    const moved = must(
      await world.owner.patch(`${world.I}/users/${id}`, { username: `${fresh('o')}@corp.example` }),
      200,
    )
    expect(moved.data.email_verified).toBe(false)
    const both = { username: `${fresh('o')}@corp.example`, email_verified: true }
    expect(must(await world.owner.patch(`${world.I}/users/${id}`, both), 200).data.email_verified).toBe(true)
    const desk = await withScopes('issuers.users:write')
    const proved = { ...body, username: `${fresh('new')}@corp.example`, email_verified: true }
    expectRefused(await desk.post(`${world.I}/users`, proved), 'issuers.users.verifiers:write')
    expect(must(await world.owner.post(`${world.I}/users`, proved), 201).data.email_verified).toBe(true)
    for (const email_verified of [null, 'true', 1])
      must(await world.owner.patch(`${world.I}/users/${id}`, { email_verified }), 400)
  })
})

describe('the removal of a credential asks for the authority of the user', () => {
  test('a second factor of a stronger user', async () => {
    const desk = await withScopes('issuers.users.verifiers:manage')
    const [verifier] = must(await world.owner.get(`${world.I}/users/${strong}/verifiers`), 200).data
    const path = `${world.I}/users/${strong}/verifiers/${verifier.id}`
    expectRefused(await desk.delete(path), 'issuers.clients:manage')
    expectRefused(await desk.patch(path, { must_change: false }), 'issuers.clients:manage')
    must(await world.owner.get(path), 200)
  })

  test('an enrolment that others have begun is completed by nobody weaker than the user', async () => {
    const body = { type: 'totp_enrollment', name: null, issuer_name: 'Corp' }
    const { enrollment_id } = must(await world.owner.post(`${world.I}/users/${strong}/verifiers`, body), 201).data
    const desk = await withScopes('issuers.users.verifiers:write')
    const answer = await desk.post(`${world.I}/users/${strong}/verifiers/complete-enrollment`, {
      enrollment_id,
      code: '000000',
    })
    expectRefused(answer, 'issuers.clients:manage')
  })
})

describe('a membership gives authority as well', () => {
  test('of a member with a platform scope, by itself, its organization or its group', async () => {
    const desk = await withScopes('issuers.users:write', 'issuers.users.verifiers:write')
    for (const way of ['member', 'organization', 'group']) {
      const id = await makeUser(world, `${fresh('member')}@corp.example`)
      const org = { default_member_scopes: way === 'organization' ? ['issuers.agents:read'] : [] }
      const O = `${world.I}/organizations/${must(await world.owner.post(`${world.I}/organizations`, org), 201).data.id}`
      const group = must(await world.owner.post(`${O}/groups`, { name: 'Group', scopes: ['issuers.agents:read'] }), 201)
        .data.id
      const member = {
        member_id: id,
        scopes: way === 'member' ? ['issuers.agents:read'] : [],
        groups: way === 'group' ? [group] : [],
      }
      must(await world.owner.post(`${O}/members`, member), 201)
      expectRefused(
        await desk.patch(`${world.I}/users/${id}`, { username: `${fresh('x')}@evil.example` }),
        'issuers.agents:read',
      )
    }
  })
})

describe('domains', () => {
  test('PATCH of an account asks for domains:write to add hosts and domains:delete to remove them', async () => {
    const [one, two] = [`${fresh('one')}.example.com`, `${fresh('two')}.example.com`]
    const present = must(await world.owner.get(`${world.A}/domains`), 200).data.map(({ host }: Loose) => ({ host }))
    const only = await withScopes('accounts:write')
    expectRefused(await only.patch(world.A, { domains: [...present, { host: one }] }), 'domains:write')
    expectRefused(await only.patch(world.A, { domains: [] }), 'domains:delete')
    must(await only.patch(world.A, { domains: present }), 200)
    const adds = await withScopes('accounts:write', 'domains:write')
    must(await adds.patch(world.A, { domains: [...present, { host: one }] }), 200)
    expectRefused(await adds.patch(world.A, { domains: [...present, { host: two }] }), 'domains:delete')
    const both = await withScopes('accounts:write', 'domains:manage')
    must(await both.patch(world.A, { domains: [...present, { host: two }] }), 200)
    must(await both.patch(world.A, { domains: present }), 200)
  })

  test("every change of a domain raises the account's updated_at, so a stale If-Match is 412", async () => {
    const { owner, A, accountId, issuerId } = await makeTenant(app)
    const host = `${fresh('d')}.example.com`
    const verified = () =>
      app.gatehouse.tools.prisma.domain.updateMany({
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

  test('links in mails lead to the domain of an issuer, so assigning one asks for the authority of its users', async () => {
    const host = `${fresh('mail')}.example.com`
    must(await world.owner.post(`${world.A}/domains`, { host }), 201)
    await app.gatehouse.tools.prisma.domain.updateMany({ where: { host }, data: { verified: true, verifiedAt: 1 } })
    const weak = await withScopes('domains:manage')
    expectRefused(
      await weak.post(`${world.A}/domains/${host}/assign`, { issuer_id: world.issuerId }),
      'issuers.clients:manage',
    )
    must(await world.owner.post(`${world.A}/domains/${host}/assign`, { issuer_id: world.issuerId }), 200)
    must(await world.owner.delete(`${world.A}/domains/${host}`), 204)
  })
})

describe('webhooks read events', () => {
  test('creating one, another url, more event types and enabling it ask for events:read', async () => {
    const weak = await withScopes('webhooks:manage')
    const body = { url: 'https://hooks.example.com/a', event_types: ['note.created'] }
    expectRefused(await weak.post(`${world.A}/webhooks`, body), 'events:read')
    const { id } = must(
      await (await withScopes('webhooks:write', 'events:read')).post(`${world.A}/webhooks`, body),
      201,
    ).data
    const path = `${world.A}/webhooks/${id}`
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
      must(await weak.patch(path, change), 200)
    expectRefused(await weak.patch(path, { status: 'active' }), 'events:read')
    must(await world.owner.delete(path), 204)
  })
})

describe('settings that everybody signs in by ask for the authority of all users', () => {
  const upstream = { issuer_url: 'https://evil.example', client_id: 'c', client_secret: 's' }
  const method = (settings: object) => ({ name: fresh('IdP'), method: 'oidc', first_factor_only: true, settings })

  test('a federated method that may link by address, and another provider behind one that is there', async () => {
    const weak = await withScopes('issuers.auth_methods:manage')
    expectRefused(await weak.post(`${world.I}/auth-methods`, method(upstream)), 'issuers.clients:manage')
    const apart = must(
      await weak.post(`${world.I}/auth-methods`, method({ ...upstream, link_by_email: false })),
      201,
    ).data
    const path = `${world.I}/auth-methods/${apart.id}`
    expectRefused(await weak.patch(path, { settings: { link_by_email: true } }), 'issuers.clients:manage')
    expectRefused(
      await weak.patch(path, { settings: { client_id: 'other', client_secret: 's' } }),
      'issuers.clients:manage',
    )
    must(await weak.patch(path, { name: fresh('Name'), featured: true }), 200)
    must(await weak.delete(path), 204)
  })

  test('the end of a second factor: its method is disabled or deleted', async () => {
    const weak = await withScopes('issuers.auth_methods:manage')
    const { id } = must(await weak.post(`${world.I}/auth-methods`, { name: 'App', method: 'totp' }), 201).data
    expectRefused(await weak.patch(`${world.I}/auth-methods/${id}`, { enabled_login: false }), 'issuers.clients:manage')
    expectRefused(await weak.delete(`${world.I}/auth-methods/${id}`), 'issuers.clients:manage')
    must(await world.owner.delete(`${world.I}/auth-methods/${id}`), 204)
  })

  test.each([
    ['mfa_required', { security: { mfa_required: true } }, { security: { mfa_required: false } }],
    ['the security section', { security: { mfa_required: true } }, { security: null }],
    [
      'the password policy',
      { security: { password_policy: { min_length: 20 } } },
      { security: { password_policy: { min_length: 8 } } },
    ],
    ['who may sign up', { signup: { mode: 'invite_only' } }, { signup: { mode: 'open' } }],
    [
      'from where',
      { signup: { mode: 'open', allowed_domains: ['corp.example'] } },
      { signup: { allowed_domains: ['corp.example', 'evil.example'] } },
    ],
  ])('a weaker setting: %s', async (_, before, after) => {
    must(await world.owner.patch(world.I, { settings: { security: null, signup: null } }), 200)
    const weak = await withScopes('issuers:manage')
    must(await weak.patch(world.I, { settings: before }), 200)
    expectRefused(await weak.patch(world.I, { settings: after }), 'issuers.clients:manage')
    must(await world.owner.patch(world.I, { settings: after }), 200)
  })

  test('where no user holds a platform scope that the caller lacks, it is free to change them', async () => {
    const other = must(await world.owner.post(`${world.A}/issuers`, { name: 'Other' }), 201).data.id
    const I = `${world.A}/issuers/${other}`
    const weak = await withScopes('issuers:manage', 'issuers.auth_methods:manage')
    must(await weak.post(`${I}/auth-methods`, method(upstream)), 201)
    must(await weak.patch(I, { settings: { security: { mfa_required: true } } }), 200)
    must(await weak.patch(I, { settings: { security: { mfa_required: false } } }), 200)
  })

  test('at the console issuer they ask for svc:all', async () => {
    const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const A = `/v1/accounts/${system.id}`
    const [{ id }] = must(await app.operator.get(`${A}/issuers`), 200).data
    const scopes = ['issuers:manage', 'issuers.auth_methods:manage']
    const made = must(await app.operator.post(`${A}/api-keys`, { name: 'weak', restrictions: { scopes } }), 201).data
    const weak = apiAs(app.baseUrl, { id: made.id, secret: made.secret_plain })
    must(await app.operator.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: true } } }), 200)
    expectRefused(
      await weak.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: false } } }),
      'svc:all',
    )
    expectRefused(await weak.post(`${A}/issuers/${id}/auth-methods`, method(upstream)), 'svc:all')
    must(await app.operator.patch(`${A}/issuers/${id}`, { settings: { security: { mfa_required: false } } }), 200)
  })
})

describe('what lets a stronger principal act again, or its tokens go elsewhere, asks for its authority', () => {
  const LACKED = 'issuers.clients:manage'

  test('a user who was suspended, and one who waits for approval', async () => {
    const id = await strongUser()
    must(await world.owner.patch(`${world.I}/users/${id}`, { status: 'suspended' }), 200)
    expectRefused(
      await (await withScopes('issuers.users:manage')).patch(`${world.I}/users/${id}`, { status: 'active' }),
      LACKED,
    )
    const body = { username_type: 'unique', username: fresh('w'), requires_approval: true, scopes: [LACKED] }
    const waiting = must(await world.owner.post(`${world.I}/users`, body), 201).data.id
    const desk = await withScopes('issuers.approvals:manage')
    expectRefused(await desk.patch(`${world.I}/approvals/${waiting}`, { action: 'approve' }), LACKED)
    must(await desk.patch(`${world.I}/approvals/${waiting}`, { action: 'reject', reason: 'No.' }), 200)
  })

  test('a session that was suspended', async () => {
    const id = await makeSession(app, world, strong)
    const weak = await withScopes('issuers.sessions:manage')
    must(await weak.post(`${world.I}/sessions/${id}/suspend`, { reason: 'risk_review' }), 200)
    expectRefused(await weak.post(`${world.I}/sessions/${id}/reactivate`), LACKED)
    must(await world.owner.post(`${world.I}/sessions/${id}/reactivate`), 200)
  })

  test('an agent that was suspended, a client that was disabled, an organization that was suspended', async () => {
    const agent = must(await world.owner.post(`${world.I}/agents`, { name: 'A', scopes: [LACKED] }), 201).data.id
    const settings = {
      scopes: [LACKED],
      openid: { redirect_uris: ['https://app.example.com/cb'], post_logout_redirect_uris: [] },
    }
    const client = must(await world.owner.post(`${world.I}/clients`, confidentialClient({ settings })), 201).data.id
    const org = must(await world.owner.post(`${world.I}/organizations`, { name: 'O' }), 201).data.id
    const key = { type: 'api_key', name: 'k', restrictions: { scopes: [LACKED] } }
    must(await world.owner.post(`${world.I}/organizations/${org}/api-keys`, key), 201)
    for (const [path, scope, stop] of [
      [`${world.I}/agents/${agent}`, 'issuers.agents:manage', { status: 'suspended', status_reason: 'Why' }],
      [`${world.I}/clients/${client}`, 'issuers.clients:write', { status: 'disabled' }],
      [`${world.I}/organizations/${org}`, 'issuers.organizations:manage', { status: 'suspended' }],
    ] as const) {
      const weak = await withScopes(scope)
      must(await weak.patch(path, stop), 200)
      expectRefused(await weak.patch(path, { status: 'active' }), LACKED)
      must(await world.owner.patch(path, { status: 'active' }), 200)
    }
    const weak = await withScopes('issuers.clients:write')
    const openid = { redirect_uris: ['https://app.example.com/cb', 'https://evil.example/cb'] }
    expectRefused(await weak.patch(`${world.I}/clients/${client}`, { settings: { openid } }), LACKED)
    must(await weak.patch(`${world.I}/clients/${client}`, { description: 'only words' }), 200)
  })
})

test('who is bound to an administrator organization gives nobody authority on its account', async () => {
  const { owner, accountId } = await makeAccount(app)
  const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
  const [{ id: issuerId }] = must(await app.operator.get(`/v1/accounts/${system.id}/issuers`), 200).data
  const { admin_org_id } = must(await owner.get(`/v1/accounts/${accountId}`), 200).data
  const O = `/v1/accounts/${system.id}/issuers/${issuerId}/organizations/${admin_org_id}`
  const scopes = ['issuers.organizations.members:write', 'issuers.organizations.groups:write']
  const body = { type: 'api_key', name: 'bound', restrictions: { scopes } }
  const made = must(await app.operator.post(`${O}/api-keys`, body), 201).data
  const bound = apiAs(app.baseUrl, { id: made.id, secret: made.secret_plain })
  const place = { owner: app.operator, I: `/v1/accounts/${system.id}/issuers/${issuerId}` }
  const person = await makeUser(place as World, `${fresh('me')}@example.com`)
  const given = { member_id: person, scopes: ['issuers.organizations.members:write'] }
  expectRefused(await bound.post(`${O}/members`, given), 'issuers.organizations.members:write')
  expectRefused(await bound.post(`${O}/groups`, { name: 'G', scopes }), 'issuers.organizations.members:write')
  must(await bound.post(`${O}/members`, { member_id: person }), 201)
  must(await app.operator.post(`${O}/groups`, { name: 'G', scopes }), 201)
})
