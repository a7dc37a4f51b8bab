/** The field `recentDenials` of clients (docs/contract.md#refused-requests). */
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals'
import { REDIRECT_URI, Realm, type TestClient } from '../idp/realm.js'
import { createRestrictedKey } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { waitUntil } from '../setup/wait-until.js'

let app: TestApp
let realm: Realm
let web: TestClient

beforeAll(async () => {
  app = await startApp()
  realm = await Realm.create(app)
})
afterAll(() => app.close())
beforeEach(async () => {
  web = await realm.createClient({}, { confidential: true })
})

const fields = 'endpoint reason error message fix setting parameter value count firstAt lastAt requestId'
const query = `query ($accountId: ID!, $issuerId: ID!, $clientId: ID!) {
  client(accountId: $accountId, issuerId: $issuerId, clientId: $clientId) { id recentDenials { ${fields} } }
}`

async function readDenials(clientId = web.id, api = realm.tenant.owner): Promise<AnyJson> {
  const { accountId, issuerId } = realm.tenant
  return (await api.graphql(query, { accountId, issuerId, clientId })).body
}

/** Waits until the client has this number of entries. Events are written after the response. */
const denialsOf = async (count: number, clientId = web.id): Promise<AnyJson[]> =>
  (await waitUntil(`the client has ${count} recent denials`, async () => {
    const body = await readDenials(clientId)
    return body.data.client.recentDenials.length === count ? body.data.client.recentDenials : undefined
  }))!

const authorize = (redirect_uri: string, client = web) =>
  fetch(realm.authorizeUrl(client, { redirect_uri }), { redirect: 'manual' })

test('a client without errors has an empty list', async () => {
  expect((await readDenials()).data.client.recentDenials).toEqual([])
})

test('an error has its explanation, the field to change, and the request id of the response', async () => {
  const response = await authorize('https://app.example.com/cb')
  const [denial] = await denialsOf(1)
  expect(denial).toEqual({
    endpoint: 'authorize',
    reason: 'redirect_uri_mismatch',
    error: 'invalid_redirect_uri',
    message: `redirect_uri did not match \`https://app.example.com/cb\`; allowed is \`${REDIRECT_URI}\`. The difference is the path.`,
    fix: expect.stringContaining('Add the redirect URI to the client'),
    setting: 'settings.openid.redirect_uris',
    parameter: 'redirect_uri',
    value: 'https://app.example.com/cb',
    count: 1,
    firstAt: expect.any(Number),
    lastAt: denial!.firstAt,
    requestId: response.headers.get('x-request-id'),
  })
})

test('equal errors are one entry with a count and the last request; the last error is first', async () => {
  await realm.refresh(web, 'unknown-refresh-token')
  await denialsOf(1)
  for (let minute = 0; minute < 2; minute++) {
    app.clock.advance(61_000)
    await authorize('https://app.example.com/cb')
    await denialsOf(2)
  }
  app.clock.advance(61_000)
  const last = await authorize('https://app.example.com/cb')
  const denials = await waitUntil('the third event is counted', async () => {
    const found = await denialsOf(2)
    return found[0]!.count === 3 ? found : undefined
  })
  expect(denials!.map(({ reason, count }) => [reason, count])).toEqual([
    ['redirect_uri_mismatch', 3],
    ['refresh_token_invalid', 1],
  ])
  expect(denials![0]!.requestId).toBe(last.headers.get('x-request-id'))
  expect(denials![0]!.lastAt - denials![0]!.firstAt).toBeGreaterThanOrEqual(122_000)
})

test('the list has the last 10 errors of the last 7 days', async () => {
  for (let n = 0; n < 12; n++) {
    app.clock.advance(61_000)
    await authorize(`https://app.example.com/${n}`)
    await waitUntil('the error is first', async () => {
      const [first] = (await readDenials()).data.client.recentDenials
      return first?.value === `https://app.example.com/${n}`
    })
  }
  const values = (await denialsOf(10)).map(({ value }) => value)
  expect(values).toEqual(Array.from({ length: 10 }, (_, n) => `https://app.example.com/${11 - n}`))
  app.clock.advance(7 * 86_400_000 + 1)
  expect((await readDenials()).data.client.recentDenials).toEqual([])
})

test('errors of other clients are not listed, and a list of clients reads all errors with one statement', async () => {
  const other = await realm.createClient({ application_type: 'spa' })
  await authorize('https://one.example/cb')
  await authorize('https://two.example/cb', other)
  const [[one], [two]] = await Promise.all([denialsOf(1), denialsOf(1, other.id)])
  expect([one!.value, two!.value]).toEqual(['https://one.example/cb', 'https://two.example/cb'])

  const { pool } = app.gatehouse.database
  const original = pool.query.bind(pool) as (...given: AnyJson[]) => AnyJson
  const sent: string[] = []
  const recordedQuery = (...given: AnyJson[]) => {
    sent.push(given[0].text ?? given[0])
    return original(...given)
  }
  Object.assign(pool, { query: recordedQuery })
  const { accountId, issuerId } = realm.tenant
  const list = `query ($accountId: ID!, $issuerId: ID!) { clients(accountId: $accountId, issuerId: $issuerId) { data { id recentDenials { value } } } }`
  const { body } = await realm.tenant.owner.graphql(list, { accountId, issuerId })
  Object.assign(pool, { query: original })
  expect(body.errors).toBeUndefined()
  const valuesById = new Map(body.data.clients.data.map(({ id, recentDenials }: AnyJson) => [id, recentDenials]))
  expect([valuesById.get(web.id), valuesById.get(other.id)]).toEqual([
    [{ value: 'https://one.example/cb' }],
    [{ value: 'https://two.example/cb' }],
  ])
  expect(sent.filter((text) => text.includes('authorization.denied'))).toHaveLength(1)
})

test('without events:read the field is refused, and the client is still returned', async () => {
  const reader = await createRestrictedKey(realm.tenant, { scopes: ['issuers.clients:read'] })
  const body = await readDenials(web.id, reader)
  expect(body.data.client).toEqual({ id: web.id, recentDenials: null })
  expect(body.errors[0].extensions.code).toBe('INSUFFICIENT_SCOPE')
})
