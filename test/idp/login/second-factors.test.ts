/**
 * Second factors at sign-in (docs/contract.md#second-factors, docs/contract.md#credentials,
 * docs/contract.md#single-use-values, docs/contract.md#equal-answers-and-lockout, docs/contract.md#recent-sign-in).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import {
  addMethods,
  createBackupCodes,
  createTestUser,
  enrollTotp,
  methodButtonsOn,
  passkeyOptionsOn,
  registerPasskey,
  type TestUser,
} from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { errorMessageOf, headingOf, invalidFieldsOf, type Page, TestBrowser } from '../browser.js'
import { jwtClaims, PASSWORD, REDIRECT_URI, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
/** An issuer that offers every second factor and requires none. */
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  client = await realm.createClient({ application_type: 'spa' })
  await addMethods(realm, 'passkey', 'totp', 'backup_codes')
})
afterAll(() => app.close())

interface IssuerSetup {
  realm: Realm
  client: TestClient
}

/** Creates another issuer with these authentication methods and these values in `settings.security`. */
async function createIssuer(methods: string[], security: object = {}): Promise<IssuerSetup> {
  const other = await Realm.create(app, 'Other')
  await addMethods(other, ...methods)
  expectStatus(await other.tenant.owner.patch(other.tenant.I, { settings: { security } }), 200)
  return { realm: other, client: await other.createClient({ application_type: 'spa' }) }
}

/** Creates an organization with this value of `mfa_required`, adds the user, and returns its id. */
async function organization({ tenant }: Realm, person: TestUser, mfa_required: boolean): Promise<string> {
  const { data } = expectStatus(
    await tenant.owner.post(`${tenant.I}/organizations`, { security: { mfa_required } }),
    201,
  )
  expectStatus(await tenant.owner.post(`${tenant.I}/organizations/${data.id}/members`, { member_id: person.id }), 201)
  return data.id
}

/** Submits username and password, and returns the next page. */
async function signInWithPassword(
  person: TestUser,
  params: Record<string, string> = {},
  at: IssuerSetup = { realm, client },
  browser = new TestBrowser(),
) {
  const begun = await at.realm.openSignInPage(at.client, params, browser)
  const page = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
  return { ...begun, browser, page }
}

const code = (secret: string, step = 0) => totpCode(secret, app.clock.now(), step)

/** Exchanges the code in the redirect to the application, and returns the claims of the ID token. */
async function idToken(page: Page, verifier: string, at: IssuerSetup = { realm, client }) {
  const response = await at.realm.exchangeCode(at.client, {
    code: redirectParametersOf(page)['code']!,
    code_verifier: verifier,
    redirect_uri: REDIRECT_URI,
  })
  return jwtClaims(expectStatus({ ...response, text: JSON.stringify(response.body) }, 200)['id_token'])
}

const eventTypesOf = async (userId: string) =>
  (await app.gatehouse.database.prisma.event.findMany({ where: { userId }, orderBy: { id: 'asc' } })).map(
    ({ type, data }) => `${type} ${(data as { method?: string }).method ?? ''}`.trim(),
  )

