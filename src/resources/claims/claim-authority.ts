/** The authority that a caller needs to add custom claims (docs/contract.md#custom-claims). */
import type { Context } from '../../platform/context.js'
import { requireScope } from '../authority.js'
import { type ClaimSettings, customClaimsIn } from './custom-claim-rules.js'

/** The scope with which a caller can read a source, by the first part of the source. */
const readScopes = [
  ['user.', 'issuers.users:read'],
  ['organization.metadata.', 'issuers.organizations:read'],
  ['groups', 'issuers.organizations.groups:read'],
] as const

/**
 * Requires that the caller may read the users and organizations whose data a change adds to tokens. The membership
 * claims of every client have the names and ids of organizations, the ids of groups and the scopes, so these require no
 * scope; the source `groups` adds the names of groups.
 * @param before the settings before the change; undefined for a new issuer or client
 * @throws insufficient_scope
 */
export function requireClaimAuthority(context: Context, before: ClaimSettings | undefined, after: ClaimSettings): void {
  const previousSources = new Set(before ? customClaimsIn(before).map(({ source }) => source) : [])
  for (const { source } of customClaimsIn(after)) {
    if (previousSources.has(source)) continue
    for (const [prefix, scope] of readScopes) if (source.startsWith(prefix)) requireScope(context, scope)
  }
}
