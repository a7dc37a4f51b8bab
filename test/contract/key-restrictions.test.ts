/**
 * Validation of restrictions and expiry when a key is created and changed
 * (docs/contract.md#restrictions-of-keys-and-tokens).
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiResponse } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let other: TenantFixture
/** The ids of an issuer and of two organizations that were deleted. */
let gone: { issuer: string; org: string; orgOfGoneIssuer: string }
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  other = await createTenantFixture(app, 'Other')
  const issuer = await issuerOf(fixture)
  const orgOfGoneIssuer = await orgOf(`${fixture.A}/issuers/${issuer}`)
  const org = await orgOf(fixture.I)
  expectStatus(await fixture.owner.delete(`${fixture.A}/issuers/${issuer}`), 204)
  expectStatus(await fixture.owner.delete(`${fixture.I}/organizations/${org}`), 204)
  gone = { issuer, org, orgOfGoneIssuer }
})
afterAll(() => app.close())

const issuerOf = async ({ owner, A }: TenantFixture): Promise<string> =>
  expectStatus(await owner.post(`${A}/issuers`, { name: uniqueName('Issuer') }), 201).data.id
const orgOf = async (I: string): Promise<string> =>
  expectStatus(await fixture.owner.post(`${I}/organizations`, {}), 201).data.id
const create = (restrictions: object, more: object = {}) =>
  fixture.owner.post(`${fixture.A}/api-keys`, {
    name: uniqueName('key'),
    restrictions: { scopes: [], ...restrictions },
    ...more,
  })
const validationErrorOf = ({ status, body }: ApiResponse<AnyJson>) => ({
  status,
  details: body.details?.map(({ field, code }: AnyJson) => `${field} ${code}`),
})

