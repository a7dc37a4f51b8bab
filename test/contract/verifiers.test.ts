/** Verifiers of users (spec 2.7, 4.6, decisions D13): what all kinds have in common, passwords, passkeys. */
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { alteredKey, coseKey, newCredentialId, registration } from '../setup/authenticator.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { listenTo } from '../setup/events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, PASSWORD } from './world.js'

let app: TestApp
let dns: TestDns
let mine: Tenant
let theirs: Tenant

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ env: { DNS_RESOLVER: dns.address } })
  mine = await makeTenant(app, 'Mine')
  theirs = await makeTenant(app, 'Theirs')
})
afterAll(async () => {
  await app.close()
  await dns.close()
})

/** A user of an issuer with the path of its verifiers. */
async function someone({ owner, I }: Tenant = mine) {
  const body = { username_type: 'unique', username: fresh('user'), profile: { name: 'Ada Byron' } }
  const { data } = must(await owner.post(`${I}/users`, body), 201)
  return { id: data.id as string, username: data.username as string, path: `${I}/users/${data.id}/verifiers`, owner }
}
const passkeyBody = (more: object = {}) => ({
  type: 'passkey',
  name: 'Laptop',
  credential_id: newCredentialId(),
  public_key: coseKey(),
  ...more,
})

/** What GraphQL shows of a passkey. */
async function factsOf(userId: string, verifierId: string): Promise<Loose> {
  const ask = `query ($a: ID!, $i: ID!, $u: ID!, $v: ID!) {
    verifier(accountId: $a, issuerId: $i, userId: $u, verifierId: $v) { passkey {
      credential_id: credentialId algorithm transports aaguid rp_id: rpId backup_eligible: backupEligible
      backup_state: backupState } } }`
  const variables = { a: mine.accountId, i: mine.issuerId, u: userId, v: verifierId }
  return (await mine.owner.graphql(ask, variables)).body.data.verifier.passkey
}

const kinds: [string, () => object][] = [
  ['password', () => ({ type: 'password', name: null, password: PASSWORD })],
  [
    'temporary_password',
    () => ({ type: 'temporary_password', name: 'T', password: PASSWORD, expires_at: app.clock.now() + 60_000 }),
  ],
  ['passkey', () => passkeyBody()],
  ['backup_codes', () => ({ type: 'backup_codes' })],
]

