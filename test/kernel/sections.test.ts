/**
 * The specification's sections, each with a test whose name holds it. A test that is renamed or removed, an address that
 * is missing and a section without a test fail the build.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from '@jest/globals'
import { routes as idpRoutes } from '../../src/idp/routes.js'
import { routes } from '../../src/rest/routes.js'

const root = fileURLToPath(new URL('../../../', import.meta.url))

/** A file of test/ and words of a name in it. */
type Named = [file: string, words: RegExp]

// biome-ignore format: a table, one row a section
const sections: [number: string, title: string, ...tests: Named[]][] = [
  ['1', 'What the service does', ['stories/readme', /first steps, pasted as they stand/], ['contract/accounts', /lists the accounts that the caller can reach/]],
  ['2.1', 'Conventions', ['contract/accounts', /one resource is \{data\} with a strong ETag/], ['contract/users', /metadata is merged at the top level/], ['contract/api-keys', /shows the secret once/]],
  ['2.2', 'Account', ['contract/accounts', /PATCH changes name.* billing_mode cannot be written/], ['contract/payment-methods', /^billing_mode is gated while/]],
  ['2.3', 'Issuer', ['contract/issuers', /all fields of spec 2\.3/], ['contract/issuers', /metadata documents off, and all organizations/]],
  ['2.4', 'Authentication method', ['contract/issuers', /^authentication methods$/], ['contract/issuers', /method is immutable/]],
  ['2.5', 'Client', ['contract/clients', /all fields of spec 2\.5/], ['contract/clients', /ages from 1 second to 21 days/]],
  ['2.6', 'User', ['contract/users', /all fields of spec 2\.6/]],
  ['2.7', 'User verifier', ['contract/verifiers', /nothing secret comes back/], ['contract/codes', /totp_enrollment gives a secret and a URI/], ['contract/codes', /backup_codes gives ten codes once/]],
  ['2.8', 'Organization', ['contract/organizations', /every field of 2\.8/]],
  ['2.9', 'Organization membership', ['contract/members', /scopes, groups, title and metadata/]],
  ['2.10', 'Agent', ['contract/agents', /fields of 2\.10/], ['contract/agents', /stored as SHA-256/]],
  ['2.11', 'API key', ['contract/api-keys', /creation shows the secret once/], ['contract/organization-api-keys', /type api_key is required/]],
  ['2.12', 'Personal token', ['contract/personal-tokens', /answers the token once, a JWT/]],
  ['2.13', 'Session', ['contract/sessions', /all fields of D17/], ['contract/sessions', /two closed lists/]],
  ['2.14', 'Note', ['contract/notes', /with its creator, mentions and references/]],
  ['2.15', 'Webhook', ['contract/webhooks', /^all fields of 2\.15 and D15$/], ['contract/webhooks', /secrets returned once$/], ['contract/webhooks', /made in the transaction of the event/]],
  ['2.16', 'Domain, payment method, ledger', ['contract/domains', /added unverified/]],
  ['2.16', 'Payment method, ledger', ['contract/payment-methods', /fields of 2\.16/], ['contract/topups', /ledger and event say so/], ['contract/topups', /^amounts 1 and 10\^12/]],
  ['2.17', 'Other', ['contract/members', /^groups$/], ['contract/api-keys', /PATCH scopes writes restrictions\.scopes/]],
  ['3', 'States and transitions', ['contract/states', /^section 3$/], ['contract/states', /PATCH of a status$/], ['contract/states', /transitions \(D22\): keys/]],
  ['3', 'States: sessions', ['contract/sessions', /^Session \| active, suspended, inactive \| revoke \| revoked$/], ['contract/sessions', /^Session \| active \| suspend \| suspended, Session \| suspended \| reactivate \| active$/], ['idp/endings', /D17: idle makes it inactive, a refresh makes it active again/]],
  ['3', 'States: domains', ['contract/domains', /^unverified \| verify \| verified/], ['contract/domains', /^verified \| assign \| assigned/], ['contract/domains', /^assigned \| unassign \| verified, unassigned/]],
  ['3', 'States: webhooks and their deliveries', ['contract/webhooks', /^Webhook \| any \| DELETE \| deleted/], ['contract/webhooks', /webhooks belong to the account/], ['resources/webhook-sending', /^failing after 20 failed attempts/]],
  ['3', 'States: payment methods', ['contract/payment-methods', /^Payment method \| enabled \| PATCH enabled false \| disabled/], ['contract/payment-methods', /^Payment method \| any \| DELETE \| removed/]],
  ['3', 'States: what the system does', ['contract/user-deletion', /wiped after 24 hours/], ['contract/organization-api-keys', /suspended is computed/], ['contract/organizations', /aborted as a whole when its API keys cannot be revoked/]],
  ['4.1', 'Cross-cutting rules: ETag and If-Match', ['contract/etag', /exactly the body of spec 4\.1/], ['contract/etag', /a weak, unquoted or empty value is 400/]],
  ['4.1', 'Cross-cutting rules: Idempotency-Key', ['contract/idempotency', /Idempotent-Replayed: true/], ['contract/idempotency', /never cached/], ['contract/idempotency', /over 512 KB/]],
  ['4.2', 'Accounts, payments', ['contract/accounts', /the owner is an active user of the console issuer/], ['contract/topups', /^top-up without a payment: 402/], ['contract/topups', /409 with payment_reference, not to be tried again/], ['contract/topups', /without a clear answer is 502/], ['contract/payment-methods', /any other type is 400/], ['stories/topup-crash', /credited once after restart/]],
  ['4.3', 'Domains', ['contract/domains', /DELETE removes a domain/], ['contract/domains', /assigning asks for a verified domain/], ['idp/custom-domains', /everything follows the host/]],
  ['4.4', 'Issuers and authentication methods', ['contract/issuers', /DELETE is soft/], ['contract/issuers', /^authentication methods$/]],
  ['4.5', 'Clients', ['contract/clients', /rotation: confidential clients only/], ['contract/clients', /name is contained in any case/]],
  ['4.6', 'Users and verifiers', ['contract/users', /DELETE is 202/], ['contract/codes', /complete-enrollment with the code makes a totp/]],
  ['4.7', 'Organizations and members', ['contract/members', /filters by status and by effective scope/], ['contract/organizations', /newest first, in pages/]],
  ['4.8', 'API keys', ['contract/api-keys', /old one is good for 15 minutes/], ['contract/organization-api-keys', /block, unblock, rotate/]],
  ['4.9', 'Personal tokens', ['contract/personal-tokens', /at most 50 active tokens/], ['contract/personal-tokens', /DELETE revokes at once/]],
  ['4.10', 'Sessions', ['contract/sessions', /listed newest first, in pages/], ['contract/sessions', /revoke_all_user_sessions/]],
  ['4.11', 'Approvals', ['contract/approvals', /only users in pending_approval, oldest signup first/], ['contract/approvals', /reject needs a reason/]],
  ['4.12', 'Agents', ['contract/agents', /has_verifiers/], ['contract/agents', /DELETE is permanent/]],
  ['4.13', 'Notes', ['contract/notes', /pinned first, then newest first/], ['contract/notes', /backlinks/]],
  ['4.14', 'Events: reading', ['contract/event-lists', /newest first, while others happen/], ['contract/event-aggregate', /the answer \(spec 4\.14/], ['contract/event-lists', /event_types takes several/]],
  ['4.15', 'Webhooks', ['contract/webhooks', /at most 20 per account/], ['contract/webhooks', /newest first in pages; event_type, status success or failed/], ['contract/webhooks', /new secrets are returned once if auth changes/]],
  ['4.16', 'Client callback validation', ['contract/clients', /callback rules \(spec 4\.16\)/]],
  ['4.17', 'IdP API: authorization request', ['idp/authorize', /an invalid client or redirect_uri gets a page/], ['idp/authorize', /with state and iss/]],
  ['4.17', 'IdP API: token endpoint', ['idp/tokens', /spec 4\.17/], ['idp/tokens', /scope omitted means the full set/]],
  ['4.17', 'IdP API: introspection and revocation', ['idp/tokens', /exactly the members of 4\.17/], ['idp/tokens', /revoking an unknown token/]],
  ['4.17', 'IdP API: redirect URI matching', ['idp/redirects', /4\.17 exact match/], ['idp/authorize', /the exchange must repeat that port/]],
  ['4.17', 'IdP API: metadata, keys, userinfo, logout', ['idp/documents', /4\.17: unknown and deleted issuers/], ['idp/tokens', /^userinfo$/], ['idp/endings', /^logout/]],
  ['4.17', 'IdP API: session and session check', ['idp/session', /D17: %s tells of the session/], ['idp/session', /D23: session_state is the salted hash/], ['browser/session-check', /^a logout in another tab is noticed/]],
  ['4.17', 'IdP API: client ID metadata documents', ['idp/metadata-documents', /2\.3: off by default/], ['idp/metadata-documents', /a person signs in, is shown the host/], ['idp/metadata-documents', /^selected: only one/]],
  ['4.18', 'Token exchange profile: what an actor is', ['contract/clients', /4\.18 rule 3/], ['idp/grants/exchange-policy', /^4\.18 rule 3/]],
  ['4.18', 'Token exchange profile: the grant', ['idp/grants/token-exchange', /^4\.18 rule 1/], ['idp/grants/token-exchange', /^4\.18 rule 2: parameters/], ['idp/grants/token-exchange', /^4\.18 rule 3: subjects/], ['idp/grants/token-exchange', /^4\.18 rule 4: each scope/], ['idp/grants/token-exchange', /^4\.18 rule 5/], ['idp/grants/token-exchange', /^4\.18 rule 6/]],
  ['5.1', 'Core API', ['contract/api-keys', /^the Authorization header/], ['security/bearer', /a machine does what it was granted/], ['idp/tokens', /5\.1 rule 3/]],
  ['5.2', 'IdP API', ['idp/tokens', /5\.2 rule 1/], ['idp/authorize', /PKCE is optional for a confidential client/], ['idp/tokens', /5\.2 rule 4/], ['idp/tokens', /5\.2 rule 5/], ['idp/authorize', /5\.2 rule 6/]],
  ['5.2', 'IdP API: each rule as a table', ['idp/grants/rules', /^5\.2 rule 1/], ['idp/grants/rules', /^5\.2 rule 2/], ['idp/grants/rules', /^5\.2 rule 5/], ['idp/grants/rules', /^5\.2 rule 6/], ['idp/grants/rules', /^5\.2 rule 7/]],
  ['5.2', 'IdP API: agents', ['idp/grants/agents', /^client credentials of an agent/], ['idp/grants/wallets', /^a signed challenge/]],
  ['5.3', 'Tokens', ['idp/tokens', /5\.3: the access token/], ['idp/tokens', /5\.3: the ID token/], ['idp/documents', /5\.3: both documents/], ['idp/documents', /5\.3: two generations/]],
  ['6.1', 'Audit events', ['contract/events', /adds the events of its kind/], ['contract/events', /no secret, password or hash/], ['idp/backchannel-logout', /the client is told, once/], ['stories/token-events', /every one that was answered has its event/]],
  ['6.2', 'Webhooks', ['resources/webhook-sending', /the signed bytes are the sent bytes/], ['resources/webhook-sending', /half-open lets one through/], ['contract/webhooks', /6\.2 rule 5/], ['resources/webhook-workers', /delays nobody else/]],
  ['7', 'Errors', ['contract/input', /told all at once, each with its field/], ['contract/input', /makes a 5xx/], ['idp/tokens', /gets the error of the RFC/]],
  ['8', 'Page size 1 to 100, default 50; backlinks 1 to 50, default 10', ['contract/limits', /^page size of %s/], ['contract/limits', /50 rows when nobody says otherwise/], ['contract/notes', /backlinks: the newest 10, at most 50/]],
  ['8', 'Personal tokens per user: 50 active', ['contract/personal-tokens', /50 active tokens per user, also under 20 parallel/]],
  ['8', 'Verifiers per agent: 20', ['contract/agents', /20 verifiers per agent, also under 20 parallel/]],
  ['8', 'Domains per account: 20', ['contract/domains', /^20 domains per account.*under 20 parallel/], ['contract/accounts', /20 at most, also when several requests/]],
  ['8', 'API keys per account and organization: 100 (D19)', ['contract/api-keys', /20 parallel creations at 95/], ['contract/organization-api-keys', /at most 100.*under 20 parallel/]],
  ['8', 'Payment methods: 1 active, 15 seconds of grace', ['contract/payment-methods', /^one active x402 payment method per account.*parallel/], ['contract/topups', /^disabled for 15 seconds at most/]],
  ['8', 'Idempotency: key, lifetime, stored body', ['contract/idempotency', /^1 to 256 characters/], ['contract/idempotency', /^after 24 hours the key is free/], ['contract/idempotency', /over 512 KB/], ['contract/idempotency', /^20 parallel requests with one key/]],
  ['8', 'Webhooks: retry, record retention', ['resources/webhook-attempts', /40 attempts in 28\.1 hours/], ['resources/webhook-sending', /^section 8: 40 attempts, then failed/], ['contract/webhooks', /records are kept 14 days/], ['contract/webhooks', /removed after 31 days/], ['contract/backlogs', /in portions/]],
  ['8', 'Secret rotation overlap: 15 minutes', ['contract/api-keys', /old one is good for 15 minutes/], ['contract/organization-api-keys', /15 minutes of overlap/], ['contract/clients', /old one good for 15 minutes/], ['idp/tokens', /both secrets work for 15 minutes/]],
  ['8', 'Soft-delete retention: 31 days', ['contract/limits', /^soft-delete retention/], ['contract/api-keys', /for 31 days/], ['contract/personal-tokens', /gone after 31 days/]],
  ['8', 'Token age settings and exp: 21 days; refresh token 7 days', ['contract/clients', /ages from 1 second to 21 days/], ['idp/tokens', /every exp is within 21 days/], ['idp/tokens', /good for 7 days/], ['contract/personal-tokens', /clamped to 21 days/]],
  ['8', 'Client credentials: 30 minutes', ['idp/tokens', /scope omitted means the full set/]],
  ['8', 'Token exchange policy: 30 to 300 seconds', ['contract/clients', /does nothing else$/]],
  ['8', 'Agent tokens: 5 minutes; exchanged tokens', ['idp/grants/agents', /an access token of 5 minutes/], ['idp/grants/token-exchange', /^4\.18 rule 6/]],
  ['8', 'JWKS cache: 3600 seconds', ['idp/documents', /5\.3: two generations/]],
  ['8', 'Signing keys: monthly rotation, kept 45 days', ['idp/key-rotation', /^5\.3: one new key per algorithm, once/], ['idp/key-rotation', /kept at least 45 days/]],
  ['9', 'Versioning', ['contract/openapi', /exactly the routes of the table/]],
]

/** The rows of 4.2 to 4.15 with their success, and the addresses of 4.17. Statuses not shown there are the decisions'. */
const rows: Record<string, string> = {
  '4.2': `GET /v1/accounts 200, GET A 200, PATCH A 200, GET A/credits/ledger 200, POST A/credits/topups 200,
    POST A/payment-methods 201, PATCH A/payment-methods/{method_id} 200, DELETE A/payment-methods/{method_id} 204`,
  '4.3': `GET A/domains 200, POST A/domains 201, DELETE A/domains/{domain} 204, POST A/domains/{domain}/verify 200,
    POST A/domains/{domain}/assign 200, POST A/domains/{domain}/unassign 200`,
  '4.4': `GET A/issuers 200, POST A/issuers 201, GET I 200, PATCH I 200, DELETE I 204, GET I/auth-methods 200,
    POST I/auth-methods 201`,
  '4.5': `GET I/clients 200, POST I/clients 201, GET I/clients/{client_id} 200, PATCH I/clients/{client_id} 200,
    DELETE I/clients/{client_id} 204, POST I/clients/{client_id}/secret/rotate 200`,
  '4.6': `GET I/users 200, POST I/users 201, GET I/users/{user_id} 200, PATCH I/users/{user_id} 200,
    DELETE I/users/{user_id} 202, GET I/users/{user_id}/verifiers 200, POST I/users/{user_id}/verifiers 201,
    POST I/users/{user_id}/verifiers/complete-enrollment 200`,
  '4.7': `GET I/organizations 200, POST I/organizations 201, GET O 200, PATCH O 200, DELETE O 204, GET O/members 200,
    POST O/members 201, PATCH O/members/{member_id} 200`,
  '4.8': `GET O/api-keys 200, POST O/api-keys 201, GET A/api-keys 200, POST A/api-keys 201, GET A/api-keys/{key_id} 200,
    PATCH A/api-keys/{key_id} 200, DELETE A/api-keys/{key_id} 204, POST A/api-keys/{key_id}/rotate 200,
    POST A/api-keys/{key_id}/block 200, POST A/api-keys/{key_id}/unblock 200, POST A/api-keys/{key_id}/revoke 200`,
  '4.9': `GET I/users/{user_id}/tokens 200, POST I/users/{user_id}/tokens 201, GET A/tokens/{token_id} 200,
    DELETE A/tokens/{token_id} 204, POST A/tokens/{token_id}/revoke 200`,
  '4.10': `GET I/users/{user_id}/sessions 200, GET I/sessions/{session_id} 200, POST I/sessions/{session_id}/revoke 200,
    POST I/sessions/{session_id}/suspend 200, POST I/sessions/{session_id}/reactivate 200`,
  '4.11': 'GET I/approvals 200, GET I/approvals/{user_id} 200, PATCH I/approvals/{user_id} 200',
  '4.12': `GET I/agents 200, POST I/agents 201, GET I/agents/{agent_id} 200, PATCH I/agents/{agent_id} 200,
    DELETE I/agents/{agent_id} 204, GET I/agents/{agent_id}/verifiers 200, POST I/agents/{agent_id}/verifiers 201,
    DELETE I/agents/{agent_id}/verifiers/{verifier_id} 204, PATCH O/groups/{group_id} 200, DELETE O/groups/{group_id} 204`,
  '4.13': `GET A/notes 200, POST A/notes 201, GET A/notes/count 200, GET A/notes/backlinks 200, GET A/notes/{note_id} 200,
    PATCH A/notes/{note_id} 200, DELETE A/notes/{note_id} 204`,
  '4.14': 'GET A/events 200, GET A/events/aggregate 200, GET A/events/{event_id} 200',
  '4.15': `GET A/webhooks 200, POST A/webhooks 201, GET A/webhooks/{webhook_id} 200, PATCH A/webhooks/{webhook_id} 200,
    DELETE A/webhooks/{webhook_id} 204, GET A/webhooks/{webhook_id}/deliveries 200`,
  '4.17': `GET /authorize, POST /token, POST /introspect, POST /revoke, GET /userinfo, POST /userinfo,
    GET /.well-known/openid-configuration, GET /.well-known/oauth-authorization-server, GET /jwks.json, GET /logout,
    GET /check-session.html, POST /check-session, GET /session, POST /session`,
}

/** Every section that the specification has. */
const numbers = [
  '1',
  ...Array.from({ length: 17 }, (_, n) => `2.${n + 1}`),
  '3',
  ...Array.from({ length: 18 }, (_, n) => `4.${n + 1}`),
  ...['5.1', '5.2', '5.3', '6.1', '6.2', '7', '8', '9'],
]

/** The names of tests and of groups of them in a source, `%s` as it stands. */
function namesIn(text: string): string[] {
  const quoted = String.raw`(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)"|\x60((?:\\.|[^\x60\\])*)\x60)`
  const direct = new RegExp(String.raw`\b(?:describe|test)\(\s*${quoted}`, 'g')
  // What follows the table of test.each(…).
  const tabular = new RegExp(String.raw`\)\(\s*${quoted},`, 'g')
  return [direct, tabular].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(([, one, two, three]) => one ?? two ?? three ?? ''),
  )
}

