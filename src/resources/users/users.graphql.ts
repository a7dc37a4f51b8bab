import { Args, Ctx, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type {
  Event as EventRow,
  PersonalToken as PersonalTokenRow,
  Session as SessionRow,
  User as UserRow,
} from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { VerifierPage } from '../credentials/verifier.js'
import { listVerifiers, verifiersOf } from '../credentials/verifiers.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import { Event, EventPage } from '../events/event.js'
import { relatedEvents } from '../events/event-list.js'
import {
  IdempotencyKey,
  IfMatch,
  IssuerLevelScope,
  IssuerPath,
  NullableQuery,
  Relation,
  RelationArgs,
  Scope,
  trueAfter,
  UserPath,
} from '../graphql-types.js'
import { PersonalToken, PersonalTokenPage } from '../keys/personal-token.js'
import { listPersonalTokens } from '../keys/personal-tokens.js'
import { tokensOfUsers } from '../keys/relations.js'
import type { InIssuer } from '../resource-path.js'
import { Session, SessionPage } from '../sessions/session.js'
import { listSessions, sessionsOf } from '../sessions/session-queries.js'
import { listUsers, relatedUserKey, relatedUsers } from './listing.js'
import { User, UserFilter, UserPage } from './user.js'
import { createUser, deleteUser, getUser, updateUser } from './users.js'

const userPathOf = ({ accountId, issuerId, id }: UserRow) => ({ accountId, issuerId, userId: id })

@Resolver(() => User)
export class UserResolver {
  @NullableQuery(() => UserPage, 'Lists the users of an issuer, newest first, with hashed usernames.')
  @Scope('issuers.users', 'read')
  users(@Ctx() context: Context, @Args() path: IssuerPath, @Args() filter: UserFilter) {
    return listUsers(context, path, filter)
  }

  @NullableQuery(
    () => User,
    'Returns a user with the username. Null with an error for an unknown id or for a deleted user.',
  )
  @Scope('issuers.users', 'read')
  user(@Ctx() context: Context, @Args() path: UserPath) {
    return getUser(context, path)
  }

  @Mutation(() => User, {
    description:
      'Creates a user. The user can sign in after a verifier was created, or by email if the issuer allows it.',
  })
  @IdempotencyKey()
  @Scope('issuers.users', 'write')
  createUser(@Ctx() context: Context, @Args() path: IssuerPath, @CreateInput(User) input: object) {
    return createUser(context, path, input)
  }

  @Mutation(() => User, {
    description:
      'Changes the given fields of a user. Suspending or blocking a user ends all sessions. Changing how the user signs in also requires the scope issuers.users.verifiers:write.',
  })
  @Scope('issuers.users', 'write')
  updateUser(
    @Ctx() context: Context,
    @Args() path: UserPath,
    @UpdateInput(User) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateUser(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, {
    description: 'Deletes a user. Sessions and tokens end immediately; the data is erased after 24 hours.',
  })
  @Scope('issuers.users', 'delete')
  deleteUser(@Ctx() context: Context, @Args() path: UserPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteUser(context, path, ifMatch))
  }

  @Relation(() => SessionPage, 'The sessions of the user, newest first.')
  @Scope('issuers.sessions', 'read')
  sessions(@Ctx() context: Context, @Root() user: UserRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, user.id, sessionsOf, () => listSessions(context, userPathOf(user), page))
  }

  @Relation(() => VerifierPage, 'The credentials of the user, newest first.')
  @Scope('issuers.users.verifiers', 'read')
  verifiers(@Ctx() context: Context, @Root() user: UserRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, user.id, verifiersOf, () => listVerifiers(context, userPathOf(user), page))
  }

  @Relation(() => PersonalTokenPage, 'The personal tokens of the user, newest first.')
  @Scope('issuers.users.tokens', 'read')
  tokens(@Ctx() context: Context, @Root() user: UserRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, user.id, tokensOfUsers, () => listPersonalTokens(context, userPathOf(user), page))
  }

  @Relation(() => EventPage, 'The events of the user, newest first.')
  @Scope('events', 'read')
  events(@Ctx() context: Context, @Root() user: UserRow, @Args() page: RelationArgs) {
    return relatedEvents(context, page, 'user', user)
  }
}

const loadUser = (context: Context, { accountId, issuerId }: InIssuer, userId: string) =>
  loader(context, relatedUsers).load(relatedUserKey({ accountId, issuerId, userId }))

@Resolver(() => Session)
export class SessionUserResolver {
  @Relation(() => User, 'The user, with a hashed username as in lists. Null for a deleted user.')
  @IssuerLevelScope('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() session: SessionRow) {
    return loadUser(context, session, session.userId)
  }
}

@Resolver(() => PersonalToken)
export class PersonalTokenUserResolver {
  @Relation(
    () => User,
    'The user for whom the token acts, with a hashed username as in lists. Null for a deleted user.',
  )
  @IssuerLevelScope('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() token: PersonalTokenRow) {
    return loadUser(context, token, token.userId)
  }
}

@Resolver(() => Event)
export class EventUserResolver {
  @Relation(
    () => User,
    'The user whom the event is about, with a hashed username as in lists. Null for an event without a user and for a deleted user.',
  )
  @IssuerLevelScope('issuers.users', 'read')
  user(@Ctx() context: Context, @Root() { accountId, issuerId, userId }: EventRow) {
    return issuerId && userId ? loadUser(context, { accountId, issuerId }, userId) : null
  }
}
