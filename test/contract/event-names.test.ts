/**
 * Names in `changes` and `data` of events are public names (docs/contract.md#event-records): the fields of the resource
 * in the API, the data keys of docs/reference/events.md, and `changed` for values that no event may contain. The test
 * runs every mutation of `/v1`.
 */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { DAY } from '../../src/kernel/time.js'
import type { Context } from '../../src/platform/context.js'
import { systemContext } from '../../src/platform/jobs/periodic-jobs.js'
import { transaction } from '../../src/platform/postgres/transaction.js'
import { eventDataFields } from '../../src/resources/events/event-catalog.js'
import { recordEvent } from '../../src/resources/events/record-event.js'
import { purgeDeletedUsers } from '../../src/resources/organizations/purge.js'
import { routes } from '../../src/rest/routes.js'
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { startDns, type TestDns } from '../setup/dns.js'
import { type Facilitator, startFacilitator } from '../setup/facilitator.js'
import { startApp, type TestApp } from '../setup/start-app.js'
import { preconditions } from './preconditions.js'
import { rowsAsText } from './stored-rows.js'
import {
  confidentialClient,
  createTenantFixture,
  createTenantResources,
  fixtureForRoute,
  PASSWORD,
  requestBodies,
  sendRouteRequest,
  type TenantFixture,
  uniqueName,
} from './tenant-fixture.js'

let app: TestApp
let dns: TestDns
let facilitator: Facilitator
let fixture: TenantFixture
beforeAll(async () => {
  dns = await startDns()
  facilitator = await startFacilitator()
  app = await startApp({ env: { DNS_RESOLVER: dns.address, ...facilitator.env } })
  fixture = await createTenantFixture(app)
})
afterAll(async () => {
  await app.close()
  await dns.close()
  await facilitator.close()
})

const events = (): Promise<AnyJson[]> =>
  app.gatehouse.database.prisma.event.findMany({ where: { accountId: fixture.accountId }, orderBy: { id: 'asc' } })

async function eventsAddedBy(work: () => Promise<unknown>): Promise<AnyJson[]> {
  const before = new Set((await events()).map(({ id }) => id))
  await work()
  return (await events()).filter(({ id }) => !before.has(id))
}

/** The operation that returns the fields of each kind of resource. */
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

/** The public field names of the secrets that can be replaced, by kind of resource. */
const secrets: Record<string, string[]> = {
  client: ['client_secret'],
  api_key: ['secret'],
  auth_method: ['settings.client_secret', 'settings.private_key'],
  verifier: ['password'],
  webhook: ['bearer_token_plain', 'signature_secret_plain'],
}

async function shownNames(kind: string): Promise<string[]> {
  const route = routes.find(({ operation }) => operation === places[kind])
  const { data } = expectStatus(await sendRouteRequest(fixture.owner, route!, fixture.ids), 200)
  return Object.keys(Array.isArray(data) ? data[0] : data)
}

/** Request bodies that set every field of a PATCH, so that the events contain every name. */
const whole: Record<string, () => object> = {
  updateUser: () => ({
    username_type: 'email',
    username: `${uniqueName('u')}@example.com`,
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
    name: uniqueName('A'),
    description: 'd',
    logo_url: 'https://x.example/l.png',
    metadata: { a: 1 },
  }),
  updateIssuer: () => ({ name: uniqueName('I'), links: { a: 'b' }, available_scopes: ['a:read'] }),
  updateClient: () => ({ name: uniqueName('C'), status: 'disabled', settings: { a: 1 }, metadata: { a: 1 } }),
  updateAuthMethod: () => ({ name: uniqueName('M'), enabled_login: false, enabled_signup: true, featured: true }),
  updateOrganization: () => ({
    name: uniqueName('O'),
    org_type: 'nonprofit',
    max_members: 50,
    security: { mfa_required: true },
  }),
  updateOrganizationMember: () => ({ user_title: 'T', scopes: ['a:read'], metadata: { a: 1 }, status: 'suspended' }),
  updateVerifier: () => ({ password: `${PASSWORD} three`, must_change: true, expires_at: app.clock.now() + DAY }),
  updateAgent: () => ({ name: uniqueName('a'), model: 'm', status: 'suspended', status_reason: 'r' }),
  updateWebhook: () => ({ url: 'https://two.example.com/in?key=zq7kanari', auth: 'bearer', name: 'n' }),
  updateApiKey: () => ({ name: 'n', scopes: ['a:read'], expires_at: app.clock.now() + 30 * DAY, tags: ['t'] }),
  updateNote: () => ({ content: 'zq7kanari', pinned: true }),
  updatePaymentMethod: () => ({ label: 'l', enabled: false, auto_topup_increment_μusd: 5, allowed_payer_wallets: [] }),
}

