/**
 * Platform scopes (decisions D7): path nouns joined by `.`, then `:` and an action. `manage` implies read, write and
 * delete of the same stem; a stem does not imply its children; `svc:all` implies all.
 */
export const ALL = 'svc:all'

export const actions = ['read', 'write', 'delete', 'manage'] as const
export type Action = (typeof actions)[number]

/** Stems with what stands behind them; the table that `permissions`, documents and checks read. */
export const stems = {
  accounts: 'accounts',
  credits: 'prepaid credit and its ledger',
  payment_methods: 'payment methods',
  domains: 'custom domains',
  api_keys: 'account API keys',
  webhooks: 'webhooks and their deliveries',
  events: 'the audit trail',
  notes: 'notes',
  issuers: 'issuers',
  'issuers.auth_methods': 'authentication methods',
  'issuers.clients': 'clients',
  'issuers.users': 'users',
  'issuers.users.tokens': 'personal tokens',
  'issuers.users.verifiers': 'credentials of users',
  'issuers.sessions': 'sessions',
  'issuers.approvals': 'the approval desk',
  'issuers.organizations': 'organizations',
  'issuers.organizations.members': 'members of organizations',
  'issuers.organizations.groups': 'groups of organizations',
  'issuers.organizations.api_keys': 'API keys of organizations',
  'issuers.agents': 'agents',
  'issuers.agents.verifiers': 'credentials of agents',
} as const

export type Stem = keyof typeof stems
export type PlatformScope = `${Stem}:${Action}` | typeof ALL

const platformScopes: ReadonlySet<string> = new Set([
  ALL,
  ...Object.keys(stems).flatMap((stem) => actions.map((action) => `${stem}:${action}`)),
])

/** Is this one of the scopes that open the Core API (as opposed to a tenant's own)? */
export const isPlatformScope = (scope: string): boolean => platformScopes.has(scope)

/** Do the held scopes cover the needed one? */
export function covers(held: readonly string[], needed: string): boolean {
  return (
    held.includes(needed) || held.includes(ALL) || held.includes(`${needed.slice(0, needed.lastIndexOf(':'))}:manage`)
  )
}

/** Every platform scope that the held ones cover, by name. */
export const coveredBy = (held: readonly string[]): string[] =>
  [...platformScopes].filter((scope) => covers(held, scope)).sort()

/** Every platform scope that the held ones do not cover, by name. */
export const lackedBy = (held: readonly string[]): string[] =>
  held.includes(ALL) ? [] : [...platformScopes].filter((scope) => !covers(held, scope)).sort()

/** What both lists cover. */
export function intersection(one: readonly string[], other: readonly string[]): string[] {
  return [...new Set([...one.filter((scope) => covers(other, scope)), ...other.filter((scope) => covers(one, scope))])]
}

/** RFC 6749 3.3 scope-token: printable ASCII without space, quote and backslash. */
export const scopeToken = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/
