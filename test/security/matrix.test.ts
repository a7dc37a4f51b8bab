/**
 * Every route of `/v1` and every root field of GraphQL × every kind of caller × every path parameter swapped. The table
 * of scopes stands here a second time, from the decisions, so that a route that asks for the wrong one is found.
 */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import { ready } from '../contract/ready.js'
import { callRoot as graphql, placesOf, type Root, rootsOf, routeOf } from '../contract/roots.js'
import { type Ids, makeWorld, parametersOf, pathOf, send, type World, worldFor } from '../contract/world.js'
import { keyWith as makeKey, must } from '../setup/actors.js'
import { type Api, apiAs } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'

/** The stem of a path: its nouns, as decisions D7 lists them. */
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
let mine: World
let theirs: World
const strangers: Record<string, Api> = {}

beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  mine = await makeWorld(app, 'Mine')
  theirs = await makeWorld(app, 'Zweitmieter')
  const { owner, A } = mine
  const basic = (text: string): Api => raw(`Basic ${Buffer.from(text).toString('base64')}`)
  const [id = '', secret = ''] = Buffer.from(owner.authorization!.split(' ')[1]!, 'base64').toString().split(':')
  strangers['nobody'] = apiAs(app.baseUrl)
  strangers['an empty Basic value'] = raw('Basic')
  strangers['Basic that is no base64'] = raw('Basic ~~~~')
  strangers['Basic without a colon'] = basic('nothing')
  strangers['Basic without an id'] = basic(`:${secret}`)
  strangers['Basic without a secret'] = basic(`${id}:`)
  strangers['a wrong secret'] = basic(`${id}:${secret}x`)
  strangers['an unknown key'] = basic(`ak_${'0'.repeat(26)}:${secret}`)
  strangers['an id with SQL in it'] = basic(`ak_' OR 1=1 --:${secret}`)
  strangers['a NUL in the secret'] = basic(`${id}:${secret}\0`)
  strangers['a Bearer that is no token'] = raw('Bearer abc')
  strangers['a Bearer without a signature'] = raw('Bearer eyJhbGciOiJub25lIiwidHlwIjoiYXQrand0In0.eyJzdWIiOiJ4In0.')
  strangers['the API key as Bearer'] = raw(`Bearer ${secret}`)
  strangers['another scheme'] = raw(`Digest username="${id}"`)

  const blocked = await makeKey(mine, {})
  must(await owner.post(`${A}/api-keys/${blocked.keyId}/block`), 200)
  strangers['a blocked key'] = blocked
  const revoked = await makeKey(mine, {})
  must(await owner.post(`${A}/api-keys/${revoked.keyId}/revoke`), 200)
  strangers['a revoked key'] = revoked
  const deleted = await makeKey(mine, {})
  must(await owner.delete(`${A}/api-keys/${deleted.keyId}`), 204)
  strangers['a deleted key'] = deleted
  const expired = await makeKey(mine, {}, { expires_at: app.clock.now() + 60_000 })
  app.clock.advance(60_000)
  strangers['an expired key'] = expired
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await facilitator.close()
})

/** Keys live as long as one test: an account has at most 100. */
const made: string[] = []
async function keyWith(world: World, restrictions: object): Promise<Api> {
  const key = await makeKey(world, restrictions)
  made.push(`${world.A}/api-keys/${key.keyId}`)
  return key
}
afterEach(async () => {
  for (const path of made.splice(0)) await mine.owner.delete(path)
})

function raw(authorization: string): Api {
  const bare = apiAs(app.baseUrl)
  const request: Api['request'] = (method, path, body, headers) =>
    bare.request(method, path, body, { ...headers, authorization })
  return {
    ...bare,
    authorization,
    request,
    graphql: (query, variables) => request('POST', '/graphql', { query, variables }),
  }
}

/** Nothing in an answer may tell that the other tenant's thing exists. */
function expectNoWordOf(world: World, text: string): void {
  const words = [...Object.values(world.ids), 'Zweitmieter']
  expect(words.filter((word) => text.includes(word))).toEqual([])
}

describe('without a credential in force every route is 401', () => {
  test.each(table)('%s', async (_, route) => {
    await Promise.all(
      Object.entries(strangers).map(async ([who, api]) => {
        const answer = await send(api, route, mine.ids)
        expect({ who, status: answer.status, error: answer.body.error }).toEqual({
          who,
          status: 401,
          error: 'unauthorized',
        })
        expect(answer.headers.get('www-authenticate')).toMatch(
          /^Basic realm="gatehouse".*Bearer realm="gatehouse".*resource_metadata="/,
        )
        expect(answer.headers.get('etag')).toBeNull()
        expectNoWordOf(mine, answer.text)
      }),
    )
  })
})

