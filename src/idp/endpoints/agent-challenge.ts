/**
 * `POST /{issuer_id}/agents/challenge` (docs/contract.md#wallet-authentication-of-agents): returns the message that an
 * agent must sign with its wallet.
 */

import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { isId } from '../../kernel/ids.js'
import { networkOf } from '../../kernel/network.js'
import { issueChallenge } from '../../resources/agents/challenges.js'
import { requireActiveIssuer } from '../client/client.js'
import { consumeRateLimit } from '../rate-limits.js'
import type { RequestContext } from '../request-context.js'
import { type Form, formField } from '../request-input.js'

/**
 * Responds with `{nonce, message, expires_at}`, whether or not the agent exists. `expires_at` is in Unix milliseconds.
 * @throws invalid_request, too_many_requests, OIDCProviderError if the issuer is not active
 */
export async function issueAgentChallenge(request: RequestContext, ctx: KoaContext, form: Form): Promise<void> {
  const { context, runtime } = request
  await consumeRateLimit(request, ctx, 'wallet_nonce', networkOf(context.request.ip))
  const [agentId, network, address] = ['client_id', 'network', 'address'].map((name) => formField(form, name))
  if (!isId('agt', agentId)) throw new ApiError('invalid_request', 'client_id must be the id of an agent.')
  if (!network || !address)
    throw new ApiError('invalid_request', 'network and address are required and must not be repeated.')
  await requireActiveIssuer(request)
  const issuer = { issuerId: runtime.issuer.id, url: runtime.url }
  const { nonce, message, expiresAt } = await issueChallenge(context, issuer, { agentId, network, address })
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { nonce, message, expires_at: expiresAt }
}
