/**
 * Passkeys at sign-in (WebAuthn Level 3 section 7.2, docs/contract.md#authentication-methods,
 * docs/contract.md#tokens-and-claims, docs/contract.md#output-escaping-and-page-headers).
 */
import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { coseKey, createCredentialId, type Passkey } from '../../setup/authenticator.js'
import {
  addMethods,
  createTestUser,
  enrollTotp,
  methodButtonsOn,
  passkeyOptionsOn,
  registerPasskey,
  type TestUser,
} from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { errorMessageOf, headingOf, TestBrowser } from '../browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  client = await realm.createClient({ application_type: 'spa' })
  await addMethods(realm, 'passkey', 'totp')
})
afterAll(() => app.close())

const REFUSED = 'This passkey cannot be used here. Try another one, or use another method.'

/** Opens the sign-in page, and returns its passkey options and a function that submits a passkey response. */
async function begin(params: Record<string, string> = {}, browser = new TestBrowser()) {
  const begun = await realm.openSignInPage(client, params, browser)
  return {
    ...begun,
    options: passkeyOptionsOn(begun.page),
    send: (credential: string, page = begun.page) => browser.submit(page, { method: 'passkey', credential }),
  }
}

async function createUserWithPasskey(): Promise<{ person: TestUser; passkey: Passkey }> {
  const person = await createTestUser(realm)
  return { person, passkey: await registerPasskey(realm, person) }
}

const eventsOf = async (userId: string) =>
  (await app.gatehouse.database.prisma.event.findMany({ where: { userId }, orderBy: { id: 'asc' } })).map(
    ({ type, data }) => [type, (data as { reason?: string }).reason].filter((part) => part !== undefined).join(' '),
  )

const verifierOf = (passkey: Passkey) =>
  app.gatehouse.database.prisma.verifier.findFirstOrThrow({ where: { credentialId: passkey.id } })

describe('the page', () => {
  test('has a button that is hidden until the script runs, and a CSP that allows only this script and no requests', async () => {
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
    expect(passkeyOptionsOn(page)).toEqual({
      challenge: expect.stringMatching(/^[\w-]{43}$/),
      rpId: '127.0.0.1',
      timeout: 300_000,
      userVerification: 'required',
      allowCredentials: [],
    })
  })

  test('does not mention passkeys, and runs no script, if the issuer has no such method', async () => {
    const other = await Realm.create(app, 'Other')
    const person = await createTestUser(other)
    const passkey = await registerPasskey(other, person)
    const spa = await other.createClient({ application_type: 'spa' })
    const { page, browser } = await other.openSignInPage(spa)
    expect(page.html).not.toMatch(/passkey|webauthn|<script/)
    expect(page.headers.get('content-security-policy')).not.toContain('script-src')
    const credential = passkey.authenticate({ challenge: 'abc', rpId: '127.0.0.1' })
    expect(headingOf(await browser.submit(page, { method: 'passkey', credential }))).toBe('Sign in')
  })

  test('an injected script cannot run', async () => {
    const { page } = await begin({ login_hint: '"><script>alert(1)</script>' })
    expect(page.html.match(/<script>/g)).toHaveLength(1)
  })

  test.each(['en', 'de'])('a submission without a passkey response shows an error message (%s)', async (ui_locales) => {
    const { page, browser } = await realm.openSignInPage(client, { ui_locales })
    const nextPage = await browser.submit(page, { method: 'passkey' })
    expect(errorMessageOf(nextPage)).toMatch(
      ui_locales === 'de' ? /Passkey-Abfrage wurde abgebrochen/ : /passkey request was canceled or failed/,
    )
  })
})

