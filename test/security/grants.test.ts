/**
 * Nobody grants what they lack (decisions D6, security rule 9): every mutation that takes scopes, and every one that
 * answers a secret. Both lists are read off the schema; what the tables below do not know is found.
 */
import { afterAll, beforeAll, expect, test } from '@jest/globals'
import { actions, stems } from '../../src/kernel/scopes.js'
import { callRoot, type Root, rootsOf } from '../contract/roots.js'
import { bodies, confidentialClient, type Ids, makeWorld, populate, type World } from '../contract/world.js'
import { keyWith, must } from '../setup/actors.js'
import type { Api, Loose } from '../setup/api.js'
import { startApp, type TestApp } from '../setup/start-app.js'

const LACKED = 'webhooks:write'
const held = Object.keys(stems)
  .filter((stem) => stem !== 'webhooks')
  .flatMap((stem) => actions.map((action) => `${stem}:${action}`))

let app: TestApp
let world: World
let roots: Root[]
/** May do everything but what it tries to give away. */
let caller: Api
let inputs: Map<string, { fields: string[]; answers: string[] }>

beforeAll(async () => {
  app = await startApp()
  world = await makeWorld(app)
  roots = await rootsOf(world.owner)
  caller = await keyWith(world, { scopes: held })
  inputs = await readMutations()
})
afterAll(() => app.close())

const camel = (text: string) => text.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Fields of the input and of the answer of each mutation. */
async function readMutations() {
  const type = 'type { name ofType { name ofType { name ofType { name } } } }'
  const { data } = must(
    await world.owner.graphql(
      `{ __schema { mutationType { fields { name ${type} args { name ${type} } } } types { name inputFields { name } fields { name ${type} } possibleTypes { name } } } }`,
    ),
    200,
  )
  const innermost = (of: Loose): string => (of.ofType ? innermost(of.ofType) : of.name)
  const byName = new Map<string, Loose>(data.__schema.types.map((one: Loose) => [one.name, one]))
  const answersOf = (name: string, deep = true): string[] => {
    const { fields, possibleTypes } = byName.get(name)
    const own = (fields ?? []).flatMap((field: Loose) => [
      field.name,
      ...(deep ? answersOf(innermost(field.type), false) : []),
    ])
    return [...own, ...(possibleTypes ?? []).flatMap((one: Loose) => answersOf(one.name, false))]
  }
  return new Map<string, { fields: string[]; answers: string[] }>(
    data.__schema.mutationType.fields.map((field: Loose) => {
      const input = field.args.find(({ name }: Loose) => name === 'input')
      const fields = input ? byName.get(innermost(input.type)).inputFields.map(({ name }: Loose) => name) : []
      return [field.name, { fields, answers: answersOf(innermost(field.type)) }]
    }),
  )
}

/** Objects with scopes inside, and which mutations take them. */
const nested: Record<string, (scopes: string[]) => object> = {
  restrictions: (scopes) => ({ restrictions: { scopes } }),
  settings: (scopes) => ({ settings: { scopes } }),
}
/** Settings that hold no scopes. */
const withoutScopes = ['createIssuer', 'updateIssuer', 'createAuthMethod', 'updateAuthMethod', 'createAccount']
/** What stands for a tenant's choice of names, not for a grant: scopes that an issuer offers. */
const noGrant = ['availableScopes']

async function attempt(api: Api, name: string, ids: Ids, given: object) {
  const root = roots.find((one) => one.name === name)!
  const good = Object.entries(bodies[name]?.(ids) ?? {}).map(([key, value]) => [camel(key), value])
  const input = { ...Object.fromEntries(good), ...given }
  const { answer, status, code } = await callRoot(api, root, ids, Object.keys(input).length > 0 ? { input } : {})
  return { name, status, code, message: answer.body.errors?.[0].message }
}

