/** Parameters of the authorization request that are ours (spec 4.17, 5.2): `audience`, `org`, and what goes with them. */
import { errors } from 'oidc-provider'
import { gateFault } from '../kernel/gate.js'
import { maySelect } from '../resources/clients/organization-restriction.js'
import { organizationRestriction, rowOf } from './client.js'
import { documentAllowances } from './documents/index.js'
import { type OpenIdClient, type OpenIdContext, param } from './library.js'
import { scope } from './scope.js'

/**
 * Spec 5.2 rule 5: an audience is one of the client's; whether it is has been asked when the resource was looked up.
 * @throws UnsupportedResponseMode, InvalidTarget, InvalidScope
 */
export async function checkAudience(ctx: OpenIdContext, _: string | undefined, client: OpenIdClient): Promise<void> {
  // Answers come in the query, whatever is asked for (decisions D23).
  if (ctx.oidc.responseMode !== 'query') throw new errors.UnsupportedResponseMode()
  // Asked for next to a resource, an audience would be left out without a word.
  const { resource } = ctx.query
  if (resource !== undefined && resource !== '' && param(ctx, 'audience') !== undefined) {
    throw new errors.InvalidTarget('audience and resource cannot be requested together')
  }
  // RFC 6749 3.3: where a client that knows nothing of this issuer names no scope, it means what there is for its kind.
  if (rowOf(client).document && ctx.oidc.params && param(ctx, 'scope') === undefined) {
    ctx.oidc.params['scope'] = ['openid', ...documentAllowances(scope().runtime.issuer.settings).scopes].join(' ')
  }
  // A request for nothing that there is fails, and says so before anybody signs in.
  const known = [...ctx.oidc.requestParamScopes].some((name) =>
    Object.values(ctx.oidc.resourceServers ?? {}).some((server) => server.scopes.has(name)),
  )
  if (!known) throw new errors.InvalidScope('no known scope was requested', param(ctx, 'scope') ?? '')
}

/**
 * Spec 5.2 rule 6: may this client's tokens be bound to this organization? Whether the user is a member is asked when
 * the code is exchanged. Asked of the request, and once more when the person has signed in (decisions D33).
 * @throws InvalidRequest
 */
export function checkOrganization(client: OpenIdClient, org: string): void {
  if (gateFault(org) || org.length > 128) throw new errors.InvalidRequest('org is not an organization id')
  if (!maySelect(organizationRestriction(rowOf(client)), org)) {
    throw new errors.InvalidRequest('this client cannot select this organization')
  }
}
