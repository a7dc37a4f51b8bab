/**
 * Names in `changes` and `data` of events are the contract's (decisions D36): the fields that a GET of the resource shows,
 * the facts that docs/reference/events.md lists, and `changed` for what no event may show. Every mutation of `/v1` runs.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DAY } from '../../src/kernel/time.js'
import type { Context } from '../../src/platform/context.js'
import { transaction } from '../../src/platform/database.js'
import { systemContext } from '../../src/platform/jobs.js'
import { facts } from '../../src/resources/events/catalogue.js'
import { emit } from '../../src/resources/events/events.js'
import { purgeDeletedUsers } from '../../src/resources/organizations/departures.js'
import { routes } from '../../src/rest/routes.js'
import { must } from '../setup/actors.js'
import type { Loose } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { ready } from './ready.js'
import { textOf } from './trail.js'
import {
  bodies,
  confidentialClient,
  fresh,
  makeWorld,
  PASSWORD,
  populate,
  send,
  type World,
  worldFor,
} from './world.js'

let app: TestApp
let dns: TestDns
let facilitator: Facilitator
let world: World
beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  world = await makeWorld(app)
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await facilitator.close()
})

const events = (): Promise<Loose[]> =>
  app.gatehouse.tools.prisma.event.findMany({ where: { accountId: world.accountId }, orderBy: { id: 'asc' } })

async function added(work: () => Promise<unknown>): Promise<Loose[]> {
  const before = new Set((await events()).map(({ id }) => id))
  await work()
  return (await events()).filter(({ id }) => !before.has(id))
}

/** Where each kind of resource is read, alone or in a list. */
const places: Record<string, string> = {
  account: 'getAccount',
  domain: 'listDomains',
  payment_method: 'listPaymentMethods',
  ledger_entry: 'listLedgerEntries',
  issuer: 'getIssuer',
  auth_method: 'getAuthMethod',
  client: 'getClient',
  user: 'getUser',
  verifier: 'getVerifier',
  agent: 'getAgent',
  agent_verifier: 'listAgentVerifiers',
  organization: 'getOrganization',
  organization_membership: 'getOrganizationMember',
  organization_group: 'getOrganizationGroup',
  organization_invitation: 'getOrganizationInvitation',
  session: 'getSession',
  note: 'getNote',
  webhook: 'getWebhook',
  api_key: 'getApiKey',
  personal_token: 'getPersonalToken',
}

/** What the contract calls the secrets of a resource that can be replaced. */
const secrets: Record<string, string[]> = {
  client: ['client_secret'],
  api_key: ['secret'],
  auth_method: ['settings.client_secret', 'settings.private_key'],
  verifier: ['password'],
  webhook: ['bearer_token_plain', 'signature_secret_plain'],
}

async function shownNames(kind: string): Promise<string[]> {
  const route = routes.find(({ operation }) => operation === places[kind])
  const { data } = must(await send(world.owner, route!, world.ids), 200)
  return Object.keys(Array.isArray(data) ? data[0] : data)
}

/** Every field that a PATCH takes, so that every name that can be told is. */
const whole: Record<string, () => object> = {
  updateUser: () => ({
    username_type: 'email',
    username: `${fresh('u')}@example.com`,
    email_verified: true,
    status: 'suspended',
    status_reason: 'r',
    profile: { name: 'N' },
    security: { a: 1 },
    compliance: { a: 1 },
    preferences: { a: 1 },
    custom_fields: { a: 1 },
    approval: { a: 1 },
    scopes: ['a:read'],
    metadata: { a: 1 },
  }),
  updateAccount: () => ({
    name: fresh('A'),
    description: 'd',
    logo_url: 'https://x.example/l.png',
    metadata: { a: 1 },
  }),
  updateIssuer: () => ({ name: fresh('I'), links: { a: 'b' }, available_scopes: ['a:read'] }),
  updateClient: () => ({ name: fresh('C'), status: 'disabled', settings: { a: 1 }, metadata: { a: 1 } }),
  updateAuthMethod: () => ({ name: fresh('M'), enabled_login: false, enabled_signup: true, featured: true }),
  updateOrganization: () => ({
    name: fresh('O'),
    org_type: 'nonprofit',
    max_members: 50,
    security: { mfa_required: true },
  }),
  updateOrganizationMember: () => ({ user_title: 'T', scopes: ['a:read'], metadata: { a: 1 }, status: 'suspended' }),
  updateVerifier: () => ({ password: `${PASSWORD} three`, must_change: true, expires_at: app.clock.now() + DAY }),
  updateAgent: () => ({ name: fresh('a'), model: 'm', status: 'suspended', status_reason: 'r' }),
  updateWebhook: () => ({ url: 'https://two.example.com/in?key=zq7kanari', auth: 'bearer', name: 'n' }),
  updateApiKey: () => ({ name: 'n', scopes: ['a:read'], expires_at: app.clock.now() + 30 * DAY, tags: ['t'] }),
  updateNote: () => ({ content: 'zq7kanari', pinned: true }),
  updatePaymentMethod: () => ({ label: 'l', enabled: false, auto_topup_increment_μusd: 5, allowed_payer_wallets: [] }),
}

