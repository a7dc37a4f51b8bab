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
import { AccountPath, enumOf, PageArgs, pageType, Scope, Timestamp } from '../graphql-types.js'
import {
  type DeliveryFilterStatus,
  deliveryFilters,
  deliveryStatuses,
  listDeliveries,
  redeliverDelivery,
  redeliverMany,
  testWebhook,
} from './deliveries.js'

export const DeliveryStatusEnum = enumOf(deliveryStatuses)
registerEnumType(DeliveryStatusEnum, { name: 'WebhookDeliveryStatus' })
export const DeliveryFilterStatusEnum = enumOf(deliveryFilters)
registerEnumType(DeliveryFilterStatusEnum, {
  name: 'WebhookDeliveryFilterStatus',
  description: '`success` matches delivered. `failed` matches failed, and also failing, whose attempts continue.',
})

@ObjectType({
  description: 'The delivery of an event to a webhook, with its status and attempts. Kept for 14 days.',
})
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
class DeliveriesPath extends AccountPath {
  @Field(() => ID)
  webhookId!: string
}

@ArgsType()
class DeliveryPath extends DeliveriesPath {
  @Field(() => ID)
  deliveryId!: string
}

@ArgsType()
class DeliveryFilter extends PageArgs {
  @Field(() => String, { nullable: true })
  eventType?: string | null
  @Field(() => DeliveryFilterStatusEnum, { nullable: true })
  status?: DeliveryFilterStatus | null
  @Field(() => Timestamp, { nullable: true, description: 'Only deliveries created at or after this time.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'Only deliveries created before this time.' })
  before?: number | null
}

@InputType()
class RedeliverInput {
  @Field(() => Timestamp, { description: 'Only deliveries created at or after this time.' })
  after!: number
  @Field(() => Timestamp, {
    nullable: true,
    description: 'Only deliveries created before this time. The default is now.',
  })
  before?: number | null
  @Field(() => DeliveryFilterStatusEnum, {
    nullable: true,
    description: 'Which finished deliveries to repeat. The default is failed.',
  })
  status?: DeliveryFilterStatus | null
}

@ObjectType()
class Redelivery {
  @Field(() => Int, { description: 'The number of events to deliver again.' })
  count!: number
}

@Resolver(() => WebhookDelivery)
export class WebhookDeliveryResolver {
  @Query(() => DeliveryPage, { nullable: true, description: 'Lists the deliveries of a webhook, newest first.' })
  @Scope('webhooks', 'read')
  webhookDeliveries(
    @Ctx() context: Context,
    @Args(() => DeliveriesPath) path: DeliveriesPath,
    @Args(() => DeliveryFilter) filter: DeliveryFilter,
  ) {
    return listDeliveries(context, path, filter, filter)
  }

  @Mutation(() => WebhookDelivery, {
    description:
      'Delivers an event again with the same event id. A delivery that waits for its next attempt is retried immediately.',
  })
  @Scope('webhooks', 'write')
  redeliverWebhookDelivery(@Ctx() context: Context, @Args(() => DeliveryPath) path: DeliveryPath) {
    return redeliverDelivery(context, path)
  }

  @Mutation(() => Redelivery, {
    description: 'Repeats finished deliveries of a time range, by default those that failed permanently.',
  })
  @Scope('webhooks', 'write')
  redeliverWebhookDeliveries(
    @Ctx() context: Context,
    @Args(() => DeliveriesPath) path: DeliveriesPath,
    @Arg('input', () => RedeliverInput) input: RedeliverInput,
  ) {
    return redeliverMany(context, path, input)
  }

  @Mutation(() => WebhookDelivery, {
    description: 'Sends an event of type webhook.test to this webhook, regardless of its event types.',
  })
  @Scope('webhooks', 'write')
  testWebhook(@Ctx() context: Context, @Args(() => DeliveriesPath) path: DeliveriesPath) {
    return testWebhook(context, path)
  }
}
