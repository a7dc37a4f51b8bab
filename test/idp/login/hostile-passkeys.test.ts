/**
 * Invalid passkey responses at sign-in (WebAuthn Level 3 section 7.2, docs/contract.md#single-use-values,
 * docs/contract.md#equal-answers-and-lockout).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type AssertionOverrides, createCredentialId, type Passkey } from '../../setup/authenticator.js'
import { addMethods, createTestUser, passkeyOptionsOn, registerPasskey, type TestUser } from '../../setup/factors.js'
import { startApp, type TestApp } from '../../setup/start-app.js'
import { waitForLockWaiters } from '../../setup/wait-until.js'
import { errorMessageOf, TestBrowser } from '../browser.js'
import { PASSWORD, Realm, redirectParametersOf, type TestClient } from '../realm.js'

let app: TestApp
let realm: Realm
let client: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app, 'Acme')
  client = await realm.createClient({ application_type: 'spa' })
  await addMethods(realm, 'passkey')
})
afterAll(() => app.close())

const REFUSED = 'This passkey cannot be used here. Try another one, or use another method.'

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

const flipped = (text: string): string => {
  const bytes = Buffer.from(text, 'base64url')
  bytes[bytes.length - 1]! ^= 1
  return bytes.toString('base64url')
}

describe.each(['first', 'second'] as const)('invalid responses as the %s factor', (factor) => {
  /** Opens the page that asks for a passkey as the first factor, or as the second factor of this user. */
  async function openPasskeyPage(person: TestUser) {
    const browser = new TestBrowser()
    const { page } = await realm.openSignInPage(client, {}, browser)
    if (factor === 'first') return { browser, page, options: passkeyOptionsOn(page) }
    const second = await browser.submit(page, { username: person.username, password: PASSWORD })
    return { browser, page: second, options: passkeyOptionsOn(second) }
  }
  const send = (at: Awaited<ReturnType<typeof openPasskeyPage>>, credential: string) =>
    at.browser.submit(at.page, { method: 'passkey', credential })
  let victim: Awaited<ReturnType<typeof createUserWithPasskey>>
  beforeAll(async () => {
    victim = await createUserWithPasskey()
  })

  test('a valid response is accepted', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const at = await openPasskeyPage(person)
    expect(redirectParametersOf(await send(at, passkey.authenticate(at.options)))['code']).toBeDefined()
  })

  test.each<[string, AssertionOverrides]>([
    ['a registration instead', { type: 'webauthn.create' }],
    ['another challenge', { challenge: Buffer.alloc(32).toString('base64url') }],
    ['no challenge', { challenge: '' }],
    ['another origin', { origin: 'https://evil.example.com' }],
    ['the origin with another port', { origin: 'http://127.0.0.1:1' }],
    ['the origin with another scheme', { origin: 'https://127.0.0.1' }],
    ['an origin with our origin as its prefix', { origin: 'http://127.0.0.1.evil.example.com' }],
    ['another relying party', { rpId: 'evil.example.com' }],
    ['a cross-origin frame', { crossOrigin: true }],
    ['no user verification', { flags: 0x19 }],
    ['no user presence', { flags: 0x1c }],
    ['backed up but not eligible', { flags: 0x15 }],
    ['no longer eligible', { flags: 0x05 }],
    ['an unknown user handle', { userHandle: 'usr_00000000000000000000000000' }],
    ['a tampered signature', { tamper: (r) => Object.assign(r, { signature: flipped(r['signature']!) }) }],
    ['tampered data', { tamper: (r) => Object.assign(r, { authenticatorData: flipped(r['authenticatorData']!) }) }],
    ['altered client data', { tamper: (r) => Object.assign(r, { clientDataJSON: `${r['clientDataJSON']}IA` }) }],
    ['an unknown credential', { credentialId: createCredentialId() }],
  ])('%s is rejected with the same error message', async (_, twist) => {
    const { person, passkey } = victim
    const before = await verifierOf(passkey)
    const at = await openPasskeyPage(person)
    const nextPage = await send(at, passkey.authenticate(at.options, twist))
    expect(errorMessageOf(nextPage)).toBe(REFUSED)
    expect(await verifierOf(passkey)).toEqual(before)
    // After the rejection, a valid response to the next page is accepted.
    const again = passkey.authenticate(passkeyOptionsOn(nextPage))
    const done = await at.browser.submit(nextPage, { method: 'passkey', credential: again })
    expect(redirectParametersOf(done)['code']).toBeDefined()
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
  ])('%s is not a valid response', async (credential) => {
    expect(errorMessageOf(await send(await openPasskeyPage(victim.person), credential))).toBe(REFUSED)
  })

  test('a response is valid once: not for a later form, another login transaction or another browser', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const at = await openPasskeyPage(person)
    const credential = passkey.authenticate(at.options)
    const refused = await send(at, passkey.authenticate(at.options, { type: 'x' }))
    expect(errorMessageOf(await send({ ...at, page: refused }, credential))).toBe(REFUSED)
    expect(errorMessageOf(await send(await openPasskeyPage(person), credential))).toBe(REFUSED)
    const otherBrowser = await new TestBrowser().submit(at.page, { method: 'passkey', credential: credential })
    expect(otherBrowser.status).toBe(400)
    expect(errorMessageOf(await send(at, credential))).toMatch(/out of date/)
  })

  test('a passkey of another user or issuer, or with the user handle of another user, is rejected', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const eve = await createUserWithPasskey()
    const elsewhere = await Realm.create(app, 'Elsewhere')
    await addMethods(elsewhere, 'passkey')
    const foreign = await registerPasskey(elsewhere, await createTestUser(elsewhere))
    const hostile = [
      (options: never) => foreign.authenticate(options),
      (options: never) => foreign.authenticate(options, { userHandle: person.id }),
      (options: never) => eve.passkey.authenticate(options, { userHandle: person.id }),
      (options: never) => passkey.authenticate(options, { userHandle: eve.person.id }),
      (options: never) => eve.passkey.authenticate(options, { credentialId: passkey.id }),
      ...(factor === 'second' ? [(options: never) => eve.passkey.authenticate(options)] : []),
    ]
    for (const createCredential of hostile) {
      const at = await openPasskeyPage(person)
      expect(errorMessageOf(await send(at, createCredential(at.options as never)))).toBe(REFUSED)
    }
  })

  test(`a response without a user handle: ${factor === 'first' ? 'rejected' : 'accepted'}`, async () => {
    const { person, passkey } = victim
    const at = await openPasskeyPage(person)
    const nextPage = await send(at, passkey.authenticate(at.options, { userHandle: null }))
    if (factor === 'first') expect(errorMessageOf(nextPage)).toBe(REFUSED)
    else expect(redirectParametersOf(nextPage)['code']).toBeDefined()
  })

  test.each([
    { before: 5, now: 5, taken: false },
    { before: 5, now: 4, taken: false },
    { before: 5, now: 0, taken: false },
    { before: 5, now: 6, taken: true },
    { before: 0, now: 0, taken: true },
    { before: 0, now: 1, taken: true },
  ])(
    'a signature counter of $now after $before: accepted $taken; a possibly cloned passkey is in the audit log',
    async ({ before, now, taken }) => {
      const { person, passkey } = await createUserWithPasskey()
      await app.gatehouse.database.prisma.verifier.updateMany({
        where: { credentialId: passkey.id },
        data: { signCount: before },
      })
      const at = await openPasskeyPage(person)
      const nextPage = await send(at, passkey.authenticate(at.options, { signCount: now }))
      if (taken) return expect(redirectParametersOf(nextPage)['code']).toBeDefined()
      expect(errorMessageOf(nextPage)).toBe(REFUSED)
      expect((await eventsOf(person.id)).slice(-2)).toEqual([
        'user.verification.failed',
        'user.login.failed wrong_sign_count',
      ])
      return expect(await verifierOf(passkey)).toMatchObject({ signCount: BigInt(before), lastUsedAt: null })
    },
  )

  test('a passkey that is deleted during the sign-in is an unknown credential in the audit log', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const at = await openPasskeyPage(person)
    const { id } = await verifierOf(passkey)
    const connection = await app.gatehouse.database.pool.connect()
    try {
      await connection.query('BEGIN')
      await connection.query('DELETE FROM verifiers WHERE id = $1', [id])
      const response = send(at, passkey.authenticate(at.options))
      await waitForLockWaiters(app.gatehouse.database.pool, 1)
      await connection.query('COMMIT')
      expect(errorMessageOf(await response)).toBe(REFUSED)
    } finally {
      connection.release()
    }
    expect((await eventsOf(person.id)).at(-1)).toBe('user.login.failed unknown_credential')
  })

  test('of 20 concurrent responses with the same signature counter from 20 browsers, one is accepted', async () => {
    const { person, passkey } = await createUserWithPasskey()
    const standing = await Promise.all(Array.from({ length: 20 }, () => openPasskeyPage(person)))
    const pages = await Promise.all(standing.map((at) => send(at, passkey.authenticate(at.options, { signCount: 1 }))))
    expect(pages.filter(({ html }) => html === '')).toHaveLength(1)
  }, 60_000)
})
