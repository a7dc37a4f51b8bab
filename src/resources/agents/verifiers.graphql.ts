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
import type { AgentVerifier as AgentVerifierRow } from '../../platform/postgres/database.js'
import {
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  Once,
  PageArgs,
  pageType,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  Timestamp,
} from '../graphql-types.js'
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

@ObjectType({ description: 'A credential of an agent.' })
export class AgentVerifier {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  agentId!: string
  @Field(() => AgentVerifierTypeEnum)
  type!: AgentVerifierType
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true, description: 'The address of a wallet; null for a secret.' })
  address!: string | null
  @Field(() => String, { nullable: true, description: 'The CAIP-2 chain ID of a wallet; null for a secret.' })
  network!: string | null
  @Field(() => String, { nullable: true, description: 'The secret. Only the response to its creation contains it.' })
  @Once()
  secret?: string | null
  @Field(() => Timestamp, { nullable: true, description: 'When the agent last authenticated with this verifier.' })
  lastUsedAt!: number | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class AgentVerifierPage extends pageType(AgentVerifier) {}

@ArgsType()
class AgentVerifiersPath extends IssuerPath {
  @Field(() => ID)
  agentId!: string
}

@ArgsType()
class AgentVerifierPath extends AgentVerifiersPath {
  @Field(() => ID)
  verifierId!: string
}

@InputType()
class CreateAgentVerifierInput {
  @Field(() => AgentVerifierTypeEnum)
  type!: AgentVerifierType
  @Field(() => String, { nullable: true, description: 'Required. Null means no name.' })
  name?: string | null
  @Field(() => String, { nullable: true, description: 'Required for a wallet.' })
  address?: string | null
  @Field(() => String, { nullable: true, description: 'A CAIP-2 chain ID. Required for a wallet.' })
  network?: string | null
}

const withPlainSecret = ({ verifier, secret }: AgentVerifierWithSecret) => ({ ...verifier, secret })

@Resolver(() => AgentVerifier)
export class AgentVerifierResolver {
  @Query(() => AgentVerifierPage, { nullable: true })
  @Scope('issuers.agents.verifiers', 'read')
  agentVerifiers(
    @Ctx() context: Context,
    @Args(() => AgentVerifiersPath) path: AgentVerifiersPath,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listAgentVerifiers(context, path, page)
  }

  @Mutation(() => AgentVerifier, {
    description:
      'Creates a verifier. Only this response contains the secret. A repeated request for a secret creates another secret, even with the same idempotency key.',
  })
  @Scope('issuers.agents.verifiers', 'write')
  @RecentSignIn()
  @ReturnsSecret(({ type }) => (type === 'secret' ? 'never' : 'plain'))
  async createAgentVerifier(
    @Ctx() context: Context,
    @Args(() => AgentVerifiersPath) path: AgentVerifiersPath,
    @Arg('input', () => CreateAgentVerifierInput) input: CreateAgentVerifierInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withPlainSecret(await createAgentVerifier(context, path, input))
  }

  @Mutation(() => Boolean, { description: 'Deletes a verifier immediately and permanently.' })
  @Scope('issuers.agents.verifiers', 'delete')
  async deleteAgentVerifier(@Ctx() context: Context, @Args(() => AgentVerifierPath) path: AgentVerifierPath) {
    await deleteAgentVerifier(context, path)
    return true
  }

  @FieldResolver(() => String, {
    nullable: true,
    description: 'The hash algorithm of a stored secret; null for a wallet.',
  })
  algorithm(@Root() verifier: AgentVerifierRow): string | null {
    return verifier.type === 'secret' ? 'SHA-256' : null
  }
}
