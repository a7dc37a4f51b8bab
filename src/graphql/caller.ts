import { Ctx, Field, ID, ObjectType, Query, Resolver } from 'type-graphql'
import { isPlatformScope } from '../kernel/scopes.js'
import type { Context } from '../platform/context.js'
import { enumType } from '../resources/declaration.js'
import { Authenticated } from '../resources/graphql-types.js'

const CallerType = enumType('CallerType', 'The type of an authenticated caller.', {
  api_key: 'An API key of an account or an organization.',
  user: 'A user with an access token, or a signed-in user of the console.',
  client: 'A client with an access token of its own.',
  agent: 'An agent with an access token.',
  personal_token: 'A personal token, which acts for its user.',
})
type CallerType = keyof typeof CallerType

@ObjectType({ description: 'The authenticated caller.' })
class Caller {
  @Field(() => CallerType, { description: 'What authenticated the request.' })
  type!: CallerType
  @Field(() => ID, {
    nullable: true,
    description: 'The id of the API key, user, client, agent or personal token.',
  })
  id!: string | null
  @Field(() => ID, { nullable: true, description: 'The account that contains the caller.' })
  accountId!: string | null
  @Field(() => ID, {
    nullable: true,
    description: 'The issuer that contains the caller; null for API keys of an account and for users of the console.',
  })
  issuerId!: string | null
  @Field(() => [String], { description: 'The effective platform scopes of the caller.' })
  scopes!: string[]
}

@Resolver()
export class CallerResolver {
  @Query(() => Caller, { nullable: true, description: 'Returns who the caller is, and its platform scopes.' })
  @Authenticated()
  me(@Ctx() { actor }: Context): Caller {
    const { type, id, accountId, issuerId } = actor
    // An authenticated caller is neither the system nor anonymous.
    return { type: type as CallerType, id, accountId, issuerId, scopes: actor.scopes.filter(isPlatformScope) }
  }
}
