/** Agents: non-human identities of an issuer (docs/contract.md#agents, docs/contract.md#agent-endpoints). */
import { invalidField, notFound } from '../../kernel/errors.js'
import { newRow } from '../../kernel/ids.js'
import { checkInput } from '../../kernel/input.js'
import { checkPageLimit, type Page, toPage } from '../../kernel/pagination.js'
import type { Context } from '../../platform/context.js'
import { type Agent, type Prisma } from '../../platform/postgres/database.js'
import { transaction } from '../../platform/postgres/transaction.js'
import { requireGrantableScopes } from '../authority.js'
import type { EventType } from '../events/event-catalog.js'
import { changesBetween } from '../events/event-fields.js'
import { recordEvent } from '../events/record-event.js'
import { updateWithOptimisticLock } from '../optimistic-lock.js'
import {
  type InIssuer,
  newestFirst,
  requireIssuer,
  whereIssuerNotDeleted,
  whereOlderThanCursor,
} from '../resource-path.js'
import { searchNames } from '../search.js'
import { type AgentFilter, type AgentPath, type AgentStatus, createRules, updateRules } from './agent.js'

/** Allowed status transitions (docs/contract.md#states-and-transitions). `blocked` is final. */
const statusTransitions: Record<AgentStatus, readonly AgentStatus[]> = {
  active: ['suspended', 'blocked'],
  suspended: ['active', 'blocked'],
  blocked: [],
}

/**
 * Lists the agents of an issuer, newest first. With `search`, lists agents whose name begins with the text or whose id
 * is the text, in the order of their names.
 * @throws invalid_request, not_found for the issuer
 */
export async function listAgents(context: Context, path: InIssuer, request: AgentFilter): Promise<Page<Agent>> {
  const { accountId, issuerId } = path
  const { status, model, provider, hasVerifiers, search } = request
  const limit = checkPageLimit(request)
  const filter: Prisma.AgentWhereInput = {
    ...(typeof status === 'string' && { status }),
    ...(typeof model === 'string' && { model }),
    ...(typeof provider === 'string' && { provider }),
    ...(typeof hasVerifiers === 'boolean' && { hasVerifiers }),
  }
  const where = { accountId, issuerId, ...filter }
  const found = await searchNames(context, { table: 'agents', prefix: 'agt', where }, search, request)
  const rows = await context.db.agent.findMany({
    where: {
      AND: [
        { accountId, issuerId, ...whereIssuerNotDeleted },
        filter,
        found?.where ?? whereOlderThanCursor('agt', request.cursor),
      ],
    },
    orderBy: newestFirst,
    take: limit + 1,
  })
  if (rows.length === 0) await requireIssuer(context, path)
  return found?.pageOf(rows) ?? toPage(rows, limit)
}

const findAgent = (context: Context, { accountId, issuerId, agentId }: AgentPath) =>
  context.db.agent.findFirst({ where: { id: agentId, accountId, issuerId, ...whereIssuerNotDeleted } })

/** @throws not_found */
export async function getAgent(context: Context, path: AgentPath): Promise<Agent> {
  const agent = await findAgent(context, path)
  if (!agent) throw notFound('agent')
  return agent
}

/** Creates an agent. @throws invalid_request, insufficient_scope, not_found for the issuer */
export async function createAgent(context: Context, path: InIssuer, input: unknown): Promise<Agent> {
  const { metadata, ...values } = checkInput(createRules, input)
  requireGrantableScopes(context, values.scopes)
  return transaction(context, async (tx) => {
    await requireIssuer(tx, path)
    const agent = await tx.db.agent.create({
      data: {
        ...newRow('agt', tx.now()),
        accountId: path.accountId,
        issuerId: path.issuerId,
        ...values,
        metadata: metadata as Prisma.InputJsonObject,
        statusReason: requireStatusReason(values.status, values.statusReason),
      },
    })
    const { name, status } = agent
    await recordEvent(tx, 'agent.created', { ...agentEventSubject(agent), data: { name, status } })
    return agent
  })
}

