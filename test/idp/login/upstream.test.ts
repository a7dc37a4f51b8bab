/** Signing in through an OpenID provider (spec 2.4, security rules 17, 19, 23): who is let in, and who is not. */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { claimsOf, PASSWORD, redirectOf } from '../setup.js'
import { back, FakeOidc, type Mischief, SECRET, symmetric, unsigned } from './providers.js'
import { type Method, WaysIn } from './ways-in.js'

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

const FAILED = /^Signing in with Upstream did not work/
const DENIED = /did not confirm who you are/
const UNKNOWN = /is not known here/
const TAKEN = /There is an account with your address already/
const UNVERIFIED = /A confirmed email address is needed/

let count = 0
/** Somebody new at the provider. */
const somebody = (more: Loose = {}): Loose => ({ sub: `up-${++count}-${Math.random()}`, ...more })
const known = (email: string) => ({ email, email_verified: true })

/** The browser came back to the application with a code. */
const isIn = (page: Page): boolean => page.html === '' && redirectOf(page)['code'] !== undefined

async function refused(page: Page, problem: RegExp): Promise<void> {
  expect({ status: page.status, heading: headingOf(page), problem: problemOf(page) }).toEqual({
    status: 200,
    heading: 'Sign in',
    problem: expect.stringMatching(problem),
  })
}

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
    expect(created[0]).toMatchObject({ user_id: user['id'], data: { type: 'oauth' } })
    const signedIn = await ways.events('user.verification.succeeded')
    expect(signedIn[0]).toMatchObject({ user_id: user['id'], data: { method: 'oidc' } })
    expect((await ways.events('user.login.succeeded'))[0]).toMatchObject({ user_id: user['id'], data: { amr: [] } })
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
    await refused(await strict.through(only), UNKNOWN)
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
    await refused(await ways.through(method), TAKEN)
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
    await refused(await careful.through(only), /still waiting for approval/)
    const [user] = await careful.users()
    expect(user).toMatchObject({ status: 'pending_approval', triggeredRule: 'require_admin_approval' })
    const { I, owner } = careful.realm.tenant
    must(await owner.patch(`${I}/approvals/${user!['id']}`, { action: 'approve' }), 200)
    expect(isIn(await careful.through(only))).toBe(true)
    must(await owner.patch(`${I}/users/${user!['id']}`, { status: 'suspended' }), 200)
    await refused(await careful.through(only), /cannot sign in at the moment/)
  })
})

