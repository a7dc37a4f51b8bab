/**
 * Our rules for parameters of the authorization request: `audience` and `org` (docs/contract.md#authorization-requests,
 * docs/contract.md#grant-and-client-rules).
 */
import { errors } from 'oidc-provider'
import { unsafeInputError } from '../../kernel/safe-json.js'
import { maySelectOrganization } from '../../resources/clients/organization-restriction.js'
import { clientRowOf, restrictionOfClient } from '../client/client.js'
import { metadataDocumentAllowances } from '../client/metadata-documents/index.js'
import { type OpenIdClient, type OpenIdContext, textParameter } from '../provider-types.js'
import type { RequestContext } from '../request-context.js'

/**
 * Checks the parameters that go with `audience`. Whether the client may request the audience has been checked by
 * `resourceServerFor` (docs/contract.md#grant-and-client-rules rule 5).
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
  // RFC 6749 section 3.3: the default scope of a metadata document client is everything that the issuer allows such
  // clients.
  if (clientRowOf(client).document && ctx.oidc.params && textParameter(ctx, 'scope') === undefined) {
    ctx.oidc.params['scope'] = ['openid', ...metadataDocumentAllowances(runtime.issuer.settings).scopes].join(' ')
  }
  // A request without any known scope fails before the user signs in.
  const hasKnownScope = [...ctx.oidc.requestParamScopes].some((name) =>
    Object.values(ctx.oidc.resourceServers ?? {}).some((server) => server.scopes.has(name)),
  )
  if (!hasKnownScope) throw new errors.InvalidScope('no known scope was requested', textParameter(ctx, 'scope') ?? '')
}

/**
 * Checks that the client may select this organization (docs/contract.md#grant-and-client-rules rule 6). Called for the
 * request and again after the sign-in (docs/contract.md#organization-restrictions-of-clients). The user's membership is
 * checked when the code is exchanged.
 * @throws InvalidRequest
 */
export function checkOrganization(request: RequestContext, client: OpenIdClient, org: string): void {
  if (unsafeInputError(org) || org.length > 128) throw new errors.InvalidRequest('org is not an organization id')
  if (!maySelectOrganization(restrictionOfClient(request, clientRowOf(client)), org)) {
    throw new errors.InvalidRequest('this client cannot select this organization')
  }
}
