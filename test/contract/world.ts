/** A tenant with one of everything, and the route table's paths and bodies filled with it. */
import type { Route } from '../../src/rest/routes.js'
import { makeTenant, must, type Tenant } from '../setup/actors.js'
import type { Answer, Api, Loose } from '../setup/api.js'
import { newPayer } from '../setup/facilitator.js'
import { makeSession } from '../setup/sessions.js'
import type { TestApp } from '../setup/start-app.js'

/** Ids by the names that paths use. */
export interface Ids {
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
  /** What `{key_id}` is below an organization. */
  org_key_id: string
  invitation_id: string
  /** A member who is in no group, and a user who is no member: for bodies. */
  other_member_id: string
  outsider_id: string
  session_id: string
  event_id: string
  /** A host. */
  domain: string
  webhook_id: string
  delivery_id: string
  payment_method_id: string
}

export interface World extends Tenant {
  ids: Ids
}

export const PASSWORD = 'correct horse battery staple'
let count = 0
/** A word that no test has used before. */
export const fresh = (word: string): string => `${word}-${++count}-${Math.random().toString(36).slice(2, 8)}`

/** A client that needs nothing: public, without callbacks. */
export const publicClient = (more: object = {}) => ({
  name: fresh('App'),
  type: 'external',
  confidential: false,
  settings: {},
  ...more,
})
export const confidentialClient = (more: object = {}) => publicClient({ confidential: true, ...more })

const idOf = async (answer: Promise<Answer<Loose>>): Promise<string> => must(await answer, 201).data.id

/** What a world has, in parts that need nothing of each other. */
const parts: Record<string, (tenant: Tenant) => Promise<Partial<Ids>>> = {
  person: populatePerson,
  organization: populateOrganization,
  agent: populateAgent,
  webhook: populateWebhook,
  method: async ({ owner, I }) => ({
    method_id: await idOf(owner.post(`${I}/auth-methods`, { name: 'Passkey', method: 'passkey' })),
  }),
  client: async ({ owner, I }) => ({ client_id: await idOf(owner.post(`${I}/clients`, confidentialClient())) }),
  key: async ({ owner, A }) => ({
    key_id: await idOf(owner.post(`${A}/api-keys`, { name: fresh('key'), restrictions: { scopes: [] } })),
  }),
  domain: async (tenant) => {
    const host = await makeRoomForHost(tenant)
    return { domain: must(await tenant.owner.post(`${tenant.A}/domains`, { host }), 201).data.host }
  },
  note: async ({ owner, A, issuerId }) => {
    const body = { subject_type: 'issuer', subject_id: issuerId, content: `[[issuer:${issuerId}]]` }
    return { note_id: await idOf(owner.post(`${A}/notes`, body)) }
  },
  pending: async ({ owner, I }) => {
    const body = { username_type: 'unique', username: fresh('waiting'), requires_approval: true }
    return { pending_user_id: await idOf(owner.post(`${I}/users`, body)) }
  },
  payment: async (tenant) => {
    await disableMethods(tenant)
    const made = tenant.owner.post(`${tenant.A}/payment-methods`, bodies['createPaymentMethod']?.())
    return { payment_method_id: await idOf(made) }
  },
}

/**
 * A client with secrets to rotate, a user with a password, a key that may do nothing, one more sign-in method, an
 * organization with a key, two members and a group.
 */
export async function populate(tenant: Tenant): Promise<World> {
  const { owner, A, accountId: account_id, issuerId: issuer_id } = tenant
  const made = await Promise.all(Object.values(parts).map((part) => part(tenant)))
  const event_id = must(await owner.get(`${A}/events?limit=1`), 200).data[0].id
  return { ...tenant, ids: Object.assign({ account_id, issuer_id, event_id }, ...made) }
}