/**
 * Updates an agent; metadata is replaced. Suspending or blocking the agent requires a `statusReason`. Making the agent
 * active again requires the scopes of the agent (docs/contract.md#authority-for-changes) and clears the `statusReason`,
 * unless a new one is given.
 * @throws invalid_request, insufficient_scope, not_found, precondition_failed
 */
export async function updateAgent(
  context: Context,
  path: AgentPath,
  input: unknown,
  ifMatch?: string | null,
): Promise<Agent> {
  const { metadata, status, statusReason, ...values } = checkInput(updateRules, input)
  return updateWithOptimisticLock<Agent, Prisma.AgentUncheckedUpdateManyInput>(context, {
    resourceName: 'agent',
    table: 'agents',
    ifMatch,
    read: (tx) => findAgent(tx, path),
    computeChanges: (agent) => {
      const reactivated = status === 'active' && agent.status !== 'active'
      requireGrantableScopes(context, values.scopes ?? agent.scopes, reactivated ? [] : agent.scopes)
      return {
        ...values,
        ...(metadata && { metadata: metadata as Prisma.InputJsonObject }),
        ...statusColumns(agent, status, statusReason),
      }
    },
    write: async (tx, version, data) =>
      (await tx.db.agent.updateManyAndReturn({ where: { id: path.agentId, updatedAt: version }, data }))[0],
    afterWrite: (tx, before, agent) => recordAgentEvent(tx, 'agent.updated', agent, before),
  })
}

/**
 * Returns the status columns of a change.
 * @throws invalid_request for a transition that is not allowed, or a missing reason
 */
function statusColumns(agent: Agent, status: AgentStatus | undefined, reason: string | null | undefined) {
  const before = agent.status as AgentStatus
  const next = status ?? before
  if (next === before) return reason === undefined ? {} : { statusReason: requireStatusReason(next, reason) }
  if (!statusTransitions[before].includes(next)) {
    throw invalidField('status', 'invalid_transition', `cannot become ${next} while the agent is ${before}.`)
  }
  return { status: next, statusReason: requireStatusReason(next, reason ?? null) }
}

/** Returns the reason. @throws invalid_request if a status other than active has no reason */
function requireStatusReason(status: AgentStatus, reason: string | null): string | null {
  if (status !== 'active' && (reason === null || reason.trim() === '')) {
    throw invalidField('statusReason', 'required', `is required for the status ${status}.`)
  }
  return reason
}

/** Deletes an agent and its verifiers permanently. @throws not_found, precondition_failed */
export async function deleteAgent(context: Context, path: AgentPath, ifMatch?: string | null): Promise<void> {
  await updateWithOptimisticLock<Agent, object>(context, {
    resourceName: 'agent',
    table: 'agents',
    ifMatch,
    read: (tx) => findAgent(tx, path),
    computeChanges: () => ({}),
    writesMore: () => true,
    write: async (tx, version) => {
      const where = { id: path.agentId, updatedAt: version }
      const row = await tx.db.agent.findFirst({ where })
      return (await tx.db.agent.deleteMany({ where })).count === 1 ? row : null
    },
    afterWrite: (tx, _, agent) => recordAgentEvent(tx, 'agent.deleted', agent),
  })
}

const recordAgentEvent = (context: Context, type: EventType, agent: Agent, before?: Agent): Promise<void> =>
  recordEvent(context, type, {
    ...agentEventSubject(agent),
    data: { name: agent.name },
    changes: before ? changesBetween('agent', before, agent) : {},
  })

export const agentEventSubject = ({ accountId, issuerId, id }: Pick<Agent, 'accountId' | 'issuerId' | 'id'>) => ({
  accountId,
  issuerId,
  agentId: id,
  target: { type: 'agent', id },
})

/** Loads the newest agents of several issuers in one query. */
export async function agentsOf(context: Context, issuerIds: readonly string[], limit: number): Promise<Page<Agent>[]> {
  const rows = await context.db.issuer.findMany({
    relationLoadStrategy: 'join',
    where: { id: { in: [...issuerIds] } },
    select: { id: true, agents: { orderBy: newestFirst, take: limit + 1 } },
  })
  const byId = new Map(rows.map((row) => [row.id, row.agents]))
  return issuerIds.map((id) => toPage(byId.get(id) ?? [], limit))
}
