/**
 * Checks the parameters of authorization requests and pushed authorization requests beyond oidc-provider's checks
 * (docs/contract.md#authorization-requests, docs/contract.md#grant-and-client-rules).
 */
import { errors } from 'oidc-provider'
import { unsafeInputError } from '../../kernel/safe-json.js'
import { maySelectOrganization } from '../../resources/clients/organization-restriction.js'
import { clientRowOf } from '../client/client.js'
import { requireSecurityProfile } from '../client/security-profile.js'
import { allowancesOf, isUnmanaged, restrictionOfClient } from '../client/unmanaged-clients.js'
import { type OpenIdClient, type OpenIdContext, textParameter } from '../provider-types.js'
import { consumeTokenRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { checkProofHeader } from '../token/proof.js'
import { OFFLINE_ACCESS } from '../token/tokens.js'

/**
 * Checks the parameters whose values oidc-provider changes later. Called before it checks the scope.
 * @throws InvalidTarget, InvalidRequest; InvalidDpopProof and ApiError too_many_requests for a pushed request
 */
export async function checkRequestParameters(request: RequestContext, ctx: OpenIdContext): Promise<void> {
  const { params, route } = ctx.oidc
  if (route === 'pushed_authorization_request') {
    await consumeTokenRateLimit(request, ctx)
    requireSecurityProfile(request, ctx)
    checkProofHeader(request, ctx)
  }
  // With a resource, oidc-provider would silently ignore the audience.
  if (params?.['resource'] !== undefined && textParameter(ctx, 'audience') !== undefined)
    throw new errors.InvalidTarget('audience and resource cannot be requested together')
  requireKeyThumbprint(ctx)
}

/** Checks whether the request has the scope `offline_access` and the client may use refresh tokens. */
export const requestsOfflineAccess = (ctx: OpenIdContext): boolean =>
  ctx.oidc.requestParamScopes.has(OFFLINE_ACCESS) && ctx.oidc.client!.grantTypeAllowed('refresh_token')

const responseModes: ReadonlySet<string | undefined> = new Set(['query', 'form_post'])

/**
 * Checks `response_mode` and `scope`. Sets the default scope of a client that no administrator has created.
 * `resourceServerFor` has already checked whether the client may request the audience (docs/contract.md#grant-and-client-rules rule 5).
 * @throws UnsupportedResponseMode, InvalidScope
 */
export async function checkResponseModeAndScope(
  request: RequestContext,
  ctx: OpenIdContext,
  _: string | undefined,
  client: OpenIdClient,
): Promise<void> {
  if (!responseModes.has(ctx.oidc.responseMode)) throw new errors.UnsupportedResponseMode()
  // The default scope (RFC 6749 section 3.3) of a client that no administrator has created is `openid` and every scope
  // that the client may request.
  const row = clientRowOf(client)
  if (isUnmanaged(row) && ctx.oidc.params && textParameter(ctx, 'scope') === undefined) {
    ctx.oidc.params['scope'] = ['openid', ...allowancesOf(request, row).scopes].join(' ')
  }
  // A request without any known scope is rejected before the user signs in.
  const hasKnownScope = [...ctx.oidc.requestParamScopes].some((name) =>
    Object.values(ctx.oidc.resourceServers ?? {}).some((server) => server.scopes.has(name)),
  )
  if (!hasKnownScope)
    throw new errors.InvalidScope(
      'scope has no known scope; request openid or a scope of the client',
      textParameter(ctx, 'scope') ?? '',
    )
}

/**
 * Checks the form of `dpop_jkt`, the SHA-256 thumbprint of the key to which the code is bound (RFC 9449 section 10). A
 * code that is bound to any other text could never be exchanged.
 * @throws InvalidRequest
 */
function requireKeyThumbprint(ctx: OpenIdContext): void {
  const thumbprint = textParameter(ctx, 'dpop_jkt')
  if (thumbprint !== undefined && !/^[\w-]{43}$/.test(thumbprint))
    throw new errors.InvalidRequest('dpop_jkt must be a SHA-256 thumbprint of a JWK, 43 base64url characters')
}

/**
 * Checks that the client may select an organization (docs/contract.md#grant-and-client-rules rule 6). Called for the
 * authorization request and again after the sign-in, when the restrictions may have changed
 * (docs/contract.md#organization-restrictions-of-clients). The membership of the user is checked when the code is
 * exchanged.
 * @param org the parameter `org`, or an organization that was selected without it
 * @throws InvalidRequest
 */
export function checkOrganization(request: RequestContext, client: OpenIdClient, org: string): void {
  if (unsafeInputError(org) || org.length > 128) throw new errors.InvalidRequest('org is not an organization id')
  if (!maySelectOrganization(restrictionOfClient(request, clientRowOf(client)), org)) {
    throw new errors.InvalidRequest('this client cannot select this organization')
  }
}