describe.each(kinds)('%s', (type, body) => {
  test('is made (201), listed, read, changed and removed; nothing secret comes back', async () => {
    const { path, owner, id: userId } = await someone()
    const heard = await listenTo(app, mine.accountId)
    const answer = await owner.post(path, body())
    expect(answer.status).toBe(201)
    const made = answer.body.data
    expect(made).toMatchObject({ id: expect.stringMatching(/^vrf_/), user_id: userId, type, last_used_at: null })
    expect(answer.headers.get('etag')).toBe(`"${made.updated_at}"`)

    const at = `${path}/${made.id}`
    const changed = await owner.patch(at, { name: 'New', description: 'D', metadata: { a: 1 } })
    expect(changed.status).toBe(200)
    expect(changed.body.data).toMatchObject({ id: made.id, type, name: 'New', description: 'D', metadata: { a: 1 } })
    const list = await owner.get(path)
    expect(list.body).toMatchObject({ data: [{ id: made.id, type, name: 'New' }], next_cursor: null })
    const one = await owner.get(at)
    expect(one.body.data).toMatchObject({ id: made.id, created_at: made.created_at })

    const row = await app.gatehouse.tools.prisma.verifier.findUnique({ where: { id: made.id } })
    const secrets = [row?.hash, row?.sealed, ...(row?.codeHashes ?? []), (row?.data as Loose)?.public_key]
    const shown = [changed, list, one].map(({ text }) => text).join('\n')
    const told = JSON.stringify(await heard())
    for (const secret of secrets.filter(Boolean)) {
      expect(shown).not.toContain(secret)
      expect(answer.text).not.toContain(secret)
      expect(told).not.toContain(secret)
    }
    for (const code of made.codes_plain ?? []) expect(shown + told + inspect(row)).not.toContain(code)
    expect(shown + told).not.toMatch(/"(hash|sealed|secret|code_hashes|codes_plain|public_key)":/)

    expect((await owner.delete(at)).status).toBe(204)
    expect((await owner.get(at)).status).toBe(404)
    expect((await owner.delete(at)).status).toBe(404)
    expect((await owner.patch(at, { name: 'x' })).status).toBe(404)
    expect(
      (await heard('user.verifier')).map(({ type: event, target, data }) => [event, target.id, data.type]),
    ).toEqual([
      ['user.verifier.created', made.id, type],
      ['user.verifier.updated', made.id, type],
      ['user.verifier.deleted', made.id, type],
    ])
  })

  test('of another user, issuer or account is the same 404 as an unknown one', async () => {
    const [one, other, foreign] = [await someone(), await someone(), await someone(theirs)]
    const { id } = must(await one.owner.post(one.path, body()), 201).data
    const missing = await one.owner.get(`${one.path}/vrf_${'0'.repeat(26)}`)
    for (const [api, at] of [
      [other.owner, `${other.path}/${id}`],
      [foreign.owner, `${foreign.path}/${id}`],
      [foreign.owner, `${one.path}/${id}`],
    ] as const) {
      for (const answer of [await api.get(at), await api.patch(at, { name: 'x' }), await api.delete(at)]) {
        expect(answer.status).toBe(404)
      }
      if (api === one.owner) {
        expect({ ...(await api.get(at)).body, request_id: '' }).toEqual({ ...missing.body, request_id: '' })
      }
    }
    expect((await foreign.owner.post(one.path, body())).status).toBe(404)
    expect((await one.owner.get(`${one.path}/${id}`)).status).toBe(200)
  })

  test('a field that the kind does not have, and null or absence where it must be given, are 400', async () => {
    const { path, owner } = await someone()
    const answer = await owner.post(path, { ...body(), colour: 'red' })
    expect(answer.status).toBe(400)
    expect(answer.body.details).toMatchObject([{ field: 'colour', code: 'unknown_field' }])
    const stray = await owner.post(path, { ...body(), enrollment_id: 'x' })
    expect(stray.status).toBe(400)
    const issuer = await owner.post(path, { ...body(), issuer_name: 'Acme' })
    expect(issuer.body.details).toMatchObject([{ field: 'issuer_name', code: 'unknown_field' }])
    expect((await owner.get(path)).body.data).toEqual([])
  })

  test('a deleted user has none and gets none: 404', async () => {
    const { path, owner } = await someone()
    must(await owner.delete(path.replace('/verifiers', '')), 202)
    expect((await owner.get(path)).status).toBe(404)
    expect((await owner.post(path, body())).status).toBe(404)
  })
})

test('a type that cannot be made is 400', async () => {
  const { path, owner } = await someone()
  for (const type of ['totp', 'magic_link', 'oauth', 'carrier_pigeon', '', 5, null]) {
    const answer = await owner.post(path, { type, name: null })
    expect([type, answer.status]).toEqual([type, 400])
    expect(answer.body.details[0].field).toBe('type')
  }
  expect((await owner.post(path, { name: null })).body.details[0]).toMatchObject({ field: 'type', code: 'required' })
})

test('PATCH refuses what a kind does not let go of: 400 with the field', async () => {
  const { path, owner } = await someone()
  const refused = async (make: object, change: object) => {
    const { id } = must(await owner.post(path, make), 201).data
    const answer = await owner.patch(`${path}/${id}`, change)
    expect(answer.status).toBe(400)
    return answer.body.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)
  }
  expect(await refused(passkeyBody(), { password: PASSWORD, expires_at: 5 })).toEqual([
    'expires_at not_allowed',
    'password not_allowed',
  ])
  expect(await refused({ type: 'backup_codes' }, { must_change: true })).toEqual(['must_change not_allowed'])
  expect(await refused(passkeyBody(), { credential_id: 'abc' })).toEqual(['credential_id unknown_field'])
  const temporary = kinds[1]![1]()
  expect(await refused(temporary, { expires_at: app.clock.now() + 5 })).toEqual(['expires_at not_allowed'])
})

