import { errors } from 'oidc-provider'
import { agentAuthenticated } from '../../resources/agents/authentication.js'
import { rowOf } from '../client.js'
import type { AccessToken, OpenIdClient } from '../library.js'
import { asMachine, scope } from '../scope.js'
import { addClaims, resourceServer } from '../tokens.js'
import type { Grant } from './grant.js'

/**
 * Client credentials (RFC 6749 4.4, spec 4.17): a machine, a client or an agent, acts for itself. Not the library's handler: that one drops
 * scopes that are not allowed and gives none where none is asked for.
 */
export const clientCredentials: Grant = {
  parameters: ['scope', 'resource'],
  repeatable: ['resource'],
  async handle(ctx) {
    const { client, provider, params } = ctx.oidc
    // 1. Scope: omitted means the full allowed set, one outside of it fails. `openid` is ignored, for nobody has
    // signed in; the others of OpenID are like any name here.
    const allowed = (rowOf(client!).settings.scopes ?? []).filter((name) => name !== 'openid')
    const asked = typeof params?.['scope'] === 'string' ? params['scope'].split(' ').filter(Boolean) : allowed
    const wanted = [...new Set(asked)].filter((name) => name !== 'openid')
    const strange = wanted.filter((name) => !allowed.includes(name))
    if (strange.length > 0) throw new errors.InvalidScope('requested scope is not allowed', strange.join(' '))

    // 2. Audience: one resource, by default the client itself.
    const resource = params?.['resource']
    if (Array.isArray(resource)) throw new errors.InvalidTarget('only one resource can be requested')
    const indicator = typeof resource === 'string' ? resource : `urn:gatehouse:audience:${client!.clientId}`

    // 3. The token: no session, no refresh token, no ID token.
    const token = new provider.ClientCredentials({ client: client!, scope: wanted.join(' ') })
    token.resourceServer = new provider.ResourceServer(indicator, resourceServer(client!, indicator))
    ctx.oidc.entity('ClientCredentials', token)
    agentCame(client!, token)
    const value = await token.save()
    const { expiration, tokenType } = token as unknown as AccessToken & { tokenType: string }
    // RFC 6749 3.3: a scope names something, or is not there.
    const granted = wanted.length === 0 ? {} : { scope: wanted.join(' ') }
    ctx.body = { access_token: value, expires_in: expiration, token_type: tokenType, ...granted }
  },
}

/** With an agent's token the trail says how it came by it (decisions D3), and a wallet's token too (decisions D24). */
function agentCame(client: OpenIdClient, token: object): void {
  const { runtime, writes, agent } = scope()
  if (!agent) return
  const { id: agentId, name } = rowOf(client)
  const { id: issuerId, accountId } = runtime.issuer
  if (agent.method === 'wallet') addClaims(token, { amr: ['hwk'] })
  writes.change((inside) =>
    agentAuthenticated(
      asMachine(inside, { type: 'agent', id: agentId, name, accountId, issuerId }),
      { accountId, issuerId, agentId },
      agent,
    ),
  )
}
