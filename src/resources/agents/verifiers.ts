/**
 * Verifiers of agents: wallets, secrets and public keys (docs/contract.md#agents). A secret is returned only when it is
 * created, and its SHA-256 is stored.
 */
import type { z } from 'zod'
import { badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { checkInput, type WithoutUndefined } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { checkPageLimit, type Page, type PageRequest, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { randomSecret, sha256 } from '../../platform/crypto/secrets.js'
import { type Agent, type AgentVerifier, type Prisma, sql } from '../../platform/postgres/database.js'
import { isDuplicate } from '../../platform/postgres/errors.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableScopes } from '../authority.js'
import { requireClientAssertionsEnabled } from '../clients/authentication-method.js'
import { requireAllowedJwksUri } from '../clients/public-key-sets.js'
import type { EventType } from '../events/event-catalog.js'
import { recordEvent } from '../events/record-event.js'
import { requireIssuer, whereBelowCursor, whereIssuerNotDeleted } from '../resource-path.js'
import type { AgentPath, AgentVerifierPath } from './agent.js'
import { getAgent } from './agents.js'
import { createRules } from './verifier.js'
import { normalizeWalletAddress } from './wallet-addresses.js'

/**
 * Lists the verifiers of an agent, newest first. The rows contain hashes, for which the API has no field.
 * @throws invalid_request, not_found for the agent
 */
export async function listAgentVerifiers(
  context: Context,
  path: AgentPath,
  request: PageRequest,
): Promise<Page<AgentVerifier>> {
  const { accountId, issuerId, agentId } = path
  const limit = checkPageLimit(request)
  const rows = await context.db.agentVerifier.findMany({
    where: {
      AND: [
        { accountId, issuerId, agentId, agent: { is: whereIssuerNotDeleted } },
        whereBelowCursor('vrf', request.cursor),
      ],
    },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await getAgent(context, path)
  return toPage(rows, limit)
}

type NewVerifier = WithoutUndefined<z.infer<typeof createRules>>

export interface AgentVerifierWithSecret extends AgentVerifier {
  /** The secret in plain text, which later responses do not contain; null for other verifiers. */
  secret: string | null
}

/**
 * Creates a verifier of an agent.
 * @throws invalid_request for a wallet that the agent already has, for public keys if the issuer does not accept client
 *   assertions, for an agent that is not active, or if the agent has `limits.maxVerifiersPerAgent` verifiers; insufficient_scope if the agent has scopes that the caller lacks, because
 *   the caller could act as the agent; not_found
 */
export async function createAgentVerifier(
  context: Context,
  path: AgentPath,
  input: unknown,
): Promise<AgentVerifierWithSecret> {
  const values = checkInput(createRules, input)
  const secret = values.type === 'secret' ? randomSecret() : null
  const columns = columnsOf(context, values, secret)
  try {
    return await transaction(context, async (tx) => {
      const agent = await lockActiveAgent(tx, path)
      requireGrantableScopes(tx, agent.scopes)
      if (values.type === 'public_key')
        requireClientAssertionsEnabled(await requireIssuer(tx, path), 'type', 'public_key')
      const count = await tx.db.agentVerifier.count({ where: { agentId: agent.id } })
      if (count >= limits.maxVerifiersPerAgent) {
        throw badRequest(`An agent can have at most ${limits.maxVerifiersPerAgent} verifiers. Delete one first.`)
      }
      const now = tx.now()
      const { accountId, issuerId, agentId } = path
      const verifier = await tx.db.agentVerifier.create({
        data: { id: newId('vrf', now), accountId, issuerId, agentId, ...columns, createdAt: now, updatedAt: now },
      })
      await updateVerifierTypes(tx, agent)
      await recordAgentVerifierEvent(tx, 'agent.verifier.created', verifier)
      return { ...verifier, secret }
    })
  } catch (error) {
    if (isDuplicate(error)) throw invalidField('address', 'duplicate', 'is already a wallet of this agent.')
    throw error
  }
}

function columnsOf(context: Context, values: NewVerifier, secret: string | null) {
  switch (values.type) {
    case 'wallet':
      return { ...values, addressKey: normalizeWalletAddress(values.network, values.address) }
    case 'secret':
      return { ...values, hash: sha256(secret!) }
    case 'public_key': {
      const { type, name, jwks, jwksUri } = values
      if (jwks && jwksUri !== undefined)
        throw invalidField('jwksUri', 'invalid_value', 'is not allowed together with jwks. Set only one.')
      if (!jwks && jwksUri === undefined) throw invalidField('jwks', 'required', 'or jwks_uri is required.')
      if (jwksUri !== undefined) requireAllowedJwksUri(context, 'jwksUri', jwksUri)
      return { type, name, ...(jwks ? { jwks: jwks as Prisma.InputJsonObject } : { jwksUri: jwksUri! }) }
    }
  }
}

/** Deletes a verifier permanently. @throws invalid_request if the agent is not active, not_found */
export async function deleteAgentVerifier(context: Context, path: AgentVerifierPath): Promise<void> {
  const { accountId, issuerId, agentId, verifierId } = path
  await transaction(context, async (tx) => {
    const where = { id: verifierId, accountId, issuerId, agentId }
    const verifier = await tx.db.agentVerifier.findFirst({ where })
    if (!verifier) throw notFound('verifier')
    const agent = await lockActiveAgent(tx, path)
    const { count } = await tx.db.agentVerifier.deleteMany({ where })
    if (count === 0) throw notFound('verifier')
    await updateVerifierTypes(tx, agent)
    await recordAgentVerifierEvent(tx, 'agent.verifier.deleted', verifier)
  })
}

/**
 * Locks the row of the agent, so that concurrent requests cannot change its status or the number of its verifiers
 * (docs/contract.md#limits-under-parallel-requests).
 * @throws not_found, invalid_request if the agent is not active
 */
async function lockActiveAgent(context: Context, path: AgentPath): Promise<Agent> {
  await sql(
    context.db,
    'SELECT id FROM agents WHERE id = $1 AND issuer_id = $2 FOR UPDATE',
    path.agentId,
    path.issuerId,
  )
  const agent = await getAgent(context, path)
  if (agent.status !== 'active')
    throw badRequest(`The agent is ${agent.status}. Only the verifiers of an active agent can be changed.`)
  return agent
}

/** Updates the verifier types in the row of the agent. If they change, the agent gets a new version (ETag). */
async function updateVerifierTypes(context: Context, agent: Agent): Promise<void> {
  const rows = await context.db.agentVerifier.findMany({
    where: { agentId: agent.id },
    distinct: ['type'],
    select: { type: true },
  })
  const verifierTypes = rows.map(({ type }) => type).sort()
  if (verifierTypes.join() === agent.verifierTypes.join()) return
  await context.db.agent.update({
    where: { id: agent.id },
    data: { verifierTypes, hasVerifiers: verifierTypes.length > 0, updatedAt: context.now() },
    select: { id: true },
  })
}

const recordAgentVerifierEvent = (
  context: Context,
  type: EventType,
  { accountId, issuerId, agentId, ...verifier }: AgentVerifier,
) =>
  recordEvent(context, type, {
    accountId,
    issuerId,
    agentId,
    target: { type: 'agent_verifier', id: verifier.id },
    data: { type: verifier.type },
  })

/** Loads the newest verifiers of several agents in one query. */
export async function verifiersOfAgents(
  context: Context,
  agentIds: readonly string[],
  limit: number,
): Promise<Page<AgentVerifier>[]> {
  const rows = await context.db.agent.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...agentIds] } },
    select: { id: true, verifiers: { orderBy: { id: 'desc' }, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.verifiers]))
  return agentIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