test('a second password is 409, also of 20 parallel POSTs; a temporary one lives at most 7 days', async () => {
  const { path, owner } = await someone()
  const body = { type: 'password', name: null, password: PASSWORD }
  const answers = await Promise.all(Array.from({ length: 20 }, () => owner.post(path, body)))
  expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
  const until = (expires_at: number) =>
    owner.post(path, { type: 'temporary_password', name: 'T', password: PASSWORD, expires_at })
  const now = app.clock.now()
  expect((await until(now - 1)).body.details).toMatchObject([{ field: 'expires_at', code: 'out_of_range' }])
  expect((await until(now + 7 * 86_400_000 + 60_000)).status).toBe(400)
  const temporary = must(await until(now + 6 * 86_400_000), 201).data
  expect(temporary).toMatchObject({ must_change: true, expires_at: now + 6 * 86_400_000 })
})

test('verifiers are listed newest first, in pages', async () => {
  const { path, owner } = await someone()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift(must(await owner.post(path, passkeyBody()), 201).data.id)
  const pages: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await owner.get(`${path}?limit=2${cursor && `&cursor=${cursor}`}`)
    pages.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.next_cursor
  }
  expect(pages).toEqual(ids)
})

describe('a passkey by its public key', () => {
  test.each(['ES256', 'EdDSA', 'RS256'] as const)('%s', async (kind) => {
    const { id, path, owner } = await someone()
    const facts = {
      algorithm: { ES256: -7, EdDSA: -8, RS256: -257 }[kind],
      sign_count: 7,
      transports: ['internal'],
      aaguid: 'ABABABAB-abab-abab-abab-abababababab',
      rp_id: 'login.example.com',
      backup_eligible: true,
      backup_state: false,
    }
    const body = passkeyBody({ public_key: coseKey(kind), ...facts })
    const { data } = must(await owner.post(path, body), 201)
    const { sign_count, ...shown } = facts
    const expected = { ...shown, aaguid: facts.aaguid.toLowerCase(), credential_id: body.credential_id }
    // `/v1` shows metadata only (spec 2.7); the facts of a passkey stand in GraphQL.
    for (const shown of [data, (await owner.get(`${path}/${data.id}`)).body.data]) expect(shown.passkey).toBeUndefined()
    expect(await factsOf(id, data.id)).toEqual(expected)
    const row = await app.gatehouse.tools.prisma.verifier.findUniqueOrThrow({ where: { id: data.id } })
    expect([row.credentialId, Number(row.signCount)]).toEqual([body.credential_id, sign_count])
  })

  test.each<[string, () => object, string, string]>([
    ['no credential id', () => ({ credential_id: undefined }), 'credential_id', 'required'],
    ['no key', () => ({ public_key: undefined }), 'public_key', 'required'],
    ['a credential id that is not base64url', () => ({ credential_id: 'a+b/' }), 'credential_id', 'invalid_format'],
    ['padding', () => ({ credential_id: 'YWI=' }), 'credential_id', 'invalid_format'],
    ['loose bits at the end', () => ({ credential_id: 'YWJ' }), 'credential_id', 'invalid_format'],
    ['a credential id over 1,023 bytes', () => ({ credential_id: 'A'.repeat(1368) }), 'credential_id', 'too_big'],
    ['a key that is no CBOR', () => ({ public_key: 'AAAA' }), 'public_key', 'invalid_key'],
    ['bytes behind the key', () => ({ public_key: `${coseKey('EdDSA')}AAAA` }), 'public_key', 'invalid_key'],
    [
      'a point off the curve',
      () => ({ public_key: alteredKey(coseKey(), -3, new Uint8Array(32).fill(1)) }),
      'public_key',
      'invalid_key',
    ],
    [
      'a key without an algorithm',
      () => ({ public_key: alteredKey(coseKey(), 3, undefined) }),
      'public_key',
      'invalid_key',
    ],
    ['a key of another curve', () => ({ public_key: coseKey('P-384') }), 'public_key', 'invalid_key'],
    [
      'a curve that belies the algorithm',
      () => ({ public_key: alteredKey(coseKey(), -1, 2) }),
      'public_key',
      'invalid_key',
    ],
    ['an RSA key of 1,024 bits', () => ({ public_key: coseKey('RS256-short') }), 'public_key', 'invalid_key'],
    ['an algorithm that is not the key’s', () => ({ algorithm: -8 }), 'algorithm', 'contradiction'],
    ['a negative count', () => ({ sign_count: -1 }), 'sign_count', 'too_small'],
    ['an aaguid that is no UUID', () => ({ aaguid: 'x' }), 'aaguid', 'invalid_format'],
    [
      'a backup of what cannot be backed up',
      () => ({ backup_eligible: false, backup_state: true }),
      'backup_state',
      'contradiction',
    ],
    ['transports that are no words', () => ({ transports: ['<b>'] }), 'transports[0]', 'invalid_format'],
    ['an rp_id that is a URL', () => ({ rp_id: 'https://x.example' }), 'rp_id', 'invalid_format'],
    [
      'half of a ceremony',
      () => ({ credential_id: undefined, public_key: undefined, challenge_id: 'x' }),
      'credential',
      'required',
    ],
  ])('with %s is 400', async (_, more, field, code) => {
    const { path, owner } = await someone()
    const answer = await owner.post(path, passkeyBody(more()))
    expect(answer.status).toBe(400)
    expect(answer.body.details).toMatchObject([{ field, code }])
  })

  test('a credential id is registered once in an issuer (409), also of 20 parallel POSTs by several users', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => someone()))
    const body = passkeyBody()
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) => users[n % 4]!.owner.post(users[n % 4]!.path, body)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
    const foreign = await someone(theirs)
    expect((await foreign.owner.post(foreign.path, body)).status).toBe(201)
  })
})

