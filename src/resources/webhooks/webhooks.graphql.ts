import {
  Arg,
  Args,
  ArgsType,
  Ctx,
  Field,
  FieldResolver,
  Float,
  ID,
  InputType,
  Int,
  Mutation,
  ObjectType,
  Query,
  Resolver,
  Root,
  registerEnumType,
} from 'type-graphql'
import type { Context } from '../../platform/context.js'
import type { Webhook as WebhookRow } from '../../platform/postgres/database.js'
import { loader, pageLoader } from '../../platform/postgres/loader.js'
import {
  AccountPath,
  AdditionalScope,
  enumOf,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  Once,
  PageArgs,
  pageType,
  ReturnsSecret,
  Scope,
  Timestamp,
} from '../graphql-types.js'
import { DeliveryPage } from './deliveries.graphql.js'
import { newestDeliveriesOf } from './deliveries.js'
import { loadStatisticsSources, type WebhookStatistics, webhookStatistics } from './statistics.js'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
  type WebhookWithSecrets,
  type WebhookWithStatistics,
  webhookFilters,
  webhookStatuses,
} from './webhooks.js'

export const WebhookStatusEnum = enumOf(webhookStatuses)
registerEnumType(WebhookStatusEnum, { name: 'WebhookStatus' })
export const WebhookFilterStatusEnum = enumOf(webhookFilters)
registerEnumType(WebhookFilterStatusEnum, {
  name: 'WebhookFilterStatus',
  description: '`active` also matches failing webhooks.',
})

const AUTH_DESCRIPTION = 'none, bearer, signature or bearer+signature.'

@ObjectType({ description: 'Statistics of the delivery attempts.' })
class WebhookStats {
  @Field(() => Float, {
    nullable: true,
    description: 'The share of successful attempts in the last 14 days, from 0 to 1; null without attempts.',
  })
  successRate!: number | null
  @Field(() => Timestamp, {
    nullable: true,
    description: 'When the receiver last accepted an event; null if it never did.',
  })
  lastDeliveryAt!: number | null
}

@ObjectType({ description: 'An endpoint that receives events of an account.' })
export class Webhook {
  @Field(() => ID)
  id!: string
  @Field(() => ID)
  accountId!: string
  @Field(() => String, { nullable: true })
  name!: string | null
  @Field(() => String, { nullable: true })
  description!: string | null
  @Field(() => String)
  url!: string
  @Field(() => String, { description: `How deliveries are authenticated: ${AUTH_DESCRIPTION}` })
  auth!: string
  @Field(() => WebhookStatusEnum)
  status!: (typeof webhookStatuses)[number]
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => String, {
    nullable: true,
    description: 'The bearer token. Shown once, in the response that creates it.',
  })
  @Once()
  bearerTokenPlain?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'The signing secret. Shown once, in the response that creates it.',
  })
  @Once()
  signatureSecretPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class WebhookPage extends pageType(Webhook) {}

@ArgsType()
export class WebhookPath extends AccountPath {
  @Field(() => ID)
  webhookId!: string
}

@ArgsType()
class WebhookFilter extends PageArgs {
  @Field(() => WebhookFilterStatusEnum, { nullable: true })
  status?: (typeof webhookFilters)[number] | null
}

@InputType()
class CreateWebhookInput {
  @Field(() => String, {
    description:
      'An https URL of a public host. With ALLOW_PRIVATE_NETWORKS, http URLs and private hosts are allowed too.',
  })
  url!: string
  @Field(() => [String], { nullable: true, description: 'The event types to send. Null or absent means all.' })
  eventTypes?: string[] | null
  @Field(() => String, { nullable: true, description: `${AUTH_DESCRIPTION} The default is signature.` })
  auth?: string | null
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

@InputType()
class UpdateWebhookInput {
  @Field(() => String, { nullable: true })
  url?: string | null
  @Field(() => [String], { nullable: true, description: 'The event types to send. Null means all.' })
  eventTypes?: string[] | null
  @Field(() => String, {
    nullable: true,
    description: `${AUTH_DESCRIPTION} A change creates new secrets, which the response contains once.`,
  })
  auth?: string | null
  @Field(() => String, {
    nullable: true,
    description: 'active or disabled. Setting active also ends the status failing and closes the circuit breaker.',
  })
  status?: string | null
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

const withOneTimeSecrets = ({ webhook, createdSecrets }: WebhookWithSecrets) => ({
  ...webhook,
  bearerTokenPlain: createdSecrets.bearer,
  signatureSecretPlain: createdSecrets.signature,
})

@Resolver(() => Webhook)
export class WebhookResolver {
  @Query(() => WebhookPage, { nullable: true })
  @Scope('webhooks', 'read')
  webhooks(
    @Ctx() context: Context,
    @Args(() => AccountPath) { accountId }: AccountPath,
    @Args(() => WebhookFilter) filter: WebhookFilter,
  ) {
    return listWebhooks(context, { accountId }, filter, filter)
  }

  @Query(() => Webhook, { nullable: true })
  @Scope('webhooks', 'read')
  webhook(@Ctx() context: Context, @Args(() => WebhookPath) path: WebhookPath) {
    return getWebhook(context, path)
  }

  @Mutation(() => Webhook, {
    description:
      'Creates a webhook. Its secrets are shown once. If it has secrets, a repeated request with the same Idempotency-Key runs again.',
  })
  @Scope('webhooks', 'write')
  @AdditionalScope('events', 'read')
  @ReturnsSecret(({ auth }) => (auth === 'none' ? 'plain' : 'never'))
  async createWebhook(
    @Ctx() context: Context,
    @Args(() => AccountPath) path: AccountPath,
    @Arg('input', () => CreateWebhookInput) input: CreateWebhookInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return withOneTimeSecrets(await createWebhook(context, path, input))
  }

  @Mutation(() => Webhook, {
    description: 'Updates a webhook. New secrets are shown once.',
  })
  @Scope('webhooks', 'write')
  @ReturnsSecret()
  async updateWebhook(
    @Ctx() context: Context,
    @Args(() => WebhookPath) path: WebhookPath,
    @Arg('input', () => UpdateWebhookInput) input: UpdateWebhookInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return withOneTimeSecrets(await updateWebhook(context, path, input, ifMatch))
  }

  @Mutation(() => Boolean, { description: 'Deletes a webhook and cancels its pending deliveries.' })
  @Scope('webhooks', 'delete')
  async deleteWebhook(
    @Ctx() context: Context,
    @Args(() => WebhookPath) path: WebhookPath,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteWebhook(context, path, ifMatch)
    return true
  }

  @FieldResolver(() => [String], { nullable: true, description: 'The event types to send. Null means all.' })
  eventTypes(@Root() { eventTypes }: WebhookRow): string[] | null {
    return eventTypes.length === 0 ? null : eventTypes
  }

  @FieldResolver(() => WebhookStats)
  async stats(@Ctx() context: Context, @Root() row: WebhookRow | WebhookWithStatistics): Promise<WebhookStatistics> {
    return webhookStatistics('dailyCounts' in row ? row : await loader(context, loadStatisticsSources).load(row.id))
  }

  @FieldResolver(() => DeliveryPage, {
    nullable: true,
    description: 'The newest deliveries. Use `webhookDeliveries` for more pages.',
  })
  @Scope('webhooks', 'read')
  deliveries(
    @Ctx() context: Context,
    @Root() webhook: WebhookRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, newestDeliveriesOf, limit).load(webhook.id)
  }
}
