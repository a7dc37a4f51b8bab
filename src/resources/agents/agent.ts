import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { IssuerPath, SearchablePageArgs } from '../graphql-types.js'
import { AgentVerifierType } from './verifier.js'

export const AgentStatus = enumType('AgentStatus', 'Whether an agent can authenticate.', {
  active: 'The agent can authenticate.',
  suspended: 'The agent cannot authenticate until it is active again.',
  blocked: 'The agent can never authenticate again.',
})
export type AgentStatus = keyof typeof AgentStatus

const text = (maxLength?: number) =>
  ({
    nullable: true,
    rule: fieldSchemas.text(maxLength).nullable(),
    create: 'optional',
    update: true,
  }) as const

@EventTarget('agent')
@ObjectType({ description: 'An autonomous program with its own identity at an issuer.' })
export class Agent {
  @Id('agent', 'agt_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => String, {
    description: 'The name.',
    example: 'Invoice assistant',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Description()
  description!: string | null
  @Property(() => String, {
    description: 'The AI model of the agent, a label for filters.',
    example: 'large-2',
    ...text(limits.maxNameLength),
  })
  model!: string | null
  @Property(() => String, {
    description: 'The provider of the agent or its model, a label for filters.',
    example: 'Example AI',
    ...text(limits.maxNameLength),
  })
  provider!: string | null
  @Property(() => String, {
    description: 'The version of the agent, which has no effect.',
    example: '2.1.0',
    ...text(limits.maxNameLength),
  })
  version!: string | null
  @Property(() => [String], {
    description: 'The scopes that the access tokens of the agent can have.',
    example: ['invoices:read'],
    rule: fieldSchemas.scopes,
    create: 'optional',
    default: [],
    update: true,
  })
  scopes!: string[]
  @Metadata('replace')
  metadata!: object
  @Property(() => AgentStatus, {
    description: 'Whether the agent can authenticate.',
    create: 'optional',
    default: 'active',
    update: true,
    updateDescription: 'A blocked agent cannot get another status.',
  })
  status!: AgentStatus
  @Property(() => String, {
    description:
      'The reason for the status. It is required for the statuses `suspended` and `blocked`. Making the agent active again without a reason clears it.',
    example: 'Unexpected requests at night',
    ...text(),
  })
  statusReason!: string | null
  @Property(() => [AgentVerifierType], {
    description: 'The types of the verifiers that the agent has.',
    example: ['wallet'],
    restName: 'verifiers',
  })
  readonly verifierTypes!: AgentVerifierType[]
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const AgentPage = pageOf(Agent)

export const createRules = createRulesOf(Agent)
export const updateRules = updateRulesOf(Agent)

@ArgsType()
export class AgentPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the agent.' })
  agentId!: string
}

@ArgsType()
export class AgentFilter extends SearchablePageArgs {
  @Field(() => AgentStatus, { nullable: true, description: 'Lists only agents with this status.' })
  status?: AgentStatus | null
  @Field(() => String, { nullable: true, description: 'Lists only agents with exactly this model.' })
  model?: string | null
  @Field(() => String, { nullable: true, description: 'Lists only agents with exactly this provider.' })
  provider?: string | null
  @Field(() => Boolean, {
    nullable: true,
    description: 'Lists only agents that have a verifier (true) or have none (false).',
  })
  hasVerifiers?: boolean | null
}

@ArgsType()
export class AgentVerifierPath extends AgentPath {
  @Field(() => ID, { description: 'The id of the verifier.' })
  verifierId!: string
}