describe('a passkey as the first factor', () => {
  test('identifies the user and counts as both factors: hwk, mfa, and nothing else is required', async () => {
    const { person, passkey } = await createUserWithPasskey()
    await enrollTotp(realm, person)
    expectStatus(
      await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { mfa_required: true } } }),
      200,
    )
    app.clock.advance(11_000)
    const { options, send, verifier } = await begin()
    const code = redirectParametersOf(await send(passkey.authenticate(options)))['code']!
    const response = await realm.exchangeCode(client, { code, code_verifier: verifier, redirect_uri: REDIRECT_URI })
    expect(jwtClaims(response.body.id_token)).toMatchObject({
      sub: person.id,
      amr: ['hwk', 'mfa'],
      acr: 'urn:svc:assurance:loa1',
    })
    expectStatus(
      await realm.tenant.owner.patch(realm.tenant.I, { settings: { security: { mfa_required: false } } }),
      200,
    )
    app.clock.advance(11_000)
    expect((await eventsOf(person.id)).slice(-3)).toEqual([
      'user.verification.succeeded',
      'user.login.succeeded',
      'session.created',
    ])
  })

  test('its last use, signature counter and backup state are stored', async () => {
    const { passkey } = await createUserWithPasskey()
    expect(await verifierOf(passkey)).toMatchObject({ lastUsedAt: null, data: { backup_state: true } })
    const { options, send } = await begin()
    expect(
      redirectParametersOf(await send(passkey.authenticate(options, { flags: 0x0d, signCount: 7 })))['code'],
    ).toBeDefined()
    expect(await verifierOf(passkey)).toMatchObject({
      signCount: 7n,
      data: { backup_state: false, backup_eligible: true },
    })
    expect(Number((await verifierOf(passkey)).lastUsedAt)).toBeGreaterThan(0)
  })

  test('acr is that of passkeys if the application requested it', async () => {
    const { passkey } = await createUserWithPasskey()
    const { options, send, verifier } = await begin({ acr_values: 'urn:svc:method:passkey' })
    const code = redirectParametersOf(await send(passkey.authenticate(options)))['code']!
    const response = await realm.exchangeCode(client, { code, code_verifier: verifier, redirect_uri: REDIRECT_URI })
    expect(jwtClaims(response.body.id_token)['acr']).toBe('urn:svc:method:passkey')
  })

  test.each(['EdDSA', 'RS256'] as const)(
    'a key of another type (%s) with an invalid signature is rejected',
    async (kind) => {
      const { person, passkey } = await createUserWithPasskey()
      const other = createCredentialId()
      const body = {
        type: 'passkey',
        credential_id: other,
        public_key: coseKey(kind),
        algorithm: kind === 'EdDSA' ? -8 : -257,
      }
      expectStatus(await realm.tenant.owner.post(person.path, body), 201)
      const { options, send } = await begin()
      expect(errorMessageOf(await send(passkey.authenticate(options, { credentialId: other })))).toBe(REFUSED)
    },
  )

  test('a user who cannot sign in sees a message that does not say why', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const half = await realm.openSignInPage(client)
    const { username } = person
    const factor = await half.browser.submit(half.page, { username, password: PASSWORD, method: 'password' })
    expectStatus(
      await realm.tenant.owner.patch(`${realm.tenant.I}/users/${person.id}`, {
        status: 'suspended',
        status_reason: 'x',
      }),
      200,
    )
    const { options, send } = await begin()
    const first = await send(passkey.authenticate(options))
    const second = await half.browser.submit(factor, { credential: passkey.authenticate(passkeyOptionsOn(factor)) })
    for (const page of [first, second]) expect(errorMessageOf(page)).toMatch(/cannot sign in at the moment/)
    const failed = (await eventsOf(person.id)).filter((event) => event.startsWith('user.login.failed'))
    expect(failed).toEqual(Array(2).fill('user.login.failed suspended'))
  })
})

test('a passkey of another host of the issuer remains required; the page says that it cannot be used here', async () => {
  const person = await createTestUser(realm)
  const body = {
    type: 'passkey',
    credential_id: createCredentialId(),
    public_key: coseKey(),
    rp_id: 'login.example.com',
  }
  expectStatus(await realm.tenant.owner.post(person.path, body), 201)
  const { page, browser } = await realm.openSignInPage(client)
  const closed = await browser.submit(page, { username: person.username, password: PASSWORD })
  expect(headingOf(closed)).toBe('No second factor available')
  expect(methodButtonsOn(closed)).toEqual(['back'])
})
