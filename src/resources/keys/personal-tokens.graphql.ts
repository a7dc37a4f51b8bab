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
import type { PersonalToken as PersonalTokenRow } from '../../platform/postgres/database.js'
import {
  AccountPath,
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  Once,
  PageArgs,
  pageType,
  RecentSignIn,
  ReturnsSecret,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import {
  createPersonalToken,
  deletePersonalToken,
  getPersonalToken,
  listPersonalTokens,
  type PersonalTokenStatus,
  type PersonalTokenWithJwt,
  personalTokenStatuses,
  revokePersonalToken,
  type TokenWithUser,
  tokenStatus,
} from './personal-tokens.js'
import type { Restrictions } from './restrictions.js'

const PersonalTokenStatusEnum = enumOf(personalTokenStatuses)
registerEnumType(PersonalTokenStatusEnum, { name: 'PersonalTokenStatus' })
const PersonalTokenTypeEnum = enumOf(['personal_token'])
registerEnumType(PersonalTokenTypeEnum, { name: 'PersonalTokenType' })

@ObjectType({ description: 'A token with which scripts of a user act for the user.' })
export class PersonalToken {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  userId!: string
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => [String])
  tags!: string[]
  @Field(() => JSONObject)
  restrictions!: object
  @Field(() => String)
  audience!: string
  @Field(() => Timestamp, { description: 'At most 21 days after the creation.' })
  expiresAt!: number
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp, { nullable: true })
  statusAt!: number | null
  @Field(() => String, { nullable: true })
  statusBy!: string | null
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => String, { nullable: true, description: 'The token. Shown once, in the response that creates it.' })
  @Once()
  tokenPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class PersonalTokenPage extends pageType(PersonalToken) {}

@ArgsType()
class TokensPath extends IssuerPath {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class TokenPath extends AccountPath {
  @Field(() => ID)
  tokenId!: string
}

@ArgsType()
class PersonalTokenFilter extends PageArgs {
  @Field(() => PersonalTokenStatusEnum, { nullable: true })
  status?: PersonalTokenStatus | null
}

@InputType()
class CreatePersonalTokenInput {
  @Field(() => PersonalTokenTypeEnum)
  type!: 'personal_token'
  @Field(() => String)
  name!: string
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => [String], { nullable: true })
  tags?: string[] | null
  @Field(() => JSONObject, {
    description:
      'An object with the optional members scopes, issuer_ids, org_ids and ip_allowlist. {} restricts nothing.',
  })
  restrictions!: object
  @Field(() => Timestamp, {
    nullable: true,
    description:
      'When the token expires. A time more than 21 days from now is shortened to 21 days, which is also the default unless the credential of the caller expires earlier.',
  })
  expiresAt?: number | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => String, {
    nullable: true,
    description: 'The resource server for which the token is meant. The default is the Core API.',
  })
  audience?: string | null
}

@InputType()
class RevokePersonalTokenInput {
  @Field(() => String, { nullable: true })
  by?: string | null
  @Field(() => String, { nullable: true })
  reason?: string | null
}

const withPlainToken = ({ token, jwt }: PersonalTokenWithJwt) => ({ ...token, tokenPlain: jwt })

@Resolver(() => PersonalToken)
export class PersonalTokenResolver {
  @Query(() => PersonalTokenPage, { nullable: true })
  @Scope('issuers.users.tokens', 'read')
  personalTokens(
    @Ctx() context: Context,
    @Args(() => TokensPath) path: TokensPath,
    @Args(() => PersonalTokenFilter) filter: PersonalTokenFilter,
  ) {
    return listPersonalTokens(context, path, filter, filter)
  }

  @Query(() => PersonalToken, { nullable: true })
  @Scope('issuers.users.tokens', 'read')
  personalToken(@Ctx() context: Context, @Args(() => TokenPath) path: TokenPath) {
    return getPersonalToken(context, path)
  }

  @Mutation(() => PersonalToken, {
    description:
      'Creates a personal token, which is shown once. A repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('issuers.users.tokens', 'write')
  @RecentSignIn()
  @ReturnsSecret()
  async createPersonalToken(
    @Ctx() context: Context,
    @Args(() => TokensPath) path: TokensPath,
    @Arg('input', () => CreatePersonalTokenInput) input: CreatePersonalTokenInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withPlainToken(await createPersonalToken(context, path, input))
  }

  @Mutation(() => Boolean, { description: 'Revokes the token permanently and immediately.' })
  @Scope('issuers.users.tokens', 'delete')
  async deletePersonalToken(
    @Ctx() context: Context,
    @Args(() => TokenPath) path: TokenPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deletePersonalToken(context, path, ifMatch)
    return true
  }

  @Mutation(() => PersonalToken, { description: 'Revokes the token permanently. A repeated request changes nothing.' })
  @Scope('issuers.users.tokens', 'delete')
  revokePersonalToken(
    @Ctx() context: Context,
    @Args(() => TokenPath) path: TokenPath,
    @Arg('input', () => RevokePersonalTokenInput, { nullable: true }) input?: RevokePersonalTokenInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokePersonalToken(context, path, input)
  }

  @FieldResolver(() => PersonalTokenTypeEnum)
  type(): 'personal_token' {
    return 'personal_token'
  }

  @FieldResolver(() => PersonalTokenStatusEnum)
  status(@Ctx() context: Context, @Root() token: TokenWithUser): PersonalTokenStatus {
    return tokenStatus(context, token)
  }

  @FieldResolver(() => [String], {
    nullable: true,
    description: 'The scopes in restrictions; null means all scopes of the user.',
  })
  scopes(@Root() token: PersonalTokenRow): string[] | null {
    return (token.restrictions as Restrictions).scopes ?? null
  }
}
