import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import { AccountPlace, enumOf, PageArgs, pageType, Scope, Timestamp } from '../graphql.js'
import {
  type DeliveryFilterStatus,
  deliveryFilters,
  deliveryStatuses,
  listDeliveries,
  redeliver,
  redeliverSpan,
  testWebhook,
} from './deliveries.js'

export const DeliveryStatusEnum = enumOf(deliveryStatuses)
registerEnumType(DeliveryStatusEnum, { name: 'WebhookDeliveryStatus' })
export const DeliveryFilterStatusEnum = enumOf(deliveryFilters)
registerEnumType(DeliveryFilterStatusEnum, {
  name: 'WebhookDeliveryFilterStatus',
  description: '`failed` finds what is still tried again as well.',
})

@ObjectType({ description: 'That an event goes to a webhook, and how far it is (spec 2.15). Kept 14 days.' })
export class WebhookDelivery {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => ID)
  webhookId!: string
  @Field(() => ID)
  eventId!: string
  @Field(() => String)
  eventType!: string
  @Field(() => DeliveryStatusEnum)
  status!: (typeof deliveryStatuses)[number]
  @Field(() => Int)
  attemptCount!: number
  @Field(() => Int, { nullable: true })
  lastResponseStatus!: number | null
  @Field(() => String, { nullable: true })
  lastError!: string | null
  @Field(() => Timestamp, { nullable: true })
  firstAttemptAt!: number | null
  @Field(() => Timestamp, { nullable: true })
  lastAttemptAt!: number | null
  @Field(() => Timestamp, { nullable: true })
  nextAttemptAt!: number | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class DeliveryPage extends pageType(WebhookDelivery) {}

@ArgsType()
class DeliveriesPlace extends AccountPlace {
  @Field(() => ID)
  webhookId!: string
}

@ArgsType()
class DeliveryPlace extends DeliveriesPlace {
  @Field(() => ID)
  deliveryId!: string
}

@ArgsType()
class DeliveryFilter extends PageArgs {
  @Field(() => String, { nullable: true })
  eventType?: string | null
  @Field(() => DeliveryFilterStatusEnum, { nullable: true })
  status?: DeliveryFilterStatus | null
  @Field(() => Timestamp, { nullable: true, description: 'The first moment that counts.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'The first moment that counts no more.' })
  before?: number | null
}

@InputType()
class RedeliverInput {
  @Field(() => Timestamp, { description: 'The first moment that counts.' })
  after!: number
  @Field(() => Timestamp, { nullable: true, description: 'The first moment that counts no more; now if not given.' })
  before?: number | null
  @Field(() => DeliveryFilterStatusEnum, { nullable: true, description: 'failed if not given.' })
  status?: DeliveryFilterStatus | null
}

@ObjectType()
class Redelivery {
  @Field(() => Int, { description: 'How many events are delivered again.' })
  count!: number
}

@Resolver(() => WebhookDelivery)
export class WebhookDeliveryResolver {
  @Query(() => DeliveryPage, { description: 'Newest first.' })
  @Scope('webhooks', 'read')
  webhookDeliveries(
    @Ctx() context: Context,
    @Args(() => DeliveriesPlace) place: DeliveriesPlace,
    @Args(() => DeliveryFilter) filter: DeliveryFilter,
  ) {
    return listDeliveries(context, place, filter, filter)
  }

  @Mutation(() => WebhookDelivery, {
    description: 'Delivers an event again, with its own id; what still waits for its next attempt is tried at once.',
  })
  @Scope('webhooks', 'write')
  redeliverWebhookDelivery(@Ctx() context: Context, @Args(() => DeliveryPlace) place: DeliveryPlace) {
    return redeliver(context, place)
  }

  @Mutation(() => Redelivery, { description: 'Delivers again what was made in a span of time and failed for good.' })
  @Scope('webhooks', 'write')
  redeliverWebhookDeliveries(
    @Ctx() context: Context,
    @Args(() => DeliveriesPlace) place: DeliveriesPlace,
    @Arg('input', () => RedeliverInput) input: RedeliverInput,
  ) {
    return redeliverSpan(context, place, input)
  }

  @Mutation(() => WebhookDelivery, {
    description: 'Sends an event of type webhook.test to this webhook, whatever it listens to.',
  })
  @Scope('webhooks', 'write')
  testWebhook(@Ctx() context: Context, @Args(() => DeliveriesPlace) place: DeliveriesPlace) {
    return testWebhook(context, place)
  }
}
