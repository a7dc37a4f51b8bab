import { Args, Ctx, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Agent as AgentRow } from '../../platform/postgres/database.js'
import { relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import {
  IdempotencyKey,
  IfMatch,
  IssuerPath,
  NullableQuery,
  Relation,
  RelationArgs,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { Agent, AgentFilter, AgentPage, AgentPath } from './agent.js'
import { createAgent, deleteAgent, getAgent, listAgents, updateAgent } from './agents.js'
import { AgentVerifierPage } from './verifier.js'
import { listAgentVerifiers, verifiersOfAgents } from './verifiers.js'

@Resolver(() => Agent)
export class AgentResolver {
  @NullableQuery(
    () => AgentPage,
    'Lists the agents of an issuer, newest first; with `search`, in the order of their names.',
  )
  @Scope('issuers.agents', 'read')
  agents(@Ctx() context: Context, @Args() path: IssuerPath, @Args() filter: AgentFilter) {
    return listAgents(context, path, filter)
  }

  @NullableQuery(() => Agent, 'Returns an agent of an issuer.')
  @Scope('issuers.agents', 'read')
  agent(@Ctx() context: Context, @Args() path: AgentPath) {
    return getAgent(context, path)
  }

  @Mutation(() => Agent, {
    description: 'Creates an agent. It can authenticate when it has a verifier (`createAgentVerifier`).',
  })
  @IdempotencyKey()
  @Scope('issuers.agents', 'write')
  createAgent(@Ctx() context: Context, @Args() path: IssuerPath, @CreateInput(Agent) input: object) {
    return createAgent(context, path, input)
  }

  @Mutation(() => Agent, {
    description: 'Changes the given fields of an agent. A change to `suspended` or `blocked` requires `statusReason`.',
  })
  @Scope('issuers.agents', 'write')
  updateAgent(
    @Ctx() context: Context,
    @Args() path: AgentPath,
    @UpdateInput(Agent) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateAgent(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes an agent and its verifiers permanently.' })
  @Scope('issuers.agents', 'delete')
  deleteAgent(@Ctx() context: Context, @Args() path: AgentPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteAgent(context, path, ifMatch))
  }

  @Relation(() => AgentVerifierPage, 'The verifiers of the agent, newest first.')
  @Scope('issuers.agents.verifiers', 'read')
  verifiers(@Ctx() context: Context, @Root() { accountId, issuerId, id }: AgentRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, verifiersOfAgents, () =>
      listAgentVerifiers(context, { accountId, issuerId, agentId: id }, page),
    )
  }
}
