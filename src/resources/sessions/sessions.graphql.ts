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
import {
  enumOf,
  GraphqlOnly,
  IssuerPath,
  idempotencyKeyArg,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { getSession, listSessions, type SessionWithCurrentStatus, sessionStatuses } from './session-queries.js'
import { type Device, type RevocationReason, revocationReasons, type SessionStatus } from './sessions.js'
import { reactivateSession, revokeSession, suspendSession, suspensionReasons } from './transitions.js'

export const SessionStatusEnum = enumOf(sessionStatuses)
registerEnumType(SessionStatusEnum, { name: 'SessionStatus' })
export const RevocationReasonEnum = enumOf(revocationReasons)
registerEnumType(RevocationReasonEnum, { name: 'RevocationReason' })
export const SuspensionReasonEnum = enumOf(suspensionReasons)
registerEnumType(SuspensionReasonEnum, { name: 'SuspensionReason' })

@ObjectType({ description: 'The device on which the session started.' })
class SessionDevice {
  @Field(() => String, { nullable: true })
  userAgent!: string | null
  @Field(() => String, { nullable: true })
  ipAddress!: string | null
  @Field(() => String, { nullable: true })
  fingerprint!: string | null
}

@ObjectType({ description: 'The sign-in of a user at one client.' })
export class Session {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  @GraphqlOnly()
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  userId!: string
  @Field(() => ID)
  clientId!: string
  @Field(() => ID, { nullable: true })
  orgId!: string | null
  @Field(() => SessionStatusEnum, {
    description: 'The current status. It becomes inactive at idleExpiresAt and expired at expiresAt.',
  })
  status!: SessionStatus
  @Field(() => Int, { description: 'The time of the authentication in Unix seconds, like the claim auth_time.' })
  authTime!: number
  @Field(() => String, { nullable: true })
  acr!: string | null
  @Field(() => [String])
  amr!: string[]
  @Field(() => [String])
  accessTokenJti!: string[]
  @Field(() => [String])
  refreshTokenJti!: string[]
  @Field(() => Timestamp)
  lastActivityAt!: number
  @Field(() => Timestamp)
  expiresAt!: number
  @Field(() => Timestamp, { nullable: true })
  idleExpiresAt!: number | null
  @Field(() => Timestamp, { nullable: true })
  revokedAt!: number | null
  @Field(() => RevocationReasonEnum, { nullable: true })
  revocationReason!: RevocationReason | null
  @Field(() => Timestamp, { nullable: true })
  suspendedAt!: number | null
  @Field(() => SuspensionReasonEnum, { nullable: true })
  suspensionReason!: (typeof suspensionReasons)[number] | null
  @Field(() => String, { nullable: true })
  reasonDetails!: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class SessionPage extends pageType(Session) {}

@ArgsType()
class SessionsPath extends IssuerPath {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class SessionPath extends IssuerPath {
  @Field(() => ID)
  sessionId!: string
}

@ArgsType()
class SessionFilter extends PageArgs {
  @Field(() => SessionStatusEnum, { nullable: true })
  status?: SessionStatus | null
}

@InputType()
class RevokeSessionInput {
  @Field(() => RevocationReasonEnum)
  reason!: RevocationReason
  @Field(() => String, { nullable: true })
  reasonDetails?: string | null
  @Field(() => Boolean, { nullable: true })
  revokeAllUserSessions?: boolean | null
}

@InputType()
class SuspendSessionInput {
  @Field(() => SuspensionReasonEnum)
  reason!: (typeof suspensionReasons)[number]
  @Field(() => String, { nullable: true })
  reasonDetails?: string | null
  @Field(() => Boolean, { nullable: true })
  suspendAllUserSessions?: boolean | null
}

@Resolver(() => Session)
export class SessionResolver {
  @Query(() => SessionPage, { nullable: true, description: 'The sessions of a user, newest first.' })
  @Scope('issuers.sessions', 'read')
  sessions(
    @Ctx() context: Context,
    @Args(() => SessionsPath) path: SessionsPath,
    @Args(() => SessionFilter) filter: SessionFilter,
  ) {
    return listSessions(context, path, filter, filter)
  }

  @Query(() => Session, { nullable: true })
  @Scope('issuers.sessions', 'read')
  session(@Ctx() context: Context, @Args(() => SessionPath) path: SessionPath) {
    return getSession(context, path)
  }

  @Mutation(() => Session, {
    description: 'Ends a session, or with revokeAllUserSessions all sessions of the user. Their tokens become invalid.',
  })
  @Scope('issuers.sessions', 'write')
  revokeSession(
    @Ctx() context: Context,
    @Args(() => SessionPath) path: SessionPath,
    @Arg('input', () => RevokeSessionInput) input: RevokeSessionInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeSession(context, path, input)
  }

  @Mutation(() => Session, {
    description:
      'Suspends a session, or with suspendAllUserSessions all sessions of the user. Tokens of a session are invalid until the session is reactivated.',
  })
  @Scope('issuers.sessions', 'write')
  suspendSession(
    @Ctx() context: Context,
    @Args(() => SessionPath) path: SessionPath,
    @Arg('input', () => SuspendSessionInput) input: SuspendSessionInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return suspendSession(context, path, input)
  }

  @Mutation(() => Session)
  @Scope('issuers.sessions', 'write')
  reactivateSession(
    @Ctx() context: Context,
    @Args(() => SessionPath) path: SessionPath,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return reactivateSession(context, path)
  }

  @FieldResolver(() => SessionDevice)
  device(@Root() session: SessionWithCurrentStatus): SessionDevice {
    const { user_agent, ip_address, fingerprint } = session.device as unknown as Device
    return { userAgent: user_agent, ipAddress: ip_address, fingerprint }
  }
}
