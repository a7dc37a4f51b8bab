/**
 * Tests the authorization of all routes of `/v1` and all GraphQL root fields: without a valid credential, with API keys
 * of different scopes and restrictions, and with ids of another tenant in each path parameter. The required scopes are
 * repeated in this file instead of imported from src/, so that a test fails when a route requires a wrong scope.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import { preconditions } from '../contract/preconditions.js'
import {
  callRootField as graphql,
  idArgumentsOf,
  type RootField,
  readRootFields,
  restRouteOf,
} from '../contract/root-fields.js'
import {
  createTenantFixture,
  type FixtureIds,
  fixtureForRoute,
  pathParametersOf,
  routePath,
  sendRouteRequest,
  type TenantFixture,
} from '../contract/tenant-fixture.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import { type ApiClient, createApiClient } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** The stem of the required scope by path; the first match counts (docs/contract.md#scopes-and-authorization). */
const stems: [RegExp, string][] = [
  [/\/events/, 'events'],
  [/\/webhooks/, 'webhooks'],
  [/\/sessions/, 'issuers.sessions'],
  [/\/notes/, 'notes'],
  [/\/tokens/, 'issuers.users.tokens'],
  [/\/approvals/, 'issuers.approvals'],
  [/\/agents\/.*\/verifiers/, 'issuers.agents.verifiers'],
  [/\/agents/, 'issuers.agents'],
  [/\/verifiers/, 'issuers.users.verifiers'],
  [/\/users/, 'issuers.users'],
  [/\/clients/, 'issuers.clients'],
  [/\/auth-methods/, 'issuers.auth_methods'],
  [/\/organizations.*\/groups/, 'issuers.organizations.groups'],
  [/\/organizations.*\/(members|invitations)/, 'issuers.organizations.members'],
  [/\/organizations.*\/api-keys/, 'issuers.organizations.api_keys'],
  [/\/organizations/, 'issuers.organizations'],
  [/\/issuers/, 'issuers'],
  [/\/api-keys/, 'api_keys'],
  [/\/domains/, 'domains'],
  [/\/credits/, 'credits'],
  [/\/payment-methods/, 'payment_methods'],
  [/./, 'accounts'],
]
const actions: Record<string, string> = { GET: 'read', POST: 'write', PATCH: 'write', DELETE: 'delete' }

function scopeOf({ method, path }: Route): string {
  const stem = stems.find(([pattern]) => pattern.test(path))![1]
  if (stem === 'issuers.approvals' && method === 'PATCH') return `${stem}:manage`
  if (path.endsWith('/topups')) return `${stem}:manage`
  const revokesKey = path.endsWith('/revoke') && stem !== 'issuers.sessions'
  return `${stem}:${revokesKey ? 'delete' : actions[method]}`
}
const stemOf = (scope: string) => scope.slice(0, scope.indexOf(':'))
const allStems = [...new Set(routes.map((route) => stemOf(scopeOf(route))))]
const everything = allStems.flatMap((stem) =>
  ['read', 'write', 'delete', 'manage'].map((action) => `${stem}:${action}`),
)

const name = ({ method, path }: Route) => `${method} ${path}`
const table = routes.map((route) => [name(route), route] as const)

let app: TestApp
let dns: TestDns
let facilitator: Facilitator
let mine: TenantFixture
let theirs: TenantFixture
const unauthenticatedCallers: Record<string, ApiClient> = {}

beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  mine = await createTenantFixture(app, 'Mine')
  theirs = await createTenantFixture(app, 'Zweitmieter')
  const { owner, A } = mine
  const basic = (text: string): ApiClient => apiWithAuthorization(`Basic ${Buffer.from(text).toString('base64')}`)
  const [id = '', secret = ''] = Buffer.from(owner.authorization!.split(' ')[1]!, 'base64').toString().split(':')
  unauthenticatedCallers['no credential'] = createApiClient(app.baseUrl)
  unauthenticatedCallers['an empty Basic value'] = apiWithAuthorization('Basic')
  unauthenticatedCallers['Basic that is no base64'] = apiWithAuthorization('Basic ~~~~')
  unauthenticatedCallers['Basic without a colon'] = basic('nothing')
  unauthenticatedCallers['Basic without an id'] = basic(`:${secret}`)
  unauthenticatedCallers['Basic without a secret'] = basic(`${id}:`)
  unauthenticatedCallers['a wrong secret'] = basic(`${id}:${secret}x`)
  unauthenticatedCallers['an unknown key'] = basic(`ak_${'0'.repeat(26)}:${secret}`)
  unauthenticatedCallers['an id with SQL in it'] = basic(`ak_' OR 1=1 --:${secret}`)
  unauthenticatedCallers['a NUL in the secret'] = basic(`${id}:${secret}\0`)
  unauthenticatedCallers['a Bearer that is no token'] = apiWithAuthorization('Bearer abc')
  unauthenticatedCallers['a Bearer without a signature'] = apiWithAuthorization(
    'Bearer eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.eyJzdWIiOiJ4In0.',
  )
  unauthenticatedCallers['the API key as Bearer'] = apiWithAuthorization(`Bearer ${secret}`)
  unauthenticatedCallers['another scheme'] = apiWithAuthorization(`Digest username="${id}"`)

  const blocked = await createRestrictedKey(mine, {})
  expectStatus(await owner.post(`${A}/api-keys/${blocked.keyId}/block`), 200)
  unauthenticatedCallers['a blocked key'] = blocked
  const revoked = await createRestrictedKey(mine, {})
  expectStatus(await owner.post(`${A}/api-keys/${revoked.keyId}/revoke`), 200)
  unauthenticatedCallers['a revoked key'] = revoked
  const deleted = await createRestrictedKey(mine, {})
  expectStatus(await owner.delete(`${A}/api-keys/${deleted.keyId}`), 204)
  unauthenticatedCallers['a deleted key'] = deleted
  const expired = await createRestrictedKey(mine, {}, { expires_at: app.clock.now() + 60_000 })
  app.clock.advance(60_000)
  unauthenticatedCallers['an expired key'] = expired
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await facilitator.close()
})

/** Paths of the keys that a test created. They are deleted after the test, because an account has at most 100 keys. */
const createdKeys: string[] = []
async function keyWith(fixture: TenantFixture, restrictions: object): Promise<ApiClient> {
  const key = await createRestrictedKey(fixture, restrictions)
  createdKeys.push(`${fixture.A}/api-keys/${key.keyId}`)
  return key
}
afterEach(async () => {
  for (const path of createdKeys.splice(0)) await mine.owner.delete(path)
})

function apiWithAuthorization(authorization: string): ApiClient {
  const bare = createApiClient(app.baseUrl)
  const request: ApiClient['request'] = (method, path, body, headers) =>
    bare.request(method, path, body, { ...headers, authorization })
  return {
    ...bare,
    authorization,
    request,
    graphql: (query, variables) => request('POST', '/graphql', { query, variables }),
  }
}

/** Expects that a text contains no id of the tenant and not the name of the second tenant. */
function expectNothingOf(fixture: TenantFixture, text: string): void {
  const words = [...Object.values(fixture.ids), 'Zweitmieter']
  expect(words.filter((word) => text.includes(word))).toEqual([])
}

describe('without a valid credential every route is 401', () => {
  test.each(table)('%s', async (_, route) => {
    await Promise.all(
      Object.entries(unauthenticatedCallers).map(async ([who, api]) => {
        const response = await sendRouteRequest(api, route, mine.ids)
        expect({ who, status: response.status, error: response.body.error }).toEqual({
          who,
          status: 401,
          error: 'unauthorized',
        })
        expect(response.headers.get('www-authenticate')).toMatch(
          /^Basic realm="gatehouse".*Bearer realm="gatehouse".*resource_metadata="/,
        )
        expect(response.headers.get('etag')).toBeNull()
        expectNothingOf(mine, response.text)
      }),
    )
  })
})

describe('in each path parameter, an id of another tenant has the same 404 as an unknown id', () => {
  test.each(table.filter(([, route]) => pathParametersOf(route).length > 0))('%s', async (_, route) => {
    // All ids of the other tenant, then only one of its ids, then all of its ids except one.
    const swaps: FixtureIds[] = [
      theirs.ids,
      ...pathParametersOf(route).map((parameter) => ({ ...mine.ids, [parameter]: theirs.ids[parameter] })),
      ...pathParametersOf(route).map((parameter) => ({ ...theirs.ids, [parameter]: mine.ids[parameter] })),
    ].filter((ids) => routePath(route, ids) !== routePath(route, mine.ids))
    for (const ids of swaps) {
      const unknown = Object.fromEntries(
        Object.entries(ids).map(([key, id]) => [
          key,
          id === theirs.ids[key as keyof FixtureIds] ? `${id.split('_')[0]}_${'0'.repeat(26)}` : id,
        ]),
      ) as unknown as FixtureIds
      const [response, missing] = await Promise.all([
        sendRouteRequest(mine.owner, route, ids),
        sendRouteRequest(mine.owner, route, unknown),
      ])
      expect({ ids, status: response.status }).toEqual({ ids, status: 404 })
      expect({ ...response.body, request_id: '' }).toEqual({ ...missing.body, request_id: '' })
      expectNothingOf(theirs, response.text)
    }
  })

  test('the other tenant is unchanged', async () => {
    for (const route of routes.filter(({ method, path }) => method === 'GET' && path.endsWith('}'))) {
      expect((await sendRouteRequest(theirs.owner, route, theirs.ids)).status).toBe(200)
    }
  })
})