/** What a route's last parameter names, and everything beside it, by the part of the world that has it. */
const partOf: Partial<Record<keyof Ids, string>> = {
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

/** The world to call a route in once: what the route destroys or changes for good is made for it. */
export async function worldFor(route: Route, world: World): Promise<World> {
  const isDeadly =
    route.method === 'DELETE' ||
    /block|revoke|decide|complete|suspend|reactivate|^addOrganization/i.test(route.operation)
  if (!isDeadly) return world
  if (route.operation === 'deleteIssuer') {
    const issuer_id = await idOf(world.owner.post(`${world.A}/issuers`, { name: 'Doomed' }))
    return { ...world, ids: { ...world.ids, issuer_id } }
  }
  const part = partOf[parametersOf(route).at(-1)!]
  if (!part) throw new Error(`what does ${route.operation} need?`)
  return { ...world, ids: { ...world.ids, ...(await parts[part]!(world)) } }
}

async function populatePerson(tenant: Tenant) {
  const { owner, I } = tenant
  const user_id = await idOf(owner.post(`${I}/users`, { username_type: 'unique', username: fresh('user') }))
  const password = { type: 'password', name: null, password: PASSWORD }
  const [verifier_id, token_id, session_id] = await Promise.all([
    idOf(owner.post(`${I}/users/${user_id}/verifiers`, password)),
    idOf(owner.post(`${I}/users/${user_id}/tokens`, bodies['createPersonalToken']?.())),
    makeSession(tenant.app!, tenant, user_id),
  ])
  return { user_id, verifier_id, token_id, session_id }
}

async function populateAgent({ owner, I }: Tenant) {
  const agent_id = await idOf(owner.post(`${I}/agents`, { name: fresh('agent') }))
  const secret = owner.post(`${I}/agents/${agent_id}/verifiers`, { type: 'secret', name: null })
  return { agent_id, agent_verifier_id: await idOf(secret) }
}

async function populateOrganization({ owner, I }: Tenant) {
  const make = (path: string, body: object) => idOf(owner.post(path, body))
  const person = () => make(`${I}/users`, { username_type: 'unique', username: fresh('user') })
  const org_id = await make(`${I}/organizations`, { name: fresh('Organization'), invitation_enabled: true })
  const O = `${I}/organizations/${org_id}`
  const [member_id, other_member_id, outsider_id, group_id] = await Promise.all([
    person(),
    person(),
    person(),
    make(`${O}/groups`, { name: fresh('Group') }),
  ])
  const key = { type: 'api_key', name: fresh('key'), restrictions: { scopes: [] } }
  const [org_key_id, invitation_id] = await Promise.all([
    make(`${O}/api-keys`, key),
    make(`${O}/invitations`, { email: `${fresh('guest')}@example.com` }),
    make(`${O}/members`, { member_id, groups: [group_id] }),
    make(`${O}/members`, { member_id: other_member_id }),
  ])
  return { org_id, member_id, group_id, org_key_id, invitation_id, other_member_id, outsider_id }
}

/** One payment method is active at most. */
export async function disableMethods({ owner, A }: Tenant): Promise<void> {
  const { data } = must(await owner.get(`${A}/payment-methods`), 200)
  for (const { id, enabled } of data)
    if (enabled) must(await owner.patch(`${A}/payment-methods/${id}`, { enabled: false }), 200)
}

/** An account has 20 domains at most: the first world in it keeps its own, later ones take turns. */
async function makeRoomForHost({ owner, A }: Tenant): Promise<string> {
  const { data } = must(await owner.get(`${A}/domains`), 200)
  for (const { host } of data) if (host.startsWith('spare')) await owner.delete(`${A}/domains/${host}`)
  return `${fresh(data.length === 0 ? 'first' : 'spare')}.example.com`
}

/** An account has 20 webhooks at most, and each worth of events adds deliveries: later worlds take turns here too. */
async function populateWebhook({ owner, A, accountId }: Tenant) {
  const { data } = must(await owner.get(`${A}/webhooks`), 200)
  for (const { id, name } of data) if (name === 'spare') await owner.delete(`${A}/webhooks/${id}`)
  const name = data.length === 0 ? 'first' : 'spare'
  // Told of nothing that the tests do.
  const body = { url: 'https://hooks.example.com/in', event_types: ['webhook.failing'], name }
  const { id } = must(await owner.post(`${A}/webhooks`, body), 201).data
  const document = 'mutation ($a: ID!, $w: ID!) { testWebhook(accountId: $a, webhookId: $w) { id } }'
  const delivery = must(await owner.graphql(document, { a: accountId, w: id }), 200).data.testWebhook
  return { webhook_id: id, delivery_id: delivery.id }
}

export const makeWorld = async (app: TestApp, name = 'World'): Promise<World> => populate(await makeTenant(app, name))

/** A row's path with these ids in it. */
export const pathOf = (route: Pick<Route, 'path'>, ids: Ids): string =>
  route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(ids[idName(name, route.path)]))