describe('issuer_ids and org_ids of an account key refer to resources of its account', () => {
  const cases: [string, () => object, string[]][] = [
    [
      'an issuer of another account',
      () => ({ issuer_ids: [fixture.issuerId, other.issuerId] }),
      ['issuer_ids[1] unknown_issuer'],
    ],
    ['an unknown issuer', () => ({ issuer_ids: [`iss_${'0'.repeat(26)}`] }), ['issuer_ids[0] unknown_issuer']],
    [
      'a malformed id',
      () => ({ issuer_ids: ['x', fixture.issuerId, ''] }),
      ['issuer_ids[0] unknown_issuer', 'issuer_ids[2] unknown_issuer'],
    ],
    [
      'the id of another resource type',
      () => ({ issuer_ids: [fixture.ids.org_id], org_ids: [fixture.ids.org_id] }),
      ['issuer_ids[0] unknown_issuer'],
    ],
    ['a deleted issuer', () => ({ issuer_ids: [gone.issuer] }), ['issuer_ids[0] unknown_issuer']],
    [
      'an organization of another account',
      () => ({ org_ids: [other.ids.org_id] }),
      ['org_ids[0] unknown_organization'],
    ],
    [
      'an unknown organization',
      () => ({ org_ids: [fixture.ids.org_id, `org_${'0'.repeat(26)}`] }),
      ['org_ids[1] unknown_organization'],
    ],
    ['a deleted organization', () => ({ org_ids: [gone.org] }), ['org_ids[0] unknown_organization']],
    [
      'an organization of a deleted issuer',
      () => ({ org_ids: [gone.orgOfGoneIssuer] }),
      ['org_ids[0] unknown_organization'],
    ],
    [
      'both',
      () => ({ issuer_ids: ['x'], org_ids: ['y'] }),
      ['issuer_ids[0] unknown_issuer', 'org_ids[0] unknown_organization'],
    ],
  ]
  test.each(cases)('%s is 400 on creation and on PATCH', async (_, restrictions, faults) => {
    const expected = { status: 400, details: faults.map((text) => `restrictions.${text}`) }
    expect(validationErrorOf(await create(restrictions()))).toEqual(expected)
    const { id } = expectStatus(await create({}), 201).data
    const changed = await fixture.owner.patch(`${fixture.A}/api-keys/${id}`, { restrictions: restrictions() })
    expect(validationErrorOf(changed)).toEqual(expected)
  })

  test('resources of the account and empty lists are accepted', async () => {
    const own = { issuer_ids: [fixture.issuerId], org_ids: [fixture.ids.org_id] }
    for (const restrictions of [own, { issuer_ids: [], org_ids: [] }, {}]) {
      const { data } = expectStatus(await create(restrictions), 201)
      expect(data.restrictions).toEqual({ scopes: [], ...restrictions })
      expectStatus(await fixture.owner.patch(`${fixture.A}/api-keys/${data.id}`, { restrictions }), 200)
    }
  })

  test('a key that refers to a deleted resource can be changed and keep or drop the reference, but not add another', async () => {
    const issuer = await issuerOf(fixture)
    const { id } = expectStatus(await create({ issuer_ids: [issuer] }), 201).data
    expectStatus(await fixture.owner.delete(`${fixture.A}/issuers/${issuer}`), 204)
    const patch = (body: object) => fixture.owner.patch(`${fixture.A}/api-keys/${id}`, body)
    expectStatus(await patch({ name: 'Renamed' }), 200)
    expectStatus(await patch({ restrictions: { scopes: [], issuer_ids: [issuer, fixture.issuerId] } }), 200)
    expect(validationErrorOf(await patch({ restrictions: { issuer_ids: [issuer, gone.issuer] } }))).toEqual({
      status: 400,
      details: ['restrictions.issuer_ids[1] unknown_issuer'],
    })
    expectStatus(await patch({ restrictions: { scopes: [], issuer_ids: [fixture.issuerId] } }), 200)
    expect((await patch({ restrictions: { issuer_ids: [issuer] } })).status).toBe(400)
  })

  test('keys of the system account may refer to resources of any account', async () => {
    const [system] = expectStatus(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const post = (issuer_ids: string[]) =>
      app.operator.post(`/v1/accounts/${system.id}/api-keys`, { name: 'k', restrictions: { scopes: [], issuer_ids } })
    expectStatus(await post([fixture.issuerId]), 201)
    expect((await post([fixture.issuerId, gone.issuer])).body.details[0].field).toBe('restrictions.issuer_ids[1]')
  })
})

describe('expires_at in the past is 400: the error names the field and the fix', () => {
  const collections: [string, () => string, object][] = [
    ['account keys', () => `${fixture.A}/api-keys`, {}],
    ['organization keys', () => `${fixture.I}/organizations/${fixture.ids.org_id}/api-keys`, { type: 'api_key' }],
    ['personal tokens', () => `${fixture.I}/users/${fixture.ids.user_id}/tokens`, { type: 'personal_token' }],
  ]
  const past = () => [0, 1, Math.floor(app.clock.now() / 1000), app.clock.now() - 60_000, app.clock.now()]
  const refusal = {
    status: 400,
    body: expect.objectContaining({
      error: 'invalid_request',
      details: [{ field: 'expires_at', code: 'out_of_range', message: 'must be in the future, in Unix milliseconds.' }],
    }),
  }
  const about = ({ status, body }: ApiResponse<AnyJson>) => ({ status, body })

  test.each(collections)('%s', async (_, path, more) => {
    const body = (expires_at?: number | null) => ({
      name: uniqueName('k'),
      restrictions: { scopes: [] },
      expires_at,
      ...more,
    })
    for (const at of past()) expect(about(await fixture.owner.post(path(), body(at)))).toEqual(refusal)
    for (const at of [undefined, null, app.clock.now() + 60_000])
      expectStatus(await fixture.owner.post(path(), body(at)), 201)
  })

  test.each(collections.slice(0, 2))(
    '%s on PATCH; other fields of an expired key can be changed',
    async (_, path, more) => {
      const expires_at = app.clock.now() + 60_000
      const created = { name: uniqueName('k'), restrictions: { scopes: [] }, expires_at, ...more }
      const { id } = expectStatus(await fixture.owner.post(path(), created), 201).data
      const patch = (body: object) => fixture.owner.patch(`${path()}/${id}`, body)
      for (const at of past()) expect(about(await patch({ expires_at: at }))).toEqual(refusal)
      app.clock.advance(60_001)
      expect(expectStatus(await patch({ name: 'Renamed' }), 200).data).toMatchObject({
        name: 'Renamed',
        status: 'expired',
      })
      expect(expectStatus(await patch({ description: 'x', expires_at }), 200).data.status).toBe('expired')
      expect(about(await patch({ expires_at: expires_at - 1 }))).toEqual(refusal)
      expect(expectStatus(await patch({ expires_at: app.clock.now() + 60_000 }), 200).data.status).toBe('active')
      expect(expectStatus(await patch({ expires_at: null }), 200).data.status).toBe('active')
      expect(about(await patch({ expires_at: 0 }))).toEqual(refusal)
    },
  )

  test('createApiKey through GraphQL', async () => {
    const text = `mutation ($a: ID!, $e: Timestamp) {
      createApiKey(accountId: $a, input: {name: "k", restrictions: {scopes: []}, expiresAt: $e}) { id } }`
    const response = await fixture.owner.graphql(text, { a: fixture.accountId, e: app.clock.now() - 1 })
    expect(response.body.errors[0].extensions).toMatchObject({ status: 400, details: [{ field: 'expiresAt' }] })
  })
})
