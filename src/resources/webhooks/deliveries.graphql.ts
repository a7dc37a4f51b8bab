import { Args, ArgsType, Ctx, Field, FieldResolver, ID, Mutation, Query, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { WebhookDelivery as DeliveryRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Input } from '../declaration.js'
import { Event } from '../events/event.js'
import { PageArgs, Scope, Timestamp } from '../graphql-types.js'
import { listDeliveries, redeliverDelivery, redeliverMany, testWebhook } from './deliveries.js'
import { DeliveryFilterStatus, DeliveryPage, RedeliverInput, Redelivery, WebhookDelivery } from './delivery.js'
import { eventKeyOf, eventsOfDeliveries, webhooksById } from './relations.js'
import { Webhook } from './webhook.js'
import { WebhookPath } from './webhooks.graphql.js'

@ArgsType()
class DeliveryPath extends WebhookPath {
  @Field(() => ID, { description: 'The id of the delivery.' })
  deliveryId!: string
}

@ArgsType()
class DeliveryFilter extends PageArgs {
  @Field(() => String, {
    nullable: true,
    description: 'Only deliveries of events of this type. `webhook.test` is the type of test events.',
  })
  eventType?: string | null
  @Field(() => DeliveryFilterStatus, { nullable: true, description: 'Only deliveries with this outcome.' })
  status?: DeliveryFilterStatus | null
  @Field(() => Timestamp, { nullable: true, description: 'Only deliveries created at or after this time.' })
  after?: number | null
  @Field(() => Timestamp, { nullable: true, description: 'Only deliveries created before this time.' })
  before?: number | null
}

@Resolver(() => WebhookDelivery)
export class WebhookDeliveryResolver {
  @Query(() => DeliveryPage, {
    nullable: true,
    description: 'Lists the deliveries to a webhook of the last 14 days, newest first.',
  })
  @Scope('webhooks', 'read')
  webhookDeliveries(@Ctx() context: Context, @Args() path: WebhookPath, @Args() filter: DeliveryFilter) {
    return listDeliveries(context, path, filter, filter)
  }

  @Mutation(() => WebhookDelivery, {
    description:
      'Delivers an event again with the same event id. A delivery that waits for its next attempt is retried immediately.',
  })
  @Scope('webhooks', 'write')
  redeliverWebhookDelivery(@Ctx() context: Context, @Args() path: DeliveryPath) {
    return redeliverDelivery(context, path)
  }

  @Mutation(() => Redelivery, {
    description: 'Repeats finished deliveries of a time range, by default those that failed permanently.',
  })
  @Scope('webhooks', 'write')
  redeliverWebhookDeliveries(@Ctx() context: Context, @Args() path: WebhookPath, @Input(RedeliverInput) input: object) {
    return redeliverMany(context, path, input)
  }

  @Mutation(() => WebhookDelivery, {
    description: 'Sends an event of type webhook.test to this webhook, regardless of its event types.',
  })
  @Scope('webhooks', 'write')
  testWebhook(@Ctx() context: Context, @Args() path: WebhookPath) {
    return testWebhook(context, path)
  }

  @FieldResolver(() => Event, {
    nullable: true,
    description: 'The event that is delivered. Null for a test event and after the retention period of events.',
  })
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Root() delivery: DeliveryRow) {
    return loader(context, eventsOfDeliveries).load(eventKeyOf(delivery))
  }

  @FieldResolver(() => Webhook, { nullable: true, description: 'The webhook. Null if it was deleted.' })
  @Scope('webhooks', 'read')
  webhook(@Ctx() context: Context, @Root() { webhookId }: DeliveryRow) {
    return loader(context, webhooksById).load(webhookId)
  }
}