describe('who must use a second factor', () => {
  const has: Record<string, (person: TestUser) => Promise<unknown>> = {
    totp: (person) => enrollTotp(realm, person),
    passkey: (person) => registerPasskey(realm, person),
    backup_codes: (person) => createBackupCodes(realm, person),
  }
  test.each([
    { given: [], shown: [] },
    { given: ['totp'], shown: ['code', 'back'] },
    { given: ['passkey'], shown: ['passkey', 'back'] },
    { given: ['backup_codes'], shown: ['code', 'back'] },
    { given: ['totp', 'backup_codes'], shown: ['code', 'backup_codes', 'back'] },
    { given: ['backup_codes', 'totp', 'passkey'], shown: ['passkey', 'totp', 'backup_codes', 'back'] },
  ])('a user who has one: $given, on the page: $shown', async ({ given, shown }) => {
    const person = await createTestUser(realm)
    for (const one of given) await has[one]!(person)
    const { page } = await signInWithPassword(person)
    if (shown.length === 0) expect(redirectParametersOf(page)['code']).toBeDefined()
    else expect(methodButtonsOn(page)).toEqual(shown)
  })

  test('no user for a factor whose method the issuer does not offer', async () => {
    const at = await createIssuer(['totp'])
    const person = await createTestUser(at.realm)
    await createBackupCodes(at.realm, person)
    expect(redirectParametersOf((await signInWithPassword(person, {}, at)).page)['code']).toBeDefined()
    await enrollTotp(at.realm, person)
    expect(headingOf((await signInWithPassword(person, {}, at)).page)).toBe('One more step')
  })

  test.each([
    { methods: ['totp', 'passkey', 'backup_codes'], heading: 'Set up an authenticator app' },
    { methods: ['passkey'], heading: 'Create a passkey' },
    { methods: ['backup_codes'], heading: 'Set up an authenticator app' },
    { methods: [], heading: 'Set up an authenticator app' },
  ])('every user if the issuer requires it, with $methods: $heading', async ({ methods, heading }) => {
    const at = await createIssuer(methods, { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { page, browser } = await signInWithPassword(person, {}, at)
    expect(headingOf(page)).toBe(heading)
    // No submission bypasses the setup of a second factor.
    for (const values of [{}, { method: 'kept' }, { method: 'code', code: '000000' }, { method: 'done' }])
      expect((await browser.submit(page, values)).html).not.toBe('')
  })

  test.each([
    { org: 'the one that requires it', required: true },
    { org: 'the one that does not require it', required: false },
    { org: 'none', required: true },
  ])(
    'a member of an organization that requires it, unless another organization is selected: $org',
    async ({ org, required }) => {
      const at = await createIssuer(['totp'])
      const person = await createTestUser(at.realm)
      const strict = await organization(at.realm, person, true)
      const easy = await organization(at.realm, person, false)
      const params = org === 'none' ? {} : { org: org === 'the one that requires it' ? strict : easy }
      const { page } = await signInWithPassword(person, params as Record<string, string>, at)
      if (required) expect(headingOf(page)).toBe('Set up an authenticator app')
      else expect(redirectParametersOf(page)['code']).toBeDefined()
    },
  )

  test('the second factor comes before a required password change', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const { data } = expectStatus(await realm.tenant.owner.get(person.path), 200)
    const own = data.find(({ type }: { type: string }) => type === 'password')
    expectStatus(await realm.tenant.owner.patch(`${person.path}/${own.id}`, { must_change: true }), 200)
    const { page, browser } = await signInWithPassword(person)
    expect(headingOf(page)).toBe('One more step')
    expect(page.html).not.toContain('new_password')
    expect(headingOf(await browser.submit(page, { code: code(secret) }))).toBe('Choose a new password')
  })
})

describe('if users choose an organization', () => {
  const choosing = (at: Realm) =>
    at.createClient({ application_type: 'spa' }, { settings: { restrictions: { organizations: { ask: true } } } })

  test('a user who has a second factor must use it before the page with the organizations', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    for (const demanded of [true, false]) await organization(realm, person, demanded)
    const { page, browser } = await signInWithPassword(person, {}, { realm, client: await choosing(realm) })
    expect(headingOf(page)).toBe('One more step')
    expect(page.html).not.toContain('org_')
    expect(headingOf(await browser.submit(page, { code: code(secret) }))).toBe('Choose an organization')
  })

  test('a user without a second factor sets one up only for the organization that requires it', async () => {
    const at = await createIssuer(['totp'])
    const person = await createTestUser(at.realm)
    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    const here = { realm: at.realm, client: await choosing(at.realm) }
    const first = await signInWithPassword(person, {}, here)
    expect(headingOf(first.page)).toBe('Choose an organization')
    expect(redirectParametersOf(await first.browser.submit(first.page, { organization: easy }))['code']).toBeDefined()
    const second = await signInWithPassword(person, {}, here)
    const enroll = await second.browser.submit(second.page, { organization: strict })
    expect(headingOf(enroll)).toBe('Set up an authenticator app')
    // Single sign-on does not bypass the requirement: after the choice of the organization, the user must sign in again.
    const fresh = await here.realm.createClient(
      { application_type: 'spa' },
      { settings: { restrictions: { organizations: { ask: true } } } },
    )
    const { page } = await here.realm.openSignInPage(fresh, {}, first.browser)
    expect(headingOf(page)).toBe('Choose an organization')
    expect(headingOf(await first.browser.submit(page, { organization: strict }))).toBe('Sign in')
  })
})

