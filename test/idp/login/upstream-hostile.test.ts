/**
 * Malicious providers and misdirected responses (docs/contract.md#single-use-values,
 * docs/contract.md#outbound-requests, docs/contract.md#federated-identities).
 */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import type { AnyJson } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, TestBrowser } from '../browser.js'
import { PASSWORD } from '../realm.js'
import {
  DENIED_MESSAGE,
  expectRefusal,
  FAILED_MESSAGE,
  isSignedIn,
  type Method,
  UpstreamFixture,
} from './upstream-fixture.js'
import {
  FakeOidc,
  hmacSignedJwt,
  type ProviderOverrides,
  redirectToClient,
  SECRET,
  unsignedJwt,
} from './upstream-providers.js'

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

describe('malicious providers', () => {
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const rows: [string, ProviderOverrides][] = [
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
    ['alg none', { idToken: unsignedJwt }],
    ['alg none in capitals', { idToken: (claims) => unsignedJwt(claims, { alg: 'NONE' }) }],
    ['a signature cut off', { idToken: (claims) => unsignedJwt(claims, { alg: 'RS256', kid: 'one' }) }],
    ['HS256 with the client secret', { idToken: (claims) => hmacSignedJwt(claims, SECRET) }],
    ['HS256 with the public key', { idToken: (claims) => hmacSignedJwt(claims, 'public key of the provider, as PEM') }],
    ['a key of another provider', { idToken: (claims) => provider.sign(claims, otherKey) }],
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
    ['no ID token', { token: ({ id_token: _, ...tokenResponse }) => ({ json: tokenResponse }) }],
    ['no JWT', { idToken: () => 'not.a.jwt' }],
    ['an empty subject', { claims: (claims) => ({ ...claims, sub: '' }) }],
    ['a subject of spaces', { claims: (claims) => ({ ...claims, sub: '   ' }) }],
    ['a subject that is null', { claims: (claims) => ({ ...claims, sub: null }) }],
    ['a subject that is a number', { claims: (claims) => ({ ...claims, sub: 7 }) }],
    ['no subject', { claims: ({ sub: _, ...claims }) => claims }],
    ['a subject of 300 characters', { claims: (claims) => ({ ...claims, sub: 'x'.repeat(300) }) }],
    ['a subject with a NUL', { claims: (claims) => ({ ...claims, sub: 'a\0b' }) }],
    [
      'userinfo of another user',
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
      'a token response of 1 MB',
      { token: () => ({ text: 'x'.repeat(1_000_000), headers: { 'content-type': 'application/json' } }) },
    ],
    ['tokens that are no JSON', { token: () => ({ text: '{', headers: { 'content-type': 'application/json' } }) }],
    [
      'an authorization response with `iss` of another issuer (RFC 9207)',
      { authorize: (request, codes) => codes.issue(request, { iss: 'https://accounts.example.com' }) },
    ],
    ['code and error together', { authorize: (request, codes) => codes.issue(request, { error: 'access_denied' }) }],
    ['neither code nor error', { authorize: ({ params }) => redirectToClient(params, {}) }],
    [
      'an error of its own',
      {
        authorize: ({ params }) =>
          redirectToClient(params, { error: 'server_error', error_description: 'secret-of-upstream' }),
      },
    ],
    [
      'a made-up error',
      { authorize: ({ params }) => redirectToClient(params, { error: '<script>secret-of-upstream</script>' }) },
    ],
    ['an invented code', { authorize: ({ params }) => redirectToClient(params, { code: 'invented' }) }],
    [
      'a code of 10,000 characters',
      { authorize: ({ params }) => redirectToClient(params, { code: 'x'.repeat(10_000) }) },
    ],
  ]

  test('the table has more than 25 rows', () => expect(rows.length).toBeGreaterThan(25))

  test.each(rows)('%s: no sign-in, no new user, and the response is neither shown nor logged', async (_, mischief) => {
    // Metadata and keys of a provider are cached by method, so these rows need a new method.
    const needsFreshIssuer = 'metadata' in mischief || 'keys' in mischief
    const own = needsFreshIssuer ? await fixture.addOidcMethod(provider.url) : method
    provider.userClaims = newUpstreamUser(known(`hostile-${count}@example.com`))
    provider.overrides = mischief
    const before = (await fixture.listUsers()).length
    const page = await fixture.signInThrough(own)
    expectRefusal(page, FAILED_MESSAGE)
    expect(page.html).not.toMatch(/secret-of-upstream|invalid_grant|accounts\.example/)
    expect((await fixture.listUsers()).length).toBe(before)

    // Without the deviation the same provider is accepted, so the deviation was the cause of the failure.
    provider.overrides = {}
    if (needsFreshIssuer) app.clock.advance(11 * 60_000)
    expect(isSignedIn(await fixture.signInThrough(own))).toBe(true)
  })

  test('a user who cancels at the provider sees a message in the language of the browser', async () => {
    provider.overrides = { authorize: ({ params }) => redirectToClient(params, { error: 'access_denied' }) }
    expectRefusal(await fixture.signInThrough(method), DENIED_MESSAGE)
    const page = await fixture.signInThrough(method, new TestBrowser('https://', { 'accept-language': 'de' }))
    expect(errorMessageOf(page)).toMatch(/^Upstream hat Ihre Identität nicht bestätigt/)
    expect((await fixture.listEvents('user.login.failed'))[0]).toMatchObject({
      userId: null,
      data: { method: 'oidc', reason: 'upstream_denied' },
    })
  })

  test('an unavailable provider is reported, and the page can be used with another method', async () => {
    const gone = await new FakeOidc().pending()
    const own = await fixture.addOidcMethod(gone.url)
    await gone.close()
    await fixture.realm.createUser('another.way@example.com')
    const browser = new TestBrowser()
    const page = await fixture.signInThrough(own, browser)
    expectRefusal(page, FAILED_MESSAGE)
    expect(isSignedIn(await browser.submit(page, { username: 'another.way@example.com', password: PASSWORD }))).toBe(
      true,
    )
  })
})

