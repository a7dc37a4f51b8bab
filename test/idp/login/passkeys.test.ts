/** Passkeys at sign-in (WebAuthn level 3 section 7.2; spec 2.4, 5.3; security rules 1, 6, 16, 21, 22). */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { coseKey, newCredentialId, type Passkey } from '../../setup/authenticator.js'
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
    const half = await realm.begin(client)
    const { username } = person
    const factor = await half.browser.submit(half.page, { username, password: PASSWORD, method: 'password' })
    must(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${person.id}`, {
        status: 'suspended',
        status_reason: 'x',
      }),
      200,
    )
    const { options, send } = await begin()
    const first = await send(passkey.answer(options))
    const second = await half.browser.submit(factor, { credential: passkey.answer(optionsOn(factor)) })
    for (const page of [first, second]) expect(problemOf(page)).toMatch(/cannot sign in at the moment/)
    const failed = (await eventsOf(person.id)).filter((event) => event.startsWith('user.login.failed'))
    expect(failed).toEqual(Array(2).fill('user.login.failed suspended'))
  })
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
