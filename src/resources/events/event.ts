import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import type { ActorType as ActorTypeName, AuthType as AuthTypeName } from '../../kernel/context.js'
import { AccountId, CreatedAt, Id, IssuerId, OrgId } from '../common-properties.js'
import { enumType, Property, pageOf } from '../declaration.js'
import { AccountPath, JSONObject, Timestamp } from '../graphql-types.js'
import { eventCatalog } from './event-catalog.js'
import type { Dimension } from './event-counts.js'

export const ActorType = enumType<ActorTypeName>('ActorType', 'The types of principals that cause changes.', {
  api_key: 'An API key of an account or an organization.',
  user: 'A user, who signed in to the console or to an application.',
  client: 'A client that acts for itself, for example with the client credentials grant.',
  agent: 'An agent.',
  personal_token: 'A personal token, with which a script acts for a user.',
  initial_access_token: 'An initial access token, with which a client registered itself.',
  system: 'Gatehouse itself, for example a background job or a command.',
  unauthenticated: 'A caller that is not signed in.',
})

export const AuthType = enumType<AuthTypeName>('AuthType', 'How the actor of an event was authenticated.', {
  user: 'With an access token of a user.',
  client: 'As a client or an agent.',
  token: 'With a personal token or an initial access token.',
  api_key: 'With an API key.',
  system: 'Not at all, because Gatehouse itself acted.',
  unauthenticated: 'Not at all, for example in a failed sign-in.',
})

export const EventTargetType = enumType('EventTargetType', 'The types of resources that events are about.', {
  account: 'An account.',
  agent: 'An agent.',
  agent_verifier: 'A credential of an agent.',
  api_key: 'An API key of an account or an organization.',
  auth_method: 'An authentication method of an issuer.',
  client: 'A client.',
  domain: 'A custom domain.',
  initial_access_token: 'An initial access token for dynamic client registration.',
  issuer: 'An issuer.',
  ledger_entry: 'An entry of the credit ledger of an account.',
  note: 'A note.',
  organization: 'An organization.',
  organization_group: 'A group of an organization.',
  organization_invitation: 'An invitation to an organization.',
  organization_membership: 'The membership of a user in an organization.',
  payment_method: 'A payment method of an account.',
  personal_token: 'A personal token of a user.',
  session: 'A session of a user at a client.',
  token: 'An access token or a refresh token.',
  user: 'A user.',
  verifier: 'A credential of a user.',
  webhook: 'A webhook.',
})

export const EventDimension = enumType<Dimension>('EventDimension', 'Properties by which events can be counted.', {
  type: 'The event type.',
  auth_type: 'How the actor was authenticated.',
  issuer_id: 'The issuer.',
  user_id: 'The user that the event is about.',
  client_id: 'The client.',
  org_id: 'The organization.',
  agent_id: 'The agent.',
})

export const EventInterval = enumType('EventInterval', 'Intervals in UTC.', {
  hour: 'Hours.',
  day: 'Days, from midnight.',
  week: 'Weeks, which start on Monday.',
})
export type Interval = keyof typeof EventInterval

