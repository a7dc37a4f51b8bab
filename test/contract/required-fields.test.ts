/** A missing required field has the code `required` everywhere (docs/contract.md#errors). */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { type Route, routes } from '../../src/rest/routes.js'
import type { AnyJson } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { createTenantFixture, publicClient, routePath, type TenantFixture, uniqueName } from './tenant-fixture.js'

let app: TestApp
let fixture: TenantFixture
let document: AnyJson
beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  document = (await fixture.owner.get('/openapi.json')).body
})
afterAll(() => app.close())

const resolved = (schema: AnyJson): AnyJson =>
  schema?.$ref
    ? resolved(
        schema.$ref
          .slice(2)
          .split('/')
          .reduce((part: AnyJson, name: string) => part[name], document),
      )
    : schema
/** Returns the fields that the OpenAPI document requires in the body of a route. */
function requiredOf({ method, path }: Route): string[] {
  const body = document.paths[path][method.toLowerCase()].requestBody
  return resolved(body?.content['application/json'].schema)?.required ?? []
}
const detailsOf = (response: { body: AnyJson }): string[] =>
  (response.body.details ?? []).map(({ field, code, message }: AnyJson) => `${field} ${code} ${message}`)
const required = (fields: readonly string[]) => fields.map((field) => `${field} required is required.`)

test('every POST and PATCH of /v1 with {} reports exactly the required fields of its schema', async () => {
  let found = 0
  for (const route of routes.filter(({ method }) => method === 'POST' || method === 'PATCH')) {
    const fields = requiredOf(route)
    if (fields.length === 0) continue
    found += 1
    const response = await fixture.owner.request(route.method, routePath(route, fixture.ids), {})
    expect({ route: route.operation, status: response.status, details: detailsOf(response).sort() }).toEqual({
      route: route.operation,
      status: 400,
      details: required(fields).sort(),
    })
  }
  expect(found).toBeGreaterThan(12)
})

describe('conditionally required fields and nested ones', () => {
  const cases: [string, () => [path: string, body: object], string[]][] = [
    ['password', () => [verifiers(), { type: 'password' }], ['name', 'password']],
    ['temporary password', () => [verifiers(), { type: 'temporary_password' }], ['name', 'password', 'expires_at']],
    ['totp_enrollment', () => [verifiers(), { type: 'totp_enrollment' }], ['issuer_name']],
    ['passkey', () => [verifiers(), { type: 'passkey' }], ['credential_id', 'public_key']],
    ['wallet of an agent', () => [agentVerifiers(), { type: 'wallet' }], ['name', 'address', 'network']],
    ['secret of an agent', () => [agentVerifiers(), { type: 'secret' }], ['name']],
    ['oidc', () => method({ method: 'oidc' }), ['first_factor_only', 'settings']],
    [
      'settings of oidc',
      () => method({ method: 'oidc', first_factor_only: true, settings: {} }),
      ['settings.issuer_url', 'settings.client_id', 'settings.client_secret'],
    ],
    [
      'settings of apple',
      () => method({ method: 'apple', first_factor_only: true, settings: {} }),
      ['settings.client_id', 'settings.team_id', 'settings.key_id', 'settings.private_key'],
    ],
    [
      'settings of github',
      () => method({ method: 'github', first_factor_only: true, settings: {} }),
      ['settings.client_id', 'settings.client_secret'],
    ],
    [
      'an entry of an exchange policy',
      () =>
        client({
          openid: {
            token_exchange: { subject_resources: [{}], target_resources: [{ resource: 'https://a.example' }] },
          },
        }),
      [
        'settings.openid.token_exchange.subject_resources[0].resource',
        'settings.openid.token_exchange.subject_resources[0].scopes',
        'settings.openid.token_exchange.target_resources[0].scopes',
      ],
    ],
    [
      'an exchange policy',
      () => client({ openid: { token_exchange: {} } }),
      ['settings.openid.token_exchange.subject_resources', 'settings.openid.token_exchange.target_resources'],
    ],
    ['a domain of an account', () => [fixture.A, { domains: [{}] }], ['domains[0].host']],
    [
      'a note about a user',
      () => [`${fixture.A}/notes`, { subject_type: 'user', subject_id: fixture.ids.user_id, content: 'x' }],
      ['issuer_id'],
    ],
  ]
  const verifiers = () => `${fixture.I}/users/${fixture.ids.user_id}/verifiers`
  const agentVerifiers = () => `${fixture.I}/agents/${fixture.ids.agent_id}/verifiers`
  const method = (body: object): [string, object] => [`${fixture.I}/auth-methods`, { name: uniqueName('m'), ...body }]
  const client = (settings: object): [string, object] => [`${fixture.I}/clients`, publicClient({ settings })]

  test.each(cases)('%s', async (_, request, fields) => {
    const [path, body] = request()
    const response = path === fixture.A ? await fixture.owner.patch(path, body) : await fixture.owner.post(path, body)
    expect(response.status).toBe(400)
    const details = response.body.details.filter(({ message }: AnyJson) => /required|must be|given/.test(message))
    const codes = Object.fromEntries(details.map(({ field, code }: AnyJson) => [field, code]))
    expect(codes).toMatchObject(Object.fromEntries(fields.map((field) => [field, 'required'])))
  })
})

