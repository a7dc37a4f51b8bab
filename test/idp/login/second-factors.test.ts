/** Second factors at sign-in (spec 2.4, 2.7; security rules 1, 21, 22; decisions D13, D19, D25). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../../setup/actors.js'
import { Passkey } from '../../setup/authenticator.js'
import {
  addMethods,
  buttonsOn,
  giveBackupCodes,
  givePasskey,
  giveTotp,
  makePerson,
  optionsOn,
  type Person,
} from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { totpCode } from '../../setup/totp.js'
import { faultyOn, headingOf, type Page, problemOf, TestBrowser } from '../browser.js'
import { CALLBACK, claimsOf, PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
/** Has every second factor, and asks for none. */
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  client = await realm.client({ application_type: 'spa' })
  await addMethods(realm, 'passkey', 'totp', 'backup_codes')
})
afterAll(() => app.close())

interface Place {
  realm: Realm
  client: TestClient
}

/** Another issuer, with these methods and settings. */
async function place(methods: string[], security: object = {}): Promise<Place> {
  const other = await Realm.make(app, 'Other')
  await addMethods(other, ...methods)
  must(await other.tenant.owner.patch(other.tenant.I, { settings: { security } }), 200)
  return { realm: other, client: await other.client({ application_type: 'spa' }) }
}

/** An organization of the issuer that asks for two factors, or not. */
async function organization({ tenant }: Realm, person: Person, mfa_required: boolean): Promise<string> {
  const { data } = must(await tenant.owner.post(`${tenant.I}/organizations`, { security: { mfa_required } }), 201)
  must(await tenant.owner.post(`${tenant.I}/organizations/${data.id}/members`, { member_id: person.id }), 201)
  return data.id
}

/** The page after the password. */
async function withPassword(
  person: Person,
  params: Record<string, string> = {},
  at: Place = { realm, client },
  browser = new TestBrowser(),
) {
  const begun = await at.realm.begin(at.client, params, browser)
  const page = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
  return { ...begun, browser, page }
}

const code = (secret: string, step = 0) => totpCode(secret, app.clock.now(), step)

/** What the ID token says after this page, which must have led back to the application. */
async function idToken(page: Page, verifier: string, at: Place = { realm, client }) {
  const answer = await at.realm.exchange(at.client, {
    code: redirectOf(page)['code']!,
    code_verifier: verifier,
    redirect_uri: CALLBACK,
  })
  return claimsOf(must({ ...answer, text: JSON.stringify(answer.body) }, 200)['id_token'])
}

const trailOf = async (userId: string) =>
  (await app.gatehouse.tools.prisma.event.findMany({ where: { userId }, orderBy: { id: 'asc' } })).map(
    ({ type, data }) => `${type} ${(data as { method?: string }).method ?? ''}`.trim(),
  )

