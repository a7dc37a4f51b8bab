/**
 * The OpenAPI document: it is valid for an independent validator, it contains every route, and the responses of the
 * server conform to it.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { type Route, routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import { type AnyJson, type ApiResponse, createApiClient } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { preconditions } from './preconditions.js'
import { applyExampleValues, createNormalizer, exampleBodies, memberNames } from './rest-examples.js'
import {
  confidentialClient,
  createTenantFixture,
  fixtureForRoute,
  requestBodies,
  routePath,
  sendRouteRequest,
  type TenantFixture,
} from './tenant-fixture.js'

let app: TestApp
let dns: TestDns
let facilitator: Facilitator
let fixture: TenantFixture
let document: AnyJson
let ajv: Ajv2020
let normalize: ReturnType<typeof createNormalizer>
/** The requests of this run and their answers, by operation. */
const examples: Record<string, { request?: unknown; response?: unknown }> = {}
const validators = new Map<string, ValidateFunction>()

beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  fixture = await createTenantFixture(app)
  await applyExampleValues(fixture)
  normalize = createNormalizer(app.baseUrl, () => app.clock.now())
  const response = await createApiClient(app.baseUrl).get('/openapi.json')
  expect(response.status).toBe(200)
  document = response.body
  ajv = new Ajv2020({ strict: false, allErrors: true, validateFormats: false })
  ajv.addSchema({ $id: 'document', components: document.components })
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await facilitator.close()
})

const name = ({ method, path }: Route) => `${method} ${path}`
const operationOf = ({ method, path }: Route) => document.paths[path][method.toLowerCase()]

function validatorOf(key: string, schema: object): ValidateFunction {
  let validate = validators.get(key)
  if (!validate) {
    validate = ajv.compile(JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/')))
    validators.set(key, validate)
  }
  return validate
}

/** Returns the object that a reference to a component refers to. */
const resolve = (value: AnyJson): AnyJson =>
  value?.$ref ? document.components.responses[value.$ref.split('/').at(-1)] : value

/** Headers of HTTP itself and of browsers, which the document does not contain. */
const transportHeaders = [
  'connection',
  'content-length',
  'content-type',
  'date',
  'keep-alive',
  'access-control-expose-headers',
  'access-control-allow-origin',
  'strict-transport-security',
  'x-content-type-options',
]

/** Checks that the document describes the status, the headers and the body of a response. */
function expectDocumented(route: Route, response: ApiResponse<AnyJson>): void {
  const documented = resolve(operationOf(route).responses[response.status])
  expect({ route: name(route), status: response.status, documented: documented !== undefined }).toEqual({
    route: name(route),
    status: response.status,
    documented: true,
  })
  const headers = [...response.headers.keys()].filter((header) => !transportHeaders.includes(header))
  const documentedHeaders = Object.keys(documented.headers).map((header) => header.toLowerCase())
  expect({ route: name(route), headers: headers.filter((header) => !documentedHeaders.includes(header)) }).toEqual({
    route: name(route),
    headers: [],
  })
  const schema = documented.content?.['application/json']?.schema
  if (!schema) {
    expect(response.text).toBe('')
    return
  }
  const validate = validatorOf(`${name(route)} ${response.status}`, schema)
  validate(response.body)
  expect({ route: name(route), status: response.status, faults: validate.errors ?? [] }).toEqual({
    route: name(route),
    status: response.status,
    faults: [],
  })
  if (documented.headers?.ETag) expect(response.headers.get('etag')).toMatch(/^"\d+"$/)
}

test('it is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document))
  expect(result).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\./)
})

test('it has exactly the routes of the server, each with its parameters', () => {
  const operations = Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.sort()).toEqual(routes.map(name).sort())
  const ids = routes.map((route) => operationOf(route).operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const route of routes) {
    const { parameters, responses, requestBody } = operationOf(route)
    const named = (place: string): string[] =>
      parameters.filter((parameter: AnyJson) => parameter.in === place).map((parameter: AnyJson) => parameter.name)
    expect(named('path').sort()).toEqual(
      [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort(),
    )
    expect(named('header').sort()).toEqual(
      [
        ...(responses['304'] ? ['If-None-Match'] : []),
        ...(route.ifMatch ? ['If-Match'] : []),
        ...(route.payment ? ['PAYMENT-SIGNATURE'] : []),
        ...(route.method === 'POST' ? ['Idempotency-Key'] : []),
      ].sort(),
    )
    for (const status of [route.success, ...route.errors, 401, 403, 429])
      expect(Object.keys(responses)).toContain(String(status))
    expect(route.method === 'GET' || route.method === 'DELETE').toBe(
      requestBody === undefined &&
        !/rotateClientSecret|unblock|verifyDomain|unassign|reactivate|(resend|revoke)OrganizationInvitation/.test(
          route.operation,
        ),
    )
  }
})

