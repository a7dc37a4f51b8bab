/**
 * Sign-in with an OpenID provider: which users are accepted (docs/contract.md#authentication-methods,
 * docs/contract.md#outbound-requests, docs/contract.md#federated-identities).
 */

import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, TestBrowser } from '../browser.js'
import { jwtClaims, redirectParametersOf } from '../realm.js'
import {
  expectRefusal,
  isSignedIn,
  type Method,
  TAKEN_MESSAGE,
  UNKNOWN_MESSAGE,
  UNVERIFIED_MESSAGE,
  UpstreamFixture,
} from './upstream-fixture.js'
import { FakeOidc } from './upstream-providers.js'

let app: TestApp
let provider: FakeOidc
let fixture: UpstreamFixture
let method: Method

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' } })
  provider = await new FakeOidc().pending()
  fixture = await UpstreamFixture.create(app)
  method = await fixture.addOidcMethod(provider.url)
}, 60_000)
afterEach(() => {
  provider.overrides = {}
  provider.userClaims = { sub: 'up-1' }
})
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

let count = 0
/** The claims of a new user of the provider. */
const newUpstreamUser = (more: AnyJson = {}): AnyJson => ({ sub: `up-${++count}-${Math.random()}`, ...more })
const known = (email: string) => ({ email, email_verified: true })

describe('the redirect to the provider', () => {
  test('the sign-in page has a button with the name of the method, by its id', async () => {
    const { page } = await fixture.realm.openSignInPage(fixture.client)
    expect(page.html).toMatch(new RegExp(`<button[^>]*value="${method.id}"[^>]*>Continue with Upstream</button>`))
  })

  test('always with PKCE, state and nonce, which never repeat, and the redirect URI that the API shows', async () => {
    expect(method.callback_url).toBe(`${fixture.realm.url}/callback/${method.id}`)
    const seen = [await fixture.startUpstreamSignIn(method), await fixture.startUpstreamSignIn(method)].map(
      ({ address }) => address,
    )
    for (const { origin, pathname, searchParams } of seen) {
      expect(origin + pathname).toBe(`${provider.url}/authorize`)
      expect(Object.fromEntries(searchParams)).toEqual({
        response_type: 'code',
        client_id: 'us',
        redirect_uri: method.callback_url,
        scope: 'openid email profile',
        state: expect.stringMatching(/^[\w-]{10,64}\.[\w-]{43}$/),
        nonce: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge: expect.stringMatching(/^[\w-]{43}$/),
        code_challenge_method: 'S256',
      })
    }
    for (const name of ['state', 'nonce', 'code_challenge']) {
      const values = seen.map(({ searchParams }) => searchParams.get(name))
      expect(values[0]).not.toBe(values[1])
    }
  })

  test('the values that bind the response are encrypted in the database', async () => {
    const { address } = await fixture.startUpstreamSignIn(method)
    const [uid] = address.searchParams.get('state')!.split('.')
    const row = await app.gatehouse.database.prisma.loginState.findFirst({ where: { uid: uid! } })
    const text = JSON.stringify(row?.state)
    for (const name of ['state', 'nonce']) expect(text).not.toContain(address.searchParams.get(name))
    expect(text).toContain('"encryptedBindings"')
  })

  test.each<Record<string, string>>([{ prompt: 'login' }, { max_age: '3600' }])(
    'an entered email is passed along; with %j a new sign-in is required at the provider',
    async (parameters) => {
      const browser = new TestBrowser()
      const { page } = await fixture.realm.openSignInPage(fixture.client, parameters, browser)
      await browser.submit(page, { method: method.id, username: 'ada@example.com' })
      const params = provider.lastRequestTo('/authorize').params
      expect([params.get('login_hint'), params.get('prompt')]).toEqual(['ada@example.com', 'login'])
    },
  )
})

