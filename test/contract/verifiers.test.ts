/**
 * Verifiers of users (docs/contract.md#credentials, docs/contract.md#user-endpoints,
 * docs/contract.md#verifier-operations): rules for all types, passwords, passkeys.
 */
import { inspect } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { coseKey, createCredentialId, modifiedCoseKey, registrationResponse } from '../setup/authenticator.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { eventsRecordedFromNow } from '../setup/recorded-events.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitForLockWaiters } from '../setup/wait-until.js'
import { PASSWORD, uniqueName } from './tenant-fixture.js'

let app: TestApp
let dns: TestDns
let mine: Tenant
let theirs: Tenant

beforeAll(async () => {
  dns = await startDns()
  app = await startApp({ env: { DNS_RESOLVER: dns.address } })
  mine = await createTenant(app, 'Mine')
  theirs = await createTenant(app, 'Theirs')
})
afterAll(async () => {
  await app.close()
  await dns.close()
})

/** Creates a user. Returns its id, its username, the path of its verifiers and the owner of the tenant. */
async function createUser({ owner, I }: Tenant = mine) {
  const body = { username_type: 'unique', username: uniqueName('user'), profile: { name: 'Ada Byron' } }
  const { data } = expectStatus(await owner.post(`${I}/users`, body), 201)
  return { id: data.id as string, username: data.username as string, path: `${I}/users/${data.id}/verifiers`, owner }
}
const passkeyBody = (more: object = {}) => ({
  type: 'passkey',
  name: 'Laptop',
  credential_id: createCredentialId(),
  public_key: coseKey(),
  ...more,
})

/** Returns the details of a passkey, which only GraphQL shows, with the field names of REST. */
async function secretFactsOf(userId: string, verifierId: string): Promise<AnyJson> {
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
  test('is created (201), listed, read, updated and deleted; no secret is returned', async () => {
    const { path, owner, id: userId } = await createUser()
    const heard = await eventsRecordedFromNow(app, mine.accountId)
    const response = await owner.post(path, body())
    expect(response.status).toBe(201)
    const created = response.body.data
    expect(created).toMatchObject({ id: expect.stringMatching(/^vrf_/), user_id: userId, type, last_used_at: null })
    expect(response.headers.get('etag')).toBe(`"${created.updated_at}"`)

    const at = `${path}/${created.id}`
    const changed = await owner.patch(at, { name: 'New', description: 'D', metadata: { a: 1 } })
    expect(changed.status).toBe(200)
    expect(changed.body.data).toMatchObject({ id: created.id, type, name: 'New', description: 'D', metadata: { a: 1 } })
    const list = await owner.get(path)
    expect(list.body).toMatchObject({ data: [{ id: created.id, type, name: 'New' }], next_cursor: null })
    const one = await owner.get(at)
    expect(one.body.data).toMatchObject({ id: created.id, created_at: created.created_at })

    const row = await app.gatehouse.database.prisma.verifier.findUnique({ where: { id: created.id } })
    const secrets = [row?.hash, row?.encryptedSecret, ...(row?.codeHashes ?? []), (row?.data as AnyJson)?.public_key]
    const shown = [changed, list, one].map(({ text }) => text).join('\n')
    const recorded = JSON.stringify(await heard())
    for (const secret of secrets.filter(Boolean)) {
      expect(shown).not.toContain(secret)
      expect(response.text).not.toContain(secret)
      expect(recorded).not.toContain(secret)
    }
    for (const code of created.codes_plain ?? []) expect(shown + recorded + inspect(row)).not.toContain(code)
    expect(shown + recorded).not.toMatch(
      /"(hash|encrypted|encrypted_secret|secret|code_hashes|codes_plain|public_key)":/,
    )

    expect((await owner.delete(at)).status).toBe(204)
    expect((await owner.get(at)).status).toBe(404)
    expect((await owner.delete(at)).status).toBe(404)
    expect((await owner.patch(at, { name: 'x' })).status).toBe(404)
    expect(
      (await heard('user.verifier')).map(({ type: event, target, data }) => [event, target.id, data.type]),
    ).toEqual([
      ['user.verifier.created', created.id, type],
      ['user.verifier.updated', created.id, type],
      ['user.verifier.deleted', created.id, type],
    ])
  })

  test('of another user, issuer or account is the same 404 as an unknown one', async () => {
    const [one, other, foreign] = [await createUser(), await createUser(), await createUser(theirs)]
    const { id } = expectStatus(await one.owner.post(one.path, body()), 201).data
    const missing = await one.owner.get(`${one.path}/vrf_${'0'.repeat(26)}`)
    for (const [api, at] of [
      [other.owner, `${other.path}/${id}`],
      [foreign.owner, `${foreign.path}/${id}`],
      [foreign.owner, `${one.path}/${id}`],
    ] as const) {
      for (const response of [await api.get(at), await api.patch(at, { name: 'x' }), await api.delete(at)]) {
        expect(response.status).toBe(404)
      }
      if (api === one.owner) {
        expect({ ...(await api.get(at)).body, request_id: '' }).toEqual({ ...missing.body, request_id: '' })
      }
    }
    expect((await foreign.owner.post(one.path, body())).status).toBe(404)
    expect((await one.owner.get(`${one.path}/${id}`)).status).toBe(200)
  })

  test('an unknown field, and null or a missing value in a required field, are 400', async () => {
    const { path, owner } = await createUser()
    const response = await owner.post(path, { ...body(), color: 'red' })
    expect(response.status).toBe(400)
    expect(response.body.details).toMatchObject([{ field: 'color', code: 'unknown_field' }])
    const stray = await owner.post(path, { ...body(), enrollment_id: 'x' })
    expect(stray.status).toBe(400)
    const issuer = await owner.post(path, { ...body(), issuer_name: 'Acme' })
    expect(issuer.body.details).toMatchObject([{ field: 'issuer_name', code: 'unknown_field' }])
    expect((await owner.get(path)).body.data).toEqual([])
  })

  test('a deleted user has no verifiers and cannot get any: 404', async () => {
    const { path, owner } = await createUser()
    expectStatus(await owner.delete(path.replace('/verifiers', '')), 202)
    expect((await owner.get(path)).status).toBe(404)
    expect((await owner.post(path, body())).status).toBe(404)
  })
})

