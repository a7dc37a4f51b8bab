import { ArgsType, Field, ID, InputType, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { AccountId, CreatedAt, Description, Id, IssuerId, Metadata, OrgId, UpdatedAt } from '../common-properties.js'
import {
  type CreateValues,
  createRulesOf,
  EventTarget,
  enumType,
  inputRulesOf,
  Property,
  pageOf,
  updateRulesOf,
} from '../declaration.js'
import { AccountPath, OrganizationPath, PageArgs, Timestamp } from '../graphql-types.js'
import { By, Reason, RestrictionsProperty, StatusAt, StatusBy, StatusReason, Tags } from './key-properties.js'
import type { Restrictions } from './restrictions.js'

export const ApiKeyStatus = enumType('ApiKeyStatus', 'Whether an API key can be used.', {
  active: 'The key can be used.',
  blocked: 'The key is refused until it is unblocked.',
  revoked: 'The key is refused permanently. It can be read for 31 days after the revocation.',
  expired: 'The key is refused, because its expiry time has passed. A later expiry time makes it active again.',
  suspended: 'The key is refused while the organization that owns it is suspended.',
})
export type ApiKeyStatus = keyof typeof ApiKeyStatus

export const ApiKeyType = enumType('ApiKeyType', 'The type of an API key.', {
  api_key: 'A key for service-to-service requests.',
})

const secretDescription = '32 to 256 printable ASCII characters without spaces. By default, the secret is generated.'
const secretRule = fieldSchemas.secret

@EventTarget('api_key')
@ObjectType({ description: 'A credential of an account or an organization for service-to-service requests.' })
export class ApiKey {
  @Id('API key', 'ak_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @AccountId()
  readonly accountId!: string
  @IssuerId({
    description: 'The issuer of the organization that owns the key; null for a key of an account.',
    nullable: true,
    graphqlOnly: true,
  })
  readonly issuerId!: string | null
  @OrgId({
    description: 'The organization that owns the key; null for a key of an account.',
    nullable: true,
    graphqlOnly: true,
  })
  readonly orgId!: string | null
  @Property(() => ApiKeyType, {
    description: 'The type, which is always api_key.',
    create: 'required',
    graphqlOnly: true,
  })
  type!: keyof typeof ApiKeyType
  @Property(() => String, {
    description: 'The name, for administrators.',
    example: 'Billing service',
    rule: fieldSchemas.name,
    create: 'required',
    update: true,
  })
  name!: string
  @Description()
  description!: string | null
  @Tags()
  tags!: string[]
  @RestrictionsProperty({ update: true, updateDescription: 'Replaces the current restrictions.' })
  restrictions!: Restrictions
  @Property(() => [String], {
    description: 'The scopes in the restrictions. Null means all scopes.',
    example: ['issuers.users:read'],
    nullable: true,
    rule: fieldSchemas.scopes.nullable(),
    update: true,
    updateDescription: 'Sets the member `scopes` of the restrictions. Null removes this restriction.',
  })
  scopes!: string[] | null
  @Property(() => String, {
    description: 'The last four characters of the secret, or the hint that was given at the rotation.',
    example: 'k3Zq',
  })
  readonly secretHint!: string
  @Property(() => Timestamp, {
    description: 'When the key expires, in Unix milliseconds. A key with the value null does not expire.',
    example: 1795436000000,
    nullable: true,
    rule: fieldSchemas.timestamp.nullable(),
    create: 'optional',
    update: true,
  })
  expiresAt!: number | null
  @Metadata('replace')
  metadata!: object
  @Property(() => ApiKeyStatus, { description: 'Whether the key can be used.' })
  readonly status!: ApiKeyStatus
  @StatusAt()
  readonly statusAt!: number | null
  @StatusBy()
  readonly statusBy!: string | null
  @StatusReason()
  readonly statusReason!: string | null
  @Property(() => String, {
    description: `A secret of your choice: ${secretDescription}`,
    rule: secretRule,
    create: 'optional',
    writeOnly: true,
  })
  secret!: string | null
  @Property(() => String, {
    description: 'The secret. Only the response to the creation of the key or the rotation of the secret contains it.',
    example: 'Jq3n0Zr5yXb1W8sVd7Tg2uKc4mHf6pLa9eRiOxNk3Zq',
    nullable: true,
    once: true,
  })
  readonly secretPlain!: string | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const ApiKeyPage = pageOf(ApiKey)

/** The checked values of a new key. */
export type NewApiKey = Omit<CreateValues<ApiKey>, 'type'>

export const createRules = createRulesOf(ApiKey, ['type'])
/** `type` is required for keys of organizations and not allowed for keys of accounts (docs/contract.md#api-keys). */
export const createOrganizationKeyRules = createRulesOf(ApiKey)
export const updateRules = updateRulesOf(ApiKey)

@InputType({ description: 'The new secret of an API key.' })
export class RotateApiKeyInput {
  @Property(() => String, {
    description: `A secret of your choice: ${secretDescription}`,
    nullable: true,
    rule: secretRule,
  })
  newSecret?: string | null
  @Property(() => String, {
    description: 'The value of `secretHint`. By default, it is the last four characters of the secret.',
    example: 'k3Zq',
    nullable: true,
    rule: fieldSchemas.text(limits.maxSecretHintLength).nullable(),
  })
  hint?: string | null
}

export const rotateRules = inputRulesOf(RotateApiKeyInput)

@InputType({ description: 'Who changes the status of an API key, and why.' })
export class KeyActionInput {
  @By()
  by?: string | null
  @Reason()
  reason?: string | null
}

export const actionRules = inputRulesOf(KeyActionInput)

@ArgsType()
export class AccountKeyPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the API key.' })
  keyId!: string
}

@ArgsType()
export class OrganizationKeyPath extends OrganizationPath {
  @Field(() => ID, { description: 'The id of the API key.' })
  keyId!: string
}

@ArgsType()
export class ApiKeyFilter extends PageArgs {
  @Field(() => ApiKeyStatus, { nullable: true, description: 'Lists only keys with this status.' })
  status?: ApiKeyStatus | null
}