describe("another tenant's id is the same 404 as an unknown one, in every place of every path", () => {
  test.each(table.filter(([, route]) => parametersOf(route).length > 0))('%s', async (_, route) => {
    // The other tenant's whole path, then each single id, then ids that never were.
    const swaps: Ids[] = [
      theirs.ids,
      ...parametersOf(route).map((parameter) => ({ ...mine.ids, [parameter]: theirs.ids[parameter] })),
      ...parametersOf(route).map((parameter) => ({ ...theirs.ids, [parameter]: mine.ids[parameter] })),
    ].filter((ids) => pathOf(route, ids) !== pathOf(route, mine.ids))
    for (const ids of swaps) {
      const unknown = Object.fromEntries(
        Object.entries(ids).map(([key, id]) => [
          key,
          id === theirs.ids[key as keyof Ids] ? `${id.split('_')[0]}_${'0'.repeat(26)}` : id,
        ]),
      ) as unknown as Ids
      const [answer, missing] = await Promise.all([send(mine.owner, route, ids), send(mine.owner, route, unknown)])
      expect({ ids, status: answer.status }).toEqual({ ids, status: 404 })
      expect({ ...answer.body, request_id: '' }).toEqual({ ...missing.body, request_id: '' })
      expectNoWordOf(theirs, answer.text)
    }
  })

  test('the other tenant is as it was', async () => {
    for (const route of routes.filter(({ method, path }) => method === 'GET' && path.endsWith('}'))) {
      expect((await send(theirs.owner, route, theirs.ids)).status).toBe(200)
    }
  })
})

describe('one scope short is 403 insufficient_scope; a stem does not imply its children', () => {
  test.each(table)('%s', async (_, route) => {
    const needed = scopeOf(route)
    const others = everything.filter((scope) => scope !== needed && scope !== `${stemOf(needed)}:manage`)
    const api = await keyWith(mine, { scopes: [...others, 'svc', 'svc:*', '*', `${needed}x`, 'svc:all2'] })
    const answer = await send(api, route, mine.ids)
    expect(answer.body).toMatchObject({ error: 'insufficient_scope' })
    expect(answer.status).toBe(403)
    expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${needed}"`)
    expect(answer.headers.get('etag')).toBeNull()
  })
})

/** What the operation asks for besides the scope of its path (decisions D30). */
const alsoNeeded: Record<string, string[]> = { createWebhook: ['events:read'] }

describe('the one scope that the decisions name is enough, and manage implies it', () => {
  test.each(table)('%s', async (_, route) => {
    for (const scope of [scopeOf(route), `${stemOf(scopeOf(route))}:manage`]) {
      const world = await worldFor(route, mine)
      const api = await keyWith(world, { scopes: [scope, ...(alsoNeeded[route.operation] ?? [])] })
      const body = await ready[route.operation]?.(world, dns)
      const answer = await send(api, route, world.ids, {}, body)
      expect({ scope, status: answer.status, text: answer.status === route.success ? '' : answer.text }).toEqual({
        scope,
        status: route.success,
        text: '',
      })
    }
  })
})

/** Another issuer of the same account. */
async function anotherIssuer(world: World): Promise<World> {
  const { id } = must(await world.owner.post(`${world.A}/issuers`, { name: 'Another' }), 201).data
  return { ...world, issuerId: id, I: `${world.A}/issuers/${id}` }
}

/** Of the same account: another issuer, with an organization of its own. */
let [elsewhereIssuerId, elsewhereOrgId] = ['', '']
beforeAll(async () => {
  const { data } = must(await mine.owner.post(`${mine.A}/issuers`, { name: 'Elsewhere' }), 201)
  elsewhereIssuerId = data.id
  elsewhereOrgId = must(await mine.owner.post(`${mine.A}/issuers/${data.id}/organizations`, {}), 201).data.id
})

describe('restrictions.issuer_ids keeps a key inside these issuers', () => {
  test.each(table)('%s', async (_, route) => {
    const elsewhere = await keyWith(mine, { issuer_ids: [elsewhereIssuerId] })
    expect((await send(elsewhere, route, mine.ids)).status).toBe(404)
  })

  test('and lets it do its work there', async () => {
    const api = await keyWith(mine, { issuer_ids: [mine.issuerId] })
    expect((await api.get(mine.I)).status).toBe(200)
    expect((await api.get(`${mine.I}/users/${mine.ids.user_id}`)).status).toBe(200)
    expect((await api.get(mine.A)).status).toBe(404)
    expect((await api.get(`${mine.A}/api-keys`)).status).toBe(404)
  })
})

describe('restrictions.org_ids keeps a key off everything that is not below these organizations', () => {
  test.each(table)('%s', async (_, route) => {
    const api = await keyWith(mine, { org_ids: [elsewhereOrgId] })
    expect((await send(api, route, mine.ids)).status).toBe(404)
  })
})

