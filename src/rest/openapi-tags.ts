/** The tags of the OpenAPI document. */
import type { Route } from './routes.js'

/** The tags in the order of the document, with their path segment. */
export const tags: readonly { name: string; segment: string; description: string }[] = [
  {
    name: 'Accounts',
    segment: 'accounts',
    description: 'The tenants of this deployment. Everything else belongs to an account.',
  },
  {
    name: 'Prepaid credit',
    segment: 'credits',
    description: 'The ledger of prepaid credit, and top-ups by x402 payments.',
  },
  { name: 'Payment methods', segment: 'payment-methods', description: 'The wallets from which an account may pay.' },
  { name: 'Domains', segment: 'domains', description: 'Custom domains under which issuers are served.' },
  {
    name: 'Issuers',
    segment: 'issuers',
    description: 'OpenID Connect issuers. Each has its own users, clients, keys and sign-in pages.',
  },
  {
    name: 'Authentication methods',
    segment: 'auth-methods',
    description: 'How users sign in at an issuer: passwords, email codes, passkeys and upstream providers.',
  },
  { name: 'Clients', segment: 'clients', description: 'The OAuth 2.0 and OpenID Connect applications of an issuer.' },
  { name: 'Users', segment: 'users', description: 'The people at an issuer.' },
  {
    name: 'Verifiers',
    segment: 'verifiers',
    description:
      'The credentials of users and agents: passwords, passkeys, authenticator apps, backup codes, wallets and secrets.',
  },
  {
    name: 'Personal tokens',
    segment: 'tokens',
    description: 'Long-lived tokens with which a user calls the API from scripts.',
  },
  {
    name: 'Sessions',
    segment: 'sessions',
    description: 'Sign-ins of users. A session ends when it expires or is revoked.',
  },
  { name: 'Approvals', segment: 'approvals', description: 'Users whose sign-up waits for a decision.' },
  {
    name: 'Organizations',
    segment: 'organizations',
    description: 'Groups of users that belong together, such as the customers of your application.',
  },
  { name: 'Members', segment: 'members', description: 'The users in an organization or in one of its groups.' },
  { name: 'Groups', segment: 'groups', description: 'Groups of members of an organization, which give them scopes.' },
  { name: 'Invitations', segment: 'invitations', description: 'Invitations by email to an organization.' },
  { name: 'API keys', segment: 'api-keys', description: 'Credentials of scripts and services for this API.' },
  { name: 'Agents', segment: 'agents', description: 'Autonomous programs with an identity of their own.' },
  { name: 'Notes', segment: 'notes', description: 'Notes of administrators about resources.' },
  { name: 'Events', segment: 'events', description: 'The audit log: what happened, when, and who did it.' },
  { name: 'Webhooks', segment: 'webhooks', description: 'URLs that receive events, and the deliveries to them.' },
]

/** A route has the tag of the last resource in its path. */
export function tagOf({ path }: Route): string {
  const segment = path.split('/').findLast((part) => tags.some((tag) => tag.segment === part))
  return tags.find((tag) => tag.segment === segment)!.name
}
