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
import { enumOf, IssuerPlace, idempotencyKeyArg, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import { reactivateSession, revokeSession, suspendSession, suspensionReasons } from './moves.js'
import { getSession, listSessions, type StatedSession, sessionStates } from './reading.js'
import { type Device, type RevocationReason, revocationReasons, type SessionState } from './sessions.js'

export const SessionStatusEnum = enumOf(sessionStates)
registerEnumType(SessionStatusEnum, { name: 'SessionStatus' })
export const RevocationReasonEnum = enumOf(revocationReasons)
registerEnumType(RevocationReasonEnum, { name: 'RevocationReason' })
export const SuspensionReasonEnum = enumOf(suspensionReasons)
registerEnumType(SuspensionReasonEnum, { name: 'SuspensionReason' })

@ObjectType({ description: 'What a session was begun on.' })
class SessionDevice {
  @Field(() => String, { nullable: true })
  userAgent!: string | null
  @Field(() => String, { nullable: true })
  ipAddress!: string | null
  @Field(() => String, { nullable: true })
  fingerprint!: string | null
}

@ObjectType({ description: 'A signed-in user at one client (spec 2.13).' })
export class Session {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  issuerId!: string
  @Field(() => ID)
  userId!: string
  @Field(() => ID)
  clientId!: string
  @Field(() => ID, { nullable: true })
  orgId!: string | null
  @Field(() => SessionStatusEnum, { description: 'As of now: inactive and expired are read off the clock.' })
  status!: SessionState
  @Field(() => Int, { description: 'When the user proved themself, in Unix seconds as the claim.' })
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
class SessionsPlace extends IssuerPlace {
  @Field(() => ID)
  userId!: string
}

@ArgsType()
class SessionPlace extends IssuerPlace {
  @Field(() => ID)
  sessionId!: string
}

@ArgsType()
class SessionFilter extends PageArgs {
  @Field(() => SessionStatusEnum, { nullable: true })
  status?: SessionState | null
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
  @Query(() => SessionPage, { description: "A user's sessions, newest first." })
  @Scope('issuers.sessions', 'read')
  sessions(
    @Ctx() context: Context,
    @Args(() => SessionsPlace) place: SessionsPlace,
    @Args(() => SessionFilter) filter: SessionFilter,
  ) {
    return listSessions(context, place, filter, filter)
  }

  @Query(() => Session)
  @Scope('issuers.sessions', 'read')
  session(@Ctx() context: Context, @Args(() => SessionPlace) place: SessionPlace) {
    return getSession(context, place)
  }

  @Mutation(() => Session, { description: 'Ends a session with all its tokens.' })
  @Scope('issuers.sessions', 'write')
  revokeSession(
    @Ctx() context: Context,
    @Args(() => SessionPlace) place: SessionPlace,
    @Arg('input', () => RevokeSessionInput) input: RevokeSessionInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return revokeSession(context, place, input)
  }

  @Mutation(() => Session, { description: 'Makes its tokens invalid until it is reactivated.' })
  @Scope('issuers.sessions', 'write')
  suspendSession(
    @Ctx() context: Context,
    @Args(() => SessionPlace) place: SessionPlace,
    @Arg('input', () => SuspendSessionInput) input: SuspendSessionInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return suspendSession(context, place, input)
  }

  @Mutation(() => Session)
  @Scope('issuers.sessions', 'write')
  reactivateSession(
    @Ctx() context: Context,
    @Args(() => SessionPlace) place: SessionPlace,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return reactivateSession(context, place)
  }

  @FieldResolver(() => SessionDevice)
  device(@Root() session: StatedSession): SessionDevice {
    const { user_agent, ip_address, fingerprint } = session.device as unknown as Device
    return { userAgent: user_agent, ipAddress: ip_address, fingerprint }
  }
}