/** Where one name of a parameter means another thing than elsewhere. */
const meanings: [parameter: string, path: RegExp, id: keyof Ids][] = [
  ['key_id', /\/organizations\//, 'org_key_id'],
  ['verifier_id', /\/agents\//, 'agent_verifier_id'],
  ['user_id', /\/approvals\//, 'pending_user_id'],
  ['method_id', /\/payment-methods\//, 'payment_method_id'],
]
/** Which id a parameter stands for: keys of organizations and of accounts share a name, for example. */
export const idName = (parameter: string, path: string): keyof Ids =>
  meanings.find(([name, where]) => name === parameter && where.test(path))?.[2] ?? (parameter as keyof Ids)

/** Names of the path's parameters. */
export const parametersOf = (route: Pick<Route, 'path'>): (keyof Ids)[] =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => idName(name!, route.path))

/** A good body for each operation that takes one. */
export const bodies: Record<string, (ids?: Ids) => object> = {
  updateAccount: () => ({ description: fresh('d') }),
  createDomain: () => ({ host: `${fresh('extra')}.example.com` }),
  assignDomain: (ids) => ({ issuer_id: ids?.issuer_id ?? '' }),
  createTopup: () => ({ amount_μusd: 5_000_000 }),
  createPaymentMethod: () => ({ type: 'x402', label: fresh('wallet') }),
  updatePaymentMethod: () => ({ label: fresh('wallet') }),
  createIssuer: () => ({ name: fresh('Issuer') }),
  updateIssuer: () => ({ description: fresh('d') }),
  createAuthMethod: () => ({ name: 'Passkey', method: 'passkey' }),
  updateAuthMethod: () => ({ name: fresh('Method') }),
  createClient: () => publicClient(),
  updateClient: () => ({ description: fresh('d') }),
  createUser: () => ({ username_type: 'unique', username: fresh('user') }),
  updateUser: () => ({ metadata: { note: fresh('n') } }),
  createVerifier: () => ({
    type: 'temporary_password',
    name: 'Temporary',
    password: PASSWORD,
    expires_at: Date.now() + 86_400_000,
  }),
  challengePasskey: () => ({}),
  completeEnrollment: () => ({ enrollment_id: `enr_${'0'.repeat(26)}`, code: '000000' }),
  updateVerifier: () => ({ description: fresh('d') }),
  createOrganization: () => ({ name: fresh('Organization') }),
  updateOrganization: () => ({ description: fresh('d') }),
  addOrganizationMember: (ids) => ({ member_id: ids?.outsider_id ?? 'usr_none' }),
  updateOrganizationMember: () => ({ user_title: fresh('t') }),
  createOrganizationGroup: () => ({ name: fresh('Group') }),
  updateOrganizationGroup: () => ({ description: fresh('d') }),
  addOrganizationGroupMember: (ids) => ({ member_id: ids?.other_member_id ?? 'usr_none' }),
  createOrganizationInvitation: () => ({ email: `${fresh('guest')}@example.com` }),
  createOrganizationApiKey: () => ({ type: 'api_key', name: fresh('key'), restrictions: { scopes: [] } }),
  updateOrganizationApiKey: () => ({ description: fresh('d') }),
  rotateOrganizationApiKey: () => ({}),
  blockOrganizationApiKey: () => ({ reason: 'test' }),
  revokeOrganizationApiKey: () => ({ reason: 'test' }),
  revokeSession: () => ({ reason: 'admin_action' }),
  suspendSession: () => ({ reason: 'risk_review' }),
  createApiKey: () => ({ name: fresh('key'), restrictions: { scopes: [] } }),
  updateApiKey: () => ({ description: fresh('d') }),
  rotateApiKey: () => ({}),
  blockApiKey: () => ({ reason: 'test' }),
  revokeApiKey: () => ({ reason: 'test' }),
  createPersonalToken: () => ({ type: 'personal_token', name: fresh('token'), restrictions: { scopes: [] } }),
  revokePersonalToken: () => ({ reason: 'test' }),
  decideApproval: () => ({ action: 'approve' }),
  createAgent: () => ({ name: fresh('agent') }),
  updateAgent: () => ({ description: fresh('d') }),
  createAgentVerifier: () => ({ type: 'secret', name: fresh('secret') }),
  createWebhook: () => ({ url: 'https://hooks.example.com/new', event_types: ['webhook.failing'], name: 'spare' }),
  updateWebhook: () => ({ description: fresh('d') }),
  redeliverWebhookDeliveries: () => ({ after: 0 }),
  createNote: (ids) => ({ subject_type: 'issuer', subject_id: ids?.issuer_id, content: fresh('note') }),
  updateNote: () => ({ content: fresh('note') }),
}

/** The query of operations that cannot do without. */
export const queries: Record<string, (ids: Ids) => Record<string, string>> = {
  getNoteCount: (ids) => ({ subject_type: 'issuer', subject_id: ids.issuer_id }),
  listNoteBacklinks: (ids) => ({ ref_type: 'issuer', ref_id: ids.issuer_id }),
}

/** The payment that a top-up is sent with: a new one each time. */
export const paymentFor = (body: object | undefined): string =>
  newPayer().pay((body as { amount_μusd?: number } | undefined)?.amount_μusd ?? 1)

/** Sends a row's request with good ids and a good body, or the given ones. */
export function send(
  api: Api,
  route: Route,
  ids: Ids,
  headers: Record<string, string> = {},
  body: object | undefined = bodies[route.operation]?.(ids),
): Promise<Answer<Loose>> {
  const query = queries[route.operation]?.(ids)
  const path = pathOf(route, ids) + (query ? `?${new URLSearchParams(query)}` : '')
  const payment = route.payment && { 'payment-signature': paymentFor(body) }
  return api.request(route.method, path, body, { ...payment, ...headers })
}
