/** Records authentications of agents at the token endpoint (docs/contract.md#event-records). */
import type { Context } from '../../platform/context.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { recordEvent } from '../events/record-event.js'
import type { AgentPath } from './agent.js'
import { agentEventSubject } from './agents.js'

export type AuthenticationMethod = 'secret' | 'wallet' | 'public_key'

/**
 * Records `agent.authentication.succeeded` and the last use of the verifier. Call it in the transaction that issues the
 * token.
 */
export async function recordAgentAuthenticated(
  context: Context,
  { accountId, issuerId, agentId }: AgentPath,
  { verifierId, method }: { verifierId: string; method: AuthenticationMethod },
): Promise<void> {
  await context.db.agentVerifier.updateMany({
    where: { id: verifierId, accountId, issuerId, agentId },
    data: { lastUsedAt: context.now() },
  })
  const eventSubject = agentEventSubject({ accountId, issuerId, id: agentId })
  await recordEvent(context, 'agent.authentication.succeeded', {
    ...eventSubject,
    data: { method, verifier_id: verifierId },
  })
}

/**
 * Records `agent.authentication.failed`. Does nothing if the agent does not exist. The number of events per agent is
 * limited like the requests of a client to the token endpoint (rate limit `token_client`).
 */
export async function recordAgentAuthenticationFailed(
  context: Context,
  { accountId, issuerId, agentId }: AgentPath,
  method: AuthenticationMethod,
): Promise<void> {
  const decision = await context.rateLimiter.consume('token_client', `${issuerId}:${agentId}:refused`)
  if (decision && !decision.allowed) return
  const agent = await context.db.agent.findFirst({
    where: { id: agentId, accountId, issuerId },
    select: { status: true },
  })
  if (!agent) return
  const eventSubject = agentEventSubject({ accountId, issuerId, id: agentId })
  const data = { method, status: agent.status }
  await transaction(context, (tx) => recordEvent(tx, 'agent.authentication.failed', { ...eventSubject, data }))
}
