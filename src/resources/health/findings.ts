/**
 * Health findings (docs/contract.md#configuration-health): one row per kind of problem of an issuer or account.
 * GraphQL, the console, `gatehouse doctor` and docs/reference/health.md use this table.
 */
import { truncateText } from '../../kernel/text.js'
import { defineFinding, type FindingRule } from './finding-definition.js'
import type { AccountFacts } from './health-facts.js'
import { issuerFindings } from './issuer-findings.js'

export { issuerFindings }

const accountFinding = defineFinding<AccountFacts>()

export const accountFindings = {
  SINGLE_ADMINISTRATOR: accountFinding({
    severity: 'WARNING',
    reads: ['administrators'],
    when: 'exactly one active user has full authority (`svc:all`) on the account',
    find: ({ administrators }) => (administrators === 1 ? [null] : []),
    path: () => 'owner_user_id',
    message: () =>
      'Only one user has full authority on this account. If that user loses access, only an operator can restore the access.',
    fix: () => 'Add another administrator with the scope svc:all.',
    example: null,
  }),

  WEBHOOK_FAILING: accountFinding({
    severity: 'WARNING',
    reads: ['failingWebhooks'],
    when: 'a webhook has the status `failing`',
    find: ({ failingWebhooks }) => failingWebhooks,
    path: ({ id }) => `webhooks/${id}`,
    message: ({ host }) => `Deliveries to the webhook at ${truncateText(host, 200)} are failing.`,
    fix: () =>
      'Check last_error of the deliveries and fix the receiver. Then set status of the webhook to active to end the status failing and close the circuit breaker, or to disabled to stop the deliveries.',
    example: { id: '{id}', host: 'hooks.example.com' },
  }),

  DOMAIN_NOT_ASSIGNED: accountFinding({
    severity: 'WARNING',
    reads: ['unassignedDomains'],
    when: 'a domain is verified but not assigned to an issuer',
    find: ({ unassignedDomains }) => unassignedDomains,
    path: (host) => `domains/${host}`,
    message: (host) => `The domain ${host} is verified, but not assigned to an issuer, so requests to the domain fail.`,
    fix: () => 'Assign the domain to an issuer, or remove it.',
    example: '{domain}',
  }),
} as const satisfies Record<string, FindingRule<AccountFacts>>

export const findings = { ...issuerFindings, ...accountFindings }
export type FindingCode = keyof typeof findings
