/**
 * Compares docs/contract.md with the tests and the routes. These tests fail for a section without a row in `coverage`,
 * for a row with a missing test file, and for a documented endpoint that is not served.
 */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from '@jest/globals'
import { routes as idpRoutes } from '../../src/idp/routes.js'
import { packageRoot } from '../../src/platform/package-info.js'
import { routes } from '../../src/rest/routes.js'

/** Test files by section of docs/contract.md. */
// biome-ignore format: a table with one row per section
const coverage: Record<string, readonly string[]> = {
  'Servers and roles': ['stories/operation', 'stories/two-processes'],
  Configuration: ['unit/config', 'stories/command-line'],
  'First start': ['contract/first-run', 'stories/readme'],
  'Probes and shutdown': ['stories/operation', 'security/database-unavailable'],
  'Account creation and administrators': ['security/administrators', 'stories/recover-command'],
  'GraphQL API': ['graphql/operations', 'graphql/permissions', 'graphql/relations'],
  'Pages for browsers': ['idp/browser-pages', 'browser/issuer-page'],
  'Hosted pages': ['idp/sign-in', 'browser/sign-in'],
  'Resource conventions': ['contract/accounts', 'contract/users'],
  'Request bodies': ['contract/input-validation', 'contract/required-fields'],
  Identifiers: ['contract/input-validation'],
  'Common field rules': ['contract/users', 'contract/input-validation'],
  Pagination: ['contract/pagination', 'contract/limits'],
  'Concurrency and retries': ['contract/etag', 'contract/idempotency'],
  'ETag and If-Match': ['contract/etag'],
  'Idempotency-Key': ['contract/idempotency', 'contract/idempotency-reuse'],
  Errors: ['contract/input-validation', 'contract/transport'],
  'Rate limits': ['contract/rate-limits', 'contract/rate-limits-redis', 'idp/limits'],
  Limits: ['contract/limits', 'contract/retention'],
  Versioning: ['contract/openapi'],
  'API key credentials': ['contract/api-keys', 'security/credentials'],
  'Access tokens at the Core API': ['security/bearer', 'idp/tokens'],
  'Scopes and authorization': ['security/access-matrix', 'security/insufficient-scope'],
  'Restrictions of keys and tokens': ['contract/key-restrictions'],
  'Authority for changes': ['security/authority', 'security/authority-chains'],
  'Recent sign-in': ['contract/step-up'],
  'Account and payment endpoints': ['contract/accounts', 'contract/topups', 'contract/payment-methods', 'stories/topup-crash'],
  'Domain endpoints': ['contract/domains', 'idp/custom-domains'],
  'Issuer endpoints': ['contract/issuers'],
  'Client endpoints': ['contract/clients'],
  'User endpoints': ['contract/users', 'contract/verifiers', 'contract/totp-and-backup-codes'],
  'Organization endpoints': ['contract/organizations', 'contract/members', 'contract/invitations'],
  'API key endpoints': ['contract/api-keys', 'contract/organization-api-keys'],
  'Personal token endpoints': ['contract/personal-tokens'],
  'Session endpoints': ['contract/sessions'],
  'Approval endpoints': ['contract/approvals'],
  'Agent endpoints': ['contract/agents'],
  'Note endpoints': ['contract/notes'],
  'Event endpoints': ['contract/event-queries', 'contract/event-aggregate', 'contract/event-filters'],
  'Webhook endpoints': ['contract/webhooks'],
  Accounts: ['contract/accounts'],
  'Account, ledger and payment method fields': ['contract/accounts', 'contract/payment-methods', 'contract/topups'],
  'Domains and payments': ['contract/domains', 'contract/payment-methods'],
  'Payment challenge': ['contract/topups', 'stories/payment-resolution'],
  Issuers: ['contract/issuers'],
  'Issuer settings': ['contract/issuers', 'idp/issuer-settings'],
  'Password policy': ['contract/breached-passwords', 'platform/password-hashes'],
  'Authentication methods': ['contract/issuers', 'idp/login/upstream-kinds'],
  Clients: ['contract/clients'],
  'Token lifetimes': ['contract/clients', 'idp/tokens'],
  'Redirect URI registration': ['contract/clients'],
  'Redirect URI rules of an issuer': ['unit/redirect-uri-rules'],
  'Organization restrictions of clients': ['idp/organization-restriction'],
  Users: ['contract/users'],
  Credentials: ['contract/verifiers', 'security/credentials'],
  'Verifier operations': ['contract/verifiers', 'contract/totp-and-backup-codes'],
  Organizations: ['contract/organizations'],
  Members: ['contract/members'],
  Groups: ['contract/members'],
  Invitations: ['contract/invitations'],
  Agents: ['contract/agents'],
  'Wallet authentication of agents': ['idp/grants/wallets'],
  'API keys': ['contract/api-keys', 'contract/organization-api-keys'],
  'Key operations and status transitions': ['contract/api-keys', 'contract/resource-status'],
  'Personal tokens': ['contract/personal-tokens'],
  Sessions: ['contract/sessions'],
  'Session fields': ['contract/sessions'],
  Notes: ['contract/notes'],
  'Note fields and links': ['contract/notes'],
  'Audit events': ['contract/events'],
  'Event records': ['contract/events', 'contract/event-names'],
  'Refused requests': ['idp/denial-events', 'idp/denial-reasons', 'graphql/recent-denials'],
  Webhooks: ['contract/webhooks'],
  'Webhook fields': ['contract/webhooks'],
  'Webhook delivery rules': ['contract/webhook-sending', 'contract/webhook-workers', 'contract/webhook-retry-schedule'],
  'Webhook payload and signature': ['contract/webhook-sending', 'contract/webhook-receivers'],
  'States and transitions': ['contract/resource-status', 'contract/sessions', 'contract/domains', 'contract/webhooks', 'contract/payment-methods'],
  'Authorization requests': ['idp/interoperability', 'idp/authorize'],
  'Claims parameter': ['idp/interoperability'],
  'Pushed authorization requests': ['idp/pushed-authorization-requests'],
  'FAPI 2.0 security profile': ['idp/fapi2', 'idp/canceled-sign-in'],
  'Redirect URI matching': ['idp/redirect-uris', 'idp/authorize'],
  'Code exchange': ['idp/tokens', 'idp/authorize'],
  Refresh: ['idp/tokens', 'idp/concurrency'],
  'Client credentials grant': ['idp/tokens', 'idp/grants/agents'],
  'Introspection and revocation': ['idp/tokens', 'idp/revocation'],
  'Client ID metadata documents': ['idp/client-id-metadata-documents'],
  'Client assertions': ['idp/private-key-jwt', 'idp/client-key-sets', 'idp/grants/agent-public-keys', 'contract/client-authentication'],
  'Dynamic client registration': ['idp/registration'],
  'Registered client metadata': ['idp/registration'],
  'Client configuration endpoint': ['idp/client-configuration'],
  'Initial access tokens': ['contract/initial-access-tokens', 'idp/registration'],
  'Session check': ['idp/session', 'browser/session-check'],
  Logout: ['idp/revocation'],
  'Back-channel logout': ['idp/backchannel-logout'],
  'Memberships in tokens': ['idp/memberships'],
  'Grant and client rules': ['idp/grants/common-rules'],
  'Tokens and claims': ['idp/tokens'],
  'Sender-constrained tokens': ['idp/dpop', 'idp/dpop-proofs', 'security/dpop', 'stories/two-processes'],
  'Custom claims': ['idp/custom-claims', 'unit/custom-claims'],
  'Token preview': ['idp/token-preview'],
  Discovery: ['idp/discovery', 'idp/discovery-http'],
  'Signing keys': ['idp/key-rotation', 'stories/key-compromise'],
  'Signing key publication': ['idp/key-rotation', 'idp/discovery'],
  'Token exchange': ['idp/grants/token-exchange', 'idp/grants/exchange-policy'],
  'Proof of a mailbox': ['idp/login/email-methods', 'idp/login/email-first-verification'],
  'Second factors': ['idp/login/second-factors', 'idp/organization-mfa'],
  'Configuration health': ['contract/health'],
  Erasure: ['security/erasure', 'contract/user-deletion'],
  'Single-use values': ['idp/concurrency', 'idp/dpop-proofs'],
  'Reuse of codes and refresh tokens': ['idp/tokens', 'idp/concurrency'],
  'Versions of a row': ['contract/etag'],
  'One transaction per operation': ['stories/process-crash'],
  'Limits under parallel requests': ['contract/limits', 'contract/api-keys', 'contract/agents', 'contract/domains'],
  'Tenant isolation': ['security/access-matrix', 'security/relations'],
  'Identifiers in bodies': ['contract/input-validation', 'security/authority'],
  'Token checks at the Core API': ['security/bearer'],
  "No granting beyond the caller's authority": ['security/grants', 'contract/idempotency-reuse'],
  'Caches and cookies per tenant': ['idp/configuration-reload', 'idp/custom-domains'],
  'Liveness of principals': ['idp/principal-status'],
  'Liveness of access tokens': ['security/bearer', 'idp/revocation'],
  'Revocation and the browser session': ['idp/revocation', 'idp/session'],
  'Input checks': ['contract/input-validation', 'idp/malformed-requests'],
  'Redirect and logout URI comparison': ['idp/redirect-uris'],
  'Output escaping and page headers': ['idp/login/hostile-sign-in', 'idp/sign-in'],
  'Outbound requests': ['platform/outbound'],
  'Public address': ['idp/custom-domains'],
  'Secret storage': ['security/credentials', 'idp/secret-key'],
  'Secrets in logs and events': ['platform/log', 'contract/events'],
  'Equal answers and lockout': ['idp/sign-in', 'idp/login/hostile-sign-in'],
  'Login transactions': ['idp/login/unexpected-endings', 'idp/login/hostile-sign-in'],
  'Federated identities': ['idp/login/upstream', 'idp/login/upstream-hostile'],
  'Timeouts and unavailability': ['platform/database', 'security/database-unavailable'],
  'Password hashing capacity': ['platform/hashing'],
  'GraphQL limits': ['graphql/limits'],
  'Serialization failures': ['platform/transaction-connection'],
  'Authority cannot grow': ['security/authority-chains', 'stories/tenant-authority'],
  'Mailbox proof and second factors': ['idp/login/second-factors', 'idp/login/email-methods'],
  'Key publication before signing': ['idp/key-rotation'],
  'Restrictions at every token issue': ['idp/organization-restriction'],
  'Settings without effect': ['idp/issuer-settings', 'contract/health'],
  'One parser per input': ['contract/input-validation'],
  'Failed client authentication': ['idp/limits', 'contract/rate-limits'],
  'Erasure of stored data': ['security/erasure'],
}