describe('D36: `changes` and `data` have names of the contract and no others', () => {
  test('in the events of every mutation of /v1, and of what follows', async () => {
    const list = await added(async () => {
      for (const route of routes.filter(({ method }) => method !== 'GET')) {
        const own = await worldFor(route, /^update/.test(route.operation) ? await populate(world) : world)
        const body = await ready[route.operation]?.(own, dns)
        const given = body ?? whole[route.operation]?.() ?? bodies[route.operation]?.(own.ids)
        const answer = await send(own.owner, route, own.ids, {}, given)
        expect([route.operation, answer.status, answer.status === route.success ? '' : answer.text]).toEqual([
          route.operation,
          route.success,
          '',
        ])
      }
      app.clock.advance(2 * DAY)
      await purgeDeletedUsers(systemContext(app.gatehouse))
    })
    const names: Record<string, string[]> = {}
    for (const kind of Object.keys(places)) names[kind] = await shownNames(kind)
    const strange = list.flatMap(({ type, target, data, changes }) => {
      const shown = names[target.type] ?? []
      const known = [...shown, ...Object.keys(facts[type as keyof typeof facts] ?? {})]
      return [
        ...Object.keys(data).filter((name) => !known.includes(name)),
        ...Object.keys(changes).filter((name) => ![...shown, ...(secrets[target.type] ?? [])].includes(name)),
      ].map((name) => `${type}: ${name}`)
    })
    expect([...new Set(strange)].sort()).toEqual([])
    expect(textOf(list)).not.toContain('zq7kanari')
    const told = new Set(list.map(({ type }) => type))
    expect(['user.deleted', 'webhook.updated', 'credits.topup.succeeded'].filter((type) => !told.has(type))).toEqual([])
    const changed = new Set(list.flatMap(({ type, changes }) => Object.keys(changes).map((name) => `${type}: ${name}`)))
    const expected = [
      'user.updated: custom_fields',
      'organization.membership.updated: user_title',
      'webhook.updated: url',
    ]
    expect(expected.filter((name) => !changed.has(name))).toEqual([])
  }, 120_000)

  test('whatever an operation gives: another name is not written', async () => {
    const context = systemContext(app.gatehouse)
    const { accountId, issuerId, ids } = world
    const about = { accountId, issuerId, userId: ids.user_id, target: { type: 'user' as const, id: ids.user_id } }
    const [event] = await added(() =>
      transaction(context, (inside: Context) =>
        emit(inside, 'user.updated', {
          ...about,
          data: { status: 'active', origin: 'import', emailVerified: true },
          changes: {
            email_verified: { old: false, new: true },
            email_ever_verified: { old: false, new: true },
            purge_at: { old: null, new: 1 },
          },
        }),
      ),
    )
    expect(event!.data).toEqual({ status: 'active' })
    expect(event!.changes).toEqual({ email_verified: { old: false, new: true } })
  })

  test('a user on its way out, a deleted client and a deleted webhook show their status and who, not columns', async () => {
    const { owner, A, I } = world
    const user = must(await owner.post(`${I}/users`, bodies['createUser']!()), 201).data.id
    const client = must(await owner.post(`${I}/clients`, confidentialClient()), 201).data.id
    const [first] = await added(() => owner.delete(`${I}/users/${user}`))
    expect(Object.keys(first!.changes).sort()).toEqual(['status', 'status_at', 'status_by'])
    const [second] = await added(() => owner.delete(`${I}/clients/${client}`))
    expect(second!.changes).toEqual({ status: { old: 'active', new: 'deleted' } })
    const webhook = must(await owner.post(`${A}/webhooks`, bodies['createWebhook']!()), 201).data.id
    const [third] = await added(() => owner.delete(`${A}/webhooks/${webhook}`))
    expect(third!.changes).toEqual({ status: { old: 'active', new: 'deleted' } })
  })
})