describe('a sign-in with a second factor', () => {
  test.each(['totp', 'backup_codes'] as const)('a password and %s: amr is pwd, otp, mfa', async (kind) => {
    const person = await createTestUser(realm)
    const typed = kind === 'totp' ? code(await enrollTotp(realm, person)) : (await createBackupCodes(realm, person))[0]!
    const { page, browser, verifier } = await signInWithPassword(person)
    const token = await idToken(await browser.submit(page, { code: typed }), verifier)
    expect(token).toMatchObject({ sub: person.id, amr: ['pwd', 'otp', 'mfa'], acr: 'urn:svc:assurance:loa1' })
    expect(await eventTypesOf(person.id)).toEqual(
      expect.arrayContaining(['user.verification.succeeded password', `user.verification.succeeded ${kind}`]),
    )
  })

  test('a password and a passkey: amr is pwd, hwk, mfa; the options list only the passkeys of the user', async () => {
    const person = await createTestUser(realm)
    const passkey = await registerPasskey(realm, person)
    const { page, browser, verifier } = await signInWithPassword(person)
    const options = passkeyOptionsOn(page)
    expect(options).toMatchObject({
      rpId: '127.0.0.1',
      userVerification: 'required',
      allowCredentials: [{ type: 'public-key', id: passkey.id }],
    })
    const done = await browser.submit(page, { method: 'passkey', credential: passkey.authenticate(options) })
    expect(await idToken(done, verifier)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })
  })

  test('users can switch between their factors, and back to the username', async () => {
    const person = await createTestUser(realm)
    await registerPasskey(realm, person)
    const secret = await enrollTotp(realm, person)
    const { page, browser } = await signInWithPassword(person)
    const app = await browser.submit(page, { method: 'totp' })
    expect(methodButtonsOn(app)).toEqual(['code', 'passkey', 'back'])
    // A submission for a factor that the user does not have is ignored.
    const none = await browser.submit(app, { method: 'backup_codes', code: '' })
    expect(errorMessageOf(none)).toMatch(/Fill in/)
    const begun = await browser.submit(none, { method: 'back' })
    expect(headingOf(begun)).toBe('Sign in')
    // After `back` the password is required again.
    const skipped = await browser.submit(begun, { code: code(secret) })
    expect(headingOf(skipped)).toBe('Sign in')
  })

  test.each(['en', 'de'])('every page has the language %s', async (ui_locales) => {
    const person = await createTestUser(realm)
    await enrollTotp(realm, person)
    await createBackupCodes(realm, person)
    const { page, browser } = await signInWithPassword(person, { ui_locales })
    const second = await browser.submit(page, { method: 'backup_codes' })
    const words = ui_locales === 'de' ? ['Noch ein Schritt', 'Ersatzcode'] : ['One more step', 'Backup code']
    expect([headingOf(page), /<label for="code">([^<]+)/.exec(second.html)?.[1]]).toEqual(words)
    expect(second.html).not.toMatch(/undefined|\{\w+\}|<script/)
    const policy = second.headers.get('content-security-policy')
    expect(policy).not.toContain('script-src')
  })
})

