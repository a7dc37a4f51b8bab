/** A tenant with one resource of each kind, and the paths and request bodies of all routes for these resources. */
import type { Route } from '../../src/rest/routes.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient, ApiResponse } from '../setup/api.js'
import { createPayer } from '../setup/facilitator.js'
import { createSession } from '../setup/sessions.js'
import type { TestApp } from '../setup/start-app.js'

/** Ids of the resources of a tenant, by the name of their path parameter. */
export interface FixtureIds {
  account_id: string
  issuer_id: string
  method_id: string
  client_id: string
  user_id: string
  verifier_id: string
  key_id: string
  agent_id: string
  agent_verifier_id: string
  note_id: string
  pending_user_id: string
  token_id: string
  org_id: string
  /** A member who is in the group. */
  member_id: string
  group_id: string
  /** The `{key_id}` in paths below an organization. */
  org_key_id: string
  invitation_id: string
  /** A member without a group, for request bodies. */
  other_member_id: string
  /** A user who is not a member of the organization, for request bodies. */
  outsider_id: string
  session_id: string
  event_id: string
  /** The host name of a domain. */
  domain: string
  webhook_id: string
  delivery_id: string
  payment_method_id: string
  initial_access_token_id: string
}

export interface TenantFixture extends Tenant {
  ids: FixtureIds
}

export const PASSWORD = 'correct horse battery staple'
let count = 0
/** Returns a unique name that begins with the word. */
export const uniqueName = (word: string): string => `${word}-${++count}-${Math.random().toString(36).slice(2, 8)}`

/** Returns the request body of a public client without redirect URIs. */
export const publicClient = (overrides: object = {}) => ({
  name: uniqueName('App'),
  type: 'external',
  confidential: false,
  settings: {},
  ...overrides,
})
export const confidentialClient = (overrides: object = {}) => publicClient({ confidential: true, ...overrides })

const createdId = async (response: Promise<ApiResponse<AnyJson>>): Promise<string> =>
  expectStatus(await response, 201).data.id