test('every list documents limit, cursor and its filters', () => {
  const filters: Record<string, string[]> = {
    listClients: ['status', 'name'],
    listUsers: ['status'],
    listApiKeys: ['status'],
    listPersonalTokens: ['status'],
    listAgents: ['status', 'model', 'provider', 'has_verifiers'],
    listNotes: ['subject_type', 'subject_id', 'issuer_id', 'created_by', 'pinned', 'mentions_user_id'],
    listNoteBacklinks: ['ref_type', 'ref_id'],
    listOrganizations: ['status', 'sso_enabled', 'sso_only', 'mfa_required', 'invitation_enabled'],
    listOrganizationMembers: ['status', 'scope'],
    listOrganizationInvitations: ['status'],
    listOrganizationApiKeys: ['status'],
    listSessions: ['status'],
    listWebhooks: ['status'],
    listWebhookDeliveries: ['event_type', 'status', 'after', 'before'],
    listEvents: ['issuer_id', 'user_id', 'client_id', 'event_types', 'after', 'before'],
  }
  for (const route of routes.filter(({ operation }) => operation.startsWith('list'))) {
    const query = operationOf(route)
      .parameters.filter((parameter: AnyJson) => parameter.in === 'query')
      .map((parameter: AnyJson) => parameter.name)
    expect({ operation: route.operation, query: query.sort() }).toEqual({
      operation: route.operation,
      // The list of backlinks has only one page (docs/contract.md#note-endpoints).
      query: [
        ...(route.operation === 'listNoteBacklinks' ? [] : ['cursor']),
        'limit',
        ...(filters[route.operation] ?? []),
      ].sort(),
    })
  }
})

