import { Args, Ctx, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { WebhookDelivery as DeliveryRow } from '../../platform/postgres/database.js'
import { loader } from '../../platform/postgres/loader.js'
import { Input } from '../declaration.js'
import { Event } from '../events/event.js'
import { NullableQuery, Relation, Scope } from '../graphql-types.js'
import { listDeliveries, redeliverDelivery, redeliverMany, testWebhook } from './deliveries.js'
import { DeliveryFilter, DeliveryPage, DeliveryPath, RedeliverInput, Redelivery, WebhookDelivery } from './delivery.js'
import { eventKeyOf, eventsOfDeliveries, webhooksById } from './relations.js'
import { Webhook, WebhookPath } from './webhook.js'

@Resolver(() => WebhookDelivery)
export class WebhookDeliveryResolver {
  @NullableQuery(() => DeliveryPage, 'Lists the deliveries to a webhook of the last 14 days, newest first.')
  @Scope('webhooks', 'read')
  webhookDeliveries(@Ctx() context: Context, @Args() path: WebhookPath, @Args() filter: DeliveryFilter) {
    return listDeliveries(context, path, filter)
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

  @Relation(() => Event, 'The event that is delivered. Null for a test event and after the retention period of events.')
  @Scope('events', 'read')
  event(@Ctx() context: Context, @Root() delivery: DeliveryRow) {
    return loader(context, eventsOfDeliveries).load(eventKeyOf(delivery))
  }

  @Relation(() => Webhook, 'The webhook. Null if it was deleted.')
  @Scope('webhooks', 'read')
  webhook(@Ctx() context: Context, @Root() { webhookId }: DeliveryRow) {
    return loader(context, webhooksById).load(webhookId)
  }
}