describe('codes are accepted once', () => {
  test('a code of a used time step is rejected, in another browser as well', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const now = code(secret)
    const first = await signInWithPassword(person)
    expect(redirectParametersOf(await first.browser.submit(first.page, { code: now }))['code']).toBeDefined()
    const second = await signInWithPassword(person)
    expect(errorMessageOf(await second.browser.submit(second.page, { code: now }))).toMatch(/used already/)
    app.clock.advance(30_000)
    const third = await signInWithPassword(person)
    expect(redirectParametersOf(await third.browser.submit(third.page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a backup code is accepted once, in upper or lower case and with separators; after the last one the page shows new ones', async () => {
    const person = await createTestUser(realm)
    const codes = await createBackupCodes(realm, person)
    for (const [n, one] of codes.entries()) {
      const { page, browser } = await signInWithPassword(person)
      const nextPage = await browser.submit(page, { code: ` ${one.slice(0, 5).toLowerCase()}-${one.slice(5)} ` })
      if (n < codes.length - 1) {
        expect(redirectParametersOf(nextPage)['code']).toBeDefined()
        continue
      }
      expect(headingOf(nextPage)).toBe('Save your backup codes')
      const kept = [...nextPage.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
      expect(kept).toHaveLength(10)
      expect(redirectParametersOf(await browser.submit(nextPage, { method: 'kept' }))['code']).toBeDefined()
      const next = await signInWithPassword(person)
      expect(errorMessageOf(await next.browser.submit(next.page, { code: codes[0]! }))).toMatch(
        /^This backup code is wrong or was used already/,
      )
      const again = await signInWithPassword(person)
      expect(redirectParametersOf(await again.browser.submit(again.page, { code: kept[3]! }))['code']).toBeDefined()
    }
  }, 60_000)

  test.each(['one browser', 'twenty browsers'])(
    'of 20 concurrent submissions of one correct code from %s one succeeds',
    async (from) => {
      const person = await createTestUser(realm)
      const secret = await enrollTotp(realm, person)
      const one = await signInWithPassword(person)
      const standing =
        from === 'one browser'
          ? Array.from({ length: 20 }, () => ({ ...one, browser: one.browser.clone() }))
          : await Promise.all(Array.from({ length: 20 }, () => signInWithPassword(person)))
      const right = code(secret)
      const pages = await Promise.all(standing.map(({ browser, page }) => browser.submit(page, { code: right })))
      const codes = new Set(pages.filter(({ html }) => html === '').map((page) => redirectParametersOf(page)['code']))
      const succeeded = (await eventTypesOf(person.id)).filter((line) => line === 'user.verification.succeeded totp')
      expect(succeeded).toHaveLength(1)
      // The submissions of one browser belong to one login transaction, so several of them can return a code. Of twenty
      // browsers only the first one gets a code.
      if (from === 'twenty browsers') expect(codes.size).toBe(1)
      expect(codes.size).toBeGreaterThan(0)
    },
    60_000,
  )

  test('no step can be skipped with an earlier form or another browser', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const begun = await realm.openSignInPage(client)
    const { browser } = begun
    const nextPage = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
    expect(errorMessageOf(await browser.submit(begun.page, { username: person.username, password: PASSWORD }))).toMatch(
      /out of date/,
    )
    const otherBrowser = await new TestBrowser().submit(nextPage, { code: code(secret) })
    expect(otherBrowser.status).toBe(400)
    expect(errorMessageOf(await browser.submit(nextPage, { csrf: '0.x', code: code(secret) }))).toMatch(/out of date/)
    const wrong = await browser.submit(nextPage, { code: '000000' })
    expect(errorMessageOf(wrong)).toMatch(/wrong or was used already/)
    // `nextPage` was already submitted with the wrong code.
    expect(errorMessageOf(await browser.submit(nextPage, { code: code(secret) }))).toMatch(/out of date/)
    const now = await browser.open(nextPage.url)
    expect(redirectParametersOf(await browser.submit(now, { code: code(secret) }))['code']).toBeDefined()
  })

  test('codes of another user are not accepted', async () => {
    const [ada, eve] = [await createTestUser(realm), await createTestUser(realm)]
    const theirs = await enrollTotp(realm, eve)
    const codes = await createBackupCodes(realm, eve)
    await enrollTotp(realm, ada)
    const { page, browser } = await signInWithPassword(ada)
    const wrong = await browser.submit(page, { code: code(theirs), username: eve.username })
    expect(errorMessageOf(wrong)).toMatch(/wrong or was used already/)
    expect(errorMessageOf(await browser.submit(wrong, { code: codes[0]!, method: 'backup_codes' }))).toMatch(
      /wrong or was used already/,
    )
  })
})

describe('rate limits of guesses', () => {
  test('five wrong codes lock codes for a minute, but neither the password nor a passkey', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const passkey = await registerPasskey(realm, person)
    const { page, browser } = await signInWithPassword(person)
    let at = await browser.submit(page, { method: 'totp' })
    for (let n = 0; n < 5; n++) at = await browser.submit(at, { code: '000000' })
    at = await browser.submit(at, { code: code(secret) })
    expect([errorMessageOf(at), invalidFieldsOf(at)]).toEqual([expect.stringMatching(/Too many wrong codes/), []])
    expect(await eventTypesOf(person.id)).toEqual(
      expect.arrayContaining(['user.verification.failed totp', 'user.login.failed totp', 'user.locked']),
    )
    // The password is still accepted, and so is a passkey as the second factor.
    const other = await signInWithPassword(person)
    expect(headingOf(other.page)).toBe('One more step')
    const done = await other.browser.submit(other.page, {
      method: 'passkey',
      credential: passkey.authenticate(passkeyOptionsOn(other.page)),
    })
    expect(redirectParametersOf(done)['code']).toBeDefined()
    app.clock.advance(61_000)
    expect(redirectParametersOf(await browser.submit(at, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a password locked by guesses does not lock the second factor of a user who has passed it', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const { page, browser } = await signInWithPassword(person)
    for (let n = 0; n < 5; n++) {
      const guess = await realm.openSignInPage(client)
      await guess.browser.submit(guess.page, { username: person.username, password: 'not this one' })
    }
    expect(redirectParametersOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
  })

  const failedCodes = async ({ id }: TestUser) =>
    (await eventTypesOf(id)).filter((line) => line === 'user.verification.failed totp').length

  test('of 20 concurrent guesses from 20 browsers five are checked', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const standing = await Promise.all(Array.from({ length: 20 }, () => signInWithPassword(person)))
    await Promise.all(
      standing.map(({ browser, page }, n) => browser.submit(page, { code: String(n).padStart(6, '0') })),
    )
    expect(await failedCodes(person)).toBe(5)
    const { page, browser } = await signInWithPassword(person)
    expect(errorMessageOf(await browser.submit(page, { code: code(secret) }))).toMatch(/Too many wrong codes/)
  }, 60_000)

  test('of 20 concurrent submissions of one form, each wrong code that was checked counts as a failure', async () => {
    const person = await createTestUser(realm)
    await enrollTotp(realm, person)
    const { page, browser } = await signInWithPassword(person)
    const guesses = Array.from({ length: 20 }, (_, n) => String(n).padStart(6, '0'))
    await Promise.all(guesses.map((one) => browser.clone().submit(page, { code: one })))
    const counted = await app.gatehouse.database.prisma.loginFailure.findUniqueOrThrow({
      where: { userId: `second:${person.id}` },
    })
    expect(counted).toMatchObject({ failures: await failedCodes(person), pendingAttempts: 0 })
    expect(counted.failures).toBeGreaterThan(0)
    expect(counted.failures).toBeLessThanOrEqual(5)
  }, 30_000)
})

describe('mfa_required while no method for a second factor is enabled', () => {
  const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')

  /** Signs in with the password and completes the enrollment. Returns the TOTP secret and the backup codes. */
  async function enrolled(at: IssuerSetup, person: TestUser, params: Record<string, string> = {}) {
    const { page, browser, verifier } = await signInWithPassword(person, params, at)
    expect([headingOf(page), methodButtonsOn(page)]).toEqual(['Set up an authenticator app', ['code', 'back']])
    const secret = secretOn(page)
    const shown = await browser.submit(page, { code: code(secret) })
    expect(headingOf(shown)).toBe('Save your backup codes')
    const codes = [...shown.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
    const token = await idToken(await browser.submit(shown, { method: 'kept' }), verifier, at)
    expect(token).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })
    app.clock.advance(30_000)
    return { secret, codes }
  }

  test.each([[[]], [['backup_codes']]])(
    'with %j: the authenticator app and backup codes are set up nevertheless, and required from then on',
    async (methods) => {
      const at = await createIssuer(methods, { mfa_required: true })
      const person = await createTestUser(at.realm)
      const { secret, codes } = await enrolled(at, person)

      const next = await signInWithPassword(person, {}, at)
      expect([headingOf(next.page), methodButtonsOn(next.page)]).toEqual([
        'One more step',
        ['code', 'backup_codes', 'back'],
      ])
      expect(redirectParametersOf(await next.browser.submit(next.page, { code: code(secret) }))['code']).toBeDefined()
      const last = await signInWithPassword(person, {}, at)
      const paper = await last.browser.submit(last.page, { method: 'backup_codes' })
      expect(redirectParametersOf(await last.browser.submit(paper, { code: codes[0]! }))['code']).toBeDefined()
    },
  )

  test('enabling a method later does not exempt users from the factor that they have', async () => {
    const at = await createIssuer([], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { secret } = await enrolled(at, person)
    await addMethods(at.realm, 'passkey')
    const { page, browser } = await signInWithPassword(person, {}, at)
    expect(headingOf(page)).toBe('One more step')
    expect(redirectParametersOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('if two windows set up a second factor, the second window then asks for the factor of the first', async () => {
    const at = await createIssuer([], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const [one, two] = [await signInWithPassword(person, {}, at), await signInWithPassword(person, {}, at)]
    const secret = secretOn(one.page)
    const codes = await one.browser.submit(one.page, { code: code(secret) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    const nextPage = await two.browser.submit(two.page, { code: code(secretOn(two.page)) })
    expect(headingOf(nextPage)).toBe('One more step')
    expect(redirectParametersOf(await two.browser.submit(nextPage, { code: code(secret, 1) }))['code']).toBeDefined()
  })

  test('mfa_required of an organization: a member with a second factor must use it for every organization', async () => {
    const at = await createIssuer([])
    const person = await createTestUser(at.realm)
    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    expect(redirectParametersOf((await signInWithPassword(person, { org: easy }, at)).page)['code']).toBeDefined()
    const { secret } = await enrolled(at, person, { org: strict })
    for (const params of [{ org: strict }, { org: easy }, {}]) {
      const { page, browser } = await signInWithPassword(person, params as Record<string, string>, at)
      expect(headingOf(page)).toBe('One more step')
      expect(redirectParametersOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
      app.clock.advance(30_000)
    }
    // Without the requirement, a second factor is required only if its method is enabled, and none is enabled here.
    expectStatus(
      await at.realm.tenant.owner.patch(`${at.realm.tenant.I}/organizations/${strict}`, {
        security: { mfa_required: false },
      }),
      200,
    )
    expect(redirectParametersOf((await signInWithPassword(person, {}, at)).page)['code']).toBeDefined()
  })
})

describe('enrollment of a required second factor', () => {
  test('an authenticator app, then backup codes, then signed in; the next time both work', async () => {
    const at = await createIssuer(['totp', 'passkey', 'backup_codes'], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { page, browser, verifier } = await signInWithPassword(person, {}, at)
    expect(page.html).toMatch(/<svg/)
    expect(page.html).not.toMatch(/<script|style=|<p[^>]*aria-label/)
    const secret = /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)

    const wrong = await browser.submit(page, { code: '000000' })
    expect(errorMessageOf(wrong)).toMatch(/This code is wrong\. Check the clock/)
    expect([invalidFieldsOf(page), invalidFieldsOf(wrong)]).toEqual([[], ['code']])
    expect(wrong.html).toContain(secret.slice(0, 4))
    const codes = await browser.submit(wrong, { code: code(secret) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    const kept = [...codes.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
    expect(kept).toHaveLength(10)
    // The backup codes are shown until the user confirms them, and become valid with the confirmation.
    expect((await browser.open(codes.url)).html).toContain(kept[0])
    const done = await browser.submit(codes, { method: 'kept' })
    expect(await idToken(done, verifier, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

    const stored = await app.gatehouse.database.prisma.loginState.findMany({
      where: { issuerId: at.realm.tenant.issuerId },
    })
    const text = JSON.stringify(stored, (_, value) => (typeof value === 'bigint' ? 0 : value))
    for (const plain of [secret, kept[0]!, kept[0]!.replace('-', '')]) expect(text).not.toContain(plain)

    app.clock.advance(30_000)
    const next = await signInWithPassword(person, {}, at)
    const byPaper = await next.browser.submit(next.page, { method: 'backup_codes' })
    expect(redirectParametersOf(await next.browser.submit(byPaper, { code: kept[0]! }))['code']).toBeDefined()
    const last = await signInWithPassword(person, {}, at)
    expect(redirectParametersOf(await last.browser.submit(last.page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a passkey instead of the app', async () => {
    const at = await createIssuer(['totp', 'passkey'], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { page, browser, verifier } = await signInWithPassword(person, {}, at)
    const nextPage = await browser.submit(page, { method: 'enroll_passkey' })
    expect(headingOf(nextPage)).toBe('Create a passkey')
    const passkey = new Passkey(person.id, new URL(app.idpUrl).origin)
    // A response from another origin is rejected, and the next page has a new challenge.
    const elsewhere = new Passkey(person.id, 'https://evil.example.com').register(passkeyOptionsOn(nextPage))
    const refused = await browser.submit(nextPage, { method: 'passkey', credential: elsewhere })
    expect(errorMessageOf(refused)).toMatch(/cannot be used here/)
    expect(passkeyOptionsOn(refused).challenge).not.toBe(passkeyOptionsOn(nextPage).challenge)
    const done = await browser.submit(refused, {
      method: 'passkey',
      credential: passkey.register(passkeyOptionsOn(refused)),
    })
    expect(await idToken(done, verifier, at)).toMatchObject({ amr: ['pwd', 'hwk', 'mfa'] })
    const next = await signInWithPassword(person, {}, at)
    const signed = await next.browser.submit(next.page, {
      credential: passkey.authenticate(passkeyOptionsOn(next.page)),
    })
    expect(redirectParametersOf(signed)['code']).toBeDefined()
  })

  test('after five wrong codes the page has a new secret', async () => {
    const at = await createIssuer(['totp'], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const { page, browser } = await signInWithPassword(person, {}, at)
    const secretOn = (one: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(one.html)![1]!.replaceAll(' ', '')
    let now = page
    for (let n = 0; n < 5; n++) now = await browser.submit(now, { code: '000000' })
    expect(secretOn(now)).toBe(secretOn(page))
    now = await browser.submit(now, { code: code(secretOn(page)) })
    expect(errorMessageOf(now)).toMatch(/new QR code/)
    expect(secretOn(now)).not.toBe(secretOn(page))
    expect(redirectParametersOf(await browser.submit(now, { code: code(secretOn(now)) }))['code']).toBeDefined()
  })

  test('if two windows set up a second factor with an enabled method, the second window asks for the factor of the first', async () => {
    const at = await createIssuer(['totp'], { mfa_required: true })
    const person = await createTestUser(at.realm)
    const [one, two] = [await signInWithPassword(person, {}, at), await signInWithPassword(person, {}, at)]
    const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
    const first = secretOn(one.page)
    expect(redirectParametersOf(await one.browser.submit(one.page, { code: code(first) }))['code']).toBeDefined()
    const nextPage = await two.browser.submit(two.page, { code: code(secretOn(two.page)) })
    expect(headingOf(nextPage)).toBe('One more step')
    expect(redirectParametersOf(await two.browser.submit(nextPage, { code: code(first, 1) }))['code']).toBeDefined()
  })
})

describe('single sign-on', () => {
  test('a browser session with one factor must sign in again when two factors become required; with two factors it continues', async () => {
    const at = await createIssuer(['totp'])
    const person = await createTestUser(at.realm)
    const browser = new TestBrowser()
    expect(redirectParametersOf((await signInWithPassword(person, {}, at, browser)).page)['code']).toBeDefined()
    const again = async (params: Record<string, string> = {}) =>
      (await at.realm.openSignInPage(at.client, params, browser)).page
    expect(redirectParametersOf(await again())['code']).toBeDefined()

    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    expect(redirectParametersOf(await again({ org: easy }))['code']).toBeDefined()
    expect(redirectParametersOf(await again({ prompt: 'none', org: strict }))['error']).toBe('login_required')
    const page = await again({ org: strict })
    expect(headingOf(page)).toBe('Sign in')
    expect(page.html).toContain(`value="${person.username}"`)
    const enroll = await browser.submit(page, { password: PASSWORD })
    const secret = /<p class="secret"[^>]*>([^<]+)</.exec(enroll.html)![1]!.replaceAll(' ', '')
    expect(redirectParametersOf(await browser.submit(enroll, { code: code(secret) }))['code']).toBeDefined()
    for (const org of [strict, easy, undefined])
      expect(redirectParametersOf(await again(org === undefined ? {} : { org }))['code']).toBeDefined()
  })

  test('when the issuer enables mfa_required, every user must use a second factor at the next authorization request', async () => {
    const at = await createIssuer(['totp'])
    const person = await createTestUser(at.realm)
    const browser = new TestBrowser()
    await signInWithPassword(person, {}, at, browser)
    expectStatus(
      await at.realm.tenant.owner.patch(at.realm.tenant.I, { settings: { security: { mfa_required: true } } }),
      200,
    )
    app.clock.advance(11_000)
    const { page } = await at.realm.openSignInPage(at.client, {}, browser)
    expect(headingOf(page)).toBe('Sign in')
  })
})

describe('step-up by acr_values', () => {
  const PASSKEY = 'urn:svc:method:passkey'

  test('a session without the method signs in again with it, and the token has its acr', async () => {
    const person = await createTestUser(realm)
    const secret = await enrollTotp(realm, person)
    const browser = new TestBrowser()
    const first = await signInWithPassword(person, {}, { realm, client }, browser)
    await browser.submit(first.page, { code: code(secret) })
    const passkey = await registerPasskey(realm, person)
    expect(redirectParametersOf((await realm.openSignInPage(client, {}, browser)).page)['code']).toBeDefined()

    const { page, verifier } = await realm.openSignInPage(client, { acr_values: PASSKEY }, browser)
    expect(headingOf(page)).toBe('Sign in')
    // After a password, the passkey is the only accepted second factor.
    const nextPage = await browser.submit(page, { password: PASSWORD })
    expect(methodButtonsOn(nextPage)).toEqual(['passkey', 'back'])
    const done = await browser.submit(nextPage, { credential: passkey.authenticate(passkeyOptionsOn(nextPage)) })
    expect(await idToken(done, verifier)).toMatchObject({ acr: PASSKEY, amr: ['pwd', 'hwk', 'mfa'] })
    expect(
      redirectParametersOf((await realm.openSignInPage(client, { acr_values: PASSKEY }, browser)).page)['code'],
    ).toBeDefined()
  })

  test('a session with the method does not sign in again, and its token has the requested acr', async () => {
    const person = await createTestUser(realm)
    const passkey = await registerPasskey(realm, person)
    const browser = new TestBrowser()
    const { page } = await signInWithPassword(person, {}, { realm, client }, browser)
    await browser.submit(page, { credential: passkey.authenticate(passkeyOptionsOn(page)) })
    for (const acr of [PASSKEY, 'urn:svc:method:password']) {
      const begun = await realm.openSignInPage(client, { acr_values: `urn:svc:method:github ${acr}` }, browser)
      expect((await idToken(begun.page, begun.verifier))['acr']).toBe(acr)
    }
  })

  test.each([
    { acr_values: 'urn:svc:assurance:loa1', required: false },
    { acr_values: `urn:svc:assurance:loa1 ${PASSKEY}`, required: false },
    { acr_values: 'urn:svc:method:totp', required: true },
    { acr_values: PASSKEY, required: true },
    { acr_values: 'urn:svc:method:password', required: false },
  ])(
    'after a sign-in with a password, acr_values $acr_values requires another sign-in: $required',
    async ({ acr_values, required }) => {
      const person = await createTestUser(realm)
      const browser = new TestBrowser()
      await signInWithPassword(person, {}, { realm, client }, browser)
      const { page } = await realm.openSignInPage(client, { acr_values }, browser)
      if (!required) return expect(redirectParametersOf(page)['code']).toBeDefined()
      expect(headingOf(page)).toBe('Sign in')
      // A user who does not have the requested method can sign in with a password.
      return expect(redirectParametersOf(await browser.submit(page, { password: PASSWORD }))['code']).toBeDefined()
    },
  )
})
