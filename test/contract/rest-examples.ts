/**
 * Records the examples of the OpenAPI document: requests of the tests and the answers of the server, with stable ids,
 * times and secrets. `npm run examples` writes graphql/rest-examples.json.
 */
import { expectStatus } from '../setup/actors.js'
import type { AnyJson } from '../setup/api.js'
import { type FixtureIds, PASSWORD, type TenantFixture } from './tenant-fixture.js'

/** Request bodies of an ordinary deployment, by the name of the operation. */
export const exampleBodies: Record<string, (ids: FixtureIds) => object> = {
  updateAccount: () => ({ name: 'Example Inc.', description: 'Sign-in of all our applications.' }),
  createDomain: () => ({ host: 'login.example.com' }),
  createIssuer: () => ({ name: 'Customers', description: 'The customers of the web shop.' }),
  updateIssuer: () => ({ description: 'The customers of the web shop.' }),
  createAuthMethod: () => ({ name: 'Passkey', method: 'passkey' }),
  updateAuthMethod: () => ({ name: 'Passkeys', featured: true }),
  createClient: () => ({
    name: 'Web shop',
    type: 'internal',
    confidential: true,
    settings: { openid: { redirect_uris: ['https://shop.example.com/callback'] } },
    metadata: { team: 'checkout' },
  }),
  updateClient: () => ({ settings: { openid: { redirect_uris: ['https://shop.example.com/callback'] } } }),
  createUser: () => ({
    username_type: 'email',
    username: 'ada@example.com',
    profile: { given_name: 'Ada', family_name: 'Lovelace', email: 'ada@example.com' },
    email_verified: true,
  }),
  updateUser: () => ({ profile: { given_name: 'Ada', family_name: 'King', email: 'ada@example.com' } }),
  createVerifier: () => ({ type: 'password', name: null, password: PASSWORD }),
  createOrganization: () => ({ name: 'Analytical Engines', org_type: 'business', invitation_enabled: true }),
  updateOrganization: () => ({ description: 'A customer since 2026.' }),
  updateOrganizationMember: () => ({ user_title: 'Engineer', scopes: ['reports:read'] }),
  createOrganizationGroup: () => ({ name: 'Authors', scopes: ['articles:write'] }),
  updateOrganizationGroup: () => ({ description: 'May edit all articles.' }),
  createOrganizationInvitation: () => ({ email: 'grace@example.com', message: 'Welcome to the team.' }),
  createOrganizationApiKey: () => ({
    type: 'api_key',
    name: 'Member synchronization',
    restrictions: { scopes: ['issuers.organizations.members:read'] },
  }),
  createApiKey: () => ({
    name: 'Nightly report',
    restrictions: { scopes: ['issuers.users:read'] },
    tags: ['reports'],
  }),
  updateApiKey: () => ({ description: 'Used by the nightly report.' }),
  blockApiKey: () => ({ reason: 'Under investigation.' }),
  revokeApiKey: () => ({ reason: 'Replaced.' }),
  createPersonalToken: () => ({ type: 'personal_token', name: 'Command line', restrictions: { scopes: [] } }),
  createAgent: () => ({
    name: 'Support assistant',
    model: 'example-model-1',
    provider: 'example',
    scopes: ['tickets:read'],
  }),
  updateAgent: () => ({ version: '2.1' }),
  createAgentVerifier: () => ({ type: 'secret', name: 'Production' }),
  createWebhook: () => ({
    url: 'https://hooks.example.com/gatehouse',
    event_types: ['user.created'],
    name: 'Customer database',
    auth: 'signature',
  }),
  updateWebhook: () => ({ description: 'Keeps the customer database current.' }),
  createNote: (ids) => ({
    subject_type: 'user',
    subject_id: ids.user_id,
    issuer_id: ids.issuer_id,
    content: 'Called about the invoice.',
  }),
  updateNote: () => ({ content: 'Called about the invoice. Solved.', pinned: true }),
}

