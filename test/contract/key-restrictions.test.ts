/** What the restrictions and the expiry of a key may say when it is made and changed (decisions D8). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { must } from '../setup/actors.js'
import type { Answer, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { fresh, makeWorld, type World } from './world.js'

let app: TestApp
let world: World
let other: World
/** Made and deleted again. */
let gone: { issuer: string; org: string; orgOfGoneIssuer: string }
beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  other = await makeWorld(app, 'Other')
  const issuer = await issuerOf(world)
  const orgOfGoneIssuer = await orgOf(`${world.A}/issuers/${issuer}`)
  const org = await orgOf(world.I)
  must(await world.owner.delete(`${world.A}/issuers/${issuer}`), 204)
  must(await world.owner.delete(`${world.I}/organizations/${org}`), 204)
  gone = { issuer, org, orgOfGoneIssuer }
})
afterAll(() => app.close())

const issuerOf = async ({ owner, A }: World): Promise<string> =>
  must(await owner.post(`${A}/issuers`, { name: fresh('Issuer') }), 201).data.id
const orgOf = async (I: string): Promise<string> => must(await world.owner.post(`${I}/organizations`, {}), 201).data.id
const make = (restrictions: object, more: object = {}) =>
  world.owner.post(`${world.A}/api-keys`, {
    name: fresh('key'),
    restrictions: { scopes: [], ...restrictions },
    ...more,
  })
const faultsOf = ({ status, body }: Answer<Loose>) => ({
  status,
  details: body.details?.map(({ field, code }: Loose) => `${field} ${code}`),
})

describe('issuer_ids and org_ids of an account key name what lives in its account', () => {
  const cases: [string, () => object, string[]][] = [
    [
      'an issuer of another account',
      () => ({ issuer_ids: [world.issuerId, other.issuerId] }),
      ['issuer_ids[1] unknown_issuer'],
    ],
    ['an unknown issuer', () => ({ issuer_ids: [`iss_${'0'.repeat(26)}`] }), ['issuer_ids[0] unknown_issuer']],
    [
      'a malformed id',
      () => ({ issuer_ids: ['x', world.issuerId, ''] }),
      ['issuer_ids[0] unknown_issuer', 'issuer_ids[2] unknown_issuer'],
    ],
    [
      'the id of something else',
      () => ({ issuer_ids: [world.ids.org_id], org_ids: [world.ids.org_id] }),
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
      () => ({ org_ids: [world.ids.org_id, `org_${'0'.repeat(26)}`] }),
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
    expect(faultsOf(await make(restrictions()))).toEqual(expected)
    const { id } = must(await make({}), 201).data
    const changed = await world.owner.patch(`${world.A}/api-keys/${id}`, { restrictions: restrictions() })
    expect(faultsOf(changed)).toEqual(expected)
  })

  test('its own are taken, and none at all', async () => {
    const own = { issuer_ids: [world.issuerId], org_ids: [world.ids.org_id] }
    for (const restrictions of [own, { issuer_ids: [], org_ids: [] }, {}]) {
      const { data } = must(await make(restrictions), 201)
      expect(data.restrictions).toEqual({ scopes: [], ...restrictions })
      must(await world.owner.patch(`${world.A}/api-keys/${data.id}`, { restrictions }), 200)
    }
  })

  test('a key that names what was deleted since can be changed, and keep or lose the name, but gain no other', async () => {
    const issuer = await issuerOf(world)
    const { id } = must(await make({ issuer_ids: [issuer] }), 201).data
    must(await world.owner.delete(`${world.A}/issuers/${issuer}`), 204)
    const patch = (body: object) => world.owner.patch(`${world.A}/api-keys/${id}`, body)
    must(await patch({ name: 'Renamed' }), 200)
    must(await patch({ restrictions: { scopes: [], issuer_ids: [issuer, world.issuerId] } }), 200)
    expect(faultsOf(await patch({ restrictions: { issuer_ids: [issuer, gone.issuer] } }))).toEqual({
      status: 400,
      details: ['restrictions.issuer_ids[1] unknown_issuer'],
    })
    must(await patch({ restrictions: { scopes: [], issuer_ids: [world.issuerId] } }), 200)
    expect((await patch({ restrictions: { issuer_ids: [issuer] } })).status).toBe(400)
  })

  test('the system account reaches every account, so its keys name what lives in any', async () => {
    const [system] = must(await app.operator.get('/v1/accounts'), 200).data.slice(-1)
    const post = (issuer_ids: string[]) =>
      app.operator.post(`/v1/accounts/${system.id}/api-keys`, { name: 'k', restrictions: { scopes: [], issuer_ids } })
    must(await post([world.issuerId]), 201)
    expect((await post([world.issuerId, gone.issuer])).body.details[0].field).toBe('restrictions.issuer_ids[1]')
  })
})