describe('hostile providers (security rule 23)', () => {
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const rows: [string, Mischief | (() => Mischief)][] = [
    ['another issuer', { claims: (claims) => ({ ...claims, iss: 'https://accounts.example.com' }) }],
    ['no issuer', { claims: ({ iss: _, ...claims }) => claims }],
    ['another audience', { claims: (claims) => ({ ...claims, aud: 'them' }) }],
    ['audiences without us', { claims: (claims) => ({ ...claims, aud: ['them', 'others'] }) }],
    ['several audiences, authorized party not us', { claims: (claims) => ({ ...claims, aud: ['us', 'x'], azp: 'x' }) }],
    ['another nonce', { claims: (claims) => ({ ...claims, nonce: 'x'.repeat(43) }) }],
    ['no nonce', { claims: ({ nonce: _, ...claims }) => claims }],
    ['an expired token', { claims: (claims) => ({ ...claims, exp: claims['iat'] - 600, iat: claims['iat'] - 1200 }) }],
    ['a token without end', { claims: ({ exp: _, ...claims }) => claims }],
    ['a token of later', { claims: (claims) => ({ ...claims, nbf: claims['iat'] + 3600 }) }],
    ['alg none', { idToken: unsigned }],
    ['alg none in capitals', { idToken: (claims) => unsigned(claims, { alg: 'NONE' }) }],
    ['a signature cut off', { idToken: (claims) => unsigned(claims, { alg: 'RS256', kid: 'one' }) }],
    ['HS256 with the client secret', { idToken: (claims) => symmetric(claims, SECRET) }],
    ['HS256 with the public key', { idToken: (claims) => symmetric(claims, 'public key of the provider, as PEM') }],
    ['a key of somebody else', { idToken: (claims) => provider.sign(claims, otherKey) }],
    [
      'a key that the set does not hold',
      { idToken: (claims) => provider.sign(claims, otherKey, { alg: 'RS256', kid: 'x' }) },
    ],
    [
      'a key that comes with the token',
      {
        idToken: (claims) =>
          provider.sign(claims, otherKey, {
            alg: 'RS256',
            kid: 'one',
            jwk: otherKey.export({ format: 'jwk' }),
          } as never),
      },
    ],
    [
      'an algorithm that was not announced',
      { metadata: (m) => ({ ...m, id_token_signing_alg_values_supported: ['ES256'] }) },
    ],
    ['no ID token', { token: ({ id_token: _, ...answer }) => ({ json: answer }) }],
    ['no JWT', { idToken: () => 'not.a.jwt' }],
    ['an empty subject', { claims: (claims) => ({ ...claims, sub: '' }) }],
    ['a subject of spaces', { claims: (claims) => ({ ...claims, sub: '   ' }) }],
    ['a subject that is null', { claims: (claims) => ({ ...claims, sub: null }) }],
    ['a subject that is a number', { claims: (claims) => ({ ...claims, sub: 7 }) }],
    ['no subject', { claims: ({ sub: _, ...claims }) => claims }],
    ['a subject of 300 characters', { claims: (claims) => ({ ...claims, sub: 'x'.repeat(300) }) }],
    ['a subject with a NUL', { claims: (claims) => ({ ...claims, sub: 'a\0b' }) }],
    [
      'userinfo of somebody else',
      { claims: ({ email: _, ...claims }) => claims, userinfo: (claims) => ({ json: { ...claims, sub: 'another' } }) },
    ],
    ['userinfo that is no object', { claims: ({ email: _, ...claims }) => claims, userinfo: () => ({ json: ['x'] }) }],
    ['a discovered issuer that is another', { metadata: (m) => ({ ...m, issuer: 'https://accounts.example.com' }) }],
    ['metadata that is no JSON', { metadata: () => 'x' as never }],
    ['metadata without endpoints', { metadata: ({ issuer }) => ({ issuer }) }],
    ['a token endpoint that is no address', { metadata: (m) => ({ ...m, token_endpoint: 'javascript:alert(1)' }) }],
    [
      'an authorization endpoint that is a script',
      { metadata: (m) => ({ ...m, authorization_endpoint: 'javascript:alert(1)' }) },
    ],
    ['a key set that fails', { keys: () => ({ status: 500, text: 'secret-of-upstream' }) }],
    [
      'an error at the token endpoint',
      { token: () => ({ status: 400, json: { error: 'invalid_grant', error_description: 'secret-of-upstream' } }) },
    ],
    ['a server error', { token: () => ({ status: 500, text: '<b>secret-of-upstream</b>' }) }],
    ['a redirect instead of tokens', { token: () => ({ status: 307, location: `${provider.url}/token` }) }],
    [
      'an endless answer',
      { token: () => ({ text: 'x'.repeat(1_000_000), headers: { 'content-type': 'application/json' } }) },
    ],
    ['tokens that are no JSON', { token: () => ({ text: '{', headers: { 'content-type': 'application/json' } }) }],
    [
      'an answer by another issuer (RFC 9207)',
      { authorize: (asked, codes) => codes.issue(asked, { iss: 'https://accounts.example.com' }) },
    ],
    ['code and error together', { authorize: (asked, codes) => codes.issue(asked, { error: 'access_denied' }) }],
    ['neither code nor error', { authorize: ({ params }) => back(params, {}) }],
    [
      'an error of its own',
      { authorize: ({ params }) => back(params, { error: 'server_error', error_description: 'secret-of-upstream' }) },
    ],
    ['a made-up error', { authorize: ({ params }) => back(params, { error: '<script>secret-of-upstream</script>' }) }],
    ['an invented code', { authorize: ({ params }) => back(params, { code: 'invented' }) }],
    ['a code of 10,000 characters', { authorize: ({ params }) => back(params, { code: 'x'.repeat(10_000) }) }],
  ]

  test('there are many', () => expect(rows.length).toBeGreaterThan(25))

  test.each(rows)('%s: nobody is signed in, nobody is made, and nothing of it is repeated', async (_, mischief) => {
    // A method of its own, so that nothing is known of the provider yet.
    const own = await ways.oidc(provider.url)
    provider.person = somebody(known(`hostile-${count}@example.com`))
    provider.mischief = mischief as Mischief
    const before = (await ways.users()).length
    const page = await ways.through(own)
    await refused(page, FAILED)
    expect(page.html).not.toMatch(/secret-of-upstream|invalid_grant|accounts\.example/)
    expect((await ways.users()).length).toBe(before)

    // The same provider, honest again, is let in: it was the mischief.
    provider.mischief = {}
    app.clock.advance(11 * 60_000)
    expect(isIn(await ways.through(own))).toBe(true)
  })

  test('who says no at the provider is told so in their language', async () => {
    provider.mischief = { authorize: ({ params }) => back(params, { error: 'access_denied' }) }
    await refused(await ways.through(method), DENIED)
    const page = await ways.through(method, new TestBrowser('https://', { 'accept-language': 'de' }))
    expect(problemOf(page)).toMatch(/^Upstream hat die Anmeldung nicht bestätigt/)
    expect((await ways.events('user.login.failed'))[0]).toMatchObject({
      user_id: null,
      data: { method: 'oidc', reason: 'upstream_denied' },
    })
  })

  test('a provider that is away is told so, and the page can be used in another way', async () => {
    const gone = await new FakeOidc().open()
    const own = await ways.oidc(gone.url)
    await gone.close()
    await ways.realm.user('another.way@example.com')
    const browser = new TestBrowser()
    const page = await ways.through(own, browser)
    await refused(page, FAILED)
    expect(isIn(await browser.submit(page, { username: 'another.way@example.com', password: PASSWORD }))).toBe(true)
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
    await refused(await ways.through(method), TAKEN)
    expect((await ways.users()).find(({ id }) => id === userId)!['verifiers']).toHaveLength(1)
  })

  test('two addresses that Unicode folds into one are two mailboxes', async () => {
    const { I, owner } = ways.realm.tenant
    // U+FF41: folded to "a" where usernames are compared.
    const body = { username_type: 'email', username: 'ａda.wide@example.com', email_verified: true }
    const { id } = must(await owner.post(`${I}/users`, body), 201).data
    provider.person = person('ada.wide@example.com', true)
    await refused(await ways.through(method), TAKEN)
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
    await refused(await ways.through(own), TAKEN)
  })

  test('the same subject of another method is somebody else', async () => {
    const other = await ways.oidc(provider.url, { enabled_signup: false })
    provider.person = somebody()
    expect(isIn(await ways.through(method))).toBe(true)
    await refused(await ways.through(other), UNKNOWN)
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
    await refused(await careful.through(own), problem)
    expect(await careful.users()).toEqual([])
  })

  test('an address that is not confirmed must be, where the issuer wants that', async () => {
    const careful = await WaysIn.open(app, { signup: { require_email_verification: true } })
    const own = await careful.oidc(provider.url)
    provider.person = somebody({ email: 'prove@example.com', email_verified: false })
    expect(headingOf(await careful.through(own))).toBe('Check your mail')
    expect(headingOf(await careful.through(own))).toBe('Check your mail')
  })
})

