import { ArgsType, Field, ID, InputType, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, inputRulesOf, Property, pageOf } from '../declaration.js'
import { AccountPath, PageArgs, Timestamp } from '../graphql-types.js'
import { By, Reason, RestrictionsProperty, StatusAt, StatusBy, StatusReason, Tags } from './key-properties.js'
import type { Restrictions } from './restrictions.js'

export const PersonalTokenStatus = enumType('PersonalTokenStatus', 'Whether a personal token can be used.', {
  active: 'The token can be used.',
  blocked: 'The token is refused while its user is blocked.',
  revoked: 'The token is refused permanently. It can be read for 31 days after the revocation.',
  expired: 'The token is refused permanently, because its expiry time has passed.',
  suspended: 'The token is refused while its user is neither active nor blocked.',
})
export type PersonalTokenStatus = keyof typeof PersonalTokenStatus

export const PersonalTokenType = enumType('PersonalTokenType', 'The type of a personal token.', {
  personal_token: 'A token with which scripts of a user act for the user.',
})

@EventTarget('personal_token')
@ObjectType({ description: 'A token with which scripts of a user act for the user.' })
export class PersonalToken {
  @Id('personal token', 'tok_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId()
  readonly issuerId!: string
  @Property(() => ID, { description: 'The user for whom the token acts.', example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd' })
  readonly userId!: string
  @Property(() => PersonalTokenType, { description: 'The type, which is always personal_token.', create: 'required' })
  type!: keyof typeof PersonalTokenType
  @Property(() => String, {
    description: 'The name, for the user and administrators.',
    example: 'Nightly export',
    rule: fieldSchemas.name,
    create: 'required',
  })
  name!: string
  @Description()
  description!: string | null
  @Tags()
  tags!: string[]
  @RestrictionsProperty()
  restrictions!: Restrictions
  @Property(() => [String], {
    description: 'The scopes in the restrictions. Null means all scopes of the user.',
    example: ['issuers.users:read'],
    nullable: true,
  })
  readonly scopes!: string[] | null
  @Property(() => String, {
    description: 'The resource server for which the token is meant. The default is the Core API.',
    example: 'https://gatehouse.example.com',
    rule: z
      .string('must be a string.')
      .regex(/^[\x21-\x7e]{1,512}$/, 'must have 1 to 512 printable ASCII characters without spaces.'),
    create: 'optional',
  })
  audience!: string
  @Property(() => Timestamp, {
    description:
      'When the token expires, in Unix milliseconds: at most 21 days after the creation. A later time in the input is shortened. The default is 21 days, or the expiry time of the credential of the caller if that is earlier.',
    example: 1765714400000,
    rule: fieldSchemas.timestamp.nullable(),
    create: 'optional',
  })
  expiresAt!: number
  @Metadata('replace')
  metadata!: object
  @Property(() => PersonalTokenStatus, { description: 'Whether the token can be used.' })
  readonly status!: PersonalTokenStatus
  @StatusAt()
  readonly statusAt!: number | null
  @StatusBy()
  readonly statusBy!: string | null
  @StatusReason()
  readonly statusReason!: string | null
  @Property(() => String, {
    description: 'The token, a JWT. Only the response to the creation contains it.',
    nullable: true,
    once: true,
  })
  readonly tokenPlain!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const PersonalTokenPage = pageOf(PersonalToken)

export const createRules = createRulesOf(PersonalToken)

@InputType({ description: 'Who revokes a personal token, and why.' })
export class RevokePersonalTokenInput {
  @By()
  by?: string | null
  @Reason()
  reason?: string | null
}

export const revokeRules = inputRulesOf(RevokePersonalTokenInput)

@ArgsType()
export class TokenPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the personal token.' })
  tokenId!: string
}

@ArgsType()
export class PersonalTokenFilter extends PageArgs {
  @Field(() => PersonalTokenStatus, { nullable: true, description: 'Lists only tokens with this status.' })
  status?: PersonalTokenStatus | null
}