describe('D36: a replaced secret is `changed`, and its value nowhere', () => {
  const upstream = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 'zq7kanari-one' }
  const apple = { client_id: 'c', team_id: 't', key_id: 'k', private_key: 'zq7kanari-one' }

  test.each<[string, () => Promise<{ run: () => Promise<{ status: number }>; changes: object }>]>([
    [
      'of a client',
      async () => ({
        run: () => world.owner.post(`${world.I}/clients/${world.ids.client_id}/secret/rotate`),
        changes: { client_secret: 'changed' },
      }),
    ],
    [
      'of an API key',
      async () => {
        const body = { new_secret: 'zq7kanari'.repeat(5), hint: 'same' }
        const path = `${world.A}/api-keys/${await newKey()}`
        must(await world.owner.post(`${path}/rotate`, { hint: 'same' }), 200)
        return { run: () => world.owner.post(`${path}/rotate`, body), changes: { secret: 'changed' } }
      },
    ],
    [
      'of an OpenID provider',
      async () => {
        const path = await method({ method: 'oidc', settings: upstream })
        const settings = { client_secret: 'zq7kanari-two' }
        return { run: () => world.owner.patch(path, { settings }), changes: { 'settings.client_secret': 'changed' } }
      },
    ],
    [
      'of Apple',
      async () => {
        const path = await method({ method: 'apple', settings: apple })
        const settings = { private_key: 'zq7kanari-two' }
        return { run: () => world.owner.patch(path, { settings }), changes: { 'settings.private_key': 'changed' } }
      },
    ],
    [
      'of a user: the password',
      async () => {
        const user = must(await world.owner.post(`${world.I}/users`, bodies['createUser']!()), 201).data.id
        const path = `${world.I}/users/${user}/verifiers`
        const { id } = must(
          await world.owner.post(path, { type: 'password', name: null, password: PASSWORD }),
          201,
        ).data
        const password = 'zq7kanari zq7kanari'
        return { run: () => world.owner.patch(`${path}/${id}`, { password }), changes: { password: 'changed' } }
      },
    ],
    [
      'of a webhook: the bearer token, by another address',
      async () => {
        const path = await webhook({ auth: 'bearer', url: 'https://one.example.com/in' })
        return {
          run: () => world.owner.patch(path, { url: 'https://two.example.com/in' }),
          changes: {
            url: { old: 'https://one.example.com', new: 'https://two.example.com' },
            bearer_token_plain: 'changed',
          },
        }
      },
    ],
    [
      'of a webhook: both, by another kind of authentication',
      async () => {
        const path = await webhook({ auth: 'signature' })
        return {
          run: () => world.owner.patch(path, { auth: 'bearer+signature' }),
          changes: {
            auth: { old: 'signature', new: 'bearer+signature' },
            bearer_token_plain: 'changed',
            signature_secret_plain: 'changed',
          },
        }
      },
    ],
    [
      'not a secret, but not to be shown either: the path of a webhook and the text of a note',
      async () => {
        const path = await webhook({ auth: 'none', url: 'https://one.example.com/in' })
        return {
          run: () => world.owner.patch(path, { url: 'https://one.example.com/zq7kanari' }),
          changes: { url: 'changed' },
        }
      },
    ],
    [
      'the text of a note',
      async () => ({
        run: () => world.owner.patch(`${world.A}/notes/${world.ids.note_id}`, { content: 'zq7kanari two' }),
        changes: { content: 'changed' },
      }),
    ],
  ])('%s', async (_, prepare) => {
    // Those that an earlier test has deleted are not there any more.
    world = await populate(world)
    const { run, changes } = await prepare()
    const list = await added(async () => expect((await run()).status).toBeLessThan(300))
    expect(list.map((event) => event.changes).filter((told) => Object.keys(told).length > 0)).toEqual([changes])
    expect(textOf(list)).not.toContain('zq7kanari')
  })

  test('another name of the same method says nothing of its secret', async () => {
    const path = await method({ method: 'oidc', settings: upstream })
    const [event] = await added(() => world.owner.patch(path, { name: 'Corp' }))
    expect(Object.keys(event!.changes)).toEqual(['name'])
  })

  const newKey = async () => must(await world.owner.post(`${world.A}/api-keys`, bodies['createApiKey']!()), 201).data.id

  async function method(body: object): Promise<string> {
    const whole = { name: fresh('Upstream'), first_factor_only: true, ...body }
    return `${world.I}/auth-methods/${must(await world.owner.post(`${world.I}/auth-methods`, whole), 201).data.id}`
  }

  async function webhook(body: object): Promise<string> {
    const whole = { ...bodies['createWebhook']!(), ...body }
    return `${world.A}/webhooks/${must(await world.owner.post(`${world.A}/webhooks`, whole), 201).data.id}`
  }
})
