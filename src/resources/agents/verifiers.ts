/** Verifiers of agents (spec 2.10, 4.12): wallets and secrets. A secret is shown once and kept as SHA-256. */
import { z } from 'zod'
import { badRequest, invalidField, notFound } from '../../kernel/errors.js'
import { newId } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Agent, type AgentVerifier, isDuplicate, sql, transaction } from '../../platform/database.js'
import { randomSecret, sha256 } from '../../platform/secrets.js'
import { mayGrant } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { after, ofLivingIssuer } from '../place.js'
import { type AgentPlace, getAgent } from './agents.js'
import { walletKey } from './wallets.js'

export const agentVerifierTypes = ['wallet', 'secret'] as const
export type AgentVerifierType = (typeof agentVerifierTypes)[number]

/** How many verifiers an agent may have (spec section 8). */
export const MAX_VERIFIERS = 20

export interface AgentVerifierPlace extends AgentPlace {
  verifierId: string
}

const name = z.string('must be a string or null.').max(200, 'must have at most 200 characters.').nullable()
const createRules = z.discriminatedUnion(
  'type',
  [
    z.strictObject({ type: z.literal('wallet'), name, address: rules.text(128), network: rules.text(64) }),
    z.strictObject({ type: z.literal('secret'), name }),
  ],
  `must be one of ${agentVerifierTypes.join(', ')}.`,
)

/** Newest first, without hashes: the GraphQL type has no field for them. */
export async function listAgentVerifiers(
  context: Context,
  place: AgentPlace,
  request: PageRequest,
): Promise<Page<AgentVerifier>> {
  const { accountId, issuerId, agentId } = place
  const limit = limitOf(request)
  const rows = await context.db.agentVerifier.findMany({
    where: { AND: [{ accountId, issuerId, agentId, agent: { is: ofLivingIssuer } }, after('vrf', request.cursor)] },
    orderBy: { id: 'desc' },
    take: limit + 1,
  })
  if (rows.length === 0) await getAgent(context, place)
  return pageOf(rows, limit)
}

export interface AgentVerifierWithSecret {
  verifier: AgentVerifier
  /** Shown once; null for a wallet. */
  secret: string | null
}

/**
 * Gives an agent a verifier.
 * @throws invalid_request for the 21st, a wallet that it has already, or an agent that is suspended or blocked;
 * insufficient_scope for an agent that may do more than the caller, who could act as it from then on; not_found
 */
export async function createAgentVerifier(
  context: Context,
  place: AgentPlace,
  input: unknown,
): Promise<AgentVerifierWithSecret> {
  const values = check(createRules, input)
  const secret = values.type === 'secret' ? randomSecret() : null
  const kind =
    values.type === 'wallet'
      ? { ...values, addressKey: walletKey(values.network, values.address) }
      : { ...values, hash: sha256(secret!) }
  try {
    return await transaction(context, async (inside) => {
      const agent = await lockChangeable(inside, place)
      mayGrant(inside, agent.scopes)
      const count = await inside.db.agentVerifier.count({ where: { agentId: agent.id } })
      if (count >= MAX_VERIFIERS) {
        throw badRequest(`An agent has at most ${MAX_VERIFIERS} verifiers; remove one first.`)
      }
      const now = inside.now()
      const { accountId, issuerId, agentId } = place
      const verifier = await inside.db.agentVerifier.create({
        data: { id: newId('vrf', now), accountId, issuerId, agentId, ...kind, createdAt: now, updatedAt: now },
      })
      await keepTypes(inside, agent)
      await told(inside, 'agent.verifier.created', verifier)
      return { verifier, secret }
    })
  } catch (error) {
    if (isDuplicate(error)) throw invalidField('address', 'duplicate', 'is a wallet of this agent already.')
    throw error
  }
}

/** Immediate and irreversible. @throws invalid_request while the agent is suspended or blocked, not_found */
export async function deleteAgentVerifier(context: Context, place: AgentVerifierPlace): Promise<void> {
  const { accountId, issuerId, agentId, verifierId } = place
  await transaction(context, async (inside) => {
    const where = { id: verifierId, accountId, issuerId, agentId }
    const verifier = await inside.db.agentVerifier.findFirst({ where })
    if (!verifier) throw notFound('verifier')
    const agent = await lockChangeable(inside, place)
    const { count } = await inside.db.agentVerifier.deleteMany({ where })
    if (count === 0) throw notFound('verifier')
    await keepTypes(inside, agent)
    await told(inside, 'agent.verifier.deleted', verifier)
  })
}

/**
 * Locks the agent, so that neither its status nor its number of verifiers changes meanwhile (security rule 5).
 * @throws not_found, invalid_request
 */
async function lockChangeable(context: Context, place: AgentPlace): Promise<Agent> {
  await sql(
    context.db,
    'SELECT id FROM agents WHERE id = $1 AND issuer_id = $2 FOR UPDATE',
    place.agentId,
    place.issuerId,
  )
  const agent = await getAgent(context, place)
  if (agent.status !== 'active')
    throw badRequest(`The verifiers of an agent that is ${agent.status} cannot be changed.`)
  return agent
}

/** The agent shows the kinds of its verifiers, so a change of them is a new version of it. */
async function keepTypes(context: Context, agent: Agent): Promise<void> {
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

const told = (context: Context, type: EventType, { accountId, issuerId, agentId, ...verifier }: AgentVerifier) =>
  emit(context, type, {
    accountId,
    issuerId,
    agentId,
    target: { type: 'agent_verifier', id: verifier.id },
    data: { type: verifier.type },
  })

/** The first page of verifiers of several agents, in one query. */
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
  return agentIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
