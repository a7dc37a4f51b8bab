import { errors } from 'oidc-provider'
import { recordAgentAuthenticated } from '../../resources/agents/authentication-events.js'
import { clientRowOf } from '../client/client.js'
import { allowancesOf } from '../client/unmanaged-clients.js'
import { consumeProof } from '../hooks/dpop.js'
import type { AccessToken, OpenIdClient } from '../provider-types.js'
import { type RequestContext, withMachineActor } from '../request-context.js'
import { addExtraClaims, resourceServerFor } from '../token/tokens.js'
import type { GrantType } from './grant.js'

/**
 * Client credentials grant (RFC 6749 section 4.4, docs/contract.md#client-credentials-grant) of M2M clients and agents.
 * oidc-provider's handler is not used, because it drops scopes that are not allowed and grants no scope by default.
 */
export const clientCredentials: GrantType = {
  parameters: ['scope', 'resource'],
  repeatable: ['resource'],
  async handle(request, ctx) {
    const { client, provider, params } = ctx.oidc
    // 1. Scope: the default is all scopes of the client, and a scope that the client does not have is an error.
    // `openid` is ignored, because no user has signed in. Other scopes of OpenID Connect, such as `email`, are ordinary
    // scopes.
    const allowed = allowancesOf(request, clientRowOf(client!)).scopes.filter((name) => name !== 'openid')
    const requestedScopes = typeof params?.['scope'] === 'string' ? params['scope'].split(' ').filter(Boolean) : allowed
    const grantedScopes = [...new Set(requestedScopes)].filter((name) => name !== 'openid')
    const disallowedScopes = grantedScopes.filter((name) => !allowed.includes(name))
    if (disallowedScopes.length > 0)
      throw new errors.InvalidScope(
        'scope contains a value that is not in the scopes of the client; add it to the client',
        disallowedScopes.join(' '),
      )

    // 2. Audience: the requested resource, or the client id if the request has no `resource`.
    const resource = params?.['resource']
    if (Array.isArray(resource)) throw new errors.InvalidTarget('resource must not be repeated')
    const indicator = typeof resource === 'string' ? resource : `urn:gatehouse:audience:${client!.clientId}`

    // 3. Token: an access token. This grant has no session, refresh token or ID token.
    const token = new provider.ClientCredentials({ client: client!, scope: grantedScopes.join(' ') })
    token.resourceServer = new provider.ResourceServer(indicator, resourceServerFor(request, client!, indicator))
    token.jkt = await consumeProof(ctx)
    ctx.oidc.entity('ClientCredentials', token)
    recordAgentTokenIssued(request, client!, token)
    const value = await token.save()
    const { expiration, tokenType } = token as unknown as AccessToken & { tokenType: string }
    // `scope` must not be empty (RFC 6749 section 3.3), so it is absent if no scope was granted.
    const scopeMember = grantedScopes.length === 0 ? {} : { scope: grantedScopes.join(' ') }
    ctx.body = { access_token: value, expires_in: expiration, token_type: tokenType, ...scopeMember }
  },
}

/**
 * Records how the agent authenticated for this token (docs/contract.md#event-records), and adds the claim `amr` if the
 * agent used a wallet (docs/contract.md#wallet-authentication-of-agents). Does nothing for clients.
 */
function recordAgentTokenIssued(
  { runtime, unitOfWork, authenticatedAgent }: RequestContext,
  client: OpenIdClient,
  token: object,
): void {
  if (!authenticatedAgent) return
  const { id: agentId, name } = clientRowOf(client)
  const { id: issuerId, accountId } = runtime.issuer
  if (authenticatedAgent.method === 'wallet') addExtraClaims(token, { amr: ['hwk'] })
  unitOfWork.addChange((tx) =>
    recordAgentAuthenticated(
      withMachineActor(tx, { type: 'agent', id: agentId, name, accountId, issuerId }),
      { accountId, issuerId, agentId },
      authenticatedAgent,
    ),
  )
}