// ---- GraphQL ----

let roots: Root[]

describe('GraphQL', () => {
  beforeAll(async () => {
    roots = await rootsOf(mine.owner)
  })

  test('every /v1 operation is one root field', () => {
    const served = roots.map(routeOf).filter(Boolean)
    expect(routes.filter((route) => !served.includes(route)).map(name)).toEqual([])
  })

  test('ifMatch stands on the mutations whose REST form takes it, idempotencyKey on those that are a POST', () => {
    for (const root of roots) {
      const route = routeOf(root)
      if (!route) continue
      const has = (arg: string) => root.args.some((candidate) => candidate.name === arg)
      expect([root.name, has('ifMatch'), has('idempotencyKey')]).toEqual([
        root.name,
        route.ifMatch === true,
        route.method === 'POST',
      ])
    }
  })

  test('without a credential in force every root field is 401, and nothing of the schema is told', async () => {
    for (const root of roots) {
      await Promise.all(
        Object.entries(strangers).map(async ([who, api]) => {
          const { answer, status, code } = await graphql(api, root, mine.ids)
          expect({ who, field: root.name, http: answer.status, status, code }).toEqual({
            who,
            field: root.name,
            http: 401,
            status: 401,
            code: 'UNAUTHORIZED',
          })
          expect(answer.headers.get('www-authenticate')).toMatch(/^Basic realm="gatehouse".*Bearer realm="gatehouse"/)
        }),
      )
    }
  })

  test("another tenant's id is 404 in every root field, as in REST", async () => {
    for (const root of roots) {
      for (const [, swapped] of placesOf(root)) {
        for (const ids of [theirs.ids, { ...mine.ids, [swapped]: theirs.ids[swapped] }]) {
          const { answer, status, code } = await graphql(mine.owner, root, ids)
          expect({ field: root.name, swapped, status, code }).toEqual({
            field: root.name,
            swapped,
            status: 404,
            code: 'NOT_FOUND',
          })
          expectNoWordOf(theirs, answer.text)
        }
      }
    }
  })

  test('the verdict on every caller is the same as in REST', async () => {
    const callers: [string, Api][] = [
      ['read only', await keyWith(mine, { scopes: allStems.map((stem) => `${stem}:read`) })],
      ['write only', await keyWith(mine, { scopes: allStems.map((stem) => `${stem}:write`) })],
      ['nothing', await keyWith(mine, { scopes: [] })],
      ['bound to the issuer', await keyWith(mine, { issuer_ids: [mine.issuerId], scopes: ['issuers.users:manage'] })],
      ['the other tenant', theirs.owner],
    ]
    // There is an active one, of which there can be no second: that is 400 for whoever may make one.
    await ready['createTopup']!(mine, dns)
    for (const [who, api] of callers) {
      for (const root of roots) {
        const route = routeOf(root)
        // What would destroy the world for the next caller is judged in graphql/permissions.test.ts, on things that
        // never were; here, a good request must succeed on both sides.
        if (
          !route ||
          route.method === 'DELETE' ||
          /block|revoke|decide|unassign|suspend|createAuthMethod|^addOrganization/i.test(route.operation)
        )
          continue
        const rest = await send(api, route, mine.ids)
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

  test('relations ask for the scope of their REST twin', async () => {
    const api = await keyWith(mine, { scopes: ['accounts:read', 'issuers:read'] })
    const inside = (selection: string) => `query ($id: ID!) { account(accountId: $id) { id ${selection} } }`
    const ask = async (selection: string) => (await api.graphql(inside(selection), { id: mine.accountId })).body
    expect((await ask('issuers { data { id } }')).errors).toBeUndefined()
    expect((await ask('issuers { data { id clients { data { id } } } }')).errors[0].extensions).toMatchObject({
      code: 'INSUFFICIENT_SCOPE',
      status: 403,
    })
    // Domains are a field of the account (spec 2.2), not a relation.
    expect((await ask('domains { id }')).errors).toBeUndefined()
  })

  test('a key bound to one issuer sees no other one through a relation', async () => {
    const api = await keyWith(mine, { issuer_ids: [mine.issuerId] })
    const ask = `query ($a: ID!, $i: ID!) { issuer(accountId: $a, issuerId: $i) { id clients { data { id issuerId } } } }`
    const good = await api.graphql(ask, { a: mine.accountId, i: mine.issuerId })
    expect(good.body.errors).toBeUndefined()
    const other = await anotherIssuer(mine)
    const bad = await api.graphql(ask, { a: mine.accountId, i: other.issuerId })
    expect(bad.body.errors[0].extensions.status).toBe(404)
  })
})
