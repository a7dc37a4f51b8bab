/**
 * Checks the parameters `audience` and `org` of the authorization request, which are extensions of Gatehouse, and the
 * parameters that depend on them (docs/contract.md#authorization-requests, docs/contract.md#grant-and-client-rules).
 */
import { errors } from 'oidc-provider'
import { unsafeInputError } from '../../kernel/safe-json.js'
import { maySelectOrganization } from '../../resources/clients/organization-restriction.js'
import { clientRowOf, restrictionOfClient } from '../client/client.js'
import { metadataDocumentAllowances } from '../client/metadata-documents/index.js'
import { type OpenIdClient, type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * Checks `response_mode`, `scope`, and that `audience` and `resource` are not combined. Sets the default scope of a
 * client with a metadata document. `resourceServerFor` has already
 * checked whether the client may request the audience (docs/contract.md#grant-and-client-rules rule 5).
 * @throws UnsupportedResponseMode, InvalidTarget, InvalidScope
 */
export async function checkAudience(
  { runtime }: RequestContext,
  ctx: OpenIdContext,
  _: string | undefined,
  client: OpenIdClient,
): Promise<void> {
  // Only the response mode `query` is supported (docs/contract.md#authorization-requests).
  if (ctx.oidc.responseMode !== 'query') throw new errors.UnsupportedResponseMode()
  // With a resource, oidc-provider would silently ignore the audience.
  const { resource } = ctx.query
  if (resource !== undefined && resource !== '' && textParameter(ctx, 'audience') !== undefined) {
    throw new errors.InvalidTarget('audience and resource cannot be requested together')
  }
  // The default scope (RFC 6749 section 3.3) of a client with a metadata document is `openid` and every scope that the
  // issuer allows such clients.
  if (clientRowOf(client).document && ctx.oidc.params && textParameter(ctx, 'scope') === undefined) {
    ctx.oidc.params['scope'] = ['openid', ...metadataDocumentAllowances(runtime.issuer.settings).scopes].join(' ')
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
