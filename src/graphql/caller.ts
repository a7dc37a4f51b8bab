import { Ctx, Field, ID, ObjectType, Query, Resolver } from 'type-graphql'
import { isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { Authenticated } from '../resources/graphql-types.js'

@ObjectType({ description: 'The authenticated caller.' })
class Caller {
  @Field(() => String, { description: 'api_key, user, client, agent or personal_token.' })
  type!: string
  @Field(() => ID, { nullable: true })
  id!: string | null
  @Field(() => ID, { nullable: true })
  accountId!: string | null
  @Field(() => ID, { nullable: true })
  issuerId!: string | null
  @Field(() => [String], { description: 'The effective platform scopes.' })
  scopes!: string[]
}

@Resolver()
export class CallerResolver {
  @Query(() => Caller)
  @Authenticated()
  me(@Ctx() { actor }: Context): Caller {
    const { type, id, accountId, issuerId } = actor
    return { type, id, accountId, issuerId, scopes: actor.scopes.filter(isPlatformScope) }
  }
}
