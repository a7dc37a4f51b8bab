import { ID, InputType, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import type { JsonObject } from '../../kernel/merge-patch.js'
import { CreatedAt, Description, Id, Metadata, UpdatedAt } from '../common-properties.js'
import {
  createRulesOf,
  EventTarget,
  enumType,
  inputRulesOf,
  Property,
  pageOf,
  type UpdateValues,
  updateRulesOf,
} from '../declaration.js'
import { Domain } from '../domains/domain.js'
import { Authenticated, InRest } from '../graphql-types.js'

export const BillingMode = enumType('BillingMode', 'Whether an account pays for metered operations.', {
  gated: 'The account pays for metered operations from its prepaid credit.',
  ungated: 'The account does not pay for metered operations.',
})
export type BillingMode = keyof typeof BillingMode

@InputType({ description: 'A domain of an account.' })
class DomainHostInput {
  @Property(() => String, {
    description: 'A domain name.',
    example: 'login.example.com',
    rule: fieldSchemas.text(limits.maxHostLength),
  })
  host!: string
}

@EventTarget('account')
@ObjectType({ description: 'An account (tenant): the top-level administrative and billing entity.' })
export class Account {
  @Id('account', 'acc_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => String, {
    description: 'The name.',
    example: 'Example Inc.',
    nullable: true,
    rule: fieldSchemas.name.nullable(),
    create: 'optional',
    update: true,
  })
  name!: string | null
  @Description('A description for administrators, in Markdown.')
  description!: string | null
  @Property(() => String, {
    description: 'The address of a logo, which the console shows.',
    example: 'https://example.com/logo.png',
    nullable: true,
    rule: fieldSchemas.url,
    update: true,
  })
  logoUrl!: string | null
  @Property(() => ID, {
    description: 'The owner, an active user of the console issuer, who has full authority on the account.',
    example: 'usr_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
    rule: fieldSchemas.text().nullable(),
    create: 'optional',
    update: fieldSchemas.text(),
  })
  ownerUserId!: string | null
  @Property(() => ID, {
    description: 'The organization of the console issuer whose members administer this account.',
    example: 'org_01kb3w8hxv6k8y1f4sn0q3a7pd',
    nullable: true,
  })
  readonly adminOrgId!: string | null
  // The domains are a part of the account, so a caller who can read the account needs no other scope to read them.
  @Property(() => [Domain], {
    description: 'The custom domains.',
    inputType: () => [DomainHostInput],
    rule: z.array(inputRulesOf(DomainHostInput), 'must be an array of {"host": …}.'),
    update: true,
    updateDescription:
      'The complete set of domains: new hosts are added as unverified domains, and missing ones are removed.',
  })
  @Authenticated()
  @InRest()
  readonly domains!: Domain[]
  @Metadata('replace')
  metadata!: JsonObject
  @Property(() => BillingMode, {
    description:
      'Whether the account pays for metered operations. It is gated while the account has an active payment method, unless an operator of this deployment has set another mode.',
  })
  readonly billingMode!: BillingMode
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const AccountPage = pageOf(Account)

@ObjectType({ description: 'The first API key of a new account, which has full access to the account.' })
class FirstApiKey {
  @Id('API key', 'ak_01kb3w8hxv6k8y1f4sn0q3a7pd')
  id!: string
  @Property(() => String, { description: 'The secret. Only this response contains it.' })
  secretPlain!: string
}

@ObjectType({ description: 'A new account with its first API key.' })
export class CreateAccountPayload {
  @Property(() => Account, { description: 'The new account.' })
  account!: Account
  @Property(() => FirstApiKey, { description: 'The first API key of the account.' })
  apiKey!: FirstApiKey
}

export const createRules = createRulesOf(Account)
export const updateRules = updateRulesOf(Account) as z.ZodType<UpdateValues<Account> & { domains?: DomainHostInput[] }>