const contract = readFileSync(join(packageRoot, 'docs/contract.md'), 'utf8')
const sections = [...contract.matchAll(/^### (.+)$/gm)].map(([, heading]) => heading!)

/**
 * Expands an abbreviated path of docs/contract.md. `…` means two paths: that of the account's API keys and that of the
 * organization's API keys.
 */
function expandPath(path: string): string[] {
  const account = '/v1/accounts/{account_id}'
  const issuer = `${account}/issuers/{issuer_id}`
  const prefixes: Record<string, string> = { A: account, I: issuer, O: `${issuer}/organizations/{org_id}` }
  if (!path.startsWith('…')) return [path.replace(/^[AIO](?=\/|$)/, (letter) => prefixes[letter]!)]
  const rest = path.includes('/api-keys') ? path.slice(1) : `/api-keys/{key_id}${path.slice(1)}`
  return [`${prefixes['A']}${rest}`, `${prefixes['O']}${rest}`]
}

/**
 * Returns the operations in the endpoint tables of docs/contract.md as `METHOD path status`. A row may contain several
 * operations with the same path, such as "`GET`, `PATCH`, `DELETE /path`".
 */
function documentedOperations(): string[] {
  const text = contract.slice(contract.indexOf('## Core API endpoints'), contract.indexOf('## Resources'))
  return [...text.matchAll(/^\| ([^|]*`(?:GET|POST|PATCH|DELETE)\b[^|]*)\| ([^|]*)\|/gm)].flatMap(
    ([, cell, statuses]) => {
      const spans = [...cell!.matchAll(/`(GET|POST|PATCH|DELETE)(?: ([^`]+))?`/g)]
      const success = [...statuses!.matchAll(/\b20\d\b/g)].map(([status]) => status)
      return spans.flatMap(([, method, own], at) => {
        const path = own ?? spans.slice(at).find(([, , later]) => later !== undefined)?.[2] ?? ''
        return expandPath(path).map((expanded) => `${method} ${expanded} ${success[at] ?? success[0]}`)
      })
    },
  )
}

test('the table of test files has the sections of docs/contract.md', () => {
  expect(sections.filter((section) => !(section in coverage))).toEqual([])
  expect(Object.keys(coverage).filter((section) => !sections.includes(section))).toEqual([])
})

describe('the test files of each section exist', () => {
  test.each(Object.entries(coverage))('%s', (_, files) => {
    expect(files.filter((file) => !existsSync(join(packageRoot, `test/${file}.test.ts`)))).toEqual([])
  })
})

test('the route table has each documented operation of the Core API with its status', () => {
  const served = routes.map(({ method, path, success }) => `${method} ${path} ${success}`)
  const documented = documentedOperations()
  expect(documented.length).toBeGreaterThan(90)
  expect(documented.filter((operation) => !served.includes(operation))).toEqual([])
})

test('the IdP has each documented OpenID Connect endpoint', () => {
  const documented = [...contract.matchAll(/^\| ((?:GET|POST)(?:, POST)?) +\| `\/\{issuer_id\}([^`]+)`/gm)]
  for (const [, methods, path] of documented) {
    const route = idpRoutes.find(({ template }) => template === path)
    expect({ path, missing: methods!.split(', ').filter((method) => !route?.methods.includes(method)) }).toEqual({
      path,
      missing: [],
    })
  }
  expect(documented.length).toBeGreaterThan(10)
})