describe('a passkey by the answer of a browser', () => {
  async function challenge(body?: object) {
    const user = await someone()
    const answer = await user.owner.post(`${user.path}/passkey-challenge`, body)
    const { options, challenge_id } = must(answer, 201).data
    return { ...user, answer, options, challenge_id, origin: app.idpUrl }
  }
  const register = ({ owner, path, challenge_id }: Awaited<ReturnType<typeof challenge>>, credential: object) =>
    owner.post(path, { type: 'passkey', name: 'Phone', credential, challenge_id })

  test('the options name the relying party, the user and the credentials that it has', async () => {
    const user = await someone()
    const known = passkeyBody({ transports: ['usb'] })
    must(await user.owner.post(user.path, known), 201)
    const { data } = must(await user.owner.post(`${user.path}/passkey-challenge`), 201)
    expect(data).toMatchObject({ id: data.challenge_id, expires_at: data.created_at + 300_000 })
    expect(data.options).toMatchObject({
      rp: { id: '127.0.0.1', name: 'Mine issuer' },
      user: { id: Buffer.from(user.id).toString('base64url'), name: user.username, displayName: 'Ada Byron' },
      pubKeyCredParams: [-7, -8, -257].map((alg) => ({ type: 'public-key', alg })),
      excludeCredentials: [{ id: known.credential_id, type: 'public-key', transports: ['usb'] }],
      authenticatorSelection: { userVerification: 'required' },
      attestation: 'none',
    })
    expect(Buffer.from(data.options.challenge, 'base64url').length).toBeGreaterThanOrEqual(16)
  })

  test('a good answer makes a passkey', async () => {
    const asked = await challenge()
    const credential = registration(asked, { flags: 0x5d, publicKey: coseKey('EdDSA') })
    const answer = await register(asked, credential)
    const { data } = must(answer, 201)
    expect(data).toMatchObject({ type: 'passkey', name: 'Phone' })
    expect(await factsOf(asked.id, data.id)).toEqual({
      credential_id: credential.id,
      algorithm: -8,
      transports: ['internal', 'hybrid'],
      aaguid: 'abababab-abab-abab-abab-abababababab',
      rp_id: '127.0.0.1',
      backup_eligible: true,
      backup_state: true,
    })
  })

  test.each<[string, (asked: Loose) => object]>([
    ['another type', (asked) => registration(asked, { type: 'webauthn.get' })],
    ['another challenge', (asked) => registration(asked, { challenge: newCredentialId() })],
    ['another origin', (asked) => registration(asked, { origin: 'https://evil.example' })],
    ['another relying party', (asked) => registration(asked, { rpId: 'evil.example' })],
    ['a user who was not verified', (asked) => registration(asked, { flags: 0x41 })],
    ['a user who was not there', (asked) => registration(asked, { flags: 0x44 })],
    ['no credential in it', (asked) => registration(asked, { flags: 0x05 })],
    [
      'a key that is none',
      (asked) => registration(asked, { publicKey: alteredKey(coseKey(), -3, new Uint8Array(32)) }),
    ],
    ['an algorithm that was not offered', (asked) => registration(asked, { publicKey: coseKey('P-384') })],
    ['an id that is not the one inside', (asked) => ({ ...registration(asked), rawId: 'AAAA' })],
    ['nothing in it', () => ({})],
    ['a response that is no object', (asked) => ({ ...registration(asked), response: 'x' })],
    [
      'an attestation that is no CBOR',
      (asked) => ({ ...registration(asked), response: { clientDataJSON: 'e30', attestationObject: 'AAAA' } }),
    ],
    [
      'CBOR nested without end',
      (asked) => ({
        ...registration(asked),
        response: {
          clientDataJSON: 'e30',
          attestationObject: Buffer.alloc(200_000, 0x81).toString('base64url'),
        },
      }),
    ],
  ])('an answer with %s is 400 and uses the challenge up', async (_, twisted) => {
    const asked = await challenge()
    const answer = await register(asked, twisted(asked))
    expect(answer.status).toBe(400)
    expect(answer.body.details).toMatchObject([{ field: 'credential', code: 'invalid_credential' }])
    const again = await register(asked, registration(asked))
    expect(again.status).toBe(400)
    expect(again.body.details).toMatchObject([{ field: 'challenge_id', code: 'unknown_challenge' }])
  })

  test('of 20 parallel answers to one challenge one makes a passkey', async () => {
    const asked = await challenge()
    const answers = await Promise.all(Array.from({ length: 20 }, () => register(asked, registration(asked))))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(400)])
  })

  test('a challenge is good for 5 minutes, for its user only', async () => {
    const [late, other] = [await challenge(), await challenge()]
    expect((await register({ ...late, path: other.path }, registration(late))).status).toBe(400)
    app.clock.advance(300_000)
    expect((await register(late, registration(late))).status).toBe(400)
  })

  test('the maker’s statement is neither believed nor followed: no certificate in it is looked at', async () => {
    const asked = await challenge()
    const attStmt = new Map<string, unknown>([
      ['alg', -7],
      ['sig', new Uint8Array(70)],
      ['x5c', [new Uint8Array(300)]],
    ])
    const answer = await register(asked, registration(asked, { fmt: 'packed', attStmt }))
    expect(answer.status).toBe(201)
  })

  test('key fields beside a credential are 400', async () => {
    const asked = await challenge()
    const body = { type: 'passkey', credential: registration(asked), challenge_id: asked.challenge_id, sign_count: 1 }
    const answer = await asked.owner.post(asked.path, body)
    expect(answer.body.details).toMatchObject([{ field: 'sign_count', code: 'contradiction' }])
  })

  test('the relying party is a host that the issuer is served under, nothing else', async () => {
    const host = `${fresh('login')}.example.com`
    const user = await someone()
    const path = `${user.path}/passkey-challenge`
    const refused = await user.owner.post(path, { rp_id: host })
    expect(refused.body.details).toMatchObject([{ field: 'rp_id', code: 'unknown_relying_party' }])
    const { data } = must(await mine.owner.post(`${mine.A}/domains`, { host }), 201)
    dns.set(data.verification.name, data.verification.value)
    must(await mine.owner.post(`${mine.A}/domains/${host}/verify`), 200)
    expect((await user.owner.post(path, { rp_id: host })).status).toBe(400)
    must(await mine.owner.post(`${mine.A}/domains/${host}/assign`, { issuer_id: mine.issuerId }), 200)
    const asked = await challenge({ rp_id: host })
    expect(asked.options.rp.id).toBe(host)
    const elsewhere = await challenge({ rp_id: host })
    expect((await register(elsewhere, registration(elsewhere))).status).toBe(400)
    expect(
      (await register(asked, registration({ ...asked, origin: `http://${host}:${new URL(app.idpUrl).port}` }))).status,
    ).toBe(201)
  })

  test('another tenant’s user gets no challenge: 404', async () => {
    const { path } = await someone()
    expect((await theirs.owner.post(`${path}/passkey-challenge`)).status).toBe(404)
  })
})
