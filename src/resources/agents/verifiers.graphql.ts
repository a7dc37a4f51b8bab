import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { AgentVerifier as AgentVerifierRow } from '../../platform/database.js'
import {
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  PageArgs,
  pageType,
  RecentSignIn,
  Scope,
  Timestamp,
} from '../graphql.js'
import {
  type AgentVerifierType,
  type AgentVerifierWithSecret,
  agentVerifierTypes,
  createAgentVerifier,
  deleteAgentVerifier,
  listAgentVerifiers,
} from './verifiers.js'

export const AgentVerifierTypeEnum = enumOf(agentVerifierTypes)
registerEnumType(AgentVerifierTypeEnum, { name: 'AgentVerifierType' })

@ObjectType({ description: 'What an agent proves itself with (spec 2.10).' })
export class AgentVerifier {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  agentId!: string
  @Field(() => AgentVerifierTypeEnum)
  type!: AgentVerifierType
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true, description: 'Of a wallet.' })
  address!: string | null
  @Field(() => String, { nullable: true, description: 'Of a wallet: a CAIP-2 chain id.' })
  network!: string | null
  @Field(() => String, { nullable: true, description: 'The secret, in the answer that made it and never again.' })
  secret?: string | null
  @Field(() => Timestamp, { nullable: true, description: 'When the agent last proved itself with it.' })
  lastUsedAt!: number | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class AgentVerifierPage extends pageType(AgentVerifier) {}

@ArgsType()
class AgentVerifiersPlace extends IssuerPlace {
  @Field(() => ID)
  agentId!: string
}

@ArgsType()
class AgentVerifierPlace extends AgentVerifiersPlace {
  @Field(() => ID)
  verifierId!: string
}

@InputType()
class CreateAgentVerifierInput {
  @Field(() => AgentVerifierTypeEnum)
  type!: AgentVerifierType
  @Field(() => String, { nullable: true, description: 'Required, null if it has none.' })
  name?: string | null
  @Field(() => String, { nullable: true, description: 'Required for a wallet.' })
  address?: string | null
  @Field(() => String, { nullable: true, description: 'Required for a wallet: a CAIP-2 chain id.' })
  network?: string | null
}

const once = ({ verifier, secret }: AgentVerifierWithSecret) => ({ ...verifier, secret })

@Resolver(() => AgentVerifier)
export class AgentVerifierResolver {
  @Query(() => AgentVerifierPage)
  @Scope('issuers.agents.verifiers', 'read')
  agentVerifiers(
    @Ctx() context: Context,
    @Args(() => AgentVerifiersPlace) place: AgentVerifiersPlace,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listAgentVerifiers(context, place, page)
  }

  @Mutation(() => AgentVerifier, { description: 'A secret is in this answer, once; such an answer is never replayed.' })
  @Scope('issuers.agents.verifiers', 'write')
  @RecentSignIn()
  async createAgentVerifier(
    @Ctx() context: Context,
    @Args(() => AgentVerifiersPlace) place: AgentVerifiersPlace,
    @Arg('input', () => CreateAgentVerifierInput) input: CreateAgentVerifierInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createAgentVerifier(context, place, input))
  }

  @Mutation(() => Boolean, { description: 'Immediate and irreversible.' })
  @Scope('issuers.agents.verifiers', 'delete')
  async deleteAgentVerifier(@Ctx() context: Context, @Args(() => AgentVerifierPlace) place: AgentVerifierPlace) {
    await deleteAgentVerifier(context, place)
    return true
  }

  @FieldResolver(() => String, { nullable: true, description: 'Of a secret: how it is kept.' })
  algorithm(@Root() verifier: AgentVerifierRow): string | null {
    return verifier.type === 'secret' ? 'SHA-256' : null
  }
}
