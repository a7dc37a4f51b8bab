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
import type { Event as EventRow } from '../../platform/database.js'
import { AccountPlace, Authenticated, enumOf, JSONObject, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import { type AggregateRow, aggregateEvents, type Interval, intervals } from './aggregate.js'
import { type Dimension, dimensions } from './counting.js'
import { followEvents } from './following.js'
import { getEvent, listEvents } from './listing.js'

const authTypes = ['user', 'client', 'token', 'api_key', 'system', 'unauthenticated'] as const
export const AuthTypeEnum = enumOf(authTypes)
registerEnumType(AuthTypeEnum, { name: 'AuthType' })
export const EventDimensionEnum = enumOf(dimensions)
registerEnumType(EventDimensionEnum, { name: 'EventDimension' })
export const EventIntervalEnum = enumOf(intervals)
registerEnumType(EventIntervalEnum, { name: 'EventInterval', description: 'In UTC; weeks begin on Monday.' })

@ObjectType({ description: 'Who did it.' })
class EventActor {
  @Field(() => String, { description: 'api_key, user, client, agent, personal_token, system or unauthenticated.' })
  type!: string
  @Field(() => ID, { nullable: true })
  id!: string | null
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => Boolean, { description: 'An operator of this deployment, on an account of somebody else.' })
  operator!: boolean
}

@ObjectType({ description: 'What it was done to.' })
class EventTarget {
  @Field(() => String)
  type!: string
  @Field(() => ID)
  id!: string
}

@ObjectType({ description: 'The request that it was done with.' })
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

@ObjectType({ description: 'One entry of the audit trail (spec 6.1).' })
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
      'By field, as /v1 names it: `{old, new}`, or `"changed"` for a secret that was replaced and for text that no event shows.',
  })
  changes!: object
  @Field(() => Timestamp)
  createdAt!: number
}

@ObjectType()
export class EventPage extends pageType(Event) {}

@ObjectType()
class EventCountRow {
  @Field(() => String, { nullable: true, description: 'The value of the group; null without groupBy.' })
  key!: string | null
  @Field(() => Int)
  count!: number
  @Field(() => JSONObject, { nullable: true, description: 'How many different values each dimension has.' })
  uniques!: Record<string, number> | null
}

@ObjectType()
class EventBucket {
  @Field(() => Timestamp, { nullable: true, description: 'When the interval begins; null without one.' })
  ts!: number | null
  @Field(() => [EventCountRow])
  rows!: AggregateRow[]
}

@ObjectType({ description: 'Counts of events (spec 4.14).' })
class EventAggregate {
  @Field(() => EventIntervalEnum, { nullable: true })
  interval!: Interval | null
  @Field(() => EventDimensionEnum, { nullable: true })
  groupBy!: Dimension | null
  @Field(() => [EventBucket])
  buckets!: EventBucket[]
}

@ArgsType()
class EventPlace extends AccountPlace {
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
  @Field(() => [String], { nullable: true, description: 'Any of these types.' })
  eventTypes?: string[] | null
}

@ArgsType()
class EventSpan extends EventFilter {
  @Field(() => Timestamp, { nullable: true, description: 'The first moment that counts.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'The first moment that counts no more.' })
  before?: number | null
}

@ArgsType()
class AggregateArgs extends EventSpan {
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
    description: 'Begin after this event of an earlier stream; else with what happens from now on.',
  })
  after?: string | null
}

@Resolver(() => Event)
export class EventResolver {
  @Query(() => EventPage, { description: 'Newest first.' })
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => EventSpan) filter: EventSpan,
    @Args(() => PageArgs) page: PageArgs,
  ) {
    return listEvents(context, { accountId }, filter, page)
  }

  @Query(() => Event)
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Args(() => EventPlace) place: EventPlace) {
    return getEvent(context, place)
  }

  @Query(() => EventAggregate, { description: 'How many events there are, by interval and group.' })
  @Scope('events', 'read')
  eventAggregate(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => AggregateArgs) request: AggregateArgs,
  ) {
    return aggregateEvents(context, { accountId }, request)
  }

  @Subscription(() => Event, {
    description: 'Each event once, soon after it has happened, as Server-Sent Events (Accept: text/event-stream).',
    subscribe: ({ args, context }) => {
      const { accountId, after, ...filter } = args as AccountPlace & EventAddedArgs
      const inside = context as Context
      return followEvents(inside, { accountId }, filter, inside.stream!, inside.stream!.lastEventId ?? after)
    },
  })
  @Scope('events', 'read')
  eventAdded(
    @Root() event: EventRow,
    @Args(() => AccountPlace) _place: AccountPlace,
    @Args(() => EventAddedArgs) _args: EventAddedArgs,
  ): EventRow {
    return event
  }

  /** A part of the event: whoever may have it may have it whole. */
  @FieldResolver(() => EventActor)
  @Authenticated()
  actor(@Root() event: EventRow): EventActor {
    const actor = event.actor as unknown as EventActor
    return { ...actor, operator: actor.operator ?? false }
  }

  @FieldResolver(() => EventContext)
  context(@Root() event: EventRow): EventContext {
    const facts = event.context as Record<string, string | null>
    return {
      ipAddress: facts['ip_address'] ?? null,
      userAgent: facts['user_agent'] ?? null,
      requestId: facts['request_id'] ?? null,
      method: facts['method'] ?? null,
      path: facts['path'] ?? null,
    }
  }

  @FieldResolver(() => Timestamp, { description: 'An event never changes: createdAt.' })
  updatedAt(@Root() event: EventRow): bigint {
    return event.createdAt
  }
}
