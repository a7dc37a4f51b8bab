import { Ctx, Field, ID, ObjectType, Query, Resolver } from 'type-graphql'
import { isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { Authenticated } from '../resources/graphql-types.js'

@ObjectType({ description: 'The authenticated caller.' })
class Caller {
  @Field(() => String, { description: 'The type of the caller: api_key, user, client, agent or personal_token.' })
  type!: string
  @Field(() => ID, {
    nullable: true,
    description: 'The ID of the API key, user, client, agent or personal token.',
  })
  id!: string | null
  @Field(() => ID, { nullable: true, description: 'The account that contains the caller.' })
  accountId!: string | null
  @Field(() => ID, {
    nullable: true,
    description: 'The issuer that contains the caller; null for API keys of an account and for users of the console.',
  })
  issuerId!: string | null
  @Field(() => [String], { description: 'The effective platform scopes.' })
  scopes!: string[]
}

@Resolver()
export class CallerResolver {
  @Query(() => Caller, { nullable: true })
  @Authenticated()
  me(@Ctx() { actor }: Context): Caller {
    const { type, id, accountId, issuerId } = actor
    return { type, id, accountId, issuerId, scopes: actor.scopes.filter(isPlatformScope) }
  }
}
