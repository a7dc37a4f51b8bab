import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { InitialAccessToken as InitialAccessTokenRow } from '../../platform/postgres/database.js'
import { CreateInput } from '../declaration.js'
import {
  IdempotencyKey,
  IssuerPath,
  NullableQuery,
  PageArgs,
  RecentSignIn,
  ReturnsSecret,
  Scope,
} from '../graphql-types.js'
import {
  InitialAccessToken,
  InitialAccessTokenPage,
  InitialAccessTokenPath,
  InitialAccessTokenStatus,
} from './initial-access-token.js'
import {
  createInitialAccessToken,
  initialAccessTokenStatus,
  listInitialAccessTokens,
  revokeInitialAccessToken,
} from './initial-access-tokens.js'

@Resolver(() => InitialAccessToken)
export class InitialAccessTokenResolver {
  @NullableQuery(
    () => InitialAccessTokenPage,
    'Lists the initial access tokens of an issuer, newest first, until 31 days after their expiry or revocation.',
  )
  @Scope('issuers.clients', 'read')
  initialAccessTokens(@Ctx() context: Context, @Args() path: IssuerPath, @Args() page: PageArgs) {
    return listInitialAccessTokens(context, path, page)
  }

  @Mutation(() => InitialAccessToken, {
    description:
      'Creates a token with which clients can register themselves (RFC 7591). Only this response contains the token.',
  })
  @IdempotencyKey()
  @Scope('issuers.clients', 'manage')
  @ReturnsSecret()
  @RecentSignIn()
  createInitialAccessToken(
    @Ctx() context: Context,
    @Args() path: IssuerPath,
    @CreateInput(InitialAccessToken) input: object,
  ) {
    return createInitialAccessToken(context, path, input)
  }

  @Mutation(() => InitialAccessToken, {
    description:
      'Revokes an initial access token permanently. Clients that registered with it stay. A repeated request changes nothing.',
  })
  @IdempotencyKey()
  @Scope('issuers.clients', 'manage')
  revokeInitialAccessToken(@Ctx() context: Context, @Args() path: InitialAccessTokenPath) {
    return revokeInitialAccessToken(context, path)
  }

  @FieldResolver()
  status(@Ctx() context: Context, @Root() token: InitialAccessTokenRow): InitialAccessTokenStatus {
    return initialAccessTokenStatus(context, token)
  }
}
