import { ArgsType, Field, Float, ID, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Description, Id, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { AccountPath, PageArgs, Timestamp } from '../graphql-types.js'

export const WebhookStatus = enumType('WebhookStatus', 'Whether a webhook receives events.', {
  active: 'The webhook receives events.',
  failing: 'Deliveries fail repeatedly. The webhook still receives events, and becomes active when one is accepted.',
  disabled: 'The webhook receives no events.',
  deleted: 'The webhook receives no events. Lists show deleted webhooks only if they are filtered by this status.',
})

export const WebhookFilterStatus = enumType('WebhookFilterStatus', 'The statuses by which webhooks can be listed.', {
  active: 'Active and failing webhooks.',
  disabled: 'Disabled webhooks.',
  deleted: 'Webhooks that were deleted in the last 31 days.',
})
export type WebhookFilterStatus = keyof typeof WebhookFilterStatus

/** Not an enum, because names of GraphQL contain no `+`. */
const webhookAuthTypes = ['none', 'bearer', 'signature', 'bearer+signature'] as const
export type WebhookAuthType = (typeof webhookAuthTypes)[number]

const AUTH_DESCRIPTION =
  'How requests to the receiver are authenticated: `none`, `bearer` (a bearer token), `signature`, or `bearer+signature`.'

/** A secret of a webhook. */
const Secret = (description: string, example: string) =>
  Property(() => String, {
    description: `${description} Only the response of the request that creates it contains it.`,
    example,
    nullable: true,
    once: true,
  })

@ObjectType({ description: 'Statistics of the delivery attempts of a webhook.' })
export class WebhookStats {
  @Property(() => Float, {
    description: 'The share of successful attempts in the last 14 days, from 0 to 1. Null without attempts.',
    example: 0.9987,
    nullable: true,
  })
  successRate!: number | null
  @Property(() => Timestamp, {
    description: 'When the receiver last accepted an event, in Unix milliseconds. Null if it never did.',
    example: 1763900000000,
    nullable: true,
  })
  lastDeliveryAt!: number | null
}

@EventTarget('webhook')
@ObjectType({ description: 'An endpoint of yours that receives the events of an account as HTTP requests.' })
export class Webhook {
  @Id('webhook', 'whk_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @Property(() => String, {
    description: 'A name for administrators.',
    example: 'Data warehouse',
    nullable: true,
    rule: fieldSchemas.name.nullable(),
    create: 'optional',
    update: true,
  })
  name!: string | null
  @Description()
  description!: string | null
  @Property(() => String, {
    description:
      'The address that receives the events: an https URL of a public host. With ALLOW_PRIVATE_NETWORKS, http URLs and private hosts are allowed too.',
    example: 'https://example.com/gatehouse-events',
    rule: fieldSchemas.text(limits.maxUrlLength),
    create: 'required',
    update: true,
  })
  url!: string
  @Property(() => [String], {
    description: 'The event types to send. Null means all. docs/reference/events.md lists all event types.',
    example: ['user.created', 'user.deleted'],
    nullable: true,
    rule: z
      .array(
        z.string().meta({ $ref: '#/components/schemas/EventType' }),
        'must be an array of event types, or null for all.',
      )
      .nullable(),
    create: 'optional',
    update: true,
  })
  eventTypes!: string[] | null
  @Property(() => String, {
    description: `${AUTH_DESCRIPTION} It is \`signature\` by default.`,
    example: 'signature',
    values: { name: 'WebhookAuth', values: webhookAuthTypes },
    rule: fieldSchemas.oneOf(webhookAuthTypes),
    create: 'optional',
    default: 'signature',
    update: true,
    updateDescription: `${AUTH_DESCRIPTION} A change creates new secrets, which only this response contains.`,
  })
  auth!: WebhookAuthType
  @Property(() => WebhookStatus, {
    description: 'Whether the webhook receives events.',
    example: 'active',
    rule: fieldSchemas.oneOf(['active', 'disabled']),
    update: true,
    updateDescription:
      '`active` or `disabled`. Setting `active` also ends the status `failing` and closes the circuit breaker.',
  })
  status!: keyof typeof WebhookStatus
  @Property(() => WebhookStats, { description: 'Statistics of the delivery attempts.' })
  readonly stats!: WebhookStats
  @Metadata('replace')
  metadata!: object
  @Secret('The bearer token.', 'q8ZP0fC3mTnVb1x7yKd4sWjE6uRh2aLo9gIzXtQv5Nk')
  readonly bearerTokenPlain!: string | null
  @Secret('The secret that signs the requests.', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD+JqD1kV2x7M=')
  readonly signatureSecretPlain!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const WebhookPage = pageOf(Webhook)

export const createRules = createRulesOf(Webhook)
export const updateRules = updateRulesOf(Webhook)

@ArgsType()
export class WebhookPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the webhook.' })
  webhookId!: string
}

@ArgsType()
export class WebhookFilter extends PageArgs {
  @Field(() => WebhookFilterStatus, {
    nullable: true,
    description: 'Only webhooks with this status. Without it, all webhooks except deleted ones are listed.',
  })
  status?: WebhookFilterStatus | null
}