describe('users who return', () => {
  test('a new user gets an account, a linked identity and tokens, and is the same user next time', async () => {
    const names = {
      name: 'Ada L.',
      given_name: 'Ada',
      family_name: 'L.',
      picture: 'https://x.example/a.png',
      locale: 'en-GB',
    }
    provider.userClaims = newUpstreamUser({ ...known('new@example.com'), ...names, nickname: 'not kept' })
    const browser = new TestBrowser()
    const { page, verifier } = await fixture.realm.openSignInPage(
      fixture.client,
      { scope: 'openid email profile' },
      browser,
    )
    const first = redirectParametersOf(await browser.submit(page, { method: method.id }))
    const tokens = await fixture.realm.exchangeCode(fixture.client, {
      code: first['code']!,
      code_verifier: verifier,
      redirect_uri: 'https://app.example.com/callback',
    })
    const claims = jwtClaims(tokens.body.id_token)
    const user = (await fixture.listUsers()).find(({ username }) => username === 'new@example.com')!
    expect(user).toMatchObject({ usernameType: 'email', emailVerified: true, status: 'active', profile: names })
    expect(claims).toMatchObject({ sub: user['id'], acr: 'urn:svc:assurance:loa1' })
    expect(claims['amr'] ?? []).toEqual([])
    const { body } = await fixture.realm.userinfo(tokens.body.access_token)
    expect(body).toMatchObject({ email: 'new@example.com', email_verified: true, ...names })

    // The list contains the type and the times of the linked account, but not its subject
    // (docs/contract.md#credentials).
    const { I, owner } = fixture.realm.tenant
    const path = `${I}/users/${user['id']}/verifiers`
    const list = await owner.get(path)
    const [verifierRow] = expectStatus(list, 200).data
    expect(verifierRow).toMatchObject({ type: 'oauth', name: 'Upstream', last_used_at: expect.any(Number) })
    expect(list.text).not.toContain(provider.userClaims['sub'])

    app.clock.advance(5000)
    provider.userClaims = { sub: provider.userClaims['sub'], ...known('renamed@example.com') }
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect((await fixture.listUsers()).filter(({ username }) => /^(new|renamed)@/.test(username))).toHaveLength(1)
    const [again] = expectStatus(await owner.get(path), 200).data
    expect(again.last_used_at).toBeGreaterThan(verifierRow.last_used_at)

    const created = await fixture.listEvents('user.verifier.created')
    expect(created[0]).toMatchObject({ userId: user['id'], data: { type: 'oauth' } })
    const signedIn = await fixture.listEvents('user.verification.succeeded')
    expect(signedIn[0]).toMatchObject({ userId: user['id'], data: { method: 'oidc' } })
    expect((await fixture.listEvents('user.login.succeeded'))[0]).toMatchObject({
      userId: user['id'],
      data: { amr: [] },
    })
  })

  test('acr_values can request the method', async () => {
    provider.userClaims = newUpstreamUser(known('acr@example.com'))
    const browser = new TestBrowser()
    const { page, verifier } = await fixture.realm.openSignInPage(
      fixture.client,
      { acr_values: 'urn:svc:method:oidc' },
      browser,
    )
    const { code } = redirectParametersOf(await browser.submit(page, { method: method.id }))
    const redirect_uri = 'https://app.example.com/callback'
    const { body } = await fixture.realm.exchangeCode(fixture.client, {
      code: code!,
      code_verifier: verifier,
      redirect_uri,
    })
    expect(jwtClaims(body.id_token)['acr']).toBe('urn:svc:method:oidc')
  })

  test('an identity cannot be created by POST, and can be deleted: after that it belongs to no user', async () => {
    const strict = await UpstreamFixture.create(app)
    const only = await strict.addOidcMethod(provider.url)
    provider.userClaims = newUpstreamUser()
    expect(isSignedIn(await strict.signInThrough(only))).toBe(true)
    const [user] = await strict.listUsers()
    const { I, owner } = strict.realm.tenant
    const path = `${I}/users/${user!['id']}/verifiers`
    const body = { type: 'oauth', name: 'x' }
    const response = await owner.post(path, body)
    expect([response.status, response.body.details[0].field]).toEqual([400, 'type'])
    expectStatus(await owner.patch(`${I}/auth-methods/${only.id}`, { enabled_signup: false }), 200)
    expect(isSignedIn(await strict.signInThrough(only))).toBe(true)
    expect((await owner.delete(`${path}/${user!['verifiers'][0].id}`)).status).toBe(204)
    expect(await strict.listEvents('user.verifier.deleted')).toHaveLength(1)
    expectRefusal(await strict.signInThrough(only), UNKNOWN_MESSAGE)
  })

  test('an address that is verified on both sides links; the profile is unchanged', async () => {
    const userId = await fixture.realm.createUser('linked@example.com')
    await app.gatehouse.database.prisma.user.update({ where: { id: userId }, data: { emailVerified: true } })
    provider.userClaims = newUpstreamUser({ ...known('Linked@Example.com'), name: 'Another User' })
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    const user = (await fixture.listUsers()).find(({ id }) => id === userId)!
    expect([user['profile'], user['verifiers'].map(({ type }: AnyJson) => type).sort()]).toEqual([
      {},
      ['oauth', 'password'],
    ])
  })

  test('an address in the profile links as well, if it is verified and only one user has it', async () => {
    const { I, owner } = fixture.realm.tenant
    const make = async () => {
      const body = { username_type: 'unique', username: `p${++count}`, profile: { email: 'profile@example.com' } }
      return expectStatus(await owner.post(`${I}/users`, { ...body, email_verified: true }), 201).data.id
    }
    const first = await make()
    provider.userClaims = newUpstreamUser(known('profile@example.com'))
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect((await fixture.listUsers()).find(({ id }) => id === first)!['verifiers']).toHaveLength(1)
    await make()
    provider.userClaims = newUpstreamUser(known('profile@example.com'))
    expectRefusal(await fixture.signInThrough(method), TAKEN_MESSAGE)
  })

  test('an address that the ID token lacks is taken from userinfo, verified or not as it says there', async () => {
    for (const email_verified of [true, false]) {
      const email = `userinfo-${email_verified}@example.com`
      provider.userClaims = newUpstreamUser({ email, email_verified })
      provider.overrides = { claims: ({ email: _, ...claims }) => ({ ...claims, email_verified: true }) }
      expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
      const users = await fixture.listUsers()
      expect(users.some(({ username }) => username === email)).toBe(email_verified)
    }
  })

  test('an unverified address does not become a username', async () => {
    provider.userClaims = newUpstreamUser({ email: 'squatted@example.com', email_verified: false })
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    const user = (await fixture.listUsers()).at(-1)!
    expect(user).toMatchObject({
      usernameType: 'unique',
      username: expect.stringMatching(/^oidc-[0-9a-f]{20}$/),
      emailVerified: false,
      profile: { email: 'squatted@example.com' },
    })
    // The owner of the mailbox signs in later and gets another account.
    provider.userClaims = newUpstreamUser(known('squatted@example.com'))
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expect((await fixture.listUsers()).at(-1)).toMatchObject({ username: 'squatted@example.com', emailVerified: true })
  })

  test('ten concurrent first sign-ins of one person create one user', async () => {
    provider.userClaims = newUpstreamUser(known('crowd@example.com'))
    const pages = await Promise.all(Array.from({ length: 10 }, () => fixture.signInThrough(method)))
    expect(pages.map(isSignedIn)).toEqual(Array(10).fill(true))
    const created = (await fixture.listUsers()).filter(({ username }) => username === 'crowd@example.com')
    expect(created.map(({ verifiers }) => verifiers.length)).toEqual([1])
  })

  test('a user who needs approval waits; a suspended user sees so', async () => {
    const careful = await UpstreamFixture.create(app, { signup: { require_admin_approval: true } })
    const only = await careful.addOidcMethod(provider.url)
    provider.userClaims = newUpstreamUser(known('waiting@example.com'))
    expect(headingOf(await careful.signInThrough(only))).toBe('Waiting for approval')
    expectRefusal(await careful.signInThrough(only), /still waiting for approval/)
    const [user] = await careful.listUsers()
    expect(user).toMatchObject({ status: 'pending_approval', triggeredRule: 'require_admin_approval' })
    const { I, owner } = careful.realm.tenant
    expectStatus(await owner.patch(`${I}/approvals/${user!['id']}`, { action: 'approve' }), 200)
    expect(isSignedIn(await careful.signInThrough(only))).toBe(true)
    expectStatus(await owner.patch(`${I}/users/${user!['id']}`, { status: 'suspended' }), 200)
    expectRefusal(await careful.signInThrough(only), /cannot sign in at the moment/)
    expect((await careful.listEvents('user.login.failed')).map(({ data }) => data)).toEqual([
      { method: 'oidc', reason: 'suspended' },
      { method: 'oidc', reason: 'pending_approval' },
    ])
  })
})