describe('responses conform to the document', () => {
  test.each(routes.map((route) => [name(route), route] as const))('%s', async (_, route) => {
    // The user of the fixture already has a password.
    const user = route.operation === 'createVerifier' && { user_id: fixture.ids.outsider_id }
    const at = await fixtureForRoute(route, { ...fixture, ids: { ...fixture.ids, ...user } })
    const particular =
      (await preconditions[route.operation]?.(at, dns)) ??
      exampleBodies[route.operation]?.(at.ids) ??
      requestBodies[route.operation]?.(at.ids)
    const good = await sendRouteRequest(fixture.owner, route, at.ids, {}, particular)
    expect({ status: good.status, text: good.status === route.success ? '' : good.text }).toEqual({
      status: route.success,
      text: '',
    })
    expectDocumented(route, good)
    examples[route.operation] = {
      ...(particular && { request: normalize(particular) }),
      ...(good.text !== '' && { response: normalize(good.body) }),
    }

    // The request body also conforms to the document.
    const body = requestBodies[route.operation]?.(at.ids)
    const schema = operationOf(route).requestBody?.content['application/json'].schema
    if (body && schema) {
      const validate = validatorOf(`${name(route)} body`, schema)
      validate(body)
      expect(validate.errors ?? []).toEqual([])
      expectDocumented(route, await sendRouteRequest(fixture.owner, route, at.ids, {}, { ...body, unknown: 1 }))
      validate({ ...body, unknown: 1 })
      expect(validate.errors).not.toBeNull()
    }
    expectDocumented(route, await fixture.owner.request(route.method, `${routePath(route, at.ids)}?unknown=1`, body))
    expectDocumented(route, await sendRouteRequest(createApiClient(app.baseUrl), route, at.ids))
    if (operationOf(route).responses['304']) {
      const tag = { 'if-none-match': good.headers.get('etag')! }
      const unchanged = await sendRouteRequest(fixture.owner, route, at.ids, tag)
      expect(unchanged.status).toBe(304)
      expectDocumented(route, unchanged)
    }
    const methods = ['GET', 'PUT', 'POST', 'PATCH', 'DELETE']
    const other = methods.find((method) => !routes.some((one) => one.path === route.path && one.method === method))!
    const refused = await fixture.owner.request(other, routePath(route, at.ids))
    expect(refused.status).toBe(405)
    expectDocumented(route, refused)
    if (route.path.includes('{'))
      expectDocumented(
        route,
        await sendRouteRequest(fixture.owner, route, { ...at.ids, account_id: `acc_${'0'.repeat(26)}` }),
      )
    if (route.ifMatch)
      expectDocumented(route, await sendRouteRequest(fixture.owner, route, fixture.ids, { 'if-match': '"0"' }))
    if (route.method === 'POST')
      expectDocumented(route, await sendRouteRequest(fixture.owner, route, fixture.ids, { 'idempotency-key': '' }))
  })

  test('lists with rows of every kind, and 409, 415, 422', async () => {
    expectStatus(
      await fixture.owner.post(
        `${fixture.I}/clients`,
        confidentialClient({ description: 'd', logo_url: 'https://x.example/l.png', metadata: { a: null } }),
      ),
      201,
    )
    const note = { subject_type: 'issuer', subject_id: fixture.issuerId, content: `[[issuer:${fixture.issuerId}]]` }
    expectStatus(await fixture.owner.post(`${fixture.A}/notes`, note), 201)
    for (const route of routes.filter(({ operation }) => operation.startsWith('list'))) {
      const response = await sendRouteRequest(fixture.owner, route, fixture.ids)
      expect([route.operation, response.body.data.length > 0]).toEqual([route.operation, true])
      const { schema } = operationOf(route).parameters.find(({ name }: AnyJson) => name === 'cursor') ?? {}
      if (schema) {
        const page = await fixture.owner.get(`${routePath(route, fixture.ids)}?limit=1`)
        const { next_cursor } = expectStatus(page, 200)
        expect(next_cursor ?? schema.examples[0]).toMatch(new RegExp(schema.pattern))
        const next = `${routePath(route, fixture.ids)}?cursor=${next_cursor ?? schema.examples[0]}`
        expect([route.operation, (await fixture.owner.get(next)).status]).toEqual([route.operation, 200])
      }
      expectDocumented(route, response)
    }
    const createUser = routes.find(({ operation }) => operation === 'createUser')!
    const body = requestBodies['createUser']!()
    expectStatus(
      await sendRouteRequest(fixture.owner, createUser, fixture.ids, { 'idempotency-key': 'openapi' }, body),
      201,
    )
    const responses = [
      await sendRouteRequest(fixture.owner, createUser, fixture.ids, {}, body),
      await sendRouteRequest(
        fixture.owner,
        createUser,
        fixture.ids,
        { 'idempotency-key': 'openapi' },
        { ...body, region: 'eu' },
      ),
      await sendRouteRequest(fixture.owner, createUser, fixture.ids, { 'content-type': 'text/plain' }, body),
    ]
    expect(responses.map(({ status }) => status)).toEqual([409, 422, 415])
    for (const response of responses) expectDocumented(createUser, response)
  })
})

test('the examples are the requests and answers of these tests; `npm run examples` records them', () => {
  const file = join(packageRoot, 'graphql/rest-examples.json')
  if (process.env['RECORD_EXAMPLES']) writeFileSync(file, `${JSON.stringify(examples, null, 2)}\n`)
  const recorded = JSON.parse(readFileSync(file, 'utf8'))
  expect(Object.keys(recorded)).toEqual(Object.keys(examples))
  for (const [operation, example] of Object.entries(examples))
    expect({ operation, members: memberNames(recorded[operation]) }).toEqual({
      operation,
      members: memberNames(example),
    })
  const schemas = routes.flatMap((route) => {
    const { requestBody, responses } = operationOf(route)
    return [requestBody, responses[route.success]].flatMap((part) => {
      const content = part?.content?.['application/json']
      return content?.example ? [{ route, ...content }] : []
    })
  })
  for (const { route, schema, example } of schemas) {
    const validate = validatorOf(JSON.stringify(schema), schema)
    validate(example)
    expect({ route: name(route), faults: validate.errors ?? [] }).toEqual({ route: name(route), faults: [] })
  }
})
