/** Hostile answers of passkeys at sign-in (WebAuthn level 3 section 7.2; security rules 1, 6, 21, 22). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type AssertionTwist, newCredentialId, type Passkey } from '../../setup/authenticator.js'
import { addMethods, givePasskey, makePerson, optionsOn, type Person } from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { problemOf, TestBrowser } from '../browser.js'
import { PASSWORD, Realm, redirectOf, type TestClient } from '../setup.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.make(app, 'Acme')
  client = await realm.client({ application_type: 'spa' })
  await addMethods(realm, 'passkey')
})
afterAll(() => app.close())

const REFUSED = 'That passkey cannot be used here. Try another one, or choose another way.'

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