/** Functions that create groups of resources that are independent of each other, by the name of the group. */
const partCreators: Record<string, (tenant: Tenant) => Promise<Partial<FixtureIds>>> = {
  person: createUserParts,
  organization: createOrganizationParts,
  agent: createAgentParts,
  webhook: createWebhookParts,
  method: async ({ owner, I }) => ({
    method_id: await createdId(owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey' })),
  }),
  client: async ({ owner, I }) => ({ client_id: await createdId(owner.post(`${I}/clients`, confidentialClient())) }),
  key: async ({ owner, A }) => ({
    key_id: await createdId(owner.post(`${A}/api-keys`, { name: uniqueName('key'), restrictions: { scopes: [] } })),
  }),
  domain: async (tenant) => {
    const host = await freeHost(tenant)
    return { domain: expectStatus(await tenant.owner.post(`${tenant.A}/domains`, { host }), 201).data.host }
  },
  note: async ({ owner, A, issuerId }) => {
    const body = { subject_type: 'issuer', subject_id: issuerId, content: `[[issuer:${issuerId}]]` }
    return { note_id: await createdId(owner.post(`${A}/notes`, body)) }
  },
  pending: async ({ owner, I }) => {
    const body = { username_type: 'unique', username: uniqueName('waiting'), requires_approval: true }
    return { pending_user_id: await createdId(owner.post(`${I}/users`, body)) }
  },
  registration: async ({ owner, accountId, issuerId }) => {
    const document = `mutation ($a: ID!, $i: ID!) {
      createInitialAccessToken(accountId: $a, issuerId: $i, input: { expiresIn: 3600 }) { id } }`
    const { data } = expectStatus(await owner.graphql(document, { a: accountId, i: issuerId }), 200)
    return { initial_access_token_id: data.createInitialAccessToken.id }
  },
  payment: async (tenant) => {
    await disablePaymentMethods(tenant)
    const created = tenant.owner.post(`${tenant.A}/payment-methods`, requestBodies['createPaymentMethod']?.())
    return { payment_method_id: await createdId(created) }
  },
}

/** Creates one resource of each kind in a tenant. Returns the tenant with the ids of the resources. */
export async function createTenantResources(tenant: Tenant): Promise<TenantFixture> {
  const { owner, A, accountId: account_id, issuerId: issuer_id } = tenant
  const created = await Promise.all(Object.values(partCreators).map((part) => part(tenant)))
  const event_id = expectStatus(await owner.get(`${A}/events?limit=1`), 200).data[0].id
  return { ...tenant, ids: Object.assign({ account_id, issuer_id, event_id }, ...created) }
}

/** The group of resources that contains the resource of a path parameter. */
const partOfParameter: Partial<Record<keyof FixtureIds, string>> = {
  user_id: 'person',
  verifier_id: 'person',
  token_id: 'person',
  session_id: 'person',
  org_id: 'organization',
  member_id: 'organization',
  group_id: 'organization',
  org_key_id: 'organization',
  invitation_id: 'organization',
  agent_id: 'agent',
  agent_verifier_id: 'agent',
  webhook_id: 'webhook',
  delivery_id: 'webhook',
  method_id: 'method',
  client_id: 'client',
  key_id: 'key',
  domain: 'domain',
  note_id: 'note',
  pending_user_id: 'pending',
  payment_method_id: 'payment',
}

/**
 * Returns a fixture for one call of a route. If the call deletes its resource or changes its state, the fixture has a new
 * resource for it.
 */
export async function fixtureForRoute(route: Route, fixture: TenantFixture): Promise<TenantFixture> {
  const isDestructive =
    route.method === 'DELETE' ||
    /block|revoke|decide|complete|suspend|reactivate|^addOrganization/i.test(route.operation)
  if (!isDestructive) return fixture
  if (route.operation === 'deleteIssuer') {
    const issuer_id = await createdId(fixture.owner.post(`${fixture.A}/issuers`, { name: 'Doomed' }))
    return { ...fixture, ids: { ...fixture.ids, issuer_id } }
  }
  const part = partOfParameter[pathParametersOf(route).at(-1)!]
  if (!part) throw new Error(`no fixture creates the resources for ${route.operation}`)
  return { ...fixture, ids: { ...fixture.ids, ...(await partCreators[part]!(fixture)) } }
}

async function createUserParts(tenant: Tenant) {
  const { owner, I } = tenant
  const user_id = await createdId(owner.post(`${I}/users`, { username_type: 'unique', username: uniqueName('user') }))
  const password = { type: 'password', name: null, password: PASSWORD }
  const [verifier_id, token_id, session_id] = await Promise.all([
    createdId(owner.post(`${I}/users/${user_id}/verifiers`, password)),
    createdId(owner.post(`${I}/users/${user_id}/tokens`, requestBodies['createPersonalToken']?.())),
    createSession(tenant.app!, tenant, user_id),
  ])
  return { user_id, verifier_id, token_id, session_id }
}

async function createAgentParts({ owner, I }: Tenant) {
  const agent_id = await createdId(owner.post(`${I}/agents`, { name: uniqueName('agent') }))
  const secret = owner.post(`${I}/agents/${agent_id}/verifiers`, { type: 'secret', name: null })
  return { agent_id, agent_verifier_id: await createdId(secret) }
}

async function createOrganizationParts({ owner, I }: Tenant) {
  const create = (path: string, body: object) => createdId(owner.post(path, body))
  const createMember = () => create(`${I}/users`, { username_type: 'unique', username: uniqueName('user') })
  const org_id = await create(`${I}/organizations`, { name: uniqueName('Organization'), invitation_enabled: true })
  const O = `${I}/organizations/${org_id}`
  const [member_id, other_member_id, outsider_id, group_id] = await Promise.all([
    createMember(),
    createMember(),
    createMember(),
    create(`${O}/groups`, { name: uniqueName('Group') }),
  ])
  const key = { type: 'api_key', name: uniqueName('key'), restrictions: { scopes: [] } }
  const [org_key_id, invitation_id] = await Promise.all([
    create(`${O}/api-keys`, key),
    create(`${O}/invitations`, { email: `${uniqueName('guest')}@example.com` }),
    create(`${O}/members`, { member_id, groups: [group_id] }),
    create(`${O}/members`, { member_id: other_member_id }),
  ])
  return { org_id, member_id, group_id, org_key_id, invitation_id, other_member_id, outsider_id }
}

/** Disables all payment methods, because an account can have only one active payment method. */
export async function disablePaymentMethods({ owner, A }: Tenant): Promise<void> {
  const { data } = expectStatus(await owner.get(`${A}/payment-methods`), 200)
  for (const { id, enabled } of data)
    if (enabled) expectStatus(await owner.patch(`${A}/payment-methods/${id}`, { enabled: false }), 200)
}

/**
 * Returns a host name for a new domain. Deletes the domains of earlier calls except the first, because an account has at
 * most 20 domains.
 */
async function freeHost({ owner, A }: Tenant): Promise<string> {
  const { data } = expectStatus(await owner.get(`${A}/domains`), 200)
  for (const { host } of data) if (host.startsWith('spare')) await owner.delete(`${A}/domains/${host}`)
  return `${uniqueName(data.length === 0 ? 'first' : 'spare')}.example.com`
}

/**
 * Creates a webhook with a delivery. Deletes the webhooks of earlier calls except the first, because an account has at
 * most 20 webhooks.
 */
async function createWebhookParts({ owner, A, accountId }: Tenant) {
  const { data } = expectStatus(await owner.get(`${A}/webhooks`), 200)
  for (const { id, name } of data) if (name === 'spare') await owner.delete(`${A}/webhooks/${id}`)
  const name = data.length === 0 ? 'first' : 'spare'
  // The tests cause no event of this type, so the webhook gets no other delivery.
  const body = { url: 'https://hooks.example.com/in', event_types: ['webhook.failing'], name }
  const { id } = expectStatus(await owner.post(`${A}/webhooks`, body), 201).data
  const document = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id } }'
  const delivery = expectStatus(await owner.graphql(document, { a: accountId, w: id }), 200).data.testWebhook
  return { webhook_id: id, delivery_id: delivery.id }
}