@ObjectType({ description: 'The principal that caused an event.' })
export class EventActor {
  @Property(() => ActorType, { description: 'The type of the principal.', example: 'api_key' })
  type!: ActorTypeName
  @Property(() => ID, {
    description: 'The id of the principal. Null for Gatehouse itself and for a caller that is not signed in.',
    example: 'ak_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  id!: string | null
  @Property(() => String, {
    description: 'The name of the principal at the time of the event. Null if it has none or if it was erased.',
    example: 'Deployment pipeline',
    nullable: true,
  })
  name!: string | null
  @Property(() => Boolean, {
    description: 'Whether an operator of this deployment acted on an account of another tenant.',
    example: false,
  })
  operator?: boolean
}

@ObjectType({ description: 'The resource that an event is about.' })
class EventTarget {
  @Property(() => EventTargetType, { description: 'The type of the resource.', example: 'user' })
  type!: keyof typeof EventTargetType
  @Property(() => ID, {
    description: 'The id of the resource, which may have been deleted since.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  id!: string
}

const contextValue = (description: string, example: string) =>
  Property(() => String, { description: `${description} Null if it is not known.`, example, nullable: true })

@ObjectType({ description: 'The request that caused an event. All fields are null if a background job caused it.' })
export class EventContext {
  @contextValue('The IP address of the caller.', '203.0.113.7')
  ipAddress!: string | null
  @contextValue('The user agent of the caller.', 'Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Firefox/145.0')
  userAgent!: string | null
  @Property(() => ID, {
    description: 'The id of the request, as in the header `X-Request-Id` of its response and in logs.',
    example: 'req_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  requestId!: string | null
  @contextValue('The HTTP method.', 'PATCH')
  method!: string | null
  @contextValue('The path of the request.', '/v1/accounts/acc_01kb3w8hxv6k8y1f4sn0q3a7pd')
  path!: string | null
}

@ObjectType({ description: 'An entry of the audit log of an account. Events cannot be changed.' })
export class Event {
  @Id('event', 'evt_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => String, {
    description: 'The event type. docs/reference/events.md lists all event types.',
    example: 'user.created',
    values: { name: 'EventType', values: Object.keys(eventCatalog) },
  })
  readonly type!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId({ description: 'The issuer that the event concerns.', nullable: true })
  readonly issuerId!: string | null
  @OrgId({ description: 'The organization that the event concerns.', nullable: true })
  readonly orgId!: string | null
  @Property(() => ID, {
    description: 'The user that the event concerns. The user who caused the event is in `actor`.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly userId!: string | null
  @Property(() => ID, {
    description: 'The client that the event concerns.',
    example: 'cli_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly clientId!: string | null
  @Property(() => ID, {
    description: 'The agent that the event concerns.',
    example: 'agt_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly agentId!: string | null
  @Property(() => ID, {
    description: 'The session that the event concerns.',
    example: 'ses_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly sessionId!: string | null
  @Property(() => AuthType, { description: 'How the actor was authenticated.', example: 'api_key' })
  readonly authType!: AuthTypeName
  @Property(() => EventActor, { description: 'The principal that caused the event.' })
  readonly actor!: EventActor
  @Property(() => EventTarget, { description: 'The resource that the event is about.' })
  readonly target!: EventTarget
  @Property(() => EventContext, { description: 'The request that caused the event.' })
  readonly context!: EventContext
  @Property(() => JSONObject, {
    description: 'Further values, with REST names. They depend on the event type and never contain a secret.',
    example: { status: 'active' },
  })
  readonly data!: object
  @Property(() => JSONObject, {
    description:
      'Changed fields by REST name: `{old, new}`, or `"changed"` for a new secret and for values that events do not store.',
    example: { name: { old: 'Shop', new: 'Web shop' } },
  })
  readonly changes!: object
  @CreatedAt()
  readonly createdAt!: number
  @Property(() => Timestamp, { description: 'Equals `createdAt`.', example: 1763900000000 })
  readonly updatedAt!: number
}

export const EventPage = pageOf(Event)

@ObjectType({ description: 'The number of events of one group.' })
class EventCountRow {
  @Property(() => String, {
    description: 'The value of the dimension `groupBy` that the events have in common. Null without `groupBy`.',
    example: 'user.created',
    nullable: true,
  })
  key!: string | null
  @Property(() => Int, { description: 'The number of events.', example: 42 })
  count!: number
  @Property(() => JSONObject, {
    description: 'The number of distinct values of each dimension in `countUnique`. Null without `countUnique`.',
    example: { user_id: 17 },
    nullable: true,
  })
  uniques!: Record<string, number> | null
}

@ObjectType({ description: 'The event counts of one interval.' })
class EventBucket {
  @Property(() => Timestamp, {
    description: 'The start of the interval, in Unix milliseconds. Null without `interval`.',
    example: 1763856000000,
    nullable: true,
  })
  ts!: number | null
  @Property(() => [EventCountRow], { description: 'The counts of the groups, the largest first.' })
  rows!: EventCountRow[]
}

@ObjectType({ description: 'Event counts by interval and group.' })
export class EventAggregate {
  @Property(() => EventInterval, { description: 'The interval of the request.', example: 'day', nullable: true })
  interval!: Interval | null
  @Property(() => EventDimension, { description: 'The dimension of the request.', example: 'type', nullable: true })
  groupBy!: Dimension | null
  @Property(() => [EventBucket], {
    description: 'The intervals with events, in order. Without `interval`, one bucket with all events.',
  })
  buckets!: EventBucket[]
}

@ArgsType()
export class EventPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the event.' })
  eventId!: string
}

/** Conditions that events must match; null and undefined mean no condition. */
@ArgsType()
export class EventFilter {
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
export class EventTimeRangeFilter extends EventFilter {
  @Field(() => Timestamp, { nullable: true, description: 'Only events at or after this time.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'Only events before this time.' })
  before?: number | null
}

@ArgsType()
export class AggregateArgs extends EventTimeRangeFilter {
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
export class EventAddedArgs extends EventFilter {
  @Field(() => ID, {
    nullable: true,
    description:
      'Start after this event, for example the last one of an earlier stream. By default, the stream starts with new events.',
  })
  after?: string | null
}
