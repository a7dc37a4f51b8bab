/** What a field of the schema asks of its caller, and at which place. */
import type { GraphQLField } from 'graphql'
import type { Demand, Place } from '../access/guard.js'
import type { Context } from '../platform/context.js'

/** What a field demands, if it demands anything. */
export function demandOf(field: GraphQLField<unknown, Context>): Demand | undefined {
  const { scope, andScope, operator, inIssuer } = field.extensions as Partial<Demand>
  if (scope === undefined) return undefined
  return { scope, ...(andScope && { andScope }), ...(operator && { operator }), ...(inIssuer && { inIssuer }) }
}

/** Does this field ask a person at the console to have signed in a short while ago? See resources/recent-sign-in. */
export const asksForRecentSignIn = (field: GraphQLField<unknown, Context>): boolean =>
  (field.extensions as { recentSignIn?: boolean }).recentSignIn === true

/** Does this field commit its work in several transactions of its own? See resources/graphql. */
export const commitsItself = (field: GraphQLField<unknown, Context>): boolean =>
  (field.extensions as { commitsItself?: boolean }).commitsItself === true

/** The place that arguments name. */
export const placeOf = ({ accountId, issuerId, orgId }: Record<string, unknown>): Place => ({
  accountId: accountId as string | undefined,
  issuerId: issuerId as string | undefined,
  orgId: orgId as string | undefined,
})