describe('users without a verified address', () => {
  const person = (email: string, email_verified: unknown) => newUpstreamUser({ email, email_verified })

  test.each([
    ['not verified at the provider', 'a1@example.com', false, true],
    ['email_verified false as text', 'a2@example.com', 'false', true],
    ['email_verified as a number', 'a3@example.com', 1, true],
    ['without email_verified', 'a4@example.com', undefined, true],
  ])('an address %s never links', async (_, email, email_verified, here) => {
    const userId = await fixture.realm.createUser(email)
    await app.gatehouse.database.prisma.user.update({ where: { id: userId }, data: { emailVerified: here } })
    provider.userClaims = person(email, email_verified)
    await fixture.signInThrough(method)
    expect((await fixture.listUsers()).find(({ id }) => id === userId)!['verifiers']).toHaveLength(1)
  })

  test('an account with an unverified address is not taken over by its creator (pre-hijacking)', async () => {
    const userId = await fixture.realm.createUser('prehijacked@example.com')
    provider.userClaims = person('prehijacked@example.com', true)
    expectRefusal(await fixture.signInThrough(method), TAKEN_MESSAGE)
    expect((await fixture.listUsers()).find(({ id }) => id === userId)!['verifiers']).toHaveLength(1)
  })

  test('two addresses that are equal only after Unicode normalization are not linked', async () => {
    const { I, owner } = fixture.realm.tenant
    // The first letter is U+FF41, which the comparison of usernames (NFKC) converts to "a".
    const body = { username_type: 'email', username: 'ａda.wide@example.com', email_verified: true }
    const { id } = expectStatus(await owner.post(`${I}/users`, body), 201).data
    provider.userClaims = person('ada.wide@example.com', true)
    expectRefusal(await fixture.signInThrough(method), TAKEN_MESSAGE)
    await fixture.realm.createUser('kelvin@example.com')
    await app.gatehouse.database.prisma.user.updateMany({
      where: { username: 'kelvin@example.com' },
      data: { emailVerified: true },
    })
    provider.userClaims = person('\u212Aelvin@example.com', true)
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    const users = await fixture.listUsers()
    expect(users.at(-1)).toMatchObject({ usernameType: 'unique', emailVerified: false })
    expect(users.find((user) => user['id'] === id)!['verifiers']).toHaveLength(0)
  })

  test('link_by_email: false never links', async () => {
    const userId = await fixture.realm.createUser('unlinked@example.com')
    await app.gatehouse.database.prisma.user.update({ where: { id: userId }, data: { emailVerified: true } })
    const own = await fixture.addOidcMethod(provider.url, {}, { link_by_email: false })
    provider.userClaims = person('unlinked@example.com', true)
    expectRefusal(await fixture.signInThrough(own), TAKEN_MESSAGE)
  })

  test('the same subject at another method is another user', async () => {
    const other = await fixture.addOidcMethod(provider.url, { enabled_signup: false })
    provider.userClaims = newUpstreamUser()
    expect(isSignedIn(await fixture.signInThrough(method))).toBe(true)
    expectRefusal(await fixture.signInThrough(other), UNKNOWN_MESSAGE)
  })

  test.each([
    ['the method has no sign-up', {}, { enabled_signup: false }, 'x@good.example', true, UNKNOWN_MESSAGE],
    ['sign-up by invitation only', { mode: 'invite_only' }, {}, 'x@good.example', true, UNKNOWN_MESSAGE],
    ['another domain', { allowed_domains: ['good.example'] }, {}, 'x@bad.example', true, /cannot be used here/],
    [
      'the right domain, not verified',
      { allowed_domains: ['good.example'] },
      {},
      'x@good.example',
      false,
      UNVERIFIED_MESSAGE,
    ],
    ['a blocked domain', { blocked_domains: ['bad.example'] }, {}, 'x@bad.example', true, /cannot be used here/],
    [
      'a blocked domain, not verified',
      { blocked_domains: ['bad.example'] },
      {},
      'x@bad.example',
      false,
      /cannot be used/,
    ],
    [
      'no address, and email verification is required',
      { require_email_verification: true },
      {},
      undefined,
      false,
      UNVERIFIED_MESSAGE,
    ],
  ])('no sign-up: %s', async (_, signup, more, email, email_verified, problem) => {
    const careful = await UpstreamFixture.create(app, { signup })
    const own = await careful.addOidcMethod(provider.url, more)
    provider.userClaims = newUpstreamUser({ email, email_verified })
    expectRefusal(await careful.signInThrough(own), problem)
    expect(await careful.listUsers()).toEqual([])
  })

  test('an invited user can sign up with invite_only: only with the invited address, verified', async () => {
    const closed = await UpstreamFixture.create(app, { signup: { mode: 'invite_only' } })
    const own = await closed.addOidcMethod(provider.url)
    const { I, owner, issuerId } = closed.realm.tenant
    const { data } = expectStatus(
      await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }),
      201,
    )
    const O = `${I}/organizations/${data.id}`
    expectStatus(await owner.post(`${O}/invitations`, { email: 'guest@example.com' }), 201)
    const token = 'the token that the mail has'
    const tokenHash = createHash('sha256').update(token).digest('hex')
    await app.gatehouse.database.prisma.organizationInvitation.updateMany({ where: { issuerId }, data: { tokenHash } })

    const browser = new TestBrowser()
    const invitation = await browser.open(`${closed.realm.url}/invitation?${new URLSearchParams({ token })}`)
    let page = await browser.submit(invitation, { method: 'sign_in' })
    const attempts: [AnyJson, RegExp][] = [
      [{ email: 'guest@example.com', email_verified: false }, UNVERIFIED_MESSAGE],
      [{}, UNVERIFIED_MESSAGE],
      [known('other@example.com'), /sent to another email address/],
    ]
    for (const [claims, problem] of attempts) {
      provider.userClaims = newUpstreamUser(claims)
      page = await browser.submit(page, { method: own.id })
      expectRefusal(page, problem)
    }
    provider.userClaims = newUpstreamUser(known('guest@example.com'))
    page = await browser.submit(page, { method: own.id })
    expect([page.status, errorMessageOf(page)]).toEqual([200, undefined])
    const [guest, ...more] = await closed.listUsers()
    expect([guest!['username'], more]).toEqual(['guest@example.com', []])
    const members = expectStatus(await owner.get(`${O}/members`), 200).data
    expect(members.map(({ member_id }: AnyJson) => member_id)).toEqual([guest!['id']])
  })

  test('an invitation that was revoked in the meantime creates no account, even if further steps are pending', async () => {
    const closed = await UpstreamFixture.create(app, { signup: { mode: 'invite_only', require_admin_approval: true } })
    const own = await closed.addOidcMethod(provider.url)
    const { I, owner, issuerId } = closed.realm.tenant
    const { data } = expectStatus(
      await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }),
      201,
    )
    const O = `${I}/organizations/${data.id}`
    const { id } = expectStatus(await owner.post(`${O}/invitations`, { email: 'late@example.com' }), 201).data
    const tokenHash = createHash('sha256').update('late').digest('hex')
    await app.gatehouse.database.prisma.organizationInvitation.updateMany({ where: { issuerId }, data: { tokenHash } })
    const browser = new TestBrowser()
    const invitation = await browser.open(`${closed.realm.url}/invitation?token=late`)
    const page = await browser.submit(invitation, { method: 'sign_in' })
    expectStatus(await owner.post(`${O}/invitations/${id}/revoke`, {}), 200)
    provider.userClaims = newUpstreamUser(known('late@example.com'))
    const end = await browser.submit(page, { method: own.id })
    expect([end.status, headingOf(end)]).toEqual([410, 'This invitation is no longer valid'])
    expect(await closed.listUsers()).toEqual([])
  })

  test('an unverified address must be verified if the issuer requires it', async () => {
    const careful = await UpstreamFixture.create(app, { signup: { require_email_verification: true } })
    const own = await careful.addOidcMethod(provider.url)
    provider.userClaims = newUpstreamUser({ email: 'prove@example.com', email_verified: false })
    expect(headingOf(await careful.signInThrough(own))).toBe('Check your email')
    expect(headingOf(await careful.signInThrough(own))).toBe('Check your email')
  })
})
