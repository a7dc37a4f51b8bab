import { Arg, ObjectType } from 'type-graphql'
import { z } from 'zod'
import { limits } from '../../kernel/limits.js'
import { CreatedAt, Id, UpdatedAt } from '../common-properties.js'
import { createRulesOf, Property } from '../declaration.js'
import { JSONObject, MicroUsd } from '../graphql-types.js'

/** Amount of one top-up in micro-USD (docs/contract.md#payment-challenge). */
export const amountRule = z
  .int('must be a whole number of micro-USD.')
  .min(1, 'must be at least 1.')
  .max(limits.maxTopupAmount, `must be at most ${limits.maxTopupAmount}.`)

@ObjectType({ description: 'A settled payment that was added to the prepaid credit of an account.' })
export class Topup {
  @Id('ledger entry', 'led_01kb3w8hxv6k8y1f4sn0q3a7pd')
  readonly id!: string
  @Property(() => MicroUsd, {
    description: 'The amount in micro-USD, 1 to 1,000,000,000,000.',
    example: 25_000_000,
    rule: amountRule,
    create: 'required',
  })
  amountMicroUsd!: number
  @Property(() => MicroUsd, { description: 'The balance after this top-up, in micro-USD.', example: 31_500_000 })
  readonly balanceMicroUsd!: number
  @Property(() => String, {
    description: 'The payment: `<network>:<transaction>`.',
    example: 'eip155:8453:0x8f3c1f0e9f0d6f5d3b7f3f6f0a4f1e2d3c4b5a69788796a5b4c3d2e1f0a1b2c3',
  })
  readonly paymentReference!: string
  @Property(() => JSONObject, {
    description: 'The SettlementResponse of x402 version 2, which `/v1` returns in the header PAYMENT-RESPONSE.',
  })
  readonly settlement!: object
  @CreatedAt()
  readonly createdAt!: number
  @UpdatedAt()
  readonly updatedAt!: number
}

export const createRules = createRulesOf(Topup)

/** A parameter of `createTopup`. */
export const PaymentSignature = () =>
  Arg('paymentSignature', () => String, {
    nullable: true,
    description: 'The payment: an x402 v2 PaymentPayload as base64-encoded JSON, as in the PAYMENT-SIGNATURE header.',
  })
