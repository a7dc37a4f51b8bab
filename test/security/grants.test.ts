/**
 * A caller cannot grant a scope that the caller lacks (docs/contract.md#access-tokens-at-the-core-api,
 * docs/contract.md#no-granting-beyond-the-callers-authority). Tests all mutations with scopes in the input and all
 * mutations that return a secret. A test fails if the GraphQL schema has such a mutation that the tables of this file
 * lack.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { scopeActions, scopeResources } from '../../src/kernel/scopes.js'
import { callRootField, type RootField, readRootFields } from '../contract/root-fields.js'
import {
  confidentialClient,
  createTenantFixture,
  createTenantResources,
  type FixtureIds,
  requestBodies,
  type TenantFixture,
} from '../contract/tenant-fixture.js'
import { createRestrictedKey, expectStatus } from '../setup/actors.js'
import type { AnyJson, ApiClient } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const LACKED = 'webhooks:write'
/** All scopes except those of webhooks. */
const held = Object.keys(scopeResources)
  .filter((stem) => stem !== 'webhooks')
  .flatMap((stem) => scopeActions.map((action) => `${stem}:${action}`))

let app: TestApp
let fixture: TenantFixture
let roots: RootField[]
/** Has the scopes `held`, and tries to grant others. */
let caller: ApiClient
let inputs: Map<string, { fields: string[]; payloadFields: string[] }>

beforeAll(async () => {
  app = await startApp()
  fixture = await createTenantFixture(app)
  roots = await readRootFields(fixture.owner)
  caller = await createRestrictedKey(fixture, { scopes: held })
  inputs = await readMutations()
})
afterAll(() => app.close())

const camel = (text: string) => text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Reads the fields of the input and of the payload of each mutation from the schema. */
async function readMutations() {
  const typeSelection = 'type { name ofType { name ofType { name ofType { name } } } }'
  const { data } = expectStatus(
    await fixture.owner.graphql(
      `{ __schema { mutationType { fields { name ${typeSelection} args { name ${typeSelection} } } } types { name inputFields { name } fields { name ${typeSelection} } possibleTypes { name } } } }`,
    ),
    200,
  )
  const innermost = (of: AnyJson): string => (of.ofType ? innermost(of.ofType) : of.name)
  const byName = new Map<string, AnyJson>(data.__schema.types.map((type: AnyJson) => [type.name, type]))
  const payloadFieldsOf = (name: string, deep = true): string[] => {
    const { fields, possibleTypes } = byName.get(name)
    const own = (fields ?? []).flatMap((field: AnyJson) => [
      field.name,
      ...(deep ? payloadFieldsOf(innermost(field.type), false) : []),
    ])
    return [...own, ...(possibleTypes ?? []).flatMap((type: AnyJson) => payloadFieldsOf(type.name, false))]
  }
  return new Map<string, { fields: string[]; payloadFields: string[] }>(
    data.__schema.mutationType.fields.map((field: AnyJson) => {
      const input = field.args.find(({ name }: AnyJson) => name === 'input')
      const fields = input ? byName.get(innermost(input.type)).inputFields.map(({ name }: AnyJson) => name) : []
      return [field.name, { fields, payloadFields: payloadFieldsOf(innermost(field.type)) }]
    }),
  )
}

/** Input fields whose objects contain scopes, with functions that build the input. */
const nested: Record<string, (scopes: string[]) => object> = {
  restrictions: (scopes) => ({ restrictions: { scopes } }),
  settings: (scopes) => ({ settings: { scopes } }),
}
/** Mutations whose input fields in `nested` grant no platform scopes. */
const withoutScopes = ['createIssuer', 'updateIssuer', 'createAuthMethod', 'updateAuthMethod', 'createAccount']
/** Input fields that list the names of scopes without granting them. */
const noGrant = ['availableScopes']

async function attempt(api: ApiClient, name: string, ids: FixtureIds, given: object) {
  const root = roots.find((candidate) => candidate.name === name)!
  const validInput = Object.entries(requestBodies[name]?.(ids) ?? {}).map(([key, value]) => [camel(key), value])
  const input = { ...Object.fromEntries(validInput), ...given }
  const {
    answer: response,
    status,
    code,
  } = await callRootField(api, root, ids, Object.keys(input).length > 0 ? { input } : {})
  return { name, status, code, message: response.body.errors?.[0].message }
}

