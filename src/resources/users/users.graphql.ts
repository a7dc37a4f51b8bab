import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { User as UserRow } from '../../platform/database.js'
import { pageLoader } from '../../platform/loader.js'
import { VerifierPage } from '../credentials/verifiers.graphql.js'
import { verifiersOf } from '../credentials/verifiers.js'
import { EventPage } from '../events/events.graphql.js'
import { eventsOf, subjectKey } from '../events/listing.js'
import {
  enumOf,
  IssuerPlace,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import { PersonalTokenPage } from '../keys/personal-tokens.graphql.js'
import { tokensOf } from '../keys/relations.js'
import { sessionsOf } from '../sessions/reading.js'
import { SessionPage } from '../sessions/sessions.graphql.js'
import { listUsers } from './listing.js'
import { type UsernameType, usernameTypes } from './usernames.js'
import { createUser, deleteUser, getUser, type UserStatus, updateUser, userStatuses } from './users.js'

export const UserStatusEnum = enumOf(userStatuses)
registerEnumType(UserStatusEnum, { name: 'UserStatus' })
export const UsernameTypeEnum = enumOf(usernameTypes)
registerEnumType(UsernameTypeEnum, { name: 'UsernameType' })

@ObjectType({ description: 'An identity in an issuer (spec 2.6).' })
export class User {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => UsernameTypeEnum)
  usernameType!: UsernameType
  @Field(() => String, { description: 'Lists show a keyed hash instead (sha256:…).' })
  username!: string
  @Field(() => JSONObject)
  profile!: object
  @Field(() => JSONObject)
  security!: object
  @Field(() => JSONObject)
  compliance!: object
  @Field(() => JSONObject)
  preferences!: object
  @Field(() => JSONObject)
  customFields!: object
  @Field(() => [String])
  scopes!: string[]
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => Boolean)
  requiresApproval!: boolean
  @Field(() => String, { nullable: true })
  signupReason!: string | null
  @Field(() => String, { nullable: true })
  triggeredRule!: string | null
  @Field(() => Boolean)
  emailVerified!: boolean
  @Field(() => UserStatusEnum)
  status!: UserStatus
  @Field(() => Timestamp, { nullable: true })
  statusAt!: number | null
  @Field(() => String, { nullable: true })
  statusReason!: string | null
  @Field(() => String, { nullable: true })
  statusBy!: string | null
  @Field(() => JSONObject, { nullable: true })
  approval!: object | null
  @Field(() => String, { nullable: true, description: 'Data residency.' })
  region!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class UserPage extends pageType(User) {}

@ArgsType()
export class UserPlace extends IssuerPlace {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class UserFilter extends PageArgs {
  @Field(() => UserStatusEnum, { nullable: true })
  status?: UserStatus | null
  @Field(() => String, { nullable: true, description: 'The beginning of a username, name or email address.' })
  search?: string | null
}

@InputType()
class CreateUserInput {
  @Field(() => UsernameTypeEnum)
  usernameType!: UsernameType
  @Field(() => String)
  username!: string
  @Field(() => JSONObject, { nullable: true })
  profile?: object | null
  @Field(() => JSONObject, { nullable: true })
  security?: object | null
  @Field(() => JSONObject, { nullable: true })
  compliance?: object | null
  @Field(() => JSONObject, { nullable: true })
  preferences?: object | null
  @Field(() => JSONObject, { nullable: true })
  customFields?: object | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
  @Field(() => Boolean, { nullable: true })
  requiresApproval?: boolean | null
  @Field(() => String, { nullable: true })
  signupReason?: string | null
  @Field(() => String, { nullable: true })
  triggeredRule?: string | null
  @Field(() => Boolean, { nullable: true })
  emailVerified?: boolean | null
  @Field(() => UserStatusEnum, { nullable: true, description: 'active, suspended or blocked.' })
  status?: UserStatus | null
  @Field(() => String, { nullable: true })
  region?: string | null
}

@InputType()
class UpdateUserInput {
  @Field(() => Boolean, {
    nullable: true,
    description: 'Whether the user has proved to read the mail of the address. Asks for issuers.users.verifiers:write.',
  })
  emailVerified?: boolean | null
  @Field(() => UserStatusEnum, { nullable: true, description: 'active, suspended or blocked.' })
  status?: UserStatus | null
  @Field(() => Timestamp, { nullable: true })
  statusAt?: number | null
  @Field(() => String, { nullable: true })
  statusReason?: string | null
  @Field(() => String, { nullable: true })
  statusBy?: string | null
  @Field(() => UsernameTypeEnum, { nullable: true })
  usernameType?: UsernameType | null
  @Field(() => String, { nullable: true })
  username?: string | null
  @Field(() => JSONObject, { nullable: true })
  profile?: object | null
  @Field(() => [String], { nullable: true })
  scopes?: string[] | null
  @Field(() => JSONObject, { nullable: true })
  security?: object | null
  @Field(() => JSONObject, { nullable: true })
  compliance?: object | null
  @Field(() => JSONObject, { nullable: true })
  preferences?: object | null
  @Field(() => JSONObject, { nullable: true })
  approval?: object | null
  @Field(() => JSONObject, { nullable: true })
  customFields?: object | null
  @Field(() => JSONObject, { nullable: true, description: 'Merged at the top level; null removes a key.' })
  metadata?: object | null
}

@Resolver(() => User)
export class UserResolver {
  @Query(() => UserPage, { description: 'Newest first, with hashed usernames.' })
  @Scope('issuers.users', 'read')
  users(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Args(() => UserFilter) filter: UserFilter,
  ) {
    return listUsers(context, place, filter, filter)
  }

  @Query(() => User)
  @Scope('issuers.users', 'read')
  user(@Ctx() context: Context, @Args(() => UserPlace) place: UserPlace) {
    return getUser(context, place)
  }

  @Mutation(() => User)
  @Scope('issuers.users', 'write')
  createUser(
    @Ctx() context: Context,
    @Args(() => IssuerPlace) place: IssuerPlace,
    @Arg('input', () => CreateUserInput) input: CreateUserInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createUser(context, place, input)
  }

  @Mutation(() => User)
  @Scope('issuers.users', 'write')
  updateUser(
    @Ctx() context: Context,
    @Args(() => UserPlace) place: UserPlace,
    @Arg('input', () => UpdateUserInput) input: UpdateUserInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateUser(context, place, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Asynchronous: the user is gone at once, its data after a day.' })
  @Scope('issuers.users', 'delete')
  async deleteUser(
    @Ctx() context: Context,
    @Args(() => UserPlace) place: UserPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteUser(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => SessionPage, { description: 'The newest sessions; page on with `sessions`.' })
  @Scope('issuers.sessions', 'read')
  sessions(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, sessionsOf, limit).load(user.id)
  }

  @FieldResolver(() => VerifierPage, { description: 'The newest verifiers; page on with `verifiers`.' })
  @Scope('issuers.users.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, verifiersOf, limit).load(user.id)
  }

  @FieldResolver(() => PersonalTokenPage, { description: 'The newest personal tokens; page on with `personalTokens`.' })
  @Scope('issuers.users.tokens', 'read')
  tokens(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, tokensOf, limit).load(user.id)
  }

  @FieldResolver(() => EventPage, { description: 'The newest events about the user; page on with `events`.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, eventsOf.user, limit).load(subjectKey(user.accountId, user.id))
  }
}