test('every mutation that takes scopes refuses one that the caller lacks, and takes what it holds', async () => {
  const tried: string[] = []
  for (const [name, { fields }] of inputs) {
    for (const field of fields) {
      const isList = /scopes$/i.test(field) && !noGrant.includes(field)
      const isObject = field in nested && !withoutScopes.includes(name)
      if (!isList && !isObject) continue
      const own = await freshWorld(name)
      // A personal token gets no more than its user has.
      if (name === 'createPersonalToken') {
        const path = `${world.I}/users/${own.ids.user_id}`
        must(await world.owner.patch(path, { scopes: ['svc:all', 'issuers:read'] }), 200)
      }
      const give = (scopes: string[]) => (isList ? { [field]: scopes } : nested[field]!(scopes))
      for (const scope of [LACKED, 'svc:all', 'webhooks:manage']) {
        const verdict = await attempt(caller, name, own.ids, give(['issuers:read', scope]))
        expect(verdict).toMatchObject({ name, status: 403, code: 'INSUFFICIENT_SCOPE' })
      }
      const fine = await attempt(caller, name, own.ids, give(['issuers:read', 'my:own']))
      expect(fine).toMatchObject({ name, status: 200 })
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

/** What can be done once, or needs a user with much authority, is done to things of its own. */
const freshWorld = (name: string): Promise<World> =>
  ['addOrganizationMember', 'createPersonalToken'].includes(name) ? populate(world) : Promise.resolve(world)

/** Mutations that answer a secret: what makes their principal stronger than the caller. */
const secrets: Record<string, ((ids: Ids) => Promise<void>) | null> = {
  // Judged above, by the scopes in their input.
  createApiKey: null,
  createOrganizationApiKey: null,
  createPersonalToken: null,
  createClient: null,
  createOrganizationInvitation: null,
  // For operators only.
  createAccount: null,
  rotateApiKey: (ids) => change(`${world.A}/api-keys/${ids.key_id}`, { scopes: [LACKED] }),
  rotateOrganizationApiKey: (ids) =>
    change(`${world.I}/organizations/${ids.org_id}/api-keys/${ids.org_key_id}`, { scopes: [LACKED] }),
  rotateClientSecret: (ids) => change(`${world.I}/clients/${ids.client_id}`, { settings: { scopes: [LACKED] } }),
  createAgentVerifier: (ids) => change(`${world.I}/agents/${ids.agent_id}`, { scopes: [LACKED] }),
  createVerifier: (ids) => change(`${world.I}/users/${ids.user_id}`, { scopes: [LACKED] }),
  resendOrganizationInvitation: (ids) =>
    change(`${world.I}/organizations/${ids.org_id}`, { default_member_scopes: [LACKED] }),
}

async function change(path: string, body: object): Promise<void> {
  must(await world.owner.patch(path, body), 200)
}

const isSecret = (field: string) => ['secret', 'secretPlain', 'tokenPlain', 'codesPlain'].includes(field)

test('every mutation that answers a secret is in the table', () => {
  const all = [...inputs].filter(([, { answers }]) => answers.some(isSecret)).map(([name]) => name)
  // These answer the kind of thing that has a secret at its making, but never the secret.
  const without = /^(update|block|unblock|revoke|complete|challenge)/
  expect(all.filter((name) => !without.test(name)).sort()).toEqual(Object.keys(secrets).sort())
})

test.each(Object.entries(secrets).flatMap(([name, prepare]) => (prepare ? [[name, prepare] as const] : [])))(
  '%s gives nobody the secret of what may do more than they',
  async (name, prepare) => {
    const { ids } = await populate(world)
    await prepare(ids)
    const refused = await attempt(caller, name, ids, {})
    expect(refused).toMatchObject({ name, status: 403, code: 'INSUFFICIENT_SCOPE' })
    expect(refused.message).toContain(LACKED)
    const strong = await keyWith(world, { scopes: [...held, LACKED] })
    expect(await attempt(strong, name, ids, {})).toMatchObject({ name, status: 200 })
  },
)

test('a client that is stronger than the caller keeps its secret over /v1 as well', async () => {
  const settings = { scopes: [LACKED] }
  const { id } = must(await world.owner.post(`${world.I}/clients`, confidentialClient({ settings })), 201).data
  const path = `${world.I}/clients/${id}/secret/rotate`
  const answer = await caller.post(path)
  expect({ status: answer.status, error: answer.body.error }).toEqual({ status: 403, error: 'insufficient_scope' })
  must(await world.owner.post(path), 200)
})
