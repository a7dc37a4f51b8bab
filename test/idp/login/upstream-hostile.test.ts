/** Hostile providers, and answers that come back on wrong ways (security rules 1, 17, 22, 23). */
import { generateKeyPairSync } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import type { Loose } from '../../setup/api.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, problemOf, TestBrowser } from '../browser.js'
import { PASSWORD } from '../setup.js'
import { back, FakeOidc, type Mischief, SECRET, symmetric, unsigned } from './providers.js'
import { DENIED, FAILED, isIn, type Method, refused, WaysIn } from './ways-in.js'

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

describe('hostile providers (security rule 23)', () => {
  const otherKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
  const rows: [string, Mischief][] = [
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
    // Of what is kept for a while, nothing may be known yet.
    const asksAnew = 'metadata' in mischief || 'keys' in mischief
    const own = asksAnew ? await ways.oidc(provider.url) : method
    provider.person = somebody(known(`hostile-${count}@example.com`))
    provider.mischief = mischief
    const before = (await ways.users()).length
    const page = await ways.through(own)
    refused(page, FAILED)
    expect(page.html).not.toMatch(/secret-of-upstream|invalid_grant|accounts\.example/)
    expect((await ways.users()).length).toBe(before)

    // The same provider, honest again, is let in: it was the mischief.
    provider.mischief = {}
    if (asksAnew) app.clock.advance(11 * 60_000)
    expect(isIn(await ways.through(own))).toBe(true)
  })

  test('who says no at the provider is told so in their language', async () => {
    provider.mischief = { authorize: ({ params }) => back(params, { error: 'access_denied' }) }
    refused(await ways.through(method), DENIED)
    const page = await ways.through(method, new TestBrowser('https://', { 'accept-language': 'de' }))
    expect(problemOf(page)).toMatch(/^Upstream hat die Anmeldung nicht bestätigt/)
    expect((await ways.events('user.login.failed'))[0]).toMatchObject({
      userId: null,
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
    refused(page, FAILED)
    expect(isIn(await browser.submit(page, { username: 'another.way@example.com', password: PASSWORD }))).toBe(true)
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
    const callback = await ways.at(address)
    const kept = await browser.request(callback.href)
    const handle = kept.headers.get('location')!
    expect((await new TestBrowser().open(handle)).status).toBe(400)
    const copies = [browser.copy(), browser.copy(), browser.copy(), browser.copy()]
    const pages = await Promise.all(copies.map((one) => one.open(handle)))
    const code = callback.searchParams.get('code')
    const redeemed = provider.asked.filter(({ path, params }) => path === '/token' && params.get('code') === code)
    expect(redeemed).toHaveLength(1)
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
    refused(await attacker.browser.open(callback.href), FAILED)
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
    refused(await browser.open(callback.href), FAILED)
  })

  test('who comes back after ten minutes begins anew', async () => {
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    app.clock.advance(10 * 60_000 + 1)
    refused(await browser.open(callback.href), /out of date/)
  })

  test('who has gone another way meanwhile is not overtaken', async () => {
    await ways.realm.user('meanwhile@example.com')
    const { address, browser } = await ways.out(method)
    const callback = await ways.at(address)
    const again = await browser.open(
      `${ways.realm.url}/interaction/${address.searchParams.get('state')!.split('.')[0]}`,
    )
    expect([again.status, problemOf(again)]).toEqual([200, undefined])
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
      refused(await there.through(own), FAILED)
    }
    // Past the checks of the Core API.
    const own = await there.oidc('https://up.example.com')
    await strict.gatehouse.tools.prisma.$executeRawUnsafe(
      `UPDATE auth_methods SET settings = jsonb_set(settings, '{issuer_url}', to_jsonb($1::text)) WHERE id = $2`,
      provider.url,
      own.id,
    )
    strict.clock.advance(11_000)
    refused(await there.through(own), FAILED)
    expect(provider.asked.length).toBe(before)
  } finally {
    await strict.close()
  }
}, 60_000)
