/** Agents (spec 2.10, 4.12, section 3): non-human identities of an issuer. */
import { z } from 'zod'
import { invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { check, rules } from '../../kernel/input.js'
import { limitOf, type Page, type PageRequest, pageOf } from '../../kernel/page.js'
import type { Context } from '../../platform/context.js'
import { type Agent, type Prisma, transaction } from '../../platform/database.js'
import { mayGrant } from '../authority.js'
import type { EventType } from '../events/catalogue.js'
import { emit } from '../events/events.js'
import { changesBetween } from '../events/names.js'
import { type InIssuer, newestFirst, ofLivingIssuer, older, requireIssuer } from '../place.js'
import { revise } from '../revise.js'
import { searchNames } from '../search.js'

export const agentStatuses = ['active', 'suspended', 'blocked'] as const
export type AgentStatus = (typeof agentStatuses)[number]

export interface AgentPlace extends InIssuer {
  agentId: string
}

/** Moves of the status (spec section 3). A block is final; a suspended agent may still be blocked. */
const moves: Record<AgentStatus, readonly AgentStatus[]> = {
  active: ['suspended', 'blocked'],
  suspended: ['active', 'blocked'],
  blocked: [],
}

const word = rules.text(200).nullable().optional()
const createRules = z.strictObject({
  name: rules.name,
  description: rules.description.optional(),
  model: word,
  provider: word,
  version: word,
  scopes: rules.scopes.optional(),
  metadata: rules.metadata.optional(),
  status: z.enum(agentStatuses, `must be one of ${agentStatuses.join(', ')}.`).optional(),
  statusReason: rules.text().nullable().optional(),
})
const updateRules = createRules.partial()

export interface AgentFilter {
  status?: string | null
  model?: string | null
  provider?: string | null
  hasVerifiers?: boolean | null
  search?: string | null
}

/** Newest first; with `search` by the beginning of a name, in the order of names. The other filters are exact. */
export async function listAgents(
  context: Context,
  place: InIssuer,
  { status, model, provider, hasVerifiers, search }: AgentFilter,
  request: PageRequest,
): Promise<Page<Agent>> {
  const { accountId, issuerId } = place
  const limit = limitOf(request)
  const filter: Prisma.AgentWhereInput = {
    ...(typeof status === 'string' && { status }),
    ...(typeof model === 'string' && { model }),
    ...(typeof provider === 'string' && { provider }),
    ...(typeof hasVerifiers === 'boolean' && { hasVerifiers }),
  }
  const where = { accountId, issuerId, ...filter }
  const found = await searchNames(context, { table: 'agents', prefix: 'agt', where }, search, request)
  const rows = await context.db.agent.findMany({
    where: { AND: [{ accountId, issuerId, ...ofLivingIssuer }, filter, found?.where ?? older('agt', request.cursor)] },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, place)
  return found?.pageOf(rows) ?? pageOf(rows, limit)
}

const find = (context: Context, { accountId, issuerId, agentId }: AgentPlace) =>
  context.db.agent.findFirst({ where: { id: agentId, accountId, issuerId, ...ofLivingIssuer } })

/** @throws not_found */
export async function getAgent(context: Context, place: AgentPlace): Promise<Agent> {
  const agent = await find(context, place)
  if (!agent) throw notFound('agent')
  return agent
}

/** @throws invalid_request, insufficient_scope, not_found */
export async function createAgent(context: Context, place: InIssuer, input: unknown): Promise<Agent> {
  const values = check(createRules, input)
  mayGrant(context, values.scopes ?? [])
  const status = values.status ?? 'active'
  return transaction(context, async (inside) => {
    await requireIssuer(inside, place)
    const agent = await inside.db.agent.create({
      data: {
        ...newRow('agt', inside.now()),
        accountId: place.accountId,
        issuerId: place.issuerId,
        name: values.name,
        description: values.description ?? null,
        model: values.model ?? null,
        provider: values.provider ?? null,
        version: values.version ?? null,
        scopes: values.scopes ?? [],
        metadata: (values.metadata ?? {}) as Prisma.InputJsonObject,
        status,
        statusReason: withReason(status, values.statusReason ?? null),
      },
    })
    await emit(inside, 'agent.created', { ...aboutAgent(agent), data: { name: agent.name, status } })
    return agent
  })
}

/**
 * PATCH: metadata replaced. Suspending or blocking needs a reason; coming back to active clears it, and asks for the scopes
 * of the agent (decisions D30).
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateAgent(
  context: Context,
  place: AgentPlace,
  input: unknown,
  ifMatch?: string | null,
): Promise<Agent> {
  const { metadata, status, statusReason, ...values } = check(updateRules, input)
  return revise<Agent, Prisma.AgentUncheckedUpdateManyInput>(context, {
    what: 'agent',
    table: 'agents',
    ifMatch,
    read: (now) => find(now, place),
    change: (agent) => {
      const returns = status === 'active' && agent.status !== 'active'
      mayGrant(context, values.scopes ?? agent.scopes, returns ? [] : agent.scopes)
      return {
        ...values,
        ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
        ...moved(agent, status, statusReason),
      }
    },
    write: async (now, version, data) =>
      (await now.db.agent.updateManyAndReturn({ where: { id: place.agentId, updatedAt: version }, data }))[0],
    also: (inside, before, agent) => told(inside, 'agent.updated', agent, before),
  })
}

/** The columns of a change of status, if it is one. */
function moved(agent: Agent, status: AgentStatus | undefined, reason: string | null | undefined) {
  const before = agent.status as AgentStatus
  const next = status ?? before
  if (next === before) return reason === undefined ? {} : { statusReason: withReason(next, reason) }
  if (!moves[before].includes(next)) {
    throw invalidField('status', 'invalid_transition', `cannot become ${next} while the agent is ${before}.`)
  }
  return { status: next, statusReason: withReason(next, reason ?? null) }
}

/** @throws invalid_request when a status other than active has no reason */
function withReason(status: AgentStatus, reason: string | null): string | null {
  if (status !== 'active' && (reason === null || reason.trim() === '')) {
    throw invalidField('statusReason', 'required', `is required for the status ${status}.`)
  }
  return reason
}

/** Permanent; its verifiers go with it. @throws not_found, precondition_failed */
export async function deleteAgent(context: Context, place: AgentPlace, ifMatch?: string | null): Promise<void> {
  await revise<Agent, object>(context, {
    what: 'agent',
    table: 'agents',
    ifMatch,
    read: (now) => find(now, place),
    change: () => ({}),
    write: async (now, version) => {
      const where = { id: place.agentId, updatedAt: version }
      const row = await now.db.agent.findFirst({ where })
      return (await now.db.agent.deleteMany({ where })).count === 1 ? row : null
    },
    also: (inside, _, agent) => told(inside, 'agent.deleted', agent),
  })
}

const told = (context: Context, type: EventType, agent: Agent, before?: Agent): Promise<void> =>
  emit(context, type, {
    ...aboutAgent(agent),
    data: { name: agent.name },
    changes: before ? changesBetween('agent', before, agent) : {},
  })

export const aboutAgent = ({ accountId, issuerId, id }: Pick<Agent, 'accountId' | 'issuerId' | 'id'>) => ({
  accountId,
  issuerId,
  agentId: id,
  target: { type: 'agent', id },
})

/** The first page of agents of several issuers, in one query. */
export async function agentsOf(context: Context, issuerIds: readonly string[], limit: number): Promise<Page<Agent>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, agents: { orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.agents]))
  return issuerIds.map((id) => pageOf(byId.get(id) ?? [], limit))
}