describe('expires_at in the past is 400: the error names the field and what to do', () => {
  const collections: [string, () => string, object][] = [
    ['account keys', () => `${world.A}/api-keys`, {}],
    ['organization keys', () => `${world.I}/organizations/${world.ids.org_id}/api-keys`, { type: 'api_key' }],
    ['personal tokens', () => `${world.I}/users/${world.ids.user_id}/tokens`, { type: 'personal_token' }],
  ]
  const past = () => [0, 1, Math.floor(app.clock.now() / 1000), app.clock.now() - 60_000, app.clock.now()]
  const refusal = {
    status: 400,
    body: expect.objectContaining({
      error: 'invalid_request',
      details: [
        { field: 'expires_at', code: 'out_of_range', message: 'must lie in the future, in Unix milliseconds.' },
      ],
    }),
  }
  const about = ({ status, body }: Answer<Loose>) => ({ status, body })

  test.each(collections)('%s', async (_, path, more) => {
    const body = (expires_at?: number | null) => ({
      name: fresh('k'),
      restrictions: { scopes: [] },
      expires_at,
      ...more,
    })
    for (const at of past()) expect(about(await world.owner.post(path(), body(at)))).toEqual(refusal)
    for (const at of [undefined, null, app.clock.now() + 60_000]) must(await world.owner.post(path(), body(at)), 201)
  })

  test.each(collections.slice(0, 2))(
    '%s on PATCH; one that has expired can be changed otherwise',
    async (_, path, more) => {
      const expires_at = app.clock.now() + 60_000
      const created = { name: fresh('k'), restrictions: { scopes: [] }, expires_at, ...more }
      const { id } = must(await world.owner.post(path(), created), 201).data
      const patch = (body: object) => world.owner.patch(`${path()}/${id}`, body)
      for (const at of past()) expect(about(await patch({ expires_at: at }))).toEqual(refusal)
      app.clock.advance(60_001)
      expect(must(await patch({ name: 'Renamed' }), 200).data).toMatchObject({ name: 'Renamed', status: 'expired' })
      expect(must(await patch({ description: 'x', expires_at }), 200).data.status).toBe('expired')
      expect(about(await patch({ expires_at: expires_at - 1 }))).toEqual(refusal)
      expect(must(await patch({ expires_at: app.clock.now() + 60_000 }), 200).data.status).toBe('active')
      expect(must(await patch({ expires_at: null }), 200).data.status).toBe('active')
      expect(about(await patch({ expires_at: 0 }))).toEqual(refusal)
    },
  )

  test('the same by GraphQL', async () => {
    const text = `mutation ($a: ID!, $e: Timestamp) {
      createApiKey(accountId: $a, input: {name: "k", restrictions: {scopes: []}, expiresAt: $e}) { id } }`
    const answer = await world.owner.graphql(text, { a: world.accountId, e: app.clock.now() - 1 })
    expect(answer.body.errors[0].extensions).toMatchObject({ status: 400, details: [{ field: 'expiresAt' }] })
  })
})