describe('misdirected responses', () => {
  test('a state works once', async () => {
    provider.userClaims = newUpstreamUser()
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    expect(isSignedIn(await browser.open(callback.href))).toBe(true)
    const tokens = provider.requests.filter(({ path }) => path === '/token').length
    // A second request of the same browser sends no second token request to the provider.
    const again = await browser.open(callback.href)
    expect(again.html === '' || again.status === 400).toBe(true)
    expect(provider.requests.filter(({ path }) => path === '/token').length).toBe(tokens)
    const thief = await new TestBrowser().open(callback.href)
    expect(thief.status).toBe(400)
  })

  test('a state with another code, after the first', async () => {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    provider.userClaims = newUpstreamUser()
    const mine = await fixture.redirectFromProvider(address)
    const other = await fixture.redirectFromProvider(address)
    const first = await browser.request(mine.href)
    expect(first.status).toBe(303)
    const second = await browser.request(other.href)
    expect(second.headers.get('location')).toMatch(/\?upstream=late$/)
    expect(isSignedIn(await browser.open(first.headers.get('location')!))).toBe(true)
  })

  test('the state of another browser: the code of a victim is useless to the attacker', async () => {
    // The attacker starts a sign-in, and makes the victim's browser send the victim's code with the attacker's state.
    const attacker = await fixture.startUpstreamSignIn(method)
    provider.userClaims = newUpstreamUser(known('victim@example.com'))
    const withVictimsCode = await fixture.redirectFromProvider(attacker.address)
    const victim = new TestBrowser()
    const page = await victim.open(withVictimsCode.href)
    expect([page.status, headingOf(page)]).toEqual([400, 'Something went wrong'])
    // The attacker knows the uid and the state and has the cookie, but does not know the handle, which the callback adds
    // to the redirect as the parameter `upstream`.
    const state = withVictimsCode.searchParams.get('state')!
    for (const handle of ['', 'late', state, state.split('.')[1]!, withVictimsCode.searchParams.get('code')!]) {
      const tried = await attacker.browser.open(`${attacker.page.url}?upstream=${handle}`)
      expect([tried.status, headingOf(tried)]).toEqual([200, 'Sign in'])
    }
    await attacker.browser.open(withVictimsCode.href)
    expect((await fixture.listUsers()).some(({ username }) => username === 'victim@example.com')).toBe(false)
  })

  test('a handle works once, and only in the browser with the cookie', async () => {
    provider.userClaims = newUpstreamUser()
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    const kept = await browser.request(callback.href)
    const handle = kept.headers.get('location')!
    expect((await new TestBrowser().open(handle)).status).toBe(400)
    const copies = [browser.clone(), browser.clone(), browser.clone(), browser.clone()]
    const pages = await Promise.all(copies.map((one) => one.open(handle)))
    const code = callback.searchParams.get('code')
    const redeemed = provider.requests.filter(({ path, params }) => path === '/token' && params.get('code') === code)
    expect(redeemed).toHaveLength(1)
    expect(pages.filter(isSignedIn).length).toBeGreaterThanOrEqual(1)
    expect(pages.every((page) => isSignedIn(page) || headingOf(page) === 'Sign in' || page.status === 400)).toBe(true)
  })

  test('the callback of another method', async () => {
    const other = await fixture.addOidcMethod(provider.url)
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    const mixed = callback.href.replace(method.id, other.id)
    expect((await browser.open(mixed)).status).toBe(400)
    provider.userClaims = newUpstreamUser()
    expect(isSignedIn(await browser.open(callback.href))).toBe(true)
  })

  test('the callback of another issuer', async () => {
    const other = await UpstreamFixture.create(app)
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    const mixed = callback.href.replace(fixture.realm.tenant.issuerId, other.realm.tenant.issuerId)
    expect((await browser.open(mixed)).status).toBe(400)
  })

  test("a code of another user's sign-in is bound to its challenge (code injection)", async () => {
    const victim = await fixture.startUpstreamSignIn(method)
    provider.userClaims = newUpstreamUser(known('injected@example.com'))
    const stolen = (await fixture.redirectFromProvider(victim.address)).searchParams.get('code')!
    const attacker = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(attacker.address)
    callback.searchParams.set('code', stolen)
    expectRefusal(await attacker.browser.open(callback.href), FAILED_MESSAGE)
  })

  test.each([
    ['no state', (url: URL) => url.searchParams.delete('state')],
    ['an invented state', (url: URL) => url.searchParams.set('state', `${'x'.repeat(21)}.${'y'.repeat(43)}`)],
    ['a changed state', (url: URL) => url.searchParams.set('state', `${url.searchParams.get('state')!.slice(0, -1)}!`)],
    [
      'another suffix',
      (url: URL) => url.searchParams.set('state', `${url.searchParams.get('state')!.split('.')[0]}.${'z'.repeat(43)}`),
    ],
    ['a state twice', (url: URL) => url.searchParams.append('state', url.searchParams.get('state')!)],
    ['a state with SQL', (url: URL) => url.searchParams.set('state', "x'; DROP TABLE users; --")],
    ['a NUL', (url: URL) => url.searchParams.set('code', 'a\0b')],
  ])('%s: an error page, no redirect', async (_, change) => {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    change(callback)
    const response = await browser.request(callback.href)
    expect([response.status, response.headers.get('location')]).toEqual([400, null])
    expect(await response.text()).toContain('Something went wrong')
  })

  test('a repeated code is ignored', async () => {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    callback.searchParams.append('code', 'another')
    expectRefusal(await browser.open(callback.href), FAILED_MESSAGE)
  })

  test('a user who returns after ten minutes starts again', async () => {
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    app.clock.advance(10 * 60_000 + 1)
    expectRefusal(await browser.open(callback.href), /out of date/)
  })

  test('a callback after the user has submitted another method is rejected', async () => {
    await fixture.realm.createUser('meanwhile@example.com')
    const { address, browser } = await fixture.startUpstreamSignIn(method)
    const callback = await fixture.redirectFromProvider(address)
    const again = await browser.open(
      `${fixture.realm.url}/interaction/${address.searchParams.get('state')!.split('.')[0]}`,
    )
    expect([again.status, errorMessageOf(again)]).toEqual([200, undefined])
    await browser.submit(again, { username: 'meanwhile@example.com', password: 'wrong password' })
    expect((await browser.open(callback.href)).status).toBe(400)
  })

  test.each(['disabled', 'deleted'])('a method that was %s in the meantime does not sign in', async (change) => {
    const own = await fixture.addOidcMethod(provider.url)
    provider.userClaims = newUpstreamUser()
    const { address, browser } = await fixture.startUpstreamSignIn(own)
    const callback = await fixture.redirectFromProvider(address)
    const { I, owner } = fixture.realm.tenant
    const path = `${I}/auth-methods/${own.id}`
    if (change === 'deleted') expect((await owner.delete(path)).status).toBe(204)
    else expectStatus(await owner.patch(path, { enabled_login: false }), 200)
    app.clock.advance(11_000)
    const page = await browser.open(callback.href)
    expect(isSignedIn(page)).toBe(false)
    expect(page.status).toBeLessThan(500)
  })

  test('callbacks are rate-limited like form submissions', async () => {
    const limited = await startApp({
      env: { ALLOW_PRIVATE_NETWORKS: 'true', RATE_LIMITS: '{"login":{"quota":3,"window":60}}' },
    })
    try {
      const there = await UpstreamFixture.create(limited)
      const own = await there.addOidcMethod(provider.url)
      provider.userClaims = newUpstreamUser()
      expect(isSignedIn(await there.signInThrough(own))).toBe(true)
      const { address, browser } = await there.startUpstreamSignIn(own)
      const page = await browser.open((await there.redirectFromProvider(address)).href)
      expect([page.status, errorMessageOf(page)]).toEqual([429, expect.stringMatching(/Too many attempts/)])
    } finally {
      await limited.close()
    }
  }, 60_000)
})

