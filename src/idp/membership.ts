import type { Context } from '../platform/context.js'
import type { InIssuer } from '../resources/place.js'

/** An active membership as tokens show it (decisions D23). */
export interface Membership {
  id: string
  name: string
  scopes: readonly string[]
  groups: readonly string[]
}

/**
 * The active membership of a user in an organization, or null. The one place where tokens learn of memberships; until
 * organizations have members, nobody is one.
 */
export async function membershipOf(
  _context: Context,
  _organization: InIssuer & { orgId: string },
  _userId: string,
): Promise<Membership | null> {
  return null
}