const names = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.test.ts') && file !== 'kernel/sections.test.ts')
  .flatMap((file) => namesIn(readFileSync(join(root, 'test', file), 'utf8')).map((name) => ({ file, name })))

/** Tests of this name: in one file when it is named whole, else in the folder. */
const testsOf = ([where, words]: Named) =>
  names.filter(
    ({ file, name }) =>
      (where === '' || where.endsWith('/') ? file.startsWith(where) : file === `${where}.test.ts`) && words.test(name),
  )

const A = '/v1/accounts/{account_id}'
const I = `${A}/issuers/{issuer_id}`
const abbreviations: Record<string, string> = { A, I, O: `${I}/organizations/{org_id}` }
const rowsOf = (table: Record<string, string>): [section: string, row: string][] =>
  Object.entries(table).flatMap(([section, list]) =>
    list.split(',').map((row): [string, string] => [section, row.trim().replace(/\s+/g, ' ')]),
  )
const wholePath = (path: string): string => path.replace(/^[AIO](?=\/|$)/, (letter) => abbreviations[letter]!)

/** Is there an address like this, with this success if it is one of `/v1`? */
function isServed(section: string, row: string): boolean {
  const [method = '', path = '', success] = row.split(' ')
  if (section === '4.17') return idpRoutes.some((route) => route.template === path && route.methods.includes(method))
  return routes.some(
    (route) => route.method === method && route.path === wholePath(path) && route.success === Number(success),
  )
}

