import {
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  ID,
  Int,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
  Subscription,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Event as EventRow } from '../../platform/postgres/database.js'
import {
  AccountPath,
  Authenticated,
  enumOf,
  InRest,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { type AggregateRow, aggregateEvents, type Interval, intervals } from './event-aggregate.js'
import { type Dimension, dimensions } from './event-counts.js'
import { getEvent, listEvents } from './event-list.js'
import { streamEvents } from './event-stream.js'

const authTypes = ['user', 'client', 'token', 'api_key', 'system', 'unauthenticated'] as const
export const AuthTypeEnum = enumOf(authTypes)
registerEnumType(AuthTypeEnum, { name: 'AuthType' })
export const EventDimensionEnum = enumOf(dimensions)
registerEnumType(EventDimensionEnum, { name: 'EventDimension' })
export const EventIntervalEnum = enumOf(intervals)
registerEnumType(EventIntervalEnum, { name: 'EventInterval', description: 'Intervals in UTC. Weeks start on Monday.' })

@ObjectType({ description: 'The principal that caused the event.' })
class EventActor {
  @Field(() => String, { description: 'api_key, user, client, agent, personal_token, system or unauthenticated.' })
  type!: string
  @Field(() => ID, { nullable: true })
  id!: string | null
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => Boolean, {
    description: 'Whether an operator of this deployment acted on an account of another tenant.',
  })
  operator!: boolean
}

@ObjectType({ description: 'The resource that the event is about.' })
class EventTarget {
  @Field(() => String)
  type!: string
  @Field(() => ID)
  id!: string
}

@ObjectType({ description: 'The request that caused the event.' })
class EventContext {
  @Field(() => String, { nullable: true })
  ipAddress!: string | null
  @Field(() => String, { nullable: true })
  userAgent!: string | null
  @Field(() => ID, { nullable: true })
  requestId!: string | null
  @Field(() => String, { nullable: true })
  method!: string | null
  @Field(() => String, { nullable: true })
  path!: string | null
}

@ObjectType({ description: 'An entry of the audit log.' })
export class Event {
  @Field(() => ID)
  id!: string
  @Field(() => String)
  type!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID, { nullable: true })
  issuerId!: string | null
  @Field(() => ID, { nullable: true })
  orgId!: string | null
  @Field(() => ID, { nullable: true })
  userId!: string | null
  @Field(() => ID, { nullable: true })
  clientId!: string | null
  @Field(() => ID, { nullable: true })
  agentId!: string | null
  @Field(() => ID, { nullable: true })
  sessionId!: string | null
  @Field(() => AuthTypeEnum)
  authType!: (typeof authTypes)[number]
  @Field(() => EventTarget)
  target!: EventTarget
  @Field(() => JSONObject)
  data!: object
  @Field(() => JSONObject, {
    description:
      'Changed fields by REST name: `{old, new}`, or `"changed"` for a new secret and for values that events do not store.',
  })
  changes!: object
  @Field(() => Timestamp)
  createdAt!: number
}

@ObjectType()
export class EventPage extends pageType(Event) {}

@ObjectType()
class EventCountRow {
  @Field(() => String, { nullable: true, description: 'The value of the groupBy dimension; null without groupBy.' })
  key!: string | null
  @Field(() => Int)
  count!: number
  @Field(() => JSONObject, {
    nullable: true,
    description: 'The number of distinct values of each countUnique dimension.',
  })
  uniques!: Record<string, number> | null
}

@ObjectType()
class EventBucket {
  @Field(() => Timestamp, { nullable: true, description: 'The start of the interval; null without an interval.' })
  ts!: number | null
  @Field(() => [EventCountRow])
  rows!: AggregateRow[]
}

@ObjectType({ description: 'Event counts by interval and group.' })
class EventAggregate {
  @Field(() => EventIntervalEnum, { nullable: true })
  interval!: Interval | null
  @Field(() => EventDimensionEnum, { nullable: true })
  groupBy!: Dimension | null
  @Field(() => [EventBucket])
  buckets!: EventBucket[]
}

