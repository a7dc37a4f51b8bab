/** `POST /{issuer_id}/agents/challenge` (decisions D24): what an agent's wallet is to sign. */

import type { Context as KoaContext } from 'koa'
import { ApiError } from '../../kernel/errors.js'
import { isId } from '../../kernel/ids.js'
import { networkOf } from '../../kernel/network.js'
import { issueChallenge } from '../../resources/agents/challenges.js'
import { requireOpen } from '../client.js'
import { spend } from '../limits.js'
import { type Form, field } from '../request.js'
import { scope } from '../scope.js'

/**
 * Answers `{nonce, message, expires_at}` (Unix milliseconds), whether or not there is such an agent.
 * @throws invalid_request, too_many_requests, OIDCProviderError when the issuer is closed
 */
export async function challengeAgent(ctx: KoaContext, form: Form): Promise<void> {
  const { context, runtime } = scope()
  await spend(ctx, context, 'wallet_nonce', networkOf(context.request.ip))
  const [agentId, network, address] = ['client_id', 'network', 'address'].map((name) => field(form, name))
  if (!isId('agt', agentId)) throw new ApiError('invalid_request', 'client_id must be the id of an agent.')
  if (!network || !address) throw new ApiError('invalid_request', 'network and address are required, once each.')
  await requireOpen()
  const place = { issuerId: runtime.issuer.id, url: runtime.url }
  const { nonce, message, expiresAt } = await issueChallenge(context, place, { agentId, network, address })
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { nonce, message, expires_at: expiresAt }
}
