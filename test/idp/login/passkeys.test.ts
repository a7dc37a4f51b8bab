/** Passkeys at sign-in (WebAuthn level 3 section 7.2; spec 2.4, 5.3; security rules 1, 6, 16, 21, 22). */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { type AssertionTwist, coseKey, newCredentialId, Passkey } from '../../setup/authenticator.js'
import {
  addMethods,
  buttonsOn,
  givePasskey,
  giveTotp,
  makePerson,
  optionsOn,
  type Person,
} from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { headingOf, problemOf, TestBrowser } from '../browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  client = await realm.client({ application_type: 'spa' })
  await addMethods(realm, 'passkey', 'totp')
})
afterAll(() => app.close())

const REFUSED = 'That passkey cannot be used here. Try another one, or choose another way.'

/** Opens the sign-in page, as its passkeys see it. */
async function begin(params: Record<string, string> = {}, browser = new TestBrowser()) {
  const begun = await realm.begin(client, params, browser)
  return {
    ...begun,
    options: optionsOn(begun.page),
    send: (credential: string, page = begun.page) => browser.submit(page, { method: 'passkey', credential }),
  }
}

async function someone(): Promise<{ person: Person; passkey: Passkey }> {
  const person = await makePerson(realm)
  return { person, passkey: await givePasskey(realm, person) }
}

const eventsOf = async (userId: string) =>
  (await app.gatehouse.tools.prisma.event.findMany({ where: { userId }, orderBy: { id: 'asc' } })).map(
    ({ type, data }) => [type, (data as { reason?: string }).reason].filter((part) => part !== undefined).join(' '),
  )

const verifierOf = (passkey: Passkey) =>
  app.gatehouse.tools.prisma.verifier.findFirstOrThrow({ where: { credentialId: passkey.id } })

describe('the page', () => {
  test('has a button that waits for the script, and runs this one script by its hash; it may ask nobody', async () => {
    const { page } = await begin()
    const [script, ...more] = [...page.html.matchAll(/<script>([\s\S]*?)<\/script>/g)].map(([, text]) => text!)
    expect(more).toEqual([])
    const hash = createHash('sha256').update(script!).digest('base64')
    expect(page.headers.get('content-security-policy')).toMatch(
      new RegExp(
        `^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-${hash.replace(/[+/]/g, '\\$&')}'; img-src data:; base-uri 'none'; frame-ancestors 'none'$`,
      ),
    )
    expect(page.html).toMatch(/<button [^>]*id="passkey"[^>]* hidden>/)
    expect(page.html).toMatch(/<p class="or" data-with-script hidden>/)
    expect(page.html).toContain('autocomplete="username webauthn"')
    expect(page.html).not.toMatch(/ on\w+="/)
    expect(optionsOn(page)).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: '127.0.0.1',
      timeout: 300_000,
      userVerification: 'required',
      allowCredentials: [],
    })
  })

  test('speaks of no passkeys, and runs nothing, where the issuer has no such method', async () => {
    const other = await Realm.make(app, 'Other')
    const person = await makePerson(other)
    const passkey = await givePasskey(other, person)
    const spa = await other.client({ application_type: 'spa' })
    const { page, browser } = await other.begin(spa)
    expect(page.html).not.toMatch(/passkey|webauthn|<script/)
    expect(page.headers.get('content-security-policy')).not.toContain('script-src')
    const credential = passkey.answer({ challenge: 'abc', rpId: '127.0.0.1' })
    expect(headingOf(await browser.submit(page, { method: 'passkey', credential }))).toBe('Sign in')
  })

  test('a script that somebody gets onto a page is not the one that may run', async () => {
    const { page } = await begin({ login_hint: '"><script>alert(1)</script>' })
    expect(page.html.match(/<script>/g)).toHaveLength(1)
  })

  test.each(['en', 'de'])('without the script the button says what is missing (%s)', async (ui_locales) => {
    const { page, browser } = await realm.begin(client, { ui_locales })
    const answered = await browser.submit(page, { method: 'passkey' })
    expect(problemOf(answered)).toMatch(ui_locales === 'de' ? /keinen Passkey verwendet/ : /did not use a passkey/)
  })
})