export const createTenantFixture = async (app: TestApp, name = 'World'): Promise<TenantFixture> =>
  createTenantResources(await createTenant(app, name))

/** Returns the path of a route with the ids of a fixture. */
export const routePath = (route: Pick<Route, 'path'>, ids: FixtureIds): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[idKeyOf(name, route.path)]))

/** Path parameters that have another meaning in some paths, with the name of their id in the fixture. */
const parameterAliases: [parameter: string, path: RegExp, id: keyof FixtureIds][] = [
  ['key_id', /\/organizations\//, 'org_key_id'],
  ['verifier_id', /\/agents\//, 'agent_verifier_id'],
  ['user_id', /\/approvals\//, 'pending_user_id'],
  ['method_id', /\/payment-methods\//, 'payment_method_id'],
]
/** Returns the name of the id in the fixture for a path parameter. It depends on the path for shared parameter names. */
export const idKeyOf = (parameter: string, path: string): keyof FixtureIds =>
  parameterAliases.find(([name, where]) => name === parameter && where.test(path))?.[2] ??
  (parameter as keyof FixtureIds)

/** Returns the names of the ids in the fixture for the path parameters of a route, in order. */
export const pathParametersOf = (route: Pick<Route, 'path'>): (keyof FixtureIds)[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => idKeyOf(name!, route.path))

/** Functions that return a valid request body, by the name of the operation. */
export const requestBodies: Record<string, (ids?: FixtureIds) => object> = {
  updateAccount: () => ({ description: uniqueName('d') }),
  createDomain: () => ({ host: `${uniqueName('extra')}.example.com` }),
  assignDomain: (ids) => ({ issuer_id: ids?.issuer_id ?? '' }),
  createTopup: () => ({ amount_μusd: 5_000_000 }),
  createPaymentMethod: () => ({ type: 'x402', label: uniqueName('wallet') }),
  updatePaymentMethod: () => ({ label: uniqueName('wallet') }),
  createIssuer: () => ({ name: uniqueName('Issuer') }),
  updateIssuer: () => ({ description: uniqueName('d') }),
  createAuthMethod: () => ({ name: 'Passkey', method: 'passkey' }),
  updateAuthMethod: () => ({ name: uniqueName('Method') }),
  createClient: () => publicClient(),
  createInitialAccessToken: () => ({ expires_in: 3600, max_uses: 1 }),
  updateClient: () => ({ description: uniqueName('d') }),
  createUser: () => ({ username_type: 'unique', username: uniqueName('user') }),
  updateUser: () => ({ metadata: { note: uniqueName('n') } }),
  createVerifier: () => ({
    type: 'temporary_password',
    name: 'Temporary',
    password: PASSWORD,
    expires_at: Date.now() + 86_400_000,
  }),
  challengePasskey: () => ({}),
  completeEnrollment: () => ({ enrollment_id: `enr_${'0'.repeat(26)}`, code: '000000' }),
  updateVerifier: () => ({ description: uniqueName('d') }),
  createOrganization: () => ({ name: uniqueName('Organization') }),
  updateOrganization: () => ({ description: uniqueName('d') }),
  addOrganizationMember: (ids) => ({ member_id: ids?.outsider_id ?? 'usr_none' }),
  updateOrganizationMember: () => ({ user_title: uniqueName('t') }),
  createOrganizationGroup: () => ({ name: uniqueName('Group') }),
  updateOrganizationGroup: () => ({ description: uniqueName('d') }),
  addOrganizationGroupMember: (ids) => ({ member_id: ids?.other_member_id ?? 'usr_none' }),
  createOrganizationInvitation: () => ({ email: `${uniqueName('guest')}@example.com` }),
  createOrganizationApiKey: () => ({ type: 'api_key', name: uniqueName('key'), restrictions: { scopes: [] } }),
  updateOrganizationApiKey: () => ({ description: uniqueName('d') }),
  rotateOrganizationApiKey: () => ({}),
  blockOrganizationApiKey: () => ({ reason: 'test' }),
  revokeOrganizationApiKey: () => ({ reason: 'test' }),
  revokeSession: () => ({ reason: 'admin_action' }),
  suspendSession: () => ({ reason: 'risk_review' }),
  createApiKey: () => ({ name: uniqueName('key'), restrictions: { scopes: [] } }),
  updateApiKey: () => ({ description: uniqueName('d') }),
  rotateApiKey: () => ({}),
  blockApiKey: () => ({ reason: 'test' }),
  revokeApiKey: () => ({ reason: 'test' }),
  createPersonalToken: () => ({ type: 'personal_token', name: uniqueName('token'), restrictions: { scopes: [] } }),
  revokePersonalToken: () => ({ reason: 'test' }),
  decideApproval: () => ({ action: 'approve' }),
  createAgent: () => ({ name: uniqueName('agent') }),
  updateAgent: () => ({ description: uniqueName('d') }),
  createAgentVerifier: () => ({ type: 'secret', name: uniqueName('secret') }),
  createWebhook: () => ({ url: 'https://hooks.example.com/new', event_types: ['webhook.failing'], name: 'spare' }),
  updateWebhook: () => ({ description: uniqueName('d') }),
  redeliverWebhookDeliveries: () => ({ after: 0 }),
  createNote: (ids) => ({ subject_type: 'issuer', subject_id: ids?.issuer_id, content: uniqueName('note') }),
  updateNote: () => ({ content: uniqueName('note') }),
}

/** Functions that return the required query parameters, by the name of the operation. */
export const requiredQueries: Record<string, (ids: FixtureIds) => Record<string, string>> = {
  getNoteCount: (ids) => ({ subject_type: 'issuer', subject_id: ids.issuer_id }),
  listNoteBacklinks: (ids) => ({ ref_type: 'issuer', ref_id: ids.issuer_id }),
}

/** Returns a new payment header for a request body with `amount_μusd`; without one, for 1 micro-USD. */
export const createPaymentFor = (body: object | undefined): string =>
  createPayer().createPaymentHeader((body as { amount_μusd?: number } | undefined)?.amount_μusd ?? 1)

/**
 * Sends a request to a route with the ids of a fixture, its required query and, for priced routes, a payment.
 * @param body the request body; by default a valid one
 */
export function sendRouteRequest(
  api: ApiClient,
  route: Route,
  ids: FixtureIds,
  headers: Record<string, string> = {},
  body: object | undefined = requestBodies[route.operation]?.(ids),
): Promise<ApiResponse<AnyJson>> {
  const query = requiredQueries[route.operation]?.(ids)
  const path = routePath(route, ids) + (query ? `?${new URLSearchParams(query)}` : '')
  const payment = route.payment && { 'payment-signature': createPaymentFor(body) }
  return api.request(route.method, path, body, { ...payment, ...headers })
}
