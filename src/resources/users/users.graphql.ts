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
import type { User as UserRow } from '../../platform/postgres/database.js'
import { pageLoader } from '../../platform/postgres/loader.js'
import { VerifierPage } from '../credentials/verifiers.graphql.js'
import { verifiersOf } from '../credentials/verifiers.js'
import { eventLoaderKey, newestEventsOf } from '../events/event-list.js'
import { EventPage } from '../events/events.graphql.js'
import {
  enumOf,
  IssuerPath,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { PersonalTokenPage } from '../keys/personal-token.js'
import { tokensOfUsers } from '../keys/relations.js'
import { sessionsOf } from '../sessions/session-queries.js'
import { SessionPage } from '../sessions/sessions.graphql.js'
import { listUsers } from './listing.js'
import { type UsernameType, usernameTypes } from './usernames.js'
import { createUser, deleteUser, getUser, type UserStatus, updateUser, userStatuses } from './users.js'

export const UserStatusEnum = enumOf(userStatuses)
registerEnumType(UserStatusEnum, { name: 'UserStatus' })
export const UsernameTypeEnum = enumOf(usernameTypes)
registerEnumType(UsernameTypeEnum, { name: 'UsernameType' })

@ObjectType({ description: 'A person at an issuer.' })
export class User {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => UsernameTypeEnum)
  usernameType!: UsernameType
  @Field(() => String, { description: 'The username. Lists contain a keyed hash of it instead (sha256:…).' })
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
  @Field(() => String, { nullable: true, description: 'The data residency of the user.' })
  region!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class UserPage extends pageType(User) {}

@ArgsType()
export class UserPath extends IssuerPath {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class UserFilter extends PageArgs {
  @Field(() => UserStatusEnum, { nullable: true })
  status?: UserStatus | null
  @Field(() => String, { nullable: true, description: 'A prefix of the username, a name or the email address.' })
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
    description:
      'Whether the user has confirmed the email address. Changing it requires the scope issuers.users.verifiers:write.',
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
  @Field(() => JSONObject, {
    nullable: true,
    description: 'Is merged with the current metadata at the top level. A key with the value null is removed.',
  })
  metadata?: object | null
}

@Resolver(() => User)
export class UserResolver {
  @Query(() => UserPage, {
    nullable: true,
    description: 'Lists the users of an issuer, newest first, with hashed usernames.',
  })
  @Scope('issuers.users', 'read')
  users(@Ctx() context: Context, @Args(() => IssuerPath) path: IssuerPath, @Args(() => UserFilter) filter: UserFilter) {
    return listUsers(context, path, filter, filter)
  }

  @Query(() => User, { nullable: true })
  @Scope('issuers.users', 'read')
  user(@Ctx() context: Context, @Args(() => UserPath) path: UserPath) {
    return getUser(context, path)
  }

  @Mutation(() => User)
  @Scope('issuers.users', 'write')
  createUser(
    @Ctx() context: Context,
    @Args(() => IssuerPath) path: IssuerPath,
    @Arg('input', () => CreateUserInput) input: CreateUserInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return createUser(context, path, input)
  }

  @Mutation(() => User)
  @Scope('issuers.users', 'write')
  updateUser(
    @Ctx() context: Context,
    @Args(() => UserPath) path: UserPath,
    @Arg('input', () => UpdateUserInput) input: UpdateUserInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return updateUser(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description: 'Deletes a user. Sessions and tokens end immediately; the data is erased after 24 hours.',
  })
  @Scope('issuers.users', 'delete')
  async deleteUser(
    @Ctx() context: Context,
    @Args(() => UserPath) path: UserPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteUser(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => SessionPage, {
    nullable: true,
    description: 'The newest sessions. Use the query `sessions` for further pages.',
  })
  @Scope('issuers.sessions', 'read')
  sessions(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, sessionsOf, limit).load(user.id)
  }

  @FieldResolver(() => VerifierPage, {
    nullable: true,
    description: 'The newest verifiers. Use the query `verifiers` for further pages.',
  })
  @Scope('issuers.users.verifiers', 'read')
  verifiers(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, verifiersOf, limit).load(user.id)
  }

  @FieldResolver(() => PersonalTokenPage, {
    nullable: true,
    description: 'The newest personal tokens. Use the query `personalTokens` for further pages.',
  })
  @Scope('issuers.users.tokens', 'read')
  tokens(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, tokensOfUsers, limit).load(user.id)
  }

  @FieldResolver(() => EventPage, {
    nullable: true,
    description: 'The newest events of the user. Use the query `events` for further pages.',
  })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Root() user: UserRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestEventsOf.user, limit).load(eventLoaderKey(user.accountId, user.id))
  }
}