test('a provider at a private address is not called', async () => {
  const strict = await startApp({ env: { LOG_LEVEL: 'silent' } })
  try {
    const there = await UpstreamFixture.create(strict)
    const { I, owner } = there.realm.tenant
    const settings = { issuer_url: provider.url, client_id: 'us', client_secret: SECRET }
    const body = { name: 'Upstream', method: 'oidc', first_factor_only: true, settings }
    const plain = await owner.post(`${I}/auth-methods`, body)
    expect([plain.status, plain.body.details[0].field]).toEqual([400, 'settings.issuer_url'])

    const port = new URL(provider.url).port
    const before = provider.requests.length
    for (const host of ['127.0.0.1', 'localhost', '[::1]', '10.0.0.1', '169.254.169.254']) {
      const own = await there.addOidcMethod(`https://${host}:${port}`)
      expectRefusal(await there.signInThrough(own), FAILED_MESSAGE)
    }
    // The Core API would reject this URL, so it is written directly to the database.
    const own = await there.addOidcMethod('https://up.example.com')
    await strict.gatehouse.database.prisma.$executeRawUnsafe(
      `UPDATE auth_methods SET settings = jsonb_set(settings, '{issuer_url}', to_jsonb($1::text)) WHERE id = $2`,
      provider.url,
      own.id,
    )
    strict.clock.advance(11_000)
    expectRefusal(await there.signInThrough(own), FAILED_MESSAGE)
    expect(provider.requests.length).toBe(before)
  } finally {
    await strict.close()
  }
}, 60_000)