describe('answers on wrong ways', () => {
  test('a state works once', async () => {
    provider.person = somebody()
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    expect(isIn(await browser.open(callback.href))).toBe(true)
    const tokens = provider.asked.filter(({ path }) => path === '/token').length
    // The browser that was there is led on; the provider is not asked again.
    const again = await browser.open(callback.href)
    expect(again.html === '' || again.status === 400).toBe(true)
    expect(provider.asked.filter(({ path }) => path === '/token').length).toBe(tokens)
    const thief = await new TestBrowser().open(callback.href)
    expect(thief.status).toBe(400)
  })

  test('a state with another code, after the first', async () => {
    const { address, browser } = await ways.out(method)
    provider.person = somebody()
    const mine = await ways.at(address)
    const other = await ways.at(address)
    const first = await browser.request(mine.href)
    expect(first.status).toBe(303)
    const second = await browser.request(other.href)
    expect(second.headers.get('location')).toMatch(/\?upstream=late$/)
    expect(isIn(await browser.open(first.headers.get('location')!))).toBe(true)
  })

  test('the state of another browser: the code of a victim is of no use to whoever began', async () => {
    // The attacker begins, and makes the victim's browser bring the victim's code under the attacker's state.
    const attacker = await ways.out(method)
    provider.person = somebody(known('victim@example.com'))
    const withVictimsCode = await ways.at(attacker.address)
    const victim = new TestBrowser()
    const page = await victim.open(withVictimsCode.href)
    expect([page.status, headingOf(page)]).toEqual([400, 'This did not work'])
    // The attacker knows uid and state, and has the cookie; not the handle.
    const state = withVictimsCode.searchParams.get('state')!
    for (const handle of ['', 'late', state, state.split('.')[1]!, withVictimsCode.searchParams.get('code')!]) {
      const tried = await attacker.browser.open(`${attacker.page.url}?upstream=${handle}`)
      expect([tried.status, headingOf(tried)]).toEqual([200, 'Sign in'])
    }
    await attacker.browser.open(withVictimsCode.href)
    expect((await ways.users()).some(({ username }) => username === 'victim@example.com')).toBe(false)
  })

  test('a handle works once, and in the browser that has the cookie only', async () => {
    provider.person = somebody()
    const { address, browser } = await ways.out(method)
    const kept = await browser.request((await ways.at(address)).href)
    const handle = kept.headers.get('location')!
    expect((await new TestBrowser().open(handle)).status).toBe(400)
    const copies = [browser.copy(), browser.copy(), browser.copy(), browser.copy()]
    const pages = await Promise.all(copies.map((one) => one.open(handle)))
    const tokens = provider.asked.filter(
      ({ path, params }) =>
        path === '/token' &&
        params.get('code') === new URL(provider.url + '?' + address.search).searchParams.get('code'),
    )
    expect(tokens.length).toBe(0)
    expect(pages.filter(isIn).length).toBeGreaterThanOrEqual(1)
    expect(pages.every((page) => isIn(page) || headingOf(page) === 'Sign in' || page.status === 400)).toBe(true)
  })

  test('the callback of another method', async () => {
    const other = await ways.oidc(provider.url)
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    const mixed = callback.href.replace(method.id, other.id)
    expect((await browser.open(mixed)).status).toBe(400)
    provider.person = somebody()
    expect(isIn(await browser.open(callback.href))).toBe(true)
  })

  test('the callback of another issuer', async () => {
    const other = await WaysIn.open(app)
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    const mixed = callback.href.replace(ways.realm.tenant.issuerId, other.realm.tenant.issuerId)
    expect((await browser.open(mixed)).status).toBe(400)
  })

  test('a code of somebody else’s sign-in is bound to its challenge (code injection)', async () => {
    const victim = await ways.out(method)
    provider.person = somebody(known('injected@example.com'))
    const stolen = (await ways.at(victim.address)).searchParams.get('code')!
    const attacker = await ways.out(method)
    const callback = await ways.at(attacker.address)
    callback.searchParams.set('code', stolen)
    await refused(await attacker.browser.open(callback.href), FAILED)
  })

  test.each([
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['an invented state', (url: URL) => url.searchParams.set('state', `${'x'.repeat(21)}.${'y'.repeat(43)}`)],
    ['a changed state', (url: URL) => url.searchParams.set('state', `${url.searchParams.get('state')!.slice(0, -1)}!`)],
    [
      'another ending',
      (url: URL) => url.searchParams.set('state', `${url.searchParams.get('state')!.split('.')[0]}.${'z'.repeat(43)}`),
    ],
    ['a state twice', (url: URL) => url.searchParams.append('state', url.searchParams.get('state')!)],
    ['a state with SQL', (url: URL) => url.searchParams.set('state', "x'; DROP TABLE users; --")],
    ['a NUL', (url: URL) => url.searchParams.set('code', 'a\0b')],
  ])('%s: an error page, no redirect', async (_, change) => {
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    change(callback)
    const answer = await browser.request(callback.href)
    expect([answer.status, answer.headers.get('location')]).toEqual([400, null])
    expect(await answer.text()).toContain('This did not work')
  })

  test('a code twice is none', async () => {
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    callback.searchParams.append('code', 'another')
    await refused(await browser.open(callback.href), FAILED)
  })

  test('who comes back after ten minutes begins anew', async () => {
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    app.clock.advance(10 * 60_000 + 1)
    await refused(await browser.open(callback.href), /out of date/)
  })

  test('who has gone another way meanwhile is not overtaken', async () => {
    await ways.realm.user('meanwhile@example.com')
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    const again = await browser.open(
      `${ways.realm.url}/interaction/${address.searchParams.get('state')!.split('.')[0]}`,
    )
    await refusedNothing(again)
    await browser.submit(again, { username: 'meanwhile@example.com', password: 'wrong password' })
    expect((await browser.open(callback.href)).status).toBe(400)
  })

  test('a method that has gone meanwhile lets nobody in', async () => {
    const own = await ways.oidc(provider.url)
    provider.person = somebody()
    const { address, browser } = await ways.out(own)
    const callback = await ways.at(address)
    const { I, owner } = ways.realm.tenant
    must(await owner.patch(`${I}/auth-methods/${own.id}`, { enabled_login: false }), 200)
    app.clock.advance(11_000)
    const page = await browser.open(callback.href)
    expect(isIn(page)).toBe(false)
    expect(page.status).toBeLessThan(500)
  })

  test('answers are counted like those of forms (decisions D19)', async () => {
    const limited = await startApp({
      env: { ALLOW_PRIVATE_NETWORKS: 'true', RATE_LIMITS: '{"login":{"quota":3,"window":60}}' },
    })
    try {
      const there = await WaysIn.open(limited)
      const own = await there.oidc(provider.url)
      provider.person = somebody()
      expect(isIn(await there.through(own))).toBe(true)
      const { address, browser } = await there.out(own)
      const page = await browser.open((await there.at(address)).href)
      expect([page.status, problemOf(page)]).toEqual([429, expect.stringMatching(/Too many attempts/)])
    } finally {
      await limited.close()
    }
  }, 60_000)
})

