/**
 * The parameter `claims` of authorization requests (OpenID Connect Core 1.0 section 5.5,
 * docs/contract.md#claims-parameter).
 */
import { errors } from 'oidc-provider'
import { isObject } from '../../kernel/merge-patch.js'
import { unsafeInputError } from '../../kernel/safe-json.js'
import { scopeOfClaim } from '../account/claims-by-scope.js'
import { clientRowOf } from '../client/client.js'
import { isUnmanaged } from '../client/unmanaged-clients.js'
import { acrValuesSupported } from '../login/acr.js'
import { type OpenIdContext, type OpenIdGrant, textParameter } from '../provider-types.js'

type ClaimRequest = { essential?: unknown; value?: unknown; values?: unknown } | null

/** The parsed parameter. oidc-provider has checked that both members are objects or absent. */
interface ClaimsParameter {
  userinfo?: Record<string, ClaimRequest> | undefined
  id_token?: Record<string, ClaimRequest> | undefined
}

/**
 * Checks the parsed parameter, and moves its request for `acr` to the parameter `acr_values`, unless both are present
 * and the request in `claims` is not essential (OpenID Connect Core 1.0 section 5.5.1.1).
 * @throws InvalidRequest, UnmetAuthenticationRequirements
 */
export function checkClaimsParameter(ctx: OpenIdContext, claims: ClaimsParameter): void {
  const unsafe = unsafeInputError(claims, 'claims')
  if (unsafe !== undefined) throw new errors.InvalidRequest(unsafe)
  for (const member of ['userinfo', 'id_token'] as const)
    for (const [claim, request] of Object.entries(claims[member] ?? {}))
      if (request !== null && !isObject(request))
        throw new errors.InvalidRequest(`claims.${member}.${claim} must be null or an object`)
  const { acr, ...otherClaims } = claims.id_token ?? {}
  const params = ctx.oidc.params!
  params['claims'] = JSON.stringify({ ...claims, id_token: otherClaims })
  if (!acr) return
  const isEssential = acr.essential === true
  const requested = [acr.value ?? acr.values ?? []].flat()
  const supported = requested.filter((value) => acrValuesSupported.includes(value as string))
  if (isEssential && requested.length > 0 && supported.length === 0)
    throw new errors.UnmetAuthenticationRequirements(
      'claims asks for an essential acr that this issuer does not support; see acr_values_supported',
    )
  if (supported.length > 0 && (isEssential || textParameter(ctx, 'acr_values') === undefined))
    params['acr_values'] = supported.join(' ')
}

/**
 * Sets which individual claims the grant allows: requested claims that belong to a granted scope, and essential claims
 * that belong to another scope of OpenID Connect, which every client could have requested. The user has consented only to
 * the scopes of a client that no administrator has created, so such a client gets no other claims.
 */
export function grantRequestedClaims(ctx: OpenIdContext, grant: OpenIdGrant): void {
  const { userinfo, id_token } = ctx.oidc.claims as ClaimsParameter
  const mayExceedScopes = !isUnmanaged(clientRowOf(ctx.oidc.client!))
  const isGranted = ([claim, request]: [string, ClaimRequest]): boolean => {
    const scope = scopeOfClaim(claim)
    if (scope === undefined) return false
    return ctx.oidc.requestParamScopes.has(scope) || (mayExceedScopes && request?.essential === true)
  }
  const granted = [userinfo, id_token].flatMap((requests) => Object.entries(requests ?? {}).filter(isGranted))
  Object.assign(grant, { openid: { ...grant.openid, claims: [...new Set(granted.map(([claim]) => claim))] } })
}

/** Returns the claims that the clients of a grant may read at userinfo in addition to those of the token's scopes. */
export const grantedClaims = (grant: OpenIdGrant | undefined): Record<string, null> =>
  Object.fromEntries((grant?.getOIDCClaims() ?? []).map((claim) => [claim, null]))
