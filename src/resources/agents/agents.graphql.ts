import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Agent as AgentRow } from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import {
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  pageType,
  RestName,
  Scope,
  SearchablePageArgs,
  Timestamp,
} from '../graphql-types.js'
import {
  type AgentStatus,
  agentStatuses,
  createAgent,
  deleteAgent,
  getAgent,
  listAgents,
  updateAgent,
} from './agents.js'
import { AgentVerifierPage, AgentVerifierTypeEnum } from './verifiers.graphql.js'
import { type AgentVerifierType, verifiersOfAgents } from './verifiers.js'

export const AgentStatusEnum = enumOf(agentStatuses)
registerEnumType(AgentStatusEnum, { name: 'AgentStatus' })

@ObjectType({ description: 'An autonomous program with its own identity at an issuer.' })
export class Agent {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => String, { nullable: true })
  model!: string | null
  @Field(() => String, { nullable: true })
  provider!: string | null
  @Field(() => String, { nullable: true })
  version!: string | null
  @Field(() => [String])
  scopes!: string[]
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => AgentStatusEnum)
  status!: AgentStatus
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => [AgentVerifierTypeEnum], { description: 'The types of the verifiers that the agent has.' })
  @RestName('verifiers')
  verifierTypes!: AgentVerifierType[]
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class AgentPage extends pageType(Agent) {}

@ArgsType()
class AgentPath extends IssuerPath {
  @Field(() => ID)
  agentId!: string
}

@ArgsType()
class AgentFilter extends SearchablePageArgs {
  @Field(() => AgentStatusEnum, { nullable: true })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Lists only agents with exactly this model.' })
  model?: string | null
  @Field(() => String, { nullable: true, description: 'Lists only agents with exactly this provider.' })
  provider?: string | null
  @Field(() => Boolean, { nullable: true })
  hasVerifiers?: boolean | null
}

@InputType()
class CreateAgentInput {
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  model?: string | null
  @Field(() => String, { nullable: true })
  provider?: string | null
  @Field(() => String, { nullable: true })
  version?: string | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => AgentStatusEnum, { nullable: true })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Required for the statuses suspended and blocked.' })
  statusReason?: string | null
}

@InputType()
class UpdateAgentInput {
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => String, { nullable: true })
  model?: string | null
  @Field(() => String, { nullable: true })
  provider?: string | null
  @Field(() => String, { nullable: true })
  version?: string | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => AgentStatusEnum, { nullable: true, description: 'A blocked agent cannot get another status.' })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Required for the statuses suspended and blocked.' })
  statusReason?: string | null
}

@Resolver(() => Agent)
export class AgentResolver {
  @Query(() => AgentPage, {
    nullable: true,
    description: 'Lists the agents of an issuer, newest first; with `search`, in the order of their names.',
  })
  @Scope('issuers.agents', 'read')
  agents(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Args(() => AgentFilter) filter: AgentFilter,
  ) {
    return listAgents(context, path, filter, filter)
  }

  @Query(() => Agent, { nullable: true })
  @Scope('issuers.agents', 'read')
  agent(@Ctx() context: Context, @Args(() => AgentPath) path: AgentPath) {
    return getAgent(context, path)
  }

  @Mutation(() => Agent)
  @Scope('issuers.agents', 'write')
  createAgent(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => CreateAgentInput) input: CreateAgentInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createAgent(context, path, input)
  }

  @Mutation(() => Agent)
  @Scope('issuers.agents', 'write')
  updateAgent(
    @Ctx() context: Context,
    @Args(() => AgentPath) path: AgentPath,
    @Arg('input', () => UpdateAgentInput) input: UpdateAgentInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAgent(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes an agent and its verifiers permanently.' })
  @Scope('issuers.agents', 'delete')
  async deleteAgent(
    @Ctx() context: Context,
    @Args(() => AgentPath) path: AgentPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteAgent(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => AgentVerifierPage, {
    nullable: true,
    description: 'The newest verifiers. Use the query `agentVerifiers` for further pages.',
  })
  @Scope('issuers.agents.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Root() agent: AgentRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, verifiersOfAgents, limit).load(agent.id)
  }
}
