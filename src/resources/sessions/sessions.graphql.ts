import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Event as EventRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Input } from '../declaration.js'
import { Event } from '../events/event.js'
import { IdempotencyKey, IssuerLevelScope, NullableQuery, Relation, Scope, UserPath } from '../graphql-types.js'
import {
  RevokeSessionInput,
  Session,
  type SessionDevice,
  SessionFilter,
  SessionPage,
  SessionPath,
  SuspendSessionInput,
} from './session.js'
import {
  getSession,
  listSessions,
  relatedSessionKey,
  relatedSessions,
  type SessionWithCurrentStatus,
} from './session-queries.js'
import type { Device } from './sessions.js'
import { reactivateSession, revokeSession, suspendSession } from './transitions.js'

@Resolver(() => Session)
export class SessionResolver {
  @NullableQuery(() => SessionPage, 'Lists the sessions of a user, newest first.')
  @Scope('issuers.sessions', 'read')
  sessions(@Ctx() context: Context, @Args() path: UserPath, @Args() filter: SessionFilter) {
    return listSessions(context, path, filter)
  }

  @NullableQuery(() => Session, 'Returns a session. Null with an error for an unknown id.')
  @Scope('issuers.sessions', 'read')
  session(@Ctx() context: Context, @Args() path: SessionPath) {
    return getSession(context, path)
  }

  @Mutation(() => Session, {
    description: 'Ends a session, or with revokeAllUserSessions all sessions of the user. Their tokens become invalid.',
  })
  @IdempotencyKey()
  @Scope('issuers.sessions', 'write')
  revokeSession(@Ctx() context: Context, @Args() path: SessionPath, @Input(RevokeSessionInput) input: object) {
    return revokeSession(context, path, input)
  }

  @Mutation(() => Session, {
    description:
      'Suspends a session, or with suspendAllUserSessions all sessions of the user. Tokens of a session are invalid until the session is reactivated.',
  })
  @IdempotencyKey()
  @Scope('issuers.sessions', 'write')
  suspendSession(@Ctx() context: Context, @Args() path: SessionPath, @Input(SuspendSessionInput) input: object) {
    return suspendSession(context, path, input)
  }

  @Mutation(() => Session, {
    description: 'Reactivates a suspended session. Its tokens are valid again unless they expired or were revoked.',
  })
  @IdempotencyKey()
  @Scope('issuers.sessions', 'write')
  reactivateSession(@Ctx() context: Context, @Args() path: SessionPath) {
    return reactivateSession(context, path)
  }

  @FieldResolver()
  device(@Root() session: SessionWithCurrentStatus): SessionDevice {
    const { user_agent, ip_address, fingerprint } = session.device as unknown as Device
    return { userAgent: user_agent, ipAddress: ip_address, fingerprint }
  }
}

@Resolver(() => Event)
export class EventSessionResolver {
  @Relation(
    () => Session,
    'The session that the event is about. Null for an event without a session and for a purged session.',
  )
  @IssuerLevelScope('issuers.sessions', 'read')
  session(@Ctx() context: Context, @Root() { accountId, issuerId, sessionId }: EventRow) {
    if (!issuerId || !sessionId) return null
    return loader(context, relatedSessions).load(relatedSessionKey({ accountId, issuerId, sessionId }))
  }
}