/** Gives the resources of a fixture the values of an ordinary deployment. */
export async function applyExampleValues({ owner, A, I, ids }: TenantFixture): Promise<void> {
  const O = `${I}/organizations/${ids.org_id}`
  const changes: [path: string, body: object][] = [
    [A, { name: 'Example Inc.' }],
    [I, { name: 'Customers', description: 'The customers of the web shop.' }],
    [`${I}/clients/${ids.client_id}`, { name: 'Web shop', metadata: { team: 'checkout' } }],
    [`${A}/api-keys/${ids.key_id}`, { name: 'Nightly report' }],
    [`${I}/agents/${ids.agent_id}`, { name: 'Support assistant', model: 'example-model-1' }],
    [O, { name: 'Analytical Engines' }],
    [`${O}/groups/${ids.group_id}`, { name: 'Editors', scopes: ['articles:write'] }],
    [`${O}/api-keys/${ids.org_key_id}`, { name: 'Member synchronization' }],
    [`${A}/webhooks/${ids.webhook_id}`, { name: 'Customer database' }],
    [
      `${I}/users/${ids.user_id}`,
      {
        username_type: 'email',
        username: 'grace@example.com',
        profile: { given_name: 'Grace', family_name: 'Hopper', email: 'grace@example.com' },
      },
    ],
  ]
  for (const [path, body] of changes) expectStatus(await owner.patch(path, body), 200)
}

/** Members whose values are replaced, because they are secrets or random. */
const replacedValues: Record<string, string> = {
  secret: 'the-secret-of-32-to-256-characters',
  secret_plain: 'the-secret-of-32-to-256-characters',
  secret_hint: '7h2k',
  token_plain: 'eyJhbGciOiJFUzI1NiIs…',
  bearer_token_plain: 'the-bearer-token',
  signature_secret_plain: 'the-signing-secret',
  provisioning_uri: 'otpauth://totp/Example:ada%40example.com?secret=JBSWY3DPEHPK3PXP&issuer=Example',
  challenge: 'kq4cQ0d1mJm0b0b8w0v3Yw',
  code: '123456',
  user_agent: 'Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0',
  fingerprint: '5f0c…',
  ip_address: '203.0.113.7',
  credential_id: 'kq4cQ0d1mJm0b0b8w0v3Yw',
}

/** Creates the function that replaces the ids, times and secrets of recorded values. */
export function createNormalizer(baseUrl: string, now: () => number) {
  const RECORDED_AT = 1_763_900_000_000
  const numbers = new Map<string, number>()
  const stableId = (id: string, prefix: string): string => {
    const known = [...numbers].filter(([other]) => other.startsWith(`${prefix}_`)).length
    if (!numbers.has(id)) numbers.set(id, known + 1)
    return `${prefix}_01kb3w8hxv6k8y1f4sn0q3a${String(numbers.get(id)).padStart(3, '0')}`
  }
  const text = (value: string): string =>
    value
      .replaceAll(baseUrl, 'https://id.example.com')
      .replace(/\b([a-z]{2,5})_[0-9a-hjkmnp-tv-z]{26}\b/g, (id, prefix: string) => stableId(id, prefix))
      .replace(/sha256:[\w-]+/g, 'sha256:3q2-7w…')
      .replace(/-\d+-[0-9a-z]{4,6}\b/g, '')
      .replace(/^127\.0\.0\.1$|^::1$/, 'id.example.com')
      .replace(/(gatehouse-verify=)\S+/, '$15yq0w8k2…')
  const whole = (value: number): number =>
    value < 1_000_000_000_000 ? value : RECORDED_AT + Math.round((value - now()) / 3_600_000) * 3_600_000
  return function normalize(value: unknown, name = ''): unknown {
    if (value !== null && name in replacedValues && typeof value === 'string') return replacedValues[name]
    if (name === 'codes_plain') return ['4k7q-9m2x', '8f3n-2w6p']
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return whole(value)
    // One entry shows what a list contains.
    if (Array.isArray(value)) return (name === 'data' ? value.slice(0, 1) : value).map((item) => normalize(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, normalize(part, key)]))
  }
}

/** Returns the names of the members of a value, with those of nested objects, except of maps. */
export function memberNames(value: AnyJson, path = ''): string[] {
  if (Array.isArray(value)) return typeof value[0] === 'object' ? memberNames(value[0], `${path}[]`) : [path]
  if (typeof value !== 'object' || value === null) return [path]
  const isMap = /(metadata|settings|changes|links|profile|options|\.data)$/.test(path)
  return isMap ? [path] : Object.entries(value).flatMap(([key, part]) => memberNames(part, `${path}.${key}`))
}
