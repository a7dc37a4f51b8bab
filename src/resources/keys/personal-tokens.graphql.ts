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
import type { PersonalToken as PersonalTokenRow } from '../../platform/database.js'
import {
  AccountPlace,
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  RecentSignIn,
  Scope,
  Timestamp,
} from '../graphql.js'
import {
  createPersonalToken,
  deletePersonalToken,
  getPersonalToken,
  listPersonalTokens,
  type PersonalTokenStatus,
  type PersonalTokenWithJwt,
  personalTokenStatuses,
  revokePersonalToken,
  type TokenOfUser,
  tokenStatus,
} from './personal-tokens.js'
import type { Restrictions } from './restrictions.js'

const PersonalTokenStatusEnum = enumOf(personalTokenStatuses)
registerEnumType(PersonalTokenStatusEnum, { name: 'PersonalTokenStatus' })
const PersonalTokenTypeEnum = enumOf(['personal_token'])
registerEnumType(PersonalTokenTypeEnum, { name: 'PersonalTokenType' })

@ObjectType({ description: 'A token by which a user’s scripts act for the user (spec 2.12).' })
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
  @Field(() => Timestamp, { description: 'At most 21 days after its creation.' })
  expiresAt!: number
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Timestamp, { nullable: true })
  statusAt!: number | null
  @Field(() => String, { nullable: true })
  statusBy!: string | null
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => String, { nullable: true, description: 'The token, in the answer that made it and never again.' })
  tokenPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class PersonalTokenPage extends pageType(PersonalToken) {}

@ArgsType()
class TokensPlace extends IssuerPlace {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class TokenPlace extends AccountPlace {
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
  @Field(() => JSONObject, { description: 'scopes, issuer_ids, org_ids, ip_allowlist; {} restricts nothing.' })
  restrictions!: object
  @Field(() => Timestamp, { nullable: true, description: 'At most 21 days from now, which is also the default.' })
  expiresAt?: number | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => String, { nullable: true, description: 'Who accepts the token; this Core API if not given.' })
  audience?: string | null
}

@InputType()
class RevokePersonalTokenInput {
  @Field(() => String, { nullable: true })
  by?: string | null
  @Field(() => String, { nullable: true })
  reason?: string | null
}

const once = ({ token, jwt }: PersonalTokenWithJwt) => ({ ...token, tokenPlain: jwt })

@Resolver(() => PersonalToken)
export class PersonalTokenResolver {
  @Query(() => PersonalTokenPage)
  @Scope('issuers.users.tokens', 'read')
  personalTokens(
    @Ctx() context: Context,
    @Args(() => TokensPlace) place: TokensPlace,
    @Args(() => PersonalTokenFilter) filter: PersonalTokenFilter,
  ) {
    return listPersonalTokens(context, place, filter, filter)
  }

  @Query(() => PersonalToken)
  @Scope('issuers.users.tokens', 'read')
  personalToken(@Ctx() context: Context, @Args(() => TokenPlace) place: TokenPlace) {
    return getPersonalToken(context, place)
  }

  @Mutation(() => PersonalToken, { description: 'The token is in the answer, once. Never replayed.' })
  @Scope('issuers.users.tokens', 'write')
  @RecentSignIn()
  async createPersonalToken(
    @Ctx() context: Context,
    @Args(() => TokensPlace) place: TokensPlace,
    @Arg('input', () => CreatePersonalTokenInput) input: CreatePersonalTokenInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createPersonalToken(context, place, input))
  }

  @Mutation(() => Boolean, { description: 'Revokes the token for good, at once.' })
  @Scope('issuers.users.tokens', 'delete')
  async deletePersonalToken(
    @Ctx() context: Context,
    @Args(() => TokenPlace) place: TokenPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deletePersonalToken(context, place, ifMatch)
    return true
  }

  @Mutation(() => PersonalToken, { description: 'Permanent; repeating it changes nothing.' })
  @Scope('issuers.users.tokens', 'delete')
  revokePersonalToken(
    @Ctx() context: Context,
    @Args(() => TokenPlace) place: TokenPlace,
    @Arg('input', () => RevokePersonalTokenInput, { nullable: true }) input?: RevokePersonalTokenInput | null,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokePersonalToken(context, place, input)
  }

  @FieldResolver(() => PersonalTokenTypeEnum)
  type(): 'personal_token' {
    return 'personal_token'
  }

  @FieldResolver(() => PersonalTokenStatusEnum)
  status(@Ctx() context: Context, @Root() token: TokenOfUser): PersonalTokenStatus {
    return tokenStatus(context, token)
  }

  @FieldResolver(() => [String], { nullable: true, description: 'As in restrictions; null for all.' })
  scopes(@Root() token: PersonalTokenRow): string[] | null {
    return (token.restrictions as Restrictions).scopes ?? null
  }
}
