/** What the trail and the verifier keep of an agent that came to the token endpoint (decisions D3). */
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/database.js'
import { emit } from '../events/events.js'
import { type AgentPlace, aboutAgent } from './agents.js'

export type AuthenticationMethod = 'secret' | 'wallet'

/** Call it in the transaction that the token comes from. */
export async function agentAuthenticated(
  context: Context,
  { accountId, issuerId, agentId }: AgentPlace,
  { verifierId, method }: { verifierId: string; method: AuthenticationMethod },
): Promise<void> {
  await context.db.agentVerifier.updateMany({
    where: { id: verifierId, accountId, issuerId, agentId },
    data: { lastUsedAt: context.now() },
  })
  const about = aboutAgent({ accountId, issuerId, id: agentId })
  await emit(context, 'agent.authentication.succeeded', { ...about, data: { method, verifier_id: verifierId } })
}

/**
 * Tells of an authentication that failed. Of an agent that there is not nothing is told; of one that somebody tries
 * again and again, as much as the limit of the token endpoint lets through.
 */
export async function agentRefused(
  context: Context,
  { accountId, issuerId, agentId }: AgentPlace,
  method: AuthenticationMethod,
): Promise<void> {
  const verdict = await context.rateLimiter.spend('token_client', `${issuerId}:${agentId}:refused`)
  if (verdict && !verdict.allowed) return
  const agent = await context.db.agent.findFirst({
    where: { id: agentId, accountId, issuerId },
    select: { status: true },
  })
  if (!agent) return
  const about = aboutAgent({ accountId, issuerId, id: agentId })
  const data = { method, status: agent.status }
  await transaction(context, (inside) => emit(inside, 'agent.authentication.failed', { ...about, data }))
}
