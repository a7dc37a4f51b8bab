/** Custom claims of tokens and userinfo responses (docs/contract.md#custom-claims). */
import { loadClaimFacts } from '../../resources/claims/claim-facts.js'
import { type ClaimPlace, type CustomClaim, customClaimsOf } from '../../resources/claims/custom-claim-rules.js'
import { evaluateCustomClaims } from '../../resources/claims/custom-claims.js'
import { isOmissionDue, recordOmittedClaim } from '../../resources/claims/omitted-claims.js'
import type { Membership } from '../../resources/organizations/membership.js'
import type { ClientRow } from '../client/client.js'
import { isUnmanaged } from '../client/unmanaged-clients.js'
import type { RequestContext } from '../request-context.js'

/** The user of a token, with what the client may see of the user's organizations. */
export interface CustomClaimSubject {
  readonly userId: string
  /** Null without a session. */
  readonly sessionId: string | null
  readonly memberships: readonly Membership[]
  /** The selected organization; null for none. */
  readonly selectedOrgId: string | null
}

/** Returns the custom claims at a place. */
export type CustomClaimReader = (place: ClaimPlace) => Promise<Record<string, unknown>>

/**
 * Key of the custom claims in the claims of an account. oidc-provider returns only claims that its configuration names,
 * so hooks/index.ts adds these to the ID token and the userinfo response.
 */
export const customClaimsKey = Symbol('custom claims')

/**
 * Returns the custom claims that are configured for a client at the issuer of the request. Clients that users consent to
 * get only their own claims, because the consent page does not name claims.
 */
export const configuredClaims = ({ runtime }: RequestContext, client: ClientRow): readonly CustomClaim[] =>
  customClaimsOf(isUnmanaged(client) ? {} : runtime.issuer.settings, client.settings)

/** Returns whether a claim has data of organizations: their fields, the groups or the scopes of the user. */
export const isOrganizationClaim = ({ source }: CustomClaim): boolean => !source.startsWith('user.')

/** Returns the custom claims of the tokens of a client. */
export function customClaimsFor(request: RequestContext, client: ClientRow): readonly CustomClaim[] {
  const configured = configuredClaims(request, client)
  return request.hidesOrganizations ? configured.filter((claim) => !isOrganizationClaim(claim)) : configured
}

/**
 * Returns a function that creates the custom claims of a client for a user. It reads their data on its first call, once
 * for all places, and nothing for a client without custom claims. A claim that is too large is left out and recorded.
 */
export function customClaimReader(
  request: RequestContext,
  client: ClientRow,
  subject: CustomClaimSubject,
): CustomClaimReader {
  const configured = customClaimsFor(request, client)
  const { context, runtime } = request
  const { id: issuerId, accountId } = runtime.issuer
  const { userId, sessionId } = subject
  let facts: ReturnType<typeof loadClaimFacts> | undefined
  return async (place) => {
    if (!configured.some((claim) => claim.in.includes(place))) return {}
    facts ??= loadClaimFacts(context, { issuerId, ...subject }, configured)
    const loadedFacts = await facts
    if (!loadedFacts) return {}
    const { claims, omitted } = evaluateCustomClaims(configured, place, loadedFacts)
    for (const omission of omitted) {
      request.onOmittedClaim?.(omission)
      // A preview records nothing, so it must not mark the omission as recorded.
      if (request.onOmittedClaim || omission.reason !== 'too_large') continue
      const omissionSubject = { accountId, issuerId, clientId: client.id, userId, sessionId }
      if (isOmissionDue(context, omissionSubject, omission))
        request.unitOfWork.addChange((tx) => recordOmittedClaim(tx, omissionSubject, omission))
    }
    return claims
  }
}
