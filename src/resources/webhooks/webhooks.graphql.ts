import { Args, Ctx, FieldResolver, Mutation, Resolver, Root } from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Webhook as WebhookRow } from '../../platform/postgres/database.js'
import { loader, relatedPage } from '../../platform/postgres/loader.js'
import { CreateInput, UpdateInput } from '../declaration.js'
import {
  AccountPath,
  AdditionalScopes,
  IdempotencyKey,
  IfMatch,
  NullableQuery,
  Relation,
  RelationArgs,
  ReturnsSecret,
  Scope,
  trueAfter,
} from '../graphql-types.js'
import { listDeliveries, newestDeliveriesOf } from './deliveries.js'
import { DeliveryPage } from './delivery.js'
import { loadStatisticsSources, type WebhookStatistics, webhookStatistics } from './statistics.js'
import { Webhook, WebhookFilter, WebhookPage, WebhookPath } from './webhook.js'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
  type WebhookWithStatistics,
} from './webhooks.js'

@Resolver(() => Webhook)
export class WebhookResolver {
  @NullableQuery(() => WebhookPage, 'Lists the webhooks of an account, newest first.')
  @Scope('webhooks', 'read')
  webhooks(@Ctx() context: Context, @Args() { accountId }: AccountPath, @Args() filter: WebhookFilter) {
    return listWebhooks(context, { accountId }, filter)
  }

  @NullableQuery(() => Webhook, 'Returns a webhook without its secrets; null with an error for a deleted webhook.')
  @Scope('webhooks', 'read')
  webhook(@Ctx() context: Context, @Args() path: WebhookPath) {
    return getWebhook(context, path)
  }

  @Mutation(() => Webhook, {
    description:
      'Creates a webhook. Only this response contains its secrets. Also requires the scope `events:read`, because the receiver learns the events.',
  })
  @IdempotencyKey()
  @Scope('webhooks', 'write')
  @AdditionalScopes('events:read')
  @ReturnsSecret(({ auth }) => (auth === 'none' ? 'plain' : 'never'))
  createWebhook(@Ctx() context: Context, @Args() path: AccountPath, @CreateInput(Webhook) input: object) {
    return createWebhook(context, path, input)
  }

  @Mutation(() => Webhook, {
    description:
      'Changes the given fields of a webhook. Only this response contains new secrets. Another host of the URL replaces the bearer token.',
  })
  @Scope('webhooks', 'write')
  @ReturnsSecret()
  updateWebhook(
    @Ctx() context: Context,
    @Args() path: WebhookPath,
    @UpdateInput(Webhook) input: object,
    @IfMatch() ifMatch?: string | null,
  ) {
    return updateWebhook(context, path, input, ifMatch)
  }

  @Mutation(() => Boolean, { description: 'Deletes a webhook and cancels its pending deliveries.' })
  @Scope('webhooks', 'delete')
  deleteWebhook(@Ctx() context: Context, @Args() path: WebhookPath, @IfMatch() ifMatch?: string | null) {
    return trueAfter(deleteWebhook(context, path, ifMatch))
  }

  @FieldResolver()
  eventTypes(@Root() { eventTypes }: WebhookRow): string[] | null {
    return eventTypes.length === 0 ? null : eventTypes
  }

  @FieldResolver()
  async stats(@Ctx() context: Context, @Root() row: WebhookRow | WebhookWithStatistics): Promise<WebhookStatistics> {
    return webhookStatistics('dailyCounts' in row ? row : await loader(context, loadStatisticsSources).load(row.id))
  }

  @Relation(() => DeliveryPage, 'The deliveries to the webhook, newest first.')
  @Scope('webhooks', 'read')
  deliveries(@Ctx() context: Context, @Root() { accountId, id }: WebhookRow, @Args() page: RelationArgs) {
    return relatedPage(context, page, id, newestDeliveriesOf, () =>
      listDeliveries(context, { accountId, webhookId: id }, page),
    )
  }
}