describe('a missing scope is 403 insufficient_scope, also when the caller has all other scopes', () => {
  test.each(table)('%s', async (_, route) => {
    const needed = scopeOf(route)
    const others = everything.filter((scope) => scope !== needed && scope !== `${stemOf(needed)}:manage`)
    const api = await keyWith(mine, {
      scopes: [...others, 'svc', 'svc:*', '*', `${needed}x`, 'svc:all2', 'svc:manage'],
    })
    const response = await sendRouteRequest(api, route, mine.ids)
    expect(response.body).toMatchObject({ error: 'insufficient_scope' })
    expect(response.status).toBe(403)
    expect(response.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${needed}"`)
    expect(response.headers.get('etag')).toBeNull()
  })
})

/** Scopes that an operation requires in addition to the scope of its path (docs/contract.md#authority-for-changes). */
const alsoNeeded: Record<string, string[]> = { createWebhook: ['events:read'] }

describe('the documented scope is sufficient, and so is `manage` of the same stem', () => {
  test.each(table)('%s', async (_, route) => {
    for (const scope of [scopeOf(route), `${stemOf(scopeOf(route))}:manage`]) {
      const fixture = await fixtureForRoute(route, mine)
      const api = await keyWith(fixture, { scopes: [scope, ...(alsoNeeded[route.operation] ?? [])] })
      const body = await preconditions[route.operation]?.(fixture, dns)
      const response = await sendRouteRequest(api, route, fixture.ids, {}, body)
      expect({ scope, status: response.status, text: response.status === route.success ? '' : response.text }).toEqual({
        scope,
        status: route.success,
        text: '',
      })
    }
  })
})

/** Creates another issuer in the account of the fixture. */
async function withNewIssuer(fixture: TenantFixture): Promise<TenantFixture> {
  const { id } = expectStatus(await fixture.owner.post(`${fixture.A}/issuers`, { name: 'Another' }), 201).data
  return { ...fixture, issuerId: id, I: `${fixture.A}/issuers/${id}` }
}

/** Another issuer of the account of `mine`, and an organization of that issuer. */
let [elsewhereIssuerId, elsewhereOrgId] = ['', '']
beforeAll(async () => {
  const { data } = expectStatus(await mine.owner.post(`${mine.A}/issuers`, { name: 'Elsewhere' }), 201)
  elsewhereIssuerId = data.id
  elsewhereOrgId = expectStatus(await mine.owner.post(`${mine.A}/issuers/${data.id}/organizations`, {}), 201).data.id
})

describe('restrictions.issuer_ids limits a key to these issuers', () => {
  test.each(table)('%s', async (_, route) => {
    const elsewhere = await keyWith(mine, { issuer_ids: [elsewhereIssuerId] })
    expect((await sendRouteRequest(elsewhere, route, mine.ids)).status).toBe(404)
  })

  test('a key with issuer_ids can read these issuers but not the account', async () => {
    const api = await keyWith(mine, { issuer_ids: [mine.issuerId] })
    expect((await api.get(mine.I)).status).toBe(200)
    expect((await api.get(`${mine.I}/users/${mine.ids.user_id}`)).status).toBe(200)
    expect((await api.get(mine.A)).status).toBe(404)
    expect((await api.get(`${mine.A}/api-keys`)).status).toBe(404)
  })
})

describe('restrictions.org_ids limits a key to resources of these organizations', () => {
  test.each(table)('%s', async (_, route) => {
    const api = await keyWith(mine, { org_ids: [elsewhereOrgId] })
    expect((await sendRouteRequest(api, route, mine.ids)).status).toBe(404)
  })
})

// ---- GraphQL ----

let roots: RootField[]

describe('GraphQL', () => {
  beforeAll(async () => {
    roots = await readRootFields(mine.owner)
  })

  test('each operation of /v1 has a root field', () => {
    const served = roots.map(restRouteOf).filter(Boolean)
    expect(routes.filter((route) => !served.includes(route)).map(name)).toEqual([])
  })

  test('a root field has ifMatch if its REST operation accepts If-Match, and idempotencyKey if that operation is a POST', () => {
    for (const root of roots) {
      const route = restRouteOf(root)
      if (!route) continue
      const has = (arg: string) => root.args.some((candidate) => candidate.name === arg)
      expect([root.name, has('ifMatch'), has('idempotencyKey')]).toEqual([
        root.name,
        route.ifMatch === true,
        route.method === 'POST',
      ])
    }
  })

  test('without a valid credential every root field is 401', async () => {
    for (const root of roots) {
      await Promise.all(
        Object.entries(unauthenticatedCallers).map(async ([who, api]) => {
          const { answer: response, status, code } = await graphql(api, root, mine.ids)
          expect({ who, field: root.name, http: response.status, status, code }).toEqual({
            who,
            field: root.name,
            http: 401,
            status: 401,
            code: 'UNAUTHORIZED',
          })
          expect(response.headers.get('www-authenticate')).toMatch(/^Basic realm="gatehouse".*Bearer realm="gatehouse"/)
        }),
      )
    }
  })

  test("another tenant's id is 404 in every root field, as in REST", async () => {
    for (const root of roots) {
      for (const [, swapped] of idArgumentsOf(root)) {
        for (const ids of [theirs.ids, { ...mine.ids, [swapped]: theirs.ids[swapped] }]) {
          const { answer: response, status, code } = await graphql(mine.owner, root, ids)
          expect({ field: root.name, swapped, status, code }).toEqual({
            field: root.name,
            swapped,
            status: 404,
            code: 'NOT_FOUND',
          })
          expectNothingOf(theirs, response.text)
        }
      }
    }
  })

  test('each caller gets the same status as in REST', async () => {
    const callers: [string, ApiClient][] = [
      ['read only', await keyWith(mine, { scopes: allStems.map((stem) => `${stem}:read`) })],
      ['write only', await keyWith(mine, { scopes: allStems.map((stem) => `${stem}:write`) })],
      ['nothing', await keyWith(mine, { scopes: [] })],
      ['bound to the issuer', await keyWith(mine, { issuer_ids: [mine.issuerId], scopes: ['issuers.users:manage'] })],
      ['the other tenant', theirs.owner],
    ]
    // Creates an active payment method. A second one is refused, so createPaymentMethod is 400 for callers with its
    // scope.
    await preconditions['createTopup']!(mine, dns)
    for (const [who, api] of callers) {
      for (const root of roots) {
        const route = restRouteOf(root)
        // Skips operations that succeed only once, because this test sends each request with REST and with GraphQL.
        // graphql/permissions.test.ts tests these operations with ids of missing resources.
        if (
          !route ||
          route.method === 'DELETE' ||
          /block|revoke|decide|unassign|suspend|createAuthMethod|^addOrganization/i.test(route.operation)
        )
          continue
        const rest = await sendRouteRequest(api, route, mine.ids)
        const { status } = await graphql(api, root, mine.ids)
        expect({ who, field: root.name, status }).toEqual({
          who,
          field: root.name,
          status: rest.status < 300 ? 200 : rest.status,
        })
      }
    }
  })

  test('createAccount is for operators only', async () => {
    const root = roots.find((candidate) => candidate.name === 'createAccount')!
    expect(await graphql(mine.owner, root, mine.ids)).toMatchObject({ status: 403, code: 'FORBIDDEN' })
    expect(await graphql(app.operator, root, mine.ids)).toMatchObject({ status: 200 })
  })

  test('relations require the scope of their REST operation', async () => {
    const api = await keyWith(mine, { scopes: ['accounts:read', 'issuers:read'] })
    const document = (selection: string) => `query ($id: ID!) { account(accountId: $id) { id ${selection} } }`
    const query = async (selection: string) => (await api.graphql(document(selection), { id: mine.accountId })).body
    expect((await query('issuers { data { id } }')).errors).toBeUndefined()
    expect((await query('issuers { data { id clients { data { id } } } }')).errors[0].extensions).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      status: 403,
    })
    // `domains` is a field of the account (docs/contract.md#accounts) and requires no further scope.
    expect((await query('domains { id }')).errors).toBeUndefined()
  })

  test('a key limited to one issuer cannot read another issuer or its relations', async () => {
    const api = await keyWith(mine, { issuer_ids: [mine.issuerId] })
    const document = `query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { id clients { data { id issuerId } } } }`
    const allowed = await api.graphql(document, { a: mine.accountId, i: mine.issuerId })
    expect(allowed.body.errors).toBeUndefined()
    const other = await withNewIssuer(mine)
    const refused = await api.graphql(document, { a: mine.accountId, i: other.issuerId })
    expect(refused.body.errors[0].extensions.status).toBe(404)
  })
})