test('every mutation that takes scopes refuses a scope that the caller lacks, and accepts one that it has', async () => {
  const tried: string[] = []
  for (const [name, { fields }] of inputs) {
    for (const field of fields) {
      const isList = /scopes$/i.test(field) && !noGrant.includes(field)
      const isObject = field in nested && !withoutScopes.includes(name)
      if (!isList && !isObject) continue
      const { ids } = await fixtureForMutation(name)
      // A personal token cannot have a scope that its user lacks.
      if (name === 'createPersonalToken') {
        const path = `${fixture.I}/users/${ids.user_id}`
        expectStatus(await fixture.owner.patch(path, { scopes: ['svc:all', 'issuers:read'] }), 200)
      }
      const inputWith = (scopes: string[]) => (isList ? { [field]: scopes } : nested[field]!(scopes))
      for (const scope of [LACKED, 'svc:all', 'webhooks:manage']) {
        const decision = await attempt(caller, name, ids, inputWith(['issuers:read', scope]))
        expect(decision).toMatchObject({ name, status: 403, code: 'INSUFFICIENT_SCOPE' })
      }
      const allowed = await attempt(caller, name, ids, inputWith(['issuers:read', 'my:own']))
      expect(allowed).toMatchObject({ name, status: 200 })
      tried.push(`${name}.${field}`)
    }
  }
  expect(tried.sort()).toEqual(
    [
      'createAgent.scopes',
      'updateAgent.scopes',
      'createApiKey.restrictions',
      'updateApiKey.restrictions',
      'updateApiKey.scopes',
      'createOrganizationApiKey.restrictions',
      'updateOrganizationApiKey.restrictions',
      'updateOrganizationApiKey.scopes',
      'createPersonalToken.restrictions',
      'createClient.settings',
      'updateClient.settings',
      'createUser.scopes',
      'updateUser.scopes',
      ...['create', 'update'].flatMap((verb) =>
        ['scopes', 'defaultMemberScopes', 'creatorScopes'].map((list) => `${verb}Organization.${list}`),
      ),
      'createOrganizationGroup.scopes',
      'updateOrganizationGroup.scopes',
      'addOrganizationMember.scopes',
      'updateOrganizationMember.scopes',
      'createOrganizationInvitation.scopes',
    ].sort(),
  )
}, 60_000)

/** Returns new resources for mutations that succeed only once or need a user with more scopes, otherwise `fixture`. */
const fixtureForMutation = (name: string): Promise<TenantFixture> =>
  ['addOrganizationMember', 'createPersonalToken'].includes(name)
    ? createTenantResources(fixture)
    : Promise.resolve(fixture)

/**
 * Mutations that return a secret, with a function that grants LACKED to the principal. Null: not tested by this table.
 */
const secrets: Record<string, ((ids: FixtureIds) => Promise<void>) | null> = {
  // The test of all mutations with scopes in the input covers these mutations.
  createApiKey: null,
  createOrganizationApiKey: null,
  createPersonalToken: null,
  createClient: null,
  createOrganizationInvitation: null,
  // Only operators may create accounts.
  createAccount: null,
  rotateApiKey: (ids) => change(`${fixture.A}/api-keys/${ids.key_id}`, { scopes: [LACKED] }),
  rotateOrganizationApiKey: (ids) =>
    change(`${fixture.I}/organizations/${ids.org_id}/api-keys/${ids.org_key_id}`, { scopes: [LACKED] }),
  rotateClientSecret: (ids) => change(`${fixture.I}/clients/${ids.client_id}`, { settings: { scopes: [LACKED] } }),
  createAgentVerifier: (ids) => change(`${fixture.I}/agents/${ids.agent_id}`, { scopes: [LACKED] }),
  // Clients that register with the token can get the scopes that the issuer allows.
  createInitialAccessToken: () =>
    change(fixture.I, {
      settings: { security: { openid_policy: { dynamic_registration: { allowed_scopes: [LACKED] } } } },
    }),
  createVerifier: (ids) => change(`${fixture.I}/users/${ids.user_id}`, { scopes: [LACKED] }),
  resendOrganizationInvitation: (ids) =>
    change(`${fixture.I}/organizations/${ids.org_id}`, { default_member_scopes: [LACKED] }),
}

async function change(path: string, body: object): Promise<void> {
  expectStatus(await fixture.owner.patch(path, body), 200)
}

const isSecret = (field: string) => ['secret', 'secretPlain', 'tokenPlain', 'codesPlain'].includes(field)

test('every mutation that returns a secret is in the table', () => {
  const all = [...inputs].filter(([, { payloadFields }]) => payloadFields.some(isSecret)).map(([name]) => name)
  // The payload types of these mutations, or the types of their relations, have fields for secrets, but these mutations
  // never return a secret.
  const withoutSecret = /^(update|block|unblock|revoke|complete|challenge|suspend|reactivate|createNote$)/
  expect(all.filter((name) => !withoutSecret.test(name)).sort()).toEqual(Object.keys(secrets).sort())
})

test.each(Object.entries(secrets).flatMap(([name, prepare]) => (prepare ? [[name, prepare] as const] : [])))(
  '%s does not return the secret of a principal with more authority than the caller',
  async (name, prepare) => {
    const { ids } = await createTenantResources(fixture)
    await prepare(ids)
    const refused = await attempt(caller, name, ids, {})
    expect(refused).toMatchObject({ name, status: 403, code: 'INSUFFICIENT_SCOPE' })
    expect(refused.message).toContain(LACKED)
    const strong = await createRestrictedKey(fixture, { scopes: [...held, LACKED] })
    expect(await attempt(strong, name, ids, {})).toMatchObject({ name, status: 200 })
  },
)

test('/v1 does not return the secret of a client with more authority than the caller', async () => {
  const settings = { scopes: [LACKED] }
  const { id } = expectStatus(
    await fixture.owner.post(`${fixture.I}/clients`, confidentialClient({ settings })),
    201,
  ).data
  const path = `${fixture.I}/clients/${id}/secret/rotate`
  const response = await caller.post(path)
  expect({ status: response.status, error: response.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
  expectStatus(await fixture.owner.post(path), 200)
})