const refusedNothing = async (page: Page): Promise<void> => {
  expect([page.status, problemOf(page)]).toEqual([200, undefined])
}

test('security rule 17: a provider at a private address is not called', async () => {
  const strict = await startApp({ env: { LOG_LEVEL: 'silent' } })
  try {
    const there = await WaysIn.open(strict)
    const { I, owner } = there.realm.tenant
    const settings = { issuer_url: provider.url, client_id: 'us', client_secret: SECRET }
    const body = { name: 'Upstream', method: 'oidc', first_factor_only: true, settings }
    const plain = await owner.post(`${I}/auth-methods`, body)
    expect([plain.status, plain.body.details[0].field]).toEqual([400, 'settings.issuer_url'])

    const port = new URL(provider.url).port
    const before = provider.asked.length
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254']) {
      const own = await there.oidc(`https://${host}:${port}`)
      await refused(await there.through(own), FAILED)
    }
    // Past the checks of the Core API.
    const own = await there.oidc('https://up.example.com')
    await strict.gatehouse.tools.prisma.$executeRawUnsafe(
      `UPDATE auth_methods SET settings = jsonb_set(settings, '{issuer_url}', to_jsonb($1::text)) WHERE id = $2`,
      provider.url,
      own.id,
    )
    strict.clock.advance(11_000)
    await refused(await there.through(own), FAILED)
    expect(provider.asked.length).toBe(before)
  } finally {
    await strict.close()
  }
}, 60_000)
