/**
 * Platform scopes (docs/contract.md#scopes-and-authorization). A scope consists of resource names joined by `.`, a
 * colon and an action, such as `issuers.users:read`. The action `manage` includes read, write and delete of the same
 * resource. A scope on a resource does not include the child resources. `svc:all` includes every platform scope.
 */
export const ALL_SCOPES = 'svc:all'

export const scopeActions = ['read', 'write', 'delete', 'manage'] as const
export type ScopeAction = (typeof scopeActions)[number]

/** The resources of platform scopes with their descriptions. */
export const scopeResources = {
  accounts: 'accounts',
  credits: 'prepaid credit and its ledger',
  payment_methods: 'payment methods',
  domains: 'custom domains',
  api_keys: 'account API keys',
  webhooks: 'webhooks and their deliveries',
  events: 'the audit log',
  notes: 'notes',
  issuers: 'issuers',
  'issuers.auth_methods': 'authentication methods',
  'issuers.clients': 'clients',
  'issuers.users': 'users',
  'issuers.users.tokens': 'personal tokens',
  'issuers.users.verifiers': 'credentials of users',
  'issuers.sessions': 'sessions',
  'issuers.approvals': 'approvals of sign-ups',
  'issuers.organizations': 'organizations',
  'issuers.organizations.members': 'members of organizations',
  'issuers.organizations.groups': 'groups of organizations',
  'issuers.organizations.api_keys': 'API keys of organizations',
  'issuers.agents': 'agents',
  'issuers.agents.verifiers': 'credentials of agents',
} as const

export type ScopeResource = keyof typeof scopeResources
export type PlatformScope = `${ScopeResource}:${ScopeAction}` | typeof ALL_SCOPES

const platformScopes: ReadonlySet<string> = new Set([
  ALL_SCOPES,
  ...Object.keys(scopeResources).flatMap((stem) => scopeActions.map((action) => `${stem}:${action}`)),
])

/** Returns true for a platform scope, false for a scope that a tenant has defined for its own applications. */
export const isPlatformScope = (scope: string): boolean => platformScopes.has(scope)

/**
 * Returns true when the granted scopes include the required one. `svc:all` is included only in itself. Otherwise
 * `svc:manage` would include it, and any caller can grant `svc:manage`, because it is not a platform scope.
 */
export function coversScope(granted: readonly string[], required: string): boolean {
  if (granted.includes(required) || granted.includes(ALL_SCOPES)) return true
  const stem = /^(.+):[^:]+$/.exec(required)?.[1]
  return stem !== undefined && required !== ALL_SCOPES && granted.includes(`${stem}:manage`)
}

/** Returns every platform scope that the granted scopes include, sorted. */
export const coveredScopes = (granted: readonly string[]): string[] =>
  [...platformScopes].filter((scope) => coversScope(granted, scope)).sort()

/** Returns every platform scope that the granted scopes do not include, sorted. */
export const missingScopes = (granted: readonly string[]): string[] =>
  granted.includes(ALL_SCOPES) ? [] : [...platformScopes].filter((scope) => !coversScope(granted, scope)).sort()

/** Returns the scopes of each list that the other list includes, directly or by `manage` or `svc:all`. */
export function intersectScopes(one: readonly string[], other: readonly string[]): string[] {
  return [
    ...new Set([
      ...one.filter((scope) => coversScope(other, scope)),
      ...other.filter((scope) => coversScope(one, scope)),
    ]),
  ]
}

/** A scope-token (RFC 6749, section 3.3): up to 128 printable ASCII characters except space, quote and backslash. */
export const scopeTokenPattern = /^[\x21\x23-\x5b\x5d-\x7e]{1,128}$/