@ArgsType()
class EventPath extends AccountPath {
  @Field(() => ID)
  eventId!: string
}

@ArgsType()
class EventFilter {
  @Field(() => String, { nullable: true })
  issuerId?: string | null
  @Field(() => String, { nullable: true })
  userId?: string | null
  @Field(() => String, { nullable: true })
  clientId?: string | null
  @Field(() => [String], { nullable: true, description: 'Only events of these types.' })
  eventTypes?: string[] | null
}

@ArgsType()
class EventTimeRangeFilter extends EventFilter {
  @Field(() => Timestamp, { nullable: true, description: 'Only events at or after this time.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'Only events before this time.' })
  before?: number | null
}

@ArgsType()
class AggregateArgs extends EventTimeRangeFilter {
  @Field(() => EventDimensionEnum, { nullable: true })
  groupBy?: Dimension | null
  @Field(() => EventIntervalEnum, { nullable: true })
  interval?: Interval | null
  @Field(() => [EventDimensionEnum], { nullable: true })
  countUnique?: Dimension[] | null
}

@ArgsType()
class EventAddedArgs extends EventFilter {
  @Field(() => ID, {
    nullable: true,
    description:
      'Start after this event, for example the last one of an earlier stream. By default, the stream starts with new events.',
  })
  after?: string | null
}

@Resolver(() => Event)
export class EventResolver {
  @Query(() => EventPage, { nullable: true, description: 'Lists the events of an account, newest first.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => EventTimeRangeFilter) filter: EventTimeRangeFilter,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listEvents(context, { accountId }, filter, page)
  }

  @Query(() => Event, { nullable: true })
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Args(() => EventPath) path: EventPath) {
    return getEvent(context, path)
  }

  @Query(() => EventAggregate, { nullable: true, description: 'Counts events by interval and group.' })
  @Scope('events', 'read')
  eventAggregate(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => AggregateArgs) request: AggregateArgs,
  ) {
    return aggregateEvents(context, { accountId }, request)
  }

  @Subscription(() => Event, {
    description:
      'Streams events shortly after they occur, as server-sent events (Accept: text/event-stream). Each event is sent once, except that a stream with `after` can repeat recent events up to that event.',
    subscribe: ({ args, context }) => {
      const { accountId, after, ...filter } = args as AccountPath & EventAddedArgs
      const requestContext = context as Context
      return streamEvents(
        requestContext,
        { accountId },
        filter,
        requestContext.stream!,
        requestContext.stream!.lastEventId ?? after,
      )
    },
  })
  @Scope('events', 'read')
  eventAdded(
    @Root() event: EventRow,
    @Args(() => AccountPath) _path: AccountPath,
    @Args(() => EventAddedArgs) _args: EventAddedArgs,
  ): EventRow {
    return event
  }

  /** This field needs no permission of its own, because a caller who can read an event can read its actor. */
  @FieldResolver(() => EventActor)
  @Authenticated()
  @InRest()
  actor(@Root() event: EventRow): EventActor {
    const actor = event.actor as unknown as EventActor
    return { ...actor, operator: actor.operator ?? false }
  }

  @FieldResolver(() => EventContext)
  context(@Root() event: EventRow): EventContext {
    const eventContext = event.context as Record<string, string | null>
    return {
      ipAddress: eventContext['ip_address'] ?? null,
      userAgent: eventContext['user_agent'] ?? null,
      requestId: eventContext['request_id'] ?? null,
      method: eventContext['method'] ?? null,
      path: eventContext['path'] ?? null,
    }
  }

  @FieldResolver(() => Timestamp, { description: 'Equals createdAt.' })
  updatedAt(@Root() event: EventRow): bigint {
    return event.createdAt
  }
}