describe('GraphQL names the fields of an input in camelCase', () => {
  const text = (input: string, head = '$a: ID!, $i: ID!') =>
    `mutation (${head}) { createClient(accountId: $a, issuerId: $i, input: ${input}) { id } }`
  const run = (query: string, more: object = {}) =>
    fixture.owner.graphql(query, { a: fixture.accountId, i: fixture.issuerId, ...more })
  const errorCodesOf = ({ body }: { body: AnyJson }) =>
    body.errors
      .flatMap(({ extensions }: AnyJson) =>
        (extensions.details ?? []).map(({ field, code }: AnyJson) => `${field} ${code}`),
      )
      .sort()
  const all = ['confidential required', 'name required', 'settings required', 'type required']

  test('in a variable', async () => {
    const query = text('$input', '$a: ID!, $i: ID!, $input: CreateClientInput!')
    expect(errorCodesOf(await run(query, { input: {} }))).toEqual(all)
    const null_ = { name: null, type: 'external', confidential: false, settings: {} }
    expect(errorCodesOf(await run(query, { input: null_ }))).toEqual(['name required'])
    expect(errorCodesOf(await run(query, {}))).toEqual(['input required'])
    // With an idempotency key, one error contains the details of all fields.
    const keyed = query.replace('input: $input', 'input: $input, idempotencyKey: "required"')
    expect(errorCodesOf(await run(keyed, { input: {} }))).toEqual(all)
    expect(errorCodesOf(await run(query, { input: { ...null_, name: 'x', unheardOf: 1 } }))).toEqual([
      'unheardOf unknown_field',
    ])
    expect(errorCodesOf(await run(query, { input: { ...null_, name: 7 } }))).toEqual(['name invalid_type'])
    expect(errorCodesOf(await run(query, { input: { ...null_, name: 'x', type: 'other' } }))).toEqual([
      'type invalid_value',
    ])
  })

  test('in a literal of the document', async () => {
    expect(errorCodesOf(await run(text('{}')))).toEqual(all)
    expect(
      errorCodesOf(await run(`mutation ($a: ID!, $i: ID!) { createClient(accountId: $a, issuerId: $i) { id } }`)),
    ).toEqual(['input required'])
  })

  test('required by the operation', async () => {
    const query = `mutation ($a: ID!, $i: ID!, $u: ID!) {
      createVerifier(accountId: $a, issuerId: $i, userId: $u, input: {type: totp_enrollment}) { id } }`
    expect(errorCodesOf(await run(query, { u: fixture.ids.user_id }))).toEqual(['issuerName required'])
  })
})
