import { ArgsType, Field, ID, Int, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Id, IssuerId, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf } from '../declaration.js'
import { IssuerPath, Timestamp } from '../graphql-types.js'

export const InitialAccessTokenStatus = enumType(
  'InitialAccessTokenStatus',
  'Whether clients can register with an initial access token.',
  {
    active: 'Clients can register with the token.',
    used: 'The token was used as often as it may be.',
    expired: 'The token has expired.',
    revoked: 'The token was revoked.',
  },
)
export type InitialAccessTokenStatus = keyof typeof InitialAccessTokenStatus

@EventTarget('initial_access_token')
@ObjectType({ description: 'A token with which clients can register themselves at an issuer (RFC 7591).' })
export class InitialAccessToken {
  @Id('token', 'iat_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => String, {
    description: 'The name, which only administrators see.',
    example: 'Partner portal',
    nullable: true,
    rule: fieldSchemas.text(limits.maxNameLength).nullable(),
    create: 'optional',
  })
  name!: string | null
  @Property(() => Int, {
    description: 'The number of clients that can register with the token. The default is 1.',
    example: 5,
    rule: z
      .int('must be a whole number.')
      .min(1, 'must be at least 1.')
      .max(limits.maxInitialAccessTokenUses, `must be at most ${limits.maxInitialAccessTokenUses}.`),
    create: 'optional',
    default: 1,
  })
  maxUses!: number
  @Property(() => Int, {
    description: 'The lifetime in seconds.',
    writeOnly: true,
    inputType: () => Int,
    rule: z
      .int('must be a whole number of seconds.')
      .min(
        limits.minInitialAccessTokenLifetimeSeconds,
        `must be at least ${limits.minInitialAccessTokenLifetimeSeconds} seconds.`,
      )
      .max(
        limits.maxInitialAccessTokenLifetimeSeconds,
        `must be at most ${limits.maxInitialAccessTokenLifetimeSeconds} seconds (one year).`,
      ),
    create: 'required',
  })
  expiresIn!: number
  @Property(() => Int, { description: 'The number of clients that have registered with the token.', example: 2 })
  readonly uses!: number
  @Property(() => InitialAccessTokenStatus, { description: 'Whether clients can register with the token.' })
  readonly status!: InitialAccessTokenStatus
  @Property(() => Timestamp, { description: 'When the token expires, in Unix milliseconds.', example: 1764504800000 })
  readonly expiresAt!: number
  @Property(() => Timestamp, {
    description: 'When a client last registered with the token, in Unix milliseconds.',
    example: 1763986400000,
    nullable: true,
  })
  readonly lastUsedAt!: number | null
  @Property(() => ID, {
    description: 'The user, API key or client that created the token.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly createdBy!: string | null
  @Property(() => String, {
    description: 'The token. Only the response to its creation contains it.',
    nullable: true,
    once: true,
  })
  readonly tokenPlain!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const InitialAccessTokenPage = pageOf(InitialAccessToken)

export const createRules = createRulesOf(InitialAccessToken)

@ArgsType()
export class InitialAccessTokenPath extends IssuerPath {
  @Field(() => ID, { description: 'The id of the initial access token.' })
  initialAccessTokenId!: string
}