describe('a passkey as the first factor', () => {
  test('says itself who signs in, and is both factors: hwk, mfa, and nothing else is asked', async () => {
    const { person, passkey } = await someone()
    await giveTotp(realm, person)
    must(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { mfa_required: true } } }), 200)
    app.clock.advance(11_000)
    const { options, send, verifier } = await begin()
    const code = redirectOf(await send(passkey.answer(options)))['code']!
    const answer = await realm.exchange(client, { code, code_verifier: verifier, redirect_uri: CALLBACK })
    expect(claimsOf(answer.body.id_token)).toMatchObject({
      sub: person.id,
      amr: ['hwk', 'mfa'],
      acr: 'urn:svc:assurance:loa1',
    })
    must(await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { mfa_required: false } } }), 200)
    app.clock.advance(11_000)
    expect((await eventsOf(person.id)).slice(-3)).toEqual([
      'user.verification.succeeded',
      'user.login.succeeded',
      'session.created',
    ])
  })

  test('its use is kept: when, the count, and whether it is backed up now', async () => {
    const { passkey } = await someone()
    expect(await verifierOf(passkey)).toMatchObject({ lastUsedAt: null, data: { backup_state: true } })
    const { options, send } = await begin()
    expect(redirectOf(await send(passkey.answer(options, { flags: 0x0d, count: 7 })))['code']).toBeDefined()
    expect(await verifierOf(passkey)).toMatchObject({
      signCount: 7n,
      data: { backup_state: false, backup_eligible: true },
    })
    expect(Number((await verifierOf(passkey)).lastUsedAt)).toBeGreaterThan(0)
  })

  test('acr names it where the application asked for it', async () => {
    const { passkey } = await someone()
    const { options, send, verifier } = await begin({ acr_values: 'urn:svc:method:passkey' })
    const code = redirectOf(await send(passkey.answer(options)))['code']!
    const answer = await realm.exchange(client, { code, code_verifier: verifier, redirect_uri: CALLBACK })
    expect(claimsOf(answer.body.id_token)['acr']).toBe('urn:svc:method:passkey')
  })

  test.each(['EdDSA', 'RS256'] as const)(
    'a key of another kind (%s) with a signature of none is refused',
    async (kind) => {
      const { person, passkey } = await someone()
      const other = newCredentialId()
      const body = {
        type: 'passkey',
        credential_id: other,
        public_key: coseKey(kind),
        algorithm: kind === 'EdDSA' ? -8 : -257,
      }
      must(await realm.tenant.owner.post(person.path, body), 201)
      const { options, send } = await begin()
      expect(problemOf(await send(passkey.answer(options, { credentialId: other })))).toBe(REFUSED)
    },
  )

  test('a user who may not sign in is told so, and nothing more', async () => {
    const { person, passkey } = await someone()
    must(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${person.id}`, {
        status: 'suspended',
        status_reason: 'x',
      }),
      200,
    )
    const { options, send } = await begin()
    const page = await send(passkey.answer(options))
    expect(problemOf(page)).toMatch(/cannot sign in at the moment/)
    expect(await eventsOf(person.id)).toContain('user.login.failed suspended')
  })
})

const flipped = (text: string): string => {
  const bytes = Buffer.from(text, 'base64url')
  bytes[bytes.length - 1]! ^= 1
  return bytes.toString('base64url')
}

describe.each(['first', 'second'] as const)('hostile answers as the %s factor', (factor) => {
  /** The page on which a passkey of this person is asked for. */
  async function asked(person: Person) {
    const browser = new TestBrowser()
    const { page } = await realm.begin(client, {}, browser)
    if (factor === 'first') return { browser, page, options: optionsOn(page) }
    const second = await browser.submit(page, { username: person.username, password: PASSWORD })
    return { browser, page: second, options: optionsOn(second) }
  }
  const send = (at: Awaited<ReturnType<typeof asked>>, credential: string) =>
    at.browser.submit(at.page, { method: 'passkey', credential })
  let victim: Awaited<ReturnType<typeof someone>>
  beforeAll(async () => {
    victim = await someone()
  })

  test('the honest answer is taken', async () => {
    const { person, passkey } = await someone()
    const at = await asked(person)
    expect(redirectOf(await send(at, passkey.answer(at.options)))['code']).toBeDefined()
  })

  test.each<[string, AssertionTwist]>([
    ['a registration in its place', { type: 'webauthn.create' }],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['no challenge', { challenge: '' }],
    ['another origin', { origin: 'https://evil.example.com' }],
    ['the origin with another port', { origin: 'http://127.0.0.1:1' }],
    ['the origin with another scheme', { origin: 'https://127.0.0.1' }],
    ['an origin that begins like ours', { origin: 'http://127.0.0.1.evil.example.com' }],
    ['another relying party', { rpId: 'evil.example.com' }],
    ['a frame in another page', { crossOrigin: true }],
    ['nobody verified', { flags: 0x19 }],
    ['nobody present', { flags: 0x1c }],
    ['backed up but not eligible', { flags: 0x15 }],
    ['eligible no more', { flags: 0x05 }],
    ['the handle of nobody', { userHandle: 'usr_00000000000000000000000000' }],
    ['a tampered signature', { tamper: (r) => Object.assign(r, { signature: flipped(r['signature']!) }) }],
    ['tampered data', { tamper: (r) => Object.assign(r, { authenticatorData: flipped(r['authenticatorData']!) }) }],
    ['tampered words', { tamper: (r) => Object.assign(r, { clientDataJSON: `${r['clientDataJSON']}IA` }) }],
    ['an unknown credential', { credentialId: newCredentialId() }],
  ])('%s is refused, with one answer', async (_, twist) => {
    const { person, passkey } = victim
    const before = await verifierOf(passkey)
    const at = await asked(person)
    const answered = await send(at, passkey.answer(at.options, twist))
    expect(problemOf(answered)).toBe(REFUSED)
    expect(await verifierOf(passkey)).toEqual(before)
    // What was refused does not spoil the next attempt.
    const again = passkey.answer(optionsOn(answered))
    const done = await at.browser.submit(answered, { method: 'passkey', credential: again })
    expect(redirectOf(done)['code']).toBeDefined()
  })

  test.each([
    'x',
    'null',
    '[]',
    '{}',
    '{"id":"AA","rawId":"AA","type":"public-key"}',
    '{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"AA","authenticatorData":"AA","signature":"AA"}}',
    '{"id":"a b","rawId":"a b","type":"public-key","response":{}}',
    `{"id":${'['.repeat(40)}${']'.repeat(40)}}`,
    '{"__proto__":{"id":"AA"}}',
    '{"id":"\\u0000"}',
  ])('%s is no answer', async (credential) => {
    expect(problemOf(await send(await asked(victim.person), credential))).toBe(REFUSED)
  })

  test('an answer is good once: not for a later form, nor for another journey, nor in another browser', async () => {
    const { person, passkey } = await someone()
    const at = await asked(person)
    const answer = passkey.answer(at.options)
    const refused = await send(at, passkey.answer(at.options, { type: 'x' }))
    expect(problemOf(await send({ ...at, page: refused }, answer))).toBe(REFUSED)
    expect(problemOf(await send(await asked(person), answer))).toBe(REFUSED)
    const stranger = await new TestBrowser().submit(at.page, { method: 'passkey', credential: answer })
    expect(stranger.status).toBe(400)
    expect(problemOf(await send(at, answer))).toMatch(/out of date/)
  })

  test('the passkey of somebody else, of another issuer, or with the handle of another user is refused', async () => {
    const { person, passkey } = await someone()
    const eve = await someone()
    const elsewhere = await Realm.make(app, 'Elsewhere')
    await addMethods(elsewhere, 'passkey')
    const foreign = await givePasskey(elsewhere, await makePerson(elsewhere))
    const hostile = [
      (options: never) => foreign.answer(options),
      (options: never) => foreign.answer(options, { userHandle: person.id }),
      (options: never) => eve.passkey.answer(options, { userHandle: person.id }),
      (options: never) => passkey.answer(options, { userHandle: eve.person.id }),
      (options: never) => eve.passkey.answer(options, { credentialId: passkey.id }),
      ...(factor === 'second' ? [(options: never) => eve.passkey.answer(options)] : []),
    ]
    for (const answer of hostile) {
      const at = await asked(person)
      expect(problemOf(await send(at, answer(at.options as never)))).toBe(REFUSED)
    }
  })

  test(`an answer that does not say whose it is: ${factor === 'first' ? 'refused' : 'taken'}`, async () => {
    const { person, passkey } = victim
    const at = await asked(person)
    const answered = await send(at, passkey.answer(at.options, { userHandle: null }))
    if (factor === 'first') expect(problemOf(answered)).toBe(REFUSED)
    else expect(redirectOf(answered)['code']).toBeDefined()
  })

  test.each([
    { before: 5, now: 5, taken: false },
    { before: 5, now: 4, taken: false },
    { before: 5, now: 0, taken: false },
    { before: 5, now: 6, taken: true },
    { before: 0, now: 0, taken: true },
    { before: 0, now: 1, taken: true },
  ])(
    'a count of $now after $before: taken $taken; a copy of the passkey is in the trail',
    async ({ before, now, taken }) => {
      const { person, passkey } = await someone()
      await app.gatehouse.tools.prisma.verifier.updateMany({
        where: { credentialId: passkey.id },
        data: { signCount: before },
      })
      const at = await asked(person)
      const answered = await send(at, passkey.answer(at.options, { count: now }))
      if (taken) return expect(redirectOf(answered)['code']).toBeDefined()
      expect(problemOf(answered)).toBe(REFUSED)
      expect((await eventsOf(person.id)).slice(-2)).toEqual([
        'user.verification.failed',
        'user.login.failed wrong_sign_count',
      ])
      return expect(await verifierOf(passkey)).toMatchObject({ signCount: BigInt(before), lastUsedAt: null })
    },
  )

  test('of 20 answers with one count, sent together from 20 browsers, one is taken', async () => {
    const { person, passkey } = await someone()
    const standing = await Promise.all(Array.from({ length: 20 }, () => asked(person)))
    const pages = await Promise.all(standing.map((at) => send(at, passkey.answer(at.options, { count: 1 }))))
    expect(pages.filter(({ html }) => html === '')).toHaveLength(1)
  }, 60_000)
})

test('a passkey of another host of the issuer is asked for all the same; the page says that it cannot be used here', async () => {
  const person = await makePerson(realm)
  const body = { type: 'passkey', credential_id: newCredentialId(), public_key: coseKey(), rp_id: 'login.example.com' }
  must(await realm.tenant.owner.post(person.path, body), 201)
  const { page, browser } = await realm.begin(client)
  const closed = await browser.submit(page, { username: person.username, password: PASSWORD })
  expect(headingOf(closed)).toBe('A second step is missing')
  expect(buttonsOn(closed)).toEqual(['back'])
})