describe('who is asked for a second factor', () => {
  const has: Record<string, (person: Person) => Promise<unknown>> = {
    totp: (person) => giveTotp(realm, person),
    passkey: (person) => givePasskey(realm, person),
    backup_codes: (person) => giveBackupCodes(realm, person),
  }
  test.each([
    { given: [], shown: [] },
    { given: ['totp'], shown: ['code', 'back'] },
    { given: ['passkey'], shown: ['passkey', 'back'] },
    { given: ['backup_codes'], shown: ['code', 'back'] },
    { given: ['totp', 'backup_codes'], shown: ['code', 'backup_codes', 'back'] },
    { given: ['backup_codes', 'totp', 'passkey'], shown: ['passkey', 'totp', 'backup_codes', 'back'] },
  ])('whoever has one: $given, the preferred one first', async ({ given, shown }) => {
    const person = await makePerson(realm)
    for (const one of given) await has[one]!(person)
    const { page } = await withPassword(person)
    if (shown.length === 0) expect(redirectOf(page)['code']).toBeDefined()
    else expect(buttonsOn(page)).toEqual(shown)
  })

  test('nobody for a factor whose method the issuer does not offer', async () => {
    const at = await place(['totp'])
    const person = await makePerson(at.realm)
    await giveBackupCodes(at.realm, person)
    expect(redirectOf((await withPassword(person, {}, at)).page)['code']).toBeDefined()
    await giveTotp(at.realm, person)
    expect(headingOf((await withPassword(person, {}, at)).page)).toBe('One more step')
  })

  test.each([
    { methods: ['totp', 'passkey', 'backup_codes'], heading: 'Set up an authenticator app' },
    { methods: ['passkey'], heading: 'Create a passkey' },
    { methods: ['backup_codes'], heading: 'Set up an authenticator app' },
    { methods: [], heading: 'Set up an authenticator app' },
  ])('everybody where the issuer demands it, with $methods: $heading', async ({ methods, heading }) => {
    const at = await place(methods, { mfa_required: true })
    const person = await makePerson(at.realm)
    const { page, browser } = await withPassword(person, {}, at)
    expect(headingOf(page)).toBe(heading)
    // No answer gets past it.
    for (const values of [{}, { method: 'kept' }, { method: 'code', code: '000000' }, { method: 'done' }])
      expect((await browser.submit(page, values)).html).not.toBe('')
  })

  test.each([
    { org: 'the one that asks', asked: true },
    { org: 'the one that does not', asked: false },
    { org: 'none', asked: true },
  ])('members of an organization that demands it, where tokens will speak of it: $org', async ({ org, asked }) => {
    const at = await place(['totp'])
    const person = await makePerson(at.realm)
    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    const params = org === 'none' ? {} : { org: org === 'the one that asks' ? strict : easy }
    const { page } = await withPassword(person, params as Record<string, string>, at)
    if (asked) expect(headingOf(page)).toBe('Set up an authenticator app')
    else expect(redirectOf(page)['code']).toBeDefined()
  })

  test('the second factor comes before a password that must be changed is', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const { data } = must(await realm.tenant.owner.get(person.path), 200)
    const own = data.find(({ type }: { type: string }) => type === 'password')
    must(await realm.tenant.owner.patch(`${person.path}/${own.id}`, { must_change: true }), 200)
    const { page, browser } = await withPassword(person)
    expect(headingOf(page)).toBe('One more step')
    expect(page.html).not.toContain('new_password')
    expect(headingOf(await browser.submit(page, { code: code(secret) }))).toBe('Choose a new password')
  })
})

describe('where people choose an organization', () => {
  const choosing = (at: Realm) =>
    at.client({ application_type: 'spa' }, { settings: { restrictions: { organizations: { ask: true } } } })

  test('the second factor of whoever has one comes before any is named', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    for (const demanded of [true, false]) await organization(realm, person, demanded)
    const { page, browser } = await withPassword(person, {}, { realm, client: await choosing(realm) })
    expect(headingOf(page)).toBe('One more step')
    expect(page.html).not.toContain('org_')
    expect(headingOf(await browser.submit(page, { code: code(secret) }))).toBe('Choose an organization')
  })

  test('who has none gets one for the organization that demands it, and for no other', async () => {
    const at = await place(['totp'])
    const person = await makePerson(at.realm)
    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    const here = { realm: at.realm, client: await choosing(at.realm) }
    const first = await withPassword(person, {}, here)
    expect(headingOf(first.page)).toBe('Choose an organization')
    expect(redirectOf(await first.browser.submit(first.page, { organization: easy }))['code']).toBeDefined()
    const second = await withPassword(person, {}, here)
    const enroll = await second.browser.submit(second.page, { organization: strict })
    expect(headingOf(enroll)).toBe('Set up an authenticator app')
    // Nor does single sign-on open it: the choice stands, and more is asked for.
    const fresh = await here.realm.client(
      { application_type: 'spa' },
      { settings: { restrictions: { organizations: { ask: true } } } },
    )
    const { page } = await here.realm.begin(fresh, {}, first.browser)
    expect(headingOf(page)).toBe('Choose an organization')
    expect(headingOf(await first.browser.submit(page, { organization: strict }))).toBe('Sign in')
  })
})

