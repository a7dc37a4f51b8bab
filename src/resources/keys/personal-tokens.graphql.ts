import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { PersonalToken as PersonalTokenRow } from '../../platform/postgres/database.js'
import { CreateInput, Input } from '../declaration.js'
import {
  IdempotencyKey,
  IfMatch,
  NullableQuery,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  trueAfter,
  UserPath,
} from '../graphql-types.js'
import {
  PersonalToken,
  PersonalTokenFilter,
  PersonalTokenPage,
  PersonalTokenStatus,
  PersonalTokenType,
  RevokePersonalTokenInput,
  TokenPath,
} from './personal-token.js'
import {
  createPersonalToken,
  deletePersonalToken,
  getPersonalToken,
  listPersonalTokens,
  revokePersonalToken,
  type TokenWithUser,
  tokenStatus,
} from './personal-tokens.js'
import type { Restrictions } from './restrictions.js'

@Resolver(() => PersonalToken)
export class PersonalTokenResolver {
  @NullableQuery(
    () => PersonalTokenPage,
    'Lists the personal tokens of a user, newest first, without those that ended more than 31 days ago.',
  )
  @Scope('issuers.users.tokens', 'read')
  personalTokens(@Ctx() context: Context, @Args() path: UserPath, @Args() filter: PersonalTokenFilter) {
    return listPersonalTokens(context, path, filter)
  }

  @NullableQuery(
    () => PersonalToken,
    'Returns a personal token. It can be read for 31 days after it was revoked or expired.',
  )
  @Scope('issuers.users.tokens', 'read')
  personalToken(@Ctx() context: Context, @Args() path: TokenPath) {
    return getPersonalToken(context, path)
  }

  @Mutation(() => PersonalToken, {
    description:
      'Creates a personal token. Only this response contains the token. Its scopes are those of the user, limited by the restrictions, and the caller must have all of them.',
  })
  @IdempotencyKey()
  @Scope('issuers.users.tokens', 'write')
  @RecentSignIn()
  @ReturnsSecret()
  createPersonalToken(@Ctx() context: Context, @Args() path: UserPath, @CreateInput(PersonalToken) input: object) {
    return createPersonalToken(context, path, input)
  }

  @Mutation(() => Boolean, {
    description: 'Revokes a personal token permanently and immediately. Fails if the token is already revoked.',
  })
  @Scope('issuers.users.tokens', 'delete')
  deletePersonalToken(@Ctx() context: Context, @Args() path: TokenPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deletePersonalToken(context, path, ifMatch))
  }

  @Mutation(() => PersonalToken, {
    description:
      'Revokes a personal token permanently and immediately. Returns a token that is already revoked unchanged.',
  })
  @IdempotencyKey()
  @Scope('issuers.users.tokens', 'delete')
  revokePersonalToken(
    @Ctx() context: Context,
    @Args() path: TokenPath,
    @Input(RevokePersonalTokenInput, { nullable: true }) input?: object | null,
  ) {
    return revokePersonalToken(context, path, input)
  }

  @FieldResolver()
  type(): PersonalToken['type'] {
    return PersonalTokenType.personal_token
  }

  @FieldResolver()
  status(@Ctx() context: Context, @Root() token: TokenWithUser): PersonalTokenStatus {
    return tokenStatus(context, token)
  }

  @FieldResolver()
  scopes(@Root() token: PersonalTokenRow): string[] | null {
    return (token.restrictions as Restrictions).scopes ?? null
  }
}
