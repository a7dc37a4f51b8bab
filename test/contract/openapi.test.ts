/** The OpenAPI document: valid by an independent validator, whole, and true: answers conform to what it says. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { Validator } from '@seriousme/openapi-schema-validator'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { type Route, routes } from '../../src/rest/routes.js'
import { must } from '../setup/actors.js'
import { type Answer, apiAs, type Loose } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { ready } from './ready.js'
import { bodies, confidentialClient, makeWorld, pathOf, send, type World, worldFor } from './world.js'

let app: TestApp
let dns: TestDns
let facilitator: Facilitator
let world: World
let document: Loose
let ajv: Ajv2020
const validators = new Map<string, ValidateFunction>()

beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  world = await makeWorld(app)
  const answer = await apiAs(app.baseUrl).get('/openapi.json')
  expect(answer.status).toBe(200)
  document = answer.body
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

/** The answer is one that the document foretells: its status, its headers, its body. */
function expectForetold(route: Route, answer: Answer<Loose>): void {
  const told = operationOf(route).responses[answer.status]
  expect({ route: name(route), status: answer.status, told: told !== undefined }).toEqual({
    route: name(route),
    status: answer.status,
    told: true,
  })
  const schema = told.content?.['application/json']?.schema
  if (!schema) {
    expect(answer.text).toBe('')
    return
  }
  const validate = validatorOf(`${name(route)} ${answer.status}`, schema)
  validate(answer.body)
  expect({ route: name(route), status: answer.status, faults: validate.errors ?? [] }).toEqual({
    route: name(route),
    status: answer.status,
    faults: [],
  })
  if (told.headers?.ETag) expect(answer.headers.get('etag')).toMatch(/^"\d+"$/)
}

test('it is valid OpenAPI 3.1', async () => {
  const result = await new Validator().validate(structuredClone(document))
  expect(result).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\./)
})

test('it has exactly the routes of the table, each with its parameters', () => {
  const told = Object.entries<object>(document.paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(told.sort()).toEqual(routes.map(name).sort())
  const ids = routes.map((route) => operationOf(route).operationId)
  expect(new Set(ids).size).toBe(ids.length)
  for (const route of routes) {
    const { parameters, responses, requestBody } = operationOf(route)
    const named = (place: string): string[] =>
      parameters.filter((parameter: Loose) => parameter.in === place).map((parameter: Loose) => parameter.name)
    expect(named('path').sort()).toEqual(
      [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter]) => parameter).sort(),
    )
    expect(named('header').sort()).toEqual(
      [
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

test('every list tells limit and cursor, and the filters of the specification', () => {
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
      .parameters.filter((parameter: Loose) => parameter.in === 'query')
      .map((parameter: Loose) => parameter.name)
    expect({ operation: route.operation, query: query.sort() }).toEqual({
      operation: route.operation,
      // Backlinks have one page only (spec 4.13).
      query: [
        ...(route.operation === 'listNoteBacklinks' ? [] : ['cursor']),
        'limit',
        ...(filters[route.operation] ?? []),
      ].sort(),
    })
  }
})

describe('answers conform', () => {
  test.each(routes.map((route) => [name(route), route] as const))('%s', async (_, route) => {
    const at = await worldFor(route, world)
    const particular = await ready[route.operation]?.(at, dns)
    const good = await send(world.owner, route, at.ids, {}, particular)
    expect({ status: good.status, text: good.status === route.success ? '' : good.text }).toEqual({
      status: route.success,
      text: '',
    })
    expectForetold(route, good)

    // What was sent is what the document lets one send.
    const body = bodies[route.operation]?.(at.ids)
    const schema = operationOf(route).requestBody?.content['application/json'].schema
    if (body && schema) {
      const validate = validatorOf(`${name(route)} body`, schema)
      validate(body)
      expect(validate.errors ?? []).toEqual([])
      expectForetold(route, await send(world.owner, route, at.ids, {}, { ...body, unknown: 1 }))
      validate({ ...body, unknown: 1 })
      expect(validate.errors).not.toBeNull()
    }
    expectForetold(route, await world.owner.request(route.method, `${pathOf(route, at.ids)}?unknown=1`, body))
    expectForetold(route, await send(apiAs(app.baseUrl), route, at.ids))
    if (route.path.includes('{'))
      expectForetold(route, await send(world.owner, route, { ...at.ids, account_id: `acc_${'0'.repeat(26)}` }))
    if (route.ifMatch) expectForetold(route, await send(world.owner, route, world.ids, { 'if-match': '"0"' }))
    if (route.method === 'POST')
      expectForetold(route, await send(world.owner, route, world.ids, { 'idempotency-key': '' }))
  })

  test('lists with rows of every kind, and 409, 415, 422', async () => {
    must(
      await world.owner.post(
        `${world.I}/clients`,
        confidentialClient({ description: 'd', logo_url: 'https://x.example/l.png', metadata: { a: null } }),
      ),
      201,
    )
    const note = { subject_type: 'issuer', subject_id: world.issuerId, content: `[[issuer:${world.issuerId}]]` }
    must(await world.owner.post(`${world.A}/notes`, note), 201)
    for (const route of routes.filter(({ operation }) => operation.startsWith('list'))) {
      const answer = await send(world.owner, route, world.ids)
      expect([route.operation, answer.body.data.length > 0]).toEqual([route.operation, true])
      expectForetold(route, answer)
    }
    const createUser = routes.find(({ operation }) => operation === 'createUser')!
    const body = bodies['createUser']!()
    must(await send(world.owner, createUser, world.ids, { 'idempotency-key': 'openapi' }, body), 201)
    const answers = [
      await send(world.owner, createUser, world.ids, {}, body),
      await send(world.owner, createUser, world.ids, { 'idempotency-key': 'openapi' }, { ...body, region: 'eu' }),
      await send(world.owner, createUser, world.ids, { 'content-type': 'text/plain' }, body),
    ]
    expect(answers.map(({ status }) => status)).toEqual([409, 422, 415])
    for (const answer of answers) expectForetold(createUser, answer)
  })
})
