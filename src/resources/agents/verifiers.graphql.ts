import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { AgentVerifier as AgentVerifierRow } from '../../platform/postgres/database.js'
import { Input } from '../declaration.js'
import {
  IdempotencyKey,
  NullableQuery,
  PageArgs,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { AgentPath, AgentVerifierPath } from './agent.js'
import { AgentVerifier, AgentVerifierPage, CreateAgentVerifierInput, createRules } from './verifier.js'
import { createAgentVerifier, deleteAgentVerifier, listAgentVerifiers } from './verifiers.js'

@Resolver(() => AgentVerifier)
export class AgentVerifierResolver {
  @NullableQuery(() => AgentVerifierPage, 'Lists the verifiers of an agent, newest first.')
  @Scope('issuers.agents.verifiers', 'read')
  agentVerifiers(@Ctx() context: Context, @Args() path: AgentPath, @Args() page: PageArgs) {
    return listAgentVerifiers(context, path, page)
  }

  @Mutation(() => AgentVerifier, {
    description: 'Creates a verifier of an active agent. Only this response contains a secret.',
  })
  @IdempotencyKey()
  @Scope('issuers.agents.verifiers', 'write')
  @RecentSignIn()
  @ReturnsSecret(({ type }) => (type === 'secret' ? 'never' : 'plain'))
  createAgentVerifier(
    @Ctx() context: Context,
    @Args() path: AgentPath,
    @Input(CreateAgentVerifierInput, { rules: createRules }) input: object,
  ) {
    return createAgentVerifier(context, path, input)
  }

  @Mutation(() => Boolean, { description: 'Deletes a verifier of an active agent immediately and permanently.' })
  @Scope('issuers.agents.verifiers', 'delete')
  deleteAgentVerifier(@Ctx() context: Context, @Args() path: AgentVerifierPath) {
    return trueAfter(deleteAgentVerifier(context, path))
  }

  @FieldResolver()
  algorithm(@Root() verifier: AgentVerifierRow): string | null {
    return verifier.type === 'secret' ? 'SHA-256' : null
  }
}