describe('each section is named by a test', () => {
  test.each(sections)('%s %s', (_number, _title, ...tests) => {
    expect(tests.filter((named) => testsOf(named).length === 0)).toEqual([])
  })
})

test('no section of the specification is forgotten', () => {
  const known = new Set(sections.map(([number]) => number))
  expect([...known].filter((number) => !numbers.includes(number))).toEqual([])
  expect(numbers.filter((number) => !known.has(number))).toEqual([])
})

test('each address of the specification is there, with its method and success', () => {
  expect(rowsOf(rows).filter(([section, row]) => !isServed(section, row))).toEqual([])
})

test('each address of /v1 is exercised by the test that walks the route table', () => {
  expect(testsOf(['contract/openapi', /^answers conform$/])).toHaveLength(1)
  const text = readFileSync(join(root, 'test/contract/openapi.test.ts'), 'utf8')
  expect(text).toMatch(/describe\('answers conform'.*?test\.each\(routes\.map\(/s)
})

test('names are read in every form', () => {
  const text = `
    describe('a', () => { test("it's b", f) })
    test.each([[1, f(2)], [3]])('c %s', f)
    describe.each<[string]>(list)(
      \`d\`,
      f)
    expect('e').toBe(f('g', 1))`
  expect(namesIn(text)).toEqual(['a', "it's b", 'c %s', 'd'])
})
