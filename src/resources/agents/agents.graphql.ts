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
import type { Agent as AgentRow } from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import {
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  NamedPageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
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

@ObjectType({ description: 'A non-human identity in an issuer (spec 2.10).' })
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
  @Field(() => [AgentVerifierTypeEnum], { description: 'The kinds of verifiers that it has.' })
  verifierTypes!: AgentVerifierType[]
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class AgentPage extends pageType(Agent) {}

@ArgsType()
class AgentPlace extends IssuerPlace {
  @Field(() => ID)
  agentId!: string
}

@ArgsType()
class AgentFilter extends NamedPageArgs {
  @Field(() => AgentStatusEnum, { nullable: true })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Exactly.' })
  model?: string | null
  @Field(() => String, { nullable: true, description: 'Exactly.' })
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
  @Field(() => String, { nullable: true, description: 'Required for suspended and blocked.' })
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
  @Field(() => AgentStatusEnum, { nullable: true, description: 'A block is final.' })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Required for suspended and blocked.' })
  statusReason?: string | null
}

@Resolver(() => Agent)
export class AgentResolver {
  @Query(() => AgentPage, { description: 'Newest first.' })
  @Scope('issuers.agents', 'read')
  agents(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => AgentFilter) filter: AgentFilter,
  ) {
    return listAgents(context, place, filter, filter)
  }

  @Query(() => Agent)
  @Scope('issuers.agents', 'read')
  agent(@Ctx() context: Context, @Args(() => AgentPlace) place: AgentPlace) {
    return getAgent(context, place)
  }

  @Mutation(() => Agent)
  @Scope('issuers.agents', 'write')
  createAgent(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => CreateAgentInput) input: CreateAgentInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createAgent(context, place, input)
  }

  @Mutation(() => Agent)
  @Scope('issuers.agents', 'write')
  updateAgent(
    @Ctx() context: Context,
    @Args(() => AgentPlace) place: AgentPlace,
    @Arg('input', () => UpdateAgentInput) input: UpdateAgentInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateAgent(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Permanent; its verifiers go with it.' })
  @Scope('issuers.agents', 'delete')
  async deleteAgent(
    @Ctx() context: Context,
    @Args(() => AgentPlace) place: AgentPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteAgent(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => AgentVerifierPage, { description: 'The newest verifiers; page on with `agentVerifiers`.' })
  @Scope('issuers.agents.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Root() agent: AgentRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, verifiersOfAgents, limit).load(agent.id)
  }
}
