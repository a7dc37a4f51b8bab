import { ArgsType, Field, ID, InputType, Int, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { AccountId, CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { enumType, inputRulesOf, Property, pageOf } from '../declaration.js'
import { PageArgs, Timestamp } from '../graphql-types.js'
import { WebhookPath } from './webhook.js'

export const DeliveryStatus = enumType('WebhookDeliveryStatus', 'The progress of a delivery.', {
  pending: 'Waits for its first attempt.',
  delivering: 'An attempt is in progress.',
  delivered: 'The receiver accepted the event.',
  failing: 'All attempts so far failed. The next attempt is planned.',
  failed:
    'There are no more attempts: all have failed, the event is past its retention period, or the webhook was deleted.',
})

export const DeliveryFilterStatus = enumType(
  'WebhookDeliveryFilterStatus',
  'The outcomes by which deliveries can be selected.',
  {
    success: 'Deliveries with the status `delivered`.',
    failed: 'Deliveries with the status `failed`. Lists also contain those with the status `failing`.',
  },
)
export type DeliveryFilterStatus = keyof typeof DeliveryFilterStatus

const AttemptAt = (description: string) =>
  Property(() => Timestamp, { description, example: 1763900000000, nullable: true })

@ObjectType({
  description: 'The delivery of an event to a webhook, with its status and attempts. It is kept for 14 days.',
})
export class WebhookDelivery {
  @Id('delivery', 'dlv_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @Property(() => ID, {
    description: 'The webhook that receives the event.',
    example: 'whk_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  readonly webhookId!: string
  @Property(() => ID, {
    description: 'The event, which has the same id in repeated deliveries, so that the receiver can recognize it.',
    example: 'evt_01kb3w8hxv6k8y1f4sn0q3a7pd',
  })
  readonly eventId!: string
  @Property(() => String, {
    description: 'The event type, or `webhook.test` for a test event.',
    example: 'user.created',
  })
  readonly eventType!: string
  @Property(() => DeliveryStatus, { description: 'The progress of the delivery.', example: 'delivered' })
  readonly status!: keyof typeof DeliveryStatus
  @Property(() => Int, { description: 'The number of attempts so far.', example: 1 })
  readonly attemptCount!: number
  @Property(() => Int, {
    description: 'The HTTP status of the response to the latest attempt. Null without a response.',
    example: 200,
    nullable: true,
  })
  readonly lastResponseStatus!: number | null
  @Property(() => String, {
    description: 'Why the latest attempt failed. Null if it succeeded or if there was none.',
    example: 'The receiver did not respond in time.',
    nullable: true,
  })
  readonly lastError!: string | null
  @AttemptAt('When the first attempt started, in Unix milliseconds. Null before it.')
  readonly firstAttemptAt!: number | null
  @AttemptAt('When the latest attempt started, in Unix milliseconds. Null before the first attempt.')
  readonly lastAttemptAt!: number | null
  @AttemptAt('When the next attempt is due, in Unix milliseconds. Null if there are no more attempts.')
  readonly nextAttemptAt!: number | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const DeliveryPage = pageOf(WebhookDelivery, 'DeliveryPage')

@InputType({ description: 'Which deliveries of a webhook to repeat.' })
export class RedeliverInput {
  @Property(() => Timestamp, {
    description: 'Only deliveries that were created at or after this time, in Unix milliseconds.',
    example: 1763900000000,
    rule: fieldSchemas.timestamp,
  })
  after!: number
  @Property(() => Timestamp, {
    description: 'Only deliveries that were created before this time, in Unix milliseconds. The default is now.',
    example: 1763986400000,
    nullable: true,
    rule: fieldSchemas.timestamp.nullable(),
  })
  before?: number | null
  @Property(() => DeliveryFilterStatus, {
    description: 'Which finished deliveries to repeat. The default is `failed`.',
    example: 'failed',
    nullable: true,
    rule: fieldSchemas.oneOf(['success', 'failed']).nullable(),
  })
  status?: DeliveryFilterStatus | null
}

@ObjectType({ description: 'The result of repeating deliveries.' })
export class Redelivery {
  @Property(() => Int, { description: 'The number of events that are delivered again.', example: 12 })
  count!: number
}

export const redeliverRules = inputRulesOf(RedeliverInput)

@ArgsType()
export class DeliveryPath extends WebhookPath {
  @Field(() => ID, { description: 'The id of the delivery.' })
  deliveryId!: string
}

@ArgsType()
export class DeliveryFilter extends PageArgs {
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