describe('`changes` and `data` use only public names', () => {
  test('in the events of every mutation of /v1 and of its consequences', async () => {
    const list = await eventsAddedBy(async () => {
      for (const route of routes.filter(({ method }) => method !== 'GET')) {
        const own = await fixtureForRoute(
          route,
          /^update/.test(route.operation) ? await createTenantResources(fixture) : fixture,
        )
        const body = await preconditions[route.operation]?.(own, dns)
        const given = body ?? whole[route.operation]?.() ?? requestBodies[route.operation]?.(own.ids)
        const response = await sendRouteRequest(own.owner, route, own.ids, {}, given)
        expect([route.operation, response.status, response.status === route.success ? '' : response.text]).toEqual([
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
      const known = [...shown, ...Object.keys(eventDataFields[type as keyof typeof eventDataFields] ?? {})]
      return [
        ...Object.keys(data).filter((name) => !known.includes(name)),
        ...Object.keys(changes).filter((name) => ![...shown, ...(secrets[target.type] ?? [])].includes(name)),
      ].map((name) => `${type}: ${name}`)
    })
    expect([...new Set(strange)].sort()).toEqual([])
    expect(rowsAsText(list)).not.toContain('zq7kanari')
    const types = new Set(list.map(({ type }) => type))
    expect(['user.deleted', 'webhook.updated', 'credits.topup.succeeded'].filter((type) => !types.has(type))).toEqual(
      [],
    )
    const changed = new Set(list.flatMap(({ type, changes }) => Object.keys(changes).map((name) => `${type}: ${name}`)))
    const expected = [
      'user.updated: custom_fields',
      'organization.membership.updated: user_title',
      'webhook.updated: url',
    ]
    expect(expected.filter((name) => !changed.has(name))).toEqual([])
  }, 120_000)

  test('an unknown name is not written, regardless of what the operation passes', async () => {
    const context = systemContext(app.gatehouse)
    const { accountId, issuerId, ids } = fixture
    const about = { accountId, issuerId, userId: ids.user_id, target: { type: 'user' as const, id: ids.user_id } }
    const [event] = await eventsAddedBy(() =>
      transaction(context, (tx: Context) =>
        recordEvent(tx, 'user.updated', {
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

  test('a deleted user, client and webhook show their status and the actor, not columns', async () => {
    const { owner, A, I } = fixture
    const user = expectStatus(await owner.post(`${I}/users`, requestBodies['createUser']!()), 201).data.id
    const client = expectStatus(await owner.post(`${I}/clients`, confidentialClient()), 201).data.id
    const [first] = await eventsAddedBy(() => owner.delete(`${I}/users/${user}`))
    expect(Object.keys(first!.changes).sort()).toEqual(['status', 'status_at', 'status_by'])
    const [second] = await eventsAddedBy(() => owner.delete(`${I}/clients/${client}`))
    expect(second!.changes).toEqual({ status: { old: 'active', new: 'deleted' } })
    const webhook = expectStatus(await owner.post(`${A}/webhooks`, requestBodies['createWebhook']!()), 201).data.id
    const [third] = await eventsAddedBy(() => owner.delete(`${A}/webhooks/${webhook}`))
    expect(third!.changes).toEqual({ status: { old: 'active', new: 'deleted' } })
  })
})

describe('a replaced secret is `changed`, and its value is in no event', () => {
  const upstream = { issuer_url: 'https://idp.example.com', client_id: 'c', client_secret: 'zq7kanari-one' }
  const apple = { client_id: 'c', team_id: 't', key_id: 'k', private_key: 'zq7kanari-one' }

  test.each<[string, () => Promise<{ run: () => Promise<{ status: number }>; changes: object }>]>([
    [
      'of a client',
      async () => ({
        run: () => fixture.owner.post(`${fixture.I}/clients/${fixture.ids.client_id}/secret/rotate`),
        changes: { client_secret: 'changed' },
      }),
    ],
    [
      'of an API key',
      async () => {
        const body = { new_secret: 'zq7kanari'.repeat(5), hint: 'same' }
        const path = `${fixture.A}/api-keys/${await newKey()}`
        expectStatus(await fixture.owner.post(`${path}/rotate`, { hint: 'same' }), 200)
        return { run: () => fixture.owner.post(`${path}/rotate`, body), changes: { secret: 'changed' } }
      },
    ],
    [
      'of an OpenID provider',
      async () => {
        const path = await method({ method: 'oidc', settings: upstream })
        const settings = { client_secret: 'zq7kanari-two' }
        return { run: () => fixture.owner.patch(path, { settings }), changes: { 'settings.client_secret': 'changed' } }
      },
    ],
    [
      'of Apple',
      async () => {
        const path = await method({ method: 'apple', settings: apple })
        const settings = { private_key: 'zq7kanari-two' }
        return { run: () => fixture.owner.patch(path, { settings }), changes: { 'settings.private_key': 'changed' } }
      },
    ],
    [
      'of a user: the password',
      async () => {
        const user = expectStatus(await fixture.owner.post(`${fixture.I}/users`, requestBodies['createUser']!()), 201)
          .data.id
        const path = `${fixture.I}/users/${user}/verifiers`
        const { id } = expectStatus(
          await fixture.owner.post(path, { type: 'password', name: null, password: PASSWORD }),
          201,
        ).data
        const password = 'zq7kanari zq7kanari'
        return { run: () => fixture.owner.patch(`${path}/${id}`, { password }), changes: { password: 'changed' } }
      },
    ],
    [
      'of a webhook: the bearer token, after a change of the URL',
      async () => {
        const path = await webhook({ auth: 'bearer', url: 'https://one.example.com/in' })
        return {
          run: () => fixture.owner.patch(path, { url: 'https://two.example.com/in' }),
          changes: {
            url: { old: 'https://one.example.com', new: 'https://two.example.com' },
            bearer_token_plain: 'changed',
          },
        }
      },
    ],
    [
      'of a webhook: both secrets, after a change of auth',
      async () => {
        const path = await webhook({ auth: 'signature' })
        return {
          run: () => fixture.owner.patch(path, { auth: 'bearer+signature' }),
          changes: {
            auth: { old: 'signature', new: 'bearer+signature' },
            bearer_token_plain: 'changed',
            signature_secret_plain: 'changed',
          },
        }
      },
    ],
    [
      'private values: the path of a webhook and the text of a note',
      async () => {
        const path = await webhook({ auth: 'none', url: 'https://one.example.com/in' })
        return {
          run: () => fixture.owner.patch(path, { url: 'https://one.example.com/zq7kanari' }),
          changes: { url: 'changed' },
        }
      },
    ],
    [
      'the text of a note',
      async () => ({
        run: () => fixture.owner.patch(`${fixture.A}/notes/${fixture.ids.note_id}`, { content: 'zq7kanari two' }),
        changes: { content: 'changed' },
      }),
    ],
  ])('%s', async (_, prepare) => {
    // Earlier tests have deleted resources of the fixture, so that each test creates new ones.
    fixture = await createTenantResources(fixture)
    const { run, changes } = await prepare()
    const list = await eventsAddedBy(async () => expect((await run()).status).toBeLessThan(300))
    expect(list.map((event) => event.changes).filter((names) => Object.keys(names).length > 0)).toEqual([changes])
    expect(rowsAsText(list)).not.toContain('zq7kanari')
  })

  test('renaming an authentication method does not mention its secret', async () => {
    const path = await method({ method: 'oidc', settings: upstream })
    const [event] = await eventsAddedBy(() => fixture.owner.patch(path, { name: 'Corp' }))
    expect(Object.keys(event!.changes)).toEqual(['name'])
  })

  const newKey = async () =>
    expectStatus(await fixture.owner.post(`${fixture.A}/api-keys`, requestBodies['createApiKey']!()), 201).data.id

  async function method(body: object): Promise<string> {
    const whole = { name: uniqueName('Upstream'), first_factor_only: true, ...body }
    return `${fixture.I}/auth-methods/${expectStatus(await fixture.owner.post(`${fixture.I}/auth-methods`, whole), 201).data.id}`
  }

  async function webhook(body: object): Promise<string> {
    const whole = { ...requestBodies['createWebhook']!(), ...body }
    return `${fixture.A}/webhooks/${expectStatus(await fixture.owner.post(`${fixture.A}/webhooks`, whole), 201).data.id}`
  }
})
