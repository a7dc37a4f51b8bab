/** A tenant with one resource of each kind, and the paths and bodies of all routes for it. */
import type { Route } from '../../src/rest/routes.js'
import { createTenant, expectStatus, type Tenant } from '../setup/actors.js'
import type { AnyJson, ApiClient, ApiResponse } from '../setup/api.js'
import { createPayer } from '../setup/facilitator.js'
import { createSession } from '../setup/sessions.js'
import type { TestApp } from '../setup/start-app.js'

/** Ids by the names of the path parameters. */
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
  /** The `{key_id}` below an organization. */
  org_key_id: string
  invitation_id: string
  /** A member without a group, and a user who is not a member: for request bodies. */
  other_member_id: string
  outsider_id: string
  session_id: string
  event_id: string
  /** A host name. */
  domain: string
  webhook_id: string
  delivery_id: string
  payment_method_id: string
}

export interface TenantFixture extends Tenant {
  ids: FixtureIds
}

export const PASSWORD = 'correct horse battery staple'
let count = 0
/** A name that no test has used before. */
export const uniqueName = (word: string): string => `${word}-${++count}-${Math.random().toString(36).slice(2, 8)}`

/** The body of a public client without redirect URIs. */
export const publicClient = (overrides: object = {}) => ({
  name: uniqueName('App'),
  type: 'external',
  confidential: false,
  settings: {},
  ...overrides,
})
export const confidentialClient = (overrides: object = {}) => publicClient({ confidential: true, ...overrides })

const createdId = async (answer: Promise<ApiResponse<AnyJson>>): Promise<string> =>
  expectStatus(await answer, 201).data.id

/** Creators of independent groups of resources. */
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
  payment: async (tenant) => {
    await disablePaymentMethods(tenant)
    const made = tenant.owner.post(`${tenant.A}/payment-methods`, requestBodies['createPaymentMethod']?.())
    return { payment_method_id: await createdId(made) }
  },
}

/**
 * Creates a client with secrets, a user with a password, a key without permissions, an authentication method, and an
 * organization with a key, two members and a group.
 */
export async function createTenantResources(tenant: Tenant): Promise<TenantFixture> {
  const { owner, A, accountId: account_id, issuerId: issuer_id } = tenant
  const made = await Promise.all(Object.values(partCreators).map((part) => part(tenant)))
  const event_id = expectStatus(await owner.get(`${A}/events?limit=1`), 200).data[0].id
  return { ...tenant, ids: Object.assign({ account_id, issuer_id, event_id }, ...made) }
}

/** The group of resources that has the last parameter of a route. */
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
 * Returns the fixture for a single call of a route: resources that the call deletes or changes permanently are created
 * for it.
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

/** An account has at most one active payment method. */
export async function disablePaymentMethods({ owner, A }: Tenant): Promise<void> {
  const { data } = expectStatus(await owner.get(`${A}/payment-methods`), 200)
  for (const { id, enabled } of data)
    if (enabled) expectStatus(await owner.patch(`${A}/payment-methods/${id}`, { enabled: false }), 200)
}

/** An account has at most 20 domains: the first fixture keeps its domain, later ones replace theirs. */
async function freeHost({ owner, A }: Tenant): Promise<string> {
  const { data } = expectStatus(await owner.get(`${A}/domains`), 200)
  for (const { host } of data) if (host.startsWith('spare')) await owner.delete(`${A}/domains/${host}`)
  return `${uniqueName(data.length === 0 ? 'first' : 'spare')}.example.com`
}

/**
 * An account has at most 20 webhooks, and each one adds deliveries per event: later fixtures replace theirs as well.
 */
async function createWebhookParts({ owner, A, accountId }: Tenant) {
  const { data } = expectStatus(await owner.get(`${A}/webhooks`), 200)
  for (const { id, name } of data) if (name === 'spare') await owner.delete(`${A}/webhooks/${id}`)
  const name = data.length === 0 ? 'first' : 'spare'
  // An event type that the tests do not trigger.
  const body = { url: 'https://hooks.example.com/in', event_types: ['webhook.failing'], name }
  const { id } = expectStatus(await owner.post(`${A}/webhooks`, body), 201).data
  const document = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id } }'
  const delivery = expectStatus(await owner.graphql(document, { a: accountId, w: id }), 200).data.testWebhook
  return { webhook_id: id, delivery_id: delivery.id }
}

export const createTenantFixture = async (app: TestApp, name = 'World'): Promise<TenantFixture> =>
  createTenantResources(await createTenant(app, name))

/** Returns the path of a route with these ids. */
export const routePath = (route: Pick<Route, 'path'>, ids: FixtureIds): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[idKeyOf(name, route.path)]))

/** Parameters whose name has another meaning below these paths. */
const parameterAliases: [parameter: string, path: RegExp, id: keyof FixtureIds][] = [
  ['key_id', /\/organizations\//, 'org_key_id'],
  ['verifier_id', /\/agents\//, 'agent_verifier_id'],
  ['user_id', /\/approvals\//, 'pending_user_id'],
  ['method_id', /\/payment-methods\//, 'payment_method_id'],
]
/** Returns the id for a parameter: for example, keys of organizations and of accounts share a name. */
export const idKeyOf = (parameter: string, path: string): keyof FixtureIds =>
  parameterAliases.find(([name, where]) => name === parameter && where.test(path))?.[2] ??
  (parameter as keyof FixtureIds)

/** Names of the path parameters. */
export const pathParametersOf = (route: Pick<Route, 'path'>): (keyof FixtureIds)[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => idKeyOf(name!, route.path))

/** A valid body for each operation that takes one. */
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

/** Query parameters of operations that require them. */
export const requiredQueries: Record<string, (ids: FixtureIds) => Record<string, string>> = {
  getNoteCount: (ids) => ({ subject_type: 'issuer', subject_id: ids.issuer_id }),
  listNoteBacklinks: (ids) => ({ ref_type: 'issuer', ref_id: ids.issuer_id }),
}

/** The payment header of a top-up: a new one each time. */
export const createPaymentFor = (body: object | undefined): string =>
  createPayer().createPaymentHeader((body as { amount_μusd?: number } | undefined)?.amount_μusd ?? 1)

/** Sends the request of a route with valid ids and a valid body, or with the given ones. */
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
