import { Args, Ctx, FieldResolver, Resolver, Root, Subscription } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Event as EventRow } from '../../platform/postgres/database.js'
import { AccountPath, NullableQuery, PageArgs, Scope } from '../graphql-types.js'
import {
  AggregateArgs,
  Event,
  EventActor,
  EventAddedArgs,
  EventAggregate,
  type EventContext,
  EventPage,
  EventPath,
  EventTimeRangeFilter,
} from './event.js'
import { aggregateEvents } from './event-aggregate.js'
import { getEvent, listEvents } from './event-list.js'
import { streamEvents } from './event-stream.js'

@Resolver(() => Event)
export class EventResolver {
  @NullableQuery(() => EventPage, 'Lists the events of an account, newest first.')
  @Scope('events', 'read')
  events(
    @Ctx() context: Context,
    @Args() { accountId }: AccountPath,
    @Args() filter: EventTimeRangeFilter,
    @Args() page: PageArgs,
  ) {
    return listEvents(context, { accountId }, filter, page)
  }

  @NullableQuery(() => Event, 'Returns an entry of the audit log with its changes.')
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Args() path: EventPath) {
    return getEvent(context, path)
  }

  @NullableQuery(
    () => EventAggregate,
    'Counts the events of a time range, by interval and group. The counts are exact.',
  )
  @Scope('events', 'read')
  eventAggregate(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() request: AggregateArgs) {
    return aggregateEvents(context, { accountId }, request)
  }

  @Subscription(() => Event, {
    description:
      'Streams events shortly after they occur, as server-sent events (Accept: text/event-stream). Each event is sent once, except that a stream with `after` can repeat recent events up to that event.',
    subscribe: ({ args, context }) => {
      const { accountId, after, ...filter } = args as AccountPath & EventAddedArgs
      const { stream } = context as Context
      return streamEvents(context as Context, { accountId }, filter, stream!, stream!.lastEventId ?? after)
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