describe('what it proves', () => {
  test.each(['totp', 'backup_codes'] as const)('a password and %s: pwd, otp, mfa', async (kind) => {
    const person = await makePerson(realm)
    const typed = kind === 'totp' ? code(await giveTotp(realm, person)) : (await giveBackupCodes(realm, person))[0]!
    const { page, browser, verifier } = await withPassword(person)
    const token = await idToken(await browser.submit(page, { code: typed }), verifier)
    expect(token).toMatchObject({ sub: person.id, amr: ['pwd', 'otp', 'mfa'], acr: 'urn:svc:assurance:loa1' })
    expect(await trailOf(person.id)).toEqual(
      expect.arrayContaining(['user.verification.succeeded password', `user.verification.succeeded ${kind}`]),
    )
  })

  test('a password and a passkey: pwd, hwk, mfa; only the passkeys of that user may answer', async () => {
    const person = await makePerson(realm)
    const passkey = await givePasskey(realm, person)
    const { page, browser, verifier } = await withPassword(person)
    const options = optionsOn(page)
    expect(options).toMatchObject({
      rpId: '127.0.0.1',
      userVerification: 'required',
      allowCredentials: [{ type: 'public-key', id: passkey.id }],
    })
    const done = await browser.submit(page, { method: 'passkey', credential: passkey.answer(options) })
    expect(await idToken(done, verifier)).toMatchObject({ sub: person.id, amr: ['pwd', 'hwk', 'mfa'] })
  })

  test('people switch between the ones they have, and back to who they are', async () => {
    const person = await makePerson(realm)
    await givePasskey(realm, person)
    const secret = await giveTotp(realm, person)
    const { page, browser } = await withPassword(person)
    const app = await browser.submit(page, { method: 'totp' })
    expect(buttonsOn(app)).toEqual(['code', 'passkey', 'back'])
    // A factor that they do not have is none.
    const none = await browser.submit(app, { method: 'backup_codes', code: '' })
    expect(problemOf(none)).toMatch(/fill in/)
    const begun = await browser.submit(none, { method: 'back' })
    expect(headingOf(begun)).toBe('Sign in')
    // The password is asked for anew.
    const skipped = await browser.submit(begun, { code: code(secret) })
    expect(headingOf(skipped)).toBe('Sign in')
  })

  test.each(['en', 'de'])('every page speaks %s', async (ui_locales) => {
    const person = await makePerson(realm)
    await giveTotp(realm, person)
    await giveBackupCodes(realm, person)
    const { page, browser } = await withPassword(person, { ui_locales })
    const second = await browser.submit(page, { method: 'backup_codes' })
    const words = ui_locales === 'de' ? ['Noch ein Schritt', 'Ersatzcode'] : ['One more step', 'Backup code']
    expect([headingOf(page), /<label for="code">([^<]+)/.exec(second.html)?.[1]]).toEqual(words)
    expect(second.html).not.toMatch(/undefined|\{\w+\}|<script/)
    const policy = second.headers.get('content-security-policy')
    expect(policy).not.toContain('script-src')
  })
})