test('a type that cannot be created is 400', async () => {
  const { path, owner } = await createUser()
  for (const type of ['totp', 'magic_link', 'oauth', 'carrier_pigeon', '', 5, null]) {
    const response = await owner.post(path, { type, name: null })
    expect([type, response.status]).toEqual([type, 400])
    expect(response.body.details[0].field).toBe('type')
  }
  expect((await owner.post(path, { name: null })).body.details[0]).toMatchObject({ field: 'type', code: 'required' })
})

test('PATCH refuses changes of immutable fields: 400 with the field', async () => {
  const { path, owner } = await createUser()
  const refused = async (make: object, change: object) => {
    const { id } = expectStatus(await owner.post(path, make), 201).data
    const response = await owner.patch(`${path}/${id}`, change)
    expect(response.status).toBe(400)
    return response.body.details.map(({ field, code }: { field: string; code: string }) => `${field} ${code}`)
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

test('a second password is 409, also under 20 parallel POSTs; a temporary one is valid for at most 7 days', async () => {
  const { path, owner } = await createUser()
  const body = { type: 'password', name: null, password: PASSWORD }
  const responses = await Promise.all(Array.from({ length: 20 }, () => owner.post(path, body)))
  expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
  const until = (expires_at: number) =>
    owner.post(path, { type: 'temporary_password', name: 'T', password: PASSWORD, expires_at })
  const now = app.clock.now()
  expect((await until(now - 1)).body.details).toMatchObject([{ field: 'expires_at', code: 'out_of_range' }])
  expect((await until(now + 7 * 86_400_000 + 60_000)).status).toBe(400)
  const temporary = expectStatus(await until(now + 6 * 86_400_000), 201).data
  expect(temporary).toMatchObject({ must_change: true, expires_at: now + 6 * 86_400_000 })
})

test('a deletion waits for a concurrent change of the credentials of the user', async () => {
  const { id, path, owner } = await createUser()
  const created = expectStatus(await owner.post(path, passkeyBody()), 201).data
  const connection = await app.gatehouse.database.pool.connect()
  try {
    await connection.query('BEGIN')
    await connection.query('SELECT id FROM users WHERE id = $1 FOR UPDATE', [id])
    const deletion = owner.delete(`${path}/${created.id}`)
    await waitForLockWaiters(app.gatehouse.database.pool, 1)
    await connection.query('COMMIT')
    expect((await deletion).status).toBe(204)
  } finally {
    connection.release()
  }
})

test('verifiers are listed newest first, in pages', async () => {
  const { path, owner } = await createUser()
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.unshift(expectStatus(await owner.post(path, passkeyBody()), 201).data.id)
  const pages: string[] = []
  for (let cursor = ''; cursor !== null; ) {
    const { body } = await owner.get(`${path}?limit=2${cursor && `&cursor=${cursor}`}`)
    pages.push(...body.data.map(({ id }: { id: string }) => id))
    cursor = body.next_cursor
  }
  expect(pages).toEqual(ids)
})

describe('a passkey from a public key', () => {
  test.each(['ES256', 'EdDSA', 'RS256'] as const)('%s', async (kind) => {
    const { id, path, owner } = await createUser()
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
    const { data } = expectStatus(await owner.post(path, body), 201)
    const { sign_count, ...shown } = facts
    const expected = { ...shown, aaguid: facts.aaguid.toLowerCase(), credential_id: body.credential_id }
    // GraphQL returns the details of a passkey; `/v1` does not (docs/contract.md#credentials).
    for (const shown of [data, (await owner.get(`${path}/${data.id}`)).body.data]) expect(shown.passkey).toBeUndefined()
    expect(await secretFactsOf(id, data.id)).toEqual(expected)
    const row = await app.gatehouse.database.prisma.verifier.findUniqueOrThrow({ where: { id: data.id } })
    expect([row.credentialId, Number(row.signCount)]).toEqual([body.credential_id, sign_count])
  })

  test.each<[string, () => object, string, string]>([
    ['no credential id', () => ({ credential_id: undefined }), 'credential_id', 'required'],
    ['no key', () => ({ public_key: undefined }), 'public_key', 'required'],
    ['a credential id that is not base64url', () => ({ credential_id: 'a+b/' }), 'credential_id', 'invalid_format'],
    ['padding', () => ({ credential_id: 'YWI=' }), 'credential_id', 'invalid_format'],
    ['trailing bits in the base64url value', () => ({ credential_id: 'YWJ' }), 'credential_id', 'invalid_format'],
    ['a credential id over 1,023 bytes', () => ({ credential_id: 'A'.repeat(1368) }), 'credential_id', 'too_big'],
    ['a key that is not CBOR', () => ({ public_key: 'AAAA' }), 'public_key', 'invalid_key'],
    ['bytes after the key', () => ({ public_key: `${coseKey('EdDSA')}AAAA` }), 'public_key', 'invalid_key'],
    [
      'a point off the curve',
      () => ({ public_key: modifiedCoseKey(coseKey(), -3, new Uint8Array(32).fill(1)) }),
      'public_key',
      'invalid_key',
    ],
    [
      'a key without an algorithm',
      () => ({ public_key: modifiedCoseKey(coseKey(), 3, undefined) }),
      'public_key',
      'invalid_key',
    ],
    ['a key of another curve', () => ({ public_key: coseKey('P-384') }), 'public_key', 'invalid_key'],
    [
      'a curve that does not match the algorithm',
      () => ({ public_key: modifiedCoseKey(coseKey(), -1, 2) }),
      'public_key',
      'invalid_key',
    ],
    ['an RSA key of 1,024 bits', () => ({ public_key: coseKey('RS256-short') }), 'public_key', 'invalid_key'],
    ['an algorithm that does not match the key', () => ({ algorithm: -8 }), 'algorithm', 'contradiction'],
    ['a negative count', () => ({ sign_count: -1 }), 'sign_count', 'too_small'],
    ['an aaguid that is not a UUID', () => ({ aaguid: 'x' }), 'aaguid', 'invalid_format'],
    [
      'backup state without backup eligibility',
      () => ({ backup_eligible: false, backup_state: true }),
      'backup_state',
      'contradiction',
    ],
    ['invalid transports', () => ({ transports: ['<b>'] }), 'transports[0]', 'invalid_format'],
    ['an rp_id that is a URL', () => ({ rp_id: 'https://x.example' }), 'rp_id', 'invalid_format'],
    [
      'an incomplete ceremony',
      () => ({ credential_id: undefined, public_key: undefined, challenge_id: 'x' }),
      'credential',
      'required',
    ],
  ])('with %s is 400', async (_, more, field, code) => {
    const { path, owner } = await createUser()
    const response = await owner.post(path, passkeyBody(more()))
    expect(response.status).toBe(400)
    expect(response.body.details).toMatchObject([{ field, code }])
  })

  test('a credential id is unique within an issuer (409), also under 20 parallel POSTs by several users', async () => {
    const users = await Promise.all(Array.from({ length: 4 }, () => createUser()))
    const body = passkeyBody()
    const responses = await Promise.all(
      Array.from({ length: 20 }, (_, n) => users[n % 4]!.owner.post(users[n % 4]!.path, body)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(409)])
    const foreign = await createUser(theirs)
    expect((await foreign.owner.post(foreign.path, body)).status).toBe(201)
  })
})

describe('a passkey from a browser response', () => {
  async function challenge(body?: object) {
    const user = await createUser()
    const response = await user.owner.post(`${user.path}/passkey-challenge`, body)
    const { options, challenge_id } = expectStatus(response, 201).data
    return { ...user, response, options, challenge_id, origin: app.idpUrl }
  }
  const register = ({ owner, path, challenge_id }: Awaited<ReturnType<typeof challenge>>, credential: object) =>
    owner.post(path, { type: 'passkey', name: 'Phone', credential, challenge_id })

  test('the options contain the relying party, the user and the existing credentials', async () => {
    const user = await createUser()
    const known = passkeyBody({ transports: ['usb'] })
    expectStatus(await user.owner.post(user.path, known), 201)
    const { data } = expectStatus(await user.owner.post(`${user.path}/passkey-challenge`), 201)
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

  test('a valid response creates a passkey', async () => {
    const ceremony = await challenge()
    const credential = registrationResponse(ceremony, { flags: 0x5d, publicKey: coseKey('EdDSA') })
    const response = await register(ceremony, credential)
    const { data } = expectStatus(response, 201)
    expect(data).toMatchObject({ type: 'passkey', name: 'Phone' })
    expect(await secretFactsOf(ceremony.id, data.id)).toEqual({
      credential_id: credential.id,
      algorithm: -8,
      transports: ['internal', 'hybrid'],
      aaguid: 'abababab-abab-abab-abab-abababababab',
      rp_id: '127.0.0.1',
      backup_eligible: true,
      backup_state: true,
    })
  })

  test.each<[string, (ceremony: AnyJson) => object]>([
    ['another type', (ceremony) => registrationResponse(ceremony, { type: 'webauthn.get' })],
    ['another challenge', (ceremony) => registrationResponse(ceremony, { challenge: createCredentialId() })],
    ['another origin', (ceremony) => registrationResponse(ceremony, { origin: 'https://evil.example' })],
    ['another relying party', (ceremony) => registrationResponse(ceremony, { rpId: 'evil.example' })],
    ['a user who was not verified', (ceremony) => registrationResponse(ceremony, { flags: 0x41 })],
    ['a user who was not present', (ceremony) => registrationResponse(ceremony, { flags: 0x44 })],
    ['no credential', (ceremony) => registrationResponse(ceremony, { flags: 0x05 })],
    [
      'an invalid key',
      (ceremony) => registrationResponse(ceremony, { publicKey: modifiedCoseKey(coseKey(), -3, new Uint8Array(32)) }),
    ],
    [
      'an algorithm that was not offered',
      (ceremony) => registrationResponse(ceremony, { publicKey: coseKey('P-384') }),
    ],
    ['an id that differs from the attested one', (ceremony) => ({ ...registrationResponse(ceremony), rawId: 'AAAA' })],
    ['an empty response', () => ({})],
    ['a response that is not an object', (ceremony) => ({ ...registrationResponse(ceremony), response: 'x' })],
    [
      'an attestation that is not CBOR',
      (ceremony) => ({
        ...registrationResponse(ceremony),
        response: { clientDataJSON: 'e30', attestationObject: 'AAAA' },
      }),
    ],
    [
      'deeply nested CBOR',
      (ceremony) => ({
        ...registrationResponse(ceremony),
        response: {
          clientDataJSON: 'e30',
          attestationObject: Buffer.alloc(200_000, 0x81).toString('base64url'),
        },
      }),
    ],
  ])('a response with %s is 400 and consumes the challenge', async (_, twisted) => {
    const ceremony = await challenge()
    const response = await register(ceremony, twisted(ceremony))
    expect(response.status).toBe(400)
    expect(response.body.details).toMatchObject([{ field: 'credential', code: 'invalid_credential' }])
    const again = await register(ceremony, registrationResponse(ceremony))
    expect(again.status).toBe(400)
    expect(again.body.details).toMatchObject([{ field: 'challenge_id', code: 'unknown_challenge' }])
  })

  test('of 20 parallel responses to one challenge one creates a passkey', async () => {
    const ceremony = await challenge()
    const responses = await Promise.all(
      Array.from({ length: 20 }, () => register(ceremony, registrationResponse(ceremony))),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(19).fill(400)])
  })

  test('a challenge is valid for 5 minutes and only for its user', async () => {
    const [late, other] = [await challenge(), await challenge()]
    expect((await register({ ...late, path: other.path }, registrationResponse(late))).status).toBe(400)
    app.clock.advance(300_000)
    expect((await register(late, registrationResponse(late))).status).toBe(400)
  })

  test('the attestation statement is neither verified nor followed: its certificates are not read', async () => {
    const ceremony = await challenge()
    const attStmt = new Map<string, unknown>([
      ['alg', -7],
      ['sig', new Uint8Array(70)],
      ['x5c', [new Uint8Array(300)]],
    ])
    const response = await register(ceremony, registrationResponse(ceremony, { fmt: 'packed', attStmt }))
    expect(response.status).toBe(201)
  })

  test('key fields beside a credential are 400', async () => {
    const ceremony = await challenge()
    const body = {
      type: 'passkey',
      credential: registrationResponse(ceremony),
      challenge_id: ceremony.challenge_id,
      sign_count: 1,
    }
    const response = await ceremony.owner.post(ceremony.path, body)
    expect(response.body.details).toMatchObject([{ field: 'sign_count', code: 'contradiction' }])
  })

  test('the relying party must be a host of the issuer', async () => {
    const host = `${uniqueName('login')}.example.com`
    const user = await createUser()
    const path = `${user.path}/passkey-challenge`
    const refused = await user.owner.post(path, { rp_id: host })
    expect(refused.body.details).toMatchObject([{ field: 'rp_id', code: 'unknown_relying_party' }])
    const { data } = expectStatus(await mine.owner.post(`${mine.A}/domains`, { host }), 201)
    dns.set(data.verification.name, data.verification.value)
    expectStatus(await mine.owner.post(`${mine.A}/domains/${host}/verify`), 200)
    expect((await user.owner.post(path, { rp_id: host })).status).toBe(400)
    expectStatus(await mine.owner.post(`${mine.A}/domains/${host}/assign`, { issuer_id: mine.issuerId }), 200)
    const ceremony = await challenge({ rp_id: host })
    expect(ceremony.options.rp.id).toBe(host)
    const elsewhere = await challenge({ rp_id: host })
    expect((await register(elsewhere, registrationResponse(elsewhere))).status).toBe(400)
    expect(
      (
        await register(
          ceremony,
          registrationResponse({ ...ceremony, origin: `http://${host}:${new URL(app.idpUrl).port}` }),
        )
      ).status,
    ).toBe(201)
  })

  test('a user of another tenant gets no challenge: 404', async () => {
    const { path } = await createUser()
    expect((await theirs.owner.post(`${path}/passkey-challenge`)).status).toBe(404)
  })
})
