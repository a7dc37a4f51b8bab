/**
 * The findings of health (decisions D35): one row for each problem of an issuer or an account that its administrators
 * should act on. GraphQL, the console, `gatehouse doctor` and docs/reference/health.md read this table.
 */
import { startOf } from '../../kernel/text.js'
import type { AccountFacts } from './facts.js'
import { type FindingRow, findingRow } from './finding.js'
import { issuerFindings } from './issuer-findings.js'

export { issuerFindings }

const ofAccount = findingRow<AccountFacts>()

export const accountFindings = {
  SINGLE_ADMINISTRATOR: ofAccount({
    severity: 'WARNING',
    reads: ['administrators'],
    when: 'exactly one active person has full authority (`svc:all`) on the account',
    find: ({ administrators }) => (administrators === 1 ? [null] : []),
    path: () => 'owner_user_id',
    message: () =>
      'Only one person has full authority on this account. If they lose access, only an operator can help.',
    fix: () => 'Add another administrator with the scope svc:all.',
    example: null,
  }),

  WEBHOOK_FAILING: ofAccount({
    severity: 'WARNING',
    reads: ['failingWebhooks'],
    when: 'a webhook has the status `failing`',
    find: ({ failingWebhooks }) => failingWebhooks,
    path: ({ id }) => `webhooks/${id}`,
    message: ({ host }) => `Deliveries to the webhook at ${startOf(host, 200)} fail.`,
    fix: () =>
      'Look at last_error of its deliveries and repair the receiver; set status to active to try again at once, or to disabled.',
    example: { id: '{id}', host: 'hooks.example.com' },
  }),

  DOMAIN_NOT_ASSIGNED: ofAccount({
    severity: 'WARNING',
    reads: ['unassignedDomains'],
    when: 'a domain is verified and belongs to no issuer',
    find: ({ unassignedDomains }) => unassignedDomains,
    path: (host) => `domains/${host}`,
    message: (host) => `The domain ${host} is verified, and is not assigned to an issuer: requests to it find none.`,
    fix: () => 'Assign the domain to an issuer, or remove it.',
    example: '{domain}',
  }),
} as const satisfies Record<string, FindingRow<AccountFacts>>

export const findings = { ...issuerFindings, ...accountFindings }
export type FindingCode = keyof typeof findings
