import { Args, ArgsType, Ctx, Field, FieldResolver, ID, Query, Resolver, Root, Subscription } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Event as EventRow } from '../../platform/postgres/database.js'
import { AccountPath, PageArgs, Scope, Timestamp } from '../graphql-types.js'
import {
  Event,
  EventActor,
  EventAggregate,
  type EventContext,
  EventDimension,
  EventInterval,
  EventPage,
  type Interval,
} from './event.js'
import { aggregateEvents } from './event-aggregate.js'
import type { Dimension } from './event-counts.js'
import { getEvent, listEvents } from './event-list.js'
import { streamEvents } from './event-stream.js'

@ArgsType()
class EventPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the event.' })
  eventId!: string
}

@ArgsType()
class EventFilter {
  @Field(() => ID, { nullable: true, description: 'Only events that concern this issuer.' })
  issuerId?: string | null
  @Field(() => ID, { nullable: true, description: 'Only events that concern this user.' })
  userId?: string | null
  @Field(() => ID, { nullable: true, description: 'Only events that concern this client.' })
  clientId?: string | null
  @Field(() => [String], {
    nullable: true,
    description: 'Only events of these types. docs/reference/events.md lists all event types.',
  })
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
  @Field(() => EventDimension, {
    nullable: true,
    description: 'Counts the events of each value of this dimension. Events without a value are not counted.',
  })
  groupBy?: Dimension | null
  @Field(() => EventInterval, {
    nullable: true,
    description: 'Counts the events of each interval. Without it, the whole time range is counted.',
  })
  interval?: Interval | null
  @Field(() => [EventDimension], {
    nullable: true,
    description: 'Also counts the distinct values of these dimensions, for example how many users signed in.',
  })
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
    @Args() { accountId }: AccountPath,
    @Args() filter: EventTimeRangeFilter,
    @Args() page: PageArgs,
  ) {
    return listEvents(context, { accountId }, filter, page)
  }

  @Query(() => Event, { nullable: true, description: 'Returns an entry of the audit log with its changes.' })
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Args() path: EventPath) {
    return getEvent(context, path)
  }

  @Query(() => EventAggregate, {
    nullable: true,
    description: 'Counts the events of a time range, by interval and group. The counts are exact.',
  })
  @Scope('events', 'read')
  eventAggregate(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() request: AggregateArgs) {
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
  eventAdded(@Root() event: EventRow, @Args() _path: AccountPath, @Args() _args: EventAddedArgs): EventRow {
    return event
  }

  @FieldResolver()
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

  @FieldResolver()
  updatedAt(@Root() event: EventRow): bigint {
    return event.createdAt
  }
}

@Resolver(() => EventActor)
export class EventActorResolver {
  @FieldResolver()
  operator(@Root() actor: EventActor): boolean {
    return actor.operator ?? false
  }
}
