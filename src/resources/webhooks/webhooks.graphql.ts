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
import type { Webhook as WebhookRow } from '../../platform/database.js'
import { loader, pageLoader } from '../../platform/loader.js'
import {
  AccountPlace,
  AndScope,
  enumOf,
  idempotencyKeyArg,
  ifMatchArg,
  JSONObject,
  PageArgs,
  pageType,
  Scope,
  Timestamp,
} from '../graphql.js'
import { DeliveryPage } from './deliveries.graphql.js'
import { deliveriesOf } from './deliveries.js'
import { statistics, type WebhookStatistics, webhooksWithFigures } from './statistics.js'
import {
  createWebhook,
  deleteWebhook,
  getWebhook,
  listWebhooks,
  updateWebhook,
  type WebhookWithFigures,
  type WebhookWithSecrets,
  webhookFilters,
  webhookStatuses,
} from './webhooks.js'

export const WebhookStatusEnum = enumOf(webhookStatuses)
registerEnumType(WebhookStatusEnum, { name: 'WebhookStatus' })
export const WebhookFilterStatusEnum = enumOf(webhookFilters)
registerEnumType(WebhookFilterStatusEnum, {
  name: 'WebhookFilterStatus',
  description: '`active` finds the failing ones too.',
})

const AUTH = 'none, bearer, signature or bearer+signature.'

@ObjectType({ description: 'What the attempts of the last 14 days came to.' })
class WebhookStats {
  @Field(() => Float, { nullable: true, description: 'Accepted attempts of all, 0 to 1; null without any.' })
  successRate!: number | null
  @Field(() => Timestamp, { nullable: true, description: 'When an event was accepted last.' })
  lastDeliveryAt!: number | null
}

@ObjectType({ description: 'Where events of an account are sent (spec 2.15).' })
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
  @Field(() => String, { description: `How deliveries prove themselves: ${AUTH}` })
  auth!: string
  @Field(() => WebhookStatusEnum)
  status!: (typeof webhookStatuses)[number]
  @Field(() => JSONObject)
  metadata!: object
  @Field(() => String, { nullable: true, description: 'In the answer that made it and never again.' })
  bearerTokenPlain?: string | null
  @Field(() => String, { nullable: true, description: 'In the answer that made it and never again.' })
  signatureSecretPlain?: string | null
  @Field(() => Timestamp)
  createdAt!: number
  @Field(() => Timestamp)
  updatedAt!: number
}

@ObjectType()
export class WebhookPage extends pageType(Webhook) {}

@ArgsType()
export class WebhookPlace extends AccountPlace {
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
  @Field(() => String, { description: 'An https address of a public host.' })
  url!: string
  @Field(() => [String], { nullable: true, description: 'Null or absent: all.' })
  eventTypes?: string[] | null
  @Field(() => String, { nullable: true, description: `${AUTH} signature if not given.` })
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
  @Field(() => [String], { nullable: true, description: 'Null: all.' })
  eventTypes?: string[] | null
  @Field(() => String, { nullable: true, description: `${AUTH} Another one than before brings new secrets, once.` })
  auth?: string | null
  @Field(() => String, { nullable: true, description: 'active or disabled; active also ends a failing state.' })
  status?: string | null
  @Field(() => String, { nullable: true })
  name?: string | null
  @Field(() => String, { nullable: true })
  description?: string | null
  @Field(() => JSONObject, { nullable: true })
  metadata?: object | null
}

const once = ({ webhook, made }: WebhookWithSecrets) => ({
  ...webhook,
  bearerTokenPlain: made.bearer,
  signatureSecretPlain: made.signature,
})

@Resolver(() => Webhook)
export class WebhookResolver {
  @Query(() => WebhookPage)
  @Scope('webhooks', 'read')
  webhooks(
    @Ctx() context: Context,
    @Args(() => AccountPlace) { accountId }: AccountPlace,
    @Args(() => WebhookFilter) filter: WebhookFilter,
  ) {
    return listWebhooks(context, { accountId }, filter, filter)
  }

  @Query(() => Webhook)
  @Scope('webhooks', 'read')
  webhook(@Ctx() context: Context, @Args(() => WebhookPlace) place: WebhookPlace) {
    return getWebhook(context, place)
  }

  @Mutation(() => Webhook, { description: 'With its secrets, once; never replayed, unless there are none.' })
  @Scope('webhooks', 'write')
  @AndScope('events', 'read')
  async createWebhook(
    @Ctx() context: Context,
    @Args(() => AccountPlace) place: AccountPlace,
    @Arg('input', () => CreateWebhookInput) input: CreateWebhookInput,
    @Arg('idempotencyKey', () => String, idempotencyKeyArg) _idempotencyKey?: string | null,
  ) {
    return once(await createWebhook(context, place, input))
  }

  @Mutation(() => Webhook, { description: 'New secrets are in the answer, once.' })
  @Scope('webhooks', 'write')
  async updateWebhook(
    @Ctx() context: Context,
    @Args(() => WebhookPlace) place: WebhookPlace,
    @Arg('input', () => UpdateWebhookInput) input: UpdateWebhookInput,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    return once(await updateWebhook(context, place, input, ifMatch))
  }

  @Mutation(() => Boolean, { description: 'Cancels what waits.' })
  @Scope('webhooks', 'delete')
  async deleteWebhook(
    @Ctx() context: Context,
    @Args(() => WebhookPlace) place: WebhookPlace,
    @Arg('ifMatch', () => String, ifMatchArg) ifMatch?: string | null,
  ) {
    await deleteWebhook(context, place, ifMatch)
    return true
  }

  @FieldResolver(() => [String], { nullable: true, description: 'Null: all.' })
  eventTypes(@Root() { eventTypes }: WebhookRow): string[] | null {
    return eventTypes.length === 0 ? null : eventTypes
  }

  @FieldResolver(() => WebhookStats)
  async stats(@Ctx() context: Context, @Root() row: WebhookRow | WebhookWithFigures): Promise<WebhookStatistics> {
    return statistics('days' in row ? row : await loader(context, webhooksWithFigures).load(row.id))
  }

  @FieldResolver(() => DeliveryPage, { description: 'The newest deliveries; page on with `webhookDeliveries`.' })
  @Scope('webhooks', 'read')
  deliveries(
    @Ctx() context: Context,
    @Root() webhook: WebhookRow,
    @Arg('limit', () => Int, { nullable: true }) limit?: number | null,
  ) {
    return pageLoader(context, deliveriesOf, limit).load(webhook.id)
  }
}
