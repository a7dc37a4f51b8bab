import { ArgsType, Field, ID, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { fieldSchemas } from '../../kernel/input.js'
import { limits } from '../../kernel/limits.js'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { createRulesOf, EventTarget, enumType, Property, pageOf, updateRulesOf } from '../declaration.js'
import { AccountPath, MicroUsd } from '../graphql-types.js'
import { amountRule } from './topup.js'

export const PaymentMethodType = enumType('PaymentMethodType', 'How a payment method pays.', {
  x402: 'Payments in USDC with x402 version 2.',
})

export const PaymentMethodStatus = enumType('PaymentMethodStatus', 'Whether a payment method can be used.', {
  active: 'The payment method can be used.',
  disabled: 'The payment method cannot be used until it is enabled.',
  removed: 'The payment method was removed permanently. It stays in the list.',
})

const walletsRule = z
  .array(
    z
      .string('must be a wallet address.')
      .regex(/^(0x[0-9a-fA-F]{40}|(?!0x)[A-Za-z0-9:_-]{16,128})$/, 'must be a wallet address.'),
    'must be an array of wallet addresses or null.',
  )
  .max(limits.maxPaymentWallets, `must have at most ${limits.maxPaymentWallets} entries.`)
  .nullable()

@EventTarget('payment_method')
@ObjectType({ description: 'A payment method of an account. An account has at most one active method.' })
export class PaymentMethod {
  @Id('payment method', 'pm_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => PaymentMethodType, { description: 'How the payment method pays.', create: 'required' })
  type!: keyof typeof PaymentMethodType
  @Property(() => String, {
    description: 'A name for administrators.',
    example: 'Treasury wallet',
    nullable: true,
    rule: fieldSchemas.name.nullable(),
    create: 'optional',
    update: true,
  })
  label!: string | null
  @Property(() => Boolean, {
    description: 'Whether the payment method is active. False for a disabled or removed one.',
    update: true,
    updateDescription: 'Enables or disables the payment method.',
  })
  enabled!: boolean
  @Property(() => PaymentMethodStatus, { description: 'Whether the payment method can be used.' })
  readonly status!: keyof typeof PaymentMethodStatus
  @Property(() => [String], {
    description: 'The addresses of the wallets that may pay. Null allows any wallet.',
    example: ['0x52908400098527886E0F7030069857D2E4169EE7'],
    nullable: true,
    rule: walletsRule,
    create: 'optional',
    update: true,
  })
  allowedPayerWallets!: string[] | null
  @Property(() => MicroUsd, {
    description:
      'The amount of automatic top-ups in micro-USD, stored for clients. Gatehouse makes no automatic top-ups.',
    example: 25_000_000,
    nullable: true,
    rule: amountRule.nullable(),
    create: 'optional',
    update: true,
  })
  autoTopupIncrementMicroUsd!: number | null
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const PaymentMethodPage = pageOf(PaymentMethod)

export const createRules = createRulesOf(PaymentMethod)
export const updateRules = updateRulesOf(PaymentMethod)

@ArgsType()
export class PaymentMethodPath extends AccountPath {
  @Field(() => ID, { description: 'The id of the payment method.' })
  methodId!: string
}
