/** Signing in through an OpenID provider (spec 2.4, security rules 17, 19, 23): who is let in, and who is not. */

import { createHash } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, problemOf, TestBrowser } from '../browser.js'
import { claimsOf, redirectOf } from '../setup.js'
import { FakeOidc } from './providers.js'
import { isIn, type Method, refused, TAKEN, UNKNOWN, UNVERIFIED, WaysIn } from './ways-in.js'

let app: TestApp
let provider: FakeOidc
let ways: WaysIn
let method: Method

beforeAll(async () => {
  app = await startApp({ env: { ALLOW_PRIVATE_NETWORKS: 'true', LOG_LEVEL: 'silent' } })
  provider = await new FakeOidc().open()
  ways = await WaysIn.open(app)
  method = await ways.oidc(provider.url)
}, 60_000)
afterEach(() => {
  provider.mischief = {}
  provider.person = { sub: 'up-1' }
})
afterAll(async () => {
  await app?.close()
  await provider?.close()
})

let count = 0
/** Somebody new at the provider. */
const somebody = (more: Loose = {}): Loose => ({ sub: `up-${++count}-${Math.random()}`, ...more })
const known = (email: string) => ({ email, email_verified: true })

describe('the way out', () => {
  test('the sign-in page has a button with the name of the method, by its id', async () => {
    const { page } = await ways.realm.begin(ways.client)
    expect(page.html).toMatch(new RegExp(`<button[^>]*value="${method.id}"[^>]*>Continue with Upstream</button>`))
  })

  test('PKCE, state and nonce always; the callback that the API shows; nothing of it twice', async () => {
    expect(method.callback_url).toBe(`${ways.realm.url}/callback/${method.id}`)
    const seen = [await ways.out(method), await ways.out(method)].map(({ address }) => address)
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

  test('what binds the answer stands sealed in the database', async () => {
    const { address } = await ways.out(method)
    const [uid] = address.searchParams.get('state')!.split('.')
    const row = await app.gatehouse.tools.prisma.loginState.findFirst({ where: { uid: uid! } })
    const text = JSON.stringify(row?.state)
    for (const name of ['state', 'nonce']) expect(text).not.toContain(address.searchParams.get(name))
    expect(text).toContain('"sealed"')
  })

  test('a typed address goes along; who must prove anew who they are must do so there', async () => {
    const browser = new TestBrowser()
    const { page } = await ways.realm.begin(ways.client, { prompt: 'login' }, browser)
    await browser.submit(page, { method: method.id, username: 'ada@example.com' })
    const asked = provider.last('/authorize').params
    expect([asked.get('login_hint'), asked.get('prompt')]).toEqual(['ada@example.com', 'login'])
  })
})

describe('who comes back', () => {
  test('somebody new gets an account, a linked identity, tokens, and next time is the same user', async () => {
    const names = {
      name: 'Ada L.',
      given_name: 'Ada',
      family_name: 'L.',
      picture: 'https://x.example/a.png',
      locale: 'en-GB',
    }
    provider.person = somebody({ ...known('new@example.com'), ...names, nickname: 'not kept' })
    const browser = new TestBrowser()
    const { page, verifier } = await ways.realm.begin(ways.client, { scope: 'openid email profile' }, browser)
    const first = redirectOf(await browser.submit(page, { method: method.id }))
    const tokens = await ways.realm.exchange(ways.client, {
      code: first['code']!,
      code_verifier: verifier,
      redirect_uri: 'https://app.example.com/callback',
    })
    const claims = claimsOf(tokens.body.id_token)
    const user = (await ways.users()).find(({ username }) => username === 'new@example.com')!
    expect(user).toMatchObject({ usernameType: 'email', emailVerified: true, status: 'active', profile: names })
    expect(claims).toMatchObject({ sub: user['id'], acr: 'urn:svc:assurance:loa1' })
    expect(claims['amr'] ?? []).toEqual([])
    const { body } = await ways.realm.userinfo(tokens.body.access_token)
    expect(body).toMatchObject({ email: 'new@example.com', email_verified: true, ...names })

    // Spec 2.7: listed, with its type and times; never who it is there.
    const { I, owner } = ways.realm.tenant
    const path = `${I}/users/${user['id']}/verifiers`
    const list = await owner.get(path)
    const [verifierRow] = must(list, 200).data
    expect(verifierRow).toMatchObject({ type: 'oauth', name: 'Upstream', last_used_at: expect.any(Number) })
    expect(list.text).not.toContain(provider.person['sub'])

    app.clock.advance(5000)
    provider.person = { sub: provider.person['sub'], ...known('renamed@example.com') }
    expect(isIn(await ways.through(method))).toBe(true)
    expect((await ways.users()).filter(({ username }) => /^(new|renamed)@/.test(username))).toHaveLength(1)
    const [again] = must(await owner.get(path), 200).data
    expect(again.last_used_at).toBeGreaterThan(verifierRow.last_used_at)

    const created = await ways.events('user.verifier.created')
    expect(created[0]).toMatchObject({ userId: user['id'], data: { type: 'oauth' } })
    const signedIn = await ways.events('user.verification.succeeded')
    expect(signedIn[0]).toMatchObject({ userId: user['id'], data: { method: 'oidc' } })
    expect((await ways.events('user.login.succeeded'))[0]).toMatchObject({ userId: user['id'], data: { amr: [] } })
  })

  test('acr_values may ask for the method', async () => {
    provider.person = somebody(known('acr@example.com'))
    const browser = new TestBrowser()
    const { page, verifier } = await ways.realm.begin(ways.client, { acr_values: 'urn:svc:method:oidc' }, browser)
    const { code } = redirectOf(await browser.submit(page, { method: method.id }))
    const redirect_uri = 'https://app.example.com/callback'
    const { body } = await ways.realm.exchange(ways.client, { code: code!, code_verifier: verifier, redirect_uri })
    expect(claimsOf(body.id_token)['acr']).toBe('urn:svc:method:oidc')
  })

  test('an identity cannot be made by POST, and is deletable: after that it is nobody’s', async () => {
    const strict = await WaysIn.open(app)
    const only = await strict.oidc(provider.url)
    provider.person = somebody()
    expect(isIn(await strict.through(only))).toBe(true)
    const [user] = await strict.users()
    const { I, owner } = strict.realm.tenant
    const path = `${I}/users/${user!['id']}/verifiers`
    const body = { type: 'oauth', name: 'x' }
    const made = await owner.post(path, body)
    expect([made.status, made.body.details[0].field]).toEqual([400, 'type'])
    must(await owner.patch(`${I}/auth-methods/${only.id}`, { enabled_signup: false }), 200)
    expect(isIn(await strict.through(only))).toBe(true)
    expect((await owner.delete(`${path}/${user!['verifiers'][0].id}`)).status).toBe(204)
    expect(await strict.events('user.verifier.deleted')).toHaveLength(1)
    refused(await strict.through(only), UNKNOWN)
  })

  test('an address that is confirmed on both sides links; the profile stays as it is', async () => {
    const userId = await ways.realm.user('linked@example.com')
    await app.gatehouse.tools.prisma.user.update({ where: { id: userId }, data: { emailVerified: true } })
    provider.person = somebody({ ...known('Linked@Example.com'), name: 'Somebody Else' })
    expect(isIn(await ways.through(method))).toBe(true)
    const user = (await ways.users()).find(({ id }) => id === userId)!
    expect([user['profile'], user['verifiers'].map(({ type }: Loose) => type).sort()]).toEqual([
      {},
      ['oauth', 'password'],
    ])
  })

  test('an address in the profile links as well, if it is confirmed and one user’s alone', async () => {
    const { I, owner } = ways.realm.tenant
    const make = async () => {
      const body = { username_type: 'unique', username: `p${++count}`, profile: { email: 'profile@example.com' } }
      return must(await owner.post(`${I}/users`, { ...body, email_verified: true }), 201).data.id
    }
    const first = await make()
    provider.person = somebody(known('profile@example.com'))
    expect(isIn(await ways.through(method))).toBe(true)
    expect((await ways.users()).find(({ id }) => id === first)!['verifiers']).toHaveLength(1)
    await make()
    provider.person = somebody(known('profile@example.com'))
    refused(await ways.through(method), TAKEN)
  })

  test('an address that the ID token lacks comes from userinfo, confirmed or not as it says there', async () => {
    for (const email_verified of [true, false]) {
      const email = `userinfo-${email_verified}@example.com`
      provider.person = somebody({ email, email_verified })
      provider.mischief = { claims: ({ email: _, ...claims }) => ({ ...claims, email_verified: true }) }
      expect(isIn(await ways.through(method))).toBe(true)
      const users = await ways.users()
      expect(users.some(({ username }) => username === email)).toBe(email_verified)
    }
  })

  test('an address that is not confirmed does not become a username', async () => {
    provider.person = somebody({ email: 'squatted@example.com', email_verified: false })
    expect(isIn(await ways.through(method))).toBe(true)
    const user = (await ways.users()).at(-1)!
    expect(user).toMatchObject({
      usernameType: 'unique',
      username: expect.stringMatching(/^oidc-[0-9a-f]{20}$/),
      emailVerified: false,
      profile: { email: 'squatted@example.com' },
    })
    // Whoever reads its mail comes later, and gets an account of their own.
    provider.person = somebody(known('squatted@example.com'))
    expect(isIn(await ways.through(method))).toBe(true)
    expect((await ways.users()).at(-1)).toMatchObject({ username: 'squatted@example.com', emailVerified: true })
  })

  test('ten first sign-ins of one person at once make one user', async () => {
    provider.person = somebody(known('crowd@example.com'))
    const pages = await Promise.all(Array.from({ length: 10 }, () => ways.through(method)))
    expect(pages.map(isIn)).toEqual(Array(10).fill(true))
    const made = (await ways.users()).filter(({ username }) => username === 'crowd@example.com')
    expect(made.map(({ verifiers }) => verifiers.length)).toEqual([1])
  })

  test('who must wait for approval waits; who is suspended is told so', async () => {
    const careful = await WaysIn.open(app, { signup: { require_admin_approval: true } })
    const only = await careful.oidc(provider.url)
    provider.person = somebody(known('waiting@example.com'))
    expect(headingOf(await careful.through(only))).toBe('Almost there')
    refused(await careful.through(only), /still waiting for approval/)
    const [user] = await careful.users()
    expect(user).toMatchObject({ status: 'pending_approval', triggeredRule: 'require_admin_approval' })
    const { I, owner } = careful.realm.tenant
    must(await owner.patch(`${I}/approvals/${user!['id']}`, { action: 'approve' }), 200)
    expect(isIn(await careful.through(only))).toBe(true)
    must(await owner.patch(`${I}/users/${user!['id']}`, { status: 'suspended' }), 200)
    refused(await careful.through(only), /cannot sign in at the moment/)
    expect((await careful.events('user.login.failed')).map(({ data }) => data)).toEqual([
      { method: 'oidc', reason: 'suspended' },
      { method: 'oidc', reason: 'pending_approval' },
    ])
  })
})

describe('whom nobody vouches for', () => {
  const person = (email: string, email_verified: unknown) => somebody({ email, email_verified })

  test.each([
    ['not confirmed at the provider', 'a1@example.com', false, true],
    ['confirmed as a text that says no', 'a2@example.com', 'false', true],
    ['confirmed as a number', 'a3@example.com', 1, true],
    ['confirmed as nothing', 'a4@example.com', undefined, true],
  ])('an address %s never links', async (_, email, email_verified, here) => {
    const userId = await ways.realm.user(email)
    await app.gatehouse.tools.prisma.user.update({ where: { id: userId }, data: { emailVerified: here } })
    provider.person = person(email, email_verified)
    await ways.through(method)
    expect((await ways.users()).find(({ id }) => id === userId)!['verifiers']).toHaveLength(1)
  })

  test('an account whose address nobody has confirmed is not taken over by who made it before (pre-hijacking)', async () => {
    const userId = await ways.realm.user('prehijacked@example.com')
    provider.person = person('prehijacked@example.com', true)
    refused(await ways.through(method), TAKEN)
    expect((await ways.users()).find(({ id }) => id === userId)!['verifiers']).toHaveLength(1)
  })

  test('two addresses that Unicode folds into one are two mailboxes', async () => {
    const { I, owner } = ways.realm.tenant
    // U+FF41: folded to "a" where usernames are compared.
    const body = { username_type: 'email', username: 'ａda.wide@example.com', email_verified: true }
    const { id } = must(await owner.post(`${I}/users`, body), 201).data
    provider.person = person('ada.wide@example.com', true)
    refused(await ways.through(method), TAKEN)
    await ways.realm.user('kelvin@example.com')
    await app.gatehouse.tools.prisma.user.updateMany({
      where: { username: 'kelvin@example.com' },
      data: { emailVerified: true },
    })
    provider.person = person('\u212Aelvin@example.com', true)
    expect(isIn(await ways.through(method))).toBe(true)
    const users = await ways.users()
    expect(users.at(-1)).toMatchObject({ usernameType: 'unique', emailVerified: false })
    expect(users.find((user) => user['id'] === id)!['verifiers']).toHaveLength(0)
  })

  test('link_by_email: false links nobody', async () => {
    const userId = await ways.realm.user('unlinked@example.com')
    await app.gatehouse.tools.prisma.user.update({ where: { id: userId }, data: { emailVerified: true } })
    const own = await ways.oidc(provider.url, {}, { link_by_email: false })
    provider.person = person('unlinked@example.com', true)
    refused(await ways.through(own), TAKEN)
  })

  test('the same subject of another method is somebody else', async () => {
    const other = await ways.oidc(provider.url, { enabled_signup: false })
    provider.person = somebody()
    expect(isIn(await ways.through(method))).toBe(true)
    refused(await ways.through(other), UNKNOWN)
  })

  test.each([
    ['the method lets nobody sign up', {}, { enabled_signup: false }, 'x@good.example', true, UNKNOWN],
    ['by invitation only', { mode: 'invite_only' }, {}, 'x@good.example', true, UNKNOWN],
    ['another domain', { allowed_domains: ['good.example'] }, {}, 'x@bad.example', true, /cannot be used here/],
    ['the right domain, not confirmed', { allowed_domains: ['good.example'] }, {}, 'x@good.example', false, UNVERIFIED],
    ['a blocked domain', { blocked_domains: ['bad.example'] }, {}, 'x@bad.example', true, /cannot be used here/],
    [
      'a blocked domain, not confirmed',
      { blocked_domains: ['bad.example'] },
      {},
      'x@bad.example',
      false,
      /cannot be used/,
    ],
    ['no address where one must be confirmed', { require_email_verification: true }, {}, undefined, false, UNVERIFIED],
  ])('nobody signs up: %s', async (_, signup, more, email, email_verified, problem) => {
    const careful = await WaysIn.open(app, { signup })
    const own = await careful.oidc(provider.url, more)
    provider.person = somebody({ email, email_verified })
    refused(await careful.through(own), problem)
    expect(await careful.users()).toEqual([])
  })

  test('an invited person comes in where it is by invitation only: with the invited address, confirmed, alone', async () => {
    const closed = await WaysIn.open(app, { signup: { mode: 'invite_only' } })
    const own = await closed.oidc(provider.url)
    const { I, owner, issuerId } = closed.realm.tenant
    const { data } = must(await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }), 201)
    const O = `${I}/organizations/${data.id}`
    must(await owner.post(`${O}/invitations`, { email: 'guest@example.com' }), 201)
    const token = 'the token that the mail has'
    const tokenHash = createHash('sha256').update(token).digest('hex')
    await app.gatehouse.tools.prisma.organizationInvitation.updateMany({ where: { issuerId }, data: { tokenHash } })

    const browser = new TestBrowser()
    const invitation = await browser.open(`${closed.realm.url}/invitation?${new URLSearchParams({ token })}`)
    let page = await browser.submit(invitation, { method: 'sign_in' })
    const attempts: [Loose, RegExp][] = [
      [{ email: 'guest@example.com', email_verified: false }, UNVERIFIED],
      [{}, UNVERIFIED],
      [known('other@example.com'), /sent to another address/],
    ]
    for (const [claims, problem] of attempts) {
      provider.person = somebody(claims)
      page = await browser.submit(page, { method: own.id })
      refused(page, problem)
    }
    provider.person = somebody(known('guest@example.com'))
    page = await browser.submit(page, { method: own.id })
    expect([page.status, problemOf(page)]).toEqual([200, undefined])
    const [guest, ...more] = await closed.users()
    expect([guest!['username'], more]).toEqual(['guest@example.com', []])
    const members = must(await owner.get(`${O}/members`), 200).data
    expect(members.map(({ member_id }: Loose) => member_id)).toEqual([guest!['id']])
  })

  test('an invitation that was revoked meanwhile makes no account, whatever else is still to be done', async () => {
    const closed = await WaysIn.open(app, { signup: { mode: 'invite_only', require_admin_approval: true } })
    const own = await closed.oidc(provider.url)
    const { I, owner, issuerId } = closed.realm.tenant
    const { data } = must(await owner.post(`${I}/organizations`, { name: 'Harbour', invitation_enabled: true }), 201)
    const O = `${I}/organizations/${data.id}`
    const { id } = must(await owner.post(`${O}/invitations`, { email: 'late@example.com' }), 201).data
    const tokenHash = createHash('sha256').update('late').digest('hex')
    await app.gatehouse.tools.prisma.organizationInvitation.updateMany({ where: { issuerId }, data: { tokenHash } })
    const browser = new TestBrowser()
    const invitation = await browser.open(`${closed.realm.url}/invitation?token=late`)
    const page = await browser.submit(invitation, { method: 'sign_in' })
    must(await owner.post(`${O}/invitations/${id}/revoke`, {}), 200)
    provider.person = somebody(known('late@example.com'))
    const end = await browser.submit(page, { method: own.id })
    expect([end.status, headingOf(end)]).toEqual([410, 'This invitation is no longer good'])
    expect(await closed.users()).toEqual([])
  })

  test('an address that is not confirmed must be, where the issuer wants that', async () => {
    const careful = await WaysIn.open(app, { signup: { require_email_verification: true } })
    const own = await careful.oidc(provider.url)
    provider.person = somebody({ email: 'prove@example.com', email_verified: false })
    expect(headingOf(await careful.through(own))).toBe('Check your mail')
    expect(headingOf(await careful.through(own))).toBe('Check your mail')
  })
})