describe('security rule 1: used once', () => {
  test('a code of a time step that was used is refused, in another browser as well', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const now = code(secret)
    const first = await withPassword(person)
    expect(redirectOf(await first.browser.submit(first.page, { code: now }))['code']).toBeDefined()
    const second = await withPassword(person)
    expect(problemOf(await second.browser.submit(second.page, { code: now }))).toMatch(/used already/)
    app.clock.advance(30_000)
    const third = await withPassword(person)
    expect(redirectOf(await third.browser.submit(third.page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a backup code works once, however it is spelt; after the last one there are new ones', async () => {
    const person = await makePerson(realm)
    const codes = await giveBackupCodes(realm, person)
    for (const [n, one] of codes.entries()) {
      const { page, browser } = await withPassword(person)
      const answered = await browser.submit(page, { code: ` ${one.slice(0, 5).toLowerCase()}-${one.slice(5)} ` })
      if (n < codes.length - 1) {
        expect(redirectOf(answered)['code']).toBeDefined()
        continue
      }
      expect(headingOf(answered)).toBe('Save your backup codes')
      const kept = [...answered.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
      expect(kept).toHaveLength(10)
      expect(redirectOf(await browser.submit(answered, { method: 'kept' }))['code']).toBeDefined()
      const next = await withPassword(person)
      expect(problemOf(await next.browser.submit(next.page, { code: codes[0]! }))).toMatch(/does not fit/)
      const again = await withPassword(person)
      expect(redirectOf(await again.browser.submit(again.page, { code: kept[3]! }))['code']).toBeDefined()
    }
  }, 60_000)

  test.each(['one browser', 'twenty browsers'])(
    '20 parallel submissions of one right code from %s: one winner',
    async (from) => {
      const person = await makePerson(realm)
      const secret = await giveTotp(realm, person)
      const one = await withPassword(person)
      const standing =
        from === 'one browser'
          ? Array.from({ length: 20 }, () => ({ ...one, browser: one.browser.copy() }))
          : await Promise.all(Array.from({ length: 20 }, () => withPassword(person)))
      const right = code(secret)
      const pages = await Promise.all(standing.map(({ browser, page }) => browser.submit(page, { code: right })))
      const codes = new Set(pages.filter(({ html }) => html === '').map((page) => redirectOf(page)['code']))
      const succeeded = (await trailOf(person.id)).filter((line) => line === 'user.verification.succeeded totp')
      expect(succeeded).toHaveLength(1)
      // Of one browser all see where it led; of twenty only the one that came first is in.
      if (from === 'twenty browsers') expect(codes.size).toBe(1)
      expect(codes.size).toBeGreaterThan(0)
    },
    60_000,
  )

  test('rule 22: nothing is skipped by sending an earlier form again, nor by another browser', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const begun = await realm.begin(client)
    const { browser } = begun
    const asked = await browser.submit(begun.page, { username: person.username, password: PASSWORD })
    expect(problemOf(await browser.submit(begun.page, { username: person.username, password: PASSWORD }))).toMatch(
      /out of date/,
    )
    const stranger = await new TestBrowser().submit(asked, { code: code(secret) })
    expect(stranger.status).toBe(400)
    expect(problemOf(await browser.submit(asked, { csrf: '0.x', code: code(secret) }))).toMatch(/out of date/)
    const wrong = await browser.submit(asked, { code: '000000' })
    expect(problemOf(wrong)).toMatch(/does not fit/)
    // The form before the wrong code is answered already.
    expect(problemOf(await browser.submit(asked, { code: code(secret) }))).toMatch(/out of date/)
    const now = await browser.open(asked.url)
    expect(redirectOf(await browser.submit(now, { code: code(secret) }))['code']).toBeDefined()
  })

  test('the step that was reached belongs to the user it was reached by', async () => {
    const [ada, eve] = [await makePerson(realm), await makePerson(realm)]
    const theirs = await giveTotp(realm, eve)
    const codes = await giveBackupCodes(realm, eve)
    await giveTotp(realm, ada)
    const { page, browser } = await withPassword(ada)
    const wrong = await browser.submit(page, { code: code(theirs), username: eve.username })
    expect(problemOf(wrong)).toMatch(/does not fit/)
    expect(problemOf(await browser.submit(wrong, { code: codes[0]!, method: 'backup_codes' }))).toMatch(/does not fit/)
  })
})

describe('decisions D19: guessing', () => {
  test('five wrong codes lock the second factor for a minute, and neither the password nor a passkey', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const passkey = await givePasskey(realm, person)
    const { page, browser } = await withPassword(person)
    let at = await browser.submit(page, { method: 'totp' })
    for (let n = 0; n < 5; n++) at = await browser.submit(at, { code: '000000' })
    at = await browser.submit(at, { code: code(secret) })
    expect([problemOf(at), faultyOn(at)]).toEqual([expect.stringMatching(/too many wrong codes/), []])
    expect(await trailOf(person.id)).toEqual(
      expect.arrayContaining(['user.verification.failed totp', 'user.login.failed totp', 'user.locked']),
    )
    // The password still opens the first door, and a passkey the second.
    const other = await withPassword(person)
    expect(headingOf(other.page)).toBe('One more step')
    const done = await other.browser.submit(other.page, {
      method: 'passkey',
      credential: passkey.answer(optionsOn(other.page)),
    })
    expect(redirectOf(done)['code']).toBeDefined()
    app.clock.advance(61_000)
    expect(redirectOf(await browser.submit(at, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a password locked by guesses leaves the second factor of whoever is past it alone', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const { page, browser } = await withPassword(person)
    for (let n = 0; n < 5; n++) {
      const guess = await realm.begin(client)
      await guess.browser.submit(guess.page, { username: person.username, password: 'not this one' })
    }
    expect(redirectOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
  })

  const failedCodes = async ({ id }: Person) =>
    (await trailOf(id)).filter((line) => line === 'user.verification.failed totp').length

  test('of 20 guesses sent together from 20 browsers five are looked at', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const standing = await Promise.all(Array.from({ length: 20 }, () => withPassword(person)))
    await Promise.all(
      standing.map(({ browser, page }, n) => browser.submit(page, { code: String(n).padStart(6, '0') })),
    )
    expect(await failedCodes(person)).toBe(5)
    const { page, browser } = await withPassword(person)
    expect(problemOf(await browser.submit(page, { code: code(secret) }))).toMatch(/too many wrong codes/)
  }, 60_000)

  test('of 20 guesses sent together in answer to one form each that is looked at counts, and none is left open', async () => {
    const person = await makePerson(realm)
    await giveTotp(realm, person)
    const { page, browser } = await withPassword(person)
    const guesses = Array.from({ length: 20 }, (_, n) => String(n).padStart(6, '0'))
    await Promise.all(guesses.map((one) => browser.copy().submit(page, { code: one })))
    const counted = await app.gatehouse.tools.prisma.loginFailure.findUniqueOrThrow({
      where: { userId: `second:${person.id}` },
    })
    expect(counted).toMatchObject({ failures: await failedCodes(person), pending: 0 })
    expect(counted.failures).toBeGreaterThan(0)
    expect(counted.failures).toBeLessThanOrEqual(5)
  }, 30_000)
})

describe('D35: mfa_required while no method for a second factor is enabled', () => {
  const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')

  /** Sets up what the page asks for, all the way. */
  async function enrolled(at: Place, person: Person, params: Record<string, string> = {}) {
    const { page, browser, verifier } = await withPassword(person, params, at)
    expect([headingOf(page), buttonsOn(page)]).toEqual(['Set up an authenticator app', ['code', 'back']])
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
    'with %j: the app and backup codes are set up all the same, and asked for from then on',
    async (methods) => {
      const at = await place(methods, { mfa_required: true })
      const person = await makePerson(at.realm)
      const { secret, codes } = await enrolled(at, person)

      const next = await withPassword(person, {}, at)
      expect([headingOf(next.page), buttonsOn(next.page)]).toEqual(['One more step', ['code', 'backup_codes', 'back']])
      expect(redirectOf(await next.browser.submit(next.page, { code: code(secret) }))['code']).toBeDefined()
      const last = await withPassword(person, {}, at)
      const paper = await last.browser.submit(last.page, { method: 'backup_codes' })
      expect(redirectOf(await last.browser.submit(paper, { code: codes[0]! }))['code']).toBeDefined()
    },
  )

  test('a method that is enabled later does not spare anybody the factor that they have', async () => {
    const at = await place([], { mfa_required: true })
    const person = await makePerson(at.realm)
    const { secret } = await enrolled(at, person)
    await addMethods(at.realm, 'passkey')
    const { page, browser } = await withPassword(person, {}, at)
    expect(headingOf(page)).toBe('One more step')
    expect(redirectOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('two windows that set one up: the second is asked for what the first one made', async () => {
    const at = await place([], { mfa_required: true })
    const person = await makePerson(at.realm)
    const [one, two] = [await withPassword(person, {}, at), await withPassword(person, {}, at)]
    const secret = secretOn(one.page)
    const codes = await one.browser.submit(one.page, { code: code(secret) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    const asked = await two.browser.submit(two.page, { code: code(secretOn(two.page)) })
    expect(headingOf(asked)).toBe('One more step')
    expect(redirectOf(await two.browser.submit(asked, { code: code(secret, 1) }))['code']).toBeDefined()
  })

  test('a demand of an organization: for it, and the factor is asked for wherever its members sign in', async () => {
    const at = await place([])
    const person = await makePerson(at.realm)
    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    expect(redirectOf((await withPassword(person, { org: easy }, at)).page)['code']).toBeDefined()
    const { secret } = await enrolled(at, person, { org: strict })
    for (const params of [{ org: strict }, { org: easy }, {}]) {
      const { page, browser } = await withPassword(person, params as Record<string, string>, at)
      expect(headingOf(page)).toBe('One more step')
      expect(redirectOf(await browser.submit(page, { code: code(secret) }))['code']).toBeDefined()
      app.clock.advance(30_000)
    }
    // Without a demand the issuer’s methods decide, and it has none.
    must(
      await at.realm.tenant.owner.patch(`${at.realm.tenant.I}/organizations/${strict}`, {
        security: { mfa_required: false },
      }),
      200,
    )
    expect(redirectOf((await withPassword(person, {}, at)).page)['code']).toBeDefined()
  })
})

describe('getting a second factor where one is demanded', () => {
  test('an authenticator app, then backup codes, then in; the next time both work', async () => {
    const at = await place(['totp', 'passkey', 'backup_codes'], { mfa_required: true })
    const person = await makePerson(at.realm)
    const { page, browser, verifier } = await withPassword(person, {}, at)
    expect(page.html).toMatch(/<svg/)
    expect(page.html).not.toMatch(/<script|style=|<p[^>]*aria-label/)
    const secret = /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)

    const wrong = await browser.submit(page, { code: '000000' })
    expect(problemOf(wrong)).toMatch(/not the code of this moment/)
    expect([faultyOn(page), faultyOn(wrong)]).toEqual([[], ['code']])
    expect(wrong.html).toContain(secret.slice(0, 4))
    const codes = await browser.submit(wrong, { code: code(secret) })
    expect(headingOf(codes)).toBe('Save your backup codes')
    const kept = [...codes.html.matchAll(/<li>([^<]+)<\/li>/g)].map(([, text]) => text!)
    expect(kept).toHaveLength(10)
    // They are shown until somebody has them, and count from then on.
    expect((await browser.open(codes.url)).html).toContain(kept[0])
    const done = await browser.submit(codes, { method: 'kept' })
    expect(await idToken(done, verifier, at)).toMatchObject({ amr: ['pwd', 'otp', 'mfa'] })

    const stored = await app.gatehouse.tools.prisma.loginState.findMany({
      where: { issuerId: at.realm.tenant.issuerId },
    })
    const text = JSON.stringify(stored, (_, value) => (typeof value === 'bigint' ? 0 : value))
    for (const plain of [secret, kept[0]!, kept[0]!.replace('-', '')]) expect(text).not.toContain(plain)

    app.clock.advance(30_000)
    const next = await withPassword(person, {}, at)
    const byPaper = await next.browser.submit(next.page, { method: 'backup_codes' })
    expect(redirectOf(await next.browser.submit(byPaper, { code: kept[0]! }))['code']).toBeDefined()
    const last = await withPassword(person, {}, at)
    expect(redirectOf(await last.browser.submit(last.page, { code: code(secret) }))['code']).toBeDefined()
  })

  test('a passkey instead of the app', async () => {
    const at = await place(['totp', 'passkey'], { mfa_required: true })
    const person = await makePerson(at.realm)
    const { page, browser, verifier } = await withPassword(person, {}, at)
    const asked = await browser.submit(page, { method: 'enroll_passkey' })
    expect(headingOf(asked)).toBe('Create a passkey')
    const passkey = new Passkey(person.id, new URL(app.idpUrl).origin)
    // Nothing but the answer to this very challenge will do, and a failed one is followed by another challenge.
    const elsewhere = new Passkey(person.id, 'https://evil.example.com').register(optionsOn(asked))
    const refused = await browser.submit(asked, { method: 'passkey', credential: elsewhere })
    expect(problemOf(refused)).toMatch(/cannot be used here/)
    expect(optionsOn(refused).challenge).not.toBe(optionsOn(asked).challenge)
    const done = await browser.submit(refused, { method: 'passkey', credential: passkey.register(optionsOn(refused)) })
    expect(await idToken(done, verifier, at)).toMatchObject({ amr: ['pwd', 'hwk', 'mfa'] })
    const next = await withPassword(person, {}, at)
    const signed = await next.browser.submit(next.page, { credential: passkey.answer(optionsOn(next.page)) })
    expect(redirectOf(signed)['code']).toBeDefined()
  })

  test('an enrolment is good for five tries; then there is another secret', async () => {
    const at = await place(['totp'], { mfa_required: true })
    const person = await makePerson(at.realm)
    const { page, browser } = await withPassword(person, {}, at)
    const secretOn = (one: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(one.html)![1]!.replaceAll(' ', '')
    let now = page
    for (let n = 0; n < 5; n++) now = await browser.submit(now, { code: '000000' })
    expect(secretOn(now)).toBe(secretOn(page))
    now = await browser.submit(now, { code: code(secretOn(page)) })
    expect(problemOf(now)).toMatch(/new key/)
    expect(secretOn(now)).not.toBe(secretOn(page))
    expect(redirectOf(await browser.submit(now, { code: code(secretOn(now)) }))['code']).toBeDefined()
  })

  test('of two windows that set one up, the second is asked for what the first one made', async () => {
    const at = await place(['totp'], { mfa_required: true })
    const person = await makePerson(at.realm)
    const [one, two] = [await withPassword(person, {}, at), await withPassword(person, {}, at)]
    const secretOn = (page: Page) => /<p class="secret"[^>]*>([^<]+)</.exec(page.html)![1]!.replaceAll(' ', '')
    const first = secretOn(one.page)
    expect(redirectOf(await one.browser.submit(one.page, { code: code(first) }))['code']).toBeDefined()
    const asked = await two.browser.submit(two.page, { code: code(secretOn(two.page)) })
    expect(headingOf(asked)).toBe('One more step')
    expect(redirectOf(await two.browser.submit(asked, { code: code(first, 1) }))['code']).toBeDefined()
  })
})

describe('single sign-on', () => {
  test('a browser that has proved one factor signs in again where two are demanded now; with two it goes on', async () => {
    const at = await place(['totp'])
    const person = await makePerson(at.realm)
    const browser = new TestBrowser()
    expect(redirectOf((await withPassword(person, {}, at, browser)).page)['code']).toBeDefined()
    const again = async (params: Record<string, string> = {}) => (await at.realm.begin(at.client, params, browser)).page
    expect(redirectOf(await again())['code']).toBeDefined()

    const strict = await organization(at.realm, person, true)
    const easy = await organization(at.realm, person, false)
    expect(redirectOf(await again({ org: easy }))['code']).toBeDefined()
    expect(redirectOf(await again({ prompt: 'none', org: strict }))['error']).toBe('login_required')
    const page = await again({ org: strict })
    expect(headingOf(page)).toBe('Sign in')
    expect(page.html).toContain(`value="${person.username}"`)
    const enroll = await browser.submit(page, { password: PASSWORD })
    const secret = /<p class="secret"[^>]*>([^<]+)</.exec(enroll.html)![1]!.replaceAll(' ', '')
    expect(redirectOf(await browser.submit(enroll, { code: code(secret) }))['code']).toBeDefined()
    for (const org of [strict, easy, undefined])
      expect(redirectOf(await again(org === undefined ? {} : { org }))['code']).toBeDefined()
  })

  test('the issuer turns it on: everybody proves more at the next authorization', async () => {
    const at = await place(['totp'])
    const person = await makePerson(at.realm)
    const browser = new TestBrowser()
    await withPassword(person, {}, at, browser)
    must(await at.realm.tenant.owner.patch(at.realm.tenant.I, { settings: { security: { mfa_required: true } } }), 200)
    app.clock.advance(11_000)
    const { page } = await at.realm.begin(at.client, {}, browser)
    expect(headingOf(page)).toBe('Sign in')
  })
})

describe('decisions D25: step-up by acr_values', () => {
  const PASSKEY = 'urn:svc:method:passkey'

  test('a session without the method signs in again with it, and the token says so', async () => {
    const person = await makePerson(realm)
    const secret = await giveTotp(realm, person)
    const browser = new TestBrowser()
    const first = await withPassword(person, {}, { realm, client }, browser)
    await browser.submit(first.page, { code: code(secret) })
    const passkey = await givePasskey(realm, person)
    expect(redirectOf((await realm.begin(client, {}, browser)).page)['code']).toBeDefined()

    const { page, verifier } = await realm.begin(client, { acr_values: PASSKEY }, browser)
    expect(headingOf(page)).toBe('Sign in')
    // With a password before it, the passkey is the only second factor that will do.
    const asked = await browser.submit(page, { password: PASSWORD })
    expect(buttonsOn(asked)).toEqual(['passkey', 'back'])
    const done = await browser.submit(asked, { credential: passkey.answer(optionsOn(asked)) })
    expect(await idToken(done, verifier)).toMatchObject({ acr: PASSKEY, amr: ['pwd', 'hwk', 'mfa'] })
    expect(redirectOf((await realm.begin(client, { acr_values: PASSKEY }, browser)).page)['code']).toBeDefined()
  })

  test('a session that came by the method need not, and its token names what was asked for', async () => {
    const person = await makePerson(realm)
    const passkey = await givePasskey(realm, person)
    const browser = new TestBrowser()
    const { page } = await withPassword(person, {}, { realm, client }, browser)
    await browser.submit(page, { credential: passkey.answer(optionsOn(page)) })
    for (const acr of [PASSKEY, 'urn:svc:method:password']) {
      const begun = await realm.begin(client, { acr_values: `urn:svc:method:github ${acr}` }, browser)
      expect((await idToken(begun.page, begun.verifier))['acr']).toBe(acr)
    }
  })

  test.each([
    { acr_values: 'urn:svc:assurance:loa1', asks: false },
    { acr_values: `urn:svc:assurance:loa1 ${PASSKEY}`, asks: false },
    { acr_values: 'urn:svc:method:totp', asks: true },
    { acr_values: PASSKEY, asks: true },
    { acr_values: 'urn:svc:method:password', asks: false },
  ])('a session by password alone and $acr_values: asks $asks', async ({ acr_values, asks }) => {
    const person = await makePerson(realm)
    const browser = new TestBrowser()
    await withPassword(person, {}, { realm, client }, browser)
    const { page } = await realm.begin(client, { acr_values }, browser)
    if (!asks) return expect(redirectOf(page)['code']).toBeDefined()
    expect(headingOf(page)).toBe('Sign in')
    // Who does not have it gets in as before; the token's acr tells the application.
    return expect(redirectOf(await browser.submit(page, { password: PASSWORD }))['code']).toBeDefined()
  })
})
