/**
 * The settings of client authentication: token_endpoint_auth_method, jwks and jwks_uri (docs/contract.md#clients,
 * docs/contract.md#client-assertions).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiResponse } from '../setup/api.js'
import { createClientKey } from '../setup/client-assertions.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const METHOD = 'settings.openid.token_endpoint_auth_method'
const JWKS = 'settings.openid.jwks'
const JWKS_URI = 'settings.openid.jwks_uri'
const uri = 'https://keys.example.com/jwks.json'
const ec = createClientKey('ES256', 'ec')
const ed = createClientKey('EdDSA', 'ed')
const rsa = createClientKey('RS256', 'rsa')
const jwks = { keys: [ec.jwk] }

let app: TestApp
let tenant: Tenant
beforeAll(async () => {
  app = await startApp()
  tenant = await createTenant(app)
  const settings = { security: { openid_policy: { client_assertions: { enabled: true } } } }
  expectStatus(await tenant.owner.patch(tenant.I, { settings }), 200)
})
afterAll(() => app.close())

const create = (openid: object, more: object = {}): Promise<ApiResponse<AnyJson>> =>
  tenant.owner.post(`${tenant.I}/clients`, {
    name: 'App',
    type: 'internal',
    confidential: true,
    settings: { openid },
    ...more,
  })
const withKeys = (keys: unknown): object => ({ token_endpoint_auth_method: 'private_key_jwt', jwks: { keys } })
const fieldsOf = (response: ApiResponse<AnyJson>) => ({
  status: response.status,
  fields: response.body.details?.map(({ field }: AnyJson) => field),
})

describe('token_endpoint_auth_method', () => {
  test.each([
    ['client_secret_basic', true],
    ['client_secret_post', true],
    ['none', false],
  ])('%s is for clients with confidential %s only', async (method, confidential) => {
    const { data } = expectStatus(await create({ token_endpoint_auth_method: method }, { confidential }), 201)
    expect(data.settings.openid.token_endpoint_auth_method).toBe(method)
    expect(data.secret).toEqual(confidential ? expect.any(String) : null)
    const wrong = await create({ token_endpoint_auth_method: method }, { confidential: !confidential })
    expect(fieldsOf(wrong)).toEqual({ status: 400, fields: [METHOD] })
  })

  test.each(['private_key_jwt', 'client_secret_jwt', 'tls_client_auth', '', null, 1])(
    '%j without keys is 400',
    async (method) => {
      const response = await create({ token_endpoint_auth_method: method })
      // null means that the key is absent (RFC 7396).
      if (method === null) expectStatus(response, 201)
      else expect(response.status).toBe(400)
    },
  )

  test('private_key_jwt: no secret is created, none can be given, and there is none to rotate', async () => {
    const { data } = expectStatus(await create(withKeys([ec.jwk])), 201)
    expect(data.secret).toBeNull()
    expect(data.settings.openid.jwks).toEqual(jwks)
    const given = await create(withKeys([ec.jwk]), { secret: 'x'.repeat(40) })
    expect(fieldsOf(given)).toEqual({ status: 400, fields: ['secret'] })
    const rotation = await tenant.owner.post(`${tenant.I}/clients/${data.id}/secret/rotate`)
    expect(rotation.status).toBe(400)
    expect(rotation.body.error_description).toContain('private_key_jwt')
    const publicClient = await create(withKeys([ec.jwk]), { confidential: false })
    expect(fieldsOf(publicClient)).toEqual({ status: 400, fields: [METHOD] })
  })

  test('private_key_jwt cannot be used for token exchange, which requires client_secret_basic', async () => {
    const grant_types = ['urn:ietf:params:oauth:grant-type:token-exchange']
    const response = await create({ application_type: 'm2m', grant_types, ...withKeys([ec.jwk]) })
    expect(fieldsOf(response)).toEqual({ status: 400, fields: [METHOD] })
  })
})

describe('exactly one of jwks and jwks_uri is required with private_key_jwt, and none is allowed without it', () => {
  const method = { token_endpoint_auth_method: 'private_key_jwt' }
  const cases: [string, object, string[]][] = [
    ['none', method, [JWKS]],
    ['both', { ...method, jwks, jwks_uri: uri }, [JWKS_URI]],
    ['jwks without the method', { jwks }, [JWKS]],
    [
      'jwks_uri with client_secret_basic',
      { token_endpoint_auth_method: 'client_secret_basic', jwks_uri: uri },
      [JWKS_URI],
    ],
  ]
  test.each(cases)('%s', async (_, openid, fields) => {
    expect(fieldsOf(await create(openid))).toEqual({ status: 400, fields })
  })

  test('a PATCH changes from jwks to jwks_uri and back to a secret, and keeps the rules', async () => {
    const { data } = expectStatus(await create({ ...method, jwks }), 201)
    const path = `${tenant.I}/clients/${data.id}`
    const patch = (openid: object) => tenant.owner.patch(path, { settings: { openid } })
    expect(fieldsOf(await patch({ jwks_uri: uri }))).toEqual({ status: 400, fields: [JWKS_URI] })
    const moved = expectStatus(await patch({ jwks: null, jwks_uri: uri }), 200).data
    expect(moved.settings.openid).toEqual({ ...method, jwks_uri: uri })
    expect(fieldsOf(await patch({ jwks_uri: null }))).toEqual({ status: 400, fields: [JWKS] })
    expect(fieldsOf(await patch({ token_endpoint_auth_method: null }))).toEqual({ status: 400, fields: [JWKS_URI] })
    expectStatus(await patch({ jwks_uri: null, token_endpoint_auth_method: null }), 200)
    expect(expectStatus(await tenant.owner.post(`${path}/secret/rotate`), 200).data.secret).toEqual(expect.any(String))
  })

  test('while the issuer does not accept assertions, a client cannot change to private_key_jwt, and others change freely', async () => {
    const other = await createTenant(app, 'Off')
    const clients = `${other.I}/clients`
    const body = { name: 'App', type: 'internal', confidential: true, settings: {} }
    const { data } = expectStatus(await other.owner.post(clients, body), 201)
    const refused = await other.owner.patch(`${clients}/${data.id}`, { settings: { openid: withKeys([ec.jwk]) } })
    expect(fieldsOf(refused)).toEqual({ status: 400, fields: [METHOD] })
    expect(refused.body.error_description).toContain('settings.security.openid_policy.client_assertions.enabled')
    const set = (enabled: boolean) => ({
      settings: { security: { openid_policy: { client_assertions: { enabled } } } },
    })
    expectStatus(await other.owner.patch(other.I, set(true)), 200)
    expectStatus(await other.owner.patch(`${clients}/${data.id}`, { settings: { openid: withKeys([ec.jwk]) } }), 200)
    expectStatus(await other.owner.patch(other.I, set(false)), 200)
    expectStatus(await other.owner.patch(`${clients}/${data.id}`, { name: 'Other' }), 200)
    const scopes = { settings: { scopes: ['orders:read'] } }
    expectStatus(await other.owner.patch(`${clients}/${data.id}`, scopes), 200)
  })

  test.each([null, 'yes', 1])(
    'client_assertions.enabled %j of an issuer is 400 unless it is a boolean or absent',
    async (enabled) => {
      const settings = { security: { openid_policy: { client_assertions: { enabled } } } }
      const { status } = await tenant.owner.post(`${tenant.A}/issuers`, { name: 'I', settings })
      expect(status).toBe(enabled === null ? 201 : 400)
    },
  )
})

describe('jwks', () => {
  const withoutKid = ({ kid: _, ...jwk }: Record<string, unknown>) => jwk
  const privateJwk = (key: typeof ec) => key.privateKey.export({ format: 'jwk' })

  test('EC P-256, Ed25519 and RSA keys of 2,048 bits and more are accepted; one key needs no kid', async () => {
    expectStatus(await create(withKeys([ec.jwk, ed.jwk, rsa.jwk])), 201)
    for (const key of [ec, ed, rsa]) expectStatus(await create(withKeys([withoutKid(key.jwk)])), 201)
    const optional = { alg: 'ES256', use: 'sig', key_ops: ['verify'], x5t: 'thumbprint' }
    expectStatus(await create(withKeys([{ ...ec.jwk, ...optional }])), 201)
  })

  const cases: [string, unknown, string[]][] = [
    ['a private EC key', [privateJwk(ec)], [`${JWKS}.keys[0].d`]],
    ['a private Ed25519 key', [ec.jwk, { ...privateJwk(ed), kid: 'x' }], [`${JWKS}.keys[1].d`]],
    ['a private RSA key', [privateJwk(rsa)], [`${JWKS}.keys[0].d`]],
    ['a prime of an RSA key', [{ ...rsa.jwk, p: 'AQAB' }], [`${JWKS}.keys[0].p`]],
    ['a symmetric key', [{ kty: 'oct', k: 'c2VjcmV0' }], [`${JWKS}.keys[0].k`]],
    ['an RSA key of 1,024 bits', [createClientKey('RS256', 'weak', 1024).jwk], [`${JWKS}.keys[0].n`]],
    ['an RSA key with an exponent above 65537', [{ ...rsa.jwk, e: '______8' }], [`${JWKS}.keys[0]`]],
    ['an RSA key with the exponent 1', [{ ...rsa.jwk, e: 'AQ' }], [`${JWKS}.keys[0]`]],
    ['a key on P-384', [{ kty: 'EC', crv: 'P-384', x: 'AA', y: 'AA' }], [`${JWKS}.keys[0]`]],
    ['a key on X25519', [{ ...ed.jwk, crv: 'X25519' }], [`${JWKS}.keys[0]`]],
    ['a point that is not on the curve', [{ ...ec.jwk, x: ec.jwk['y'], y: ec.jwk['x'] }], [`${JWKS}.keys[0]`]],
    ['a key without x', [{ kty: 'EC', crv: 'P-256' }], [`${JWKS}.keys[0]`]],
    ['an unknown kty', [{ kty: '__proto__' }], [`${JWKS}.keys[0]`]],
    ['no object', ['key', null], [`${JWKS}.keys[0]`, `${JWKS}.keys[1]`]],
    ['two keys, one without kid', [ec.jwk, withoutKid(ed.jwk)], [`${JWKS}.keys[1].kid`]],
    ['two keys with the same kid', [ec.jwk, { ...ed.jwk, kid: 'ec' }], [`${JWKS}.keys[1].kid`]],
    ['an empty kid', [{ ...ec.jwk, kid: '' }], [`${JWKS}.keys[0].kid`]],
    ['a kid of 256 characters', [{ ...ec.jwk, kid: 'x'.repeat(256) }], [`${JWKS}.keys[0].kid`]],
    ['a key for encryption', [{ ...ec.jwk, use: 'enc' }], [`${JWKS}.keys[0].use`]],
    ['a key for other operations', [{ ...ec.jwk, key_ops: ['sign'] }], [`${JWKS}.keys[0].key_ops`]],
    ['the algorithm of another key type', [{ ...ec.jwk, alg: 'RS256' }], [`${JWKS}.keys[0].alg`]],
    ['alg none', [{ ...ec.jwk, alg: 'none' }], [`${JWKS}.keys[0].alg`]],
    ['no key', [], [`${JWKS}.keys`]],
    ['21 keys', Array.from({ length: 21 }, (_, at) => ({ ...ec.jwk, kid: `k${at}` })), [`${JWKS}.keys`]],
    ['no list', {}, [`${JWKS}.keys`]],
  ]
  test.each(cases)('%s is 400 and names the member', async (_, keys, fields) => {
    expect(fieldsOf(await create(withKeys(keys)))).toEqual({ status: 400, fields })
  })

  test('a private key in jwks is not stored, and the response does not contain it', async () => {
    const secretKey = privateJwk(ec)
    const response = await create(withKeys([secretKey]))
    expect(response.status).toBe(400)
    expect(response.text).not.toContain(secretKey['d'])
  })
})
