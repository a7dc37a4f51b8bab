import { ArgsType, Field, ID, InputType, ObjectType } from 'type-graphql'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, inputRulesOf, Property, pageOf } from '../declaration.js'
import { AccountPath, Timestamp } from '../graphql-types.js'

export const DomainVerificationType = enumType('DomainVerificationType', 'How control of a domain is proved.', {
  dns_txt: 'A TXT record in the DNS.',
})

@ObjectType({ description: 'The DNS record that proves control of a domain.' })
export class DomainVerification {
  @Property(() => DomainVerificationType, { description: 'The type of the record.' })
  type!: keyof typeof DomainVerificationType
  @Property(() => String, {
    description: 'The name of the record.',
    example: '_gatehouse-challenge.login.example.com',
  })
  name!: string
  @Property(() => String, {
    description: 'The value of the record.',
    example: 'gatehouse-verify=8d969eef6ecad3c29a3a629280e686cf',
  })
  value!: string
}

@EventTarget('domain')
@ObjectType({ description: 'A custom domain of an account, under which one issuer of the account can be reached.' })
export class Domain {
  @Id('domain', 'dom_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => String, {
    description: 'The host name, in lower case and with A-labels (IDNA).',
    example: 'login.example.com',
    rule: fieldSchemas.text(300),
    create: 'required',
  })
  host!: string
  @Property(() => Boolean, { description: 'Whether the account has proved that it controls the domain.' })
  readonly verified!: boolean
  @Property(() => Timestamp, {
    description: 'When the domain was verified, in Unix milliseconds; null if it is not verified.',
    example: 1763900000000,
    nullable: true,
  })
  readonly verifiedAt!: number | null
  @Property(() => ID, {
    description: 'The issuer to which the domain is assigned; null for none.',
    example: 'iss_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly issuerId!: string | null
  @Property(() => DomainVerification, {
    description: 'The DNS record to create before the domain is verified. The record can be removed afterwards.',
  })
  readonly verification!: DomainVerification
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const DomainPage = pageOf(Domain)

@InputType({ description: 'The issuer to which a domain is assigned.' })
export class AssignDomainInput {
  @Property(() => ID, {
    description: 'An issuer of the same account.',
    example: 'iss_01kb3w8hxv6k8y1f4sn0q3a7pd',
    rule: fieldSchemas.text(limits.maxIdLength),
  })
  issuerId!: string
}

export const createRules = createRulesOf(Domain)
export const assignRules = inputRulesOf(AssignDomainInput)

@ArgsType()
export class DomainPath extends AccountPath {
  @Field(() => String, { description: 'A host name or a domain id.' })
  domain!: string
}
