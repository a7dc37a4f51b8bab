import { Field, ID, InputType, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { jwksRule, jwksUriRule } from '../clients/public-key-sets.js'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { EventTarget, enumType, Property, pageOf } from '../declaration.js'
import { JSONObject, Timestamp } from '../graphql-types.js'

export const AgentVerifierType = enumType('AgentVerifierType', 'How an agent authenticates with a verifier.', {
  wallet: 'The agent signs a challenge with the key of a blockchain wallet.',
  secret: 'The agent sends a secret that Gatehouse has generated.',
  public_key: 'The agent signs an assertion with its private key (`private_key_jwt`, RFC 7523).',
})
export type AgentVerifierType = keyof typeof AgentVerifierType

@EventTarget('agent_verifier')
@ObjectType({ description: 'A credential of an agent.' })
export class AgentVerifier {
  @Id('verifier', 'vrf_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => ID, { description: 'The agent that has the verifier.', example: 'agt_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly agentId!: string
  @Property(() => AgentVerifierType, { description: 'How the agent authenticates with the verifier.' })
  readonly type!: AgentVerifierType
  @Property(() => String, { description: 'The name.', example: 'Production', nullable: true })
  readonly name!: string | null
  @Property(() => String, {
    description: 'The address of a wallet; null for other verifiers.',
    example: '0x8ba1f109551bd432803012645ac136ddd64dba72',
    nullable: true,
  })
  readonly address!: string | null
  @Property(() => String, {
    description: 'The CAIP-2 chain ID of a wallet; null for other verifiers.',
    example: 'eip155:8453',
    nullable: true,
  })
  readonly network!: string | null
  @Property(() => String, {
    description: 'The algorithm of the stored hash of a secret; null for other verifiers.',
    example: 'SHA-256',
    nullable: true,
  })
  readonly algorithm!: string | null
  @Property(() => JSONObject, {
    description: 'The public keys of the agent, a JSON Web Key Set (RFC 7517); null for other verifiers.',
    example: {
      keys: [{ kty: 'OKP', crv: 'Ed25519', kid: 'agent-1', x: '11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo' }],
    },
    nullable: true,
  })
  readonly jwks!: object | null
  @Property(() => String, {
    description: 'The URL of the public keys of the agent, if they are not in `jwks`.',
    example: 'https://agents.example.com/jwks.json',
    nullable: true,
  })
  readonly jwksUri!: string | null
  @Property(() => String, {
    description: 'The secret. Only the response to its creation contains it.',
    nullable: true,
    once: true,
  })
  readonly secret!: string | null
  @Property(() => Timestamp, {
    description: 'When the agent last authenticated with this verifier, in Unix milliseconds.',
    example: 1763900000000,
    nullable: true,
  })
  readonly lastUsedAt!: number | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const AgentVerifierPage = pageOf(AgentVerifier)

@InputType({
  description:
    'A new verifier: a wallet with `address` and `network`, public keys with either `jwks` or `jwksUri`, or a secret, which has none of these.',
})
export class CreateAgentVerifierInput {
  @Field(() => AgentVerifierType, { description: 'How the agent authenticates with the verifier.' })
  type!: AgentVerifierType
  @Field(() => String, { nullable: true, description: 'Required. Null means no name.' })
  name?: string | null
  @Field(() => String, { nullable: true, description: 'The address of the wallet. Required for a wallet.' })
  address?: string | null
  @Field(() => String, { nullable: true, description: 'A CAIP-2 chain ID. Required for a wallet.' })
  network?: string | null
  @Field(() => JSONObject, {
    nullable: true,
    description: 'Public keys, a JSON Web Key Set (RFC 7517). Only for the type `public_key`.',
  })
  jwks?: object | null
  @Field(() => String, {
    nullable: true,
    description: 'The https URL of the public keys, instead of `jwks`. Only for the type `public_key`.',
  })
  jwksUri?: string | null
}

const nameRule = z
  .string('must be a string or null.')
  .max(limits.maxNameLength, `must have at most ${limits.maxNameLength} characters.`)
  .nullable()
export const createRules = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('wallet'),
      name: nameRule,
      address: fieldSchemas.text(128),
      network: fieldSchemas.text(64).meta({ pattern: '^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$' }),
    }),
    z.strictObject({ type: z.literal('secret'), name: nameRule }),
    z.strictObject({
      type: z.literal('public_key'),
      name: nameRule,
      jwks: jwksRule.optional(),
      jwksUri: jwksUriRule.optional(),
    }),
  ],
  `must be one of ${Object.keys(AgentVerifierType).join(', ')}.`,
)
